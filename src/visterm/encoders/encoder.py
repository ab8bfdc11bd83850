"""An installed encoder, opened: pictures in, texts in, vectors of one space out."""

from __future__ import annotations

import contextlib
import json
import string
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.encoders.installation import Manifest, home, manifest_of
from visterm.encoders.layout import TOKENIZER, Layout, TextLayout, read_layout
from visterm.errors import BadInput, MissingExtra
from visterm.matrices import unit_rows
from visterm.onnx_session import one_line, open_session

_FLOATS = {"tensor(float)": np.float32, "tensor(float16)": np.float16}
_WHOLE = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_VECTORS = (
    *("image_embeds", "text_embeds", "image_features", "text_features"),
    *("embedding", "embeddings", "sentence_embedding", "pooler_output", "output"),
)
"""What exports call the output that is compared, the likeliest first."""
_TOGETHER = 32
_FILLERS = ("<pad>", "[PAD]")
_PUNCTUATION = str.maketrans({"_": " "} | dict.fromkeys(string.punctuation.replace("_", "")))


@dataclass(frozen=True)
class Encoder:
    """A graph for pictures and, of a dual encoder, one for texts with its tokenizer."""

    folder: Path
    layout: Layout
    manifest: Manifest
    provider: str = "cpu"

    @property
    def dimensions(self) -> int:
        return self.manifest.dimensions

    def picture_rows(self, pictures: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """Vectors of unit length of decoded pictures."""
        squares = np.stack([self.layout.preprocessing.square(picture) for picture in pictures])
        return self._vision.rows({"": self.layout.preprocessing.fed(squares)})

    def text_rows(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of unit length of texts; those of one length go through the graph together."""
        tokens = [self._tokens(text) for text in texts]
        order = sorted(range(len(texts)), key=lambda place: len(tokens[place]))
        parts = [
            self._text.rows(self._text_inputs(np.array([tokens[place] for place in places])))
            for places in _runs(order, [len(tokens[place]) for place in order])
        ]
        return np.concatenate(parts)[np.argsort(order)]

    def word_rows(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of words: of each, the mean of a few prompts around it, at unit length."""
        prompts = self.manifest.prompts
        rows = self.text_rows([prompt.replace("{}", word) for word in words for prompt in prompts])
        return unit_rows(rows.reshape(len(words), len(prompts), -1).mean(axis=1))

    def _tokens(self, text: str) -> list[int]:
        most = self._text.fixed_length or self._texts.length
        plain = canonical(text) if self._texts.is_canonical else text
        ids = list(self._tokenizer.encode(self.manifest.prefix + plain).ids)
        if not ids:
            raise BadInput(f"the tokenizer makes nothing of {text!r}")
        # The end is a token of its own, which a long text keeps.
        return ids if len(ids) <= most else [*ids[: most - 1], ids[-1]]

    def _text_inputs(self, ids: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """What the text graph takes, for texts of one length, filled up where it wants that."""
        mask = np.ones_like(ids)
        length = self._text.fixed_length or (self._texts.length if self._texts.is_filled else None)
        if length is not None:
            more = ((0, 0), (0, length - ids.shape[1]))
            ids, mask = np.pad(ids, more, constant_values=self._pad_id), np.pad(mask, more)
        given: dict[str, NDArray[Any]] = {}
        for name in self._text.inputs:
            positions = np.tile(np.arange(ids.shape[1]), (len(ids), 1))
            given[name] = mask if "mask" in name else positions if "position" in name else ids
        return given

    @property
    def _texts(self) -> TextLayout:
        if self.layout.text is None:
            raise BadInput(
                f"{self.manifest.name} is a network for pictures alone and cannot read texts"
            )
        return self.layout.text

    @cached_property
    def _vision(self) -> Graph:
        path = self.folder / self.layout.vision
        return Graph(path, self.provider, _FLOATS, tokens=self.layout.text is None)

    @cached_property
    def _text(self) -> Graph:
        return Graph(self.folder / self._texts.graph, self.provider, _WHOLE)

    @cached_property
    def _pad_id(self) -> int:
        """What fills texts up: what the tokenizer's configuration names, the model's, or it has."""
        named = self._texts.pad_token
        by_name = None if named is None else self._tokenizer.token_to_id(named)
        own = (self._read_tokenizer().padding or {}).get("pad_id")
        usual = map(self._tokenizer.token_to_id, _FILLERS)
        ids = (by_name, self._texts.pad_id, own, *usual, 0)
        return int(next(number for number in ids if number is not None))

    @cached_property
    def _tokenizer(self) -> Any:
        tokenizer = self._read_tokenizer()
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer

    def _read_tokenizer(self) -> Any:
        try:
            from tokenizers import Tokenizer
        except ImportError:
            raise MissingExtra(
                "encoders read texts with tokenizers; install it: pip install visterm[encoders]"
            ) from None
        path = self.folder / TOKENIZER
        try:
            return Tokenizer.from_file(str(path))
        except Exception as error:  # tokenizers raises plain Exceptions
            raise BadInput(f"{path.name} is no tokenizer: {one_line(error)}") from None


class Graph:
    """One side of an encoder: an ONNX graph with inputs of a known kind and a vector a row.

    With ``tokens``, an output of a class token and patch tokens will do, and counts before a vector
    that was pooled from them.
    """

    def __init__(
        self, path: Path, provider: str, kinds: dict[str, Any], *, tokens: bool = False
    ) -> None:
        self.where = path.name
        self._session = open_session(str(path), self.where, provider)
        self.inputs = {value.name: value for value in self._session.get_inputs()}
        self._kinds = kinds
        if not self.inputs or any(value.type not in kinds for value in self.inputs.values()):
            listed = ", ".join(f"{value.name} {value.type}" for value in self.inputs.values())
            raise BadInput(f"{self.where} takes {listed or 'nothing'}, not {' or '.join(kinds)}")
        if kinds is _FLOATS and len(self.inputs) != 1:
            raise BadInput(
                f"{self.where} takes {', '.join(self.inputs)}, not pictures alone; export the two "
                "sides apart"
            )
        axes = {value.name: len(value.shape or []) for value in self._session.get_outputs()}
        flat = [name for name, count in axes.items() if count == 2]
        deep = [name for name, count in axes.items() if count == 3 and tokens]
        pooled = ["pooler_output"] if deep and "pooler_output" in flat else []
        named = [name for name in _VECTORS if name in flat and name not in pooled]
        wanted = [*named, *(name for name in flat if name not in pooled), *deep, *pooled]
        if not wanted:
            raise BadInput(f"{self.where} gives no vector a row")
        self._output = wanted[0]

    @property
    def fixed_length(self) -> int | None:
        """How many tokens every text must have; None where that is left open."""
        shape = next(iter(self.inputs.values())).shape
        return shape[1] if len(shape) == 2 and isinstance(shape[1], int) else None

    def rows(self, given: dict[str, NDArray[Any]]) -> NDArray[np.float32]:
        """The graph's vectors at unit length; a single input may go without its name."""
        fed = {
            name: given.get(name, given.get("")).astype(self._kinds[value.type], copy=False)  # type: ignore[union-attr]
            for name, value in self.inputs.items()
        }
        count = len(next(iter(fed.values())))
        at_once = next(iter(self.inputs.values())).shape[0]
        step = at_once if isinstance(at_once, int) and at_once > 0 else count
        try:
            result = np.concatenate(
                [
                    self._session.run([self._output], {k: v[n : n + step] for k, v in fed.items()})[
                        0
                    ]
                    for n in range(0, count, step)
                ]
            )
        except Exception as error:  # onnxruntime's exceptions share no base class of their own
            raise BadInput(f"{self.where} cannot be run: {one_line(error)}") from None
        rows = np.asarray(result, np.float32)
        if rows.ndim == 3 and rows.shape[1] > 1:
            rows = class_and_patches(rows)
        if rows.ndim != 2 or len(rows) != count or not np.isfinite(rows).all():
            raise BadInput(f"{self.where} does not give a row of finite numbers for each input")
        return unit_rows(rows)


def canonical(text: str) -> str:
    """A text without capitals and punctuation.

    >>> canonical("A dog's  bone, on_sand!")
    'a dogs bone on sand'
    """
    return " ".join(text.translate(_PUNCTUATION).lower().split())


def class_and_patches(tokens: NDArray[np.float32]) -> NDArray[np.float32]:
    """The class token, which comes first, and the mean of the others, each at unit length.

    >>> class_and_patches(np.array([[[0, 2], [3, 0], [1, 0]]], np.float32)).tolist()
    [[0.0, 1.0, 1.0, 0.0]]
    """
    both = tokens[:, 0], tokens[:, 1:].mean(axis=1)
    return np.concatenate([unit_rows(rows) for rows in both], axis=1)


def open_encoder(name: str, provider: str = "cpu", digest: str | None = None) -> Encoder:
    """An installed encoder by its name; the same object as long as its files are the same.

    Raises
    ------
    BadInput
        Where there is none of this name, or, where a ``digest`` is given, it is another one now.
    """
    manifest = manifest_of(name)
    if digest is not None and not manifest.digest.startswith(digest):
        raise BadInput(
            f"the encoder {name} is another one now than when these pictures were described; "
            f"describe them again: visterm add --features {name}"
        )
    return _opened(name, manifest.folder, manifest.prompts, provider)


@lru_cache(maxsize=4)
def _opened(name: str, folder: str, prompts: tuple[str, ...], provider: str) -> Encoder:
    manifest = manifest_of(name)
    layout = read_layout(home() / folder, manifest.precision)
    return Encoder(home() / folder, layout, manifest, provider)


def _runs(places: list[int], lengths: list[int]) -> list[list[int]]:
    """Places in order, those of one length together, not too many at a time.

    >>> _runs([4, 2, 7], [1, 1, 3])
    [[4, 2], [7]]
    """
    runs: list[list[int]] = []
    for place, length, before in zip(places, lengths, [None, *lengths], strict=False):
        if length != before or len(runs[-1]) == _TOGETHER:
            runs.append([])
        runs[-1].append(place)
    return runs


def trial() -> None:
    """A text and a picture through an encoder, in a process of its own.

    Reads folder, precision and the memory allowed as JSON from stdin, and prints how many
    numbers came out, or what is wrong.
    """
    folder, precision, memory = json.load(sys.stdin)
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    try:
        answer: dict[str, Any] = {"dimensions": tried(Path(folder), precision)}
    except MissingExtra as error:
        answer = {"extra": str(error)}
    except BadInput as error:
        answer = {"problem": str(error)}
    except MemoryError:
        answer = {"problem": "the graphs need too much memory"}
    print(json.dumps(answer), flush=True)


def tried(folder: Path, precision: str) -> int:
    """How many numbers a picture and a text become; an error where these are not alike."""
    about = Manifest("trial", str(folder), "", "", {}, 0, precision, reads_texts=False)
    encoder = Encoder(folder, read_layout(folder, precision), about)
    picture = np.linspace(0, 255, 96 * 64 * 3).astype(np.uint8).reshape(64, 96, 3)
    rows = [encoder.picture_rows([picture])]
    if encoder.layout.text is not None:
        rows.append(encoder.text_rows(["a photo of a tree"]))
    if not all(row.any() for row in rows):
        raise BadInput("a picture or a text becomes nothing but zeros")
    widths = [row.shape[1] for row in rows]
    if len(set(widths)) > 1:
        raise BadInput(
            f"a picture becomes {widths[0]} numbers and a text {widths[1]}: these graphs do not "
            "belong together"
        )
    return int(widths[0])
