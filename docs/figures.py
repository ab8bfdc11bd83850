"""Draw the figures of the result pages from what commands wrote.

    python -m docs.figures

Every picture ``docs/images/TABLE.png`` that a page of results shows is drawn anew where a
``papers/*/results.json`` holds the table; the others are left, and named.
"""

from __future__ import annotations

import re
from pathlib import Path

from docs.hooks import results

from visterm.evaluation import Table
from visterm.evaluation.plots import draw_table
from visterm.experiments.tables import entries

DOCS = Path(__file__).parent
CELL = re.compile(r"(?P<bold>\*\*)?(?P<number>-?[\d.]+)( ± [\d.]+)?(\*\*)?(<sup>.*</sup>)?")
TIMES = ("indexing", "retrieval")
"""Views whose figures are no percentages."""


def table_of(markdown: str, *, plain: bool = False) -> Table:
    """A table out of what a command wrote of it.

    >>> table_of("**T**\\n\\n| | ours |\\n| :-- | --: |\\n| AvgP | **28.3 ± 0.2** |").bold
    [('AvgP', 'ours')]
    """
    title, _, body = markdown.partition("\n\n")
    head, _, *lines = ([cell.strip() for cell in row[1:-1].split("|")] for row in body.split("\n"))
    columns, rows, bold = [_unescaped(name) for name in head[1:]], {}, []
    for name, *cells in lines:
        row = _unescaped(name)
        found = [CELL.fullmatch(cell) for cell in cells]
        unit = 1 if plain else 100
        rows[row] = [None if one is None else float(one["number"]) / unit for one in found]
        bold += [(row, c) for c, one in zip(columns, found, strict=True) if one and one["bold"]]
    shown = {name: values for name, values in rows.items() if any(v is not None for v in values)}
    marked = [cell for cell in bold if cell[0] in shown]
    return Table(
        _unescaped(title.strip("*")),
        columns,
        shown,
        bold=marked,
        plain=list(shown) if plain else (),
    )


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def main() -> None:
    """Draw what can be drawn."""
    pages = "\n".join(page.read_text("utf-8") for page in sorted(DOCS.glob("*/*.md")))
    for name in sorted(set(re.findall(r"images/([a-z0-9-]+)\.png", pages))):
        if name not in entries():
            continue
        if name not in results():
            print(f"{name}: no results.json holds it; visterm reproduce {name}")
            continue
        plain = entries()[name].table.get("view") in TIMES
        draw_table(table_of(results()[name]["table"], plain=plain), DOCS / "images" / f"{name}.png")
        print(f"{name}: drawn")


if __name__ == "__main__":
    main()
