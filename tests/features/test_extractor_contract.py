"""Every extractor keeps the promises of `Extractor`; to put one under contract, add a line here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.base import clone

from visterm.datasets.scenes import draw_scene
from visterm.features import (
    CNN,
    EXTRACTORS,
    Blobs,
    BlockCounts,
    Blocks,
    CNNPyramid,
    DenseSift,
    Sift,
    VistermCounts,
    parse_features,
)
from visterm.stored import read_stored

SMALL = ((32, "joint", 6),)
CANDIDATES = {
    "blocks": Blocks(channels=SMALL, colours=8),
    "block-counts": BlockCounts(colours=8),
    "visterm-counts": VistermCounts(random_state=1),
    "cnn": CNN(size=64),
    "cnn-pyramid": CNNPyramid(size=64),
    "sift": Sift(visterms=12),
    "dense-sift": DenseSift(visterms=12),
    "blobs": Blobs(visterms=6),
}
NEEDS = {"sift": "cv2", "dense-sift": "cv2", "blobs": "skimage"}


@pytest.fixture(scope="module")
def pictures() -> list[np.ndarray]:
    return [draw_scene(0, number, size=(96, 64)).pixels for number in range(8)]


@pytest.fixture(scope="module", params=CANDIDATES)
def extractor(request: pytest.FixtureRequest, pictures: list[np.ndarray]):
    if request.param in NEEDS:
        pytest.importorskip(NEEDS[request.param])
    return clone(CANDIDATES[request.param]).fit(pictures)


def plain(rows):
    return rows.toarray() if issparse(rows) else rows


def test_no_extractor_is_left_out_of_the_contract():
    ours = {name for name, kind in EXTRACTORS.items() if kind.__module__.startswith("visterm.")}
    assert set(CANDIDATES) == ours


def test_a_picture_becomes_a_finite_float32_row_whatever_comes_with_it(extractor, pictures):
    rows = extractor.transform(pictures)
    assert rows.dtype == np.float32
    assert np.isfinite(plain(rows)).all()
    assert plain(rows).any(axis=1).all()
    alone = plain(extractor.transform(pictures[3:4]))
    np.testing.assert_allclose(plain(rows)[3:4], alone, rtol=1e-4, atol=1e-5)


def test_the_same_pictures_give_the_same_rows_after_a_second_fit(extractor, pictures):
    again = clone(extractor).fit(pictures)
    assert (plain(again.transform(pictures)) == plain(extractor.transform(pictures))).all()


def test_what_was_saved_describes_pictures_alike(extractor, pictures, tmp_path: Path):
    extractor.save(tmp_path / "extractor.safetensors")
    loaded = type(extractor).load(tmp_path / "extractor.safetensors")
    assert read_stored(tmp_path / "extractor.safetensors")[0]["name"] == extractor.name
    assert loaded.key == extractor.key
    assert (plain(loaded.transform(pictures)) == plain(extractor.transform(pictures))).all()


def test_the_key_holds_what_was_set_and_is_no_other_extractors(extractor):
    usual = type(extractor)()
    assert extractor.key.startswith(f"{extractor.name}-{extractor.version}")
    assert extractor.key != usual.key
    assert clone(extractor).key == extractor.key
    assert "/" not in extractor.key


def test_its_name_is_read_by_every_command(extractor):
    assert type(parse_features(extractor.name)) is type(extractor)


def test_a_broken_picture_is_skipped_with_a_reason(extractor, pictures, tmp_path: Path):
    broken = tmp_path / "broken.jpg"
    broken.write_bytes(b"no picture")
    found = extractor.extract([pictures[0], str(broken), pictures[1]])
    assert found.numbers.tolist() == [0, 2]
    assert [one.number for one in found.skipped] == [1]
    assert found.skipped[0].reason
