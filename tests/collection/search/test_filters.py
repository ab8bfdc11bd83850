"""Time, place and kind narrow every search, exactly, and are kept in step with the files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from visterm.collection import Collection, SearchRequest
from visterm.datasets.scenes import draw_scenes
from visterm.errors import BadInput

PICTURES = 200


def stamp(path: Path, time: str, north: float = 0.0) -> None:
    """Write a time and a place into a drawn picture."""
    block = Image.Exif()
    block.get_ifd(0x8769)[0x9003] = time
    if north:
        block.get_ifd(0x8825).update({1: "N", 2: (north, 0.0, 0.0), 3: "E", 4: (8.0, 0.0, 0.0)})
    with Image.open(path) as picture:
        picture.save(path, exif=block)


@pytest.fixture(scope="module")
def dated_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Learnt scenes: a month each of 2019, half of them at 46, the others at 47 degrees."""
    folder = tmp_path_factory.mktemp("dated") / "pictures"
    for number, (path, _) in enumerate(draw_scenes(folder, PICTURES, size=(48, 32))):
        stamp(path, f"2019:{number % 12 + 1:02d}:15 12:00:00", 46.0 + number % 2)
    with Collection.open(folder) as opened:
        opened.add(features="thumbnails")
        opened.caption_from(folder / "captions.tsv")
        opened.train()
    return folder


@pytest.fixture
def dated(dated_folder: Path, tmp_path: Path) -> Iterator[Collection]:
    with Collection.open(Path(shutil.copytree(dated_folder, tmp_path / "pictures"))) as opened:
        yield opened


def names(collection: Collection, text: str, **options: object) -> list[str]:
    found = collection.search(text, 300, **options)
    return [Path(one.path).name for one in found.results]


def scenes(*numbers: int) -> set[str]:
    return {f"scene-{number:04d}.jpg" for number in numbers}


def test_time_place_and_words_narrow_together_and_say_so(dated: Collection) -> None:
    assert len(names(dated, "2019")) == PICTURES
    assert set(names(dated, "2019-07")) == scenes(*range(7, PICTURES + 1, 12))
    assert set(names(dated, "after:2019-11")) == scenes(
        *range(11, PICTURES + 1, 12), *range(12, PICTURES + 1, 12)
    )
    assert set(names(dated, "after:2019-02 before:2019-03")) == scenes(*range(2, PICTURES + 1, 12))
    assert len(names(dated, "near:47,8,5km")) == PICTURES // 2
    assert len(names(dated, "near:46.99,8.0,2km")) == PICTURES // 2
    assert names(dated, "near:46.9,8.0,2km") == []
    found = dated.search("sky -sea 2019-07 near:46,8,1km", 300)
    assert found.conditions == ("of 2019-07", "within 1 km of 46, 8")
    assert found.results
    assert {Path(one.path).name for one in found.results} <= scenes(*range(7, PICTURES + 1, 12))
    assert found.results[0].taken_from == "exif"
    with pytest.raises(BadInput, match="is no date"):
        dated.search("sky after:july")


def test_a_filter_leaves_the_ranking_and_the_cutoff_as_they_are(dated: Collection) -> None:
    every = dated.search("sky -sea", 300)
    for text in ("2019-07", "before:2019-10", "near:46,8,1km"):
        kept = [one for one in every.results if one.picture in _numbers(dated, text)]
        found = dated.search(f"sky -sea {text}", 300)
        assert [(one.picture, one.score) for one in found.results] == [
            (one.picture, one.score) for one in kept
        ]
        assert every.cutoff is not None
        good = {one.picture for one in every.results[: every.cutoff]}
        assert found.cutoff == sum(one.picture in good for one in kept)


def _numbers(collection: Collection, text: str) -> set[int]:
    return {one.picture for one in collection.search(text, 300).results}


def test_a_year_in_quotes_is_a_word(dated: Collection) -> None:
    dated.caption(dated.root / "scene-0003.jpg", "a beach in 1987")
    assert names(dated, '"1987"')[0] == "scene-0003.jpg"
    assert dated.search('"1987"').conditions == ()


def test_dates_are_read_as_people_write_them_in_queries_and_captions(dated: Collection) -> None:
    """Captions count, and what was taken then; the time of a file does not."""
    july, summer = scenes(*range(7, PICTURES + 1, 12)), scenes()
    for month in (6, 7, 8):
        summer |= scenes(*range(month, PICTURES + 1, 12))
    assert set(names(dated, "July 2019")) == july
    assert set(names(dated, "in the summer of 2019")) == summer
    assert set(names(dated, "15th July, 2019")) == july
    assert len(names(dated, "2010s")) == PICTURES
    said = {1: "Anna, May 1972", 2: "1972-05", 3: "summer 1972", 4: "in 1975", 5: "the 1970s"}
    for number, text in said.items():
        dated.caption(dated.root / f"scene-{number:04d}.jpg", text)
    assert set(names(dated, "May 1972")) == scenes(1, 2)
    assert set(names(dated, "summer 1972")) == scenes(3)
    assert set(names(dated, "1972")) == scenes(1, 2, 3)
    assert set(names(dated, "1970s")) == scenes(*said)
    assert dated.search("1970s", 3).conditions == ("of 1970s",)
    assert names(dated, "Anna May 1972") == ["scene-0001.jpg"]
    scan = dated.root / "scan.jpg"
    Image.new("RGB", (48, 32), "red").save(scan)
    os.utime(scan, (0, 1_780_000_000))  # in 2026
    table = dated.root / "scans.csv"
    table.write_text("file,place,date,rating\nscan.jpg,Lisbon,1961-05-03,5\n")
    dated.add()
    assert dated.caption_from(table).unread == ["rating"]
    assert names(dated, "2026") == names(dated, "after:2026") == []
    assert "2026" not in {one.term for one in dated.quick_filters()}
    for text in ("1961", "May 1961", "3 May 1961", "1960s", "spring 1961", "Lisbon 1961"):
        assert names(dated, text) == ["scan.jpg"], text
    assert names(dated, "June 1961") == []


def test_results_come_in_the_order_of_time(dated: Collection) -> None:
    found = dated.search(SearchRequest("", 300, sort="time")).results
    taken = [one.taken for one in found]
    assert len(found) == PICTURES
    assert taken == sorted(taken, reverse=True)  # type: ignore[type-var]
    first = dated.search(SearchRequest("", 7, 3, sort="time")).results
    assert first == found[3:10]
    good = dated.search(SearchRequest("sky", 300, sort="time"))
    assert {one.picture for one in good.results} == {
        one.picture for one in dated.search("sky", 300, good=True).results
    }
    with pytest.raises(BadInput, match="relevance or time"):
        SearchRequest("sky", sort="size")


def test_quick_filters_count_what_they_leave(dated: Collection) -> None:
    (dated.root / "alps").mkdir()
    for number in (1, 2, 3):
        (dated.root / f"scene-{number:04d}.jpg").rename(dated.root / f"alps/{number}.jpg")
    stamp(dated.root / "alps" / "1.jpg", "2001:01:01 00:00:00")
    dated.add()
    filters = dated.quick_filters()
    found = {one.term: one.count for one in filters if one.kind in ("year", "folder")}
    assert found == {"2019": PICTURES - 1, "2001": 1, "in:alps": 3}
    months = {one.term: one.count for one in filters if one.kind == "month"}
    assert sum(months.values()) == PICTURES
    assert list(months) == sorted(months, reverse=True)
    assert any(one.kind == "place" for one in filters)
    for one in filters:
        assert len(dated.search(one.term, 300).results) == one.count, one.term
    for one in dated.quick_filters("sky"):
        narrowed = dated.search(f"sky {one.term}", 300, good=True)
        assert len(narrowed.results) == one.count
    assert "2019" not in {one.term for one in dated.quick_filters("sky 2019")}


def test_the_most_trustworthy_file_says_when(pictures: Callable[[int], Path]) -> None:
    folder = pictures(1)
    first = folder / "scene-0001.jpg"
    os.utime(first, (0, 86_400 * 365))
    with Collection.open(folder) as collection:
        collection.add(features="thumbnails")

        def known() -> tuple[str, str | None]:
            (record,) = collection.pictures([1]).values()
            return str(record.taken)[:10], record.taken_from

        assert known()[1] == "file"
        shutil.copy2(first, folder / "IMG_20190704_102030.jpg")
        collection.add()
        assert known() == ("2019-07-04", "name")
        (folder / "IMG_20190704_102030.jpg").unlink()
        collection.add()
        assert known()[1] == "file"


def test_a_collection_of_before_learns_times_at_its_next_add(dated: Collection) -> None:
    with dated.catalogue.writing("ageing"), dated.catalogue.transaction() as db:
        db.execute("UPDATE places SET taken = NULL, taken_from = NULL, latitude = NULL")
    assert names(dated, "2019") == []
    report = dated.add()
    assert (report.new, report.changed, report.captions) == (0, 0, PICTURES)
    assert len(names(dated, "2019")) == PICTURES
    assert dated.add().captions == 0


def test_distances_are_great_circles() -> None:
    from visterm.collection.search.filters import distances
    from visterm.text.filters import Circle

    lisbon, porto = Circle(38.7223, -9.1393), (41.1579, -8.6291)
    far = distances(lisbon, np.array([porto[0]]), np.array([porto[1]]))
    assert far[0] == pytest.approx(274.3, abs=1.0)
    over = distances(Circle(0.0, 179.9), np.array([0.0]), np.array([-179.9]))
    assert over[0] == pytest.approx(22.2, abs=0.1)
