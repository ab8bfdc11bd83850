"""Captioned pictures as most benchmarks give them: lines of ``path<TAB>words``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath

from visterm.errors import BadInput


@dataclass(frozen=True)
class CaptionedPictures:
    """Pictures by their files, each with its caption, in the order of their table."""

    paths: list[Path]
    captions: list[str]
    name: str = ""

    def __post_init__(self) -> None:
        if len(self.paths) != len(self.captions):
            raise BadInput(
                f"{self.name or 'captioned pictures'}: {len(self.paths)} paths "
                f"but {len(self.captions)} captions; each picture needs one"
            )

    def __len__(self) -> int:
        return len(self.paths)

    def __iter__(self) -> Iterator[tuple[Path, str]]:
        return iter(zip(self.paths, self.captions, strict=True))


def read_tsv(table: Path | str, root: Path | str | None = None) -> CaptionedPictures:
    """Read a table of ``path<TAB>words`` lines.

    Parameters
    ----------
    table
        A UTF-8 text file. Blank lines are skipped; a caption may be empty.
    root
        The folder that the paths are relative to; the table's own unless given. No path may lead
        out of it. Whether the pictures are there is for the one who opens them to find out.

    Raises
    ------
    BadInput
        With the file and line, when the table is missing, is not text, or a line is malformed.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "captions.tsv").write_text("a.jpg\\tsnow tree\\n\\nb/c.jpg\\tsea\\n")
    >>> pictures = read_tsv(folder / "captions.tsv")
    >>> len(pictures), pictures.captions
    (2, ['snow tree', 'sea'])
    >>> pictures.paths[1].relative_to(folder).as_posix()
    'b/c.jpg'
    """
    table = Path(table)
    base = table.parent if root is None else Path(root)
    paths, captions = [], []
    for number, line in enumerate(_lines(table), start=1):
        if line.strip():
            path, caption = _row(f"{table}, line {number}", line)
            paths.append(base / path)
            captions.append(caption)
    return CaptionedPictures(paths, captions, name=table.stem)


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
