"""How large is the source?

    python -m benchmarks.size --json

Lines of code, without blanks, comments and docstrings, and modules by package of ``src/visterm``;
``product`` is what a person's pictures are searched with, ``research`` the rest and ``papers/``.
"""

from __future__ import annotations

import argparse
import ast
from pathlib import Path

from benchmarks.common import show

PRODUCT = (
    "collection",
    "index",
    "web",
    "cli",
    "compute",
    "calibration",
    "starter",
    "encoders",
    "pictures",
    "top",
)
"""Packages of the product; ``top`` are the files of the package itself."""
Size = dict[str, int]


def code_lines(text: str) -> int:
    """Lines that are neither blank, nor comments, nor docstrings.

    >>> code_lines('"Of no weight."\\n\\n# nor this\\nx = 1  # but this\\n')
    1
    """
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        value = node.value if isinstance(node, ast.Expr) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            docstrings |= set(range(value.lineno, (value.end_lineno or value.lineno) + 1))
    lines = enumerate(text.splitlines(), 1)
    return sum(
        bool(line.strip()) and not line.strip().startswith("#") and number not in docstrings
        for number, line in lines
    )


def measure(root: Path) -> dict[str, Size]:
    """Lines and modules by package, and of all together."""
    sizes: dict[str, Size] = {}

    def count(name: str, path: Path) -> None:
        of = sizes.setdefault(name, {"lines": 0, "modules": 0})
        of["lines"] += code_lines(path.read_text("utf-8"))
        of["modules"] += 1

    source = root / "src" / "visterm"
    for path in sorted(source.rglob("*.py")):
        inside = path.relative_to(source)
        count("top" if len(inside.parts) == 1 else inside.parts[0], path)
    for path in sorted((root / "papers").rglob("*.py")):
        count("papers", path)
    return sizes | {
        "product": _sum([size for name, size in sizes.items() if name in PRODUCT]),
        "research": _sum([size for name, size in sizes.items() if name not in PRODUCT]),
        "all": _sum(list(sizes.values())),
    }


def _sum(sizes: list[Size]) -> Size:
    return {key: sum(size[key] for size in sizes) for key in ("lines", "modules")}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.size", description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="a checkout")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    given = parser.parse_args()
    show(measure(given.root), as_json=given.json)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
