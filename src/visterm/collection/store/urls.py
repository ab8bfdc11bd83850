"""Addresses of pictures that are no files of the collection's folder: URLs, members of shards."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

from visterm.errors import BadInput

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_SHARD = re.compile(r"((?:[A-Za-z][A-Za-z0-9+.-]+://[^/]*/)?.*?[^/]\.tar)(?:/|$)", re.I | re.S)
_SIGNED = re.compile(r"[?&](x-amz-|x-goog-|sig=|signature=|token=|awsaccesskeyid=)", re.I)


def is_url(path: str | os.PathLike[str]) -> bool:
    """Whether this is an address and no path of this machine.

    >>> is_url("s3://archive/sea/boat.jpg"), is_url("sea/boat.jpg")
    (True, False)
    """
    return isinstance(path, str) and _URL.match(path) is not None


def normal_url(url: str) -> str:
    """An address as the catalogue writes it; what must not be written there is refused.

    >>> normal_url("S3://archive/sea/")
    's3://archive/sea'
    >>> normal_url("https://me:secret@archive.org/sea")
    Traceback (most recent call last):
    visterm.errors.BadInput: https://archive.org/sea is written with a password,
    which would be stored; give it in the environment
    """
    scheme, _, rest = url.partition("://")
    host, _, path = rest.partition("/")
    scheme, user = scheme.lower(), host.rpartition("@")[0]
    bare = f"{scheme}://{host.rpartition('@')[2]}/{path}".split("?")[0].rstrip("/")
    if ":" in user:
        raise BadInput(
            f"{bare} is written with a password, which would be stored; give it in the environment"
        )
    if _SIGNED.search(url):
        raise BadInput(f"{bare} is signed, which would be stored; name it without its signature")
    if scheme == "file":
        if host not in ("", "localhost") or not path:
            raise BadInput(f"{url} is no folder of this machine; write file:///folder")
        return "file://" + os.path.normpath(f"/{path}")
    if not host:
        raise BadInput(f"{url} names no host or bucket")
    if ".." in PurePosixPath(path).parts:
        raise BadInput(f"{url} leads upwards; write it without ..")
    return f"{scheme}://{rest.rstrip('/')}"


def shard_of(path: str) -> str | None:
    """The tar that a path leads into, or is; None where there is none.

    >>> shard_of("s3://archive/sea.tar/1.jpg"), shard_of("sea.tar"), shard_of("sea/1.jpg")
    ('s3://archive/sea.tar', 'sea.tar', None)
    """
    match = _SHARD.match(path)
    return match[1] if match else None


def is_within(path: str, outer: str) -> bool:
    """Whether a path is another or lies below it; "" is the folder of the collection.

    >>> is_within("sea/boat", "sea"), is_within("seaside", "sea"), is_within("s3://archive", "")
    (True, False, False)
    """
    if not outer:
        return not is_url(path)
    return path == outer or path.startswith(outer + "/")


class Url(str):
    """The address of a picture, with the last part of a path's interface that callers need."""

    __slots__ = ()

    @property
    def name(self) -> str:
        return self.rpartition("/")[2]


def as_path(text: str | os.PathLike[str]) -> Path | Url:
    """What somebody typed, as a path or a URL.

    >>> as_path("s3://archive/boat.jpg").name
    'boat.jpg'
    """
    return Url(text) if isinstance(text, str) and is_url(text) else Path(text)
