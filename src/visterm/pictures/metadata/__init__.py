"""The captions that pictures carry: IPTC, XMP and EXIF inside the file, sidecars, tables."""

from visterm.pictures.metadata.caption_sources import Caption, captions_of, metadata_of
from visterm.pictures.metadata.caption_table import read_caption_table
from visterm.pictures.metadata.sidecar_writer import SidecarChange, sidecar_change

__all__ = [
    "Caption",
    "SidecarChange",
    "captions_of",
    "metadata_of",
    "read_caption_table",
    "sidecar_change",
]
