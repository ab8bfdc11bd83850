"""Networks built once and kept in the user's cache directory."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from pathlib import Path

from visterm.errors import VistermError
from visterm.files import write_whole


def kept(name: str, recipe: str, build: Callable[[], bytes], folder: Path | None = None) -> bytes:
    """Return the bytes that ``build`` makes, from the cache where they lie there unharmed.

    The file's name holds two hashes: of the recipe, so that a changed one builds anew, and of the
    bytes themselves, so that a harmed file is noticed and replaced, in one step and without a
    second file to keep in agreement.

    Parameters
    ----------
    name
        What the file's name begins with.
    recipe
        Everything that decides what is built.
    build
        Makes the bytes; called only when they are not in the cache.
    folder
        Where to keep them; the user's cache directory if not given.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> kept("tree", "version 1", lambda: b"oak", folder)
    b'oak'
    >>> kept("tree", "version 1", lambda: b"never built", folder)
    b'oak'
    """
    if folder is None:
        from platformdirs import user_cache_path

        folder = user_cache_path("visterm", appauthor=False) / "networks"
    stem = f"{name}-{_digest(recipe.encode())}"
    for path in sorted(folder.glob(f"{stem}-*.onnx")):
        with contextlib.suppress(OSError):
            data = path.read_bytes()
            if path.name == f"{stem}-{_digest(data)}.onnx":
                return data
            path.unlink()
    data = build()
    # A cache that cannot be written costs the next start a second, and nobody their answer.
    with contextlib.suppress(OSError, VistermError):
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / f"{stem}-{_digest(data)}.onnx", data)
    return data


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]
