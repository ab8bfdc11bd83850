"""Commands run as the console script runs them, in this process to save its start."""

from __future__ import annotations

import io
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from visterm.cli import main


@dataclass
class Ran:
    returncode: int
    stdout: str
    stderr: str


def visterm(*words: object, cwd: Path, environment: dict[str, str] | None = None) -> Ran:
    """Run the command line as the console script does, in this process to save its start."""
    out, err, before = io.StringIO(), io.StringIO(), Path.cwd()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["visterm", *map(str, words)])
        patch.setenv("PYTHONSAFEPATH", "")  # so that what a command sets is taken back
        for name, value in (environment or {}).items():
            patch.setenv(name, value)
        os.chdir(cwd)
        code: Any = 0
        try:
            with redirect_stdout(out), redirect_stderr(err):
                main()
        except SystemExit as left:
            code = left.code or 0
        finally:
            os.chdir(before)
    return Ran(code, out.getvalue(), err.getvalue())
