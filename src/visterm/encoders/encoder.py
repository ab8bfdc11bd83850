"""An installed encoder, opened: pictures in, texts in, vectors of one space out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visterm.encoders.installation import folder, manifest_of
from visterm.encoders.layout import Layout, read_layout
from visterm.encoders.manifest import Manifest
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


@dataclass(frozen=True)
class Encoder:
    """Two graphs and a tokenizer."""

    folder: Path
    layout: Layout
    manifest: Manifest
    provider: str = "cpu"

    @property
    def dimensions(self) -> int:
        return self.manifest.dimensions

    def picture_rows(self, pictures: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """Vectors of unit length of decoded pictures."""
        squares = np.stack([self.layout.preprocessing.square(one) for one in pictures])
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
        ids = list(self._tokenizer.encode(text).ids)
        if not ids:
            raise BadInput(f"the tokenizer makes nothing of {text!r}")
        most = self._text.fixed_length or self.layout.length
        # The end is a token of its own, which a long text keeps.
        return ids if len(ids) <= most else [*ids[: most - 1], ids[-1]]

    def _text_inputs(self, ids: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """What the text graph takes, for texts of one length, filled up where it wants that."""
        mask = np.ones_like(ids)
        length = self._text.fixed_length
        if self.layout.padded is not None:
            length = length or self.layout.length
        if length is not None:
            more = ((0, 0), (0, length - ids.shape[1]))
            ids, mask = np.pad(ids, more, constant_values=self._fill), np.pad(mask, more)
        given: dict[str, NDArray[Any]] = {}
        for name in self._text.inputs:
            positions = np.tile(np.arange(ids.shape[1]), (len(ids), 1))
            given[name] = mask if "mask" in name else positions if "position" in name else ids
        return given

    @property
    def _fill(self) -> int:
        """The token that fills texts up: as the configuration says, else as the tokenizer does."""
        if self.layout.padded is not None:
            return self.layout.padded
        return self._padding

    @cached_property
    def _vision(self) -> Graph:
        return Graph(self.folder / self.layout.vision, self.provider, _FLOATS)

    @cached_property
    def _text(self) -> Graph:
        return Graph(self.folder / self.layout.text, self.provider, _WHOLE)

    @cached_property
    def _padding(self) -> int:
        return int((self._read_tokenizer().padding or {}).get("pad_id", 0))

    @cached_property
    def _tokenizer(self) -> Any:
        found = self._read_tokenizer()
        found.no_padding()
        found.no_truncation()
        return found

    def _read_tokenizer(self) -> Any:
        try:
            from tokenizers import Tokenizer
        except ImportError:
            raise MissingExtra(
                "encoders read texts with tokenizers; install it: pip install visterm[encoders]"
            ) from None
        path = self.folder / self.layout.tokenizer
        try:
            return Tokenizer.from_file(str(path))
        except Exception as error:  # tokenizers raises plain Exceptions
            raise BadInput(f"{path.name} is no tokenizer: {one_line(error)}") from None


class Graph:
    """One side of an encoder: an ONNX graph with an input of a known kind and a vector a row."""

    def __init__(self, path: Path, provider: str, kinds: dict[str, Any]) -> None:
        self.where = path.name
        self._session = open_session(str(path), self.where, provider)
        self.inputs = {one.name: one for one in self._session.get_inputs()}
        self._kinds = kinds
        if not self.inputs or any(one.type not in kinds for one in self.inputs.values()):
            listed = ", ".join(f"{one.name} {one.type}" for one in self.inputs.values())
            raise BadInput(f"{self.where} takes {listed or 'nothing'}, not {' or '.join(kinds)}")
        if kinds is _FLOATS and len(self.inputs) != 1:
            raise BadInput(
                f"{self.where} takes {', '.join(self.inputs)}, not pictures alone; export the two "
                "sides apart"
            )
        flat = [one.name for one in self._session.get_outputs() if len(one.shape or []) == 2]
        named = [name for name in _VECTORS if name in flat]
        if not flat:
            raise BadInput(f"{self.where} gives no vector a row")
        self._output = (named or flat)[0]

    @property
    def fixed_length(self) -> int | None:
        """How many tokens every text must have; None where that is left open."""
        shape = next(iter(self.inputs.values())).shape
        return shape[1] if len(shape) == 2 and isinstance(shape[1], int) else None

    def rows(self, given: dict[str, NDArray[Any]]) -> NDArray[np.float32]:
        """The graph's vectors at unit length; a single input may go without its name."""
        fed = {
            name: given.get(name, given.get("")).astype(self._kinds[one.type], copy=False)  # type: ignore[union-attr]
            for name, one in self.inputs.items()
        }
        count = len(next(iter(fed.values())))
        try:
            (found,) = self._session.run([self._output], fed)
        except Exception as error:  # onnxruntime's exceptions share no base class of their own
            raise BadInput(f"{self.where} cannot be run: {one_line(error)}") from None
        rows = np.asarray(found, np.float32)
        if rows.ndim != 2 or len(rows) != count or not np.isfinite(rows).all():
            raise BadInput(f"{self.where} does not give a row of finite numbers for each input")
        return unit_rows(rows)


def opened(
    where: Path, manifest: Manifest, provider: str = "cpu", *, files: dict[str, int] | None = None
) -> Encoder:
    """The encoder whose files lie in a folder."""
    sizes = files or {name: int(size) for name, (_, size) in manifest.files.items()}
    return Encoder(where, read_layout(where, sizes, manifest.precision), manifest, provider)


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
            "describe them again: visterm add --features 'encoder(…)'"
        )
    return _opened(name, manifest.digest, manifest.prompts, provider)


@lru_cache(maxsize=4)
def _opened(name: str, digest: str, prompts: tuple[str, ...], provider: str) -> Encoder:
    return opened(folder(name), manifest_of(name), provider)


def _runs(places: list[int], lengths: list[int]) -> list[list[int]]:
    """Places in order, those of one length together, not too many at a time.

    >>> _runs([4, 2, 7], [1, 1, 3])
    [[4, 2], [7]]
    """
    found: list[list[int]] = []
    for place, length, before in zip(places, lengths, [None, *lengths], strict=False):
        if length != before or len(found[-1]) == _TOGETHER:
            found.append([])
        found[-1].append(place)
    return found
