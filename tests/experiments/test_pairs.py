"""Pairs of pictures and texts: partitions, spaces, figures both ways, how methods are fitted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import papers.pair_tables as pair_tables
import pytest
from papers.pair_tables import (
    Both,
    caption_figures,
    fit_both,
    label_figures,
    label_scores,
    nearest,
    pair_table,
)
from papers.pairs import (
    LabelSets,
    Pairs,
    Partition,
    Spaces,
    mean_texts,
    phrase_documents,
    principal_components,
)
from scipy.sparse import csr_array

from visterm.datasets import CaptionedDataset, CaptionedPictures
from visterm.errors import BadInput
from visterm.experiments.tables import entry
from visterm.models import Cca
from visterm.progress import silent

BITR = {"pictures": "seen", "texts": "said", "model": "bitr(C=(1.0, 100.0), max_iter=20)"}


def iapr(n=100, seed=3):
    names = [f"picture {i}" for i in range(n)]
    return Pairs([Path(name) for name in names], names, np.arange(n), names, 10, seed)


def partition(n=120):
    order = np.random.default_rng(1).permutation(n)
    return Partition("a part", *(np.sort(part) for part in np.split(order, [80, 100])))


def spaces(n=120, noise=0.5, seed=0, labels=None):
    """Mixtures of five subjects, "seen" and "said"."""
    rng = np.random.default_rng(seed)
    hidden = rng.dirichlet(np.full(5, 0.3), n).astype(np.float32)
    seen = np.abs(hidden @ rng.random((5, 8)) + noise * 0.1 * rng.random((n, 8)))
    found = Spaces(iapr(n), partition(n), {}, labels)
    found._kept["pictures", "seen"] = seen.astype(np.float32)
    found._kept["texts", "said"] = hidden
    return found


def fitted(found, model=None):
    """One model, and the same as what chooses, both ways."""
    seen, said, p = found.pictures("seen"), found.texts("said"), found.partition
    chooser, final = (model or Cca()), Cca()
    chooser.fit(seen[p.train], said[p.train], validation=(seen[p.validation], said[p.validation]))
    final.fit(seen[p.development], said[p.development])
    return Both(seen, said, (chooser, chooser), (final, final))


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
    found = spaces(noise=20)
    captions = [f"a text about {row.argmax()}" for row in found.texts("said")]
    pairs = Pairs(found.pairs.paths, captions, np.arange(120), captions, 10, 0)
    p = found.partition
    figures = caption_figures(fitted(found), pairs, p.test, p.development)
    for way in ("to text", "to picture"):
        assert 0.75 < figures[way]["BLEU-1"] <= 1
        assert figures[way]["R@50 ="] == figures[way]["R@50"] == 1.0
        assert figures[way]["R@1 ="] > figures[way]["R@1"]


def test_of_several_captions_of_a_picture_the_best_placed_counts():
    rows = np.eye(4, dtype=np.float32)
    owners = np.array([0, 0, 1, 1])  # two pictures, two captions each
    pairs = Pairs([Path("a"), Path("b")], ["x", "y", "z", "w"], owners, [""] * 4, 2, 0)

    class Swapped:
        def picture_rows(self, X):
            return X

        def text_rows(self, Y):
            return Y

    pictures = rows[[0, 0, 2, 2]]  # each picture is where its first caption is
    both = Both(pictures, rows, (Swapped(),) * 2, (Swapped(),) * 2)
    figures = caption_figures(both, pairs, np.arange(4), np.arange(4))
    assert figures["to text"]["R@1"] == 1.0
    assert figures["to picture"]["R@1"] == 0.75  # ties stand in the order of the pictures
    assert "R@1 =" not in figures["to text"]


def test_labels_are_ranked_by_f_alone_and_by_how_often_they_are_given():
    found = spaces()
    rng = np.random.default_rng(2)
    often = rng.random(120) < 0.9
    true = csr_array(np.column_stack([found.texts("said") > 0.5, often]).astype(np.float32))
    vectors = np.vstack([np.eye(5), np.full(5, 0.2)]).astype(np.float32)
    both, p = fitted(found), found.partition
    scores = label_scores(both, vectors, true, p)
    plain = both.models[0].picture_rows(both.pictures[p.test]) @ both.models[0].text_rows(vectors).T
    np.testing.assert_allclose(scores.plain, plain, rtol=1e-5)
    figures = label_figures(scores, csr_array(true[p.test]))
    assert figures["to text"]["mAP with prior"] > figures["to text"]["mAP"]
    assert 0 < figures["to picture"]["mAP"] <= 1


def test_beta_is_chosen_by_a_model_that_has_not_learnt_from_the_validation_pictures():
    found = spaces()
    true = csr_array((found.texts("said") > 0.5).astype(np.float32))
    vectors, both, p = np.eye(5, dtype=np.float32), fitted(found), found.partition
    usual = label_scores(both, vectors, true, p)
    # What is true of test pictures, and how the final model sees validation pictures, is no matter.
    other = true.copy().tolil()
    other[p.test] = 1 - true[p.test].toarray()
    again = label_scores(both, vectors, csr_array(other), p)
    np.testing.assert_array_equal(usual.with_prior, again.with_prior)
    # A chooser that ranks validation pictures the wrong way round wants little weight.
    wrong = fitted(found).choosers[0]
    wrong.picture_map_ = -wrong.picture_map_
    turned = label_scores(both._replace(choosers=(wrong, wrong)), vectors, true, p)
    assert np.ptp(turned.with_prior - turned.plain) != np.ptp(usual.with_prior - usual.plain)


def test_pictures_are_ranked_for_labels_by_the_model_that_ranks_pictures():
    found = spaces()
    true = csr_array((found.texts("said") > 0.5).astype(np.float32))
    vectors, good, bad = np.eye(5, dtype=np.float32), fitted(found), fitted(found)
    bad.models[0].picture_map_ = -bad.models[0].picture_map_
    both = good._replace(models=(bad.models[0], good.models[1]))
    expected = label_scores(good, vectors, true, found.partition).to_pictures
    back = label_scores(both, vectors, true, found.partition).to_pictures
    np.testing.assert_array_equal(back, expected)


def test_by_angle_a_picture_is_not_first_for_every_label_because_its_row_is_long():
    found = spaces()
    true = csr_array((found.texts("said") > 0.5).astype(np.float32))
    both, p, vectors = fit_both(found, BITR), found.partition, np.eye(5, dtype=np.float32)
    rows = both.models[1].picture_rows(both.pictures[p.test])
    plain = label_scores(both, vectors, true, p).to_pictures
    by_angle = label_scores(both, vectors, true, p, by_angle=True).to_pictures
    np.testing.assert_allclose(by_angle, plain / np.linalg.norm(rows, axis=1), rtol=1e-3)


def test_a_label_is_the_mean_of_the_development_texts_that_hold_it():
    texts = np.float32([[1, 0], [0, 1], [0, 1], [9, 9]])
    true = csr_array(np.float32([[1, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0]]))
    split = Partition("a part", np.array([0, 1]), np.array([2]), np.array([3]))
    assert mean_texts(texts, true, split).tolist() == [[0.5, 0.5], [0.0, 1.0], [0.0, 0.0]]


def test_bitr_learns_each_direction_by_itself_and_again_from_validation_pairs():
    found = spaces()
    both = fit_both(found, BITR)
    assert [model.ranks for model in both.models] == ["texts", "pictures"]
    assert both.chosen("BITR")["BITR, to text"]["C"] in (1.0, 100.0)
    assert not np.allclose(both.choosers[0].weights_, both.models[0].weights_)
    once = fit_both(found, {**BITR, "model": "cca(ridge=0.1, text_ridge=0.1, scaling=0.0)"})
    assert once.models[0] is once.models[1]


def test_five_folds_choose_among_values_and_none_learns_from_the_fold_it_is_judged_on(monkeypatch):
    found = spaces()
    seen, p = found.pictures("seen"), found.partition
    judged = []
    fit = Cca.fit

    def watched(self, X, Y, *, validation=None, progress=None):
        judged.append((numbers_of(seen, X), numbers_of(seen, validation[0]) if validation else []))
        return fit(self, X, Y, validation=validation, progress=progress)

    monkeypatch.setattr(Cca, "fit", watched)
    model = "cca(ridge=(0.1, 1.0), text_ridge=0.1, scaling=0.0)"
    fit_both(found, {**BITR, "model": model, "folds": 5})
    folds = judged[: 2 * pair_tables._FOLDS]
    for learnt, held in folds:
        assert not set(learnt) & set(held)
        assert sorted([*learnt, *held]) == p.development.tolist()
    held = sorted(number for _, fold in folds[: pair_tables._FOLDS] for number in fold)
    assert held == p.development.tolist()


def numbers_of(rows, some):
    """Which of the rows some are."""
    known = {row.tobytes(): number for number, row in enumerate(rows)}
    return [known[row.tobytes()] for row in np.asarray(some, np.float32)]


def test_principal_components_are_those_of_what_teaches():
    found, part = spaces(), partition()
    seen = found.pictures("seen")
    rows = principal_components(seen, part, dimensions=3)
    centred = seen - seen[part.development].mean(axis=0)
    _, _, directions = np.linalg.svd(centred[part.development], full_matrices=False)
    expected = centred @ directions[:3].T
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(rows @ rows.T, expected @ expected.T, atol=1e-3)


def test_reports_put_means_over_parts_beside_the_published_figures(monkeypatch):
    names = [f"{i}.jpg" for i in range(100)]
    pictures = CaptionedPictures([Path(name) for name in names], names, labels=names)
    data = CaptionedDataset("toy", pictures.take(range(90)), pictures.take(range(90, 100)))

    def measured(spaces, labels, name, method):
        value = float(spaces.partition.test[0]) if name == "CCA" else 1.0
        both = {way: {"P@5": value, "mAP": value} for way in ("to text", "to picture")}
        return {"figures": both, "chosen": {}}

    monkeypatch.setattr(pair_tables, "label_method", measured)
    report = pair_table(entry("bitr-6"), data, seed=3, partitions=2)
    first, second = (part.test[0] for part in Pairs.of(data, 3).partitions(2))
    theirs = entry("bitr-6").published["CCA"]
    assert report.table.rows["CCA, published"] == [*theirs[0], None, None, *theirs[1]]
    assert report.table.rows["CCA, ours"][:2] == [(first + second) / 2] * 2
    assert report.found["partitions"] == ["part 1 of 10", "part 2 of 10"]
    deviation = report.found["standard_deviation"]["CCA"]["to text"]["mAP"]
    assert deviation == abs(first - second) / 2


def test_phrases_become_single_words_and_rare_ones_are_left_out():
    pytest.importorskip("HanTa")
    told = phrase_documents(["a man is walking on a road"] * 10 + ["a cat in a house"], silent)
    assert told[0].split() == ["man-walk", "walk-on-road"]
    assert told[-1] == ""
    assert LabelSets(told).true.sum() == 20


def test_vectors_of_an_installed_network_are_kept_by_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from papers.pairs import cnn_vectors, network_key, seen_by
    from tests.encoders.tiny_network import install

    from visterm.datasets.scenes import draw_scenes

    monkeypatch.setenv("VISTERM_ENCODERS", str(tmp_path / "installed"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    draw_scenes(tmp_path / "drawn", 3, size=(48, 32))
    paths = sorted((tmp_path / "drawn").glob("*.jpg"))
    rows, keys = [], []
    for shade in (0.5, 0.3):
        name = install(tmp_path, shade=shade)
        keys.append(network_key(name))
        rows.append(cnn_vectors(paths, seen_by(name, ())))
        assert np.array_equal(cnn_vectors(paths, seen_by(name, ())), rows[-1])
    assert rows[0].shape == (3, 12)
    assert keys[0] != keys[1]
    assert not np.array_equal(rows[0], rows[1])
    assert seen_by(None, ()) == network_key(None) == ()


def test_a_table_that_names_its_own_features_takes_no_others() -> None:
    from visterm.experiments.tables import reproduce

    with pytest.raises(BadInput, match="names its own features"):
        reproduce("tpami-9", features="cnn")
