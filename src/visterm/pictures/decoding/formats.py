"""The formats visterm reads, recognised by their first bytes and never by their names."""

from __future__ import annotations

from dataclasses import dataclass

HEAD = 64
"""How many bytes of a file `recognise` looks at."""


@dataclass(frozen=True)
class Format:
    """A picture format: what people call it, what Pillow calls it and which module reads it.

    ``bytes_per_pixel`` is what Pillow 13 was measured to hold at its peak for one pixel, where the
    decoder needs several copies of the picture.
    """

    name: str
    pillow: str
    module: str
    extensions: tuple[str, ...]
    bytes_per_pixel: float = 0.0


JPEG = Format("JPEG", "JPEG", "PIL.JpegImagePlugin", (".jpg", ".jpeg", ".jpe", ".jfif"))
PNG = Format("PNG", "PNG", "PIL.PngImagePlugin", (".png", ".apng"))
GIF = Format("GIF", "GIF", "PIL.GifImagePlugin", (".gif",))
BMP = Format("BMP", "BMP", "PIL.BmpImagePlugin", (".bmp", ".dib"))
TIFF = Format("TIFF", "TIFF", "PIL.TiffImagePlugin", (".tif", ".tiff"))
WEBP = Format("WebP", "WEBP", "PIL.WebPImagePlugin", (".webp",), 16.5)
AVIF = Format("AVIF", "AVIF", "PIL.AvifImagePlugin", (".avif",), 16.5)
HEIC = Format("HEIC", "HEIF", "pillow_heif", (".heic", ".heif"), 16.5)

RAW_HEADS = (b"II*\0", b"MM\0*", b"FUJIFILMCCD-RAW", b"IIRO", b"IIRS", b"MMOR", b"IIU\0")
"""What RAW files begin with; the first two are TIFF's."""
FORMATS = (JPEG, PNG, GIF, BMP, TIFF, WEBP, AVIF, HEIC)

RAW_EXTENSIONS = frozenset(
    (".dng", ".nef", ".nrw", ".cr2", ".cr3", ".arw", ".orf", ".rw2", ".raf", ".pef", ".srw")
)
"""Lower-case endings of RAW files, which are recognised by their content as all others are."""

VIDEO_EXTENSIONS = frozenset(
    {
        *(".mp4", ".m4v", ".mov", ".3gp", ".mkv", ".webm", ".avi", ".mts", ".m2ts"),
        *(".mpg", ".mpeg", ".wmv", ".flv", ".ogv"),
    }
)
"""Lower-case endings of videos."""

SUPPORTED_EXTENSIONS = (
    RAW_EXTENSIONS
    | VIDEO_EXTENSIONS
    | frozenset(extension for format_ in FORMATS for extension in format_.extensions)
)
"""Lower-case endings of names under which people keep pictures, for walking folders."""


def kind_of_name(name: str) -> str | None:
    """What a file is besides a picture, by the ending of its name: ``raw``, ``video``, or None.

    >>> kind_of_name("IMG_0001.CR2"), kind_of_name("a.MOV"), kind_of_name("a.jpg")
    ('raw', 'video', None)
    """
    ending = name[name.rfind(".") :].lower()
    if ending in RAW_EXTENSIONS:
        return "raw"
    return "video" if ending in VIDEO_EXTENSIONS else None


def video_format(head: bytes) -> str | None:
    """What FFmpeg calls the container of a video that begins with these bytes; None for others.

    >>> video_format(bytes.fromhex("000000206674797069736f6d")), video_format(b"GIF89a")
    ('mov', None)
    """
    if head[4:8] == b"ftyp":
        is_other = _by_brand(head) is not None or head[8:12] == b"crx "
        return None if is_other else "mov"
    if head[4:8] in (b"moov", b"mdat", b"wide", b"pnot"):
        return "mov"
    if head[0:1] == b"G" and not head.startswith(b"GIF8"):
        return "mpegts"
    if head.startswith(b"RIFF"):
        return "avi" if head[8:12] == b"AVI " else None
    if head[4:5] == b"G" and head[:4] == bytes(4):
        return "mpegts"  # with a time of arrival before each packet, as camcorders write it
    known = (name for begin, name in _VIDEO_HEADS.items() if head.startswith(begin))
    return next(known, None)


_VIDEO_HEADS = {
    bytes.fromhex("1a45dfa3"): "matroska",
    bytes.fromhex("000001ba"): "mpeg",
    bytes.fromhex("000001b3"): "mpegvideo",
    b"FLV\1": "flv",
    b"OggS": "ogg",
    bytes.fromhex("3026b2758e66cf11"): "asf",
}


_HEVC_BRANDS = {b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs", b"mif1"}


def recognise(head: bytes) -> Format | None:
    """The format that begins with these bytes, or None.

    >>> recognise(bytes.fromhex("89504e470d0a1a0a")).name
    'PNG'
    >>> recognise(b"<svg>") is None
    True
    """
    if head.startswith(b"\xff\xd8\xff"):
        return JPEG
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return PNG
    if head.startswith((b"GIF87a", b"GIF89a")):
        return GIF
    if head.startswith((b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")):
        return TIFF
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return WEBP
    if head[4:8] == b"ftyp":
        return _by_brand(head)
    # Two letters are a weak sign, so a BMP must also name a header size that exists.
    if head.startswith(b"BM") and int.from_bytes(head[14:18], "little") in range(12, 125):
        return BMP
    return None


def _by_brand(head: bytes) -> Format | None:
    """AVIF and HEIC share a container; the brands in its first box distinguish them."""
    end = min(int.from_bytes(head[:4], "big"), len(head))
    brands = {head[8:12]} | {head[at : at + 4] for at in range(16, end - 3, 4)}
    if brands & {b"avif", b"avis"}:
        return AVIF
    return HEIC if brands & _HEVC_BRANDS else None
