"""Several extractors as one: joined rows, chosen weights, names, and what is kept."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file
from scipy.sparse import csr_array, issparse
from sklearn.base import clone

from visterm.datasets.scenes import Scene
from visterm.errors import BadInput, NotFitted
from visterm.features import Blocks, Combined, Extractor
from visterm.features.extractor import MOST_DENSE, join_rows
from visterm.features.picture_batches import Pixels
from visterm.stored import read_stored


class MeanColour(Extractor):
    """A dense extractor that costs nothing."""

    name = "mean-colour"
    arrays = ("seen_",)
    max_side = None

    def __init__(self, n_jobs: int = 1) -> None:
        self.n_jobs = n_jobs

    def fit(self, pictures: object, y: object = None, *, progress: object = None) -> MeanColour:
        self.seen_ = np.ones(1)
        return self

    def rows(self, pictures: list[Pixels]) -> np.ndarray:
        return np.stack([p.mean(axis=(0, 1)) for p in pictures]).astype(np.float32)


@pytest.fixture(scope="module")
def pictures(many: list[Scene]) -> list[np.ndarray]:
    return [scene.pixels for scene in many[:40]]


def edges() -> Blocks:
    return Blocks(channels=((8, "edges", 20),), colours=4)


def colours() -> Blocks:
    return Blocks(channels=((16, "colours", 15),), colours=6)


def unit(rows: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(length > 0, length, 1)


@given(st.integers(0, 10**6), st.lists(st.floats(0.1, 10), min_size=2, max_size=4))
def test_products_of_joined_rows_are_weighted_means_of_the_parts_products(
    seed: int, weights: list[float]
) -> None:
    rng = np.random.default_rng(seed)
    parts = [rng.random((3, 1 + i)).astype(np.float32) + 0.01 for i in range(len(weights))]
    joined = join_rows([csr_array(p) if i % 2 else p for i, p in enumerate(parts)], weights)
    assert issparse(joined)
    shares = np.square(weights) / np.square(weights).sum()
    expected = sum(s * unit(p) @ unit(p).T for s, p in zip(shares, parts, strict=True))
    assert np.allclose((joined @ joined.T).toarray(), expected, atol=1e-5)


def test_dense_parts_stay_dense_and_sparse_ones_sparse() -> None:
    rows = np.eye(2, dtype=np.float32)
    assert isinstance(join_rows([rows, rows]), np.ndarray)
    assert issparse(join_rows([csr_array(rows), csr_array(rows)]))
    assert join_rows([rows, csr_array(rows)]).dtype == np.float32


def test_late_normalisation_lets_long_rows_speak_louder() -> None:
    few, many = np.array([[1.0, 0.0]]), np.array([[0.0, 3.0]])
    assert np.allclose(join_rows([few, many], normalise="late"), np.array([[1, 0, 0, 3]]) / 10**0.5)
    assert np.allclose(join_rows([few, many]), np.array([[1, 0, 0, 1]]) / 2**0.5)


def test_empty_rows_of_a_part_leave_the_rest_at_unit_length() -> None:
    joined = join_rows([csr_array((2, 3)), np.array([[2.0], [0.0]])]).toarray()
    assert joined.tolist() == [[0, 0, 0, 1], [0, 0, 0, 0]]


@pytest.mark.parametrize(
    ("parts", "weights", "match"),
    [
        ([], None, "nothing to join"),
        ([np.zeros((2, 1))], [1, 2], "1 parts need so many weights, not 2"),
        ([np.zeros((2, 1))], [0], "one is above 0"),
        ([np.zeros((2, 1))], [-1], "weights are 0 or more"),
        ([np.zeros((2, 1))], [float("nan")], "weights are 0 or more"),
        ([np.zeros((2, 1)), np.zeros((3, 1))], None, "different numbers of pictures: 2, 3"),
        ([np.zeros((2, 49, 8))], None, "one vector a picture"),
        ([np.zeros((1, MOST_DENSE + 1)), csr_array((1, 1))], None, "4097 columns is too wide"),
    ],
)
def test_parts_that_do_not_fit_are_refused(parts: list, weights: list | None, match: str) -> None:
    with pytest.raises(BadInput, match=match):
        join_rows(parts, weights)


def test_any_width_is_good_among_dense_parts() -> None:
    assert join_rows([np.ones((1, MOST_DENSE + 1)), np.ones((1, 1))]).shape == (1, MOST_DENSE + 2)


def test_a_combination_joins_what_its_parts_say(pictures: list[np.ndarray]) -> None:
    combined = Combined([edges(), MeanColour(), colours()], weights=(1.0, 0.5, 2.0))
    rows = combined.fit(pictures).transform(pictures)
    parts = [part.fit(pictures).transform(pictures) for part in (edges(), MeanColour(), colours())]
    assert (rows != join_rows(parts, (1.0, 0.5, 2.0))).nnz == 0
    assert (clone(combined).fit_transform(pictures) != rows).nnz == 0


def test_the_given_parts_are_not_touched(pictures: list[np.ndarray]) -> None:
    part = edges()
    Combined([part, MeanColour()], n_jobs=2).fit(pictures[:8])  # one batch needs no processes
    assert part.n_jobs == 1
    with pytest.raises(NotFitted):
        part.transform(pictures)


def test_late_means_raw_tf_idf_and_one_normalisation(pictures: list[np.ndarray]) -> None:
    rows = Combined([edges(), colours()], normalise="late").fit_transform(pictures).toarray()
    raw = [
        part.set_params(weighting="tfidf-raw").fit_transform(pictures).toarray()
        for part in (edges(), colours())
    ]
    assert np.allclose(rows, unit(np.concatenate(raw, axis=1)), atol=1e-6)


def test_pictures_are_as_large_as_the_closest_look_asks_for() -> None:
    assert Combined([edges(), colours().set_params(max_side=300)]).max_side == 300
    assert Combined([edges(), MeanColour()]).max_side is None
    large = np.random.default_rng(0).integers(0, 255, (200, 400, 3)).astype(np.uint8)
    both = Combined([edges(), MeanColour()]).fit([large] * 2)
    alone = edges().fit([large] * 2)
    assert np.allclose(
        both.transform([large]).toarray()[:, :20] * 2**0.5, alone.transform([large]).toarray()
    )


def test_unreadable_pictures_are_left_out_of_all_parts(
    pictures: list[np.ndarray], tmp_path: Path
) -> None:
    broken = tmp_path / "broken.jpg"
    broken.write_bytes(b"\xff\xd8\xff no more")
    combined = Combined([edges(), MeanColour()])
    with pytest.warns(UserWarning, match="1 pictures left out"):
        rows = combined.fit_transform([*pictures, str(broken)])
    assert rows.shape[0] == len(pictures)
    found = combined.extract([str(broken), *pictures[:2]])
    assert found.numbers.tolist() == [1, 2]
    assert [skip.number for skip in found.skipped] == [0]


def test_all_parts_are_kept_in_one_file(pictures: list[np.ndarray], tmp_path: Path) -> None:
    combined = Combined([edges(), colours()], weights=(1.0, 3.0), normalise="late").fit(pictures)
    combined.save(tmp_path / "both")
    again = Combined.load(tmp_path / "both")
    assert (again.weights, again.normalise) == ((1.0, 3.0), "late")
    assert (again.transform(pictures) != combined.transform(pictures)).nnz == 0
    assert (again.fit(pictures).transform(pictures) != combined.transform(pictures)).nnz == 0
    with pytest.raises(BadInput, match="holds combined, not blocks"):
        Blocks.load(tmp_path / "both")


def test_damaged_files_are_refused(pictures: list[np.ndarray], tmp_path: Path) -> None:
    path = tmp_path / "both"
    Combined([edges(), colours()]).fit(pictures).save(path)
    about, arrays = read_stored(path)
    del arrays["1.idf_"]
    save_file(arrays, path, metadata={"visterm": json.dumps(about)})
    with pytest.raises(BadInput, match=r"damaged, or of another version: 'idf_'"):
        Combined.load(path)
    edges().fit(pictures).save(path)
    with pytest.raises(BadInput, match="holds blocks, not combined"):
        Combined.load(path)


@pytest.mark.parametrize(
    ("combined", "match"),
    [
        (Combined([]), "needs a list of extractors"),
        (Combined(edges()), "needs a list of extractors"),
        (Combined([edges()], weights=(1, 2)), "1 parts need so many weights"),
        (Combined([edges()], normalise="never"), "each or late, not 'never'"),
        (Combined([edges(), MeanColour()], normalise="late"), "mean-colour has no tf·idf"),
    ],
)
def test_bad_combinations_say_what_would_be_good(
    combined: Combined, match: str, pictures: list[np.ndarray]
) -> None:
    with pytest.raises(BadInput, match=match):
        combined.fit(pictures)


def test_an_unfitted_combination_says_so(pictures: list[np.ndarray], tmp_path: Path) -> None:
    with pytest.raises(NotFitted, match="call fit first"):
        Combined([edges()]).transform(pictures)
    with pytest.raises(NotFitted, match="call fit first"):
        Combined([edges()]).save(tmp_path / "nothing")
