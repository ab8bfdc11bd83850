"""Features by name: parameters in brackets, weights, counts, and the tokens that Corel brings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from visterm.datasets import CaptionedPictures, Corel5k
from visterm.datasets.scenes import draw_scenes
from visterm.errors import BadInput
from visterm.experiments.cache import cache_folder
from visterm.experiments.picture_features import (
    BLOCKS_FOR,
    PictureFeatures,
    block_numbers,
    check_features,
    latent_rows,
)
from visterm.experiments.protocol import Protocol, split_off_test
from visterm.experiments.runs import Extracted
from visterm.features.extractor import join_rows
from visterm.models import MODELS

SMALL = "blocks(channels=((32, joint, 20),), colours=8)"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Protocol:
    scenes = draw_scenes(tmp_path_factory.mktemp("scenes"), 40, seed=1)
    known = CaptionedPictures([p for p, _ in scenes], [" ".join(w) for _, w in scenes], "scenes")
    return split_off_test(known, language=None)


@pytest.fixture
def tokens(tmp_path: Path) -> Protocol:
    """Pictures that exist only as tokens: 40 to learn from, 10 to test on, and no pixels."""
    rng = np.random.default_rng(0)
    for name, count in (("train", 40), ("test", 10)):
        rows = [" ".join(map(str, rng.integers(1, 500, size=9))) for _ in range(count)]
        (tmp_path / f"{name}_blobs.txt").write_text("\n".join(rows) + "\n")
    parts = [
        CaptionedPictures([Path(f"{n}-{i}.jpg") for i in range(n)], ["tree snow", "sea"] * (n // 2))
        for n in (40, 10)
    ]
    made = split_off_test(parts[0])
    corel = Corel5k("toy", parts[0], parts[1], folder=tmp_path)
    return Protocol("toy", *parts, made.vocabulary, None, 8, 0, corel)


@pytest.mark.parametrize(
    ("features", "said"),
    [
        ("tea-leaves", "no features called 'tea-leaves'"),
        ("cnn(weighting=counts)", "cnn has no parameter 'weighting'"),
        ("cnn+cnn", "the same features twice"),
        ("much*cnn", r"before \* stands a number"),
        ("blob-tokens(size=3)", "one parameter, latent"),
        ("blob-tokens(latent=many)", "latent is a whole number"),
        ("blob-tokens-of-old", "no features called 'blob-tokens-of-old'"),
    ],
)
def test_features_that_do_not_exist_are_refused_at_once(features: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        check_features(features)


def test_counts_and_vectors_come_from_one_description(drawn: Protocol) -> None:
    both = PictureFeatures(drawn, n_jobs=1)
    counts, vectors = both.counts(SMALL), both.vectors(SMALL)
    assert [part.shape[0] for part in counts] == [*map(len, drawn.split), len(drawn.test)]
    for few, weighed in zip(counts, vectors, strict=True):
        # What is weighed was counted, though not the other way round: an idf may be 0.
        assert not weighed.toarray()[few.toarray() == 0].any()
        assert few.data.tolist() == np.round(few.data).tolist()
        lengths = np.sqrt((weighed**2).sum(axis=1))
        np.testing.assert_allclose(lengths, 1, rtol=1e-5)
    alone = Extracted(*PictureFeatures(drawn, n_jobs=1).vectors(SMALL))
    assert abs(alone.test - vectors[2]).max() == 0


def test_what_is_kept_is_not_extracted_again_unless_it_is_damaged(
    drawn: Protocol, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first, again, anew, other = (PictureFeatures(drawn, n_jobs=1, kept=True) for _ in range(4))
    made = (*first.counts(SMALL), *first.vectors(SMALL))
    told: list[str] = []

    def note(what: str, *_: int) -> None:
        told.append(what)

    found = (*again.vectors(SMALL, progress=note), *again.counts(SMALL, progress=note))
    assert told == []
    for one, another in zip(made, (*found[3:], *found[:3]), strict=True):
        assert abs(one - another).max() == 0
    (file,) = cache_folder().iterdir()
    file.write_bytes(file.read_bytes()[:100])
    anew.vectors(SMALL, progress=note)
    assert told
    told.clear()
    other.protocol = replace(drawn, seed=drawn.seed + 1)
    other.vectors(SMALL, progress=note)  # another seed is another codebook
    assert told


def test_parts_are_joined_by_their_weights_and_described_once(drawn: Protocol) -> None:
    edges = "blocks(channels=((32, edges, 10),), colours=8)"
    found = PictureFeatures(drawn, test=False, n_jobs=1)
    one, other = found.vectors(SMALL), found.vectors(edges)
    told: list[str] = []
    joined = found.vectors(f"2*{SMALL}+{edges}", progress=lambda what, *_: told.append(what))
    assert told == []
    assert len(joined) == 2
    for part, (a, b) in zip(joined, zip(one, other, strict=True), strict=True):
        assert abs(part - join_rows([a, b], [2, 1])).max() < 1e-6


def test_pictures_without_visterms_have_none_to_count(drawn: Protocol) -> None:
    with pytest.raises(BadInput, match="cnn has no visterms to count"):
        PictureFeatures(drawn).counts(f"{SMALL}+cnn")


def test_blob_tokens_need_no_pixels(tokens: Protocol) -> None:
    found = Extracted(*PictureFeatures(tokens).vectors("blob-tokens"))
    train, _ = tokens.split
    assert tokens.corel is not None
    first = tokens.corel.development_blobs[train[0]]
    assert found.training[[0]].indices.tolist() == sorted(set(first.tolist()))
    assert [part.shape for part in (found.training, found.validation, found.test)] == [
        (32, 500),
        (8, 500),
        (10, 500),
    ]
    latent = PictureFeatures(tokens, test=False).vectors("blob-tokens(latent=5)")
    assert [part.shape for part in latent] == [(32, 5), (8, 5)]


def test_blob_tokens_of_other_pictures_are_refused(drawn: Protocol) -> None:
    with pytest.raises(BadInput, match="come with corel5k only"):
        PictureFeatures(drawn).vectors("blob-tokens")


def test_latent_rows_do_not_look_at_the_captions_of_other_pictures() -> None:
    rng = np.random.default_rng(0)
    seen, other = (csr_array(rng.random((n, 12)).astype(np.float32)) for n in (30, 4))
    captions = csr_array((rng.random((30, 6)) < 0.4).astype(np.float32))
    rows, mapped = latent_rows([seen, other], captions, np.ones(6), size=3)
    again, alone = latent_rows([seen, other[[2]]], captions, np.ones(6), size=3)
    np.testing.assert_allclose(again, rows, atol=1e-5)
    np.testing.assert_allclose(alone[0], mapped[2], atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-5)
    with pytest.raises(BadInput, match="latent is a whole number from 1 to 17"):
        latent_rows([seen], captions, np.ones(6), size=18)


def test_every_model_has_block_features_of_the_kind_it_takes() -> None:
    for model in MODELS.values():
        check_features(BLOCKS_FOR[model.takes])
    blocks = {takes: block_numbers(features) for takes, features in BLOCKS_FOR.items()}
    assert blocks == {"vectors": None, "counts": None, "blocks": 109}
    assert block_numbers("block-counts(colours=20)") == 79
    assert block_numbers("blob-tokens") is None


def test_a_bag_of_several_visterms_is_plain_tf_idf_of_unit_length_as_a_whole(
    tokens: Protocol,
) -> None:
    features = PictureFeatures(tokens)
    counts, bag = features.counts("blob-tokens")[0], features.bag("blob-tokens")[0]
    idf = -np.log((counts.toarray() > 0).mean(axis=0).clip(1e-9))
    expected = counts.toarray() * np.where(idf > 20, 0, idf)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(bag.toarray(), expected, rtol=1e-4, atol=1e-6)
