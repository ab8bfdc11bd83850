"""Settings written in a line: ``cnn(size=288, crop=squash)+blocks``, ``rbf(gamma=2)``."""

from __future__ import annotations

import ast
import re
from typing import Any, NamedTuple

from visterm.errors import BadInput

_CALL = re.compile(r"\s*([^()\s]+)\s*(?:\((.*)\))?\s*", re.DOTALL)


class Named(NamedTuple):
    """A name, and the parameters in brackets behind it."""

    name: str
    parameters: dict[str, Any]


def parse_named(text: str) -> Named:
    """Read ``name`` or ``name(parameter=value, …)``; a bare word is a text.

    >>> parse_named("cnn(size=288, crop=squash)")
    Named(name='cnn', parameters={'size': 288, 'crop': 'squash'})
    >>> parse_named("dense-sift(sides=(16, 32))").parameters
    {'sides': (16, 32)}
    """
    whole = _CALL.fullmatch(text)
    if whole is None:
        raise BadInput(f"{text!r} is no name with parameters, such as cnn(size=288)")
    name, inside = whole.groups()
    try:
        call = ast.parse(f"_({inside or ''})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            raise ValueError
        found = {str(keyword.arg): _value(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError):
        raise BadInput(
            f"{text!r}: in brackets stand parameters with values, such as cnn(size=288)"
        ) from None
    if len(found) < len(call.keywords) or "None" in found:
        raise BadInput(f"{text!r}: each parameter stands there once, by its name")
    return Named(name, found)


def split_joined(text: str) -> list[str]:
    """The parts between plus signs outside brackets; the file of an embedder may hold some.

    >>> split_joined("cnn(size=288) + blocks+onnx:a+b.onnx")
    ['cnn(size=288)', 'blocks', 'onnx:a+b.onnx']
    """
    parts: list[str] = []
    for piece in text.split("+"):
        unfinished = bool(parts) and (
            parts[-1].count("(") > parts[-1].count(")")
            or (parts[-1].startswith("onnx:") and not parts[-1].endswith(".onnx"))
        )
        if unfinished:
            parts[-1] += f"+{piece.rstrip()}"
        else:
            parts.append(piece.strip())
    return parts


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Tuple | ast.List):
        return tuple(_value(item) for item in node.elts)
    return ast.literal_eval(node)
