"""Videos are found by their best frame, once each, exactly under offsets, filters and shards."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from benchmarks.drawn_videos import encode

from visterm.collection import Collection, SearchRequest, SharedState
from visterm.collection.search.frame_folding import FoldedRanker
from visterm.collection.search.rankers import word_ranker
from visterm.collection.search.shard import SearchShard
from visterm.collection.store.active_model import active_model, frame_rows
from visterm.compute import LocalReplicas
from visterm.text.query import parse_query

pytest.importorskip("av")

QUERIES = ("sky", "sea -sky", "snow:2 tree", "house", "sea boat", "clip", "clip sky")


@pytest.fixture(scope="module")
def made(drawn: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty scenes, most with captions, and six videos of three of the others each, one with."""
    folder = tmp_path_factory.mktemp("with-videos") / "pictures"
    (folder / "films").mkdir(parents=True)
    scenes = sorted(drawn.glob("*.jpg"))
    for path in scenes[:40]:
        shutil.copy2(path, folder)
    for number in range(6):
        some = scenes[40 + 3 * number : 43 + 3 * number]
        encode(folder / "films" / f"20{20 + number}-07-01 film.mp4", some)
    with Collection.open(folder) as collection:
        collection.add(features="thumbnails")
        collection.caption_from(drawn / "captions.tsv")
        collection.caption(folder / "films" / "2021-07-01 film.mp4", "a clip of the sky")
        collection.train(max_iter=2000)
    return folder


@pytest.fixture
def collection(made: Path, tmp_path: Path) -> Iterator[Collection]:
    shutil.copytree(made, tmp_path / "pictures")
    with Collection.open(tmp_path / "pictures") as opened:
        yield opened


def brute_force(collection: Collection, query: str, allow: set[int] | None) -> list[int]:
    """Every row by its score, then by its number; of a video only the first."""
    now = active_model(collection.catalogue)
    rows = now.index.ids()
    scores = word_ranker(collection.catalogue, now, parse_query(query)).scores(rows)
    pictures = frame_rows(collection.catalogue).pictures(rows)
    found: dict[int, float] = {}
    for place in np.lexsort((rows, -scores)).tolist():
        if allow is None or int(pictures[place]) in allow:
            found.setdefault(int(pictures[place]), float(scores[place]))
    return list(found)


def numbers_of(collection: Collection, condition: str) -> set[int]:
    question = f"SELECT picture FROM places JOIN pictures ON id = picture WHERE {condition}"
    question = question.replace("ON id", "ON pictures.id")
    return {picture for (picture,) in collection.catalogue.db.execute(question)}


FILTERS = {
    "": "1",
    "type:video": "pictures.kind = 'video'",
    "in:films": "folder = 'films'",
    "after:2023": "pictures.taken >= 1672531200",
}


@pytest.mark.parametrize("condition", FILTERS)
def test_rankings_are_those_of_all_rows_with_the_best_of_every_video(
    collection: Collection, condition: str
) -> None:
    allow = numbers_of(collection, FILTERS[condition]) if condition else None
    for query in QUERIES[:-2]:
        expected = brute_force(collection, query, allow)
        text = f"{query} {condition}".strip()
        assert [one.picture for one in collection.search(text, k=100).results] == expected
        for offset in range(0, len(expected), 5):
            page = collection.search(SearchRequest(text, k=5, offset=offset))
            assert [one.picture for one in page.results] == expected[offset : offset + 5]
            assert page.more == (offset + 5 < len(expected))


def test_a_result_has_the_time_and_the_score_of_its_best_frame(collection: Collection) -> None:
    now = active_model(collection.catalogue)
    frames = frame_rows(collection.catalogue)
    videos = np.unique(frames.videos)
    assert videos.size == 6
    ranker = word_ranker(collection.catalogue, now, parse_query("sea"))
    for one in collection.search("sea type:video", k=10).results:
        rows = frames.rows(np.array([one.picture]))
        scores = ranker.scores(rows)
        assert one.score == scores.max()
        assert one.frame == rows[scores.argmax()]
        question = "SELECT second FROM pictures WHERE id = ?"
        assert one.frame_time == collection.catalogue.one(question, one.frame)
    every = [one for query in QUERIES for one in collection.search(query, k=100).results]
    assert any(one.frame != one.picture for one in every)


def test_good_matches_are_counted_once_a_video(collection: Collection) -> None:
    collection.caption(collection.root / "films" / "2020-07-01 film.mp4", "a zeppelin")
    assert collection.search("zeppelin", k=100, good=True).cutoff == 1
    now, frames = active_model(collection.catalogue), frame_rows(collection.catalogue)
    rows = now.index.ids()
    films = np.array(sorted(numbers_of(collection, FILTERS["in:films"])))
    for query in QUERIES[:5]:
        ranker = word_ranker(collection.catalogue, now, parse_query(query))
        scores = ranker.scores(rows)
        folded = FoldedRanker(ranker, frames)
        for least in np.quantile(scores, (0.1, 0.5, 0.9)):
            good = set(frames.pictures(rows[scores >= least]).tolist())
            assert folded.count(least, None) == len(good)
            assert folded.count(least, films) == len(good & set(films.tolist()))


def test_shards_fold_as_one_index_does(collection: Collection) -> None:
    replicas = LocalReplicas(SearchShard, [(number, 3) for number in range(3)])
    with Collection.open(collection.root, shared=SharedState(replicas=replicas)) as sharded:
        for query in (*QUERIES, "sea type:video", "sky in:films"):
            for offset in (0, 3):
                request = SearchRequest(query, k=4, offset=offset)
                assert sharded.search(request) == collection.search(request)


def test_a_caption_counts_for_the_video_and_all_of_its_frames(collection: Collection) -> None:
    first = collection.search("clip", k=3).results[0]
    assert first.path.name == "2021-07-01 film.mp4"
    assert first.parts is not None
    assert first.parts.words == ("clip",)
    assert collection.status().captioned == 41


def test_clicks_count_for_the_video_and_are_taken_back(collection: Collection) -> None:
    before = collection.search("sea", k=100)
    video = next(one for one in before.results if one.frame_time is not None)
    collection.judge("sea", video.picture, True)
    assert [one.picture for one in collection.judgements()] == [video.picture]
    after = next(one for one in collection.search("sea", k=100).results if one.judged)
    assert after.picture == video.picture
    assert after.score > video.score
    collection.undo()
    assert collection.search("sea", k=100) == before


def test_frames_are_no_pictures_anywhere_else(collection: Collection) -> None:
    status = collection.status()
    assert (len(collection), status.pictures, status.vanished) == (46, 46, 0)
    assert len(collection.newest(100)) == 46
    assert len(collection.matches("type:video")) == 6
    assert len(collection.search("", k=100, sort="time").results) == 46
    assert not collection.check().problems
    kinds = {one.term: one.count for one in collection.quick_filters()}
    assert kinds["type:video"] == 6
    assert not {n for one in collection.near_duplicates() for n in (one.best, *one.others)} - set(
        range(1, 41)
    )


def test_a_video_says_what_any_of_its_frames_shows(collection: Collection) -> None:
    video = collection.search("sea type:video", k=1).results[0]
    frames = frame_rows(collection.catalogue).rows(np.array([video.picture]))
    said = {one.word: one.score for one in collection.describe(video.picture, 100)}
    rows = active_model(collection.catalogue).index.rows(frames)
    column = active_model(collection.catalogue).vocabulary.words.index("sea")
    assert said["sea"] == pytest.approx(float(rows[:, column].max()))
    assert collection.explain(video.picture, "sea").score == pytest.approx(video.score)


def test_likeness_leaves_out_all_frames_of_the_video_itself(collection: Collection) -> None:
    video = collection.search("type:video sea", k=1).results[0].picture
    like = collection.search(SearchRequest(like=video, k=100)).results
    assert len(like) == 45
    assert video not in {one.picture for one in like}
    # A scene that is one frame of a video finds that video, at that frame.
    frame = collection.search("type:video sea", k=1).results[0]
    shown = collection.thumbnails.of(collection.record(frame.frame or 0), 320)
    still = collection.root / "still.jpg"
    still.write_bytes(shown.jpeg)
    best = collection.search(SearchRequest(like=still, k=1)).results[0]
    assert (best.picture, best.frame) == (frame.picture, frame.frame)


def test_changed_moved_and_removed_videos_are_noticed(collection: Collection, drawn: Path) -> None:
    films = collection.root / "films"
    first, second, third = sorted(films.iterdir())[:3]
    scenes = sorted(drawn.glob("*.jpg"))
    encode(first, [scenes[0], scenes[9]], seconds=1)
    second.rename(films / "moved.mp4")
    third.unlink()
    report = collection.add()
    assert (report.changed, report.moved, report.vanished) == (1, 1, 1)
    assert not collection.check().problems
    names = {one.path.name for one in collection.search("type:video sky", k=100).results}
    assert names == {first.name, "moved.mp4", *(path.name for path in sorted(films.iterdir())[1:4])}
    assert collection.remove([films]) == 7  # and what the changed and the vanished one were
    assert collection.catalogue.one("SELECT count(*) FROM pictures WHERE video NOT NULL") == 0
    assert not collection.check().problems


def test_a_lost_segment_brings_the_whole_video_again(collection: Collection) -> None:
    before = collection.search("sea", k=100)
    (segment,) = [*(collection.store / "features").rglob("*.codes.npy")] or [
        *(collection.store / "features").rglob("*.rows.npy")
    ][:1]
    segment.write_bytes(b"damaged")
    assert not collection.check(repair=True).problems
    assert [one.picture for one in collection.search("sea", k=100).results] == [
        one.picture for one in before.results
    ]


def test_the_reason_names_the_extra_and_the_video_is_read_once_it_is_there(
    collection: Collection,
) -> None:
    video = sorted((collection.root / "films").iterdir())[0]
    copy = video.with_name("new.mp4")
    copy.write_bytes(video.read_bytes() + b"\0")
    about = copy.stat()
    with collection.catalogue.writing("a test"), collection.catalogue.transaction() as db:
        reason = "videos need the extra 'video': pip install 'visterm[video]'"
        db.execute(
            "INSERT INTO skipped VALUES ('films', 'new.mp4', ?, ?, ?)",
            (about.st_size, about.st_mtime_ns, reason),
        )
    assert collection.add().new == 1
