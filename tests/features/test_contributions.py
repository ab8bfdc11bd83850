"""A vector is the sum of its places, whatever the extractor does to it afterwards."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.datasets.scenes import draw_scene
from visterm.features import CNN, EXTRACTORS, Blobs, Blocks, DenseSift, Sift
from visterm.features.combined import Combined
from visterm.features.contributions import parts_of
from visterm.features.extractor import Extractor

PICTURES = [draw_scene(0, number, size=(96, 64)).pixels for number in range(6)]


def _small(pyramid: tuple[str, ...] = ("whole",)) -> Blocks:
    channels = ((16, "joint", 12), (32, "edges", 8))
    return Blocks(channels, colours=8, max_side=96, pyramid=pyramid)


def _vector(extractor: Extractor, number: int) -> np.ndarray:
    row = extractor.rows([PICTURES[number]])
    return (row if isinstance(row, np.ndarray) else row.toarray())[0]


@pytest.mark.parametrize("pyramid", [("whole",), ("whole", "quarters")])
def test_the_places_of_blocks_sum_to_their_vector(pyramid: tuple[str, ...]) -> None:
    blocks = _small(pyramid).fit(PICTURES)
    for number in range(3):
        parts = parts_of(blocks, PICTURES[number])
        assert parts is not None
        np.testing.assert_allclose(parts.values.sum(axis=0), _vector(blocks, number), atol=1e-6)


def test_the_grid_of_blocks_is_that_of_the_largest_blocks() -> None:
    parts = parts_of(_small().fit(PICTURES), PICTURES[0])
    assert parts is not None
    assert parts.shape == (3, 5)  # squares of 32 every 16 pixels of 96 × 64


def test_a_place_brings_only_visterms_it_shows() -> None:
    blocks = Blocks(((32, "joint", 12),), colours=8, max_side=96).fit(PICTURES)
    picture = PICTURES[0].copy()
    before = parts_of(blocks, picture)
    picture[:16, :16] = 255 - picture[:16, :16]  # only the block at the top left sees this
    after = parts_of(blocks, picture)
    assert before is not None
    assert after is not None
    shown = [(found.values > 0)[1:] for found in (before, after)]
    # Elsewhere the same visterms are shown, though a length of one weighs them anew.
    np.testing.assert_array_equal(*shown)


@pytest.mark.parametrize("network", ["lite0", "lite1", "lite2"])
@pytest.mark.parametrize("normalise", ["sqrt-l2", "l2", "none"])
def test_the_places_of_the_cnn_sum_to_its_vector_and_cover_what_it_sees(
    network: str, normalise: str
) -> None:
    cnn = CNN(network=network, normalise=normalise)
    parts = parts_of(cnn, PICTURES[0])
    assert parts is not None
    np.testing.assert_allclose(parts.values.sum(axis=0), _vector(cnn, 0), atol=1e-5)
    left, top, right, bottom = parts.box
    assert (top, bottom) == (0.0, 1.0)
    assert 0 < left < 0.5 < right < 1


def test_a_larger_network_shows_its_own_places_in_a_combination() -> None:
    joined = Combined([CNN(network="lite2"), _small()]).fit(PICTURES)
    parts = parts_of(joined, PICTURES[0])
    assert parts is not None
    vector, total = _vector(joined, 0), parts.values.sum(axis=0)
    np.testing.assert_allclose(total[:1280], vector[:1280], atol=1e-5)


SMALL = {
    "blocks": _small(),
    "cnn": CNN(size=64, crop="pad"),
    "sift": Sift(visterms=6),
    "dense-sift": DenseSift(visterms=6),
    "blobs": Blobs(visterms=6),
}
WITHOUT_PLACES = {"block-counts", "visterm-counts", "cnn-pyramid"}
NEEDS = {"sift": "cv2", "dense-sift": "cv2", "blobs": "skimage"}


@pytest.mark.parametrize("name", sorted(EXTRACTORS))
def test_the_places_of_every_extractor_sum_to_its_vector_or_it_has_none(name: str) -> None:
    pytest.importorskip(NEEDS.get(name, "numpy"))
    extractor = SMALL[name].fit(PICTURES) if name in SMALL else EXTRACTORS[name]()
    parts = parts_of(extractor, PICTURES[0])
    assert (parts is None) == (name in WITHOUT_PLACES)
    if parts is not None:
        np.testing.assert_allclose(parts.values.sum(axis=0), _vector(extractor, 0), atol=1e-5)


def test_combined_extractors_show_the_places_of_the_first_that_knows_them() -> None:
    pytest.importorskip("cv2", reason="SIFT needs the extra classic")
    joined = Combined([_small(), Sift(visterms=10)], weights=(1.0, 0.5)).fit(PICTURES)
    parts = parts_of(joined, PICTURES[0])
    assert parts is not None
    vector, total = _vector(joined, 0), parts.values.sum(axis=0)
    np.testing.assert_allclose(total[:20], vector[:20], atol=1e-6)
    assert not total[20:].any()


def test_scores_of_places_sum_to_the_score_of_the_vector() -> None:
    blocks = _small().fit(PICTURES)
    weights = np.random.default_rng(0).standard_normal(20)
    parts = parts_of(blocks, PICTURES[1])
    assert parts is not None
    scores = parts.scores(weights)
    assert scores.shape == parts.shape
    assert scores.sum() == pytest.approx(float(_vector(blocks, 1) @ weights), abs=1e-5)


def test_counts_and_unknown_extractors_have_no_places() -> None:
    counts = Blocks(((32, "joint", 8),), colours=8, max_side=96, weighting="counts").fit(PICTURES)
    assert parts_of(counts, PICTURES[0]) is None
    assert parts_of(CNN(output="grid"), PICTURES[0]) is None
