"""What all text spaces share: texts in, one vector a text out, whatever kind of text it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.errors import BadInput
from visterm.matrices import unit_rows
from visterm.progress import Progress
from visterm.stored import Stored

TextRows: TypeAlias = "csr_array | NDArray[np.float32]"
Phrase: TypeAlias = "str | Sequence[str]"


class TextSpace(Stored):
    """Texts as vectors that can be compared by inner products.

    A space learns from captions in ``fit`` what it must, and sets ``_rows``; where labels or
    queries are not just short captions, it says so in ``labels`` or ``queries``. Rows have unit
    length, or are zero where the space knows nothing of a text.
    """

    dense: ClassVar[bool] = True
    """Whether rows are dense."""

    def fit(self, captions: Sequence[str], *, progress: Progress | None = None) -> Self:
        """Learn from captions."""
        raise NotImplementedError

    @property
    def dimensions(self) -> int:
        """How many numbers a text becomes."""
        raise NotImplementedError

    def _rows(self, texts: Sequence[str]) -> TextRows:
        raise NotImplementedError

    def transform(self, captions: Sequence[str]) -> TextRows:
        """Captions as vectors, one a row."""
        self._check_fitted()
        return self._rows(texts_of(captions))

    def fit_transform(self, captions: Sequence[str], y: object = None, **more: Any) -> TextRows:
        """Learn from captions, and give them as vectors; ``y`` is for pipelines, and not used.

        >>> from visterm.text.spaces import Words
        >>> Words().fit_transform(["sun", "sea"]).toarray().tolist()
        [[0.0, 1.0], [1.0, 0.0]]
        """
        return self.fit(captions, **more).transform(captions)

    def queries(self, texts: Sequence[str]) -> TextRows:
        """What people type, as vectors; a query is a short caption unless a space knows better."""
        return self.transform(texts)

    def labels(self, words: Sequence[str]) -> TextRows:
        """Single words that name what is to be seen, as vectors."""
        return self.queries(words)

    def phrases(self, phrases: Sequence[Phrase]) -> TextRows:
        """Phrases such as ("man", "on", "horse") as vectors: their words, in order."""
        if isinstance(phrases, str):
            raise BadInput(f"give a list of phrases, as in [{phrases!r}], not one text")
        return self.queries([one if isinstance(one, str) else " ".join(one) for one in phrases])


def texts_of(texts: Sequence[str]) -> list[str]:
    """Check that these are several texts, and not one whose letters would be taken for texts.

    >>> texts_of(("sun", "sea"))
    ['sun', 'sea']
    """
    if isinstance(texts, str):
        raise BadInput(f"give a list of texts, as in [{texts!r}], not one text")
    found = list(texts)
    strange = next((one for one in found if not isinstance(one, str)), None)
    if strange is not None:
        raise BadInput(f"texts are strings, not {type(strange).__name__}")
    return found


def unit(rows: NDArray[np.floating]) -> NDArray[np.float32]:
    """Rows of length one; a row of zeros stays.

    >>> unit(np.array([[3.0, 4.0], [0.0, 0.0]])).round(1).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    # What is left of a text without a known word is rounding noise, and no direction.
    return unit_rows(np.asarray(rows, dtype=np.float64), noise=1e-12).astype(np.float32)
