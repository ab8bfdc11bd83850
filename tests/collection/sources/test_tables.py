from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from places import Bucket, Folder
from test_places import add, counts, filled

from visterm.collection import Collection
from visterm.errors import BadInput

Scene = Callable[[int], bytes]


def write(path: Path, *rows: tuple[str, str], names: tuple[str, ...] = ("path", "caption")) -> str:
    path.parent.mkdir(exist_ok=True, parents=True)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([names, *rows])
    return str(path)


@pytest.fixture
def pictures(home: Collection, scene: Scene) -> Path:
    folder = home.root / "pictures"
    folder.mkdir()
    for number in range(4):
        (folder / f"{number}.jpg").write_bytes(scene(number))
    return folder


def test_paths_count_from_the_table_or_the_collection_and_rows_add_up(
    home: Collection, pictures: Path
) -> None:
    table = write(
        pictures / "table.csv",
        ("0.jpg", "a boat"),
        ("pictures/1.jpg", "a tree"),
        (str(pictures / "2.jpg"), "snow"),
        (f"file://{pictures}/2.jpg", "ice"),
    )
    report = home.add([table], features="thumbnails")
    assert counts(report) == {"new": 3, "extracted": 3}
    assert report.captions == 3
    assert home.captions(pictures / "0.jpg") == {"table": "a boat"}
    assert home.captions(pictures / "1.jpg") == {"table": "a tree"}
    assert home.captions(pictures / "2.jpg") == {"table": "snow\nice"}
    assert add(home) == {}


def test_a_table_of_locations_alone_will_do(home: Collection, pictures: Path) -> None:
    table = pictures / "table.csv"
    table.write_text("url\n" + "\n".join(f"{number}.jpg" for number in range(3)))
    assert add(home, str(table))["new"] == 3
    lines = [json.dumps({"url": f"{number}.jpg"}) for number in range(4)]
    (pictures / "table.jsonl").write_text("\n".join(lines))
    assert add(home, str(pictures / "table.jsonl")) == {"new": 1, "extracted": 1}


def test_what_is_not_there_is_named_once_and_vanishes(home: Collection, pictures: Path) -> None:
    table = write(pictures / "table.csv", ("0.jpg", "a boat"), ("9.jpg", "nothing"))
    report = home.add([table], features="thumbnails")
    assert report.skipped == [("pictures/9.jpg", "no such file")]
    assert add(home) == {}
    assert home.status().skipped == 1
    (pictures / "0.jpg").unlink()
    assert add(home) == {"vanished": 1, "skipped": 1}
    write(pictures / "table.csv")
    add(home)
    assert home.status().skipped == 0


def test_a_table_that_drops_a_file_of_a_folder_that_is_followed_loses_nothing(
    home: Collection, pictures: Path
) -> None:
    add(home, str(pictures))
    table = write(pictures / "table.csv", ("0.jpg", "a boat"), ("1.jpg", "a tree"))
    assert add(home, table) == {}
    assert home.captions(pictures / "0.jpg") == {"table": "a boat"}
    write(pictures / "table.csv", ("1.jpg", "a tree"))
    assert add(home) == {}
    assert len(home) == 4
    (pictures / "1.jpg").unlink()
    assert counts(home.add())["vanished"] == 1


def test_a_table_from_elsewhere_may_not_name_files_of_this_machine(
    bucket: Bucket, home: Collection, pictures: Path, scene: Scene
) -> None:
    filled(bucket, scene, 1)
    rows = ["path,caption", f"{pictures}/1.jpg,a", f"file://{pictures}/2.jpg,b", "../3.jpg,c"]
    bucket.put("table.csv", "\n".join([*rows, "0.jpg,a boat"]).encode())
    report = home.add([bucket.url("table.csv")], features="thumbnails")
    assert counts(report) == {"new": 1, "extracted": 1, "skipped": 3}
    assert {reason for _, reason in report.skipped} == {
        "a table from elsewhere may not name files of this machine"
    }
    assert home.captions(bucket.url("0.jpg")) == {"table": "a boat"}


def test_two_tables_of_one_picture_do_not_take_turns(home: Collection, pictures: Path) -> None:
    first = write(home.root / "1.csv", ("pictures/0.jpg", "a boat"))
    second = write(home.root / "2.csv", ("pictures/0.jpg", "a ship"))
    add(home, first, second)
    said = home.captions(pictures / "0.jpg")
    for _ in range(2):
        assert home.add().captions == 0
        assert home.captions(pictures / "0.jpg") == said
    write(home.root / "2.csv")
    add(home)
    assert home.captions(pictures / "0.jpg") == {"table": "a boat"}


def test_what_is_no_table_is_refused_with_its_name(home: Collection, tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and nothing")
    with pytest.raises(BadInput, match=r"a\.parquet: no table in Parquet"):
        home.add([tmp_path / "a.parquet"])
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"x": [1]}), tmp_path / "b.parquet")
    with pytest.raises(BadInput, match=r"none of its columns \(x\) says where pictures lie"):
        home.add([tmp_path / "b.parquet"])
    bytes_of_pictures = {"bytes": b"\xff\xd8\xff", "path": "a.jpg"}
    for number, held in enumerate((b"\xff\xd8\xff", bytes_of_pictures)):
        table = tmp_path / f"c{number}.parquet"
        parquet.write_table(pa.table({"image": [held], "caption": ["sea"]}), table)
        with pytest.raises(BadInput, match="its column image holds pictures, or no text"):
            home.add([table])
    assert counts(home.add()) == {}, "what was refused is not followed"


def test_a_table_with_pictures_in_it_is_read_by_its_column_of_locations(
    home: Collection, pictures: Path
) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    columns = {"image": [b"\xff\xd8"], "url": [str(pictures / "0.jpg")], "tags": [["sea", "sky"]]}
    parquet.write_table(pa.table(columns), pictures / "table.parquet")
    assert add(home, str(pictures / "table.parquet"))["new"] == 1
    assert home.captions(pictures / "0.jpg") == {"table": "sea\nsky"}


def test_a_table_that_breaks_later_is_named_and_loses_nothing(
    home: Collection, pictures: Path
) -> None:
    table = write(pictures / "table.csv", ("0.jpg", "a boat"))
    assert add(home, table)["new"] == 1
    Path(table).write_text('path,caption\n1.jpg,"a tree"\n0.jpg,"a boat')
    assert counts(home.add()) == {"skipped": 1}
    assert home.captions(pictures / "0.jpg") == {"table": "a boat"}


def test_a_table_that_is_gone_loses_nothing(home: Collection, tmp_path: Path, scene: Scene) -> None:
    place = filled(Folder(tmp_path / "elsewhere"), scene)
    table = write(tmp_path / "t.csv", *((place.url(f"{n}.jpg"), "sea") for n in range(3)))
    add(home, table)
    Path(table).unlink()
    assert counts(home.add()) == {"skipped": 1}
    assert len(home) == 3
