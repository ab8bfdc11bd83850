"""OpenCV and scikit-image, which the extra ``classic`` brings, loaded when they are needed."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from visterm.errors import needs_extra


def opencv() -> Any:
    """OpenCV, or a line that says how to get it."""
    with needs_extra("classic", "these features need OpenCV"):
        import cv2
    return cv2


def scikit_image() -> ModuleType:
    """scikit-image, or a line that says how to get it."""
    with needs_extra("classic", "these features need scikit-image"):
        import skimage
    return skimage
