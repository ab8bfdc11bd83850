"""A person's folder of pictures: found, captioned, learnt from and searched.

All that front ends use of this package is here by name; none imports from inside it. Importing it
loads NumPy and SQLite only: what reports and errors of longer work are, loads with their names.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from visterm.collection.change_log import Queued as Queued
from visterm.collection.collection import Collection as Collection
from visterm.collection.media.fields import FIELD_NAME as FIELD_NAME
from visterm.collection.media.fields import LONGEST_FIELD as LONGEST_FIELD
from visterm.collection.media.fields import MOST_FIELDS as MOST_FIELDS
from visterm.collection.media.records import PictureRecord as PictureRecord
from visterm.collection.media.records import UnknownPicture as UnknownPicture
from visterm.collection.search.request import PartialAnswer as PartialAnswer
from visterm.collection.search.request import ScoreParts as ScoreParts
from visterm.collection.search.request import SearchRequest as SearchRequest
from visterm.collection.search.request import SearchResponse as SearchResponse
from visterm.collection.search.request import SearchResult as SearchResult
from visterm.collection.store.caption_words import effective_caption as effective_caption
from visterm.collection.store.events import Judgement as Judgement
from visterm.collection.store.location import Location as Location
from visterm.collection.store.location import locate as locate
from visterm.collection.store.lock import Locked as Locked
from visterm.collection.store.snapshot import NotTrained as NotTrained
from visterm.collection.store.snapshot import SharedState as SharedState
from visterm.collection.store.urls import Url as Url
from visterm.collection.store.urls import as_path as as_path
from visterm.collection.store.versions import WORDS as WORDS
from visterm.text.query import UnknownWords as UnknownWords

if TYPE_CHECKING:
    from visterm.collection.feedback.changes import UndoneStep as UndoneStep
    from visterm.collection.ingest.batches import Added as Added
    from visterm.collection.ingest.pipeline import Stopped as Stopped
    from visterm.collection.library.descriptions import Description as Description
    from visterm.collection.library.descriptions import Likely as Likely
    from visterm.collection.library.duplicates import DuplicateGroup as DuplicateGroup
    from visterm.collection.library.review import Doubt as Doubt
    from visterm.collection.library.suggestions import SuggestedWord as SuggestedWord
    from visterm.collection.library.teaching import RoundReport as RoundReport
    from visterm.collection.library.teaching import WordRecord as WordRecord
    from visterm.collection.library.word_counts import CountedWord as CountedWord
    from visterm.collection.media.records import Picture as Picture
    from visterm.collection.media.records import names_content as names_content
    from visterm.collection.search.quick_filters import QuickFilter as QuickFilter
    from visterm.collection.serving import ClusterStatus as ClusterStatus
    from visterm.collection.serving import cluster_status as cluster_status
    from visterm.collection.serving import searching_on as searching_on
    from visterm.collection.sources.folders import has_pictures as has_pictures
    from visterm.collection.sources.folders import is_container as is_container
    from visterm.collection.status import Status as Status
    from visterm.collection.training.trainer import Trained as Trained
    from visterm.collection.watching import Watcher as Watcher
    from visterm.collection.watching import follow as follow

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
    "has_pictures": "sources.folders",
    "is_container": "sources.folders",
}


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
