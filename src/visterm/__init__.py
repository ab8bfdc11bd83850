"""visterm finds pictures from words, and words from pictures."""

__version__ = "0.1.0"
