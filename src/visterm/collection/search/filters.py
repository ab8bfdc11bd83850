"""Which pictures may answer, and where their files lie."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from visterm.collection.catalogue import Catalogue
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
        values += [f"%/{_escaped(folder)}/%" for folder in filters.folders]
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


def located(
    catalogue: Catalogue, root: Path, ids: list[int], folders: tuple[str, ...] = ()
) -> dict[int, tuple[Path, ...]]:
    """Where pictures lie now: files in the asked-for folders first, then by name."""
    places: dict[int, list[tuple[bool, str, str]]] = {}
    for first in range(0, len(ids), 500):
        some = ids[first : first + 500]
        marks = ",".join("?" * len(some))
        for picture, folder, name in catalogue.db.execute(
            f"SELECT picture, folder, name FROM places WHERE NOT vanished AND picture IN ({marks})",
            some,
        ):
            away = not any(f"/{one}/".lower() in f"/{folder}/".lower() for one in folders)
            places.setdefault(picture, []).append((away, folder, name))
    return {
        picture: tuple(Path(root, folder, name) for _, folder, name in sorted(found))
        for picture, found in places.items()
    }


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


def _escaped(folder: str) -> str:
    return folder.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
