"""The texts of a dual encoder: its own space, in which pictures lie already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from visterm.encoders import Encoder, open_encoder
from visterm.matrices import unit_rows
from visterm.progress import Progress
from visterm.text.spaces.space import TextSpace


@dataclass(repr=False, eq=False)
class EncoderTexts(TextSpace):
    """Vectors of an installed encoder's text side; nothing is learnt from captions.

    A label is the mean of a few prompts around it, any other text is taken as it is.

    Parameters
    ----------
    encoder : str
        The name of an installed encoder.
    digest : str, optional
        What its files must be, by the beginning of their hash.
    """

    name = "encoder"
    arrays: ClassVar[tuple[str, ...]] = ()

    encoder: str = ""
    digest: str | None = None

    def fit(self, captions: Sequence[str] = (), *, progress: Progress | None = None) -> Self:
        """Open the encoder, so that whatever is wrong with it is said now; nothing is learnt."""
        self._opened()
        return self

    @property
    def dimensions(self) -> int:
        return self._opened().dimensions

    def labels(self, words: Sequence[str]) -> NDArray[np.float32]:
        return self._opened().word_rows(words)

    def _rows(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        worded = [number for number, text in enumerate(texts) if text.strip()]
        if worded:
            rows[worded] = self._opened().text_rows([texts[number] for number in worded])
        return unit_rows(rows)

    def _opened(self) -> Encoder:
        return open_encoder(self.encoder, digest=self.digest)

    def _check_fitted(self) -> None:
        """Nothing is learnt, so the space is always ready."""
