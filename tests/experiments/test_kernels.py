"""Tables about blocks and kernels, the appendix and two kernels together, on drawn scenes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import papers.tpami2008.appendix as appendix
import papers.tpami2008.joint_kernels as joint_kernels
import pytest
from papers.tpami2008.kernels import kernels_tried, sides_tried
from papers.tpami2008.pages import drawn_scenes

from visterm.datasets import CaptionedPictures
from visterm.experiments.picture_features import PictureFeatures
from visterm.experiments.protocol import Protocol, protocol_of
from visterm.experiments.tables import entry
from visterm.kernels import ExpectedLikelihood, Match

SMALL = "blocks(channels=((32, joint, 40),), colours=20)"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Protocol:
    return protocol_of(drawn_scenes(tmp_path_factory.mktemp("scenes"), 60))


def test_blocks_are_compared_by_side_and_codebook_on_validation_pictures(drawn: Protocol) -> None:
    found = sides_tried(blind(drawn), [32, 64], [5])
    assert {side: [t.setting for t in tried] for side, tried in found.items()} == {
        side: ["5 visterms"] for side in (32, 64)
    }
    assert all(0 < t.avgp <= 1 for tried in found.values() for t in tried)


def test_kernels_are_compared_on_validation_pictures(drawn: Protocol) -> None:
    kernels = {
        "match": {"linear": Match("linear")},
        "likelihood": {"flat": ExpectedLikelihood(power=0.1)},
    }
    found = kernels_tried(blind(drawn), kernels)
    assert found["match"][0].setting == "linear"
    assert all(0 < tried[0].avgp <= 1 for tried in found.values())


def blind(protocol: Protocol) -> Protocol:
    """The same protocol, whose test pictures are not there to be looked at."""
    gone = CaptionedPictures([Path("gone.jpg")] * len(protocol.test), protocol.test.captions)
    return replace(protocol, test=gone)


def test_pamir_by_two_kernels_starts_from_nothing_and_from_the_svms(
    drawn: Protocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joint_kernels, "FEATURES", SMALL)
    table = joint_kernels.joint_table(drawn)
    assert len(table) == len(drawn.development) + len(drawn.test)
    np.testing.assert_allclose(np.diag(table), 1, rtol=1e-3)
    found = joint_kernels.compared(drawn, table, max_iter=2_000)
    assert list(found) == ["SVM", "PAMIR", "PAMIR from the SVMs"]
    for one in found.values():
        assert one.part("all").mean()["AvgP"] > 0.15
    assert found["PAMIR from the SVMs"].chosen["max_iter"] <= 2_000


def test_the_length_of_w_keeps_below_the_bound_while_the_loss_falls(
    drawn: Protocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(appendix, "ITERATIONS", (0, 10, 100, 2000))
    monkeypatch.setattr(appendix, "_TRIPLETS", 2000)
    vectors = PictureFeatures(drawn).vectors(SMALL)[0]
    steps = appendix.growth(entry("tpami-appendix"), drawn, vectors).found["steps"]
    lengths = [one["‖w‖"] for one in steps]
    assert lengths == sorted(lengths)
    assert all(one["‖w‖"] <= one["bound 2cρi"] for one in steps)
    assert steps[-1]["loss"] < 0.8 * steps[0]["loss"]
