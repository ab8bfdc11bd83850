"""Which files of a folder are an encoder's: graphs, a tokenizer, and how pictures are made ready.

The layout is that of the transformers library's ONNX exports: ``onnx/vision_model.onnx``,
``onnx/text_model.onnx``, ``tokenizer.json``, ``preprocessor_config.json``, ``config.json``. A
network for pictures alone is ``onnx/model.onnx`` and ``preprocessor_config.json``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from visterm.encoders.preprocessing import Preprocessing, from_transformers
from visterm.errors import BadInput

PRECISIONS = ("fp32", "fp16", "int8")
_ENDINGS = {"fp32": ("",), "fp16": ("_fp16",), "int8": ("_quantized", "_int8", "_uint8")}
_VISION = ("onnx/vision_model", "onnx/model")
_TEXT = ("onnx/text_model",)
_WEIGHTS = (".onnx_data", ".onnx.data")
"""How the files are called that hold weights beside a graph."""
PREPROCESSOR, TOKENIZER = "preprocessor_config.json", "tokenizer.json"
_MODEL_SETTINGS, _TOKENIZER_SETTINGS = "config.json", "tokenizer_config.json"
_TEXT_FILES = (TOKENIZER, _MODEL_SETTINGS, _TOKENIZER_SETTINGS)
OFFERED = [
    *(f"{stem}{end}{kind}" for stem in (*_VISION, *_TEXT) for ends in _ENDINGS.values()
      for end in ends for kind in (".onnx", *_WEIGHTS)),
    PREPROCESSOR, *_TEXT_FILES,
]  # fmt: skip
"""Every name that a file of an encoder can have; whatever else a folder holds is left there."""
_LARGEST_TEXT = 64 << 20
_USUAL_LENGTH = 77


@dataclass(frozen=True)
class TextLayout:
    """The text side of an encoder: its files below the folder, and how texts are made ready."""

    graph: str
    length: int
    """Most tokens of a text."""
    is_filled: bool
    """Whether all texts are filled up to that length."""
    pad_token: str | None
    """What fills them, where the tokenizer's configuration says so."""
    pad_id: int | None
    """Its number, where only the model's configuration says so."""


@dataclass(frozen=True)
class Layout:
    """The files of an encoder, by what they are, below its folder."""

    vision: str
    text: TextLayout | None
    files: tuple[str, ...]
    """All of them, weights and configurations too."""
    preprocessing: Preprocessing
    precision: str


def names_of(files: Mapping[str, int], precision: str | None) -> list[str]:
    """Which of a folder's files, given with their sizes, are an encoder's.

    >>> files = {"onnx/vision_model_fp16.onnx": 1, "onnx/text_model_fp16.onnx": 1, "a.py": 9,
    ...          "tokenizer.json": 1, "config.json": 1, "preprocessor_config.json": 1}
    >>> names_of(files, None)[:2]
    ['onnx/vision_model_fp16.onnx', 'onnx/text_model_fp16.onnx']
    """
    chosen = _precision(files, precision)
    text = _graph(files, _TEXT, chosen)
    graphs = [name for name in (_graph(files, _VISION, chosen), text) if name is not None]
    weights = [graph.removesuffix(".onnx") + end for graph in graphs for end in _WEIGHTS]
    about_texts = () if text is None else _TEXT_FILES
    others = (*weights, PREPROCESSOR, *about_texts)
    return [*graphs, *(name for name in others if name in files)]


def read_layout(folder: Path, files: Mapping[str, int], precision: str | None = None) -> Layout:
    """Read what an encoder's files say about it.

    Raises
    ------
    BadInput
        Where a file is missing or cannot be read, with its name.
    """
    names = names_of(files, precision)
    said = {
        name: _json(folder, name, files[name])
        for name in names
        if name in (PREPROCESSOR, _MODEL_SETTINGS, _TOKENIZER_SETTINGS)
    }
    chosen = _precision(files, precision)
    text = None if _graph(files, _TEXT, chosen) is None else _text_layout(names, said)
    return Layout(names[0], text, tuple(names), _preprocessing(said), chosen)


def _precision(files: Mapping[str, int], wanted: str | None) -> str:
    """The precision wanted, or the first in which both sides are there, if there are two."""
    if wanted is not None and wanted not in PRECISIONS:
        raise BadInput(f"precision is one of {', '.join(PRECISIONS)}, not {wanted!r}")
    seen, read = (
        {one for one in PRECISIONS if _graph(files, stems, one)} for stems in (_VISION, _TEXT)
    )
    if not seen or (read and not seen & read):
        missing = "a text graph of the same precision" if seen else "a vision graph"
        raise BadInput(
            f"{missing} is missing: an encoder has onnx/vision_model.onnx and "
            "onnx/text_model.onnx, a network for pictures onnx/model.onnx"
        )
    there = [one for one in PRECISIONS if one in (seen & read or seen)]
    if wanted is not None and wanted not in there:
        raise BadInput(f"there are no graphs in {wanted}; there are {', '.join(there)}")
    return wanted or there[0]


def _graph(files: Mapping[str, int], stems: tuple[str, ...], precision: str) -> str | None:
    names = (f"{stem}{end}.onnx" for stem in stems for end in _ENDINGS[precision])
    return next((name for name in names if name in files), None)


def _json(folder: Path, name: str, size: int) -> dict[str, Any]:
    if size > _LARGEST_TEXT:
        raise BadInput(f"{name} is too large to be a configuration")
    try:
        said = json.loads((folder / name).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise BadInput(f"{name} cannot be read as JSON: {error}") from None
    if not isinstance(said, dict):
        raise BadInput(f"{name} must hold one JSON object")
    return said


def _preprocessing(said: Mapping[str, dict[str, Any]]) -> Preprocessing:
    if PREPROCESSOR not in said:
        raise BadInput(f"nothing says how pictures are made ready: {PREPROCESSOR} is missing")
    try:
        return from_transformers(said[PREPROCESSOR])
    except BadInput as error:
        raise BadInput(f"{PREPROCESSOR}: {error}") from None


def _text_layout(names: list[str], said: Mapping[str, dict[str, Any]]) -> TextLayout:
    """How texts are made ready, from the configurations of the model and its tokenizer."""
    if TOKENIZER not in names:
        raise BadInput(f"the tokenizer is missing: {TOKENIZER}")
    model, settings = said.get(_MODEL_SETTINGS, {}), said.get(_TOKENIZER_SETTINGS, {})
    pad = settings.get("pad_token")
    pad = pad.get("content") if isinstance(pad, dict) else pad
    text = model.get("text_config")
    text = text if isinstance(text, dict) else {}
    is_siglip = str(model.get("model_type", "")).startswith("siglip")
    pad_id = text.get("pad_token_id", 1 if is_siglip else None)
    return TextLayout(
        graph=names[1],
        length=_length(text.get("max_position_embeddings", _USUAL_LENGTH)),
        is_filled=is_siglip,  # it learnt from texts of one length
        pad_token=pad if isinstance(pad, str) else None,
        pad_id=pad_id if isinstance(pad_id, int) else None,
    )


def _length(value: Any) -> int:
    if type(value) is not int or not 2 <= value <= 8192:
        raise BadInput(f"texts have from 2 to 8192 tokens, not {value!r}")
    return value
