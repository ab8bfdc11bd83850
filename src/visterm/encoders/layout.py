"""Which files of a folder are an encoder's: graphs, a tokenizer, and how pictures are made ready.

The layout is that of the transformers library's ONNX exports: ``onnx/vision_model.onnx``,
``onnx/text_model.onnx``, ``tokenizer.json``, ``preprocessor_config.json``, ``config.json``. A
network for pictures alone is ``onnx/model.onnx`` and ``preprocessor_config.json``. immich's and
rclip's are brought into it (`adoption`). Weights that do not fit into a graph's file lie beside it;
a graph may name no other files.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import re
from collections.abc import Collection, Mapping
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput

PRECISIONS = ("fp32", "fp16", "int8")
_ENDINGS = {"fp32": ("",), "fp16": ("_fp16",), "int8": ("_quantized", "_int8", "_uint8")}
RCLIP = "ViT-B-32-256-datacomp_s34b_b86k"
"""The folder of rclip's graphs."""
_VISION = ("onnx/vision_model", "onnx/model", "visual/model", f"{RCLIP}/visual")
_TEXT = ("onnx/text_model", "textual/model", f"{RCLIP}/textual")
_WEIGHTS = (".onnx_data", ".onnx.data")
"""How the files are called that hold weights beside a graph."""
PREPROCESSOR, TOKENIZER = "preprocessor_config.json", "tokenizer.json"
_MODEL_SETTINGS, _TOKENIZER_SETTINGS = "config.json", "tokenizer_config.json"
_TEXT_FILES = (TOKENIZER, _MODEL_SETTINGS, _TOKENIZER_SETTINGS)
MERGES = "tokenizer/bpe_simple_vocab_16e6.txt.gz"
"""The tokenizer of OpenAI's CLIP, as rclip keeps it."""
OPEN_CLIP_PREPROCESSOR = "visual/preprocess_cfg.json"
_FOREIGN = (
    *(OPEN_CLIP_PREPROCESSOR, MERGES),
    *("textual/tokenizer.json", "textual/tokenizer_config.json"),
)
"""Files of other layouts, before they are brought into this one."""
OFFERED = [
    *(f"{stem}{end}{kind}" for stem in (*_VISION, *_TEXT) for ends in _ENDINGS.values()
      for end in ends for kind in (".onnx", *_WEIGHTS)),
    PREPROCESSOR, *_TEXT_FILES, *_FOREIGN,
]  # fmt: skip
"""Every name that a file of an encoder can have; whatever else a folder holds is left there."""
_LARGEST_TEXT = 64 << 20
_USUAL_LENGTH = 77
_WEIGHTS_ELSEWHERE = re.compile(rb"\n\x08location(?:\x12([\x00-\x7f]))?", re.DOTALL)
"""How an ONNX file, a protocol buffer, names a file of tensors: a key, and the size of the name."""
_FILTERS = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")
"""Pillow's filters in the order of their numbers, which files name them by."""
_LARGEST_SIDE = 4096


@dataclass(frozen=True)
class Preprocessing:
    """Resize, cut, scale and shift.

    Attributes
    ----------
    resize : int, pair of int or None
        The short side after resizing, or height and width; None leaves the size.
    crop : pair of int or None
        Height and width of the middle that is cut out; what is smaller gets a black border.
    mean, deviation : triples of float
        Of red, green and blue, after scaling: the graph gets ``(v − mean) / deviation``.
    filter : str
        How pixels are resampled, one of Pillow's filters.
    scale : float
        What pixels are multiplied by.
    """

    resize: int | tuple[int, int] | None
    crop: tuple[int, int] | None
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    filter: str = "bicubic"
    scale: float = 1 / 255

    def __post_init__(self) -> None:
        if min(self.deviation) <= 0 or not 0 < self.scale <= 1:
            raise BadInput(f"{PREPROCESSOR}: deviations and the scale of pixels must be above zero")

    @property
    def digest(self) -> str:
        """A short hash of all of it, by which two encoders' ways can be compared."""
        return hashlib.sha256(json.dumps(astuple(self)).encode()).hexdigest()[:8]

    @property
    def max_side(self) -> int:
        """The long side that pictures are decoded to: far above what is made of them."""
        sides = self.crop or self.resize or 1024
        return 8 * max(sides if isinstance(sides, tuple) else (sides,))

    def square(self, pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """A picture as the graph sees it, before scaling.

        >>> whole = Preprocessing(4, (4, 4), (0.5,) * 3, (0.5,) * 3)
        >>> whole.square(np.full((8, 16, 3), 9, np.uint8)).shape
        (4, 4, 3)
        """
        from PIL import Image

        picture = Image.fromarray(pixels)
        if isinstance(self.resize, int):
            edge = min(picture.size)
            # As torchvision and its followers do: the long side is cut off, not rounded.
            sides = [
                self.resize if s == edge else int(self.resize * s / edge) for s in picture.size
            ]
        else:
            sides = [*reversed(self.resize or picture.size[::-1])]
        if tuple(sides) != picture.size:
            picture = picture.resize((sides[0], sides[1]), Image.Resampling[self.filter.upper()])
        if self.crop is not None:
            height, width = self.crop
            left, top = (picture.width - width) // 2, (picture.height - height) // 2
            picture = picture.crop((left, top, left + width, top + height))
        return np.asarray(picture)

    def fed(self, squares: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Squares (n, h, w, 3) as numbers for the graph, (n, 3, h, w)."""
        deviation = np.asarray(self.deviation, np.float64)
        factor = (self.scale / deviation).astype(np.float32)
        shift = (-np.asarray(self.mean) / deviation).astype(np.float32)
        return np.ascontiguousarray((squares * factor + shift).transpose(0, 3, 1, 2))


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
    is_canonical: bool = False
    """Whether texts go without capitals and punctuation, as open_clip's SigLIP learnt them."""


@dataclass(frozen=True)
class Layout:
    """The files of an encoder, by what they are, below its folder."""

    vision: str
    text: TextLayout | None
    files: tuple[str, ...]
    """All of them, weights and configurations too."""
    preprocessing: Preprocessing
    precision: str


def names_of(files: Collection[str], precision: str | None) -> list[str]:
    """Which of a folder's files are an encoder's, graphs first.

    >>> files = ["onnx/vision_model_fp16.onnx", "onnx/text_model_fp16.onnx", "a.py",
    ...          "tokenizer.json", "config.json", "preprocessor_config.json"]
    >>> names_of(files, None)[:2]
    ['onnx/vision_model_fp16.onnx', 'onnx/text_model_fp16.onnx']
    """
    chosen = _precision(files, precision)
    text = _graph(files, _TEXT, chosen)
    graphs = [name for name in (_graph(files, _VISION, chosen), text) if name is not None]
    weights = [graph.removesuffix(".onnx") + end for graph in graphs for end in _WEIGHTS]
    about_texts = () if text is None else _TEXT_FILES
    others = (*weights, PREPROCESSOR, *about_texts, *_FOREIGN)
    return [*graphs, *(name for name in others if name in files)]


def offered(folder: Path) -> list[str]:
    """The names of files in a folder that may be an encoder's."""
    return [name for name in OFFERED if (folder / name).is_file()]


def read_layout(folder: Path, precision: str | None = None) -> Layout:
    """Read what an encoder's files, which lie in a folder, say about it.

    Raises
    ------
    BadInput
        Where a file is missing or cannot be read, with its name.
    """
    files = offered(folder)
    names = names_of(files, precision)
    settings = {
        name: _json(folder, name)
        for name in names
        if name in (PREPROCESSOR, _MODEL_SETTINGS, _TOKENIZER_SETTINGS)
    }
    if PREPROCESSOR not in settings:
        raise BadInput(f"nothing says how pictures are made ready: {PREPROCESSOR} is missing")
    chosen = _precision(files, precision)
    text = None if _graph(files, _TEXT, chosen) is None else _text_layout(names, settings)
    preprocessing = from_transformers(settings[PREPROCESSOR])
    return Layout(names[0], text, tuple(names), preprocessing, chosen)


def _precision(files: Collection[str], wanted: str | None) -> str:
    """The precision wanted, or the first in which both sides are there, if there are two."""
    if wanted is not None and wanted not in PRECISIONS:
        raise BadInput(f"precision is one of {', '.join(PRECISIONS)}, not {wanted!r}")
    seen, read = ({p for p in PRECISIONS if _graph(files, stems, p)} for stems in (_VISION, _TEXT))
    if not seen or (read and not seen & read):
        missing = "a text graph of the same precision" if seen else "a vision graph"
        raise BadInput(
            f"{missing} is missing: an encoder has onnx/vision_model.onnx and "
            "onnx/text_model.onnx, a network for pictures onnx/model.onnx"
        )
    there = [precision for precision in PRECISIONS if precision in (seen & read or seen)]
    if wanted is not None and wanted not in there:
        raise BadInput(f"there are no graphs in {wanted}; there are {', '.join(there)}")
    return wanted or there[0]


def _graph(files: Collection[str], stems: tuple[str, ...], precision: str) -> str | None:
    names = (f"{stem}{end}.onnx" for stem in stems for end in _ENDINGS[precision])
    return next((name for name in names if name in files), None)


def _json(folder: Path, name: str) -> dict[str, Any]:
    try:
        if (folder / name).stat().st_size > _LARGEST_TEXT:
            raise BadInput(f"{name} is too large to be a configuration")
        content = json.loads((folder / name).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise BadInput(f"{name} cannot be read as JSON: {error}") from None
    if not isinstance(content, dict):
        raise BadInput(f"{name} must hold one JSON object")
    return content


def _text_layout(names: list[str], said: Mapping[str, dict[str, Any]]) -> TextLayout:
    """How texts are made ready, from the configurations of the model and its tokenizer."""
    if TOKENIZER not in names:
        raise BadInput(f"the tokenizer is missing: {TOKENIZER}")
    model, settings = said.get(_MODEL_SETTINGS, {}), said.get(_TOKENIZER_SETTINGS, {})
    pad = settings.get("pad_token")
    pad = pad.get("content") if isinstance(pad, dict) else pad
    is_open_clip = isinstance(model.get("text_cfg"), dict)
    text = model.get("text_cfg" if is_open_clip else "text_config")
    text = text if isinstance(text, dict) else {}
    length = "context_length" if is_open_clip else "max_position_embeddings"
    cleaning = text.get("tokenizer_kwargs")
    is_siglip = str(model.get("model_type", "")).startswith("siglip")
    pad_id = text.get("pad_token_id", 1 if is_siglip else None)
    return TextLayout(
        graph=names[1],
        length=_length(text.get(length, _USUAL_LENGTH)),
        is_filled=is_siglip or is_open_clip,  # they learnt from texts of one length
        pad_token=pad if isinstance(pad, str) else None,
        pad_id=pad_id if isinstance(pad_id, int) else None,
        is_canonical=isinstance(cleaning, dict) and cleaning.get("clean") == "canonicalize",
    )


def _length(value: Any) -> int:
    if type(value) is not int or not 2 <= value <= 8192:
        raise BadInput(f"texts have from 2 to 8192 tokens, not {value!r}")
    return value


def from_transformers(said: dict[str, Any]) -> Preprocessing:
    """Of a ``preprocessor_config.json`` as the transformers library writes it."""
    size, resample = said.get("size"), said.get("resample", 3)
    if not isinstance(resample, int) or not 0 <= resample < len(_FILTERS):
        raise BadInput(
            f"{PREPROCESSOR}: resample is the number of one of Pillow's filters, not {resample!r}"
        )
    short = size.get("shortest_edge") if isinstance(size, dict) else size
    resize = _pair(size) if short is None or isinstance(short, list) else _pair(short)[0]
    is_cut = said.get("do_center_crop", "crop_size" in said)
    is_plain = said.get("do_normalize", True) is False
    return Preprocessing(
        resize=resize if said.get("do_resize", True) else None,
        crop=_pair(said.get("crop_size")) if is_cut else None,
        mean=(0.0,) * 3 if is_plain else _numbers(said.get("image_mean"), 3, "image_mean"),
        deviation=(1.0,) * 3 if is_plain else _numbers(said.get("image_std"), 3, "image_std"),
        filter=_FILTERS[resample],
        scale=_numbers([said.get("rescale_factor", 1 / 255)], 1, "rescale_factor")[0]
        if said.get("do_rescale", True)
        else 1.0,
    )


def _pair(size: Any) -> tuple[int, int]:
    """Height and width, however a file writes them."""
    if isinstance(size, dict):
        size = [size.get("height"), size.get("width")]
    both = size if isinstance(size, list) else [size, size]
    if len(both) != 2 or not all(type(side) is int and 1 <= side <= _LARGEST_SIDE for side in both):
        raise BadInput(
            f"{PREPROCESSOR}: sizes are whole numbers of pixels up to {_LARGEST_SIDE}, not {size!r}"
        )
    return both[0], both[1]


def _numbers(value: Any, count: int, name: str) -> tuple[float, ...]:
    is_list = isinstance(value, list) and len(value) == count
    if not is_list or not all(type(n) in (int, float) and np.isfinite(n) for n in value):
        raise BadInput(f"{PREPROCESSOR}: {name} must be {count} finite numbers, not {value!r}")
    return tuple(float(number) for number in value)


def check_weights(folder: Path, graph: str) -> None:
    """Refuse a graph whose weights lie anywhere but in the encoder's own files beside it."""
    path = folder / graph
    if not path.stat().st_size:
        raise BadInput(f"{graph} is empty")
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for entry in _WEIGHTS_ELSEWHERE.finditer(data):
            size = entry[1][0] if entry[1] else 0
            name = data[entry.end() : entry.end() + size].decode("utf-8", "replace")
            beside = Path(graph).parent / name
            if not name or Path(name).name != name or beside.as_posix() not in OFFERED:
                raise BadInput(
                    f"{graph} wants its weights from {name!r}, which is no file of this encoder"
                )


def add_output(path: Path, name: str) -> None:
    """Make a value inside of a graph one of its outputs.

    A protocol buffer that follows another is merged into it: what is appended is a model whose
    graph has nothing but this output, without its type, which onnxruntime infers.
    """
    field = name.encode()
    for number in (1, 12, 7):  # the name of an output of the graph of a model
        if len(field) > 127:
            raise BadInput(f"a name of {len(name)} bytes is too long for an output")
        field = bytes([number << 3 | 2, len(field)]) + field
    with open(path, "ab") as file:
        file.write(field)
