"""The texts in metadata: bytes to characters, one tidy value a line, without what machines wrote.

Where a person wrote nothing, cameras and programs write something: as captions such texts would
describe thousands of pictures with the same words, or name a file. Only a text that is nothing else
is meant: "Samsung phones in a shop window" is a caption.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

# After a change here raise `visterm.collection.media.captions.READING`: collections look again at
# what they have stored.
_MAKERS = r"""(agfaphoto | aiptek | benq | canon | casio | fuji(film|\ photo)? | ge | hp | jenoptik
    | kodak | konica([\ -]minolta)? | leica | medion | minolta | nikon | olympus | panasonic
    | pentax | polaroid | ricoh | rollei | samsung | sanyo | sigma | sony | toshiba | vivitar)"""

_CAMERAS = rf"""
      {_MAKERS} (\ [\w-]+){{0,2}} \ digital (\ still)? \ camera
    | samsung | sony\ dsc | minolta\ dsc | kodak\ cd\d* | dcim([\\/\d].*)? | exif_jpeg_\w+
    | jpeg_picture | oplus_\d+ | edf:\ .* | default | untitled(\W*\d+)? | ascii\W* | unicode\W*
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

    >>> values(["sea", " sea", "OLYMPUS DIGITAL CAMERA", "boat"])
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
