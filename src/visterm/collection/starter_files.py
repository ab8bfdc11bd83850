"""Starters that are shared between collections, as files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from visterm.collection.picture_views import PictureViews
from visterm.progress import Progress, silent


class StarterFiles(PictureViews):
    """The verbs of a `Collection` that write and take starters."""

    def export_starter(self, path: str | os.PathLike[str]) -> dict[str, Any]:
        """Write what answers here as a starter for other collections, and say what it is made of.

        Words, rows, calibration and provenance; no picture and no caption. Words that captions
        hold, names too, are among the words.
        """
        from visterm.collection.training.shared_starter import export_starter

        return export_starter(self.catalogue, Path(path))

    def use_starter(
        self, path: str | os.PathLike[str] | None, *, progress: Progress = silent
    ) -> dict[str, Any]:
        """Begin with a starter that was exported elsewhere; with visterm's own for None."""
        from visterm.collection.training.shared_starter import use_starter

        with self._writing("taking a starter"):
            given = None if path is None else Path(path)
            return use_starter(self.catalogue, given)
