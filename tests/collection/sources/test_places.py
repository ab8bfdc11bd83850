"""What holds wherever pictures lie: each test runs over every kind of place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import Bucket

from visterm.collection import Collection
from visterm.collection.ingest import description, pipeline
from visterm.collection.ingest.batches import Added
from visterm.collection.ingest.description import delete_copies
from visterm.collection.media.captions import effective_captions
from visterm.collection.store.feature_rows import Rows
from visterm.index.feature_file import coded, decoded

PLACES = ("s3", "http", "file", "tar", "tar in s3", "csv", "parquet of s3")
everywhere = pytest.mark.parametrize("place", PLACES, indirect=True)
Scene = Callable[[int], bytes]


def counts(report: Added) -> dict[str, int]:
    names = ("new", "changed", "moved", "duplicates", "returned", "vanished", "extracted")
    found = {name: getattr(report, name) for name in names} | {"skipped": len(report.skipped)}
    return {name: count for name, count in found.items() if count}


def filled(place: Any, scene: Scene, count: int = 3) -> Any:
    for number in range(count):
        place.put(f"{number}.jpg", scene(number))
    return place


def add(home: Collection, *paths: str, **options: Any) -> dict[str, int]:
    return counts(home.add(paths, features="thumbnails", **options))


@everywhere
def test_pictures_are_described_as_on_this_machine_and_the_second_time_costs_nothing(
    place: Any, home: Collection, scene: Scene, drawn: Path
) -> None:
    filled(place, scene)
    assert add(home, place.scope) == {"new": 3, "extracted": 3}
    assert add(home, place.scope) == {}
    assert add(home) == {}
    from thumbnails import Thumbnails

    paths = sorted(drawn.glob("*.jpg"))[:3]
    rows = Rows(home.catalogue, "thumbnails-1")
    for number, expected in enumerate(decoded(*coded(Thumbnails().fit().transform(paths)))):
        picture = home.number(place.url(f"{number}.jpg"))
        np.testing.assert_array_equal(rows.of([picture])[picture], expected)
    assert not list(home.store.glob("incoming/*"))


def test_copies_are_deleted_batch_by_batch(
    bucket: Bucket, home: Collection, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "BATCH", 2)
    filled(bucket, scene, 12)
    counts: list[int] = []

    def counted(copies: Path | None) -> None:
        counts.append(len(list(home.store.glob("incoming/*/*.picture"))))
        delete_copies(copies)

    monkeypatch.setattr(description, "delete_copies", counted)
    assert add(home, bucket.scope)["new"] == 12
    assert len(counts) >= 6
    assert 0 < max(counts) <= 6


@everywhere
def test_a_changed_picture_is_described_again_and_keeps_what_a_person_gave(
    place: Any, home: Collection, scene: Scene
) -> None:
    filled(place, scene)
    add(home, place.scope)
    home.caption(place.url("1.jpg"), "a boat")
    place.put("1.jpg", scene(7))
    assert add(home) == {"changed": 1, "extracted": 1}
    assert home.captions(place.url("1.jpg"))["person"] == "a boat"
    assert add(home) == {}


@everywhere
def test_a_removed_picture_vanishes_and_comes_back(
    place: Any, home: Collection, scene: Scene
) -> None:
    filled(place, scene)
    add(home, place.scope)
    place.delete("2.jpg")
    assert add(home) == {"vanished": 1}
    assert len(home) == 2
    place.put("2.jpg", scene(2))
    assert add(home) == {"returned": 1}
    assert len(home) == 3


@everywhere
def test_a_broken_picture_is_named_once_with_its_reason(
    place: Any, home: Collection, scene: Scene
) -> None:
    filled(place, scene)
    place.put("bad.jpg", b"this is no picture")
    place.put("cut.jpg", scene(5)[:300])
    report = home.add([place.scope], features="thumbnails")
    assert counts(report) == {"new": 3, "extracted": 3, "skipped": 2}
    reasons = dict(report.skipped)
    assert "not a picture" in reasons[place.url("bad.jpg")]
    assert "cut short" in reasons[place.url("cut.jpg")]
    assert add(home) == {}
    place.put("bad.jpg", scene(6))
    assert add(home)["new"] == 1


@everywhere
def test_captions_are_read_and_read_again_when_they_change(
    place: Any, home: Collection, scene: Scene
) -> None:
    def say(text: str) -> str:
        if not place.sidecar:
            place.say("0.jpg", text)
            return "table"
        place.put(f"0{place.sidecar}", text.encode())
        return place.sidecar[1:]

    filled(place, scene)
    source = say("a boat at sea")
    add(home, place.scope)
    assert home.captions(place.url("0.jpg")) == {source: "a boat at sea"}
    assert home.captions(place.url("1.jpg")) == {}
    say("two boats at sea, far out")
    assert add(home) == {}
    assert home.captions(place.url("0.jpg")) == {source: "two boats at sea, far out"}
    home.caption(place.url("0.jpg"), "a ship")
    shown = effective_captions(home.catalogue, [home.number(place.url("0.jpg"))])
    assert list(shown.values()) == ["a ship"]


@everywhere
def test_a_search_shows_a_whole_address_and_the_page_a_thumbnail(
    place: Any, home: Collection, scene: Scene
) -> None:
    filled(place, scene)
    add(home, place.scope)
    found = home.search("", like=place.url("0.jpg"), k=2).results
    assert {str(one.path) for one in found} == {place.url("1.jpg"), place.url("2.jpg")}
    record = home.record(found[0].picture)
    thumbnail = home.thumbnails.of(record, 160)
    assert thumbnail.sure
    assert thumbnail.jpeg.startswith(b"\xff\xd8")
    assert record.pixels == (48, 32)


@everywhere
def test_what_is_removed_stays_out_until_it_is_named(
    place: Any, home: Collection, scene: Scene
) -> None:
    filled(place, scene)
    add(home, place.scope)
    assert home.remove([place.url("0.jpg")]) == 1
    assert add(home) == {}
    assert len(home) == 2


@everywhere
def test_a_source_that_is_removed_is_not_asked_any_more(
    place: Any, home: Collection, scene: Scene
) -> None:
    filled(place, scene)
    add(home, place.scope)
    assert home.remove([place.scope]) == 3
    assert home.status().followed == []
    assert add(home, place.scope)["returned"] == 3


@everywhere
def test_equal_pictures_are_one_and_a_copy_costs_no_extraction(
    place: Any, home: Collection, scene: Scene
) -> None:
    filled(place, scene)
    place.put("copy.jpg", scene(0))
    assert add(home, place.scope) == {"new": 3, "duplicates": 1, "extracted": 3}
    (home.root / "here.jpg").write_bytes(scene(1))
    assert add(home, str(home.root / "here.jpg")) == {"duplicates": 1}
