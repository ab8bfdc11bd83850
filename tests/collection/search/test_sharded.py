"""Shards answer together as one index does, bit for bit, and say so where some of them cannot."""

from __future__ import annotations

import pickle
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from visterm.collection import Collection, SearchRequest, SharedState
from visterm.collection.search import sharded
from visterm.collection.search.request import PartialAnswer
from visterm.collection.search.shard import Lacking, SearchShard
from visterm.collection.search.shard_vectors import SentRows, VectorSegments
from visterm.collection.store.linear_values import LinearValues, LocatedRows
from visterm.compute import LocalReplicas
from visterm.index.segments import Segmented

REQUESTS = [
    *(SearchRequest(text, k=7) for text in ("sky", "sea -sky", "snow:2 tree", "house -tree:0.5")),
    SearchRequest("sky tree", k=5, offset=4),
    SearchRequest("sea in:some", k=100),
    SearchRequest("forest captioned:no", k=9),
    SearchRequest("captioned:yes", k=9),
    SearchRequest("boat sun", k=20, good=True),
    SearchRequest("sky", k=9, fold=True),
    SearchRequest("lighthouse sea", k=9),
    SearchRequest("a tree in the snow", k=9, space="lsa"),
    SearchRequest("the sea in:some", k=9, space="lsa"),
]


class Kept(LocalReplicas):
    """Shards in this process, some of which may have nobody; ``before`` is called with a question.

    A test lets writers change the collection there.
    """

    def __init__(self, shards: int = 3) -> None:
        super().__init__(SearchShard, [(number, shards) for number in range(shards)])
        self.gone: set[int] = set()
        self.before: Callable[[], Any] = lambda: None

    def ask(self, method: str, arguments: Sequence[Any]) -> list[Any]:
        self.before()
        given = [None if n in self.gone else one for n, one in enumerate(arguments)]
        return as_sent(super().ask(method, as_sent(given)))


def as_sent(values: list[Any]) -> list[Any]:
    """The same, as they arrive elsewhere."""
    found: list[Any] = pickle.loads(pickle.dumps(values))
    return found


@pytest.fixture(scope="module")
def made(drawn: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty pictures in segments of thirteen, some in a folder, two thirds of them captioned."""
    folder = tmp_path_factory.mktemp("sharded") / "pictures"
    (folder / "some").mkdir(parents=True)
    for number, path in enumerate(sorted(drawn.glob("*.jpg"))):
        shutil.copy2(path, folder / "some" if 20 <= number < 40 else folder)
    captions = dict(line.split("\t") for line in (drawn / "captions.tsv").read_text().splitlines())
    with pytest.MonkeyPatch.context() as patch, Collection.open(folder) as opened:
        patch.setattr(Segmented, "segment_size", 13)
        opened.add(features="thumbnails")
        for path in sorted(folder.rglob("*.jpg"))[:40]:
            opened.caption(path, captions[path.name])
        opened.train(max_iter=2000)
        opened.train_space("lsa")
    return folder


@pytest.fixture
def one(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Collection]:
    monkeypatch.setattr(Segmented, "segment_size", 13)
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


def test_shards_answer_as_one_index_does(one: Collection, several: Collection) -> None:
    assert_alike(one, several)
    assert all(several.search(request).partial is None for request in REQUESTS)


def test_what_a_shard_lacks_is_sent_once_however_many_ask(one: Collection) -> None:
    both_lack = threading.Barrier(2, timeout=20)
    first = threading.local()
    sent: list[int] = []

    class Counted(Kept):
        def ask(self, method: str, arguments: Sequence[Any]) -> list[Any]:
            sent.extend(n for n, given in enumerate(arguments) if given and given[0].arrays)
            answers = super().ask(method, arguments)
            if not hasattr(first, "answers"):
                first.answers = [*map(type, answers)]
                both_lack.wait()
            return answers

    shared, expected = SharedState(replicas=Counted()), one.search("sky")

    def search(_: int) -> Any:
        with Collection.open(one.root, shared=shared) as opened:
            return opened.search("sky"), first.answers

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(search, range(2)))
    assert [answer for answer, _ in found] == [expected, expected]
    assert all(Lacking in kinds for _, kinds in found)
    assert sorted(sent) == [0, 1, 2]


def test_rows_are_told_as_ranges_unless_some_picture_has_gone(one: Collection) -> None:
    db = one.catalogue.db
    number, extractor = db.execute("SELECT min(id), extractor FROM segments").fetchone()
    every = VectorSegments(extractor)
    whole = every.read(one.catalogue, number)
    assert whole is not None
    assert isinstance(whole.pictures, range)
    assert len(whole.pictures) == len(whole.places) > 3
    db.execute("DELETE FROM rows WHERE picture = ?", (whole.pictures[1],))
    left = every.read(one.catalogue, number)
    assert left is not None
    assert list(left.pictures) == [whole.pictures[0], *whole.pictures[2:]]
    assert list(left.places) == [whole.places[0], *whole.places[2:]]


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
    several.train(max_iter=500, force=True)
    assert_alike(one, several)


def test_names_of_files_and_folders_reach_the_shards(
    one: Collection, several: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    (several.root / "some").rename(several.root / "Lisbon")
    asked = [SearchRequest(text, k=60) for text in ("lisbon", "sky -lisbon", "scene sea", "sky")]
    for names in ("both", "folders", "none"):
        several.add(names=names)
        for small in (4096, 0):
            monkeypatch.setattr(sharded, "_SMALL", small)
            for request in asked[:4] if names != "none" else asked[3:]:
                found = several.search(request)
                assert found == one.search(request), (names, request)
    several.add(names="both")
    said = several.search("lisbon", k=60).results
    assert [one.parts.folder_words for one in said if one.parts] == [("lisbon",)] * 20


def test_shards_compute_values_without_the_catalogue(
    several: Collection, replicas: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[LocatedRows] = []
    computed = LinearValues._vectors

    def noting(values: LinearValues, rows: LocatedRows, pictures: Sequence[int]) -> Any:
        read.append(rows)
        return computed(values, rows, pictures)

    monkeypatch.setattr(LinearValues, "_vectors", noting)
    several.search("sky -sea", k=60)
    assert read
    assert all(isinstance(rows, SentRows) for rows in read)


def test_long_lists_are_sent_once_and_named_after_that(
    one: Collection, several: Collection, replicas: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharded, "_SMALL", 0)
    assert_alike(one, several)
    asked: list[int] = []
    replicas.before = lambda: asked.append(1)
    several.search("sky")
    assert len(asked) == 1


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


def test_no_answer_mixes_two_states_of_the_index(
    one: Collection, several: Collection, replicas: Kept
) -> None:
    states = [one.search("sky", k=60)]

    def change(how: Callable[[], object]) -> None:
        how()
        states.append(one.search("sky", k=60))

    changes = iter(
        [
            lambda: one.judge("sky", states[0].results[50].picture, True),
            lambda: one.train(max_iter=500, force=True),
            lambda: one.judge("sky", states[0].results[40].picture, True),
            lambda: one.judge("sky", states[0].results[30].picture, True),
        ]
    )
    replicas.before = lambda: change(next(changes, lambda: None))
    assert several.search("sky", k=60) in states[1:]
    assert several.search("sky", k=60) in states[2:]
    replicas.before = lambda: None
    assert several.search("sky", k=60) == states[-1] == one.search("sky", k=60)
    assert len(states) > 3


def test_shards_that_see_other_files_are_named(
    one: Collection, several: Collection, replicas: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharded, "_PAUSE", 0)
    monkeypatch.setattr(sharded, "fingerprint", lambda manifest: "another", raising=False)
    monkeypatch.setattr("visterm.collection.search.shard.fingerprint", _counting())
    with pytest.raises(Exception, match="all nodes must see the same files"):
        several.search("sky")


def _counting() -> Callable[[object], str]:
    numbers = iter(range(10_000))
    return lambda manifest: str(next(numbers))
