"""The log of a search: one line about the search, then one for each trial that was finished.

A line is written at once and synced, so that a kill loses the trial under way and nothing else;
half a line at the end, as a power cut may leave it, is dropped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from visterm.errors import BadInput, VistermError
from visterm.experiments.tuning.search_space import Trial
from visterm.files import write_whole

FORMAT = "visterm tune 1"


@dataclass(frozen=True)
class TrialResult:
    """What a trial gave: AvgP for each seed, or why it failed."""

    trial: Trial
    avgp: tuple[float, ...] = ()
    iterations: tuple[int, ...] = ()
    seconds: float = 0.0
    failed: str | None = None

    @property
    def mean(self) -> float:
        """Mean AvgP; below every other where there is none."""
        return sum(self.avgp) / len(self.avgp) if self.avgp else -1.0

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"trial": self.trial._asdict()}


class TrialLog:
    """Results of trials in a file of JSON lines; without a path, in memory only.

    Parameters
    ----------
    path : Path, optional
        Made where it is not there yet. One of another search is refused.
    about : mapping
        What tells this search from another, as plain values.
    """

    def __init__(self, path: Path | None, about: Mapping[str, Any]) -> None:
        self.path = path
        self.results: dict[Trial, TrialResult] = {}
        head = {"log": FORMAT, **about}
        if path is None:
            return
        if not path.exists():
            write_whole(path, _line(head))
            return
        lines = _whole_lines(path)
        _check_head(path, lines[0] if lines else None, head)
        for number, line in enumerate(lines[1:], start=2):
            result = _result(path, number, line)
            self.results[result.trial] = result

    def add(self, result: TrialResult) -> None:
        """Remember a trial that was finished."""
        self.results[result.trial] = result
        if self.path is None:
            return
        try:
            with open(self.path, "ab") as file:
                file.write(_line(result.to_json()))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise VistermError(f"cannot write {self.path}: {error.strerror or error}") from error


def _line(told: Mapping[str, Any]) -> bytes:
    return json.dumps(told, ensure_ascii=False).encode() + b"\n"


def _whole_lines(path: Path) -> list[bytes]:
    """Lines that were written to their end; a torn one is cut off the file."""
    try:
        content = path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            with open(path, "r+b") as file:
                file.truncate(len(whole))
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror or error}; give another --log") from None
    return whole.splitlines()


def _check_head(path: Path, line: bytes | None, expected: Mapping[str, Any]) -> None:
    try:
        head = json.loads(line or b"")
        known = head["log"] == FORMAT
    except (ValueError, TypeError, KeyError):
        known = False
    if not known:
        raise BadInput(f"{path} is no log of visterm tune; give another --log")
    other = _differences(head, json.loads(_line(expected)))
    if other:
        raise BadInput(
            f"{path} is the log of another search: {', '.join(other)} differ; give another --log, "
            "or delete this one"
        )


def _differences(head: Mapping[str, Any], expected: Mapping[str, Any]) -> list[str]:
    """What is not the same, inner names where there are some."""
    names: list[str] = []
    for name in dict.fromkeys([*expected, *head]):
        ours, theirs = expected.get(name), head.get(name)
        if ours == theirs:
            continue
        if isinstance(ours, dict) and isinstance(theirs, dict):
            names += _differences(theirs, ours)
        else:
            names.append(name)
    return names


def _result(path: Path, number: int, line: bytes) -> TrialResult:
    try:
        told = json.loads(line)
        return TrialResult(
            Trial(**told["trial"]),
            tuple(told["avgp"]),
            tuple(told["iterations"]),
            told["seconds"],
            told["failed"],
        )
    except (ValueError, TypeError, KeyError):
        raise BadInput(f"{path}, line {number}: this is no trial; give another --log") from None
