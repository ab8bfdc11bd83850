"""A person's folder of pictures: found, described, captioned, learnt from and searched.

Importing this room loads NumPy and SQLite only.
"""

from visterm.collection.captions import effective_caption
from visterm.collection.clicks import Judgement
from visterm.collection.collection import Collection
from visterm.collection.lock import Locked
from visterm.collection.records import PictureRecord, UnknownPicture
from visterm.collection.search import (
    SearchRequest,
    SearchResponse,
    SearchResult,
    UnknownWords,
)
from visterm.collection.search.active_model import NotTrained
from visterm.collection.shared_state import SharedState

__all__ = [
    "Collection",
    "Judgement",
    "Locked",
    "NotTrained",
    "PictureRecord",
    "SearchRequest",
    "SearchResponse",
    "SearchResult",
    "SharedState",
    "UnknownPicture",
    "UnknownWords",
    "effective_caption",
]
