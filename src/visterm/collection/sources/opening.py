"""Opening what lies on this machine or elsewhere, to be read from any place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from visterm.collection.sources.unavailable import Unavailable, explained
from visterm.collection.store.urls import is_url
from visterm.errors import BadInput, needs_extra

_EXTRAS = {"gs": "gcs", "gcs": "gcs"}


def filesystem(url: str) -> Any:
    """The file system that reads a URL; credentials and endpoints are its own business."""
    scheme = url.partition("://")[0]
    with needs_extra(_EXTRAS.get(scheme, "cluster"), f"{scheme}:// is read through fsspec"):
        from fsspec.core import url_to_fs

        try:
            return url_to_fs(url)[0]
        except ValueError as error:
            raise BadInput(f"{url}: {error}") from None


@contextmanager
def opened_source(root: Path, location: str, **how: Any) -> Iterator[Any]:
    """A shard or table, open; ``how`` is for what lies elsewhere. `Unavailable` says why not."""
    from visterm.pictures.decoding import Refused, opened

    if is_url(location):
        with explained():
            file = filesystem(location).open(location, "rb", **how)
        with file:
            yield file
        return
    try:
        with opened(root / location) as file:
            yield file
    except Refused as reason:
        raise Unavailable(str(reason)) from None
