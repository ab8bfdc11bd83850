"""Shards answer together as one machine does, bit for bit, and say so where some of them cannot."""

from __future__ import annotations

import pickle
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from visterm.collection import Collection, SearchRequest, SharedState
from visterm.collection.search.request import PartialAnswer
from visterm.collection.search.shard import Answer, Lacking, SearchShard
from visterm.compute import LocalReplicas
from visterm.errors import VistermError

REQUESTS = [
    *(SearchRequest(text, k=7) for text in ("sky", "sea -sky", "snow:2 tree", "house -tree:0.5")),
    SearchRequest("sky tree", k=5, offset=4),
    SearchRequest("sea in:some", k=100),
    SearchRequest("forest captioned:no", k=9),
    SearchRequest("captioned:yes", k=9),
    SearchRequest("boat sun", k=20, good=True),
    SearchRequest("sky", k=9, fold=True),
    SearchRequest("sky", k=60, sort="time"),
    SearchRequest("lighthouse sea", k=9),
    SearchRequest("a tree in the snow", k=9, space="lsa"),
    SearchRequest("the sea in:some", k=9, space="lsa"),
]


class Kept(LocalReplicas):
    """Shards in this process, some of which may have nobody; ``before`` is called with a question.

    A test lets writers change the collection there.
    """

    def __init__(self, shards: int = 3) -> None:
        super().__init__(SearchShard, [() for _ in range(shards)])
        self.gone: set[int] = set()
        self.before: Callable[[], Any] = lambda: None
        self.asked: list[list[Any]] = []
        self.answered: list[list[Any]] = []

    def ask(self, method: str, arguments: Sequence[Any]) -> list[Any]:
        self.before()
        given = [None if n in self.gone else one for n, one in enumerate(arguments)]
        answers = as_sent(super().ask(method, as_sent(given)))
        self.asked.append([*arguments])
        self.answered.append(answers)
        return answers


def as_sent(values: list[Any]) -> list[Any]:
    """The same, as they arrive elsewhere."""
    found: list[Any] = pickle.loads(pickle.dumps(values))
    return found


@pytest.fixture(scope="module")
def made(drawn: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty pictures, some in a folder, two thirds of them captioned."""
    folder = tmp_path_factory.mktemp("sharded") / "pictures"
    (folder / "some").mkdir(parents=True)
    for number, path in enumerate(sorted(drawn.glob("*.jpg"))):
        shutil.copy2(path, folder / "some" if 20 <= number < 40 else folder)
    captions = dict(line.split("\t") for line in (drawn / "captions.tsv").read_text().splitlines())
    with Collection.open(folder) as opened:
        opened.add(features="thumbnails")
        for path in sorted(folder.rglob("*.jpg"))[:40]:
            opened.caption(path, captions[path.name])
        opened.train()
        opened.train_space("lsa")
    return folder


@pytest.fixture
def one(made: Path, tmp_path: Path) -> Iterator[Collection]:
    with Collection.open(shutil.copytree(made, tmp_path / "pictures")) as opened:
        yield opened


@pytest.fixture
def replicas() -> Kept:
    return Kept()


@pytest.fixture
def several(one: Collection, replicas: Kept) -> Iterator[Collection]:
    with Collection.open(one.root, shared=SharedState(replicas=replicas)) as opened:
        yield opened


def assert_alike(one: Collection, several: Collection) -> None:
    for request in REQUESTS:
        assert several.search(request) == one.search(request), request


def test_shards_answer_as_one_machine_does(
    one: Collection, several: Collection, replicas: Kept
) -> None:
    assert_alike(one, several)
    assert all(several.search(request).partial is None for request in REQUESTS)
    parts = [len(question.rows) for (question,) in replicas.asked[-1]]
    assert sum(parts) == 60
    assert all(parts), "every shard has rows of its own"


@pytest.mark.parametrize("shards", [1, 7, 90])
def test_however_many_shards_there_are(one: Collection, shards: int) -> None:
    with Collection.open(one.root, shared=SharedState(replicas=Kept(shards))) as several:
        assert_alike(one, several)


def test_what_a_shard_lacks_is_sent_once(one: Collection) -> None:
    both_lack = threading.Barrier(2, timeout=20)
    first = threading.local()

    class Waiting(Kept):
        def ask(self, method: str, arguments: Sequence[Any]) -> list[Any]:
            answers = super().ask(method, arguments)
            if not hasattr(first, "answers"):
                first.answers = [*map(type, answers)]
                both_lack.wait()
            return answers

    replicas = Waiting()
    shared, expected = SharedState(replicas=replicas), one.search("sky")

    def search(_: int) -> Any:
        with Collection.open(one.root, shared=shared) as opened:
            return opened.search("sky"), first.answers

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(search, range(2)))
    assert [answer for answer, _ in found] == [expected, expected]
    assert all(set(kinds) == {Lacking} for _, kinds in found)
    asked, first.answers = len(replicas.asked), []
    with Collection.open(one.root, shared=shared) as opened:
        assert opened.search("sky") == expected
    again = replicas.answered[asked:]
    assert all(isinstance(answer, Answer) for answers in again for answer in answers)
    assert all(not question.sent for asked in replicas.asked[asked:] for (question,) in asked)


def test_a_shard_that_forgot_its_arrays_is_sent_them_again(
    one: Collection, several: Collection, replicas: Kept
) -> None:
    expected = several.search("sky captioned:no", k=60)
    replicas.before = lambda: [shard._arrays.clear() for shard in replicas._objects]
    expected = one.search("sky captioned:no", k=60)
    assert several.search("sky captioned:no", k=60) == expected


def test_clicks_captions_and_other_pictures_reach_the_shards(
    one: Collection, several: Collection
) -> None:
    several.search("sky")
    several.judge("sky", 30, True)
    several.judge("sky", 3, False)
    several.judge("zeppelin", 12, True)
    assert several.search("zeppelin").results[0].picture == 12
    assert_alike(one, several)
    several.caption(50, "a lighthouse, snow and a boat")
    assert_alike(one, several)
    several.remove(sorted((several.root / "some").iterdir())[::2])
    assert_alike(one, several)
    several.undo()
    several.train(force=True)
    assert_alike(one, several)


def test_names_of_files_and_folders_reach_the_shards(one: Collection, several: Collection) -> None:
    (several.root / "some").rename(several.root / "Lisbon")
    asked = [SearchRequest(text, k=60) for text in ("lisbon", "sky -lisbon", "scene sea", "sky")]
    for names in ("both", "folders", "none"):
        several.add(names=names)
        for request in asked[:4] if names == "both" else asked[3:]:
            assert several.search(request) == one.search(request), (names, request)
    several.add(names="both")
    said = several.search("lisbon", k=60).results
    assert [one.evidence.folder_words for one in said if one.evidence] == [("lisbon",)] * 20


def test_refused_good_matches_of_several_shards_come_behind_the_others(
    one: Collection, several: Collection
) -> None:
    """They share the places below the cut-off, so that their order is that of one machine."""
    for picture in range(1, 60, 6):
        one.caption(picture, "a zeppelin in the sky")
    good = [result.picture for result in one.search("sky zeppelin", k=60, good=True).results]
    refused = good[1::2]
    assert sorted(refused) != refused, "their order must be that of their scores"
    for picture in refused:
        one.judge("sky zeppelin", picture, False)
    for k in (1, 3, len(good), 60):
        request = SearchRequest("sky zeppelin", k=k)
        assert several.search(request) == one.search(request)
    shown = several.search("sky zeppelin", k=60)
    assert shown.cutoff == len(good) - len(refused)
    after = [result.picture for result in shown.results[shown.cutoff : len(good)]]
    assert sorted(after) == sorted(refused)


def test_a_shard_needs_no_catalogue(several: Collection, replicas: Kept) -> None:
    expected = several.search("sky -sea", k=60)
    assert replicas.asked
    for asked in replicas.asked:
        for (question,) in asked:
            assert not hasattr(pickle.loads(pickle.dumps(question)), "catalogue")
    apart = [SearchShard() for _ in range(3)]
    question = replace(replicas.asked[-1][0][0], sent={})
    lacking = apart[0].answer(question)
    assert isinstance(lacking, Lacking)
    arrays = {name: replicas._objects[0]._arrays[name] for name in lacking.names}
    answer = apart[0].answer(replace(question, sent=arrays))
    assert isinstance(answer, Answer)
    scores = dict(zip(answer.rows.tolist(), answer.scores.tolist(), strict=True))
    shown = {one.picture: one.score for one in expected.results if one.picture in scores}
    assert shown
    assert shown.items() <= scores.items()


def test_a_shard_that_nobody_answers_for_makes_the_answer_partial(
    one: Collection, several: Collection, replicas: Kept
) -> None:
    whole = several.search("sky", k=60)
    replicas.gone = {1}
    some = several.search("sky", k=60)
    assert some.partial == PartialAnswer(len(some.results), 60)
    assert 0 < len(some.results) < 60
    left = {result.picture for result in some.results}
    assert some.results == [result for result in whole.results if result.picture in left]
    replicas.gone = {0, 1, 2}
    assert several.search("sky").partial == PartialAnswer(0, 60)
    replicas.gone = set()
    assert several.search("sky", k=60) == whole  # nothing of it was remembered


def test_no_answer_mixes_two_states(one: Collection, several: Collection, replicas: Kept) -> None:
    states = [one.search("sky", k=60)]

    def change(how: Callable[[], object]) -> None:
        how()
        states.append(one.search("sky", k=60))

    changes = iter(
        [
            lambda: one.judge("sky", states[0].results[50].picture, True),
            lambda: one.train(force=True),
            lambda: one.judge("sky", states[0].results[40].picture, True),
            lambda: one.judge("sky", states[0].results[30].picture, True),
        ]
    )
    replicas.before = lambda: change(next(changes, lambda: None))
    assert several.search("sky", k=60) == states[0], "it is of the state when it was asked"
    replicas.before = lambda: None
    assert several.search("sky", k=60) == states[-1] == one.search("sky", k=60)
    assert len(states) > 2
    assert states[0] != states[-1]


def test_shards_that_do_not_see_the_files_are_named(one: Collection) -> None:
    class Elsewhere(Kept):
        def ask(self, method: str, arguments: Sequence[Any]) -> list[Any]:
            moved = [
                (replace(one, rows=replace(one.rows, folder=Path("/nowhere/at/all"))),)
                for (one,) in arguments
            ]
            return super().ask(method, moved)

    with (
        Collection.open(one.root, shared=SharedState(replicas=Elsewhere())) as blind,
        pytest.raises(VistermError, match="the shards do not see the files"),
    ):
        blind.search("sky")
