"""Extractors by name, one or several: ``blocks``, ``blocks+cnn+sift``, ``onnx:clip.onnx``."""

from __future__ import annotations

from visterm.errors import BadInput
from visterm.features.extractor import Extractor

_ONNX = "onnx"


def kind_of(name: str) -> type[Extractor]:
    """The class of a name.

    >>> kind_of("blocks")
    <class 'visterm.features.blocks.block_visterms.Blocks'>
    """
    from visterm.features import EXTRACTORS

    if name == _ONNX:
        from visterm.features.cnn import OnnxEmbedder

        return OnnxEmbedder
    if name not in EXTRACTORS:
        known = ", ".join([*EXTRACTORS, f"{_ONNX}:FILE"])
        raise BadInput(f"no features called {name!r}; there are {known}, joined by +")
    return EXTRACTORS[name]


def parse_features(text: str, *, workers: int = 1, random_state: int = 0) -> Extractor:
    """The extractor that a text names; several names with ``+`` between them are `Combined`.

    >>> parse_features("blocks").name
    'blocks'
    >>> [part.name for part in parse_features("blocks+sift").parts]
    ['blocks', 'sift']
    """
    names = _split(text)
    parts = [_made(name, workers, random_state) for name in names]
    if len(parts) == 1:
        return parts[0]
    if len(set(names)) < len(names):
        raise BadInput(f"{text!r} names the same features twice")
    from visterm.features.combined import Combined

    return Combined(parts, workers=workers)


def _split(text: str) -> list[str]:
    """Names between the + signs; the file of an embedder may hold some of its own."""
    names: list[str] = []
    for piece in text.split("+"):
        if names and names[-1].startswith(f"{_ONNX}:") and not names[-1].endswith(".onnx"):
            names[-1] += f"+{piece}"
        else:
            names.append(piece.strip())
    return names


def _made(name: str, workers: int, random_state: int) -> Extractor:
    head, colon, path = name.partition(":")
    if head == _ONNX:
        if not path:
            raise BadInput(f"{_ONNX} needs a file: {_ONNX}:model.onnx")
        from visterm.features.cnn import OnnxEmbedder

        return OnnxEmbedder(path, workers=workers)
    if colon:
        raise BadInput(f"only {_ONNX} takes a file after a colon, not {head!r}")
    extractor = kind_of(name)()
    settings = {"workers": workers, "random_state": random_state}
    known = extractor.get_params()
    return extractor.set_params(**{key: value for key, value in settings.items() if key in known})
