"""Videos are found by their best frame, once each, exactly under offsets, filters and shards."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from benchmarks.drawn_videos import encode
from slow_scores import TOLERANCE, slow_scores

from visterm.collection import Collection, SearchRequest, SharedState
from visterm.collection.search.shard import SearchShard
from visterm.collection.store.feature_rows import read_frame_rows
from visterm.compute import LocalReplicas

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
        collection.train()
    return folder


@pytest.fixture
def collection(made: Path, tmp_path: Path) -> Iterator[Collection]:
    shutil.copytree(made, tmp_path / "pictures")
    with Collection.open(tmp_path / "pictures") as opened:
        yield opened


def best_frames(collection: Collection, query: str, allow: set[int] | None) -> dict[int, float]:
    """By picture, the highest of the slow scores of its rows."""
    frames = read_frame_rows(collection.catalogue)
    found: dict[int, float] = {}
    for row, score in slow_scores(collection, query).items():
        picture = int(frames.pictures(np.array([row]))[0])
        if allow is None or picture in allow:
            found[picture] = max(score, found.get(picture, score))
    return found


def numbers_of(collection: Collection, condition: str) -> set[int]:
    question = f"SELECT picture FROM places JOIN pictures ON id = picture WHERE {condition}"
    question = question.replace("ON id", "ON pictures.id")
    return {picture for (picture,) in collection.catalogue.db.execute(question)}


FILTERS = {
    "": "1",
    "type:video": "pictures.kind = 'video'",
    "in:films": "folder = 'films'",
    "after:2023": "pictures.taken >= 1672531200 AND pictures.taken_from != 'file'",
}


@pytest.mark.parametrize("condition", FILTERS)
def test_rankings_are_those_of_all_rows_with_the_best_of_every_video(
    collection: Collection, condition: str
) -> None:
    allow = numbers_of(collection, FILTERS[condition]) if condition else None
    for query in QUERIES[:-2]:
        slow = best_frames(collection, query, allow)
        text = f"{query} {condition}".strip()
        found = collection.search(text, k=100).results
        expected = [one.picture for one in found]
        assert sorted(expected) == sorted(slow)
        scores = [one.score for one in found]
        assert scores == sorted(scores, reverse=True)
        np.testing.assert_allclose(
            scores, [slow[picture] for picture in expected], rtol=1e-3, atol=3 * TOLERANCE
        )
        for offset in range(0, len(expected), 5):
            page = collection.search(SearchRequest(text, k=5, offset=offset))
            assert [one.picture for one in page.results] == expected[offset : offset + 5]
            assert page.more == (offset + 5 < len(expected))


def test_a_result_has_the_time_and_the_score_of_its_best_frame(collection: Collection) -> None:
    frames = read_frame_rows(collection.catalogue)
    videos = np.unique(frames.videos)
    assert videos.size == 6
    slow = slow_scores(collection, "sea")
    for one in collection.search("sea type:video", k=10).results:
        rows = frames.rows(np.array([one.picture]))
        scores = [slow[row] for row in rows.tolist()]
        assert one.score == pytest.approx(max(scores), rel=1e-3)
        assert slow[one.frame] == pytest.approx(max(scores), rel=1e-3)
        question = "SELECT second FROM pictures WHERE id = ?"
        assert one.frame_time == collection.catalogue.one(question, one.frame)
    every = [one for query in QUERIES for one in collection.search(query, k=100).results]
    assert any(one.frame != one.picture for one in every)


def test_good_matches_are_counted_once_a_video(collection: Collection) -> None:
    collection.caption(collection.root / "films" / "2020-07-01 film.mp4", "a zeppelin")
    assert collection.search("zeppelin", k=100, good=True).cutoff == 1
    collection.caption(collection.root / "films" / "2022-07-01 film.mp4", "a zeppelin")
    found = collection.search("zeppelin", k=100, good=True)
    assert (found.cutoff, len(found.results)) == (2, 2)
    assert len(collection.matches("zeppelin")) == 2
    assert collection.search("zeppelin after:2022", k=100).cutoff == 1


def test_shards_fold_as_one_index_does(collection: Collection) -> None:
    replicas = LocalReplicas(SearchShard, [()] * 3)
    with Collection.open(collection.root, shared=SharedState(replicas=replicas)) as sharded:
        for query in (*QUERIES, "sea type:video", "sky in:films"):
            for offset in (0, 3):
                request = SearchRequest(query, k=4, offset=offset)
                assert sharded.search(request) == collection.search(request)


def test_a_caption_counts_for_the_video_and_all_of_its_frames(collection: Collection) -> None:
    first = collection.search("clip", k=3).results[0]
    assert first.path.name == "2021-07-01 film.mp4"
    assert first.evidence is not None
    assert first.evidence.words == ("clip",)
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
    frames = read_frame_rows(collection.catalogue).rows(np.array([video.picture]))
    said = {one.word: one.score for one in collection.describe(video.picture, 100)}
    slow = slow_scores(collection, "sea")
    assert video.evidence is not None
    assert not video.evidence.words
    assert len(frames) == 3
    assert said["sea"] == pytest.approx(max(slow[row] for row in frames.tolist()), rel=1e-3)
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
    assert collection.remove([films]) == 6  # and the vanished one
    assert collection.search("type:video sky", k=100).results == []
    assert collection.undo_last().pictures == 6
    found = {one.path.name for one in collection.search("type:video sky", k=100).results}
    assert found == names
    assert not collection.check().problems


def test_a_lost_segment_brings_the_whole_video_again(collection: Collection) -> None:
    before = collection.search("sea", k=100)
    (codes,) = (collection.store / "features").rglob("codes")
    count = codes.stat().st_size
    codes.write_bytes(bytes(255 - byte for byte in codes.read_bytes()[:-1]) + b"x")
    assert codes.stat().st_size == count
    assert collection.check(repair=True).is_well
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
