"""Tables about features: who is compared on what, and that nothing is chosen on test pictures."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from visterm.datasets.captioned_pictures import CaptionedPictures
from visterm.datasets.scenes import draw_scenes
from visterm.experiments.papers.ecml import feature_comparison as ecml
from visterm.experiments.papers.ecml.feature_comparison import (
    FeatureRow,
    PamirSetting,
    RowOutcomes,
    _pamir,
    _vectors,
    compare_features,
)
from visterm.experiments.papers.registry import reproduce
from visterm.experiments.papers.tpami.block_features import by_kernel, by_side
from visterm.experiments.runner.indexed_models import outcome_of
from visterm.experiments.runner.picture_features import PictureFeatures
from visterm.experiments.runner.protocol import Protocol, split_off_test
from visterm.experiments.runner.runs import Seconds
from visterm.kernels import ExpectedLikelihood, Match
from visterm.progress import silent


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Protocol:
    scenes = draw_scenes(tmp_path_factory.mktemp("scenes"), 60, seed=3, size=(128, 96))
    known = CaptionedPictures([p for p, _ in scenes], [" ".join(w) for _, w in scenes], "scenes")
    return split_off_test(known, language=None)


def test_every_model_is_measured_and_the_better_way_of_pamir_is_taken(drawn: Protocol) -> None:
    good, poor = "blocks(channels=((32, joint, 40),))", "blocks(channels=((64, edges, 2),))"
    described = PictureFeatures(drawn, n_jobs=1)
    rows = {"blocks": FeatureRow(good, (PamirSetting(poor), PamirSetting(good)))}
    outcomes, tried = compare_features(described, rows, max_words=1)["blocks"]
    assert list(outcomes) == ["CMRM", "CMTT", "PLSA", "PAMIR"]
    assert outcomes["PAMIR"].chosen["way"] == max(tried, key=tried.__getitem__)
    assert set(tried) == {good, poor}
    assert all(len(one.evaluation) == len(drawn.test_relevance) for one in outcomes.values())

    # What was measured is kept: nothing is extracted or learnt a second time.
    told: list[str] = []

    def note(what: str, *_: int) -> None:
        told.append(what)

    again = compare_features(PictureFeatures(drawn, n_jobs=1), rows, max_words=1, progress=note)
    assert told == []
    assert again["blocks"].tried == tried
    for name, one in again["blocks"].outcomes.items():
        assert one.evaluation.mean() == outcomes[name].evaluation.mean()
        assert one.chosen == outcomes[name].chosen


def test_as_published_visterms_are_one_bag_and_the_margin_is_that_of_captions(
    drawn: Protocol,
) -> None:
    small = "sift(visterms=20, root=False, rootsift=False)"
    described = PictureFeatures(drawn, n_jobs=1)
    way = PamirSetting(small, as_published=True)
    vectors = _vectors(described, way, silent)
    assert {part.shape[0] for part in vectors} == {len(n) for n in (*drawn.split, drawn.test)}
    counts = described.counts(small)[0]
    ratio = vectors[0][[0]].toarray() / counts[[0]].toarray().clip(1e-9)
    idf = -np.log((counts.toarray() > 0).mean(axis=0).clip(1e-9))
    seen = counts[[0]].toarray()[0] > 0
    np.testing.assert_allclose(ratio[0][seen] / idf[seen], (ratio[0][seen] / idf[seen])[0], 1e-4)
    assert _pamir(way, 1, 0).margin == "caption"
    assert min(_pamir(way, 1, 0).C) == 0.001


@pytest.mark.parametrize("as_published", [False, True])
def test_the_tables_of_ecml_stand_beside_the_published_figures(
    drawn: Protocol, monkeypatch: pytest.MonkeyPatch, as_published: bool
) -> None:
    rng = np.random.default_rng(0)
    chosen = {"way": "blobs", "C": 0.1, "max_iter": 1000}

    def outcome(seconds: Seconds):
        rows = rng.random((len(drawn.test), len(drawn.vocabulary)), np.float32)
        return outcome_of(drawn, rows, seconds, chosen)

    for max_words in (None, 1):
        made = {
            row: RowOutcomes({model: outcome(Seconds()) for model in theirs}, {"blobs": 30.0})
            for row, theirs in ecml.THEIRS["table 4"].items()
        }
        monkeypatch.setitem(ecml._compared, (None, 0, max_words, as_published), made)
    chosen_by = reproduce("ecml-3", as_published=as_published)
    assert chosen_by.found["ours"]["SIFT"]["margin"] == ("caption" if as_published else "constant")
    for table in ("ecml-4", "ecml-5", "ecml-6", "ecml-6-measures"):
        report = reproduce(table, as_published=as_published)
        for row in report.table.rows:
            cells = [report.table.number(row, column) for column in report.table.columns]
            assert all(0 <= cell <= 100 for cell in cells), (table, row)
        assert set(json.loads(json.dumps(report.to_json()))) >= {"published", "ours"}


def test_blocks_are_compared_by_side_and_codebook_on_validation_pictures(drawn: Protocol) -> None:
    found = by_side(blind(drawn), [32, 64], [5])
    assert {side: [t.setting for t in tried] for side, tried in found.items()} == {
        side: ["5 visterms"] for side in (32, 64)
    }
    assert all(0 < t.avgp <= 1 for tried in found.values() for t in tried)


def test_kernels_are_compared_on_validation_pictures(drawn: Protocol) -> None:
    kernels = {"match": [Match("linear")], "likelihood": [ExpectedLikelihood(power=0.1)]}
    found = by_kernel(blind(drawn), kernels)
    assert found["match"][0].setting == "linear"
    assert found["likelihood"][0].setting == "1 Gaussians, power 0.1"
    assert all(0 < tried[0].avgp <= 1 for tried in found.values())


def blind(protocol: Protocol) -> Protocol:
    """The same protocol, whose test pictures are not there to be looked at."""
    gone = CaptionedPictures([Path("gone.jpg")] * len(protocol.test), protocol.test.captions)
    return Protocol(
        protocol.name,
        protocol.development,
        gone,
        protocol.vocabulary,
        protocol.max_words,
        protocol.held_out,
        protocol.seed,
    )
