"""Quick filters: how a search could be narrowed by one click, and what each would leave."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from visterm.collection.search.filters import DATED
from visterm.collection.search.request import SearchRequest
from visterm.collection.search.searcher import matches
from visterm.collection.store.catalogue import Catalogue

_PARTS = {
    "year": f"""SELECT strftime('%Y', taken, 'unixepoch'), {{count}} FROM pictures
        WHERE taken IS NOT NULL AND {DATED} AND present > 0 AND {{which}} GROUP BY 1""",
    "type": """SELECT 'type:' || kind, {count} FROM pictures
        WHERE kind IS NOT NULL AND present > 0 AND {which} GROUP BY 1""",
    "folder": """SELECT 'in:' || substr(folder, 1, instr(folder || '/', '/') - 1),
            count(DISTINCT picture) FROM places
        WHERE folder != '' AND NOT vanished AND instr(folder, ':') = 0 AND {which} GROUP BY 1""",
}
_MOST = 12


@dataclass(frozen=True)
class QuickFilter:
    """A term that narrows a query, and how many pictures it would leave."""

    kind: str
    """year, type or folder."""
    term: str
    """As it is written in a query."""
    count: int


def quick_filters(catalogue: Catalogue, root: Path, text: str) -> list[QuickFilter]:
    """The years, types and outermost folders of the good matches of a query, or of all pictures.

    Years come from the latest on, the others by how many pictures they leave; what would leave all
    is left out.
    """
    if not text.strip():
        total = int(catalogue.one("SELECT count(*) FROM pictures WHERE present > 0"))
        counts = {
            kind: Counter(
                dict(catalogue.db.execute(part.format(count="count(*)", which="true")).fetchall())
            )
            for kind, part in _PARTS.items()
        }
    else:
        found = matches(catalogue, root, SearchRequest(text, k=200)).tolist()
        total, counts = len(found), {}
        for kind, part in _PARTS.items():
            column = "picture" if kind == "folder" else "id"
            question = part.replace("{count}", "count(*)").replace(
                "{which}", column + " IN {numbers}"
            )
            counts[kind] = Counter()
            for term, count in catalogue.among(question, found):
                counts[kind][term] += count
    return [
        QuickFilter(kind, _quoted(term), count)
        for kind, some in counts.items()
        for term, count in _ordered(kind, some)
        if count < total and _quoted(term) not in text.split()
    ]


def _ordered(kind: str, counts: Counter[str]) -> list[tuple[str, int]]:
    if kind == "year":
        return sorted(counts.items(), reverse=True)
    return counts.most_common(_MOST)


def _quoted(term: str) -> str:
    """A term that spaces do not take apart.

    >>> _quoted("in:summer 2019")
    'in:"summer 2019"'
    """
    name, colon, value = term.partition(":")
    return f'{name}:"{value}"' if colon and " " in value else term
