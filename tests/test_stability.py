"""Whatever `docs/reference/stability.md` promises is still there; more may have come.

`python tests/test_stability.py` writes down what there is now: from then on it may not go.
"""

from __future__ import annotations

import json
import pkgutil
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PROMISED = Path(__file__).with_name("promised.json")
PAGES = Path(__file__).parents[1] / "docs" / "reference" / "api"


def commands() -> set[str]:
    """Every command, and every option of it."""
    from typer.main import get_command

    from visterm.cli.app import app

    def options(command: Any, name: str) -> Iterator[str]:
        yield name
        for one in command.params:
            named = [*one.opts, *one.secondary_opts]
            yield from (f"{name} {option}" for option in named if option.startswith("-"))
        for inner, one in getattr(command, "commands", {}).items():
            yield from options(one, f"{name} {inner}")

    return set(options(get_command(app), "visterm"))


def http() -> set[str]:
    """Every path with its methods, what each takes, and the keys of its answers."""
    from visterm.web.app import make_app

    with tempfile.TemporaryDirectory() as folder:
        app: Any = make_app(Path(folder)).app
        described = app.openapi()
        app.state.server.close()
    parts = described["components"]["schemas"]

    def keys(about: Any) -> set[str]:
        """The names of properties, however deep."""
        if isinstance(about, list):
            return set().union(*map(keys, about))
        if not isinstance(about, dict):
            return set()
        if "$ref" in about:
            return keys(parts[about["$ref"].rpartition("/")[2]])
        inside = about.get("properties", {})
        return set(inside) | keys([*inside.values()]) | keys([about.get(one) for one in WITHIN])

    found = set()
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            call = f"{method.upper()} {path}"
            taken = {one["name"] for one in operation.get("parameters", ())}
            taken |= keys(operation.get("requestBody"))
            answers = operation["responses"].items()
            given = keys([answer for code, answer in answers if code.startswith("2")])
            found |= {call, *(f"{call} takes {one}" for one in taken)}
            found |= {f"{call} gives {one}" for one in given}
    return found


WITHIN = ("content", "application/json", "schema", "items", "anyOf", "allOf")
"""Where descriptions hold others."""


def python() -> set[str]:
    """Every public name of `visterm`, and those with a place on the pages of the Python API."""
    import visterm

    shown = "\n".join(page.read_text(encoding="utf-8") for page in PAGES.glob("*.md"))
    names = {f"visterm.{name}" for name in visterm.__all__}
    names |= set(re.findall(r"^::: (\S+)$", shown, re.MULTILINE))
    for name in names:
        pkgutil.resolve_name(name)
    return names


KINDS = {one.__name__: one for one in (commands, http, python)}


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_that_was_promised_has_gone(kind: str) -> None:
    promised = json.loads(PROMISED.read_text(encoding="utf-8"))[kind]
    assert promised
    assert set(promised) - KINDS[kind]() == set()


if __name__ == "__main__":
    now = {kind: sorted(found()) for kind, found in KINDS.items()}
    PROMISED.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")
