"""A client of the HTTP API for programs: one method an operation, answers with types.

from visterm.web.client import Client

shop = Client("http://127.0.0.1:8765", token="...", collection="shop")
shop.put("products/4711.jpg", Path("shoe.jpg").read_bytes())
for found in shop.search("red shoe", k=5).results:
    print(found.path, found.probability)
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

from pydantic import TypeAdapter

from visterm.collection import Judgement
from visterm.errors import BadInput, VistermError
from visterm.web.schemas import (
    SCHEMA_LOCK,
    Captions,
    Changed,
    Doubts,
    PictureDetails,
    Ranking,
    ServerStatus,
)
from visterm.web.writer import Job

Answer = TypeVar("Answer")
Queued = Literal["queued"]
"""A change that is on the server's disk, and done when the running job has ended."""


_ADAPTERS: dict[type, TypeAdapter[Any]] = {}


def _adapter(kind: type[Answer]) -> TypeAdapter[Answer]:
    with SCHEMA_LOCK:
        if kind not in _ADAPTERS:
            _ADAPTERS[kind] = TypeAdapter(kind)
        return _ADAPTERS[kind]


class ApiError(VistermError):
    """The server refused: ``status`` is the code of HTTP, ``kind`` its reason in one word."""

    def __init__(self, status: int, error: str, kind: str) -> None:
        super().__init__(error)
        self.status, self.kind = status, kind


class Client:
    """A server, and the collection of it that is meant.

    Parameters
    ----------
    url
        What ``visterm serve`` printed, without the token.
    token
        Where the server has one.
    collection
        The name of a further collection; None for the first.
    timeout
        Seconds to wait for an answer.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8765",
        *,
        token: str | None = None,
        collection: str | None = None,
        timeout: float = 60.0,
    ) -> None:
        within = "" if collection is None else f"/collections/{quote(collection)}"
        self._api, self._timeout = f"{url.rstrip('/')}/api/v1{within}", timeout
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    def search(
        self,
        query: str = "",
        k: int = 20,
        *,
        vector: Sequence[float] | None = None,
        **options: Any,
    ) -> Ranking:
        """The best pictures; options are the parameters of ``GET /search``.

        With a ``vector`` of your own, those nearest to it that filters in ``query`` let through.
        """
        asked = {"query": query, "k": k, **options}
        if isinstance(asked.get("region"), (tuple, list)):
            asked["region"] = ",".join(map(str, asked["region"]))
        if vector is None:
            return self._ask(Ranking, "GET", "/search", asked)
        body = json.dumps({"vector": list(vector), **asked}).encode()
        return self._ask(Ranking, "POST", "/search", body=body)

    def picture(self, number: int) -> PictureDetails:
        """A picture by its number."""
        return self._ask(PictureDetails, "GET", f"/pictures/{number}")

    def find(self, path: str | None = None, *, id: str | None = None) -> PictureDetails:
        """A picture by its path below the collection's folder, or by an id of your own."""
        return self._ask(PictureDetails, "GET", _at(path, id))

    def put(
        self,
        path: str | None = None,
        picture: bytes | None = None,
        *,
        url: str | None = None,
        id: str | None = None,
        fields: Mapping[str, str | float | bool] | None = None,
        vector: Sequence[float] | None = None,
    ) -> PictureDetails | Queued:
        """Add or replace the picture at a path: a file's bytes, or the address of one.

        ``id`` is what you call it, ``fields`` what is kept with it, and ``vector`` what describes
        it. Of a picture that is there these alone can be changed; without a path it is found by
        its id.
        """
        if picture is not None and (url, fields, vector) == (None, None, None):
            at = _at(path, id) + (f"?{urlencode({'id': id})}" if path and id else "")
            return self._change(PictureDetails, "PUT", at, picture, "application/octet-stream")
        image = None if picture is None else base64.b64encode(picture).decode()
        about = {"image": image, "url": url, "id": id, "fields": fields, "vector": vector}
        given = {name: value for name, value in about.items() if value is not None}
        return self._change(PictureDetails, "PUT", _at(path, id), json.dumps(given).encode())

    def remove(self, path: str | None = None, *, id: str | None = None) -> Changed | Queued:
        """Take a picture out of the collection, by its path or your id; its files stay."""
        return self._change(Changed, "DELETE", _at(path, id))

    def set_fields(
        self,
        number: int,
        fields: Mapping[str, str | float | bool] | None = None,
        *,
        id: str | None = None,
    ) -> PictureDetails | Queued:
        """Keep values with a picture in the place of those of before, and what you call it."""
        given = {"fields": fields} if id is None else {"fields": fields, "id": id}
        body = json.dumps(given).encode()
        return self._change(PictureDetails, "PUT", f"/pictures/{number}/fields", body)

    def caption(self, number: int, text: str) -> Captions | Queued:
        """Say what is to be seen in a picture."""
        body = json.dumps({"text": text}).encode()
        return self._change(Captions, "PUT", f"/pictures/{number}/captions", body)

    def judge(self, query: str, number: int, relevant: bool) -> Judgement | Queued:
        """Say whether a picture is what a query asks for."""
        body = {"query": query, "picture": number, "relevant": relevant}
        return self._change(Judgement, "POST", "/feedback", json.dumps(body).encode())

    def doubts(self, word: str, k: int = 10) -> Doubts:
        """The captions that are most likely wrong about a word."""
        return self._ask(Doubts, "GET", "/review", {"query": word, "k": k})

    def review(self, word: str, answers: Mapping[int, bool]) -> Changed | Queued:
        """Say of pictures whether they show a word: captions get it or lose it, as one step."""
        body = {"query": word, "answers": {str(number): yes for number, yes in answers.items()}}
        return self._change(Changed, "POST", "/review", json.dumps(body).encode())

    def undo(self) -> Changed | Queued:
        """Take back what was said or removed last."""
        return self._change(Changed, "DELETE", "/many")

    def train(self) -> Job:
        """Begin to learn from all captions, in the background."""
        return self._ask(Job, "POST", "/train", body=b"{}")

    def status(self) -> ServerStatus:
        """How much there is of everything, and what is going on."""
        return self._ask(ServerStatus, "GET", "/status")

    def _change(
        self,
        kind: type[Answer],
        method: str,
        path: str,
        body: bytes | None = None,
        content: str = "application/json",
    ) -> Answer | Queued:
        status, text = self._send(method, path, {}, body, content)
        return "queued" if status == 202 else _adapter(kind).validate_json(text)

    def _ask(
        self,
        kind: type[Answer],
        method: str,
        path: str,
        parameters: dict[str, Any] | None = None,
        body: bytes | None = None,
    ) -> Answer:
        _, text = self._send(method, path, parameters or {}, body)
        return _adapter(kind).validate_json(text)

    def _send(
        self,
        method: str,
        path: str,
        parameters: dict[str, Any],
        body: bytes | None,
        content: str = "application/json",
    ) -> tuple[int, bytes]:
        asked = f"?{urlencode(parameters, doseq=True)}" if parameters else ""
        headers = self._headers | ({} if body is None else {"Content-Type": content})
        request = Request(f"{self._api}{path}{asked}", body, headers, method=method)
        try:
            with urlopen(request, timeout=self._timeout) as answer:
                return answer.status, answer.read()
        except HTTPError as error:
            raise _refusal(error) from None
        except OSError as error:
            reason = getattr(error, "reason", None) or error
            raise VistermError(f"{self._api} cannot be reached: {reason}") from None


def _at(path: str | None, own_id: str | None) -> str:
    """Where a picture is: at its path, or else under an id."""
    if path is None and own_id is None:
        raise BadInput("name a picture by its path or its id")
    return f"/ids/{quote(str(own_id), safe='')}" if path is None else f"/files/{quote(path)}"


def _refusal(error: HTTPError) -> ApiError:
    try:
        said = json.load(error)
        return ApiError(error.code, said["error"], said["kind"])
    except (ValueError, KeyError, TypeError):
        return ApiError(error.code, f"the server answered {error.code}", "failed")
