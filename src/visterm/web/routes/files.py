"""Files of pictures by their paths: a program adds, replaces, finds and removes them.

A path below the collection's folder is whatever a caller likes, such as ``products/4711.jpg``. A
picture may have an id of the caller's own besides, and fields and a vector.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.responses import Response

from visterm.collection import Collection, UnknownPicture
from visterm.errors import BadInput, UnreadablePicture, VistermError
from visterm.files import make_folder, reason, write_whole
from visterm.pictures.formats import SUPPORTED_EXTENSIONS
from visterm.pictures.sandbox import read_picture
from visterm.web.fetch import fetch
from visterm.web.problems import CannotWrite, refusals
from visterm.web.routes.feedback import REFUSED_CHANGE
from visterm.web.routes.pictures import decoded, picture_details
from visterm.web.schemas import Changed, NewPicture, OwnId, PictureDetails, Text
from visterm.web.security import FILE_TYPES, LARGEST_PICTURE, Right, right_of
from visterm.web.server import Server

FilePath = Annotated[
    Text,
    Path(
        min_length=1,
        max_length=300,
        description="A path below the collection's folder, as in products/4711.jpg.",
    ),
]
OwnIdPath = Annotated[Text, Path(min_length=1, max_length=300, description="Your own id.")]
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            **{kind: {"schema": {"type": "string", "format": "binary"}} for kind in FILE_TYPES},
            "application/json": {"schema": NewPicture.model_json_schema()},
        },
    }
}
_REFUSED = refusals(400, 403, 404, 422, 503)


def file_routes(server: Server) -> APIRouter:
    router = APIRouter(tags=["files"])

    @router.get("/files/{path:path}", response_model=PictureDetails, responses=_REFUSED)
    async def find_file(path: FilePath, request: Request) -> Response:
        """The picture in a file."""
        return await server.answer(_found, path, right_of(request.scope))

    @router.put(
        "/files/{path:path}",
        response_model=PictureDetails,
        responses=REFUSED_CHANGE,
        openapi_extra=_BODY,
    )
    async def put_file(
        path: FilePath,
        request: Request,
        id: Annotated[OwnId | None, Query(description="Your own id, where bytes are sent.")] = None,
    ) -> Response:
        """Add a picture, or replace the one at this path, by its bytes or by JSON.

        JSON brings the file or its ``url``, and your own ``id``, ``fields`` and ``vector``; of a
        picture that is there these alone can be changed.
        """
        return await _put(server, path, await _given(request, id))

    @router.delete("/files/{path:path}", response_model=Changed, responses=REFUSED_CHANGE)
    async def remove_file(path: FilePath) -> Response:
        """Take a picture out of the collection, with its captions; the file stays on the disk.

        To put it again brings all of it back, and so does ``DELETE /many``, which undoes this.
        """
        await server.questions.ask(_number, path)
        return await server.change("remove", Changed, paths=[str(server.folder / path)])

    @router.get("/ids/{own_id:path}", response_model=PictureDetails, responses=_REFUSED)
    async def find_id(own_id: OwnIdPath, request: Request) -> Response:
        """The picture that you gave an id."""
        right = right_of(request.scope)
        return await server.answer(lambda c: picture_details(c, c.with_id(own_id), right))

    @router.put(
        "/ids/{own_id:path}",
        response_model=PictureDetails,
        responses=REFUSED_CHANGE,
        openapi_extra=_BODY,
    )
    async def replace_by_id(own_id: OwnIdPath, request: Request) -> Response:
        """Replace the picture that you gave an id, or its fields or vector, as by its path.

        A picture that lies in several files can be replaced by a path only.
        """
        given = await _given(request, None)
        path, *others = await server.questions.ask(_paths, own_id)
        if others and given.data is not None:
            raise CannotWrite(
                f"several files hold this picture, {path} and {others[0]} among them: put the new "
                "one by the path of the file that it shall replace"
            )
        return await _put(server, path, given)

    @router.delete("/ids/{own_id:path}", response_model=Changed, responses=REFUSED_CHANGE)
    async def remove_by_id(own_id: OwnIdPath) -> Response:
        """Take the picture that you gave an id out of the collection; its files stay."""
        paths = await server.questions.ask(_paths, own_id)
        return await server.change(
            "remove", Changed, paths=[str(server.folder / path) for path in paths]
        )

    return router


@dataclass(frozen=True)
class _Given:
    """What is to be put at a path: a file, or what belongs to the one that is there."""

    data: bytes | None
    own_id: str | None
    fields: dict[str, str | float | bool] | None = None
    vector: list[float] | None = None


async def _put(server: Server, path: str, given: _Given) -> Response:
    given = await server.pictures.ask(_keep, path, given)
    at = str(server.folder / path)
    values: dict[str, Any] = {"fields": given.fields, "own_id": given.own_id}
    if given.data is None and given.vector is None:
        changed = await server.change("set_fields", picture=at, **values)
    else:
        values["vectors"] = None if given.vector is None else [given.vector]
        changed = await server.change("add_files", paths=[at], **values)
    return changed if changed.status_code == 202 else await server.answer(_found, path)


async def _given(request: Request, own_id: str | None) -> _Given:
    data = await request.body()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        return _Given(data, own_id)
    return await asyncio.to_thread(_read, data, own_id)


def _read(body: bytes, own_id: str | None) -> _Given:
    try:
        new = NewPicture.model_validate_json(body)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from None
    data = None if new.image is None else decoded(new.image)
    if new.url is not None:
        if data is not None:
            raise BadInput("give image or url, not both")
        data = fetch(new.url, LARGEST_PICTURE)
    about = (new.fields, new.vector)
    if own_id is not None and new.id not in (None, own_id):
        raise BadInput("id differs in the address and the body; give it once")
    if data is None and about == (None, None) and (new.id or own_id) is None:
        raise BadInput("give a picture by image or url, or id, fields or a vector of one")
    return _Given(data, new.id or own_id, *about)


def _checked(path: str) -> str:
    """A path that stays below the collection's folder, and is a picture's by its name.

    >>> _checked("products/4711.jpg")
    'products/4711.jpg'
    """
    parts = path.split("/")
    if "\\" in path or any(part.startswith(".") or not part.strip() for part in parts):
        raise BadInput("path must be that of a file below the folder, as in products/4711.jpg")
    if any(len(part.encode("utf-8", "replace")) > 200 for part in parts):
        raise BadInput("path: a name may have at most 200 bytes")
    if PurePosixPath(path).suffix.lower() not in SUPPORTED_EXTENSIONS:
        raise BadInput("path must end as a picture's does, in .jpg, .png, .webp or the like")
    return path


def _keep(collection: Collection, path: str, given: _Given) -> _Given:
    """Write a picture into the folder, on the disk when this returns, once it has been decoded.

    Returns what then belongs to the picture.
    """
    file, data = collection.root / _checked(path), given.data
    given = _with_old_values(collection, path, given)
    collection.check_given(path, data, given.vector, given.fields, given.own_id)
    if data is None:
        _number(collection, path)
        return given
    if not file.parent.resolve().is_relative_to(collection.root.resolve()):
        raise BadInput("path must be that of a file below the folder, as in products/4711.jpg")
    try:
        read_picture(data, max_side=64)
    except UnreadablePicture as error:
        raise BadInput(f"the picture that was sent: {error.reason}") from None
    above = next(folder for folder in file.parents if folder.exists())
    if not above.is_dir():
        raise BadInput(f"{above.name} is no folder; choose another path")
    if file.is_dir():
        raise BadInput(f"{file.name} is a folder; choose another path")
    try:
        make_folder(file.parent)
        write_whole(file, data)
    except VistermError as error:  # whose sentence names a path of this machine
        why = reason(error.__cause__) if isinstance(error.__cause__, OSError) else "refused"
        raise CannotWrite(f"the server cannot write into the folder of pictures: {why}") from error
    return given


def _with_old_values(collection: Collection, path: str, given: _Given) -> _Given:
    """What a new file brings, with the id and the fields that stay with its path.

    Those of a picture that lies in one file only, `Collection.add` hands over.
    """
    if given.data is None:
        return given
    try:
        number = _number(collection, path)
    except UnknownPicture:
        return given
    old = collection.pictures([number])[number]
    if len(collection.record(number).files) < 2:
        return given
    fields = (old.fields or None) if given.fields is None else given.fields
    return replace(given, own_id=given.own_id or old.id, fields=fields)


def _number(collection: Collection, path: str) -> int:
    try:
        return collection.number(collection.root / _checked(path))
    except BadInput:
        raise UnknownPicture("there is no picture at this path") from None


def _paths(collection: Collection, own_id: str) -> list[str]:
    return [file.path for file in collection.record(collection.with_id(own_id)).files]


def _found(collection: Collection, path: str, right: Right = "write") -> PictureDetails:
    return picture_details(collection, _number(collection, path), right)
