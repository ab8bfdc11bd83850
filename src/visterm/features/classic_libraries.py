"""Libraries of the extra ``classic``, loaded where they are used."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from visterm.errors import MissingExtra


def opencv() -> Any:
    """OpenCV, or a line that says how to get it."""
    try:
        import cv2
    except ImportError as error:
        raise _missing("OpenCV", error) from None
    return cv2


def scikit_image() -> ModuleType:
    """scikit-image, or a line that says how to get it."""
    try:
        import skimage
    except ImportError as error:
        raise _missing("scikit-image", error) from None
    return skimage


def _missing(library: str, error: ImportError) -> MissingExtra:
    return MissingExtra(
        f"these features need {library} ({error}); install it with: pip install 'visterm[classic]'"
    )
