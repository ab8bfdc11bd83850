"""A person's folder of pictures: found, described, captioned, learnt from and searched.

Importing this room loads NumPy and SQLite only.
"""

from visterm.collection.clicks import Judgement
from visterm.collection.collection import Collection
from visterm.collection.search import Answer, Result

__all__ = ["Answer", "Collection", "Judgement", "Result"]
