"""Descriptions of pictures, known or not, against what they are made of."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from visterm.collection import Collection
from visterm.collection.library.descriptions import NEIGHBOURS, SHARPNESS, Description
from visterm.collection.store.feature_rows import Rows
from visterm.collection.store.snapshot import NotTrained
from visterm.errors import BadInput

SENTENCES = [
    "a boat on the sea",
    "two boats on a sea and a hill in the background",
    "a man is standing on a hill",
    "a house with a roof",
]


def said(collection: Collection, *paths: Path, **wanted: int) -> list[Description]:
    return list(collection.descriptions(list(paths), **wanted))


def files(collection: Collection) -> list[Path]:
    return sorted(collection.root.glob("*.jpg"))


def vectors_of(collection: Collection, paths: list[Path]) -> np.ndarray:
    numbers = [collection.number(path) for path in paths]
    found = Rows(collection.catalogue, "thumbnails-1").of(numbers)
    return np.stack([found[number] for number in numbers])


def test_words_of_a_known_picture_are_those_that_describe_gives(learnt):
    path = files(learnt)[7]
    (about,) = said(learnt, path, words=6)
    assert about.words == learnt.describe(path, 6)
    assert about.own == learnt.captions(path)


def test_a_picture_from_elsewhere_is_described_as_its_twin_inside(learnt, tmp_path):
    inside = files(learnt)[3]
    outside = tmp_path / "elsewhere.jpg"
    shutil.copy(inside, outside)
    known, unknown = said(learnt, inside, outside, words=30)
    for one in unknown.words:  # which has no caption: sight alone speaks
        found = {result.path: result.evidence for result in learnt.search(one.word, k=60).results}
        assert found[inside].sight == pytest.approx(one.score, abs=2e-3)
    assert unknown.own == {}
    assert unknown.captions[0].path == inside
    assert unknown.captions[0].score == pytest.approx(1, abs=1e-3)
    assert inside not in [one.path for one in known.captions]


def test_what_clicks_taught_counts_for_pictures_from_elsewhere_too(learnt, tmp_path):
    inside = files(learnt)[3]
    outside = tmp_path / "elsewhere.jpg"
    shutil.copy(inside, outside)
    before = {one.word: one.score for one in said(learnt, outside, words=30)[0].words}
    word = min(before, key=before.__getitem__)
    learnt.judge(word, inside, True)
    (unknown,) = said(learnt, outside, words=30)
    after = {one.word: one.score for one in unknown.words}
    assert after[word] > before[word]


def test_nearest_captions_are_those_with_the_highest_cosines(learnt):
    paths = files(learnt)
    vectors = vectors_of(learnt, paths)
    (about,) = said(learnt, paths[0], captions=4)
    order = np.argsort(-(vectors[1:] @ vectors[0]), kind="stable")
    expected = list(
        dict.fromkeys(next(iter(learnt.captions(paths[1 + i]).values())) for i in order)
    )
    assert [one.text for one in about.captions] == expected[:4]
    assert [one.score for one in about.captions] == sorted(
        (one.score for one in about.captions), reverse=True
    )


def test_phrases_are_shares_of_the_neighbours_weight(collection):
    pytest.importorskip("HanTa", reason="the tagger HanTa is not installed")
    paths = files(collection)
    for path, text in zip(paths[1:], SENTENCES, strict=False):
        collection.caption(path, text)
    (about,) = said(collection, paths[0], phrases=20)
    vectors = vectors_of(collection, paths[:5])
    weights = np.exp(SHARPNESS * (vectors[1:] @ vectors[0]).astype(float))
    weights /= weights.sum()
    shares = {one.phrase: one.share for one in about.phrases}
    assert shares["boat on sea"] == pytest.approx(weights[0] + weights[1], rel=5e-3)
    assert shares["house with roof"] == pytest.approx(weights[3], rel=5e-3)
    assert about.words == []  # nothing was learnt yet
    assert len(SENTENCES) <= NEIGHBOURS


def test_a_picture_that_cannot_be_read_costs_only_itself(learnt, tmp_path):
    broken = tmp_path / "broken.jpg"
    broken.write_bytes(b"no picture")
    paths = files(learnt)
    first, bad, gone, last = said(learnt, paths[0], broken, tmp_path / "gone.jpg", paths[1])
    assert "not a picture" in bad.reason
    assert "no such file" in gone.reason
    alone = said(learnt, paths[0])[0].words
    assert [(one.word, one.score) for one in first.words] == [
        (one.word, one.score) for one in alone
    ]
    alone = said(learnt, paths[1])[0].words
    assert [(one.word, one.score) for one in last.words] == [(one.word, one.score) for one in alone]


def test_where_nobody_said_anything_there_is_nothing_to_say(collection):
    with pytest.raises(NotTrained, match="nothing has been learnt"):
        said(collection, files(collection)[0])
    with pytest.raises(BadInput, match="0 or more"):
        said(collection, files(collection)[0], words=-1)


def test_no_pictures_give_no_descriptions(learnt):
    assert said(learnt) == []
