"""Which files of a folder are an encoder's: two graphs, a tokenizer, and how pictures are made.

Two layouts are known: that of the transformers library's ONNX exports (``onnx/vision_model.onnx``,
``onnx/text_model.onnx``, ``tokenizer.json``, ``preprocessor_config.json``, ``config.json``), and
that of open_clip's (``visual/model.onnx`` and ``textual/model.onnx``, or ``visual.onnx`` and
``textual.onnx``, with ``open_clip_config.json``, or ``config.json`` and ``preprocess_cfg.json``).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from visterm.encoders.preprocessing import Preprocessing, from_open_clip, from_transformers
from visterm.errors import BadInput

PRECISIONS = ("fp32", "fp16", "int8")
_ENDINGS = {"fp32": ("",), "fp16": ("_fp16",), "int8": ("_quantized", "_int8", "_uint8")}
_VISION = ("onnx/vision_model", "vision_model", "visual/model", "visual")
_TEXT = ("onnx/text_model", "text_model", "textual/model", "textual")
_WEIGHTS = (".onnx_data", ".onnx.data", ".data")
"""How the files are called that hold weights beside a graph."""
_TOKENIZERS = ("tokenizer.json", "textual/tokenizer.json")
_PREPROCESSORS = ("preprocessor_config.json", "preprocess_cfg.json", "visual/preprocess_cfg.json")
_CONFIGURATIONS = ("open_clip_config.json", "config.json")
OFFERED = [
    *(f"{stem}{end}{kind}" for stem in (*_VISION, *_TEXT) for ends in _ENDINGS.values()
      for end in ends for kind in (".onnx", *_WEIGHTS)),
    *_TOKENIZERS, *_PREPROCESSORS, *_CONFIGURATIONS,
]  # fmt: skip
"""Every name that a file of an encoder can have; whatever else a folder holds is left there."""
MOST_BYTES = 8 << 30
"""Of all files together; the largest encoders in use have half of it."""
_LARGEST_TEXT = 64 << 20
_USUAL_LENGTH = 77


@dataclass(frozen=True)
class Layout:
    """The files of an encoder, by what they are, below its folder."""

    vision: str
    text: str
    tokenizer: str
    files: tuple[str, ...]
    """All of them, weights and configurations too."""
    preprocessing: Preprocessing
    length: int
    """Most tokens of a text."""
    padded: int | None
    """The token that fills texts up to that length, where the graph wants all of one length."""
    precision: str


def names_of(files: Mapping[str, int], precision: str | None) -> list[str]:
    """Which of a folder's files, given with their sizes, are an encoder's.

    >>> files = {"onnx/vision_model_fp16.onnx": 1, "onnx/text_model_fp16.onnx": 1, "a.py": 9,
    ...          "tokenizer.json": 1, "config.json": 1, "preprocessor_config.json": 1}
    >>> names_of(files, None)[:2]
    ['onnx/vision_model_fp16.onnx', 'onnx/text_model_fp16.onnx']
    """
    chosen = _precision(files, precision)
    graphs = [_graph(files, kind, chosen) for kind in (_VISION, _TEXT)]
    beside = [
        name
        for graph in graphs
        for end in _WEIGHTS
        if (name := graph.removesuffix(".onnx") + end) in files
    ]
    others = [name for name in (*_PREPROCESSORS, *_CONFIGURATIONS) if name in files]
    return [*graphs, _first(files, _TOKENIZERS, "tokenizer"), *beside, *others]


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
        if name in (*_PREPROCESSORS, *_CONFIGURATIONS)
    }
    about: dict[str, Any] = {}
    for name in _CONFIGURATIONS:
        about |= said.get(name, {})
    preprocessing = _preprocessing(said, about)
    length, padded = _lengths(about)
    return Layout(
        names[0],
        names[1],
        names[2],
        tuple(names),
        preprocessing,
        length,
        padded,
        _precision(files, precision),
    )


def most_bytes() -> int:
    """How large an encoder may be: ``VISTERM_ENCODER_BYTES``, or eight gibibytes."""
    given = os.environ.get("VISTERM_ENCODER_BYTES", "")
    return int(given) if given.isdigit() else MOST_BYTES


def check_size(files: dict[str, int]) -> None:
    """Refuse what is larger than encoders are."""
    total, most = sum(files.values()), most_bytes()
    if total > most:
        raise BadInput(
            f"these files have {total / 1e9:,.1f} GB, and an encoder at most {most / 1e9:,.1f} GB "
            "(VISTERM_ENCODER_BYTES says otherwise)"
        )


def _precision(files: Mapping[str, int], wanted: str | None) -> str:
    if wanted is not None and wanted not in PRECISIONS:
        raise BadInput(f"precision is one of {', '.join(PRECISIONS)}, not {wanted!r}")
    there = [
        one for one in PRECISIONS if all(_found(files, kind, one) for kind in (_VISION, _TEXT))
    ]
    if wanted is not None and wanted not in there:
        raise BadInput(f"there are no graphs in {wanted}; there are {', '.join(there) or 'none'}")
    if not there:
        missing = "a vision graph" if not any(
            _found(files, _VISION, one) for one in PRECISIONS
        ) else "a text graph of the same precision"  # fmt: skip
        raise BadInput(
            f"{missing} is missing: an encoder has vision_model.onnx and text_model.onnx, or "
            "visual.onnx and textual.onnx"
        )
    return wanted or there[0]


def _found(files: Mapping[str, int], stems: tuple[str, ...], precision: str) -> str | None:
    names = (f"{stem}{end}.onnx" for stem in stems for end in _ENDINGS[precision])
    return next((name for name in names if name in files), None)


def _graph(files: Mapping[str, int], stems: tuple[str, ...], precision: str) -> str:
    found = _found(files, stems, precision)
    assert found is not None
    return found


def _first(files: Mapping[str, int], names: tuple[str, ...], what: str) -> str:
    found = next((name for name in names if name in files), None)
    if found is None:
        raise BadInput(f"the {what} is missing: {names[0]}")
    return found


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


def _preprocessing(said: dict[str, dict[str, Any]], about: dict[str, Any]) -> Preprocessing:
    for name in _PREPROCESSORS:
        if name in said:
            from_file = from_transformers if "image_mean" in said[name] else from_open_clip
            try:
                return from_file(said[name])
            except BadInput as error:
                raise BadInput(f"{name}: {error}") from None
    if isinstance(about.get("preprocess_cfg"), dict):
        return from_open_clip(about["preprocess_cfg"])
    raise BadInput(f"nothing says how pictures are made ready: {_PREPROCESSORS[0]} is missing")


def _lengths(about: dict[str, Any]) -> tuple[int, int | None]:
    """Most tokens of a text, and what shorter ones are filled with, if with anything."""
    model = about.get("model_cfg")
    own = model if isinstance(model, dict) else about
    open_clip = own.get("text_cfg")
    if isinstance(open_clip, dict):
        return _length(open_clip.get("context_length", _USUAL_LENGTH)), 0
    text = about.get("text_config")
    text = text if isinstance(text, dict) else {}
    length = _length(text.get("max_position_embeddings", _USUAL_LENGTH))
    # SigLIP learnt from texts that were all of one length.
    if str(about.get("model_type", "")).startswith("siglip"):
        pad = text.get("pad_token_id", 1)
        return length, pad if isinstance(pad, int) else 1
    return length, None


def _length(value: Any) -> int:
    if type(value) is not int or not 2 <= value <= 8192:
        raise BadInput(f"texts have from 2 to 8192 tokens, not {value!r}")
    return value
