"""The code of README and docs, page by page, as a reader would run it from top to bottom.

Fenced blocks of ``python``, ``sh`` and ``console`` run in order, in one folder and one namespace a
page. A comment before a block says why it is not run: ``<!-- not run: needs data -->``. A page
begins in a small drawn collection, or with ``<!-- starts in an empty folder -->`` in a folder with
nothing but ``photographs``: drawn pictures under the names of the demo's.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from glob import glob
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
EMPTY = "<!-- starts in an empty folder -->"
LANGUAGES = ("python", "sh", "console")

_BLOCK = re.compile(r"(?:<!-- not run: (.*?) -->\n)?```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_INDENTED = re.compile(r"(?:\A|\n)\n    .*\bvisterm [a-z]")


@dataclass(frozen=True)
class Block:
    language: str
    code: str
    line: int
    not_run: str | None
    """Why it is not run; None where it is."""


def blocks(text: str) -> Iterator[Block]:
    """The blocks of code in a page."""
    for found in _BLOCK.finditer(text):
        reason, language, code = found.groups()
        if language in LANGUAGES:
            yield Block(language, code, text[: found.start(3)].count("\n") + 1, reason)


def indented_commands(text: str) -> list[str]:
    """Commands that stand in no fence, and so would never be run."""
    return [one.group().strip() for one in _INDENTED.finditer(_BLOCK.sub("", text))]


@dataclass
class Reader:
    """Somebody who runs the blocks of a page."""

    page: Path
    folder: Path
    tools: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__page__"})
    printed: list[str] = field(default_factory=list)

    def run(self, block: Block) -> None:
        if block.language == "python":
            self._python(block)
        else:
            self._shell(block)

    def _python(self, block: Block) -> None:
        # Line numbers of an error are those of the page.
        code = compile("\n" * (block.line - 1) + block.code, str(self.page), "exec")
        output = io.StringIO()
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(output):
            exec(code, self.names)
        self.printed.append(output.getvalue())

    def _shell(self, block: Block) -> None:
        where = f"{self.page.relative_to(ROOT)}, line {block.line}"
        for command in re.sub(r"\\\n\s*", "", block.code).strip().split("\n"):
            words = shlex.split(command, comments=True)
            plain = words[:1] == ["visterm"] and not {"&&", "|", ">", ";"} & set(words)
            code = self._visterm(words[1:]) if plain else self._command(command)
            assert code == 0, f"{where}: {command}\n{self.printed[-1][-2000:]}"

    def _visterm(self, words: list[str]) -> int:
        """A command of ours, without a process of its own: libraries are loaded once."""
        from visterm.cli import main

        output, code = io.StringIO(), 0
        with contextlib.chdir(self.folder):
            arguments = [one for word in words for one in sorted(glob(word)) or [word]]
            with (
                pytest.MonkeyPatch.context() as patch,
                contextlib.redirect_stdout(output),
                contextlib.redirect_stderr(output),
            ):
                patch.setattr(sys, "argv", ["visterm", *arguments])
                patch.setenv("PYTHONSAFEPATH", "")  # so that what a command sets is taken back
                try:
                    main()
                except SystemExit as end:
                    code = int(end.code or 0)
        self.printed.append(output.getvalue())
        return code

    def _command(self, command: str) -> int:
        # Where a command ends up, the next one begins.
        ran = subprocess.run(
            ["sh", "-e", "-c", f"{command}\npwd > '{self.tools}/where'"],
            cwd=self.folder,
            env=os.environ | {"PATH": f"{self.tools}{os.pathsep}{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            timeout=120,
        )
        self.printed.append(ran.stdout + ran.stderr)
        if ran.returncode == 0:
            self.folder = Path((self.tools / "where").read_text().strip())
        return ran.returncode


def make_tools(folder: Path) -> Path:
    """A folder for the search path with ``python`` and ``visterm`` as they are under test."""
    folder.mkdir()
    for name, module in (("python", ""), ("visterm", "-m visterm")):
        (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {module} "$@"\n')
        (folder / name).chmod(0o755)
    return folder
