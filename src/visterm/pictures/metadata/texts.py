"""The texts people left in metadata: bytes to characters, and one tidy value a line."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from visterm.pictures.metadata.machine_written import is_machine_written

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ufeff\ufffe\uffff]+")


def decoded(data: bytes) -> str:
    """Text of an encoding that nobody named: UTF-8 where it is valid, else that of old Windows.

    >>> decoded("Zürich".encode()), decoded("Zürich".encode("latin-1"))
    ('Zürich', 'Zürich')
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return old_windows(data)


def old_windows(data: bytes) -> str:
    """Windows' superset of Latin-1; the few bytes it leaves undefined are Latin-1's controls."""
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def tidy(text: str) -> str:
    """One line without control characters, doubled spaces or characters that cannot be stored.

    >>> tidy("a  boat\\r\\non the\\0 sea ")
    'a boat on the sea'
    """
    text = text.encode("utf-8", "ignore").decode()  # halves of surrogate pairs
    return " ".join(unicodedata.normalize("NFC", _CONTROL.sub(" ", text)).split())


def values(texts: Iterable[str]) -> list[str]:
    """Tidy, distinct, in order, without the empty ones and those that machines wrote.

    >>> values(["sea", " sea", "OLYMPUS DIGITAL CAMERA", "boat"])
    ['sea', 'boat']
    """
    kept = dict.fromkeys(tidy(text) for text in texts)
    return [text for text in kept if not is_machine_written(text)]
