"""TREC files: what goes out comes back, other tools read it, and bad lines are named."""

from __future__ import annotations

import ir_measures
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from visterm.errors import BadInput, VistermError
from visterm.evaluation import evaluate
from visterm.evaluation.ranking import relevant_ranks
from visterm.evaluation.trec import (
    gains_from_qrels,
    read_qrels,
    read_run,
    scores_from_run,
    write_qrels,
    write_run,
)
from visterm.text import Relevance

QUERIES = ["tree snow", "100% \tété", "sun"]
PICTURES = ["my pictures/été 1.jpg", "b", "a%20b", "broken\udcff.png"]


def test_a_run_is_written_best_first_with_ties_in_picture_order_and_escaped_names(tmp_path):
    write_run(tmp_path / "run", QUERIES[:1], PICTURES, np.float32([[0.1, 0.5, 0.1, 0.5]]), depth=3)
    assert (tmp_path / "run").read_text(encoding="utf-8").splitlines() == [
        "tree%20snow Q0 b 1 0.5 visterm",
        "tree%20snow Q0 broken%FF.png 2 0.5 visterm",
        "tree%20snow Q0 my%20pictures/été%201.jpg 3 0.1 visterm",
    ]


def test_a_run_read_back_gives_the_same_names_scores_and_ranks(tmp_path):
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.random((2, 4)), rng.integers(2, size=(1, 4))]).astype(np.float32)
    scores[0, 2] = -np.inf
    write_run(tmp_path / "run", QUERIES, PICTURES, scores)
    run = read_run(tmp_path / "run")
    assert list(run) == QUERIES
    for query, row in zip(QUERIES, scores, strict=True):
        assert {picture: np.float32(score) for picture, score in run[query]} == dict(
            zip(PICTURES, row, strict=True)
        )
    everything = csr_array(np.arange(1, 13, dtype=np.float32).reshape(3, 4))
    again = relevant_ranks(scores_from_run(run, QUERIES, PICTURES), everything)
    assert again.gains.tolist() == relevant_ranks(scores, everything).gains.tolist()


def test_the_order_of_a_run_holds_even_where_the_pictures_are_numbered_otherwise(tmp_path):
    write_run(tmp_path / "run", ["q"], ["x", "y", "z"], np.ones((1, 3), dtype=np.float32))
    scores = scores_from_run(read_run(tmp_path / "run"), ["q"], ["z", "y", "x"])
    assert scores.tolist() == [[-3.0, -2.0, -1.0]]


def test_scores_decide_over_ranks_and_ranks_over_lines(tmp_path):
    (tmp_path / "run").write_text(
        "q Q0 a 2 0.5 t\nq Q0 b 1 0.5 t\n\nq Q0 c 3 9e-1 t\nq Q0 d 2 0.5 t\n"
    )
    assert [picture for picture, _ in read_run(tmp_path / "run")["q"]] == ["c", "b", "a", "d"]


def test_qrels_read_back_give_the_same_gains(tmp_path):
    gains = csr_array(np.float32([[0, 2, 0, 1], [0, 0, 0, 0], [3, 0, 1, 0]]))
    write_qrels(tmp_path / "qrels", QUERIES, PICTURES, gains)
    qrels = read_qrels(tmp_path / "qrels")
    assert qrels["sun"] == {PICTURES[0]: 3, PICTURES[2]: 1}
    again = gains_from_qrels(qrels, QUERIES, PICTURES)
    np.testing.assert_array_equal(again.toarray(), gains.toarray())


def test_judged_but_irrelevant_pictures_are_read_and_left_out_of_the_gains(tmp_path):
    (tmp_path / "qrels").write_text("q 0 a 0\nq 0 b -1\nq 0 c 2\n")
    qrels = read_qrels(tmp_path / "qrels")
    assert qrels == {"q": {"a": 0, "b": -1, "c": 2}}
    assert gains_from_qrels(qrels, ["q"], ["a", "b", "c"]).nnz == 1
    assert gains_from_qrels({}, ["q"], ["a"]).shape == (1, 1)


def test_other_tools_measure_our_files_as_we_measure_the_arrays(tmp_path):
    # trec_eval breaks ties by name, last name first: names that fall as the index grows agree.
    rng = np.random.default_rng(5)
    queries = [f"word {number}" for number in range(20)]
    pictures = [f"picture {60 - number:02d}" for number in range(60)]
    scores = rng.integers(12, size=(20, 60)).astype(np.float32) / 7
    gains = rng.integers(1, 4, size=(20, 60)) * (rng.random((20, 60)) < 0.2)
    gains[:, 3] = 1
    relevant = csr_array(gains.astype(np.float32))
    write_run(tmp_path / "run", queries, pictures, scores)
    write_qrels(tmp_path / "qrels", queries, pictures, relevant)
    theirs = ir_measures.pytrec_eval.calc_aggregate(
        [ir_measures.AP, ir_measures.Rprec, ir_measures.P @ 10, ir_measures.nDCG @ 10],
        ir_measures.read_trec_qrels(str(tmp_path / "qrels")),
        ir_measures.read_trec_run(str(tmp_path / "run")),
    )
    relevance = Relevance(csr_array(np.ones((20, 1), dtype=np.float32)), relevant)
    ours = evaluate(scores, relevance, ["AvgP", "BEP", "P@10", "nDCG@10"]).mean()
    expected = {"AP": ours["AvgP"], "Rprec": ours["BEP"], "P@10": ours["P@10"]}
    expected["nDCG@10"] = ours["nDCG@10"]
    assert {str(name): value for name, value in theirs.items()} == pytest.approx(expected)


@given(st.lists(st.text(min_size=1), min_size=1, max_size=5, unique=True))
@settings(deadline=None, max_examples=40)
def test_any_name_survives(tmp_path_factory, names):
    path = tmp_path_factory.mktemp("names") / "run"
    write_run(path, names, names[::-1], np.zeros((len(names), len(names))))
    run = read_run(path)
    assert list(run) == names
    assert all([picture for picture, _ in ranked] == names[::-1] for ranked in run.values())


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("q Q0 a 1 0.5", "line 2: 5 fields where 'query Q0 picture rank score tag' needs 6"),
        ("q Q0 a 1 high t", "line 2: the score 'high' is not a number"),
        ("q Q0 a 1 nan t", "line 2: the score 'nan' is not a number"),
        ("q Q0 a first 1 t", "line 2: the rank 'first' is not a number"),
        ("q Q0 z 2 0.4 t", "line 2: 'z' stands twice for the query 'q'"),
    ],
)
def test_a_bad_line_of_a_run_is_named(tmp_path, line, why):
    (tmp_path / "run").write_text(f"q Q0 z 1 0.5 t\n{line}\n")
    with pytest.raises(BadInput, match=why):
        read_run(tmp_path / "run")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("q 0 a", "line 2: 3 fields"),
        ("q 0 a much", "line 2: the gain 'much' is not a number"),
        ("q 0 a 0.5", "line 2: the gain '0.5' is not a whole number"),
        ("q 0 z 1", "line 2: 'z' is judged twice"),
    ],
)
def test_a_bad_line_of_qrels_is_named(tmp_path, line, why):
    (tmp_path / "qrels").write_text(f"q 0 z 1\n{line}\n")
    with pytest.raises(BadInput, match=why):
        read_qrels(tmp_path / "qrels")


def test_files_that_cannot_be_read_or_written_are_named(tmp_path):
    with pytest.raises(VistermError, match=r"cannot write .*missing"):
        write_run(tmp_path / "missing" / "run", ["q"], ["a"], [[1.0]])
    with pytest.raises(BadInput, match="missing"):
        read_run(tmp_path / "missing")
    (tmp_path / "bytes").write_bytes(b"q 0 \xff\xfe 1\n")
    with pytest.raises(BadInput, match="bytes"):
        read_qrels(tmp_path / "bytes")


@pytest.mark.parametrize(
    ("queries", "pictures", "more", "why"),
    [
        (["q"], ["a", ""], {}, "picture 1 has an empty name"),
        (["q"], ["a", "a"], {}, "the picture name 'a' stands twice"),
        (["q", "r"], ["a", "b"], {}, "2 query names and 2 picture names"),
        (["q"], ["a", "b"], {"depth": 0}, "depth"),
        (["q"], ["a", "b"], {"tag": ""}, "tag 0 has an empty name"),
    ],
)
def test_a_run_that_could_not_be_read_back_is_not_written(tmp_path, queries, pictures, more, why):
    with pytest.raises(BadInput, match=why):
        write_run(tmp_path / "run", queries, pictures, np.zeros((1, 2)), **more)
    assert not (tmp_path / "run").exists()


def test_a_run_with_a_nan_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(BadInput, match="query 'r' for picture 'b' is NaN"):
        write_run(tmp_path / "run", ["q", "r"], ["a", "b"], [[0.0, 1.0], [0.0, np.nan]])
    assert not (tmp_path / "run").exists()


def test_fractional_gains_are_refused_since_trec_eval_would_cut_them(tmp_path):
    with pytest.raises(BadInput, match=r"one is 0\.5"):
        write_qrels(tmp_path / "qrels", ["q"], ["a"], csr_array(np.float32([[0.5]])))


def test_names_that_the_caller_does_not_know_are_refused():
    with pytest.raises(BadInput, match="the picture 'b'"):
        scores_from_run({"q": [("b", 1.0)]}, ["q"], ["a"])
    with pytest.raises(BadInput, match="the query 'r'"):
        gains_from_qrels({"r": {"a": 1}}, ["q"], ["a"])
