"""Drives that are away: what lay on them has not vanished.

A network drive or a card that is not mounted leaves an empty folder. Which folders were mount
points when they were last listed is remembered, so that an empty one is told from one that was
emptied.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from visterm.collection.sources.listing import Listing
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.urls import is_url, is_within, shard_of

AWAY = "the drive that was mounted here is away; what is known of its pictures is kept"
_SETTING = "mounts"


class Mounts:
    """The mount points below a collection's folder, as they were and as they are."""

    def __init__(self, catalogue: Catalogue, root: Path) -> None:
        self._root = root
        self._before: set[str] = set(json.loads(catalogue.get(_SETTING) or "[]"))
        self._seen: set[str] = set()
        self._listed: list[str] = []

    def is_away(self, listing: Listing) -> bool:
        """Whether a folder is the empty place of a drive; notes mount points on the way."""
        folder = listing.folder
        if listing.problem is not None or is_url(folder) or shard_of(folder):
            return False
        if os.path.ismount(os.path.join(self._root, folder)):
            self._seen.add(folder)
            return False
        if folder not in self._before or not listing.is_bare:
            return False
        self._seen.add(folder)
        return True

    def keep(self, catalogue: Catalogue, scopes: list[str]) -> None:
        """Remember what is mounted now, inside a transaction."""
        others = {one for one in self._before if not any(is_within(one, s) for s in scopes)}
        found = sorted(others | self._seen)
        catalogue.set(_SETTING, json.dumps(found) if found else None)
