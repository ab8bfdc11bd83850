"""A data set of captioned pictures: who trains, who validates, who is tested, and what is asked.

Every data set is one: Corel5k, IAPR TC-12 and Flickr8k name their tables, and whoever has another
writes tables of ``path<TAB>text``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath, PureWindowsPath

from visterm.errors import BadInput
from visterm.text import Vocabulary


@dataclass(frozen=True)
class CaptionedPictures:
    """Pictures by their files, each with its captions, in the order of their table.

    Attributes
    ----------
    paths : list of Path
    captions : list of str
        One text a picture; where a picture has several captions, each is a line of it.
    name : str
    labels : list of str, optional
        The labels of each picture, if it has any beside its captions.
    """

    paths: list[Path]
    captions: list[str]
    name: str = ""
    labels: list[str] | None = None

    def __post_init__(self) -> None:
        for what, texts in (("captions", self.captions), ("label sets", self.labels)):
            if texts is not None and len(self.paths) != len(texts):
                raise BadInput(
                    f"{self.name or 'captioned pictures'}: {len(self.paths)} paths "
                    f"but {len(texts)} {what}; each picture needs one"
                )

    def __len__(self) -> int:
        return len(self.paths)

    def __iter__(self) -> Iterator[tuple[Path, str]]:
        return iter(zip(self.paths, self.captions, strict=True))

    def __add__(self, other: CaptionedPictures) -> CaptionedPictures:
        both = self.labels is not None and other.labels is not None
        return CaptionedPictures(
            self.paths + other.paths,
            self.captions + other.captions,
            self.name,
            (self.labels or []) + (other.labels or []) if both else None,
        )

    @property
    def words(self) -> list[str]:
        """The texts that queries are made of: labels where there are some, else captions."""
        return self.captions if self.labels is None else self.labels

    def take(self, numbers: Iterable[int], name: str = "") -> CaptionedPictures:
        """Some of the pictures, by their numbers."""
        chosen = list(numbers)
        return CaptionedPictures(
            [self.paths[i] for i in chosen],
            [self.captions[i] for i in chosen],
            name or self.name,
            None if self.labels is None else [self.labels[i] for i in chosen],
        )

    def single_captions(self) -> tuple[list[str], list[int]]:
        """Every caption by itself, and the number of the picture that it belongs to.

        >>> CaptionedPictures([Path("a"), Path("b")], ["sea\\nblue sea", "sun"]).single_captions()
        (['sea', 'blue sea', 'sun'], [0, 0, 1])
        """
        apart = [(line, i) for i, text in enumerate(self.captions) for line in text.split("\n")]
        return [line for line, _ in apart], [number for _, number in apart]

    def labelled_by(self, tables: Iterable[CaptionedPictures]) -> CaptionedPictures:
        """The same pictures with the labels that these tables give them."""
        known = {path: labels for table in tables for path, labels in table}
        missing = [path for path in self.paths if path not in known]
        if missing:
            raise BadInput(
                f"{len(missing)} pictures of {self.name} have no row in the label tables, the "
                f"first is {missing[0]}; give every picture one, empty if it has no label"
            )
        return replace(self, labels=[known[path] for path in self.paths])


def read_tsv(
    table: Path | str, root: Path | str | None = None, *, merge: bool = True
) -> CaptionedPictures:
    """Read a table of ``path<TAB>words`` lines; a picture may have several.

    Parameters
    ----------
    table
        A UTF-8 text file. Blank lines are skipped; a caption may be empty.
    root
        The folder that the paths are relative to; the table's own unless given. No path may lead
        out of it. Whether the pictures are there is for the one who opens them to find out.
    merge
        Whether the rows of one picture become one picture with several captions; else every row
        is a picture, as Corel's papers count them.

    Raises
    ------
    BadInput
        With the file and line, when the table is missing, is not text, or a line is malformed.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> lines = ["a.jpg\\tsnow tree", "", "b/c.jpg\\tsea", "a.jpg\\twinter"]
    >>> _ = (folder / "captions.tsv").write_text("\\n".join(lines))
    >>> pictures = read_tsv(folder / "captions.tsv")
    >>> len(pictures), pictures.captions
    (2, ['snow tree\\nwinter', 'sea'])
    >>> pictures.paths[1].relative_to(folder).as_posix()
    'b/c.jpg'
    """
    table = Path(table)
    base = table.parent if root is None else Path(root)
    rows = [
        _row(f"{table}, line {number}", line)
        for number, line in enumerate(_lines(table), start=1)
        if line.strip()
    ]
    if merge:
        merged: dict[str, list[str]] = {}
        for path, caption in rows:
            merged.setdefault(path, []).append(caption)
        rows = [(path, "\n".join(captions)) for path, captions in merged.items()]
    return CaptionedPictures([base / p for p, _ in rows], [c for _, c in rows], table.stem)


def _lines(table: Path) -> list[str]:
    try:
        text = table.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = table.read_bytes()[: error.start].count(b"\n") + 1
        raise BadInput(f"{table}, line {line}: not UTF-8 text; save the table as UTF-8") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise BadInput(f"{table}: {reason}; a table of path<TAB>words lines is needed") from None
    # Not splitlines(): that also breaks at separators which may stand inside a caption.
    return text.split("\n")


def _row(where: str, line: str) -> tuple[str, str]:
    path, tab, caption = line.partition("\t")
    path = path.strip()
    if not tab:
        raise BadInput(f"{where}: no tab between path and words: {_shown(line)}")
    if not path or "\0" in path:
        raise BadInput(f"{where}: no picture's path before the tab: {_shown(line)}")
    # A table written on one system must not reach outside its folder on another.
    if PurePosixPath(path).is_absolute() or PureWindowsPath(path).anchor:
        raise BadInput(f"{where}: the path {_shown(path)} is absolute; write it relative")
    if ".." in path.replace("\\", "/").split("/"):
        raise BadInput(f"{where}: the path {_shown(path)} leads out of its folder")
    return path, caption.strip()


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


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
