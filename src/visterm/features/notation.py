"""Features and models written in a line, the same for every command.

``cnn(size=288, crop=squash)``, ``blocks+2*sift`` with weights, ``dinov2-small`` or any installed
encoder by its name (``encoder(NAME)`` in full), ``onnx:clip.onnx``, ``own:LABEL``; for models and
kernels ``pamir(C=0.1)`` and ``rbf(gamma=2)``.
"""

from __future__ import annotations

import ast
import re
from typing import Any, NamedTuple

from visterm.encoders import is_encoder
from visterm.errors import BadInput
from visterm.features.cnn import OnnxEmbedder
from visterm.features.combined import EXTRACTORS, Combined, extractor_class
from visterm.features.encoder_vectors import EncoderVectors
from visterm.features.extractor import Extractor
from visterm.features.own_features import OwnFeatures, checked_label

_FILE = f"{OnnxEmbedder.name}:"
# What a command says by options of its own, or a model by what it takes: one vector a picture.
_RESERVED = {"n_jobs", "random_state", "weighting", "output"}
_ENCODER = re.compile(rf"\s*{EncoderVectors.name}\s*\(\s*([^,=()]*?)\s*(?:,(.*))?\)\s*", re.DOTALL)
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
            or (parts[-1].startswith(_FILE) and not parts[-1].endswith(".onnx"))
        )
        if unfinished:
            parts[-1] += f"+{piece.rstrip()}"
        else:
            parts.append(piece.strip())
    return parts


def weighted_parts(text: str) -> tuple[list[float], list[str]]:
    """Weights and parts of features; no part stands there twice.

    >>> weighted_parts("2*cnn + blocks")
    ([2.0, 1.0], ['cnn', 'blocks'])
    """
    weights, names = [], []
    for part in split_joined(text):
        head, star, tail = ("", "", "") if part.startswith(_FILE) else part.partition("*")
        try:
            weights.append(float(head) if star else 1.0)
        except ValueError:
            raise BadInput(f"{part!r}: before * stands a number, as in 2*cnn") from None
        names.append(tail.strip() if star else part)
    if len(set(names)) < len(names):
        raise BadInput(f"{text!r} names the same features twice")
    return weights, names


def parse_features(text: str, *, n_jobs: int = 1, random_state: int = 0) -> Extractor:
    """The extractor that a text names; several parts with ``+`` between them are `Combined`.

    >>> parse_features("cnn(size=288)").size
    288
    >>> [part.name for part in parse_features("blocks+sift").parts]
    ['blocks', 'sift']
    """
    weights, names = weighted_parts(text)
    parts = [_extractor(name, n_jobs, random_state) for name in names]
    if len(parts) == 1:
        return parts[0]
    return Combined(parts, None if set(weights) == {1.0} else tuple(weights), n_jobs=n_jobs)


def _extractor(text: str, n_jobs: int, random_state: int) -> Extractor:
    head, colon, path = text.partition(":")
    if head == OnnxEmbedder.name:
        if not path:
            raise BadInput(f"{head} needs a file: {_FILE}model.onnx")
        return OnnxEmbedder(path, n_jobs=n_jobs)
    if head == OwnFeatures.name and colon:
        return OwnFeatures(checked_label(path))
    encoder = _ENCODER.fullmatch(text)
    if encoder is not None or text.strip() == EncoderVectors.name:
        return _encoder(text, encoder, n_jobs)
    if colon and "(" not in head:
        raise BadInput(f"only {OnnxEmbedder.name} takes a file after a colon, not {head!r}")
    name, parameters = parse_named(text) if text else Named(text, {})
    if name not in EXTRACTORS and is_encoder(name):
        return _encoder_vectors(text, name, parameters, n_jobs)
    extractor = extractor_class(name)()
    known = set(extractor.get_params())
    settings = {"n_jobs": n_jobs, "random_state": random_state}
    allowed = sorted(known - _RESERVED)
    for parameter in parameters:
        if parameter not in allowed:
            raise BadInput(f"{name} has no parameter {parameter!r}; it has {', '.join(allowed)}")
    given = {key: value for key, value in settings.items() if key in known}
    return extractor.set_params(**given | parameters)


def _encoder(text: str, found: re.Match[str] | None, n_jobs: int) -> EncoderVectors:
    """``encoder(NAME)`` or ``encoder(NAME, provider=cuda)``."""
    if found is None or not found[1]:
        raise BadInput(
            "encoder needs the name of one: encoder(NAME); visterm encoder list has them"
        )
    given = parse_named(f"{EncoderVectors.name}({found[2] or ''})").parameters
    return _encoder_vectors(text, found[1], given, n_jobs)


def _encoder_vectors(text: str, name: str, given: dict[str, Any], n_jobs: int) -> EncoderVectors:
    if strange := sorted(set(given) - {"provider"}):
        raise BadInput(f"{text}: an encoder has no parameter {strange[0]!r}; it has provider")
    return EncoderVectors(name, n_jobs=n_jobs, **given)


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Tuple | ast.List):
        return tuple(_value(item) for item in node.elts)
    return ast.literal_eval(node)
