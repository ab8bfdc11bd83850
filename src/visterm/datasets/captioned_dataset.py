"""A data set of captioned pictures: who trains, who validates, who is tested, and what is asked.

Every data set is one: Corel5k, IAPR TC-12 and Flickr8k name their tables, and whoever has another
writes tables of ``path<TAB>text``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from visterm.datasets.captioned_pictures import CaptionedPictures, read_tsv
from visterm.errors import BadInput
from visterm.text import Vocabulary


@dataclass(frozen=True)
class QueryOptions:
    """Which words are learnt, and which sets of them are queries.

    Attributes
    ----------
    min_captions : int
        Pictures whose texts hold a word, for it to count.
    max_share : float
        Words that a larger share of the pictures hold are left out.
    max_words : int or None
        Largest query; None makes every set of a caption's words one.
    language : str or None
        Whose singular and plural count as one word; None takes words as written.
    words_from : str
        Whether words are those of the "train" or, as in Corel's papers, of the "test" texts.
    words : sequence of str, optional
        A given vocabulary, instead of one made of the texts.

    Examples
    --------
    >>> QueryOptions(min_captions=1).vocabulary(["snow", "tree snow"], []).words
    ('snow', 'tree')
    """

    min_captions: int = 2
    max_share: float = 1.0
    max_words: int | None = 4
    language: str | None = "english"
    words_from: str = "train"
    words: Sequence[str] | None = None

    def vocabulary(self, train: Sequence[str], test: Sequence[str]) -> Vocabulary:
        """The words, weighted by the training texts."""
        if self.words is not None:
            return Vocabulary.of_words(self.words, language=self.language).weighted_by(train)
        texts = train if self.words_from == "train" else test
        known = Vocabulary.from_captions(
            texts, min_captions=self.min_captions, language=self.language
        )
        if self.max_share < 1:
            holding = known.counts(texts).astype(bool).sum(axis=0)
            most = self.max_share * len(texts)
            few = [w for w, n in zip(known.words, holding, strict=True) if n <= most]
            known = Vocabulary.of_words(few, language=self.language).weighted_by(texts)
        if len(known) == 0:
            raise BadInput(
                f"no word stands in {self.min_captions} captions: there is nothing to learn"
            )
        return known if texts is train else known.weighted_by(train)


@dataclass(frozen=True, eq=False)
class CaptionedDataset:
    """Pictures by their part; test pictures are drawn from the others where none are given."""

    name: str
    train: CaptionedPictures
    test: CaptionedPictures | None = None
    validation: CaptionedPictures | None = None
    queries: QueryOptions = field(default_factory=QueryOptions)
    held_out: int | None = None
    """Training pictures to validate on where no others are given; a tenth by default."""

    def __post_init__(self) -> None:
        parts = {"train": self.train, "validation": self.validation, "test": self.test}
        seen: dict[Path, str] = {}
        for name, part in parts.items():
            for path in part.paths if part is not None else ():
                if seen.setdefault(path, name) != name:
                    raise BadInput(
                        f"{self.name}: {path} is in the {seen[path]} and in the {name} table; a "
                        "picture belongs to one of them"
                    )

    @property
    def development(self) -> CaptionedPictures:
        """All pictures that may be learnt from: training, then validation pictures."""
        return self.train if self.validation is None else self.train + self.validation

    @property
    def tested(self) -> CaptionedPictures:
        """The test pictures, which must be given."""
        if self.test is None:
            raise BadInput(f"{self.name} has no test pictures; give a table of them")
        return self.test


def read_dataset(
    train: Path | str,
    test: Path | str | None = None,
    validation: Path | str | None = None,
    *,
    labels: Iterable[Path | str] = (),
    queries: QueryOptions | None = None,
    name: str | None = None,
) -> CaptionedDataset:
    """Read a data set from its tables.

    Parameters
    ----------
    train, test, validation
        Tables of ``path<TAB>text``, several rows a picture allowed. Without a test table, test
        pictures are drawn from the training ones; without a validation table likewise.
    labels
        Tables of the labels of the same pictures; queries are made of them instead of captions.
    queries
        How words and queries are made.
    name
        How reports call it; the training table's name unless given.
    """
    given = [read_tsv(table) for table in labels]

    def part(table: Path | str) -> CaptionedPictures:
        return read_tsv(table).labelled_by(given) if given else read_tsv(table)

    first = part(train)
    return CaptionedDataset(
        name or first.name,
        first,
        None if test is None else part(test),
        None if validation is None else part(validation),
        queries or QueryOptions(),
    )
