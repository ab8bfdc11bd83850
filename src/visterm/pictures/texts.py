"""Texts in metadata and names: one tidy value a line, without what machines wrote.

Where a person wrote nothing, cameras and programs write something: as captions such texts would
describe thousands of pictures with the same words, or name a file. Only a text that is nothing else
is meant: "Samsung phones in a shop window" is a caption. Of names of files and folders, the words
count: "IMG_2041 AuntRosa-Lisbon.JPG" says aunt, rosa, lisbon; what cameras, programs and file
systems name by themselves says nothing: numbers, dates, hashes, extensions, ``IMG``, ``DCIM``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import unquote

_MAKERS = r"""(agfaphoto | aiptek | benq | canon | casio | fuji(film|\ photo)? | ge | hp | jenoptik
    | kodak | konica([\ -]minolta)? | leica | medion | minolta | nikon | olympus | panasonic
    | pentax | polaroid | ricoh | rollei | samsung | sanyo | sigma | sony | toshiba | vivitar)"""

_CAMERAS = rf"""
      {_MAKERS} (\ [\w-]+){{0,2}} \ digital (\ still)? \ camera
    | samsung | sony\ dsc | minolta\ dsc | kodak\ cd\d* | dcim([\\/\d].*)? | exif_jpeg_\w+
    | jpeg_picture | oplus_\d+ | edf:\ .* | (x-)?default | untitled(\W*\d+)? | ascii\W* | unicode\W*
    | no\ (title|description|comment|caption)
    | (image\ |picture\ )?(description|title|comment|caption) | none | null | n/a | undefined"""

_PROGRAMS = r"""
      (created|made|edited|processed|saved|generated|produced|optimi[sz]ed|compressed|converted|shot
        |scanned|resized|file\ written)
      \ (with|by|in|using|on)\ (the\ |an?\ )?
      (gimp|adobe|photoshop|lightroom|imagemagick|graphicsmagick|paint\.net|ms\ paint|microsoft
        |picasa|google|snapseed|vsco|instagram|pixlr|picsart|canva|corel|acdsee|irfanview|xnview
        |faststone|photoscape|hipstamatic|jpegmini|tinypng|tinyjpg|ezgif|dxo|capture\ one|darktable
        |rawtherapee|affinity|krita|matplotlib|ffmpeg|iphoto|zoner|epson|vuescan) .*
    | (software|creator\ tool|encoder|producer|creator)\s*[:=].*
    | lead\ technologies.* | gd-jpeg\b.* | jpegmini.* | lavc\d.* | applemark.*
    | handmade\ software.* | intel\(r\)\ jpeg\ library.*
    | (picasa|vsco|snapseed|instagram|screenshot)(\W*[\d.]+)?"""

_FILE_NAMES = r"""
    ( (_?img|_mg|_?dsc[fnt]?|pict|imgp|imag|mvi|mov|vid|gopr|pxl|wp|sam|cimg|sdc|hpim|dcp|dji|pano
        |scan|image|photo|picture|foto|screenshot|fullsizerender|whatsapp\ image)
      [-_\s]*\(?\d[\d_.\s()~-]*(wa\d+)?(at[\d.:\s]+)?([ap]m)?
    | [pg]\d{7} | \d{8}[-_]\d{6}\d* | [0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12} )
    (_?(hdr|burst|mp|cover|portrait|night|edited|copy))*
    (\.(jpe?g|png|gif|tiff?|webp|heic|avif|bmp|mp4|cr[23w]|nef|arw|dng|orf|rw2|raf))?"""

_WRITTEN_BY_MACHINES = re.compile(
    rf"( \W* | {_CAMERAS} | {_PROGRAMS} | {_FILE_NAMES} )", re.IGNORECASE | re.VERBOSE
)

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ufeff\ufffe\uffff]+")
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


def decoded(data: bytes) -> str:
    """Text of an encoding that nobody named: UTF-8 where it is valid, else that of old Windows.

    >>> decoded("Zürich".encode()), decoded("Zürich".encode("latin-1"))
    ('Zürich', 'Zürich')
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return old_windows(data)


def old_windows(data: bytes) -> str:
    """Windows' superset of Latin-1; the few bytes it leaves undefined are Latin-1's controls."""
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def tidy(text: str) -> str:
    """One line without control characters, doubled spaces or characters that cannot be stored.

    >>> tidy("a  boat\\r\\non the\\0 sea ")
    'a boat on the sea'
    """
    text = text.encode("utf-8", "ignore").decode()  # halves of surrogate pairs
    return " ".join(unicodedata.normalize("NFC", _CONTROL.sub(" ", text)).split())


def values(texts: Iterable[str]) -> list[str]:
    """Tidy, distinct, in order, without the empty ones and those that machines wrote.

    >>> values(["sea", " sea", "OLYMPUS DIGITAL CAMERA", "x-default", "boat"])
    ['sea', 'boat']
    """
    kept = dict.fromkeys(tidy(text) for text in texts)
    return [text for text in kept if not is_machine_written(text)]


def is_machine_written(text: str) -> bool:
    """Whether a tidy text, as a whole, is what a camera or a program writes by itself.

    >>> is_machine_written("Created by GIMP"), is_machine_written("Anna, created by her parents")
    (True, False)
    """
    return _WRITTEN_BY_MACHINES.fullmatch(text) is not None


@lru_cache(maxsize=65536)
def folder_words(folder: str, *, joined: bool = False) -> tuple[str, ...]:
    """The words of a folder and of those it lies in, as they are written; a lone year is one.

    What is of several words without a blank is, where ``joined`` asks for it, one of its own, too.

    >>> folder_words("Urlaub/2019-07-14 Lisboa_mitAnna/DCIM/100CANON")
    ('Urlaub', 'Lisboa', 'mit', 'Anna')
    >>> folder_words("s3://bucket/Lisbon 1987")
    ('Lisbon', '1987')
    """
    words: list[str] = []
    for part in _SCHEME.sub("", folder).split("/"):
        if not _FOLDERS.fullmatch(part):
            words += _words(part, joined, with_years=True)
    return tuple(words)


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
    words: list[str] = []
    for chunk in _BETWEEN.split(_DATES.sub(" ", text)):
        if with_years and _YEAR.fullmatch(chunk):
            words.append(chunk)
        elif not _is_code(chunk):
            words += _parts(chunk, joined)
    return words


def _parts(chunk: str, joined: bool) -> list[str]:
    """The words of something without blanks."""
    runs = [_humps(letters) for letters in _LETTERS.findall(chunk)]
    parts = [part for run in runs for part in run if _is_word(part)]
    if not joined:
        return parts
    wholes = ["".join(run) for run in runs if len(run) > 1]
    if len(runs) > 1 and len(parts) == sum(map(len, runs)) and not _DIGIT.search(chunk):
        wholes.append("-".join("".join(run) for run in runs))
    return parts + wholes


def _humps(letters: str) -> list[str]:
    """ "AuntRosa" and "NYCTrip" taken apart; "LISBON" and "lisbon" stay."""
    humps, first = [], 0
    for at in range(1, len(letters)):
        before, after = letters[at - 1], letters[at + 1 : at + 2]
        begins = letters[at].isupper() and (
            before.islower() or (before.isupper() and after.islower())
        )
        if begins:
            humps.append(letters[first:at])
            first = at
    return [*humps, letters[first:]]


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
