"""People at a server: each searches, looks, clicks, captions, and now and then adds or trains."""

from __future__ import annotations

import http.client
import json
import random
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from visterm.pictures.sandbox import CRASHES, NEVER_READY

API = "/api/v1"
DECLARED = (200, 201, 202, 304, 409, 429, 503)
"""What may come of calls that are right: the answer, or that somebody else is served first."""
_DIED = (CRASHES.encode(), NEVER_READY.encode())
"""Why a sound picture is refused (404): its decoder was killed before it had read any."""
_QUEUED = 202
"""Written down on the disk, and done as soon as the running job has ended: acknowledged, too."""
_WORDS = ("sky", "sea", "tree", "snow", "house", "boat")
_QUERIES = ("sky", "sea", "tree -sky", "snow house", "boat", "sky sea", "house:2 tree")
_THINKING = (0.2, 1.8)


def is_declared(status: int, said: bytes) -> bool:
    """Whether an answer is one that may come of a call that is right."""
    return status in DECLARED or (status == 404 and any(reason in said for reason in _DIED))


@dataclass
class Talk:
    """What one of them did, and what came of it."""

    times: list[float] = field(default_factory=list)
    """Seconds that searches took."""
    began: list[float] = field(default_factory=list)
    """When each of them began."""
    captions: list[tuple[int, str, bool]] = field(default_factory=list)
    """Picture, text, and whether it was acknowledged: what failed may still have been done."""
    clicks: list[tuple[str, int, bool, bool]] = field(default_factory=list)
    undeclared: list[str] = field(default_factory=list)
    refused: int = 0


class Person:
    """One of several people; no two speak of the same pictures, so that a replay is one order."""

    def __init__(
        self, host: str, port: int, root: Path, number: int, people: int, pictures: int, seed: int
    ) -> None:
        self.host, self.port, self.root = host, port, root
        self.mine = list(range(1 + number, pictures + 1, people))
        self.number, self.dice = number, random.Random(f"{seed}/{number}")
        self.said = Talk()
        self._connection: http.client.HTTPConnection | None = None

    def talk(self, until: float) -> None:
        while time.monotonic() < until:
            self._one_thing()
            time.sleep(self.dice.uniform(*_THINKING))

    def _one_thing(self) -> None:
        what, picture = self.dice.random(), self.dice.choice(self.mine)
        query = self.dice.choice(_QUERIES)
        if what < 0.6:
            began = time.monotonic()
            status = self._ask("GET", f"/search?query={query.replace(' ', '%20')}&k=20")
            if status == 200:
                self.said.times.append(time.monotonic() - began)
                self.said.began.append(began)
        elif what < 0.75:
            self._ask("GET", f"/pictures/{picture}/thumbnail?side=160")
        elif what < 0.87:
            answer = self.dice.random() < 0.5
            body = {"query": query, "picture": picture, "relevant": answer}
            status = self._ask("POST", "/feedback", body)
            if status in (201, _QUEUED, None):
                self.said.clicks.append((query, picture, answer, status is not None))
        elif what < 0.97:
            text = " ".join([*self.dice.sample(_WORDS, 2), str(self.dice.randrange(10**6))])
            status = self._ask("PUT", f"/pictures/{picture}/captions", {"text": text})
            if status in (200, _QUEUED, None):
                self.said.captions.append((picture, text, status is not None))
        elif what < 0.99:
            name = f"new-{self.number}-{self.dice.randrange(10**9)}.jpg"
            old = next(iter(sorted(self.root.glob("*.jpg"))))
            (self.root / name).write_bytes(old.read_bytes() + name.encode())
            self._ask("POST", "/train", {"kind": "add"})
        else:
            self._ask("POST", "/train", {"kind": "train"})

    def _ask(self, method: str, path: str, body: Any = None) -> int | None:
        """The status of an answer; None where nobody knows whether it was done."""
        headers = {"Content-Type": "application/json"} if body is not None else {}
        data = None if body is None else json.dumps(body)
        try:
            if self._connection is None:
                self._connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
            self._connection.request(method, API + path, data, headers)
            answer = self._connection.getresponse()
            said = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection = None
            self.said.undeclared.append(f"{method} {path.partition('?')[0]}: {error}")
            return None
        if not is_declared(answer.status, said):
            self.said.undeclared.append(f"{method} {path.partition('?')[0]}: {answer.status}")
        else:
            self.said.refused += answer.status >= 400
        if answer.status == 503 and json.loads(said)["kind"] == "interrupted":
            return None
        return answer.status
