"""The words in names of files and folders: "IMG_2041 AuntRosa-Lisbon.JPG" says aunt, rosa, lisbon.

What cameras, programs and file systems name by themselves says nothing about a picture: numbers,
dates, hashes, extensions, ``IMG`` and ``DCIM``.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from urllib.parse import unquote

from visterm.pictures.texts import is_machine_written

_GIVEN = """
img imgs imgp imag image images dsc dscn dscf dsct pict pic pics picture pictures photo photos
foto fotos mvi mov vid gopr pxl cimg sdc hpim dcp dji pano scan scans screenshot screenshots
fullsizerender whatsapp dcim copy copia kopie edit edited hdr thumb thumbs thumbnail thumbnails
untitled unnamed unsorted tmp temp export exports upload uploads download downloads backup
jpg jpeg jpe png gif tif tiff webp heic heif avif bmp jxl jp2 nef arw dng orf raf pef srw xmp
"""
_MACHINES = frozenset(_GIVEN.split())
"""Names, and parts of names, that a machine gives, or that say no more than that it is a file."""
_FOLDERS = re.compile(
    r"\d{3}[A-Z_]\w{4}|camera roll|camera|new folder.*|neuer ordner.*|.*\.(tar|tgz|zip)",
    re.IGNORECASE,
)
"""Folders that cameras and programs name, and archives."""
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://[^/]*")
_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,5}$")
_BETWEEN = re.compile(r"[^\w'’-]|_")
_LETTERS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_DATES = re.compile(r"(?<!\d)(\d{4}([-_.]?)\d\d\2\d\d|\d\d([-_.])\d\d\3\d{4}|\d{4}[-_.]\d\d)(?!\d)")
_DIGIT = re.compile(r"\d")
_HEX = re.compile(r"[0-9a-f]{8,}", re.IGNORECASE)
_YEAR = re.compile(r"(1[89]|20)\d\d")
_SHORTEST = 3
"""Letters of a word beside digits: in "Lisbon2" they are one, in "P1010023" not."""


@lru_cache(maxsize=65536)
def folder_words(folder: str, *, joined: bool = False) -> tuple[str, ...]:
    """The words of a folder and of those it lies in, as they are written; a lone year is one.

    What is of several words without a blank is, where ``joined`` asks for it, one of its own, too.

    >>> folder_words("Urlaub/2019-07-14 Lisboa_mitAnna/DCIM/100CANON")
    ('Urlaub', 'Lisboa', 'mit', 'Anna')
    >>> folder_words("s3://bucket/Lisbon 1987")
    ('Lisbon', '1987')
    """
    found: list[str] = []
    for part in _SCHEME.sub("", folder).split("/"):
        if not _FOLDERS.fullmatch(part):
            found += _words(part, joined, with_years=True)
    return tuple(found)


def file_words(name: str, *, joined: bool = False) -> tuple[str, ...]:
    """The words of a file's name, as those of a folder's; numbers are none.

    >>> file_words("IMG_2041 AuntRosa.JPG"), file_words("DSC01234.jpg")
    (('Aunt', 'Rosa'), ())
    >>> file_words("tee-shirt.jpg", joined=True)
    ('tee', 'shirt', 'tee-shirt')
    """
    return tuple(_words(_EXTENSION.sub("", name), joined, with_years=False))


def _words(name: str, joined: bool, *, with_years: bool) -> list[str]:
    text = unicodedata.normalize("NFC", unquote(name))
    if is_machine_written(text):
        return []
    found: list[str] = []
    for chunk in _BETWEEN.split(_DATES.sub(" ", text)):
        if with_years and _YEAR.fullmatch(chunk):
            found.append(chunk)
        elif not _is_code(chunk):
            found += _parts(chunk, joined)
    return found


def _parts(chunk: str, joined: bool) -> list[str]:
    """The words of something without blanks."""
    runs = [_humps(letters) for letters in _LETTERS.findall(chunk)]
    found = [part for run in runs for part in run if _is_word(part)]
    if not joined:
        return found
    wholes = ["".join(run) for run in runs if len(run) > 1]
    if len(runs) > 1 and len(found) == sum(map(len, runs)) and not _DIGIT.search(chunk):
        wholes.append("-".join("".join(run) for run in runs))
    return found + wholes


def _humps(letters: str) -> list[str]:
    """ "AuntRosa" and "NYCTrip" taken apart; "LISBON" and "lisbon" stay."""
    found, first = [], 0
    for at in range(1, len(letters)):
        before, after = letters[at - 1], letters[at + 1 : at + 2]
        begins = letters[at].isupper() and (
            before.islower() or (before.isupper() and after.islower())
        )
        if begins:
            found.append(letters[first:at])
            first = at
    return [*found, letters[first:]]


def _is_code(chunk: str) -> bool:
    """Whether letters and digits are mixed as in hashes and serial numbers, not as in "Lisbon2"."""
    if _HEX.fullmatch(chunk):
        return True
    for run in chunk.split("-"):
        letters = re.findall(r"[^\W\d_]+", run)
        if _DIGIT.search(run) and (len(letters) > 1 or any(len(r) < _SHORTEST for r in letters)):
            return True
    return False


def _is_word(part: str) -> bool:
    lower = part.lower()
    return lower not in _MACHINES and (len(part) > 1 or not part.isascii())
