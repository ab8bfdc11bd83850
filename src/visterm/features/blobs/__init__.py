"""Regions of a picture, as bags of visterms."""

from visterm.features.blobs.blobs import Blobs, count_blob_tokens

__all__ = ["Blobs", "count_blob_tokens"]
