"""A person's folder of pictures: found, described, captioned, learnt from and searched.

Importing this room loads NumPy and SQLite only.
"""

from visterm.collection.collection import Collection
from visterm.collection.feedback.log import Judgement
from visterm.collection.media.captions import effective_caption
from visterm.collection.media.records import PictureRecord, UnknownPicture
from visterm.collection.search import (
    SearchRequest,
    SearchResponse,
    SearchResult,
)
from visterm.collection.shared_state import SharedState
from visterm.collection.store.active_model import NotTrained
from visterm.collection.store.lock import Locked
from visterm.text.query import UnknownWords

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
