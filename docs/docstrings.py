"""Docstrings as the site shows them: doctests as code, roles as plain code."""

from __future__ import annotations

import re
from itertools import groupby
from typing import Any

import griffe

_ROLE = re.compile(r":(?:class|func|meth|mod|attr):`~?(?:[\w.]*\.)?(\w+)`")


class Doctests(griffe.Extension):
    """Fences doctests, which Markdown would take for quotations."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(_ROLE.sub(r"`\1`", obj.docstring.value))


def fenced(text: str) -> str:
    """Every paragraph that has a doctest, from its first prompt on, in a fence.

    >>> print(fenced("Adds.\\n\\n>>> 1 + 1\\n2\\n\\nEnd."))
    Adds.
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    <BLANKLINE>
    End.
    """
    lines: list[str] = []
    for is_blank, group in groupby(text.split("\n"), key=lambda line: not line.strip()):
        paragraph = list(group)
        first = next((n for n, one in enumerate(paragraph) if one.startswith(">>>")), None)
        if is_blank or first is None:
            lines += paragraph
            continue
        before, doctest = paragraph[:first], paragraph[first:]
        # A heading of the section stays next to what it heads.
        gap = [""] if before and not before[-1].startswith("---") else []
        lines += [*before, *gap, "```pycon", *doctest, "```"]
    return "\n".join(lines)
