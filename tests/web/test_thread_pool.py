"""Threads that answer: each with its own catalogue, never waiting for a writer, never too many."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from visterm.collection import Collection, SearchResult, SharedState
from visterm.collection.store.snapshot import snapshot
from visterm.errors import BadInput
from visterm.web.thread_pool import Busy, ThreadPool


def pool_of(folder: Path, threads: int = 1, **options: int) -> ThreadPool[Collection]:
    shared = SharedState()
    return ThreadPool(lambda: Collection.open(folder, shared=shared), threads=threads, **options)


def search(collection: Collection) -> list[int]:
    return [one.picture for one in collection.search("sea", 5).results]


def test_many_questions_are_answered_by_few_threads_with_one_index(taught_folder: Path) -> None:
    readers = pool_of(taught_folder, threads=3)

    async def ask() -> list[tuple[str, list[int]]]:
        def named(collection: Collection) -> tuple[str, list[int]]:
            return threading.current_thread().name, search(collection)

        return list(await asyncio.gather(*(readers.ask(named) for _ in range(60))))

    answers = asyncio.run(ask())
    readers.close()
    assert len({tuple(found) for _, found in answers}) == 1
    assert 1 <= len({name for name, _ in answers}) <= 3


def test_an_error_reaches_whoever_asked_and_the_thread_goes_on(taught_folder: Path) -> None:
    readers = pool_of(taught_folder)

    async def ask() -> list[int]:
        with pytest.raises(BadInput, match="quote"):
            await readers.ask(lambda collection: collection.search('"sea', 5))
        return await readers.ask(search)

    assert len(asyncio.run(ask())) == 5
    readers.close()


def test_a_line_that_grows_too_long_is_refused(taught_folder: Path) -> None:
    readers = pool_of(taught_folder, max_waiting=3)
    go_on = threading.Event()

    async def ask() -> None:
        first = asyncio.create_task(readers.ask(lambda collection: go_on.wait(10)))
        await asyncio.sleep(0.1)
        others = [asyncio.create_task(readers.ask(search)) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(Busy, match="try again"):
            await readers.ask(search)
        go_on.set()
        await asyncio.gather(first, *others)

    asyncio.run(ask())
    readers.close()


def test_a_pool_that_has_closed_refuses_instead_of_never_answering(taught_folder: Path) -> None:
    pool = pool_of(taught_folder)
    pool.close()
    with pytest.raises(Busy, match="ending"):
        asyncio.run(asyncio.wait_for(pool.ask(len), 5))


def test_readers_answer_while_another_holds_the_writers_lock(own: Path) -> None:
    readers = pool_of(own)
    with Collection.open(own) as writer, writer.catalogue.writing("a long job"):
        assert len(asyncio.run(readers.ask(search))) == 5
    readers.close()


def test_a_committed_change_is_seen_at_the_next_question(own: Path) -> None:
    readers = pool_of(own, threads=2)

    def many(collection: Collection) -> list[SearchResult]:
        return collection.search("sea", 60).results

    before = asyncio.run(readers.ask(many))
    with Collection.open(own) as writer:
        writer.judge("sea", before[40].picture, True)
        after = writer.search("sea", 60).results
    assert asyncio.run(readers.ask(many)) == after != before
    readers.close()


def test_those_who_share_their_state_open_a_model_once(taught_folder: Path) -> None:
    shared = SharedState()
    with (
        Collection.open(taught_folder, shared=shared) as one,
        Collection.open(taught_folder, shared=shared) as other,
    ):
        assert snapshot(one.catalogue).words is snapshot(other.catalogue).words
