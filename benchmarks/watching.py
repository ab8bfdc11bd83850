"""Is a collection under ``visterm watch`` what a fresh ``visterm add`` would make of its folder?

    python -m benchmarks.watching --json [--operations 10000] [--changes 1000]

Small drawn pictures are created, renamed, edited, captioned beside and removed at random, folders
are made, moved and removed, while ``visterm watch`` runs. ``equal`` says whether the catalogue then
holds the same files with the same contents, captions and times as one that is made anew.

The same for what people say: captions and clicks are sent to ``visterm serve`` while it trains, and
the server is killed half-way and started again. ``changes`` has how many were sent, and how many of
them were ``lost``, ``reordered`` or ``refused``.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import numpy as np
from PIL import Image

from benchmarks.common import say, show
from visterm.collection import Collection
from visterm.datasets.scenes import draw_scenes

FEATURES = "blocks(channels=((16, colours, 8),), colours=4)"
_PATIENCE = 120.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.watching", description=__doc__)
    parser.add_argument("--operations", type=int, default=10_000)
    parser.add_argument("--pictures", type=int, default=200, help="there from the beginning")
    parser.add_argument("--rate", type=float, default=200.0, help="operations a second")
    parser.add_argument("--changes", type=int, default=1000, help="captions and clicks; 0 for none")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="where folders are made")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    given = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="visterm-watching-", dir=given.folder))
    try:
        found = watched(home / "watched", given)
        if given.changes:
            found["changes"] = said_meanwhile(home / "served", given.changes)
        show(found, as_json=given.json)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return 0


class Disorder:
    """Random operations on the files of a folder."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root, self.random = root, np.random.default_rng(seed)
        self.files = sorted(root.rglob("*.jpg"))
        self.folders = [root]
        self.made = 0

    def operate(self) -> None:
        draw = self.random.random()
        if draw < 0.35 or len(self.files) < 50:
            self.create()
        elif draw < 0.55:
            self.rename()
        elif draw < 0.72:
            self.edit()
        elif draw < 0.78:
            self.beside()
        elif draw < 0.96:
            self.some(pop=True).unlink()
        else:
            self.shuffle_folders()

    def some(self, *, pop: bool = False) -> Path:
        place = int(self.random.integers(len(self.files)))
        return self.files.pop(place) if pop else self.files[place]

    def anywhere(self) -> Path:
        self.made += 1
        folder = self.folders[int(self.random.integers(len(self.folders)))]
        return folder / f"picture-{self.made:05d}.jpg"

    def draw(self, path: Path) -> None:
        """A new picture, written beside and moved into its place half of the time."""
        pixels = self.random.integers(0, 256, (4, 6, 3), np.uint8)
        picture = Image.fromarray(pixels).resize((36, 24))
        if self.random.random() < 0.5:
            picture.save(path)
        else:
            beside = path.with_name(f".{path.name}.part")
            picture.save(beside, "JPEG")
            beside.rename(path)

    def create(self) -> None:
        path = self.anywhere()
        if self.random.random() < 0.2 and self.files:
            shutil.copy(self.some(), path)
        else:
            self.draw(path)
        self.files.append(path)

    def rename(self) -> None:
        old, new = self.some(pop=True), self.anywhere()
        old.rename(new)
        self.files.append(new)

    def edit(self) -> None:
        self.draw(self.some())

    def beside(self) -> None:
        path = self.some().with_suffix(".txt")
        if path.exists():
            path.unlink()
        else:
            path.write_text(f"word{int(self.random.integers(20))}")

    def shuffle_folders(self) -> None:
        """Make a folder, move one with all it holds, or remove one."""
        draw = self.random.random()
        if draw < 0.5 or len(self.folders) < 4:
            self.made += 1
            outer = self.folders[int(self.random.integers(len(self.folders)))]
            new = outer / f"folder-{self.made:05d}"
            new.mkdir()
            self.folders.append(new)
            return
        old = self.folders[int(self.random.integers(1, len(self.folders)))]
        if draw < 0.8:
            self.made += 1
            old.rename(self.root / f"moved-{self.made:05d}")
        else:
            shutil.rmtree(old)
        self.files = sorted(self.root.rglob("[!.]*-*.jpg"))
        own = self.root / ".visterm"
        found = (path for path in self.root.rglob("*") if path.is_dir())
        self.folders = [self.root, *(p for p in found if p != own and own not in p.parents)]


def watched(folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    draw_scenes(folder, given.pictures, size=(48, 32))
    (folder / "captions.tsv").unlink()
    with Collection.open(folder) as collection:
        collection.add(features=FEATURES, n_jobs=1)
    watching = subprocess.Popen(
        [sys.executable, "-m", "visterm", "watch", "-C", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    disorder = Disorder(folder, given.seed)
    try:
        begin = time.perf_counter()
        for number in range(given.operations):
            disorder.operate()
            late = number / given.rate - (time.perf_counter() - begin)
            if late > 0:
                time.sleep(late)
        say(f"{given.operations:,} operations in {time.perf_counter() - begin:.0f} s")
        fresh = _fresh(folder)
        until = time.monotonic() + _PATIENCE
        while (known := _known(folder, None)) != fresh and time.monotonic() < until:
            time.sleep(0.5)
        settled = time.perf_counter() - begin
    finally:
        watching.terminate()
        watching.wait(timeout=60)
    return {
        "operations": given.operations,
        "files": len(fresh),
        "seconds": round(settled, 1),
        "equal": known == fresh,
        "differences": sorted(str(one) for one in known ^ fresh)[:5],
    }


def _fresh(folder: Path) -> set[tuple[Any, ...]]:
    """What a collection that is made anew says."""
    store = folder.parent / "fresh"
    with Collection.open(folder, store=store) as collection:
        collection.add(features=FEATURES, n_jobs=1)
    return _known(folder, store)


def _known(folder: Path, store: Path | None) -> set[tuple[Any, ...]]:
    """Every file that is there: its content, when it was taken, and its captions."""
    with Collection.open(folder, store=store) as collection:
        return set(
            collection.catalogue.db.execute(
                """SELECT folder, name, hex(hash), places.size, places.mtime_ns, places.taken,
                    (SELECT group_concat(text, ' / ') FROM captions
                        WHERE captions.picture = pictures.id AND NOT EXISTS (
                            SELECT 1 FROM places AS other WHERE other.picture = pictures.id
                            AND other.id != places.id))
                    FROM places JOIN pictures ON pictures.id = picture WHERE NOT vanished"""
            ).fetchall()
        )


class Server:
    """``visterm serve`` in a process that can be killed and started again in its place."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "visterm", "serve", str(self.folder)),
                *("--port", str(self.port), "--no-browser", "--as-is"),
            ],
            stdout=subprocess.DEVNULL,
        )
        while True:
            with contextlib.suppress(URLError, OSError):
                self.ask("GET", "/train")
                return
            time.sleep(0.1)

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = Request(
            f"http://127.0.0.1:{self.port}/api/v1{path}",
            data,
            {"Content-Type": "application/json"},
            method=method,
        )
        while True:
            try:
                with urlopen(request, timeout=60) as answer:
                    return answer.status, json.load(answer)
            except HTTPError as error:
                if error.code != 429:
                    raise
                time.sleep(0.2)  # more than 20 changes a second

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()


def said_meanwhile(folder: Path, count: int) -> dict[str, Any]:
    """Captions and clicks during a training job, the server killed half-way."""
    pictures = max(120, count // 4)
    draw_scenes(folder, pictures, size=(48, 32))
    with Collection.open(folder) as collection:
        collection.add(features="blocks(channels=((16, joint, 40),), colours=20)", n_jobs=1)
        collection.caption_from(folder / "captions.tsv")
        collection.train()
    server = Server(folder)
    queued = refused = 0
    expected: dict[int, str] = {}
    clicks: dict[int, bool] = {}
    server.ask("POST", "/train", {})
    for number in range(count):
        if number == count // 2:
            server.kill()
            server.start()
            server.ask("POST", "/train", {})
        if number % 20 == 0 and server.ask("GET", "/train")[1]["job"]["state"] != "running":
            server.ask("POST", "/train", {})
        picture = 1 + number % (pictures // 2)
        try:
            if number % 2:
                relevant = bool(number % 3)
                status, _ = server.ask(
                    "POST", "/feedback", {"query": "sky", "picture": picture, "relevant": relevant}
                )
                if clicks.get(picture) is not relevant:  # the same again changes nothing
                    clicks.pop(picture, None)
                    clicks[picture] = relevant
            else:
                text = f"said {number}"
                status, _ = server.ask("PUT", f"/pictures/{picture}/captions", {"text": text})
                expected[picture] = text
            queued += status == 202
        except URLError:
            refused += 1
    until = time.monotonic() + _PATIENCE
    while server.ask("GET", "/train")[1]["job"]["state"] == "running" and time.monotonic() < until:
        time.sleep(0.2)
    server.kill()
    with Collection.open(folder) as collection:
        collection.search("sky")
        until = time.monotonic() + _PATIENCE
        while collection.waiting and time.monotonic() < until:
            collection.apply_waiting()  # unless a job of the dead server is still writing
            time.sleep(0.5)
        judged = {one.picture: one.relevant for one in collection.judgements("sky")}
        said = {one: collection.captions(one).get("person") for one in expected}
        order = [one.picture for one in collection.judgements("sky")]
        waiting = collection.waiting
    lost = sum(judged.get(one) is None for one in clicks) + sum(said[one] is None for one in said)
    wrong = sum(judged.get(one) not in (None, relevant) for one, relevant in clicks.items())
    wrong += sum(said[one] not in (None, text) for one, text in expected.items())
    say(f"{queued:,} of {count:,} changes waited")
    return {
        "sent": count,
        "queued": queued,
        "refused": refused,
        "lost": lost + waiting,
        "reordered": wrong + (order != list(clicks)),
        "killed": True,
    }


if __name__ == "__main__":
    raise SystemExit(main())
