"""Servers of the tests: moto's S3 and Python's own web server, both on the loopback."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from visterm.collection import Collection

sys.path.insert(0, str(Path(__file__).parent))

from places import Bucket, Folder, Shard, Table, web_server  # they lie beside this file

_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def s3() -> Iterator[Any]:
    """A client of an S3 server, which s3fs finds through the usual variables."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    environment = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    from s3fs import S3FileSystem

    S3FileSystem.clear_instance_cache()  # they keep the address of whatever server was before
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setitem(os.environ, name, value)
        import boto3

        yield boto3.client("s3")
    server.stop()


@pytest.fixture
def bucket(s3: Any) -> Bucket:
    name = f"archive-{os.getpid()}-{next(_NUMBERS)}"
    s3.create_bucket(Bucket=name)
    return Bucket(s3, name, "sea side")


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Folder]:
    (tmp_path / "web").mkdir()
    with web_server(tmp_path / "web") as url:
        yield Folder(tmp_path / "web", url)


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """The place that a test is asked for: see ``PLACES``."""
    kind = request.param
    if kind == "s3":
        return request.getfixturevalue("bucket")
    if kind == "http":
        return request.getfixturevalue("web")
    here = Folder(tmp_path / "elsewhere")
    if kind == "file":
        return here
    if kind == "tar":
        return Shard(here)
    if kind == "tar in s3":
        return Shard(request.getfixturevalue("bucket"))
    if kind == "csv":
        return Table(here, tmp_path / "table.csv")
    return Table(request.getfixturevalue("bucket"), tmp_path / "table.parquet")


@pytest.fixture
def scene(drawn: Path) -> Callable[[int], bytes]:
    """The bytes of a drawn scene."""
    paths = sorted(drawn.glob("*.jpg"))
    return lambda number: paths[number].read_bytes()


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Collection]:
    """An empty collection for what lies elsewhere."""
    (tmp_path / "home").mkdir()
    with Collection.open(tmp_path / "home") as collection:
        yield collection
