"""Places where pictures lie, with a real server or file behind each, and one way to change it."""

from __future__ import annotations

import csv
import io
import json
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *about: Any) -> None: ...


@contextmanager
def web_server(folder: Path) -> Iterator[str]:
    """The address of a plain web server that lists a folder, on the loopback."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class Folder:
    """Files of a folder that is called by a URL."""

    sidecar = ".txt"

    def __init__(self, folder: Path, url: str | None = None) -> None:
        self.folder, self.scope = folder, url or f"file://{folder}"

    def url(self, name: str) -> str:
        return f"{self.scope}/{name}"

    def put(self, name: str, data: bytes) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_bytes(data)

    def delete(self, name: str) -> None:
        (self.folder / name).unlink()


class Bucket:
    """Objects below a prefix of an S3 bucket."""

    sidecar = ".txt"

    def __init__(self, client: Any, bucket: str, prefix: str) -> None:
        self.client, self.bucket, self.prefix = client, bucket, prefix
        self.scope = f"s3://{bucket}/{prefix}"

    def url(self, name: str) -> str:
        return f"{self.scope}/{name}"

    def put(self, name: str, data: bytes) -> None:
        self.client.put_object(Bucket=self.bucket, Key=f"{self.prefix}/{name}", Body=data)

    def delete(self, name: str) -> None:
        self.client.delete_object(Bucket=self.bucket, Key=f"{self.prefix}/{name}")


class Shard:
    """Members of a tar, which is written anew by every change and put somewhere."""

    sidecar = ".json"

    def __init__(self, at: Folder | Bucket, name: str = "shard-000.tar") -> None:
        self.at, self.name, self.members = at, name, {}
        self.scope = at.url(name)

    def url(self, name: str) -> str:
        return f"{self.scope}/{name}"

    def put(self, name: str, data: bytes) -> None:
        self.members[name] = (
            json.dumps({"caption": data.decode()}).encode() if (name.endswith(".json")) else data
        )
        self._write()

    def delete(self, name: str) -> None:
        del self.members[name]
        self._write()

    def _write(self) -> None:
        self.at.put(self.name, tar_of(self.members))


class Table:
    """A table of locations and captions of objects that lie somewhere; see ``kind``."""

    sidecar = ""

    def __init__(self, at: Folder | Bucket, table: Path) -> None:
        self.at, self.table, self.rows = at, table, {}
        self.scope = str(table)

    def url(self, name: str) -> str:
        return self.at.url(name)

    def put(self, name: str, data: bytes) -> None:
        self.at.put(name, data)
        self.say(name, self.rows.get(name, ""))

    def say(self, name: str, caption: str) -> None:
        self.rows[name] = caption
        self._write()

    def delete(self, name: str) -> None:
        del self.rows[name]
        self._write()

    def _write(self) -> None:
        columns = {
            "url": [self.at.url(name) for name in self.rows],
            "caption": list(self.rows.values()),
        }
        if self.table.suffix == ".parquet":
            import pyarrow as pa
            from pyarrow import parquet

            parquet.write_table(pa.table(columns), self.table)
            return
        with self.table.open("w", newline="") as file:
            csv.writer(file).writerows([list(columns), *zip(*columns.values(), strict=True)])


def tar_of(members: dict[str, bytes]) -> bytes:
    """A tar, as WebDataset's writer makes it."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for name, data in members.items():
            about = tarfile.TarInfo(name)
            about.size = len(data)
            tar.addfile(about, io.BytesIO(data))
    return file.getvalue()
