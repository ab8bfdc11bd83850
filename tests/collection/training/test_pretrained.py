"""A folder that nobody has captioned: the starter answers, and learning begins from it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from visterm.collection import Collection
from visterm.collection.store.snapshot import NotTrained, snapshot
from visterm.collection.store.versions import current
from visterm.datasets.scenes import draw_scenes
from visterm.errors import VistermError
from visterm.starter import load_starter

FIRST = 24


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures without captions, looked at once by the CNN; copy them before changing anything."""
    folder = tmp_path_factory.mktemp("begun") / "Pictures"
    draw_scenes(folder, FIRST, size=(96, 64))
    shutil.move(folder / "captions.tsv", folder.parent)
    with Collection.open(folder) as collection:
        collection.add(n_jobs=1)
    return folder


@pytest.fixture
def begun(looked_at: Path, tmp_path: Path) -> Iterator[Collection]:
    shutil.copytree(looked_at, tmp_path / "Pictures")
    lines = (looked_at.parent / "captions.tsv").read_text().splitlines(keepends=True)
    (tmp_path / "ten.tsv").write_text("".join(lines[:10]))
    (tmp_path / "captions.tsv").write_text("".join(lines))
    with Collection.open(tmp_path / "Pictures") as collection:
        yield collection


def columns(collection: Collection, words: list[str]) -> np.ndarray:
    """What is seen of some words in all pictures, by word."""
    now = snapshot(collection.catalogue)
    numbers = [now.words.vocabulary.number(word) for word in words]
    pictures = now.pictures(now.words.version.extractor)
    assert pictures is not None
    return now.words.log_probabilities(pictures.file)[:, numbers].T


def test_a_folder_without_captions_answers_at_once(begun: Collection):
    assert begun.has_model
    assert not begun.is_trained
    answer = begun.search("beach", 5)
    assert len(answer.results) == 5
    assert answer.unknown == answer.replaced == {}


def test_scores_are_those_of_the_shipped_starter(begun: Collection):
    from visterm.collection.store.feature_rows import vectors_of

    answer = begun.search("mountain", FIRST)
    vectors = vectors_of(begun.catalogue, "cnn-1", [one.picture for one in answer.results])
    starter = load_starter()
    rows = starter.calibration().link.rows(starter.model().transform(vectors))
    wanted = rows[:, starter.find("mountain")]
    np.testing.assert_allclose([one.score for one in answer.results], wanted, atol=2e-3)


def test_chances_and_the_line_under_good_matches_are_known(begun: Collection):
    answer = begun.search("beach", FIRST)
    chances = [one.probability for one in answer.results]
    assert None not in chances
    assert chances == sorted(chances, reverse=True)
    assert answer.cutoff is not None
    assert 0 <= answer.cutoff <= FIRST


def test_a_picture_is_described_by_likely_words(begun: Collection):
    best = begun.search("beach", 1).results[0].picture
    words = begun.describe(best, 30)
    assert len(words) == 30
    assert {one.word for one in words} & {"beach", "sea", "sand", "shore", "coast", "seashore"}


def test_synonyms_answer_as_the_word_they_are_taken_for(begun: Collection):
    answer = begun.search("ocean", 3)
    assert answer.replaced == {"ocean": ["sea"]}
    assert answer.results == begun.search("sea", 3).results


def test_the_status_names_the_starter(begun: Collection):
    model = begun.status().model
    assert model is not None
    assert model["name"] == "starter"
    assert model["learnt_from"] == 0
    assert model["words"] == len(load_starter().vocabulary)


def test_new_pictures_are_found_too(begun: Collection):
    draw_scenes(begun.root / "more", 3, size=(96, 64), seed=5)
    begun.add(n_jobs=1)
    assert len(begun.search("sky", 100).results) == FIRST + 3


def test_a_click_teaches_the_starter(begun: Collection):
    last = begun.search("beach", FIRST).results[-1]
    begun.judge("beach", last.picture, True)
    after = {one.picture: one.score for one in begun.search("beach", FIRST).results}
    assert after[last.picture] > last.score


def test_ten_captions_are_learnt_and_leave_other_words_as_they_were(begun: Collection):
    begun.caption_from(begun.root.parent / "ten.tsv")
    captioned = set((begun.root.parent / "ten.tsv").read_text().split())
    others = [word for word in ("lake", "castle", "dog", "truck") if word not in captioned]
    before = columns(begun, others)
    done = begun.train()
    assert (done.kept, done.pictures) == ("new", 10)
    assert begun.is_trained
    assert done.words == len(captioned - {path for path in captioned if "." in path})
    np.testing.assert_array_equal(columns(begun, others), before)


def test_a_word_of_ones_own_joins_the_starters(begun: Collection):
    beaches = [one.path for one in begun.search("beach", 4).results]
    others = [one.path for one in begun.search("beach", FIRST).results[-6:]]
    for path in beaches:
        begun.caption(path, "grandma beach")
    for path in others:
        begun.caption(path, "work")
    begun.train()
    found = [one.path for one in begun.search("grandma", 4).results]
    assert set(found) == set(beaches)
    assert begun.search("grandma tiger", 3).unknown == {}


def test_a_taught_model_beats_the_starter_it_began_from(begun: Collection):
    begun.caption_from(begun.root.parent / "captions.tsv")
    word = "sky"
    lines = (begun.root.parent / "captions.tsv").read_text().splitlines()
    held = dict(line.split("\t") for line in lines)
    right = {begun.root / path for path, words in held.items() if word in words.split()}

    def precision() -> float:
        answer = begun.search(word, len(right)).results
        return sum(one.path in right for one in answer) / len(right)

    before = precision()
    begun.train()
    assert precision() > before or precision() == 1.0


def test_chances_stay_known_after_few_captions(begun: Collection):
    before = {one.picture: one.probability for one in begun.search("tiger", FIRST).results}
    assert len(set(before.values()) - {None}) > FIRST // 2
    begun.caption_from(begun.root.parent / "ten.tsv")
    begun.train()
    bare = begun.search("tiger captioned:no", FIRST).results
    after = {one.picture: one.probability for one in bare}
    assert len(after) == FIRST - 10
    assert after == pytest.approx({one: before[one] for one in after}, rel=1e-5)


def test_words_that_nobody_taught_are_worth_what_the_starter_says(begun: Collection):
    begun.caption_from(begun.root.parent / "captions.tsv")
    version = current(begun.catalogue)
    assert version is not None
    alone = version.calibration()
    begun.train()
    version = current(begun.catalogue)
    assert version is not None
    told, words = version.calibration(), version.vocabulary()
    number = words.number("tiger")
    starter = load_starter().vocabulary.number("tiger")
    assert told.link.slopes[number] == pytest.approx(alone.link.slopes[starter])
    assert told.link.intercepts[number] == pytest.approx(alone.link.intercepts[starter])


def test_held_out_pictures_say_nothing_of_words_that_nobody_taught(tmp_path: Path):
    draw_scenes(tmp_path, 130, size=(48, 32))
    with Collection.open(tmp_path) as collection:
        collection.add(n_jobs=1)
        collection.caption_from(tmp_path / "captions.tsv")
        assert collection.train().held_out >= 10
        version = current(collection.catalogue)
        assert version is not None
        told, words = version.calibration(), version.vocabulary()
    own = load_starter().calibration()
    for word, by_the_starter in (("insect", True), ("sky", False)):
        at, there = words.number(word), load_starter().vocabulary.number(word)
        same = told.link.slopes[at] == pytest.approx(own.link.slopes[there])
        assert same == by_the_starter, word


def test_a_damaged_starter_is_brought_again(begun: Collection):
    before = begun.search("beach", FIRST)
    for path in (begun.store / "models").rglob("model.safetensors"):
        path.write_bytes(b"harm")
    found = begun.check(repair=True)
    assert "the starter brought again" in found.repaired
    assert not found.problems
    assert begun.search("beach", FIRST) == before


def test_a_damaged_model_of_ones_own_is_learnt_again(begun: Collection):
    begun.caption_from(begun.root.parent / "ten.tsv")
    begun.train()
    for path in (begun.store / "models").rglob("model.safetensors"):
        path.write_bytes(b"harm")
    assert "the model learnt again" in begun.check(repair=True).repaired
    assert begun.is_trained


def test_the_starter_takes_the_place_of_no_sound_model(begun: Collection):
    begun.caption_from(begun.root.parent / "ten.tsv")
    begun.train()
    with begun.catalogue.writing("forgetting"), begun.catalogue.transaction() as db:
        db.execute("DELETE FROM captions")
    for path in (begun.store / "features").rglob("extractor.*"):
        path.write_bytes(b"harm")
    with pytest.raises(VistermError, match="model of its vectors cannot be learnt again"):
        begun.check(repair=True)
    assert begun.is_trained
    begun.caption_from(begun.root.parent / "ten.tsv")
    assert "the model learnt again" in begun.check(repair=True).repaired
    assert begun.is_trained


def test_other_features_have_no_starter(tmp_path: Path):
    draw_scenes(tmp_path / "Pictures", 4, size=(48, 32))
    with Collection.open(tmp_path / "Pictures") as collection:
        collection.add(features="thumbnails", n_jobs=1)
        with pytest.raises(NotTrained):
            collection.search("sky")
