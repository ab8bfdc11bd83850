"""Files that nobody vouches for to pixels: formats by content, guards, limits, upright RGB."""

from visterm.pictures.decoding.decoder import read_picture
from visterm.pictures.decoding.formats import SUPPORTED_EXTENSIONS
from visterm.pictures.decoding.regular_files import Refused, opened
from visterm.pictures.decoding.size import picture_size

__all__ = ["SUPPORTED_EXTENSIONS", "Refused", "opened", "picture_size", "read_picture"]
