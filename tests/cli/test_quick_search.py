"""The quick way into a search understands what the parser understands, or leaves it alone."""

from __future__ import annotations

from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from visterm.cli import search_command
from visterm.cli.app import app
from visterm.cli.quick_search import FLAGS, VALUES, SearchOptions, parse

WAYS = [
    ["tree"],
    ["tree", "snow"],
    ["tree snow", "-k", "3"],
    ["--limit", "3", "tree"],
    ["tree", "--json", "--good", "--fold", "--paths", "--preview", "--as-is"],
    ["--like", "a.jpg"],
    ["in:alps", "--like", "a.jpg", "-C", "folder", "--store", "store"],
    [],
]


@pytest.mark.parametrize("words", WAYS)
def test_what_is_understood_quickly_is_what_the_parser_understands(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[SearchOptions] = []
    monkeypatch.setattr(search_command, "run", parsed.append)
    ran = CliRunner().invoke(app, ["search", *words])
    assert ran.exit_code == 0, ran.output
    assert [parse(["search", *words])] == parsed


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["-h"],
        ["tree", "--unheard-of"],
        ["tree", "-k"],
        ["tree", "-k", "many"],
        ["tree", "-k", "0"],
        ["tree", "-k3"],
        ["tree", "--limit=3"],
        ["tree", "-snow"],
        ["--", "-snow"],
    ],
)
def test_what_is_not_understood_is_left_to_the_parser(words: list[str]) -> None:
    assert parse(["search", *words]) is None


def test_other_commands_are_left_to_the_parser() -> None:
    assert parse([]) is None
    assert parse(["status"]) is None
    assert parse(["--version"]) is None


def test_every_option_of_search_is_known_and_none_besides() -> None:
    command: Any = typer.main.get_command(app)
    parameters = command.commands["search"].params
    options = {
        spelt: parameter.name
        for parameter in parameters
        for spelt in parameter.opts
        if spelt.startswith("-") and parameter.name != "help"
    }
    assert options == FLAGS | VALUES
