"""Links of trained words: what cannot be seen adds nearly the same to every picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.vector_collection import put

from visterm.collection import Collection
from visterm.collection.store.versions import current
from visterm.collection.training import trainer
from visterm.collection.training.pretrained import begin
from visterm.starter import load_starter


@pytest.fixture
def collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Collection:
    """Three hundred captions of vectors: *sun* can be seen, *holiday* cannot, *rosa* twice."""
    monkeypatch.setattr(trainer, "starter_of", lambda *_: None)
    random = np.random.default_rng(0)
    vectors = np.abs(random.standard_normal((400, 32))).astype(np.float32)
    blind = random.random(400) < 0.3
    captions = {}
    for number in range(300):
        words = ["sun"] if vectors[number, 0] > 1 else ["cloud"]
        words += ["holiday"] * bool(blind[number]) + ["rosa"] * (number in (3, 7))
        captions[number + 1] = " ".join(words)
    opened = Collection.open(tmp_path)
    put(opened, vectors, captions)
    opened.train(force=True)
    return opened


def test_a_word_that_cannot_be_seen_gets_a_flat_link_at_its_base_rate(
    collection: Collection,
) -> None:
    version = current(collection.catalogue)
    assert version is not None
    vocabulary, calibration = version.vocabulary(), version.calibration()
    assert calibration is not None
    assert calibration.link is not None
    apart = calibration.link.slopes * calibration.deviations
    sun, holiday = vocabulary.number("sun"), vocabulary.number("holiday")
    assert sun is not None
    assert holiday is not None
    assert apart[sun] > 3 * apart[holiday]
    at_mean = calibration.link.intercepts + calibration.link.slopes * calibration.means
    assert 1 / (1 + np.exp(-at_mean[holiday])) == pytest.approx(0.3, abs=0.1)


def test_every_word_of_two_captions_is_ranked_by_sight(collection: Collection) -> None:
    assert len(collection.search("rosa captioned:no", 200).results) == 100


def test_a_word_of_one_caption_is_not_flat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its only picture it was not learnt, so left-out pictures say nothing of it."""
    monkeypatch.setattr(trainer, "starter_of", lambda *_: None)
    vectors = np.abs(np.random.default_rng(0).standard_normal((60, 32))).astype(np.float32)
    names = {number: f"z{chr(96 + number)}bu" for number in range(1, 21)}
    with Collection.open(tmp_path) as opened:
        put(opened, vectors, names)
        opened.train(force=True)
        version = current(opened.catalogue)
        assert version is not None
        calibration = version.calibration()
    assert calibration is not None
    assert (calibration.link.slopes * calibration.deviations > 1).all()


@pytest.fixture(scope="module")
def four_captions(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """Pictures of which four have captions: *dog*, which the starter knows, and *zabu* once."""
    starter = load_starter()
    random = np.random.default_rng(1)
    vectors = random.standard_normal((400, starter.weights.shape[1])).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    opened = Collection.open(tmp_path_factory.mktemp("few"))
    put(opened, vectors, {1: "a dog", 2: "the sea", 3: "zabu in the snow", 4: "a tree"})
    with opened.catalogue.writing("beginning"):
        begin(opened.catalogue)
    return opened


def test_four_captions_make_no_picture_without_the_thing_a_good_match(
    four_captions: Collection,
) -> None:
    """These vectors are of no pictures, so nothing looks like a dog, before and after training."""
    before = four_captions.search("dog captioned:no", 1).results[0].probability
    four_captions.train(force=True)
    after = four_captions.search("dog captioned:no", 1).results[0].probability
    zabu = four_captions.search("zabu captioned:no", 1).results[0].probability
    assert before is not None
    assert after is not None
    assert zabu is not None
    assert after < 1.5 * before
    assert zabu < 0.1
