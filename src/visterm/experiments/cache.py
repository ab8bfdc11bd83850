"""One cache of what takes minutes to make, kept under everything that it depends on.

A value is found again only where the code, the data, the seed and the settings are the same. It is
made of plain values, lists, dictionaries with texts as keys, and arrays, dense or compressed; files
hold no pickles, are written whole, and one that is damaged counts as not there.
"""

from __future__ import annotations

import ast
import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import csr_array, issparse

import visterm
from visterm.files import write_whole

FEATURES = ("features", "pictures", "encoders")
"""The rooms whose code decides what a picture's vector is."""
FIGURES = (*FEATURES, "datasets", "evaluation", "experiments", "kernels", "models", "text")
"""The rooms whose code, with that of papers/, decides what a figure is …"""
SHOWING = (
    "contact_sheet.py",
    "plots.py",
    "tables.py",
    "ranking_tables.py",
    "tuning.py",
    "pages.py",
)
"""… but for what only lays figures out, or searches."""

T = TypeVar("T")
_DAMAGED = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile)


def remembered(
    what: str, make: Callable[[], T], *key: object, rooms: tuple[str, ...] = FIGURES
) -> T:
    """What ``make`` makes, or made before with the same key by the same code of these rooms.

    >>> import os, tempfile
    >>> os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp()
    >>> remembered("sum", lambda: {"sum": 3, "rows": np.eye(2)}, "1 + 2")["sum"]
    3
    >>> remembered("sum", lambda: {"sum": 4}, "1 + 2")["rows"].shape
    (2, 2)
    """
    text = repr((code_digest(rooms), *key))
    file = cache_folder() / f"{what}-{hashlib.sha256(text.encode()).hexdigest()[:32]}.npz"
    with suppress(*_DAMAGED):
        found: T = _read(file)
        return found
    made = make()
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, _written(made))
    return made


def cache_folder() -> Path:
    """Where values are kept; whatever lies there may be deleted."""
    from platformdirs import user_cache_path

    return user_cache_path("visterm", appauthor=False) / "experiments"


@cache
def code_digest(rooms: tuple[str, ...] = FIGURES) -> str:
    """Changes with every line of Python that decides a figure: no old one is ever shown.

    Comments, docstrings and layout decide none.
    """
    package = Path(visterm.__file__).parent
    folders = [package / room for room in rooms]
    if "experiments" in rooms:
        folders.append(package.parents[1] / "papers")
    digest = hashlib.sha256()
    for file in sorted(file for folder in folders for file in folder.rglob("*.py")):
        if file.name not in SHOWING:
            digest.update(_code(file.read_text(encoding="utf-8")).encode())
    return digest.hexdigest()


def _code(text: str) -> str:
    """
    >>> _code("def f():\\n    'Nothing.'\\n    return 1  # one") == _code("def f(): return 1")
    True
    """
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [  # type: ignore[attr-defined]
                one
                for one in body
                if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
            ]
    return ast.dump(tree)


def data_digest(paths: Iterable[Path], texts: Iterable[str]) -> str:
    """What identifies pictures and their texts, wherever they lie."""
    content = hashlib.sha256()
    for path, text in zip(paths, texts, strict=True):
        size = path.stat().st_size if path.exists() else -1
        content.update(f"{path.name}\t{size}\t{text}\n".encode())
    return content.hexdigest()


def _written(value: Any) -> bytes:
    arrays: dict[str, Any] = {}
    tree = json.dumps(_tree(value, arrays))
    file = io.BytesIO()
    np.savez(file, tree=np.array(tree), **arrays)
    return file.getvalue()


def _tree(value: Any, arrays: dict[str, Any]) -> Any:
    """The value with its arrays taken out of it."""
    if isinstance(value, dict):
        return {str(name): _tree(one, arrays) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_tree(one, arrays) for one in value]
    name = f"a{len(arrays)}"
    if issparse(value):
        for part in ("data", "indices", "indptr"):
            arrays[f"{name}.{part}"] = getattr(value, part)
        return {"compressed": name, "shape": list(value.shape)}
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return {"array": name}
    return value.item() if isinstance(value, np.generic) else value


def _read(file: Path) -> Any:
    with np.load(file, allow_pickle=False) as arrays:
        return _grown(json.loads(str(arrays["tree"])), arrays)


def _grown(tree: Any, arrays: Any) -> Any:
    if isinstance(tree, list):
        return [_grown(one, arrays) for one in tree]
    if not isinstance(tree, dict):
        return tree
    if set(tree) == {"array"}:
        return arrays[tree["array"]]
    if set(tree) == {"compressed", "shape"}:
        parts = tuple(arrays[f"{tree['compressed']}.{p}"] for p in ("data", "indices", "indptr"))
        return csr_array(parts, shape=tuple(tree["shape"]))
    return {name: _grown(one, arrays) for name, one in tree.items()}
