"""Pictures that were found, taken elsewhere: a list, a table, a folder, or captions in sidecars."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from visterm.collection.media import captions
from visterm.collection.media.records import PictureRecord, records
from visterm.collection.media.records import pictures as shown_pictures
from visterm.collection.store.caption_words import PERSON
from visterm.collection.store.catalogue import Catalogue
from visterm.errors import BadInput, VistermError
from visterm.files import make_folder

TEXTS = ("list", "csv", "json")
FOLDERS = ("links", "copies")
_KEYWORDS = (":keywords", ":subject", ":tags", ":people")
_ASIDE = (":title", ":headline", ":place")
"""Sources of captions that are neither keywords nor a text about the picture."""
COLUMNS = ("path", "caption", "taken", "taken_from", "latitude", "longitude", "type", "hash")


def export_rows(catalogue: Catalogue, root: Path, pictures: Sequence[int]) -> list[dict[str, Any]]:
    """What is known of pictures, in their order, one object each; gone ones are left out."""
    known, shown = records(catalogue, pictures), shown_pictures(catalogue, pictures)
    about = ("taken", "taken_from", "latitude", "longitude", "type")
    return [
        {
            "path": str(known[picture].files[0].at(root)),
            "caption": shown[picture].caption or "",
            **{name: getattr(shown[picture], name) for name in about},
            "hash": known[picture].digest,
        }
        for picture in pictures
        if picture in known
    ]


def export_text(catalogue: Catalogue, root: Path, pictures: Sequence[int], kind: str) -> str:
    """Pictures as a list of paths, a CSV table or JSON."""
    rows = export_rows(catalogue, root, pictures)
    if kind == "list":
        return "".join(f"{row['path']}\n" for row in rows)
    if kind == "json":
        return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"
    if kind == "csv":
        text = io.StringIO()
        table = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
        return text.getvalue()
    raise BadInput(f"there are {', '.join((*TEXTS, *FOLDERS, 'xmp', 'backup'))}, and not {kind!r}")


def export_folder(
    catalogue: Catalogue, root: Path, pictures: Sequence[int], to: Path, *, copies: bool
) -> int:
    """A folder of links to pictures, or of copies; files that are there already stay.

    Returns how many were put there. Two files of one name get a number.
    """
    try:
        to.mkdir(parents=True, exist_ok=True)
        count = 0
        known = records(catalogue, pictures)
        for record in (known[picture] for picture in pictures if picture in known):
            source = _local(record, root)
            if source is None:
                continue
            target = _free(to, source)
            if target is None:
                continue
            if copies:
                shutil.copy2(source, target)
            else:
                os.symlink(source, target)
            count += 1
    except OSError as error:
        raise VistermError(f"{error.filename or to}: {error.strerror}") from error
    return count


def export_keywords(
    catalogue: Catalogue, root: Path, pictures: Sequence[int], to: Path | None = None
) -> int:
    """Write captions into XMP sidecars: keywords as keywords, texts as descriptions.

    The sidecars lie beside the pictures, or, with the folders that pictures lie in, below ``to``.
    Returns how many changed.
    """
    from visterm.pictures.sidecar_writer import caption_change

    count = 0
    known = records(catalogue, pictures)
    for picture in pictures:
        keywords, description = _keywords_and_text(captions.of_picture(catalogue, picture))
        for file in known[picture].files if picture in known else ():
            path = file.at(root)
            if not isinstance(path, Path) or file.offset is not None:
                continue
            target = None if to is None else to / f"{os.path.relpath(path, root)}.xmp"
            change = caption_change(path, keywords, description, target)
            if change is not None and change.changes:
                if target is not None:
                    make_folder(target.parent)
                change.write()
                count += 1
    return count


def _keywords_and_text(texts: Mapping[str, str]) -> tuple[list[str], str]:
    """What counts of captions by source, as keywords and as a text about the picture.

    >>> _keywords_and_text({"iptc:keywords": "sea", "xmp:tags": "Places|Lisbon", "txt": "A boat"})
    (['sea', 'Places|Lisbon'], 'A boat')
    """
    if PERSON in texts:
        texts = {PERSON: texts[PERSON]}
    keywords = [text for source, text in texts.items() if source.endswith(_KEYWORDS)]
    others = [text for source, text in texts.items() if not source.endswith((*_KEYWORDS, *_ASIDE))]
    lines = dict.fromkeys(line for text in others for line in text.splitlines())
    return [line for text in keywords for line in text.splitlines()], " ".join(lines)


def _local(record: PictureRecord, root: Path) -> Path | None:
    """A file of a picture on this machine."""
    for file in record.files:
        path = file.at(root)
        if isinstance(path, Path) and file.offset is None and path.exists():
            return path
    return None


def _free(folder: Path, source: Path) -> Path | None:
    """A name for a file in a folder; None where it is there already."""
    for number in range(10_000):
        end = f"-{number}" if number else ""
        target = folder / f"{source.stem}{end}{source.suffix}"
        if not os.path.lexists(target):
            return target
        if target.is_symlink() and target.resolve() == source.resolve():
            return None
        about = (target.stat().st_size, int(target.stat().st_mtime))
        if about == (source.stat().st_size, int(source.stat().st_mtime)):
            return None
    raise BadInput(f"{folder} holds too many files called {source.name}")
