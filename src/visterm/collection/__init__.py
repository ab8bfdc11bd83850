"""A person's folder of pictures: found, captioned, learnt from and searched.

All that front ends use of this package is here by name; none imports from inside it. Importing it
loads NumPy and SQLite only: what reports and errors of longer work are, loads with their names.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from visterm.collection.change_log import Queued
from visterm.collection.collection import Collection
from visterm.collection.media.records import PictureRecord, UnknownPicture
from visterm.collection.search import (
    PartialAnswer,
    ScoreParts,
    SearchRequest,
    SearchResponse,
    SearchResult,
)
from visterm.collection.sources.folders import has_pictures, is_container
from visterm.collection.store.caption_words import effective_caption
from visterm.collection.store.events import Judgement
from visterm.collection.store.location import Location, locate
from visterm.collection.store.lock import Locked
from visterm.collection.store.snapshot import NotTrained, SharedState
from visterm.collection.store.urls import Url, as_path
from visterm.collection.store.versions import WORDS
from visterm.text.query import UnknownWords

if TYPE_CHECKING:
    from visterm.collection.feedback.changes import UndoneStep
    from visterm.collection.ingest.batches import Added
    from visterm.collection.ingest.pipeline import Stopped
    from visterm.collection.library.descriptions import Description, Likely
    from visterm.collection.library.duplicates import DuplicateGroup
    from visterm.collection.library.review import Doubt as Doubt
    from visterm.collection.library.suggestions import SuggestedWord
    from visterm.collection.library.teaching import RoundReport, WordRecord
    from visterm.collection.library.word_counts import CountedWord
    from visterm.collection.media.records import Picture, names_content
    from visterm.collection.search.quick_filters import QuickFilter
    from visterm.collection.serving import ClusterStatus, cluster_status, searching_on
    from visterm.collection.status import Status
    from visterm.collection.training.trainer import Trained
    from visterm.collection.watching import Watcher, follow

__all__ = [
    "WORDS",
    "Added",
    "ClusterStatus",
    "Collection",
    "CountedWord",
    "Description",
    "DuplicateGroup",
    "Judgement",
    "Likely",
    "Location",
    "Locked",
    "NotTrained",
    "PartialAnswer",
    "Picture",
    "PictureRecord",
    "Queued",
    "QuickFilter",
    "RoundReport",
    "ScoreParts",
    "SearchRequest",
    "SearchResponse",
    "SearchResult",
    "SharedState",
    "Status",
    "Stopped",
    "SuggestedWord",
    "Trained",
    "UndoneStep",
    "UnknownPicture",
    "UnknownWords",
    "Url",
    "Watcher",
    "WordRecord",
    "as_path",
    "cluster_status",
    "effective_caption",
    "follow",
    "has_pictures",
    "is_container",
    "locate",
    "names_content",
    "searching_on",
]

_LATER = {
    "Added": "ingest.batches",
    "ClusterStatus": "serving",
    "cluster_status": "serving",
    "CountedWord": "library.word_counts",
    "DuplicateGroup": "library.duplicates",
    "Doubt": "library.review",
    "RoundReport": "library.teaching",
    "UndoneStep": "feedback.changes",
    "Description": "library.descriptions",
    "Likely": "library.descriptions",
    "names_content": "media.records",
    "Picture": "media.records",
    "QuickFilter": "search.quick_filters",
    "Status": "status",
    "searching_on": "serving",
    "Stopped": "ingest.pipeline",
    "SuggestedWord": "library.suggestions",
    "Trained": "training.trainer",
    "Watcher": "watching",
    "WordRecord": "library.teaching",
    "follow": "watching",
}


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
