"""How pictures are brought to a network's square, and what a recipe may say."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from visterm.errors import BadInput
from visterm.features.cnn import Recipe, read_recipe
from visterm.features.cnn.recipe import CROPS, FILTERS, frame, normalised, seen

GREY = (0.5, 0.5, 0.5)


def recipe(**changes: object) -> Recipe:
    said: dict[str, object] = {"size": 32, "mean": GREY, "std": GREY, **changes}
    return Recipe(**said)  # type: ignore[arg-type]


def wide_picture() -> np.ndarray:
    """Red on the left, green in the middle third, blue on the right; 3 : 1."""
    pixels = np.zeros((64, 192, 3), dtype=np.uint8)
    for third in range(3):
        pixels[:, 64 * third : 64 * (third + 1), third] = 255
    return pixels


def test_squash_keeps_all_of_the_picture() -> None:
    square = frame(wide_picture(), recipe(crop="squash"))
    assert square.shape == (32, 32, 3)
    assert square[16, [2, 16, 29]].tolist() == [[255, 0, 0], [0, 255, 0], [0, 0, 255]]


def test_centre_keeps_the_middle_and_its_shape() -> None:
    square = frame(wide_picture(), recipe(crop="centre"))
    assert (square[:, 2:-2] == [0, 255, 0]).all()
    tall = frame(wide_picture().transpose(1, 0, 2), recipe(crop="centre"))
    np.testing.assert_array_equal(tall, square.transpose(1, 0, 2))


def test_a_fraction_cuts_a_smaller_middle() -> None:
    pixels = np.zeros((64, 64, 3), dtype=np.uint8)
    pixels[16:48, 16:48] = 200
    assert frame(pixels, recipe(crop="centre"))[0, 0].tolist() == [0, 0, 0]
    assert (frame(pixels, recipe(crop="centre", fraction=0.5))[2:-2, 2:-2] == 200).all()


def test_half_lies_between_squash_and_centre() -> None:
    recipes = {crop: recipe(crop=crop) for crop in ("squash", "half", "centre")}
    assert seen(400, 100, recipes["squash"]) == (0, 0, 400, 100)
    assert seen(400, 100, recipes["half"]) == (100, 0, 300, 100)
    assert seen(400, 100, recipes["centre"]) == (150, 0, 250, 100)
    assert seen(100, 400, recipes["half"]) == (0, 100, 100, 300)
    green = [
        (frame(wide_picture(), each)[16] == [0, 255, 0]).all(axis=1).sum()
        for each in recipes.values()
    ]
    assert green[0] < green[1] < green[2]


@settings(max_examples=40)
@given(width=st.integers(1, 5000), height=st.integers(1, 5000), crop=st.sampled_from(CROPS))
def test_what_is_seen_lies_in_the_middle_and_only_padding_beyond(
    width: int, height: int, crop: str
) -> None:
    left, top, right, bottom = seen(width, height, recipe(crop=crop))
    assert (left + right, top + bottom) == pytest.approx((width, height))
    assert (min(left, top) < 0) == (crop == "pad" and width != height)
    # Pillow refuses a box that reaches a rounding error beyond the picture.
    assert crop == "pad" or (right <= width and bottom <= height)


def test_pad_keeps_all_of_the_picture_and_its_shape() -> None:
    square = frame(wide_picture(), recipe(crop="pad", mean=(0.2, 0.4, 0.6)))
    assert (square[:10] == [51, 102, 153]).all()
    assert (square[-10:] == [51, 102, 153]).all()
    assert square[16, [2, 16, 29]].tolist() == [[255, 0, 0], [0, 255, 0], [0, 0, 255]]


@settings(max_examples=60, deadline=None)
@given(
    height=st.integers(1, 300),
    width=st.integers(1, 300),
    crop=st.sampled_from(CROPS),
    kind=st.sampled_from(FILTERS),
    fraction=st.floats(0.01, 1),
)
def test_a_flat_picture_stays_flat_whatever_its_shape(
    height: int, width: int, crop: str, kind: str, fraction: float
) -> None:
    flat = np.full((height, width, 3), 128, dtype=np.uint8)
    square = frame(flat, recipe(crop=crop, filter=kind, fraction=fraction))
    assert square.shape == (32, 32, 3)
    assert (square == 128).all()


@pytest.mark.parametrize(
    "pixels",
    [
        np.zeros((4, 4), dtype=np.uint8),
        np.zeros((4, 4, 4), dtype=np.uint8),
        np.zeros((4, 4, 3), dtype=np.float32),
        np.zeros((0, 4, 3), dtype=np.uint8),
    ],
)
def test_what_is_not_a_picture_is_refused(pixels: np.ndarray) -> None:
    with pytest.raises(BadInput, match="height × width × 3 in 8 bits"):
        frame(pixels, recipe())


@given(arrays(np.float32, (3, 5), elements=st.floats(-100, 100, width=16)))
def test_normalised_vectors_have_unit_length_and_their_signs(vectors: np.ndarray) -> None:
    for how in ("l2", "sqrt-l2"):
        result = normalised(vectors, how)
        lengths = np.linalg.norm(result, axis=1)
        wanted = (np.abs(vectors) > 0).any(axis=1)
        np.testing.assert_allclose(lengths, wanted, atol=1e-5)
        assert (result * vectors >= 0).all()
    np.testing.assert_array_equal(normalised(vectors, "none"), vectors)


def test_square_roots_come_before_the_length() -> None:
    np.testing.assert_allclose(
        normalised(np.array([[1, 4, 16]], dtype=np.float32), "sqrt-l2"),
        np.array([[1, 2, 4]]) / np.sqrt(21),
        rtol=1e-6,
    )


def written(folder: Path, said: object) -> Path:
    path = folder / "model.json"
    path.write_text(said if isinstance(said, str) else json.dumps(said), encoding="utf-8")
    return path


NEEDED = {"size": 224, "mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5]}


def test_a_recipe_is_read_with_its_defaults(tmp_path: Path) -> None:
    assert read_recipe(written(tmp_path, NEEDED)) == Recipe(size=224, mean=GREY, std=GREY)
    full = NEEDED | {
        "layout": "NHWC",
        "crop": "pad",
        "fraction": 0.9,
        "filter": "lanczos",
        "output": "x",
        "normalise": "none",
    }
    assert read_recipe(written(tmp_path, full)).output == "x"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("{", "cannot be read as JSON"),
        ([1], "one JSON object"),
        ({}, "lacks size, mean, std"),
        ({"size": 224, "mean": [0, 0, 0]}, "lacks std"),
        (NEEDED | {"sise": 3}, "sise is not known; known are size, mean"),
        (NEEDED | {"size": "224"}, "size must be a whole number"),
        (NEEDED | {"size": True}, "size must be a whole number"),
        (NEEDED | {"size": 0}, "size must be a whole number"),
        (NEEDED | {"size": [224, 224]}, "size must be a whole number"),
        (NEEDED | {"mean": 0.5}, "mean must be three numbers"),
        (NEEDED | {"mean": [0.5, 0.5]}, "mean must be three numbers"),
        (NEEDED | {"std": [1, "a", 1]}, "std must be three numbers"),
        (NEEDED | {"std": [1, 0, 1]}, "std must be above zero"),
        (NEEDED | {"layout": "CHW"}, "layout must be one of NCHW, NHWC"),
        (NEEDED | {"crop": "random"}, "crop must be one of squash, half, centre, pad"),
        (NEEDED | {"crop": ["pad"]}, "crop must be one of squash, half, centre, pad"),
        (NEEDED | {"fraction": 1.5}, "fraction must be above 0"),
        (NEEDED | {"filter": "box"}, "filter must be one of"),
        (NEEDED | {"output": 3}, "output must be the name"),
        (NEEDED | {"normalise": "l1"}, "normalise must be one of"),
    ],
)
def test_a_wrong_recipe_says_what_is_wrong_and_where(
    said: object, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=reason) as caught:
        read_recipe(written(tmp_path, said))
    assert "model.json" in str(caught.value)


def test_a_missing_recipe_says_what_to_write(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r'write it: \{"size": 224'):
        read_recipe(tmp_path / "model.json")
