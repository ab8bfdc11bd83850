"""Find the blocks of metadata inside a picture file: IPTC, XMP and EXIF, none of them read yet."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import BinaryIO

from visterm.pictures.decoding import formats
from visterm.pictures.decoding.containers import (
    BrokenContainer,
    Part,
    TiffEntry,
    jpeg_segments,
    png_chunks,
    riff_chunks,
    tiff_entries,
)
from visterm.pictures.decoding.guards import cost_of
from visterm.pictures.decoding.limits import DEFAULT_MAX_PIXELS, check_fixed_cost
from visterm.pictures.decoding.plugins import make_ready, open_with_pillow
from visterm.pictures.decoding.warning_filter import quiet
from visterm.pictures.metadata.iptc import iptc_of_photoshop, iptc_of_tiff

MAX_BLOCK = 8_000_000

_XMP_IN_JPEG = b"http://ns.adobe.com/xap/1.0/\0"
_XMP_IN_PNG = b"XML:com.adobe.xmp\0"


@dataclass
class MetadataBlocks:
    """The bytes of each kind of metadata in one file; empty where it has none."""

    iptc: bytes = b""
    xmp: bytes = b""
    exif: bytes = b""


def blocks_of(file: BinaryIO, format_: formats.Format) -> MetadataBlocks:
    """Raises `BrokenContainer`, or OSError, where the file cannot be walked."""
    if format_ in (formats.AVIF, formats.HEIC):
        return _by_pillow(file, format_)
    walks = {
        formats.JPEG: _jpeg,
        formats.PNG: _png,
        formats.WEBP: _webp,
        formats.TIFF: _tiff,
    }
    return walks[format_](file) if format_ in walks else MetadataBlocks()


def _jpeg(file: BinaryIO) -> MetadataBlocks:
    blocks = MetadataBlocks()
    photoshop = b""
    for part in jpeg_segments(file):
        if part.kind not in (b"\xe1", b"\xed"):
            continue
        data = part.read(file, part.length)
        if data.startswith(b"Photoshop 3.0\0") and len(photoshop) < MAX_BLOCK:
            photoshop += data[14:]  # what does not fit one segment goes on in the next
        elif data.startswith(b"Exif\0\0") and len(blocks.exif) < MAX_BLOCK:
            blocks.exif += data[6:]
        elif data.startswith(_XMP_IN_JPEG) and not blocks.xmp:
            blocks.xmp = data[len(_XMP_IN_JPEG) :]
    blocks.iptc = iptc_of_photoshop(photoshop)
    return blocks


def _png(file: BinaryIO) -> MetadataBlocks:
    blocks = MetadataBlocks()
    for part in png_chunks(file):
        if part.kind == b"eXIf" and not blocks.exif:
            blocks.exif = part.read(file, MAX_BLOCK)
        elif part.kind == b"iTXt" and not blocks.xmp:
            blocks.xmp = _international_text(file, part)
    return blocks


def _international_text(file: BinaryIO, part: Part) -> bytes:
    """The packet in an iTXt chunk: keyword, two flags, language, translated keyword, text."""
    data = part.read(file, MAX_BLOCK)
    if not data.startswith(_XMP_IN_PNG):
        return b""
    flags, rest = data[len(_XMP_IN_PNG) :][:2], data[len(_XMP_IN_PNG) + 2 :]
    text = rest.split(b"\0", 2)[-1]
    if flags[:1] != b"\1":
        return text
    try:
        return zlib.decompressobj().decompress(text, MAX_BLOCK)
    except zlib.error:
        return b""


def _webp(file: BinaryIO) -> MetadataBlocks:
    blocks = MetadataBlocks()
    for part in riff_chunks(file):
        if part.kind == b"EXIF" and not blocks.exif:
            blocks.exif = part.read(file, MAX_BLOCK)
        elif part.kind == b"XMP " and not blocks.xmp:
            blocks.xmp = part.read(file, MAX_BLOCK)
    return blocks


def _tiff(file: BinaryIO) -> MetadataBlocks:
    """A TIFF's own tags are its EXIF: `read_exif_tags` reads them from the file itself."""
    entries = {entry.tag: entry for entry in reversed(tiff_entries(file))}

    def block(tag: int) -> bytes:
        entry: TiffEntry | None = entries.get(tag)
        if entry is None or entry.length > MAX_BLOCK:
            return b""
        file.seek(entry.offset)
        return file.read(entry.length)

    iptc = iptc_of_tiff(block(33_723)) or iptc_of_photoshop(block(34_377))
    return MetadataBlocks(iptc=iptc, xmp=block(700))


def _by_pillow(file: BinaryIO, format_: formats.Format) -> MetadataBlocks:
    """AVIF and HEIC keep metadata behind several tables, which their decoders know how to read."""
    check_fixed_cost(cost_of(file, format_), DEFAULT_MAX_PIXELS)
    make_ready(format_)
    try:
        with quiet(), open_with_pillow(file, format_) as picture:
            found = {kind: picture.info.get(kind) for kind in ("xmp", "exif")}
    except Exception:  # decoders of damaged files raise whatever comes to hand
        raise BrokenContainer(f"its {format_.name} data are broken") from None
    return MetadataBlocks(
        **{kind: data[:MAX_BLOCK] for kind, data in found.items() if isinstance(data, bytes)}
    )
