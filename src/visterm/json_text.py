"""Answers as JSON: ``--json`` and the API show what Python has, field by field."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def json_text(value: Any, indent: int | None = None) -> str:
    """A value as JSON: dataclasses by their fields, paths as text, numbers that are none as null.

    Bytes of file names that are no text become question marks.

    >>> from pathlib import PurePosixPath
    >>> json_text({"path": PurePosixPath("a/b.jpg"), "avgp": float("nan")})
    '{"path":"a/b.jpg","avgp":null}'
    """
    options: dict[str, Any] = {"ensure_ascii": False, "allow_nan": False, "indent": indent}
    if indent is None:
        options["separators"] = (",", ":")
    try:
        text = json.dumps(value, default=plain, **options)
    except ValueError:
        text = json.dumps(_finite(value), **options)
    return text.encode("utf-8", errors="replace").decode()


def plain(value: Any) -> Any:
    """What JSON shows of a value that is none of its own."""
    if hasattr(value, "__dataclass_fields__"):
        return vars(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str | int | None):
        return value
    if isinstance(value, Mapping):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return _finite(plain(value))
