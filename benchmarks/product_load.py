"""Do many programs lose anything when they upload, search and judge at the same time?

    python -m benchmarks.product_load --json [--clients 32] [--seconds 120]

``visterm serve`` runs over a small collection that has learnt; every client of the Python client
uploads, replaces and removes pictures of its own, searches, captions and judges, and writes down
what the server acknowledged. A job trains now and then, so that some changes wait. At the end all
that was acknowledged must be there, every change of the log be done, and the catalogue be what the
log says: clicks and captions are compared with its events, one by one.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import random
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.common import say, show
from benchmarks.serve import serving
from visterm.collection import Collection
from visterm.datasets.scenes import draw_scenes
from visterm.errors import VistermError
from visterm.web.client import ApiError, Client

PICTURES = 60
WORDS = ("sea", "sky", "tree", "sand", "snow")
STEPS = {"search": 60, "judge": 15, "caption": 10, "put": 10, "remove": 5}
"""What a client does, and how often of a hundred times."""
TRAIN_EVERY = 20.0


@dataclass
class Acknowledged:
    """What the server said to one client, and how long that took."""

    files: dict[str, bytes | None] = field(default_factory=dict)
    """The last content of each path; None where it was removed."""
    captions: dict[int, str] = field(default_factory=dict)
    clicks: dict[tuple[str, int], bool] = field(default_factory=dict)
    times: dict[str, list[float]] = field(default_factory=dict)
    answers: Counter[str] = field(default_factory=Counter)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.product_load", description=__doc__)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "shop")
        draw_scenes(folder, PICTURES, size=(72, 48))
        with Collection.open(folder) as collection:
            collection.add(features="blocks(channels=((16, colours, 8),), colours=4)")
            collection.caption_from(folder / "captions.tsv")
            collection.train()
        with serving(folder) as (_, url):
            every = _load(url, arguments.clients, arguments.seconds)
            _settled(Client(url))
        show(_compared(folder, every), as_json=arguments.json)


def _load(url: str, clients: int, seconds: float) -> list[Acknowledged]:
    until = time.monotonic() + seconds
    say(f"{clients} clients for {seconds:.0f} s")
    with ThreadPoolExecutor(clients + 1) as pool:
        training = pool.submit(_train, Client(url), until)
        every = list(pool.map(lambda number: _client(url, number, until), range(clients)))
        training.result()
    return every


def _train(client: Client, until: float) -> None:
    while time.monotonic() + TRAIN_EVERY < until:
        time.sleep(TRAIN_EVERY)
        with contextlib.suppress(VistermError):
            client.train()


def _client(url: str, number: int, until: float) -> Acknowledged:
    """One client, with paths, pictures and queries that no other one changes."""
    client, said = Client(url, timeout=600.0), Acknowledged()  # slow answers count, too
    drawn = random.Random(number)
    while time.monotonic() < until:
        (what,) = drawn.choices(list(STEPS), list(STEPS.values()))
        begin = time.perf_counter()
        try:
            is_queued = _step(client, said, what, number, drawn) == "queued"
            said.answers["queued" if is_queued else "done"] += 1
            said.times.setdefault(what, []).append(time.perf_counter() - begin)
        except ApiError as error:
            said.answers[error.kind] += 1
            if error.kind in ("too-often", "busy"):
                time.sleep(0.2 + drawn.random())
    return said


def _step(client: Client, said: Acknowledged, what: str, number: int, drawn: random.Random) -> Any:
    picture, word = 1 + number % PICTURES, drawn.choice(WORDS)
    if what == "judge":
        relevant = drawn.random() < 0.5
        answer: Any = client.judge(word, picture, relevant)
        said.clicks[word, picture] = relevant
    elif what == "caption":
        text = f"{word} {drawn.randrange(1000)}"
        answer = client.caption(picture, text)
        said.captions[picture] = text
    elif what == "put":
        path, data = f"client-{number}/{drawn.randrange(4)}.jpg", _jpeg(drawn)
        answer = client.put(path, data)
        said.files[path] = data
    elif what == "remove":
        there = [path for path, data in said.files.items() if data is not None]
        if not there:
            return None
        path = drawn.choice(there)
        answer = client.remove(path)
        said.files[path] = None
    else:
        answer = client.search(word, k=20)
    return answer


def _jpeg(drawn: random.Random) -> bytes:
    pixels = np.random.default_rng(drawn.randrange(2**32)).integers(0, 256, (40, 60, 3), np.uint8)
    made = io.BytesIO()
    Image.fromarray(pixels).save(made, "JPEG")
    return made.getvalue()


def _settled(client: Client) -> None:
    """Wait until the last job has ended, and what waited for it is done."""
    while (job := client.status().job) is not None and job.state == "running":
        time.sleep(0.2)


def _compared(folder: Path, every: list[Acknowledged]) -> dict[str, Any]:
    """What was acknowledged, the catalogue and the log against each other."""
    wrong: list[str] = []
    with Collection.open(folder) as collection:
        collection.catch_up()
        clicks = {(one.query, one.picture): one.relevant for one in collection.judgements()}
        for said in every:
            wrong += [f"click {one}" for one, yes in said.clicks.items() if clicks.get(one) != yes]
            for picture, text in said.captions.items():
                if collection.captions(picture).get("person") != text:
                    wrong.append(f"caption of {picture}")
            for path, data in said.files.items():
                is_there = _is_there(collection, path)
                if is_there != (data is not None):
                    wrong.append(f"{path} is {'there' if is_there else 'not there'}")
                elif data is not None and (folder / path).read_bytes() != data:
                    wrong.append(f"{path} has another content")
        wrong += _against_the_log(collection, clicks)
        problems = collection.check().problems
    times = {what: sorted(t for said in every for t in said.times.get(what, ())) for what in STEPS}
    answers = sum((said.answers for said in every), Counter[str]())
    return {
        "clients": len(every),
        "answers": dict(answers),
        "counts": {what: len(some) for what, some in times.items()},
        "median_ms": {what: _at(some, 0.5) for what, some in times.items()},
        "p99_ms": {what: _at(some, 0.99) for what, some in times.items()},
        "slowest_ms": {what: _at(some, 1.0) for what, some in times.items()},
        "acknowledged_files": sum(len(said.files) for said in every),
        "wrong": wrong[:20],
        "lost_or_wrong": len(wrong),
        "problems_of_check": [str(one) for one in problems],
    }


def _at(times: list[float], share: float) -> float | None:
    return round(1000 * times[int(share * (len(times) - 1))], 1) if times else None


def _is_there(collection: Collection, path: str) -> bool:
    with contextlib.suppress(VistermError):
        collection.record(collection.number(collection.root / path))
        return True
    return False


def _against_the_log(collection: Collection, clicks: dict[tuple[str, int], bool]) -> list[str]:
    """The catalogue against its log, replayed."""
    wrong, said, texts = [], {}, {}
    rows = collection.catalogue.db.execute("SELECT id, change, state FROM events ORDER BY id")
    for number, change, state in rows:
        verb, values = json.loads(change)
        if state == "waiting":
            wrong.append(f"event {number} still waits")
        if state == "done" and verb == "judge":
            said[values["query"], values["picture"]] = values["relevant"]
        if state == "done" and verb == "caption":
            texts[values["picture"]] = values["text"]
    if said != clicks:
        wrong.append("the clicks are not those of the log")
    for picture, text in texts.items():
        if collection.captions(picture).get("person") != text:
            wrong.append(f"the caption of {picture} is not that of the log")
    return wrong


if __name__ == "__main__":
    main()
