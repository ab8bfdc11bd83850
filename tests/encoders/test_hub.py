"""Encoders from a hub: one repository's files from whatever endpoint its variables name."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from benchmarks.drawn_encoder import write

COMMIT = "a" * 40


class Hub(BaseHTTPRequestHandler):
    """The part of a hub's interface that a download of known files uses."""

    files: Path
    asked: list[str]

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        self.asked.append(self.path)
        path = self.path.partition("?")[0]
        names = [p.relative_to(self.files).as_posix() for p in self.files.rglob("*.*")]
        if path.startswith("/api/models/some/tiny"):
            siblings = [{"rfilename": n, "size": (self.files / n).stat().st_size} for n in names]
            self.answer(
                json.dumps({"id": "some/tiny", "sha": COMMIT, "siblings": siblings}).encode()
            )
            return
        name = path.partition(f"/resolve/{COMMIT}/")[2] or path.partition("/resolve/main/")[2]
        if not path.startswith("/some/tiny/") or name not in names:
            self.send_error(404)
            return
        self.answer((self.files / name).read_bytes())

    def answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Type", "application/json")
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", f'"{hashlib.sha1(body).hexdigest()}"')
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[tuple[str, list[str]]]:
    write(tmp_path / "files")
    (tmp_path / "files" / "pytorch_model.bin").write_bytes(b"pickled")
    handler = type("Served", (Hub,), {"files": tmp_path / "files", "asked": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", handler.asked  # type: ignore[attr-defined]
    server.shutdown()
    thread.join()


def test_an_encoder_comes_from_the_endpoint_once_and_then_from_the_cache(
    hub: tuple[str, list[str]], tmp_path: Path
) -> None:
    pytest.importorskip("huggingface_hub")
    endpoint, asked = hub
    environment = variables(endpoint, tmp_path)

    def add(**more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "visterm", "encoder", "add", "hf:some/tiny", "--json"]
        return subprocess.run(
            command, env=environment | more, capture_output=True, text=True, check=False
        )

    first = add()
    assert first.returncode == 0, first.stderr
    assert json.loads(first.stdout)["name"] == "tiny"
    assert not any("pytorch_model.bin" in path for path in asked)
    before = len(asked)
    offline = add(HF_HUB_OFFLINE="1")
    assert offline.returncode == 0, offline.stderr
    assert json.loads(offline.stdout)["digest"] == json.loads(first.stdout)["digest"]
    assert len(asked) == before


def variables(endpoint: str, folder: Path) -> dict[str, str]:
    """An environment with this hub and folders of its own."""
    return os.environ | {
        "HF_ENDPOINT": endpoint,
        "HF_HOME": str(folder / "cache"),
        "VISTERM_ENCODERS": str(folder / "installed"),
        "NO_PROXY": "*",
        "HF_HUB_DISABLE_XET": "1",
    }
