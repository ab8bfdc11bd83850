"""TREC files: other tools read what is written, and measure it as we do."""

from __future__ import annotations

import ir_measures
import numpy as np
import pytest
from scipy.sparse import csr_array

from visterm.errors import BadInput, VistermError
from visterm.evaluation import evaluate
from visterm.evaluation.trec import write_qrels, write_run
from visterm.text import Relevance

PICTURES = ["my pictures/été 1.jpg", "b", "a%20b", "broken\udcff.png"]


def test_a_run_is_written_best_first_with_ties_in_picture_order_and_escaped_names(tmp_path):
    write_run(
        tmp_path / "run", ["tree snow"], PICTURES, np.float32([[0.1, 0.5, 0.1, 0.5]]), depth=3
    )
    assert (tmp_path / "run").read_text(encoding="utf-8").splitlines() == [
        "tree%20snow Q0 b 1 0.5 visterm",
        "tree%20snow Q0 broken%FF.png 2 0.5 visterm",
        "tree%20snow Q0 my%20pictures/été%201.jpg 3 0.1 visterm",
    ]


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


def test_files_that_cannot_be_written_are_named(tmp_path):
    with pytest.raises(VistermError, match=r"cannot write .*missing"):
        write_run(tmp_path / "missing" / "run", ["q"], ["a"], [[1.0]])


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
