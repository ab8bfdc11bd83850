"""Encoders in the user's data directory: added, listed, removed.

Files are taken into a temporary folder beside the others, checked there, run there in a process of
their own, and only then given their name; whatever fails leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from visterm.child_process import child_environment
from visterm.encoders.graph_files import check_weights
from visterm.encoders.layout import read_layout
from visterm.encoders.manifest import PROMPTS, Manifest, checked_prompts, read_manifest
from visterm.encoders.sources import fetch, proposed_name
from visterm.errors import BadInput, VistermError
from visterm.files import make_folder, sync_folder
from visterm.progress import Progress, silent

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}")
_PART = ".part-"
_BEFORE = ".before-"
_ABANDONED = 24 * 3600
"""Seconds after which a temporary folder is what a killed installation has left."""
_SECONDS = 600
"""In which a text and a picture must have gone through; a graph may be made never to end."""
_MEMORY = 16 << 30
"""Bytes that a graph may take on trial."""


def home() -> Path:
    """The folder of all encoders: ``VISTERM_ENCODERS``, or one in the user's data directory."""
    from platformdirs import user_data_path

    given = os.environ.get("VISTERM_ENCODERS")
    return Path(given) if given else user_data_path("visterm", appauthor=False) / "encoders"


def folder(name: str) -> Path:
    """Where an encoder of this name lies, or would."""
    if not _NAME.fullmatch(name):
        raise BadInput(f"{name!r} is no name for an encoder; use letters, digits, . - and _")
    target, before = home() / name, _before(name)
    return before if before.is_dir() and not target.is_dir() else target


def _before(name: str) -> Path:
    """Where an encoder waits that is being replaced, and answers until another has its name."""
    return home() / f"{_BEFORE}{name}"


def installed() -> list[Manifest]:
    """Every encoder that is there, by name."""
    if not home().is_dir():
        return []
    there = {path.name.removeprefix(_BEFORE) for path in home().iterdir() if path.is_dir()}
    return [read_manifest(folder(name)) for name in sorted(there) if name[0] != "."]


def manifest_of(name: str) -> Manifest:
    """What is written down of an encoder."""
    where = folder(name)
    if not where.is_dir():
        there = ", ".join(one.name for one in installed()) or "none"
        raise BadInput(
            f"no encoder called {name!r} is installed (there is {there}); "
            "visterm encoder add PATH|URL|hf:ORG/NAME installs one"
        )
    found = read_manifest(where)
    for file, (_, size) in found.files.items():
        if not (where / file).is_file() or (where / file).stat().st_size != size:
            raise BadInput(f"{where / file} is gone or damaged; add the encoder again")
    return found


def add(
    source: str,
    *,
    name: str | None = None,
    precision: str | None = None,
    prompts: Sequence[str] = PROMPTS,
    progress: Progress = silent,
) -> Manifest:
    """Install an encoder from a folder, the URL of an archive, or ``hf:ORG/NAME``.

    One of the same name is replaced once the new one has passed every check.

    Raises
    ------
    BadInput
        Where the files are no encoder that can be used; nothing is left of them.
    """
    wanted = tuple(checked_prompts(tuple(prompts))) or PROMPTS
    called = name or proposed_name(source)
    folder(called)
    try:
        make_folder(home())
        _sweep()
        part = Path(tempfile.mkdtemp(prefix=_PART, dir=home()))
    except OSError as error:
        raise VistermError(f"cannot write into {home()}: {error.strerror}") from None
    try:
        files = fetch(source, part / "files", precision, progress)
        found = _checked(part / "files", files, called, source, precision, wanted, progress)
        found.write(part / "files")
        _sync(part / "files", found.files)
        _put(part / "files", called)
        return found
    except OSError as error:
        raise VistermError(f"cannot install {source}: {error.strerror or error}") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def remove(name: str) -> None:
    """Delete an encoder; vectors that it gave pictures stay in their collections."""
    where = folder(name)
    if not where.is_dir():
        manifest_of(name)  # says which there are
    try:
        for one in (_before(name), home() / name):  # or else the one before would come back
            if one.is_dir():
                part = Path(tempfile.mkdtemp(prefix=_PART, dir=home()))
                os.replace(one, part / "files")
                sync_folder(home())
                shutil.rmtree(part)
    except OSError as error:
        raise VistermError(f"cannot delete {where}: {error.strerror or error}") from None


def _put(files: Path, name: str) -> None:
    """Give files the name of an encoder, which another may have: one of the two always answers."""
    target, before = home() / name, _before(name)
    if target.is_dir():
        shutil.rmtree(before, ignore_errors=True)
        os.replace(target, before)
        sync_folder(home())
    try:
        os.replace(files, target)
    except OSError:
        if before.is_dir():
            os.replace(before, target)
        raise
    sync_folder(home())
    shutil.rmtree(before, ignore_errors=True)


def _sync(where: Path, files: Iterable[str]) -> None:
    """Make files and the names of all of them lasting, before they get the name of an encoder."""
    for file in files:
        with open(where / file, "rb+") as opened:
            os.fsync(opened.fileno())
    for inside in (where, *(path for path in where.rglob("*") if path.is_dir())):
        sync_folder(inside)


def _sweep() -> None:
    """Delete what installations that were killed have left; others may be under way."""
    for part in home().glob(f"{_PART}*"):
        with contextlib.suppress(FileNotFoundError):  # its own installation ended just now
            if time.time() - part.stat().st_mtime > _ABANDONED:
                shutil.rmtree(part, ignore_errors=True)


def _checked(
    where: Path,
    files: dict[str, int],
    name: str,
    source: str,
    precision: str | None,
    prompts: tuple[str, ...],
    progress: Progress,
) -> Manifest:
    """What is written down of files that have passed every check."""
    layout = read_layout(where, files, precision)
    for graph in (layout.vision, layout.text):
        check_weights(where, graph, files)
    hashes: dict[str, list[Any]] = {}
    for number, file in enumerate(layout.files):
        progress("hashing files", number, len(layout.files))
        with open(where / file, "rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
        hashes[file] = [digest, files[file]]
    progress("hashing files", len(hashes), len(hashes))
    for other in sorted(set(files) - set(hashes)):
        (where / other).unlink()
    every = hashlib.sha256(json.dumps(sorted(hashes.items())).encode()).hexdigest()
    progress("trying a text and a picture", 0, 1)
    dimensions = _tried(where, files, layout.precision)
    progress("trying a text and a picture", 1, 1)
    return Manifest(name, source, every, hashes, dimensions, layout.precision, prompts)


def _tried(where: Path, files: dict[str, int], precision: str) -> int:
    """How many numbers both sides give, run apart: a hostile graph costs a process, no more."""
    given = json.dumps([str(where), files, precision, _MEMORY])
    command = [sys.executable, "-m", "visterm.encoders.trial"]
    try:
        done = subprocess.run(
            command,
            input=given.encode(),
            capture_output=True,
            env=child_environment(),
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BadInput(f"a text and a picture take longer than {_SECONDS} s") from None
    try:
        said = json.loads(done.stdout.decode().splitlines()[-1])
    except (ValueError, IndexError, UnicodeDecodeError):
        raise BadInput("the graphs crash what runs them, so they are not installed") from None
    if "extra" in said:
        from visterm.errors import MissingExtra

        raise MissingExtra(said["extra"])
    if "problem" in said:
        raise BadInput(said["problem"])
    return int(said["dimensions"])
