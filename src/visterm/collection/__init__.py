"""A person's folder of pictures: found, described, captioned, learnt from and searched.

Importing this room loads NumPy and SQLite only.
"""

from visterm.collection.clicks import Judgement
from visterm.collection.collection import Collection
from visterm.collection.search import SearchRequest, SearchResponse, SearchResult

__all__ = ["Collection", "Judgement", "SearchRequest", "SearchResponse", "SearchResult"]
