"""Filters of a search: the pictures that folders and captions let through."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from visterm.collection.store.catalogue import Catalogue, below_pattern
from visterm.errors import BadInput
from visterm.text.query import Filters, closest_words


def allowed(catalogue: Catalogue, filters: Filters) -> NDArray[np.int64] | None:
    """The pictures that filters let through; None where there is no filter."""
    if not filters:
        return None
    conditions, values = ["present > 0"], []
    if filters.folders:
        inside = " OR ".join("'/' || folder || '/' LIKE ? ESCAPE '\\'" for _ in filters.folders)
        conditions.append(f"id IN (SELECT picture FROM places WHERE NOT vanished AND ({inside}))")
        values += [f"%/{below_pattern(folder)}" for folder in filters.folders]
    if filters.captioned is not None:
        negation = "" if filters.captioned else "NOT"
        conditions.append(f"id {negation} IN (SELECT picture FROM captions)")
    found = catalogue.db.execute(
        f"SELECT id FROM pictures WHERE {' AND '.join(conditions)}", values
    )
    ids = np.fromiter((picture for (picture,) in found), np.int64)
    if not ids.size:
        _check_folders(catalogue, filters)
    return ids


def _check_folders(catalogue: Catalogue, filters: Filters) -> None:
    known = {
        part
        for (folder,) in catalogue.db.execute("SELECT DISTINCT folder FROM places")
        for part in (folder, *folder.split("/"))
        if part
    }
    lower = {f"/{folder.lower()}/" for folder in known}
    for folder in filters.folders:
        if not any(f"/{folder.lower()}/" in one for one in lower):
            near = closest_words(folder, sorted(known))
            hint = f"; did you mean {' or '.join('in:' + one for one in near)}?" if near else ""
            raise BadInput(f"the collection has no folder {folder!r}{hint}")
