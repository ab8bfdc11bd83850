from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from places import Bucket, Folder, web_server
from test_places import add, counts, filled

from visterm.collection import Collection
from visterm.collection.ingest import description
from visterm.collection.media.captions import effective_captions
from visterm.errors import BadInput, MissingExtra, VistermError

Scene = Callable[[int], bytes]


@pytest.fixture(params=["bucket", "web"])
def prefix(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def test_folders_are_listed_and_hidden_ones_passed_over(
    prefix: Any, home: Collection, scene: Scene
) -> None:
    for name in ("alps/snow.jpg", "alps/.cache/1.jpg", ".hidden.jpg", "notes.pdf", "sea/boat.JPG"):
        prefix.put(name, scene(len(name)))
    assert add(home, prefix.scope)["new"] == 2
    found = home.search("in:alps", like=prefix.url("sea/boat.JPG")).results
    assert [str(one.path) for one in found] == [prefix.url("alps/snow.jpg")]


def test_names_may_hold_whatever_a_name_may_hold(
    prefix: Any, home: Collection, scene: Scene
) -> None:
    for number, name in enumerate(("a b.jpg", "Zürich.jpg", "100%.jpg", "a+b&c.jpg", "#1.jpg")):
        prefix.put(name, scene(number))
        prefix.put(f"{name}.txt", b"a boat")
    assert add(home, prefix.scope) == {"new": 5, "extracted": 5}
    assert len(effective_captions(home.catalogue, home.newest(5))) == 5
    assert add(home) == {}
    record = home.record(home.newest(1)[0])
    assert home.thumbnails.of(record, 160).sure


def test_sidecars_in_both_spellings_are_read(prefix: Any, home: Collection, scene: Scene) -> None:
    prefix.put("boat.jpg", scene(0))
    prefix.put("boat.jpg.txt", b"a boat")
    prefix.put("boat.txt", b"at sea")
    add(home, prefix.scope)
    assert home.captions(prefix.url("boat.jpg")) == {"txt": "a boat\nat sea"}
    prefix.delete("boat.txt")
    add(home)
    assert home.captions(prefix.url("boat.jpg")) == {"txt": "a boat"}


def test_a_server_that_cannot_be_reached_loses_nothing(
    tmp_path: Path, home: Collection, scene: Scene
) -> None:
    place = Folder(tmp_path / "web")
    filled(place, scene)
    with web_server(place.folder) as url:
        add(home, url)
    report = home.add()
    assert counts(report) == {"skipped": 1}
    assert report.skipped[0][0] == url
    assert "cannot be reached" in report.skipped[0][1]
    assert len(home) == 3


def test_a_bucket_or_prefix_that_is_not_there_loses_nothing(
    bucket: Bucket, home: Collection, scene: Scene
) -> None:
    filled(bucket, scene)
    add(home, bucket.scope)
    for number in range(3):
        bucket.delete(f"{number}.jpg")
    assert home.add().skipped == [(bucket.scope, "no such file")]
    bucket.client.delete_bucket(Bucket=bucket.bucket)
    assert len(home.add().skipped) == 1
    assert len(home) == 3


def test_an_object_that_cannot_be_had_now_is_tried_again(
    bucket: Bucket, home: Collection, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(bucket, scene)
    fetch = description.fetch

    def away(root: Path, path: str, *rest: Any) -> None:
        if path.endswith("1.jpg"):
            raise description.Refused("it cannot be reached (timed out)", passing=True)
        fetch(root, path, *rest)

    monkeypatch.setattr(description, "fetch", away)
    assert add(home, bucket.scope) == {"new": 2, "extracted": 2, "skipped": 1}
    monkeypatch.undo()
    assert add(home) == {"new": 1, "extracted": 1}


def test_a_server_that_goes_away_half_way_ends_the_add_and_keeps_what_is_done(
    bucket: Bucket, home: Collection, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(bucket, scene, 20)

    def away(*asked: Any) -> None:
        raise description.Refused("it cannot be reached (timed out)", passing=True)

    with monkeypatch.context() as patch:
        patch.setattr(description, "fetch", away)
        with pytest.raises(VistermError, match="visterm add goes on there"):
            add(home, bucket.scope)
    assert add(home)["new"] == 20


def test_a_single_object_can_be_named(prefix: Any, home: Collection, scene: Scene) -> None:
    filled(prefix, scene)
    assert add(home, prefix.url("1.jpg")) == {"new": 1, "extracted": 1}
    assert add(home, prefix.url("nothing.jpg")) == {"skipped": 1}


def test_searches_ask_no_server(tmp_path: Path, home: Collection, scene: Scene) -> None:
    place = filled(Folder(tmp_path / "web"), scene)
    with web_server(place.folder) as url:
        add(home, url)
    assert not home.has_news
    assert counts(home.add(remote=False)) == {}


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://me:secret@archive.org/sea", "password"),
        ("https://archive.org/sea?X-Amz-Signature=abc", "signature"),
        ("s3://", "no host or bucket"),
        ("s3://archive/../other", "upwards"),
    ],
)
def test_secrets_and_nonsense_are_refused_and_not_repeated(
    home: Collection, url: str, said: str
) -> None:
    with pytest.raises(BadInput, match=said) as refused:
        home.add([url])
    assert "secret@" not in str(refused.value)
    assert "=abc" not in str(refused.value)
    assert home.catalogue.one("SELECT count(*) FROM sources") == 0


def test_an_unknown_kind_of_address_and_a_missing_library_say_what_to_do(
    home: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BadInput, match="Protocol not known: nonsense"):
        home.add(["nonsense://archive/sea"])
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(MissingExtra, match=r"pip install 'visterm\[cluster\]'"):
        home.add(["s3://archive/sea"])


def test_nothing_of_the_extra_is_loaded_for_local_pictures(tmp_path: Path, scene: Scene) -> None:
    (tmp_path / "a.jpg").write_bytes(scene(0))
    program = """if True:
        import json, sys
        from visterm import Collection
        with Collection.open(sys.argv[1]) as collection:
            collection.add(features="blocks")
        heavy = ("fsspec", "s3fs", "aiohttp", "botocore", "pyarrow", "webdataset", "ray")
        print(json.dumps([name for name in heavy if name in sys.modules]))
    """
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == []


def test_a_bucket_of_google_is_a_prefix_like_others(
    home: Collection, scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Read when it is imported: its way to newer kinds of buckets knows no emulator.
    monkeypatch.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
    gcsfs = pytest.importorskip("gcsfs", reason="gs:// has an extra of its own")
    emulator = pytest.importorskip("gcp_storage_emulator.server")
    from fsspec.config import conf

    server = emulator.create_server("127.0.0.1", 0, in_memory=True, default_bucket="archive")
    server.start()
    address = "http://{}:{}".format(*server._api._httpd.server_address)
    monkeypatch.setitem(conf, "gs", {"token": "anon", "endpoint_url": address})
    try:
        files = gcsfs.GCSFileSystem(token="anon", endpoint_url=address)
        for number in range(3):
            files.pipe_file(f"archive/sea/{number}.jpg", scene(number))
        assert add(home, "gs://archive/sea") == {"new": 3, "extracted": 3}
        assert add(home) == {}
        files.pipe_file("archive/sea/0.jpg", scene(7))
        files.rm_file("archive/sea/1.jpg")
        assert add(home) == {"changed": 1, "extracted": 1, "vanished": 1}
    finally:
        server.stop()
