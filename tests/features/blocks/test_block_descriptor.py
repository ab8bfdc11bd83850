"""Block histograms against scikit-image, Pillow, brute force and the definition written slowly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image
from skimage.feature import local_binary_pattern

from visterm.errors import BadInput
from visterm.features.blocks import _kernels
from visterm.features.blocks.block_descriptor import TEXTURE_BINS, BlockDescriptor, _uniform_bins

GREYS = np.arange(0, 256, 17)[:, None].repeat(3, axis=1)


def textures(grey: np.ndarray) -> np.ndarray:
    return _kernels.texture_labels(grey, _uniform_bins())


def colours_of(pixels: np.ndarray, colours: np.ndarray) -> np.ndarray:
    return BlockDescriptor(colours, [4])._labels(pixels)[1]


def distance_from_a_tie(grey: np.ndarray) -> np.ndarray:
    """How far, in grey levels, the nearest of the four interpolated neighbours is from its centre.

    The point √2 to the side and √2 up lies between four pixels.
    """
    far = np.sqrt(2.0) - 1.0
    weights = np.array([[(1 - far) ** 2, (1 - far) * far], [(1 - far) * far, far**2]])
    padded = np.pad(grey.astype(np.float64), 2)
    h, w = grey.shape

    def beside(down: int, right: int) -> np.ndarray:
        return padded[2 + down : 2 + down + h, 2 + right : 2 + right + w]

    gaps = [
        sum(weights[i, j] * beside(up * (i + 1), side * (j + 1)) for i in (0, 1) for j in (0, 1))
        for up in (-1, 1)
        for side in (-1, 1)
    ]
    return np.abs(np.array(gaps) - grey).min(axis=0)


def blocks_slowly(pixels: np.ndarray, colours: np.ndarray, side: int) -> np.ndarray:
    """Squares of the side every half side, each cut out and counted."""
    texture = textures(np.asarray(Image.fromarray(pixels).convert("L")))
    colour = nearest_slowly(pixels, colours)
    found = []
    for top in range(0, pixels.shape[0] - side + 1, side // 2):
        for left in range(0, pixels.shape[1] - side + 1, side // 2):
            square = slice(top, top + side), slice(left, left + side)
            edges = np.bincount(texture[square].ravel(), minlength=TEXTURE_BINS)
            found.append(np.r_[edges, np.bincount(colour[square].ravel(), minlength=len(colours))])
    return np.array(found)


def nearest_slowly(pixels: np.ndarray, colours: np.ndarray) -> np.ndarray:
    away = (pixels[:, :, None, :].astype(np.float32) - colours.astype(np.float32)) ** 2
    return (away[..., 0] + away[..., 1] + away[..., 2]).argmin(axis=2)


def test_texture_equals_scikit_image_except_at_ties(scenes: list[np.ndarray]) -> None:
    pixels = differing = exact = 0
    for scene in scenes:
        grey = _kernels.grey_of(scene)
        theirs = local_binary_pattern(grey, 8, 2, "nri_uniform").astype(int)
        differs = textures(grey) != theirs
        gap = distance_from_a_tie(grey)[differs]
        # √2 − 1 in whole 1024ths is off by 0.00015, which moves a neighbour by 0.046 at the most.
        assert (gap < 0.046).all()
        # Nearly all are exact ties, where theirs rounds in floating point.
        exact += (gap < 1e-9).sum()
        pixels, differing = pixels + differs.size, differing + differs.sum()
    assert differing / pixels < 0.0005
    assert exact >= 0.9 * differing


def test_all_59_texture_bins_are_used() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (300, 300), dtype=np.uint8)
    assert np.array_equal(np.unique(textures(noise)), np.arange(TEXTURE_BINS))
    assert np.array_equal(np.unique(_uniform_bins()), np.arange(TEXTURE_BINS))
    assert np.bincount(_uniform_bins())[:-1].max() == 1


@pytest.mark.parametrize("brightness", [0, 1, 2, 77, 128, 200, 254, 255])
def test_a_flat_patch_is_flat_at_any_brightness(brightness: int) -> None:
    flat = np.full((12, 15), brightness, dtype=np.uint8)
    assert (textures(flat)[2:-2, 2:-2] == TEXTURE_BINS - 2).all()


@given(arrays(np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 9))), st.integers(1, 30))
@settings(max_examples=50, deadline=None)
def test_texture_does_not_see_a_change_of_light(grey: np.ndarray, more: int) -> None:
    inside = np.pad(grey // 2, 2, mode="edge")
    brighter = (inside + more).astype(np.uint8)
    assert np.array_equal(textures(inside)[2:-2, 2:-2], textures(brighter)[2:-2, 2:-2])


@given(arrays(np.uint8, st.tuples(st.integers(1, 20), st.integers(1, 20), st.just(3))))
@settings(deadline=None)
def test_grey_equals_pillow(pixels: np.ndarray) -> None:
    assert np.array_equal(_kernels.grey_of(pixels), Image.fromarray(pixels).convert("L"))


@given(st.data(), st.sampled_from([1, 2, 7, 50, 256]), st.booleans())
@settings(max_examples=40, deadline=None)
def test_colours_equal_brute_force(data: st.DataObject, k: int, whole: bool) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    colours = rng.uniform(0, 255, (k, 3)).astype(np.float32)
    if whole:  # whole numbers in a small range: ties and equal colours everywhere
        colours = np.round(colours / data.draw(st.sampled_from([1, 30, 100])))
    pixels = rng.integers(0, 256, (40, 50, 3), dtype=np.uint8)
    pixels[:10] = rng.choice(np.clip(colours, 0, 254), (10, 50)) + rng.integers(0, 2, (10, 50, 3))
    assert np.array_equal(colours_of(pixels, colours), nearest_slowly(pixels, colours))


def test_every_pixel_of_rgb_gets_the_nearest_of_crowded_colours() -> None:
    rng = np.random.default_rng(3)
    colours = np.clip(rng.normal(120, 12, (60, 3)), 0, 255)
    pixels = rng.integers(80, 160, (300, 300, 3), dtype=np.uint8)
    assert np.array_equal(colours_of(pixels, colours), nearest_slowly(pixels, colours))


@pytest.mark.parametrize("k", [1, 256])
def test_of_equal_colours_the_first_is_nearest(k: int, scenes: list[np.ndarray]) -> None:
    assert (colours_of(scenes[0], np.full((k, 3), 99.0)) == 0).all()


def test_192_by_128_pictures_have_77_blocks_of_32(scenes: list[np.ndarray]) -> None:
    (histograms,) = BlockDescriptor(GREYS, [32])(scenes[0])
    assert histograms.shape == (77, TEXTURE_BINS + len(GREYS))
    assert (histograms[:, :TEXTURE_BINS].sum(axis=1) == 32 * 32).all()
    assert (histograms[:, TEXTURE_BINS:].sum(axis=1) == 32 * 32).all()


@pytest.mark.parametrize(
    ("height", "width", "side"),
    [(128, 192, 32), (127, 191, 32), (97, 101, 16), (31, 45, 10), (33, 29, 6), (20, 20, 20)],
)
def test_blocks_equal_the_definition_at_odd_sizes_too(
    scenes: list[np.ndarray], height: int, width: int, side: int
) -> None:
    pixels = np.ascontiguousarray(scenes[1][:height, :width])
    (histograms,) = BlockDescriptor(GREYS, [side])(pixels)
    assert np.array_equal(histograms, blocks_slowly(pixels, GREYS, side))


@pytest.mark.parametrize("shape", [(1, 1), (3, 200), (200, 3), (31, 31), (20, 64)])
def test_tiny_pictures_have_a_block_of_every_side(shape: tuple[int, int]) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (*shape, 3), dtype=np.uint8)
    for side, histograms in zip(
        (4, 16, 32), BlockDescriptor(GREYS, [4, 16, 32])(pixels), strict=True
    ):
        assert len(histograms) >= 1
        assert (histograms.sum(axis=1) == 2 * side * side).all()


@pytest.mark.parametrize("shape", [(128, 192), (20, 64), (1, 1)])
def test_several_sides_in_one_pass_equal_one_at_a_time(
    scenes: list[np.ndarray], shape: tuple[int, int]
) -> None:
    pixels = scenes[2][: shape[0], : shape[1]]
    together = BlockDescriptor(GREYS, [32, 8, 24])(pixels)
    for side, histograms in zip((32, 8, 24), together, strict=True):
        assert np.array_equal(histograms, BlockDescriptor(GREYS, [side])(pixels)[0])


def test_blocks_of_256_pixels_are_counted_in_full() -> None:
    flat = np.full((256, 256, 3), 17, dtype=np.uint8)
    (histograms,) = BlockDescriptor(GREYS, [256])(flat)
    assert histograms[0, TEXTURE_BINS + 1] == 256 * 256


def test_a_mirrored_view_of_pixels_is_described_as_its_copy(scenes: list[np.ndarray]) -> None:
    mirrored = scenes[3][:, ::-1]
    descriptor = BlockDescriptor(GREYS, [16])
    assert np.array_equal(descriptor(mirrored)[0], descriptor(mirrored.copy())[0])


@pytest.mark.parametrize("sides", [[], [31], [2], [32, 0]])
def test_odd_or_tiny_sides_are_refused(sides: list[int]) -> None:
    with pytest.raises(BadInput, match="even and at least 4"):
        BlockDescriptor(GREYS, sides)


@pytest.mark.parametrize(
    ("colours", "match"),
    [
        (np.zeros((0, 3)), "1 to 256"),
        (np.zeros((257, 3)), "1 to 256"),
        (np.zeros((5, 4)), "k × 3"),
        (np.zeros(3), "k × 3"),
        (np.full((1, 3), np.nan), "between 0 and 255"),
        (np.full((1, 3), 256.0), "between 0 and 255"),
    ],
)
def test_colours_outside_rgb_are_refused(colours: np.ndarray, match: str) -> None:
    with pytest.raises(BadInput, match=match):
        BlockDescriptor(colours, [16])
