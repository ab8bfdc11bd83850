"""Clicks: learnt at once, logged, taken back bit for bit, and learnt again after training."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from slow_scores import assert_ranked, slow_scores
from threadpoolctl import threadpool_limits

from visterm.collection import Collection
from visterm.collection.feedback import changes
from visterm.collection.feedback.guard import guard_of
from visterm.collection.feedback.offsets import DOUBTED, UNLEARNT, FeedbackOffsets, relearn
from visterm.collection.media.captions import effective_captions
from visterm.collection.store.events import Judgement, entries, words_of
from visterm.collection.store.snapshot import shared_state, snapshot
from visterm.collection.store.versions import current
from visterm.datasets.scenes import draw_scenes
from visterm.errors import BadInput
from visterm.models import feedback as click_module


def _ranking(collection: Collection, query: str) -> list[tuple[int, float, float | None]]:
    answer = collection.search(query, k=1000)
    return [(one.picture, one.score, one.probability) for one in answer.results]


def _place(collection: Collection, query: str, picture: int) -> int:
    return [number for number, *_ in _ranking(collection, query)].index(picture)


def _columns(collection: Collection) -> bytes:
    """What all words say of all rows."""
    now = snapshot(collection.catalogue)
    pictures = now.pictures(now.words.version.extractor)
    assert pictures is not None
    return now.words.log_probabilities(pictures.file).tobytes()


def _lead(collection: Collection, query: str, picture: int) -> float:
    """How far a picture's score lies above the mean."""
    scores = {number: score for number, score, _ in _ranking(collection, query)}
    return scores[picture] - float(np.mean(list(scores.values())))


def test_a_yes_lifts_a_picture_and_a_no_sinks_it(learnt: Collection) -> None:
    low = _ranking(learnt, "sea")[40][0]
    learnt.judge("sea", low, True)
    assert _place(learnt, "sea", low) < 40
    high = _ranking(learnt, "sea")[0][0]
    before = _lead(learnt, "sea", high)
    learnt.judge("sea", high, False)
    assert _lead(learnt, "sea", high) < before


def test_a_picture_is_named_by_its_number_or_by_one_of_its_files(learnt: Collection) -> None:
    found = learnt.search("sea", k=1).results[0]
    said = learnt.judge("sea", found.path, True)
    assert (said.picture, said.query, said.relevant) == (found.picture, "sea", True)
    assert learnt.judge("sea", found.picture, True) == said


def test_without_clicks_nothing_changes_and_taking_all_back_restores_every_bit(
    learnt: Collection,
) -> None:
    before = {query: _ranking(learnt, query) for query in ("sea", "sky tree", "house -sea")}
    trained = _columns(learnt)
    pictures = [number for number, *_ in before["sea"]]
    learnt.judge("sea", pictures[30], True)
    learnt.judge("sky tree", pictures[3], False)
    learnt.judge("house -sea", pictures[5], True)
    assert _ranking(learnt, "sea") != before["sea"]
    assert learnt.forget_judgements() == 3
    assert learnt.judgements() == []
    assert {query: _ranking(learnt, query) for query in before} == before
    assert _columns(learnt) == trained


def test_taking_back_finds_the_column_of_before_and_makes_none(learnt: Collection) -> None:
    kept = shared_state(learnt.catalogue).columns._open
    low = _ranking(learnt, "sea")[40][0]
    before = dict(kept)
    learnt.judge("sea", low, True)
    _ranking(learnt, "sea")
    assert len(kept) == len(before) + 1, "a click makes one column anew"
    learnt.undo()
    _ranking(learnt, "sea")
    assert len(kept) == len(before) + 1
    assert all(kept[key] is column for key, column in before.items())


def test_undoing_the_last_click_restores_the_state_before_it_bit_for_bit(
    learnt: Collection,
) -> None:
    pictures = [number for number, *_ in _ranking(learnt, "sea")]
    states = []
    for number, relevant in ((50, True), (0, False), (41, True), (2, False)):
        states.append((_ranking(learnt, "sea"), _ranking(learnt, "sea sky")))
        learnt.judge("sea" if relevant else "sea sky", pictures[number], relevant)
    assert len({str(state) for state in states}) > 2, "clicks that change nothing are undone easily"
    for state in reversed(states):
        learnt.undo()
        assert (_ranking(learnt, "sea"), _ranking(learnt, "sea sky")) == state
    with pytest.raises(BadInput, match="nothing to undo"):
        learnt.undo()


def test_undoing_an_earlier_click_leaves_what_the_others_alone_would_teach(
    learnt: Collection,
) -> None:
    pictures = [number for number, *_ in _ranking(learnt, "sea")]
    # A yes to a picture without a sky would be refused by the held-out pictures.
    texts = effective_captions(learnt.catalogue, sorted(pictures))
    sky = next(one for one in reversed(pictures) if "sky" in texts.get(one, "").split())
    first = learnt.judge("sky", sky, True)
    learnt.judge("sea", pictures[50], True)
    alone = entries(learnt.catalogue)[1]
    both = _ranking(learnt, "sea sky")
    assert learnt.undo(first.id) == first
    assert [one.picture for one in learnt.judgements()] == [pictures[50]]
    assert entries(learnt.catalogue) == [alone]
    assert _ranking(learnt, "sea sky") != both
    with pytest.raises(BadInput, match=f"the number {first.id}"):
        learnt.undo(first.id)


def test_a_no_to_a_picture_whose_caption_holds_the_words_is_doubted(learnt: Collection) -> None:
    held = {one.picture for one in learnt.search("sea captioned:yes", k=100).results}
    with_sea = {
        picture
        for picture, text in effective_captions(learnt.catalogue, sorted(held)).items()
        if "sea" in text.split()
    }
    captioned, other = min(with_sea), min(held - with_sea)
    for picture, counts in ((captioned, DOUBTED), (other, 1.0)):
        learnt.judge("sea", picture, False)
        assert entries(learnt.catalogue)[-1].weight == counts


def test_a_click_corrects_the_probability_of_its_picture_and_of_those_like_it(
    learnt: Collection,
) -> None:
    low = learnt.search("sea", k=100).results[-1]
    with Image.open(low.path) as picture:
        for name in ("one.png", "other.bmp"):  # the same to look at, and nobody captioned them
            picture.save(learnt.root / name)
    learnt.add()
    before, after = {}, {}
    for scores in (before, after):
        found = learnt.search("sea captioned:no", k=100).results
        scores |= {one.path.name: one.score for one in found}  # of one word: its log-probability
        if scores is before:
            learnt.judge("sea", next(one for one in found if one.path.name == "one.png").path, True)
    assert after["one.png"] > before["one.png"]
    assert after["other.bmp"] == pytest.approx(after["one.png"], abs=0.01)


def test_saying_the_opposite_takes_the_first_back(learnt: Collection) -> None:
    pictures = [number for number, *_ in _ranking(learnt, "sea")]
    learnt.judge("sea", pictures[30], True)
    lifted = _place(learnt, "sea", pictures[30])
    learnt.judge("sea", pictures[30], False)
    assert [one.relevant for one in learnt.judgements()] == [False]
    assert _place(learnt, "sea", pictures[30]) > lifted


def test_saying_the_opposite_replays_nothing_and_leaves_what_a_replay_would(
    learnt: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    pictures = [number for number, *_ in _ranking(learnt, "sea")]
    for place in (3, 20, 30):
        learnt.judge("sea", pictures[place], False)
    with monkeypatch.context() as patch:
        patch.delattr(FeedbackOffsets, "replay")
        learnt.judge("sea", pictures[20], True)
    now = _columns(learnt)
    with learnt.catalogue.writing("learning clicks again"):
        with learnt.catalogue.transaction() as db:
            db.execute("DELETE FROM directions")
            learnt.catalogue.set(UNLEARNT, "unlearnt")
        relearn(learnt.catalogue)
    assert _columns(learnt) == now


def test_searches_find_pictures_while_somebody_clicks(learnt: Collection) -> None:
    pictures = [number for number, *_ in _ranking(learnt, "sea")][:20]
    failed: list[BaseException] = []

    def search() -> None:
        with Collection.open(learnt.root) as another:
            try:
                while len(another.judgements()) < len(pictures):
                    assert another.search("sea", k=5).results
            except BaseException as error:
                failed.append(error)

    searching = threading.Thread(target=search)
    searching.start()
    for picture in pictures:
        learnt.judge("sea", picture, True)
    searching.join()
    assert failed == []


def test_conditions_do_not_matter_to_a_click(learnt: Collection) -> None:
    picture = _ranking(learnt, "sea")[20][0]
    said = learnt.judge("sea captioned:yes -house:2", picture, True)
    assert said.query == "sea -house:2" == words_of("sea -house:2 in:x")


@pytest.mark.parametrize("query", ["", "captioned:yes", "-unheardof"])
def test_a_click_on_nothing_that_was_learnt_is_refused(learnt: Collection, query: str) -> None:
    with pytest.raises(BadInput):
        learnt.judge(query, 1, True)
    assert learnt.judgements() == []


def test_a_click_on_no_picture_is_refused(learnt: Collection, tmp_path: Path) -> None:
    for picture in (10**9, tmp_path / "nowhere.jpg"):
        with pytest.raises(BadInput, match=r"there is no picture|not in the collection"):
            learnt.judge("sea", picture, True)


def test_later_training_learns_the_clicks_again(learnt: Collection) -> None:
    picture = _ranking(learnt, "sea")[50][0]
    learnt.judge("sea", picture, True)
    learnt.caption(learnt.search("sea", k=1).results[0].path, "a red lantern by the sea")
    learnt.train(force=True)
    with_click = _ranking(learnt, "sea")
    assert len(learnt.judgements()) == 1
    learnt.forget_judgements()
    assert _place(learnt, "sea", picture) > [number for number, *_ in with_click].index(picture)
    assert learnt.check().is_well


def test_pictures_that_come_later_are_ranked_with_the_clicks(
    pictures: Callable[[int], Path], tmp_path: Path, drawn: Path
) -> None:
    folder = pictures(50)
    with Collection.open(folder) as collection:
        collection.add(features="thumbnails")
        collection.caption_from(tmp_path / "captions.tsv")
        collection.train()
        for number, *_ in _ranking(collection, "sea")[25:30]:
            collection.judge("sea", number, True)
        late = sorted(drawn.glob("*.jpg"))[55]
        (folder / late.name).write_bytes(late.read_bytes())
        collection.add()
        new = next(
            one for one in collection.search("sea", k=100).results if one.path.name == late.name
        )
        # Told anew from the beginning, it has the same score to the bit.
        with collection.catalogue.writing("a test"), collection.catalogue.transaction():
            collection.catalogue.set(UNLEARNT, "unlearnt")
        again = {one.picture: one.score for one in collection.search("sea", k=100).results}
        assert again[new.picture] == new.score
        assert collection.check().is_well


@pytest.mark.parametrize("model", ["pamir", "cmtt"])
def test_rankings_hold_what_clicks_add_to_every_picture(learnt: Collection, model: str) -> None:
    """Whatever came and went since; of a model that is not linear, too."""
    learnt.train(model=model, force=True)
    found = learnt.search("sea", k=60).results
    learnt.judge("sea", found[30].picture, True)
    for number in range(2):
        draw_scenes(learnt.root / str(number), 20, seed=20 + number, size=(48, 32))
        learnt.add()
        found[number].path.unlink()
        learnt.add()
        learnt.judge("sea sky", found[40 + number].picture, number == 0)
    learnt.judge("zebra", found[50].picture, True)
    assert len(changes.current_offsets(learnt.catalogue).directions) == 3
    for text in ("sea", "sea sky", "zebra", "sky -zebra:0.5"):
        ranked = learnt.search(text, k=200).results
        assert len(ranked) == 98
        assert_ranked(ranked, slow_scores(learnt, text), text)


def test_a_kill_between_log_and_directions_is_mended_by_the_next_click(
    learnt: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taking back writes the log first: whoever comes next learns what it says."""
    before = _ranking(learnt, "sea")
    learnt.judge("sea", before[30][0], True)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(changes, "relearn", killed)
        with pytest.raises(KeyboardInterrupt):
            learnt.undo()
    assert learnt.judgements() == []
    learnt.judge("sky", before[20][0], True)
    learnt.undo()
    assert _ranking(learnt, "sea") == before
    assert learnt.check().is_well


def test_forgetting_a_picture_forgets_what_was_said_about_it(learnt: Collection) -> None:
    before = _ranking(learnt, "sea")
    found = learnt.search("sea", k=30).results[-1]
    learnt.judge("sea", found.picture, True)
    learnt.remove([found.path])
    assert learnt.judgements() == []
    left = [one for one in before if one[0] != found.picture]
    assert _ranking(learnt, "sea") == left


@pytest.fixture
def watched(learnt: Collection) -> Collection:
    """A collection with enough captioned pictures that some are held out to watch."""
    for path, words in draw_scenes(learnt.root / "more", 120, seed=9, size=(48, 32)):
        path.with_suffix(".txt").write_text(" ".join(words))
    learnt.add()
    learnt.train()
    return learnt


def test_without_any_harm_allowed_no_harmful_step_is_taken(
    watched: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(click_module.bounded, "__defaults__", (-1.0,))
    before = _ranking(watched, "sea")
    assert watched.judge("sea", before[40][0], True).weight == 0.0
    assert [entry.weight for entry in entries(watched.catalogue)] == [0.0]
    assert _ranking(watched, "sea") == before


def test_wild_clicks_cost_the_pictures_that_watch_no_more_than_may_be(watched: Collection) -> None:
    """Somebody says the opposite of what is so, again and again."""
    version = current(watched.catalogue)
    assert version is not None
    guard = guard_of(watched.catalogue, version)
    assert guard is not None
    vocabulary = version.vocabulary()
    word = vocabulary.number("sea")
    assert word is not None
    held = np.array([word in words for words in guard.words])
    assert held.any()

    def avgp() -> float:
        offsets = changes.current_offsets(watched.catalogue)
        added = guard.vectors @ offsets.directions.get(word, np.zeros(guard.vectors.shape[1]))
        found = guard.rows[:, word] + added
        return average_precision(held[np.argsort(-found, kind="stable")])

    before = avgp()
    ranked = [number for number, *_ in _ranking(watched, "sea")]
    for number in ranked[:12]:
        watched.judge("sea", number, False)
    for number in ranked[-12:]:
        watched.judge("sea", number, True)
    steps = [entry.weight for entry in entries(watched.catalogue)]
    assert min(steps) < 1, "otherwise nothing wild was tried"
    assert before - avgp() <= click_module.MOST_HARM + 1e-9


def average_precision(ranked: np.ndarray) -> float:
    """The definition, slowly."""
    found, total = 0, 0.0
    for place, answers in enumerate(ranked.tolist(), start=1):
        if answers:
            found += 1
            total += found / place
    return total / found


def test_clicks_learnt_one_by_one_and_all_at_once_are_the_same_to_the_last_bit(
    learnt: Collection,
) -> None:
    clicks = [("sea", 3), ("sky tree", 9), ("zebra", 4), ("sea", 11), ("sea -boat", 20), ("sky", 7)]
    for number, (query, picture) in enumerate(clicks):
        learnt.judge(query, picture, number % 3 != 1)
    expected = changes.current_offsets(learnt.catalogue).directions
    for threads in (1, 2):
        with threadpool_limits(threads):
            again = changes.current_offsets(learnt.catalogue)
            again.replay(entries(learnt.catalogue))
        assert again.directions.keys() == expected.keys()
        for word, direction in again.directions.items():
            assert direction.tobytes() == expected[word].tobytes()


def test_a_replay_fits_only_what_the_last_directions_depend_on(
    learnt: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    clicks = [("sea", 3), ("sky", 9), ("sea", 4), ("sky tree", 11), ("house", 5), ("sea", 20)]
    clicks += [("house", 12), ("sky", 7), ("house -sea", 8)]
    for number, (query, picture) in enumerate(clicks):
        learnt.judge(query, picture, number % 3 != 1)
    log, offsets = entries(learnt.catalogue), changes.current_offsets(learnt.catalogue)
    expected = dict(offsets.directions)
    fits: list[int] = []
    learn = FeedbackOffsets.learn

    def noting(offsets: FeedbackOffsets, entry: Judgement, *others: Any, **options: Any) -> float:
        fits.append(log.index(entry))
        return learn(offsets, entry, *others, **options)

    monkeypatch.setattr(FeedbackOffsets, "learn", noting)
    offsets.replay(log)
    assert fits == [3, 7, 8]
    assert not offsets.changed_since(expected)


def test_whoever_changes_their_mind_is_never_without_an_answer(
    learnt: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill on the way leaves the first answer, until the second is committed."""
    learnt.judge("sea", 3, True)
    learnt.judge("zebra", 4, True)  # begins a word, so that it is part of what is learnt again

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    for answer in (False, True):
        before = [(one.query, one.relevant) for one in learnt.judgements()]
        with monkeypatch.context() as patch:
            patch.setattr(FeedbackOffsets, "write", killed)
            with pytest.raises(KeyboardInterrupt):
                learnt.judge("sea", 3, answer)
        found = [(one.query, one.relevant) for one in learnt.judgements()]
        assert found == before
        assert learnt.search("sea", k=5).results
        assert learnt.check().is_well
        learnt.judge("sea", 3, answer)
        assert ("sea", answer) in [(one.query, one.relevant) for one in learnt.judgements()]
