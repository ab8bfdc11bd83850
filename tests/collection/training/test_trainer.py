from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from visterm.collection import Collection
from visterm.collection.store.snapshot import snapshot
from visterm.collection.store.versions import JUDGED, MODEL, current
from visterm.collection.training.training_set import HELD_OUT, held_out
from visterm.datasets.scenes import draw_scenes
from visterm.errors import BadInput, VistermError
from visterm.models import MODELS, load_model


def test_without_pictures_or_captions_it_says_what_is_missing(
    collection: Collection, tmp_path: Path
) -> None:
    with pytest.raises(VistermError, match="no picture has a caption yet; give some with"):
        collection.train()
    (tmp_path / "empty").mkdir()
    with Collection.open(tmp_path / "empty") as empty, pytest.raises(VistermError, match="no pict"):
        empty.train()


def test_a_single_caption_is_too_little_and_two_are_enough(collection: Collection) -> None:
    root = collection.root
    collection.caption(root / "scene-0001.jpg", "the tree")
    with pytest.raises(VistermError, match="one captioned picture is too few to learn"):
        collection.train()
    collection.caption(root / "scene-0002.jpg", "a sea")
    trained = collection.train()
    assert (trained.kept, trained.words, trained.avgp) == ("new", 2, None)
    found = [one.path.name for one in collection.search("tree", 12).results]
    assert found.index("scene-0001.jpg") < found.index("scene-0002.jpg")
    assert len(found) == 12, "captioned or not, every picture is ranked"


def test_what_is_held_out_is_a_matter_of_content_and_about_a_tenth() -> None:
    digests = np.random.default_rng(0).bytes(32 * 4000)
    held = [held_out(digests[at : at + 32]) for at in range(0, len(digests), 32)]
    assert 0.08 < np.mean(held) < 0.12
    assert pytest.approx(0.1) == HELD_OUT


def test_captions_of_two_hundred_words_are_learnt_from_like_others(collection: Collection) -> None:
    more_pictures(collection.root, 120)
    rng = np.random.default_rng(0)
    syllables = [first + vowel for first in "bdfgklmnprstvz" for vowel in "aeiou"]
    others = [one + two for one in syllables for two in syllables[::6]]
    for caption in (collection.root / "more").glob("*.txt"):
        words = [caption.read_text(), *rng.choice(others, 190, replace=False)]
        caption.write_text(" ".join(words))
    collection.add()
    trained = collection.train()
    assert (trained.kept, trained.words > 500) == ("new", True)
    assert trained.avgp is not None
    assert len(collection.search("sky", 5).results) == 5


def test_an_interrupt_ends_training_with_the_best_model_until_then(learnt: Collection) -> None:
    more_pictures(learnt.root, 120)
    learnt.add()
    calls: list[str] = []

    def progress(what: str, done: int, total: int) -> None:
        calls.append(what)
        if what == "training" and calls.count(what) == 15:
            raise KeyboardInterrupt

    trained = learnt.train(model="pamir", max_iter=20_000, force=True, progress=progress)
    assert (trained.kept, trained.interrupted) == ("new", True)
    assert calls.count("training") == 15, "nobody learns again from all pictures"
    assert learnt.search("sky", 3).results


def test_training_that_is_killed_goes_on_from_its_checkpoint_and_then_sweeps_it(
    learnt: Collection,
) -> None:
    more_pictures(learnt.root, 120)
    learnt.add()
    killed, going_on = [], []

    def kill(what: str, done: int, total: int) -> None:
        killed.append(done / total)
        if what == "training" and done > 0.9 * total:
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        learnt.train(model="pamir", max_iter=2000, progress=kill)
    checkpoint = learnt.store / "training.checkpoint"
    assert checkpoint.is_file()
    report = lambda *news: going_on.append(news)  # noqa: E731
    learnt.train(model="pamir", max_iter=2000, progress=report)
    trained = [done / total for what, done, total in going_on if what == "training"]
    assert trained[0] > 0.6, "two of three C were tried before"
    assert not checkpoint.exists()


def more_pictures(folder: Path, count: int) -> None:
    """Enough captioned pictures for a held-out part that can be judged by."""
    from visterm.datasets.scenes import draw_scenes

    for path, words in draw_scenes(folder / "more", count, seed=9, size=(48, 32)):
        path.with_suffix(".txt").write_text(" ".join(words))


def test_training_is_judged_and_a_worse_model_is_not_taken(learnt: Collection) -> None:
    more_pictures(learnt.root, 120)
    learnt.add()
    good = learnt.train()
    assert good.kept == "new"
    assert good.avgp is not None
    assert good.untrained_avgp is not None
    assert good.avgp > good.untrained_avgp
    answer = learnt.search("sky", 5)
    bad = learnt.train(model="pamir", max_iter=1)
    assert (bad.kept, bad.version) == ("previous", good.version)
    assert bad.previous_avgp == pytest.approx(good.avgp)
    assert bad.avgp is not None
    assert bad.avgp < good.avgp
    assert learnt.search("sky", 5) == answer
    assert learnt.catalogue.get("untrained"), "it would be tried again, by each search"
    forced = learnt.train(model="pamir", max_iter=1, force=True)
    assert forced.kept == "new"
    assert learnt.catalogue.get("untrained") is None
    assert forced.version != good.version
    folders = [path.name for path in (learnt.store / "models").iterdir()]
    assert folders == [str(forced.version)], "what no longer answers is swept"
    assert learnt.check().problems == []


def test_a_model_that_never_saw_a_word_is_judged_without_it(learnt: Collection) -> None:
    more_pictures(learnt.root, 120)
    learnt.add()
    first = learnt.train()
    for number, path in enumerate(sorted(learnt.root.glob("*.jpg"))):
        learnt.caption(path, "zebra" if number % 2 else "giraffe")
    second = learnt.train(force=True)
    assert second.words > first.words
    assert second.previous_avgp is not None


def test_columns_hold_what_the_model_says_of_every_picture(learnt: Collection) -> None:
    version = current(learnt.catalogue)
    assert version is not None
    now = snapshot(learnt.catalogue)
    pictures, link = now.pictures(version.extractor), now.words.link
    assert pictures is not None
    vectors = pictures.file.vectors()
    values = load_model(version.folder / MODEL).transform(vectors).astype(np.float64)
    expected = -np.log1p(np.exp(-link.intercepts - link.slopes * values))
    found = now.words.log_probabilities(pictures.file)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
    assert found.shape == (60, version.words)


def test_later_pictures_are_found_by_the_model_of_before(learnt: Collection) -> None:
    before = current(learnt.catalogue)
    more_pictures(learnt.root, 5)
    (learnt.root / "scene-0001.jpg").unlink()
    learnt.add()
    found = {one.path for one in learnt.search("sky", 100).results}
    assert len(found) == 64
    assert learnt.root / "scene-0001.jpg" not in found
    assert learnt.status().index == {"pictures": 64}
    assert current(learnt.catalogue) == before
    assert learnt.check().problems == []


def test_unknown_models_and_parameters_are_named(learnt: Collection) -> None:
    with pytest.raises(BadInput, match=r"no model called 'oracle'; there are .*pamir"):
        learnt.train(model="oracle")
    with pytest.raises(BadInput, match="ridge has no parameter 'magic'"):
        learnt.train(magic=3)


def test_training_twice_gives_the_same_model(
    pictures: Callable[[int], Path], tmp_path: Path
) -> None:
    answers = []
    folder = pictures(30)
    for number in range(2):
        with Collection.open(folder, store=tmp_path / f"store {number}") as collection:
            collection.add(features="thumbnails")
            collection.caption_from(tmp_path / "captions.tsv")
            collection.train()
            answers.append(collection.search("tree -snow", 30).results)
    assert answers[0] == answers[1]


@pytest.mark.parametrize("features", ["block-counts", "thumbnails"])
def test_the_network_learns_from_blocks_and_from_plain_vectors(
    pictures: Callable[[int], Path], tmp_path: Path, features: str
) -> None:
    with Collection.open(pictures(60)) as opened:
        opened.add(features=features)
        opened.caption_from(tmp_path / "captions.tsv")
        more_pictures(opened.root, 60)
        opened.add()
        trained = opened.train(model="bbnn", block_units=30, picture_units=30, max_iter=4)
        assert (trained.kept, trained.held_out >= 10) == ("new", True)
        assert trained.avgp is not None
        assert trained.untrained_avgp is not None
        assert trained.avgp > trained.untrained_avgp
        version = current(opened.catalogue)
        assert version is not None
        model = load_model(version.folder / MODEL)
        assert (model.name, model.block_width) == (
            "bbnn",
            109 if features == "block-counts" else None,
        )
        assert len(opened.search("sky", 10).results) == 10


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """So many captioned pictures that some are held out to judge by."""
    folder = tmp_path_factory.mktemp("many")
    draw_scenes(folder, 150, size=(48, 32))
    with Collection.open(folder) as opened:
        opened.add(features="thumbnails")
        opened.caption_from(folder / "captions.tsv")
    return folder


# Enough of each to see it work; what is best is for the models' own tests.
SMALL: dict[str, dict[str, object]] = {
    "bbnn": {"block_units": 10, "picture_units": 10, "max_iter": 2},
    "plsa": {"n_components": (5, 10)},
    "cmrm": {"alpha": (0.1, 0.5)},
    "pamir": {"max_iter": 20_000},
    "kernel-pamir": {"max_iter": 20_000},
    "wsabie": {"max_iter": 5},
}


@pytest.mark.parametrize("model", sorted(MODELS))
def test_every_model_learns_from_captions_chooses_and_answers(many: Path, model: str) -> None:
    with Collection.open(many) as opened:
        trained = opened.train(model=model, force=True, **SMALL.get(model, {}))
        assert trained.held_out >= 10
        assert trained.avgp is not None
        assert trained.untrained_avgp is not None
        if MODELS[model].takes != "counts":  # thumbnails are none
            assert trained.avgp > trained.untrained_avgp
        assert len(opened.search("sky", 5).results) == 5
        version = current(opened.catalogue)
        assert version is not None
        learner, judged = (load_model(version.folder / file) for file in (MODEL, JUDGED))
        for name, value in judged.decided().items():
            np.testing.assert_array_equal(learner.get_params()[name], value)


def test_given_pictures_are_held_out_in_place_of_a_tenth(learnt: Collection) -> None:
    held = sorted(learnt.root.glob("*.jpg"))[:25]
    done = learnt.train(force=True, validation=held)
    assert (done.held_out, done.pictures) == (25, 60)
    version = current(learnt.catalogue)
    assert version is not None
    stored = json.loads((version.folder / "held.json").read_bytes())
    assert sorted(stored["pictures"]) == sorted(learnt.number(path) for path in held)
