"""Rows of blocks: the histograms of the block descriptor, logged, in order, with room behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from visterm.errors import BadInput, NotFitted
from visterm.features import BlockCounts, parse_features
from visterm.features.blocks.block_descriptor import TEXTURE_BINS, BlockDescriptor


def small(**changes: Any) -> BlockCounts:
    return BlockCounts(**{"colours": 12, **changes})


@pytest.fixture(scope="module")
def fitted(scenes: list[np.ndarray]) -> BlockCounts:
    return small().fit(scenes)


def test_rows_are_the_log_counts_of_blocks_one_after_another(
    fitted: BlockCounts, scenes: list[np.ndarray]
) -> None:
    rows = fitted.transform(scenes)
    assert rows.dtype == np.float32
    assert rows.shape == (12, 121 * 71)  # 11 × 11 blocks of 32 in a square of 192
    for row, pixels in zip(rows, scenes, strict=True):
        (counts,) = BlockDescriptor(fitted.colours_, [32])(pixels)
        blocks = row.reshape(121, 71)
        np.testing.assert_allclose(blocks[:77], np.log(1.0 + counts), rtol=1e-6)
        assert not blocks[77:].any()


def test_every_block_counts_its_pixels_twice(fitted: BlockCounts, scenes: list[np.ndarray]) -> None:
    blocks = np.expm1(fitted.transform(scenes[:2]).reshape(2, 121, 71)[:, :77])
    np.testing.assert_allclose(blocks[:, :, :TEXTURE_BINS].sum(axis=2), 32 * 32, rtol=1e-4)
    np.testing.assert_allclose(blocks[:, :, TEXTURE_BINS:].sum(axis=2), 32 * 32, rtol=1e-4)


@pytest.mark.parametrize("size", [(192, 192), (192, 40), (8, 8), (1, 192)])
def test_pictures_of_any_shape_fit(fitted: BlockCounts, size: tuple[int, int]) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (*size, 3)).astype(np.uint8)
    blocks = fitted.transform([pixels]).reshape(121, 71)
    there = blocks.any(axis=1)
    assert there[: there.sum()].all(), "blocks come first, room after them"
    assert there.sum() >= 1


def test_few_colours_leave_room_for_those_that_were_asked_for() -> None:
    grey = np.full((64, 64, 3), 90, dtype=np.uint8)
    counts = small(max_side=64).fit([grey])
    assert len(counts.colours_) <= 12
    assert counts.block_numbers == 71
    assert counts.transform([grey]).shape == (1, 9 * 71)


def test_the_width_is_known_before_anything_is_learnt() -> None:
    assert parse_features("block-counts").block_numbers == 109
    assert parse_features("blocks").block_numbers is None


def test_saved_and_loaded_gives_the_same_bytes(
    fitted: BlockCounts, scenes: list[np.ndarray], tmp_path: Path
) -> None:
    fitted.save(tmp_path / "counts")
    again = BlockCounts.load(tmp_path / "counts")
    assert again.get_params() == fitted.get_params()
    assert again.transform(scenes).tobytes() == fitted.transform(scenes).tobytes()


def test_nothing_is_described_before_fitting(scenes: list[np.ndarray]) -> None:
    with pytest.raises(NotFitted):
        small().transform(scenes)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"side": 31}, "side is an even number"),
        ({"colours": 0}, "colours are a whole number from 1 to 256"),
        ({"max_side": 0}, "max_side is a whole number"),
    ],
)
def test_wrong_parameters_are_named(
    scenes: list[np.ndarray], wrong: dict[str, Any], why: str
) -> None:
    with pytest.raises(BadInput, match=why):
        small(**wrong).fit(scenes)
