"""Picture files as people keep them: safe decoding to upright RGB, and the captions they carry.

Importing this package loads neither Pillow nor NumPy; they come with the first picture.
"""

from visterm.pictures.decoding import SUPPORTED_EXTENSIONS, read_picture
from visterm.pictures.metadata import Caption, captions_of, read_caption_table

__all__ = [
    "SUPPORTED_EXTENSIONS",
    "Caption",
    "captions_of",
    "read_caption_table",
    "read_picture",
]
