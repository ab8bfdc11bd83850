"""Pictures that lie elsewhere, by the commands and through the API."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from places import Bucket, Folder, Shard
from starlette.testclient import TestClient
from test_places import filled

sys.path.insert(0, str(Path(__file__).parents[2] / "cli"))

from running import Ran, visterm

Scene = Callable[[int], bytes]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "empty").mkdir()
    return tmp_path / "empty"


def add(folder: Path, *words: object) -> Ran:
    return visterm("add", *words, "--features", "thumbnails", "--json", cwd=folder)


def test_a_prefix_is_added_to_the_collection_of_the_folder_one_stands_in(
    bucket: Bucket, folder: Path, scene: Scene
) -> None:
    filled(bucket, scene)
    bucket.put("bad.jpg", b"this is no picture")
    report = json.loads(add(folder, bucket.scope).stdout)
    assert (report["new"], report["pictures"], report["folder"]) == (3, 3, str(folder))
    assert report["skipped"][0]["path"] == bucket.url("bad.jpg")
    assert (folder / ".visterm" / "catalogue.sqlite").exists()
    assert json.loads(visterm("add", "--json", cwd=folder).stdout)["new"] == 0
    like = bucket.url("0.jpg")
    found = visterm("search", "--like", like, "--paths", "-k", "1", cwd=folder).stdout.strip()
    assert found in (bucket.url("1.jpg"), bucket.url("2.jpg"))
    assert visterm("caption", like, "a boat", cwd=folder).returncode == 0
    assert "a boat" in visterm("caption", like, cwd=folder).stdout
    assert json.loads(visterm("remove", like, "--json", cwd=folder).stdout) == {"removed": 1}
    status = json.loads(visterm("status", "--json", cwd=folder).stdout)
    assert status["followed"] == [bucket.scope]


def test_shards_and_tables_say_nothing_about_where_the_collection_is(
    folder: Path, tmp_path: Path, scene: Scene
) -> None:
    shard = filled(Shard(Folder(tmp_path / "data")), scene)
    path = shard.scope.removeprefix("file://")
    report = json.loads(add(tmp_path, path, "-C", folder).stdout)
    assert (report["new"], report["folder"]) == (3, str(folder))
    found = visterm("search", "--like", shard.url("0.jpg"), "--paths", cwd=folder).stdout
    assert sorted(found.split()) == [shard.url("1.jpg"), shard.url("2.jpg")]


def test_sidecars_are_not_written_elsewhere(bucket: Bucket, folder: Path, scene: Scene) -> None:
    filled(bucket, scene)
    add(folder, bucket.scope)
    ran = visterm("describe", bucket.url("0.jpg"), "--write-xmp", cwd=folder)
    assert ran.returncode == 2
    assert "lies elsewhere" in ran.stderr


def test_the_page_gets_addresses_and_thumbnails(bucket: Bucket, folder: Path, scene: Scene) -> None:
    from visterm.web.app import make_app

    filled(bucket, scene)
    add(folder, bucket.scope)
    address = {"base_url": "http://127.0.0.1:8765", "client": ("127.0.0.1", 50000)}
    with TestClient(make_app(folder), **address) as client:
        shown = client.get("/api/v1/pictures").json()["results"]
        assert {one["path"] for one in shown} == {bucket.url(f"{n}.jpg") for n in range(3)}
        small = client.get(shown[0]["thumbnail"])
        assert small.status_code == 200
        assert small.content.startswith(b"\xff\xd8")
        again = client.get("/api/v1/pictures").json()["results"]
        assert (again[0]["width"], again[0]["height"]) == (48, 32)
