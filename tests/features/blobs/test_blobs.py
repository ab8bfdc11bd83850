"""Blobs: regions of normalized cuts, the 36 numbers of each, and bags of them."""

from __future__ import annotations

import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from visterm.datasets.scenes import Scene
from visterm.errors import BadInput, MissingExtra
from visterm.features import Blobs
from visterm.features.blob_descriptor import (
    BLOB_NUMBERS,
    _best_cut,
    blob_numbers,
    cut_regions,
)
from visterm.features.blobs import count_blob_tokens

pytest.importorskip("cv2", reason="blobs need the extra 'classic'")
pytest.importorskip("skimage", reason="blobs need the extra 'classic'")


@pytest.fixture(scope="module")
def pictures(many: list[Scene]) -> list[np.ndarray]:
    return [scene.pixels for scene in many[:34]]


@pytest.fixture(scope="module")
def fitted(pictures: list[np.ndarray]) -> Blobs:
    return Blobs(visterms=20, superpixels=40).fit(pictures)


def flag(*stripes: tuple[int, int, int], size: tuple[int, int] = (48, 72)) -> np.ndarray:
    """Stripes of equal width, side by side."""
    edges = np.linspace(0, size[1], len(stripes) + 1).astype(int)
    picture = np.empty((*size, 3), dtype=np.uint8)
    for colour, start, stop in zip(stripes, edges[:-1], edges[1:], strict=True):
        picture[:, start:stop] = colour
    return picture


def number(row: np.ndarray, name: str) -> float:
    return float(row[BLOB_NUMBERS.index(name)])


def cost(alike: np.ndarray, inside: set[int]) -> float:
    """The normalized cut, as the paper writes it."""
    everything = set(range(len(alike)))
    cut = sum(alike[i, j] for i in inside for j in everything - inside)
    return sum(
        cut / sum(alike[i, j] for i in side for j in everything)
        for side in (inside, everything - inside)
    )


def test_colours_become_regions_of_their_own() -> None:
    picture = flag((200, 0, 0), (240, 240, 240), (0, 0, 200))
    regions = cut_regions(picture, most=3)
    found = [set(regions[:, at : at + 24].ravel()) for at in (0, 24, 48)]
    assert sorted(map(len, found)) == [1, 1, 1]
    assert set.union(*found) == {0, 1, 2}


def test_regions_are_numbered_by_size_and_cover_everything(pictures: list[np.ndarray]) -> None:
    for picture in pictures[:5]:
        regions = cut_regions(picture, superpixels=40, most=6)
        sizes = np.bincount(regions.ravel())
        assert regions.shape == picture.shape[:2]
        assert 1 < len(sizes) <= 6
        assert (np.diff(sizes) <= 0).all()
        assert sizes[-1] > 0


def test_dear_cuts_are_not_made(pictures: list[np.ndarray]) -> None:
    assert cut_regions(pictures[0], dearest=0).max() == 0


def test_the_same_picture_is_always_cut_the_same_way(pictures: list[np.ndarray]) -> None:
    assert np.array_equal(cut_regions(pictures[0]), cut_regions(pictures[0].copy()))


@pytest.mark.parametrize("size", [(1, 1), (1, 9), (2, 2), (300, 3)])
def test_pictures_of_any_size_have_a_region(size: tuple[int, int]) -> None:
    picture = np.random.default_rng(0).integers(0, 255, (*size, 3)).astype(np.uint8)
    regions = cut_regions(picture)
    assert regions.shape == size
    assert np.isfinite(blob_numbers(picture, regions)).all()


def test_the_cheapest_cut_parts_two_crowds() -> None:
    rng = np.random.default_rng(0)
    crowd = np.array([0, 1, 0, 0, 1, 1, 0, 1])
    alike = np.where(crowd[:, None] == crowd, 0.8, 0.1) + 0.1 * rng.random((8, 8))
    alike = (alike + alike.T) / 2
    np.fill_diagonal(alike, 0)
    found = _best_cut(alike, np.arange(8))
    assert found.sides is not None
    sides = {frozenset(side.tolist()) for side in found.sides}
    assert sides == {frozenset({0, 2, 3, 6}), frozenset({1, 4, 5, 7})}
    every = [set(some) for count in range(1, 8) for some in combinations(range(8), count)]
    assert found.cost == pytest.approx(min(cost(alike, inside) for inside in every))


def test_there_are_18_numbers_of_colour_12_of_texture_and_6_of_shape() -> None:
    assert len(BLOB_NUMBERS) == len(set(BLOB_NUMBERS)) == 36
    assert all(name.startswith(("mean", "deviation")) for name in BLOB_NUMBERS[:18])
    assert all(name.startswith("energy") for name in BLOB_NUMBERS[18:30])


def test_colours_are_means_and_deviations_over_the_region(pictures: list[np.ndarray]) -> None:
    from skimage.color import rgb2lab

    picture = pictures[0]
    regions = (np.arange(picture.shape[1]) >= 20)[None, :].repeat(len(picture), axis=0).astype(int)
    rows = blob_numbers(picture, regions)
    part = picture[:, 20:].reshape(-1, 3) / 255
    lab = rgb2lab(picture[:, 20:]).reshape(-1, 3) / 100
    shares = part[:, :2] / np.maximum(part.sum(axis=1, keepdims=True), 1e-9)
    expected = np.concatenate([part, lab, shares, part.mean(axis=1, keepdims=True)], axis=1)
    assert np.allclose(rows[1, :9], expected.mean(axis=0), atol=1e-3)
    assert np.allclose(rows[1, 9:18], expected.std(axis=0), atol=1e-3)


def test_black_is_as_grey_as_white() -> None:
    (row,) = blob_numbers(np.zeros((9, 9, 3), np.uint8), np.zeros((9, 9), np.int64))
    assert number(row, "mean r") == pytest.approx(1 / 3)
    assert number(row, "mean g") == pytest.approx(1 / 3)


@pytest.mark.parametrize("wavelength", [4, 8])
@pytest.mark.parametrize("angle", [0, 30, 60, 90, 120, 150])
def test_waves_have_energy_along_their_direction(wavelength: int, angle: int) -> None:
    y, x = np.mgrid[0:64, 0:64]
    turned = x * np.cos(np.radians(angle)) + y * np.sin(np.radians(angle))
    wave = (128 + 100 * np.sin(2 * np.pi * turned / wavelength)).astype(np.uint8)
    picture = np.repeat(wave[..., None], 3, axis=2)
    (row,) = blob_numbers(picture, np.zeros((64, 64), np.int64))
    strongest = BLOB_NUMBERS[18 + int(row[18:30].argmax())]
    assert strongest == f"energy {wavelength}px {angle}°"


def test_brightness_alone_has_no_energy() -> None:
    (row,) = blob_numbers(np.full((40, 40, 3), 200, np.uint8), np.zeros((40, 40), np.int64))
    assert np.abs(row[18:30]).max() < 1e-2


def test_a_rectangle_has_the_shape_of_one() -> None:
    regions = np.zeros((20, 40), dtype=np.int64)
    regions[4:10, 10:22] = 1
    row = blob_numbers(np.zeros((20, 40, 3), np.uint8), regions)[1]
    assert number(row, "size") == pytest.approx(72 / 800)
    assert (number(row, "x"), number(row, "y")) == pytest.approx((16 / 40, 7 / 20))
    assert number(row, "roundness") == pytest.approx(72 / 36**2)
    assert number(row, "convexity") == pytest.approx(1)
    apart = [(x - 5.5) ** 2 + (y - 2.5) ** 2 for x in range(12) for y in range(6)]
    assert number(row, "inertia") == pytest.approx(np.mean(apart) / 72)


def test_an_angle_does_not_fill_its_hull() -> None:
    regions = np.zeros((30, 30), dtype=np.int64)
    regions[:10, :20] = regions[:20, :10] = 1  # an L of 300 pixels; its hull leaves out a triangle
    row = blob_numbers(np.zeros((30, 30, 3), np.uint8), regions)[1]
    assert number(row, "convexity") == pytest.approx(300 / 350)


def test_numbers_are_standardised_before_they_are_clustered(
    fitted: Blobs, pictures: list[np.ndarray]
) -> None:
    found = np.concatenate([fitted._descriptors(picture)[0].descriptors for picture in pictures])
    points = fitted._points(found, fitted._channels()[0])
    assert np.abs(points.mean(axis=0)).max() < 0.2
    assert np.abs(points.std(axis=0) - 1).max() < 0.25


def test_small_regions_are_left_out_but_never_all() -> None:
    picture = flag((200, 0, 0), (0, 0, 200))
    (two,) = Blobs(regions=2)._descriptors(picture)
    (one,) = Blobs(regions=2, min_area=0.9)._descriptors(picture)
    assert (len(two.descriptors), len(one.descriptors)) == (2, 1)
    assert sorted(two.places[:, 0].round(2).tolist()) == [0.25, 0.75]


def test_a_row_counts_the_nearest_visterm_of_each_region(
    fitted: Blobs, pictures: list[np.ndarray]
) -> None:
    centres = fitted._arrays()["centres_0"].astype(float)
    (found,) = fitted._descriptors(pictures[3])
    tf = np.zeros(20)
    for descriptor in found.descriptors:
        point = (descriptor - fitted.centre_) / fitted.spread_
        tf[((centres - point) ** 2).sum(axis=1).argmin()] += 1
    expected = tf * fitted.idf_
    row = fitted.transform(pictures[3:4]).toarray()[0]
    assert np.allclose(row, expected / np.linalg.norm(expected), atol=1e-6)


def test_a_region_can_count_for_several_visterms(pictures: list[np.ndarray]) -> None:
    settings = {"visterms": 15, "superpixels": 40, "weighting": "counts"}
    once = Blobs(**settings).fit_transform(pictures[:12])
    thrice = Blobs(**settings, nearest=3).fit_transform(pictures[:12])
    assert (3 * once.sum(axis=1) == thrice.sum(axis=1)).all()


def test_flat_pictures_are_one_blob(fitted: Blobs) -> None:
    flat = np.full((48, 64, 3), 90, dtype=np.uint8)
    assert fitted.transform([flat]).nnz >= 1


def test_what_was_learnt_can_be_kept(
    fitted: Blobs, pictures: list[np.ndarray], tmp_path: Path
) -> None:
    fitted.save(tmp_path / "blobs")
    again = Blobs.load(tmp_path / "blobs")
    assert (again.transform(pictures[:4]) != fitted.transform(pictures[:4])).nnz == 0


def test_bad_parameters_say_what_would_be_good(pictures: list[np.ndarray]) -> None:
    with pytest.raises(BadInput, match="regions is a whole number from 1 on, not 0"):
        Blobs(regions=0).fit(pictures)
    with pytest.raises(BadInput, match="min_area lies between 0 and 1"):
        Blobs(min_area=1).fit(pictures)


@pytest.mark.parametrize(("module", "name"), [("cv2", "OpenCV"), ("skimage", "scikit-image")])
def test_a_missing_library_is_named_with_its_cure(
    monkeypatch: pytest.MonkeyPatch, pictures: list[np.ndarray], module: str, name: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=rf"{name} .*pip install 'visterm\[classic\]'"):
        Blobs().fit(pictures)


def test_original_tokens_become_counts() -> None:
    tokens = [np.array([3, 1, 3]), np.array([], dtype=np.int64), np.array([499])]
    counts = count_blob_tokens(tokens)
    assert counts.shape == (3, 500)
    assert counts.has_canonical_format
    assert {(r, c): counts[r, c] for r, c in zip(*counts.nonzero(), strict=True)} == {
        (0, 1): 1,
        (0, 3): 2,
        (2, 499): 1,
    }
    assert count_blob_tokens([]).shape == (0, 500)


def test_tokens_beyond_the_codebook_are_refused() -> None:
    with pytest.raises(BadInput, match="from 0 to 499, not 1 to 500"):
        count_blob_tokens([np.array([1, 500])])
