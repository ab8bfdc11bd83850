"""Files of pictures by their paths: a program adds, replaces, finds and removes them.

A path below the collection's folder is whatever a caller likes, such as ``products/4711.jpg``: it
serves as an id of the caller's own.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import PurePosixPath
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from pydantic import ValidationError
from starlette.responses import Response

from visterm.collection import Collection, UnknownPicture
from visterm.errors import BadInput, UnreadablePicture
from visterm.files import make_folder, write_whole
from visterm.pictures.formats import SUPPORTED_EXTENSIONS
from visterm.pictures.sandbox import read_picture
from visterm.web.fetch import fetch
from visterm.web.problems import refusals
from visterm.web.routes.feedback import REFUSED_CHANGE
from visterm.web.routes.pictures import picture_details
from visterm.web.schemas import Changed, PictureDetails, PictureUrl, Text
from visterm.web.security import FILE_TYPES, LARGEST_PICTURE
from visterm.web.server import Server

FilePath = Annotated[
    Text,
    Path(
        min_length=1,
        max_length=300,
        description="A path below the collection's folder, as in products/4711.jpg.",
    ),
]
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            **{kind: {"schema": {"type": "string", "format": "binary"}} for kind in FILE_TYPES},
            "application/json": {"schema": PictureUrl.model_json_schema()},
        },
    }
}


def file_routes(server: Server) -> APIRouter:
    router = APIRouter(prefix="/files", tags=["files"])

    @router.get(
        "/{path:path}", response_model=PictureDetails, responses=refusals(400, 403, 404, 422, 503)
    )
    async def find_file(path: FilePath) -> Response:
        """The picture in a file."""
        return await server.answer(_found, path)

    @router.put(
        "/{path:path}", response_model=PictureDetails, responses=REFUSED_CHANGE, openapi_extra=_BODY
    )
    async def put_file(path: FilePath, request: Request) -> Response:
        """Add a picture, or replace the one at this path: its bytes, or JSON with its ``url``."""
        data = await request.body()
        if request.headers.get("content-type", "").partition(";")[0].strip() == "application/json":
            data = await asyncio.to_thread(fetch, _url(data), LARGEST_PICTURE)
        await server.pictures.ask(_keep, path, data)
        changed = await server.change("add_files", paths=[str(server.folder / path)])
        return changed if changed.status_code == 202 else await server.answer(_found, path)

    @router.delete("/{path:path}", response_model=Changed, responses=REFUSED_CHANGE)
    async def remove_file(path: FilePath) -> Response:
        """Take a picture out of the collection, with its captions; the file stays on the disk.

        To put it again brings all of it back, and so does ``DELETE /many``, which undoes this.
        """
        await server.questions.ask(_number, path)
        return await server.change("remove", Changed, paths=[str(server.folder / path)])

    return router


def _url(body: bytes) -> str:
    try:
        return PictureUrl.model_validate(json.loads(body)).url
    except (ValidationError, ValueError, RecursionError):
        raise BadInput('the body must be {"url": "https://..."}, or a picture file') from None


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


def _keep(collection: Collection, path: str, data: bytes) -> None:
    """Write a picture into the folder, on the disk when this returns, once it has been decoded."""
    file = collection.root / _checked(path)
    if not file.parent.resolve().is_relative_to(collection.root.resolve()):
        raise BadInput("path must be that of a file below the folder, as in products/4711.jpg")
    try:
        read_picture(data, max_side=64)
    except UnreadablePicture as error:
        raise BadInput(f"the picture that was sent: {error.reason}") from None
    try:
        make_folder(file.parent)
    except OSError:  # a file is called so
        raise BadInput(f"{file.parent.name} is no folder") from None
    if file.is_dir():
        raise BadInput(f"{file.name} is a folder")
    write_whole(file, data)


def _number(collection: Collection, path: str) -> int:
    try:
        return collection.number(collection.root / _checked(path))
    except BadInput:
        raise UnknownPicture("there is no picture at this path") from None


def _found(collection: Collection, path: str) -> PictureDetails:
    return picture_details(collection, _number(collection, path))
