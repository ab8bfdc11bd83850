"""SIFT visterms: key-points, the grid, bags of them, on drawn scenes."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from visterm.datasets.scenes import Scene
from visterm.errors import BadInput, MissingExtra
from visterm.features import DenseSift, Sift
from visterm.features.sift import root_sift

cv2 = pytest.importorskip("cv2", reason="SIFT needs the extra 'classic'")

FLAT = np.full((48, 64, 3), 90, dtype=np.uint8)


@pytest.fixture(scope="module")
def fitted(scenes: list[np.ndarray]) -> Sift:
    return Sift(visterms=40, pyramid=("whole", "thirds", "quarters")).fit(scenes)


def key_points(pixels: np.ndarray, contrast: float = 0.04) -> tuple[Any, np.ndarray]:
    """What OpenCV finds, without us."""
    grey = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
    return cv2.SIFT_create(contrastThreshold=contrast).detectAndCompute(grey, None)


def test_a_row_is_the_tf_idf_of_the_nearest_visterms(scenes: list[np.ndarray]) -> None:
    sift = Sift(visterms=30, root=False, rootsift=False, min_keypoints=0).fit(scenes)
    centres = sift._arrays()["centres_0"].astype(float)
    tf = np.zeros((len(scenes), 30))
    for number, scene in enumerate(scenes):
        for descriptor in key_points(scene)[1].astype(float):
            tf[number, ((centres - descriptor) ** 2).sum(axis=1).argmin()] += 1
    idf = [-math.log(max((tf[:, v] > 0).sum(), 0.5) / len(scenes)) for v in range(30)]
    expected = tf * idf
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert np.allclose(sift.transform(scenes).toarray(), expected, atol=1e-6)


def test_counts_and_raw_tf_idf_are_the_steps_on_the_way(scenes: list[np.ndarray]) -> None:
    counts = Sift(visterms=30, weighting="counts").fit_transform(scenes)
    sift = Sift(visterms=30, weighting="tfidf-raw")
    raw = sift.fit_transform(scenes)
    assert np.allclose(raw.toarray(), np.sqrt(counts.toarray()) * sift.idf_, atol=1e-5)
    found = [len(sift._descriptors(scene)[0].descriptors) for scene in scenes]
    assert counts.sum(axis=1).tolist() == found


def test_pictures_without_key_points_are_empty_rows(fitted: Sift, scenes: list[np.ndarray]) -> None:
    tiny = np.zeros((1, 1, 3), dtype=np.uint8)
    rows = fitted.transform([FLAT, scenes[0], tiny])
    assert np.diff(rows.indptr)[[0, 2]].tolist() == [0, 0]
    assert np.linalg.norm(rows[[1]].toarray()) == pytest.approx(1)
    assert fitted.transform([FLAT]).shape == rows[[0]].shape


def test_flat_pictures_among_others_do_not_disturb_learning(scenes: list[np.ndarray]) -> None:
    rows = Sift(visterms=10).fit_transform([FLAT, *scenes, FLAT])
    assert rows.shape == (len(scenes) + 2, 10)
    assert np.isfinite(rows.toarray()).all()


def test_only_flat_pictures_cannot_teach_visterms() -> None:
    with pytest.raises(BadInput, match="shows any sift to learn visterms from"):
        Sift(visterms=10).fit([FLAT, FLAT])


def test_hazy_pictures_get_their_strongest_key_points(scenes: list[np.ndarray]) -> None:
    haze = (120 + scenes[0] / 16).astype(np.uint8)
    (plain,) = Sift(min_keypoints=0)._descriptors(haze)
    (kind,) = Sift(min_keypoints=20)._descriptors(haze)
    assert len(plain.descriptors) < 20
    assert len(plain.descriptors) < len(kind.descriptors) <= 21  # OpenCV keeps ties


def test_clear_pictures_keep_all_key_points(scenes: list[np.ndarray]) -> None:
    (found,) = Sift(min_keypoints=5)._descriptors(scenes[0])
    points, descriptors = key_points(scenes[0])
    assert len(points) > 5
    assert np.array_equal(found.descriptors, descriptors)


def test_places_lie_where_key_points_are(scenes: list[np.ndarray]) -> None:
    (found,) = Sift(min_keypoints=0)._descriptors(scenes[0])
    points, _ = key_points(scenes[0])
    h, w = scenes[0].shape[:2]
    expected = [((p.pt[0] + 0.5) / w, (p.pt[1] + 0.5) / h) for p in points]
    assert np.allclose(found.places, expected, atol=1e-6)


def test_enlarged_pictures_show_more_and_at_the_same_places(scenes: list[np.ndarray]) -> None:
    (one,) = Sift()._descriptors(scenes[0])
    (two,) = Sift(upscale=2)._descriptors(scenes[0])
    assert len(two.descriptors) > len(one.descriptors)
    assert two.places.min() >= 0
    assert two.places.max() <= 1


def test_root_sift_compares_by_shares() -> None:
    rng = np.random.default_rng(0)
    points = rng.integers(0, 255, (2, 128)).astype(np.float32)
    one, other = root_sift(points).astype(float)
    shares = points / points.sum(axis=1, keepdims=True)
    assert one @ other == pytest.approx(np.sqrt(shares[0] * shares[1]).sum(), abs=1e-6)


def test_the_grid_covers_the_picture_evenly_at_every_scale() -> None:
    picture = np.random.default_rng(0).integers(0, 255, (50, 70, 3)).astype(np.uint8)
    (found,) = DenseSift(step=10, sides=(12, 24))._descriptors(picture)
    assert found.descriptors.shape == (2 * 5 * 7, 128)
    assert np.array_equal(found.places[:35], found.places[35:])
    assert np.allclose(found.places[:35].mean(axis=0), 0.5, atol=1e-6)
    assert np.allclose(np.diff(found.places[:7, 0]) * 70, 10, atol=1e-4)


def test_larger_squares_see_more_of_the_picture() -> None:
    picture = np.zeros((64, 64, 3), dtype=np.uint8)
    picture[:, 42:] = 255  # an edge ten pixels from the middle
    (found,) = DenseSift(step=64, sides=(8, 48))._descriptors(picture)
    small, large = found.descriptors
    assert small.sum() == 0
    assert large.sum() > 0


def test_faint_noise_counts_as_flat() -> None:
    noise = np.random.default_rng(0).integers(89, 92, (64, 64, 3)).astype(np.uint8)
    (found,) = DenseSift()._descriptors(noise)
    (strict,) = DenseSift(contrast=0)._descriptors(noise)
    assert found.descriptors.sum() == 0
    assert (strict.descriptors.sum(axis=1) > 0).all()


def test_the_grid_keeps_directions_upright() -> None:
    stripes = np.zeros((64, 64, 3), dtype=np.uint8)
    stripes[:, ::8] = 255
    (down,) = DenseSift(step=32)._descriptors(stripes)
    (across,) = DenseSift(step=32)._descriptors(np.ascontiguousarray(stripes.transpose(1, 0, 2)))
    apart = np.abs(down.descriptors.astype(int) - across.descriptors)
    assert apart.mean() > 10


def test_flat_and_tiny_pictures_have_a_grid_too(scenes: list[np.ndarray]) -> None:
    dense = DenseSift(visterms=20, step=16).fit([*scenes, FLAT])
    rows = dense.transform([FLAT, np.zeros((1, 1, 3), np.uint8)])
    assert (np.diff(rows.indptr) > 0).all()


def test_cells_of_the_pyramid_add_up_to_the_whole(fitted: Sift, scenes: list[np.ndarray]) -> None:
    assert fitted.transform(scenes).shape == (len(scenes), 40 * (1 + 3 + 4))
    counts = fitted._count(scenes).toarray()
    whole, thirds, quarters = np.split(counts, [40, 160], axis=1)
    assert np.array_equal(thirds.reshape(-1, 3, 40).sum(axis=1), whole)
    assert np.array_equal(quarters.reshape(-1, 4, 40).sum(axis=1), whole)
    assert whole.sum() > 0


def test_upside_down_only_the_cells_change(scenes: list[np.ndarray]) -> None:
    levels = ("whole", "thirds")
    dense = DenseSift(visterms=5, step=16, pyramid=levels, weighting="counts", max_side=256)
    dense.fit(scenes)
    top = np.concatenate([scenes[0], np.full_like(scenes[0], 90)])
    bottom = np.concatenate([np.full_like(scenes[0], 90), scenes[0]])
    one, other = dense.transform([top, bottom]).toarray()
    assert np.abs(one[:5] - other[:5]).sum() < 0.2 * one[:5].sum()
    assert np.abs(one[5:] - other[5:]).sum() > 0.5 * one[:5].sum()


def test_levels_count_by_their_weights(scenes: list[np.ndarray]) -> None:
    levels = {"pyramid": ("whole", "quarters"), "level_weights": (2.0, 1.0)}
    rows = Sift(visterms=20, **levels).fit_transform(scenes).toarray()
    lengths = np.linalg.norm(rows[:, :20], axis=1) / np.linalg.norm(rows[:, 20:], axis=1)
    assert np.allclose(lengths, 2, atol=1e-5)


def test_what_was_learnt_can_be_kept(
    fitted: Sift, scenes: list[np.ndarray], tmp_path: Path
) -> None:
    fitted.save(tmp_path / "sift")
    again = Sift.load(tmp_path / "sift")
    assert again.get_params() == fitted.get_params()
    assert (again.transform(scenes) != fitted.transform(scenes)).nnz == 0
    with pytest.raises(BadInput, match="holds sift, not dense-sift"):
        DenseSift.load(tmp_path / "sift")


def test_rows_do_not_depend_on_workers_or_neighbours(many: list[Scene]) -> None:
    pictures = [scene.pixels for scene in many]
    sift = Sift(visterms=25).fit(pictures)
    rows = sift.transform(pictures)
    assert (sift.set_params(n_jobs=2).transform(pictures) != rows).nnz == 0
    assert (sift.set_params(n_jobs=1).transform(pictures[40:41]) != rows[[40]]).nnz == 0
    assert (clone(sift).fit_transform(pictures) != rows).nnz == 0


@pytest.mark.parametrize(
    ("extractor", "match"),
    [
        (Sift(visterms=0), "visterms is a whole number from 1 on, not 0"),
        (Sift(upscale=1.5), "upscale is a whole number from 1 on, not 1.5"),
        (Sift(contrast=2), "contrast lies between 0 and 1, not 2"),
        (Sift(pyramid=("halves",)), "whole, thirds, quarters"),
        (Sift(pyramid="whole"), "one or more of"),
        (Sift(level_weights=(1, 2)), "1 levels need so many weights"),
        (Sift(weighting="bm25"), "not 'bm25'"),
        (DenseSift(step=0), "step is a whole number from 1 on, not 0"),
        (DenseSift(contrast=-1), "contrast is a number of grey levels from 0 on, not -1"),
        (DenseSift(sides=(2,)), "sides are whole numbers of pixels from 4 on"),
    ],
)
def test_bad_parameters_say_what_would_be_good(
    extractor: Sift | DenseSift, match: str, scenes: list[np.ndarray]
) -> None:
    with pytest.raises(BadInput, match=match):
        extractor.fit(scenes)


def test_a_missing_library_is_named_with_its_cure(
    monkeypatch: pytest.MonkeyPatch, scenes: list[np.ndarray]
) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(MissingExtra, match=r"OpenCV .*pip install 'visterm\[classic\]'"):
        Sift().fit(scenes)


def test_heavy_libraries_are_loaded_only_when_used() -> None:
    code = "import sys, visterm.features; print({'cv2', 'skimage', 'onnxruntime'} & {*sys.modules})"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "set()"
