"""Sizes from the head of a file: the same as decoding it would give."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from visterm.errors import UnreadablePicture
from visterm.pictures.sandbox import picture_size, read_picture


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF", "AVIF"])
def test_the_size_is_that_of_the_upright_picture(kind: str, orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    file = io.BytesIO()
    Image.new("RGB", (40, 24), (200, 10, 10)).save(file, kind, exif=exif)
    height, width = read_picture(file.getvalue()).shape[:2]
    assert picture_size(file.getvalue()) == (width, height)


@pytest.mark.parametrize("broken", [b"", b"GIF89a", b"no picture", b"\xff\xd8\xff\xe0" + bytes(64)])
def test_what_is_no_picture_has_no_size(broken: bytes) -> None:
    with pytest.raises(UnreadablePicture):
        picture_size(broken)
