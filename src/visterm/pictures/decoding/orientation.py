"""How a stored picture has to be turned, as its EXIF block says."""

from __future__ import annotations

import io

from visterm.pictures.decoding.containers import BrokenContainer, tiff_entries, tiff_numbers

_ORIENTATION = 274


def orientation_of(exif: bytes) -> int:
    """EXIF's number of the turn, 1 to 8; 1 where it does not say.

    >>> orientation_of(b"Exif and nothing else")
    1
    """
    file = io.BytesIO(exif.removeprefix(b"Exif\0\0"))
    try:
        numbers = [tiff_numbers(file, tag) for tag in tiff_entries(file) if tag.tag == _ORIENTATION]
    except BrokenContainer:
        return 1
    return numbers[0][0] if numbers and numbers[0] and numbers[0][0] in range(1, 9) else 1
