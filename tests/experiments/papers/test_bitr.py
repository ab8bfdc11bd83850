"""The BITR experiments: partitions, figures both ways, and the paper's methods on small pairs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from visterm.errors import BadInput
from visterm.experiments.papers.bitr import published_settings
from visterm.experiments.papers.bitr.directions import Both, PairVectors, nearest
from visterm.experiments.papers.bitr.methods import bitr, mean_texts, paper_methods, pca
from visterm.experiments.papers.bitr.partitions import IaprExperiment, Partition
from visterm.experiments.papers.bitr.phrase_labels import phrase_documents
from visterm.experiments.papers.bitr.retrieval_tables import Measured, _report
from visterm.experiments.papers.published import published
from visterm.experiments.papers.registry import reproduce
from visterm.models import Cca
from visterm.progress import silent

THEIRS = published("bitr")


def iapr(n=100, seed=3):
    names = [f"picture {i}" for i in range(n)]
    return IaprExperiment([Path(name) for name in names], names, names, tested=10, seed=seed)


def pairs(n=120, noise=0.5, seed=0):
    """Mixtures of five subjects, seen and told."""
    rng = np.random.default_rng(seed)
    hidden = rng.dirichlet(np.full(5, 0.3), n)
    seen = np.abs(hidden @ rng.random((5, 8)) + noise * 0.1 * rng.random((n, 8)))
    return PairVectors(seen.astype(np.float32), hidden.astype(np.float32), partition(n))


def partition(n=120):
    order = np.random.default_rng(1).permutation(n)
    return Partition("a part", *(np.sort(part) for part in np.split(order, [80, 100])))


def test_ten_parts_test_on_every_picture_once():
    data = iapr()
    parts = list(data.partitions(10))
    assert sorted(np.concatenate([part.test for part in parts])) == list(range(100))
    for part in parts:
        together = np.concatenate([part.train, part.validation, part.test])
        assert sorted(together) == list(range(100))
        assert len(part.validation) == 9
        assert set(part.development) == set(range(100)) - set(part.test)


def test_no_part_at_all_is_the_split_that_comes_with_the_data():
    (part,) = iapr().partitions(0)
    assert part.test.tolist() == list(range(90, 100))
    with pytest.raises(BadInput, match="1 to 10"):
        list(iapr().partitions(11))


def test_seeds_decide_the_parts():
    first, again, other = (next(iapr(seed=s).partitions(1)).test.tolist() for s in (3, 3, 4))
    assert first == again != other
    assert len(first) == len(other) == 10


def test_nearest_breaks_ties_by_number():
    assert nearest(np.ones((1, 2), np.float32), np.ones((4, 2), np.float32), 3).tolist() == [
        [0, 1, 2]
    ]


def test_captions_are_measured_both_ways_and_with_equal_ones():
    told = pairs(noise=20)
    captions = [f"a text about {row.argmax()}" for row in told.texts]
    model = told.fit(Cca())
    figures = Both(told, model, model).captions(captions)
    for way in ("to text", "to picture"):
        assert 0.75 < figures[way]["BLEU-1"] <= 1
        assert figures[way]["R@50 ="] == figures[way]["R@50"] == 1.0
        assert figures[way]["R@1 ="] > figures[way]["R@1"]


def test_labels_are_ranked_also_by_how_often_they_are_given():
    told = pairs()
    rng = np.random.default_rng(2)
    often = rng.random(len(told.texts)) < 0.9
    true = csr_array(np.column_stack([told.texts > 0.5, often]).astype(np.float32))
    vectors = np.vstack([np.eye(5), np.full(5, 0.2)]).astype(np.float32)
    model = told.fit(Cca())
    figures = Both(told, model, model).labels(vectors, true)
    assert figures["to text"]["mAP"] > figures["to text"]["mAP plain"]
    assert 0 < figures["to picture"]["mAP"] <= 1


def test_pictures_are_ranked_for_labels_by_the_model_that_validation_liked_better():
    told = pairs()
    true = csr_array((told.texts > 0.5).astype(np.float32))
    vectors = np.eye(5, dtype=np.float32)
    good, bad = told.fit(Cca()), told.fit(Cca())
    bad.picture_map_, bad.validation_ = -bad.picture_map_, good.validation_ - 0.1
    alone = Both(told, good, good).labels(vectors, true)["to picture"]
    assert Both(told, good, bad).labels(vectors, true)["to picture"] == alone
    bad.validation_ = good.validation_ + 0.1
    assert Both(told, good, bad).labels(vectors, true)["to picture"]["mAP"] < alone["mAP"]


def test_by_angle_a_picture_is_not_first_for_every_label_because_its_row_is_long():
    told = pairs()
    true = csr_array((told.texts > 0.5).astype(np.float32))
    model, vectors = told.fit(Cca()), np.eye(5, dtype=np.float32)
    both, rows = Both(told, model, model), model.picture_rows(told.pictures[told.partition.test])
    plain = both.label_scores(vectors, true)[1]
    by_angle = both.label_scores(vectors, true, by_angle=True)[1]
    np.testing.assert_allclose(by_angle, plain / np.linalg.norm(rows, axis=1), rtol=1e-4)


def test_a_label_is_the_mean_of_the_development_texts_that_hold_it():
    texts = np.float32([[1, 0], [0, 1], [0, 1], [9, 9]])
    true = csr_array(np.float32([[1, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0]]))
    split = Partition("a part", np.array([0, 1]), np.array([2]), np.array([3]))
    assert mean_texts(texts, true, split).tolist() == [[0.5, 0.5], [0.0, 1.0], [0.0, 0.0]]


def test_the_papers_methods_run_in_its_order_and_bring_labels_to_their_space():
    found = list(paper_methods(pairs(), with_wsabie=False))
    expected = [name for name in THEIRS["table 2"] if not name.startswith("WSABIE")]
    assert [name for name, *_ in found] == expected
    words = np.eye(5, dtype=np.float32)
    for name, fit, to_space in found:
        assert (to_space is not None) == name.endswith("(CTR)")
        rows = words if to_space is None else to_space.text_rows(words)
        both = fit()
        assert both.to_texts.n_texts_in_ == rows.shape[1]
    assert both.chosen(name)["BITR-C (CTR), to text"]["gap"] <= 1e-2


def test_as_published_folds_choose_and_wsabie_ranks_labels_as_words(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(published_settings, "STRENGTHS", (1.0, 100.0))
    monkeypatch.setattr(published_settings, "NORMS", (1.0,))
    monkeypatch.setattr(published_settings, "FOLDS", 2)
    monkeypatch.setattr(published_settings, "TOPICS", 5)
    told = pairs()
    labels = csr_array((told.texts > 0.3).astype(np.float32))
    found = {
        name: (fit(), to_space)
        for name, fit, to_space in published_settings.PublishedMethods("pairs")(told, labels)
        if "BITR-M" not in name
    }
    assert list(found) == [name for name in THEIRS["table 6"] if name in found]
    wsabie, _ = found["WSABIE (CTR)"]
    assert wsabie.to_texts.outputs == "words"
    assert wsabie.to_texts.n_texts_in_ == 5
    for name in ("BITR-E (TR)", "BITR-C (CTR)"):
        both, to_space = found[name]
        assert both.chosen(name)[f"{name}, to text"]["C"] in (1.0, 100.0)
        assert (to_space is not None) == name.endswith("(CTR)")
    assert len(list((tmp_path / "visterm" / "experiments").glob("bitr-folds-*"))) == 10


def test_bitr_learns_each_direction_by_itself():
    told = pairs()
    both = told.both(bitr("correlation"))
    assert both.to_texts.ranks == "texts"
    assert both.to_pictures.ranks == "pictures"


def test_principal_components_are_those_of_what_teaches():
    told, part = pairs(), partition()
    rows = pca(told.pictures, part, dimensions=3)
    centred = told.pictures - told.pictures[part.development].mean(axis=0)
    _, _, directions = np.linalg.svd(centred[part.development], full_matrices=False)
    expected = centred @ directions[:3].T
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(rows @ rows.T, expected @ expected.T, atol=1e-3)


def test_reports_put_means_over_parts_beside_the_published_figures(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def both_ways(value):
        return {way: {"P@5": value, "mAP": value} for way in ("to text", "to picture")}

    def methods(part):
        measured.append(part.name)
        yield "CCA", lambda: Measured(both_ways(float(part.test[0])))
        yield "ours alone", lambda: Measured(both_ways(1.0))

    measured = []
    report = _report("table 6", "labels", ("P@5", "mAP"), iapr(), 2, methods)
    first, second = (part.test[0] for part in iapr().partitions(2))
    theirs = THEIRS["table 6"]["CCA"]
    assert report.table.rows["CCA, published"] == [*theirs[0], *theirs[1]]
    assert report.table.rows["CCA, ours"] == [(first + second) / 2] * 4
    assert list(report.table.rows)[-1] == "ours alone"
    assert report.found["partitions"] == measured == ["part 1 of 10", "part 2 of 10"]
    deviation = report.found["standard_deviation"]["CCA"]["to text"]["mAP"]
    assert deviation == abs(first - second) / 2


def test_phrases_become_single_words_and_rare_ones_are_left_out():
    pytest.importorskip("HanTa")
    told = phrase_documents(["a man is walking on a road"] * 10 + ["a cat in a house"], silent)
    assert told[0].split() == ["man-walk", "walk-on-road"]
    assert told[-1] == ""


def test_partitions_are_refused_where_there_is_one_test_set():
    with pytest.raises(BadInput, match="leave partitions out"):
        reproduce("corel-statistics", partitions=3)
