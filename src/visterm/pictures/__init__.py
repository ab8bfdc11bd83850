"""Picture files as people keep them: safe decoding to upright RGB.

Importing this room loads neither Pillow nor NumPy; they come with the first picture.
"""

from visterm.pictures.decode import SUPPORTED_EXTENSIONS, read_picture

__all__ = ["SUPPORTED_EXTENSIONS", "read_picture"]
