from __future__ import annotations

import io
import os
import signal
import sqlite3
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from places import Bucket, Folder, Shard, tar_of
from test_places import add, counts, filled

from visterm.collection import Collection
from visterm.collection.ingest import pipeline
from visterm.collection.sources import opening, shards

Scene = Callable[[int], bytes]
THUMBNAILS = Path(__file__).parents[1]


def shard_of(home: Collection, data: bytes) -> str:
    path = home.root / "shards" / "a.tar"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return str(path)


def put(tar: tarfile.TarFile, name: str, data: bytes = b"", **about: Any) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    for key, value in about.items():
        setattr(member, key, value)
    tar.addfile(member, io.BytesIO(data))


def test_shards_that_webdataset_writes_are_read(
    home: Collection, scene: Scene, tmp_path: Path
) -> None:
    webdataset = pytest.importorskip("webdataset")
    (tmp_path / "home" / "shards").mkdir()
    pattern = str(tmp_path / "home" / "shards" / "%03d.tar")
    with webdataset.ShardWriter(pattern, maxcount=3, verbose=0) as writer:
        for number in range(5):
            about = {"caption": f"scene number {number}", "width": 48}
            writer.write(
                {"__key__": f"sea/{number:04}", "jpg": scene(number), "json": about, "txt": "sea"}
            )
    assert add(home, str(home.root / "shards")) == {"new": 5, "extracted": 5}
    path = home.root / "shards" / "001.tar" / "sea" / "0004.jpg"
    assert home.captions(path) == {"json": "scene number 4", "txt": "sea"}
    assert add(home) == {}


def test_a_folder_of_pictures_leaves_its_tars_alone_until_they_are_named(
    home: Collection, scene: Scene
) -> None:
    (home.root / "a.jpg").write_bytes(scene(0))
    (home.root / "backup.tar").write_bytes(tar_of({"1.jpg": scene(1)}))
    assert add(home, str(home.root)) == {"new": 1, "extracted": 1}
    assert add(home, str(home.root / "backup.tar")) == {"new": 1, "extracted": 1}
    assert add(home) == {}, "a shard that was named is no part of the folder's own listing"
    assert len(home) == 2


def test_an_unchanged_shard_is_not_read_again(
    bucket: Bucket, home: Collection, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = Shard(bucket, "0.tar"), Shard(bucket, "1.tar")
    filled(first, scene)
    second.put("sub/9.jpg", scene(9))
    assert add(home, bucket.scope)["new"] == 4
    opened: list[str] = []
    reader = shards.opened_source

    def noted(root: Path, location: str, **how: Any) -> Any:
        opened.append(location)
        return reader(root, location, **how)

    monkeypatch.setattr(shards, "opened_source", noted)
    assert add(home) == {}
    assert opened == []
    second.put("sub/8.jpg", scene(8))
    assert add(home) == {"new": 1, "extracted": 1}
    assert opened == [second.scope]


def test_other_features_are_extracted_from_unchanged_shards(
    home: Collection, scene: Scene, tmp_path: Path
) -> None:
    shard = filled(Shard(Folder(tmp_path / "elsewhere")), scene)
    add(home, shard.scope)
    assert counts(home.add(features="blocks")) == {"extracted": 3}


def test_a_shard_that_goes_takes_its_pictures_along(
    bucket: Bucket, home: Collection, scene: Scene
) -> None:
    filled(Shard(bucket, "0.tar"), scene)
    bucket.put("1.jpg", scene(7))
    add(home, bucket.scope)
    bucket.delete("0.tar")
    assert add(home) == {"vanished": 3}


def test_members_that_play_tricks_are_named_and_nothing_is_unpacked(
    home: Collection, scene: Scene, tmp_path: Path
) -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        put(tar, "good.jpg", scene(0))
        put(tar, "../../out.jpg", scene(1))
        put(tar, "/tmp/absolute.jpg", scene(2))
        put(tar, "link.jpg", type=tarfile.SYMTYPE, linkname="/etc/passwd")
        put(tar, "hard.jpg", type=tarfile.LNKTYPE, linkname="good.jpg")
        put(tar, "pipe.jpg", type=tarfile.FIFOTYPE)
        put(tar, "good.jpg", scene(3))
        put(tar, "beep\a.jpg", scene(4))
        put(tar, "empty.jpg")
        put(tar, "last.jpg", scene(5))
    before = sorted(tmp_path.rglob("*.jpg"))
    report = home.add([shard_of(home, file.getvalue())], features="thumbnails")
    assert counts(report) == {"new": 2, "extracted": 2, "skipped": 8}
    reasons = sorted(reason for _, reason in report.skipped)
    assert reasons == sorted(
        [
            "its path leads out of the shard",
            "its path leads out of the shard",
            "it is not a plain file",
            "it is not a plain file",
            "it is not a plain file",
            "the shard holds another member of this name",
            "its name holds characters that cannot be printed",
            "the file is empty",
        ]
    )
    assert sorted(tmp_path.rglob("*.jpg")) == before
    assert all(path.isprintable() for path, _ in report.skipped)


@pytest.mark.parametrize("left", [-300, 100])
def test_a_shard_that_is_cut_short_gives_what_comes_before(
    home: Collection, scene: Scene, left: int
) -> None:
    whole = tar_of({f"{number}.jpg": scene(number) for number in range(3)})
    with tarfile.open(fileobj=io.BytesIO(whole)) as tar:
        last = tar.getmember("2.jpg").offset_data
    report = home.add([shard_of(home, whole[: last + left])], features="thumbnails")
    assert counts(report) == {"new": 2, "extracted": 2, "skipped": 1}
    assert "cut short" in report.skipped[0][1]


@pytest.mark.parametrize("data", [b"", b"\x1f\x8b" + bytes(600), b"garbage" * 200])
def test_what_is_no_tar_is_named(home: Collection, data: bytes) -> None:
    report = home.add([shard_of(home, data)], features="thumbnails")
    assert len(home) == 0
    assert [path for path, _ in report.skipped] == ["shards/a.tar"]


def test_a_header_that_asks_for_all_memory_is_refused(home: Collection, scene: Scene) -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        put(tar, "0.jpg", scene(0))
        put(tar, "1.jpg", scene(1), pax_headers={"comment": "x" * (2 << 20)})
    report = home.add([shard_of(home, file.getvalue())], features="thumbnails")
    assert counts(report) == {"new": 1, "extracted": 1, "skipped": 1}
    assert "broken from here on (a header is too large)" in report.skipped[0][1]


def test_headers_that_run_in_a_circle_end_the_reading(
    home: Collection, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "MAX_MEMBERS", 100)
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        put(tar, "0.jpg", scene(0))
    data = bytearray(file.getvalue())
    data[124:136] = b"\xff" * 10 + b"\xfe\0"  # a size of -512: the next header is this one
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % sum(data[:512])
    report = home.add([shard_of(home, bytes(data))], features="thumbnails")
    assert counts(report) == {"skipped": 1}
    assert "run in a circle" in report.skipped[0][1]


def test_a_web_server_without_byte_ranges_gives_a_reason_for_its_shards(
    web: Folder, home: Collection, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "_AHEAD", 4096)
    filled(Shard(web, "0.tar"), scene, 20)
    report = home.add([web.scope], features="thumbnails")
    assert report.skipped == [
        (f"{web.scope}/0.tar", "its server gives no byte ranges, which shards need")
    ]


def test_an_add_that_is_killed_goes_on_to_the_same_catalogue(
    tmp_path: Path, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    shard = filled(Shard(Folder(tmp_path / "elsewhere")), scene, 40)
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    for folder in (killed, whole):
        folder.mkdir()
    program = """if True:
        import os, signal, sys
        from thumbnails import Thumbnails
        from visterm import Collection
        from visterm.collection.ingest import pipeline
        from visterm.features import EXTRACTORS

        EXTRACTORS[Thumbnails.name], pipeline.BATCH = Thumbnails, 8

        def progress(what, done, total):
            if what == "adding pictures" and done > 20:
                os.kill(os.getpid(), signal.SIGKILL)

        with Collection.open(sys.argv[1]) as collection:
            collection.add([sys.argv[2]], features="thumbnails", progress=progress)
    """
    done = subprocess.run(
        [sys.executable, "-c", program, str(killed), shard.scope],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(THUMBNAILS), *sys.path])},
    )
    assert done.returncode == -signal.SIGKILL
    assert list((killed / ".visterm" / "incoming").iterdir())
    monkeypatch.setattr(pipeline, "BATCH", 8)

    def extracted(folder: Path) -> int:
        with Collection.open(folder) as collection:
            return collection.add([shard.scope], features="thumbnails").extracted

    def known(folder: Path) -> list[list[Any]]:
        with sqlite3.connect(folder / ".visterm" / "catalogue.sqlite") as db:
            tables = ("pictures", "places", "captions", "sources", "skipped")
            return [db.execute(f"SELECT * FROM {table}").fetchall() for table in tables]

    assert extracted(killed) == 24, "two batches of eight were kept"
    assert not (killed / ".visterm" / "incoming").exists()
    assert extracted(whole) == 40
    assert known(killed) == known(whole)
