"""Encoders as immich and rclip keep them, brought into the one layout that is read.

immich's models lie in ``visual/`` and ``textual/``, with open_clip's way of making pictures ready;
rclip's are two graphs and the merges of OpenAI's tokenizer.
"""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

from visterm.encoders.layout import (
    MERGES,
    OPEN_CLIP_PREPROCESSOR,
    PREPROCESSOR,
    RCLIP,
    TOKENIZER,
)
from visterm.errors import BadInput, needs_extra

_MOVED = {
    f"{RCLIP}/visual.onnx": "visual/model.onnx",
    f"{RCLIP}/textual.onnx": "textual/model.onnx",
    "textual/tokenizer.json": TOKENIZER,
    "textual/tokenizer_config.json": "tokenizer_config.json",
}
_CLIP = {
    "mean": [0.48145466, 0.4578275, 0.40821073],
    "std": [0.26862954, 0.26130258, 0.27577711],
}
_RESAMPLE = {"nearest": 0, "bilinear": 2, "bicubic": 3}
_MERGES = 49_152 - 256 - 2
"""Merges of OpenAI's tokenizer; its file has more."""
_LARGEST_MERGES = 16 << 20
_SPLIT = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"


def adopt(folder: Path) -> None:
    """Rename and rewrite what lies in a folder as immich or rclip have it; other files stay."""
    is_rclip = (folder / RCLIP).is_dir()
    for name, target in _MOVED.items():
        if (folder / name).is_file():
            (folder / target).parent.mkdir(exist_ok=True)
            (folder / name).rename(folder / target)
    if (folder / OPEN_CLIP_PREPROCESSOR).is_file():
        _write(folder / PREPROCESSOR, from_open_clip(_read(folder / OPEN_CLIP_PREPROCESSOR)))
    if is_rclip:
        (folder / RCLIP).rmdir()
        _write(folder / PREPROCESSOR, from_open_clip({"size": 256, **_CLIP}))
        _write(folder / "config.json", {"text_cfg": {"context_length": 77, "pad_token_id": 0}})
        if (folder / MERGES).is_file():
            clip_tokenizer(folder / MERGES).save(str(folder / TOKENIZER))


def from_open_clip(said: dict[str, Any]) -> dict[str, Any]:
    """open_clip's ``preprocess_cfg`` as the transformers library writes it.

    >>> from_open_clip({"size": 8, "resize_mode": "squash", **_CLIP})["size"]
    {'height': 8, 'width': 8}
    """
    size, mode = said.get("size"), said.get("resize_mode", "shortest")
    height, width = size if isinstance(size, list) and len(size) == 2 else (size, size)
    filter_ = said.get("interpolation", "bicubic")
    if mode not in ("shortest", "squash") or filter_ not in _RESAMPLE:
        raise BadInput(
            f"{OPEN_CLIP_PREPROCESSOR}: pictures are resized by 'shortest' or 'squash' with "
            f"{', '.join(_RESAMPLE)}, not {mode!r} with {filter_!r}"
        )
    whole = {"height": height, "width": width}
    return {
        "size": whole if mode == "squash" else {"shortest_edge": height},
        "do_center_crop": mode == "shortest",
        "crop_size": whole,
        "resample": _RESAMPLE[filter_],
        "image_mean": said.get("mean"),
        "image_std": said.get("std"),
    }


def clip_tokenizer(merges: Path) -> Any:
    """The tokenizer of OpenAI's CLIP, from the file of its merges."""
    with needs_extra("encoders", "encoders read texts with tokenizers"):
        from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
    try:
        with gzip.open(merges) as file:
            lines = file.read(_LARGEST_MERGES).decode("utf-8").split("\n")
        pairs = [
            (left, right) for left, right in map(str.split, filter(None, lines[1 : _MERGES + 1]))
        ]
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise BadInput(f"{MERGES} holds no merges of a tokenizer: {error}") from None
    # The order of bytes is that of GPT-2's table: the printable ones first.
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = [chr(byte) for byte in printable] + [
        chr(256 + n) for n in range(256 - len(printable))
    ]
    ends = [letter + "</w>" for letter in letters]
    words = [*letters, *ends, *map("".join, pairs), "<start_of_text>", "<end_of_text>"]
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(models.BPE(vocabulary, pairs, end_of_word_suffix="</w>"))
    spaces = normalizers.Replace(Regex(r"\s+"), " ")
    tokenizer.normalizer = normalizers.Sequence([spaces, normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_SPLIT), "removed", invert=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    special = [(name, vocabulary[name]) for name in words[-2:]]
    tokenizer.add_special_tokens([name for name, _ in special])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{words[-2]} $A {words[-1]}", special_tokens=special
    )
    return tokenizer


def _read(path: Path) -> dict[str, Any]:
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"{path.name} cannot be read as JSON: {error}") from None
    if not isinstance(said, dict):
        raise BadInput(f"{path.name} must hold one JSON object")
    return said


def _write(path: Path, said: dict[str, Any]) -> None:
    path.write_text(json.dumps(said), encoding="utf-8")
