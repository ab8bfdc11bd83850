"""Encoders in the user's data directory: added, listed, removed.

``NAME.json`` is an encoder's manifest, and names the folder of its files. Files are taken into a
new folder, checked there, run there in a process of their own, and only then named, by writing the
manifest whole: a kill at any moment leaves the encoder before or the new one, and at worst a folder
that nothing names, which a later installation deletes.
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
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from visterm.child_process import child_environment
from visterm.encoders.adoption import adopt
from visterm.encoders.layout import Layout, check_weights, read_layout
from visterm.encoders.sources import fetch, known_networks, proposed_name
from visterm.errors import BadInput, MissingExtra, VistermError
from visterm.files import PART, make_folder, sync_folder, write_whole
from visterm.progress import Progress, silent

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}")
_FILES = "files-"
_ABANDONED = 24 * 3600
"""Seconds after which a folder that nothing names is what a killed installation has left."""
_SECONDS = 600
"""In which a text and a picture must have gone through; a graph may be made never to end."""
_MEMORY = 16 << 30
"""Bytes that a graph may take on trial."""
FORMAT = 2
PROMPTS = ("{}", "a photo of {}", "a picture that shows {}")
"""Texts around a word, whose mean vector is the word's; the encoders learnt from such texts."""


@dataclass(frozen=True)
class Manifest:
    """An encoder by its name: where it came from, its files, and what running it showed."""

    name: str
    source: str
    folder: str
    """Which holds the files, beside the manifest."""
    digest: str
    """Of all files; vectors of other ones cannot be compared."""
    files: dict[str, list[Any]]
    """By path below the folder: SHA-256 and size."""
    dimensions: int
    precision: str
    reads_texts: bool
    """Whether it has a text side; else it is for pictures alone."""
    prompts: tuple[str, ...] = PROMPTS
    prefix: str = ""
    """What comes before every text, such as the name of a language that the encoder asks for."""
    licence: str | None = None
    """What was stated for a network that is known by name."""
    format: int = field(default=FORMAT)

    @property
    def size(self) -> int:
        return sum(int(size) for _, size in self.files.values())


def read_manifest(path: Path) -> Manifest:
    """The manifest of an installed encoder."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        if stored["format"] != FORMAT:
            raise ValueError(f"its format is {stored['format']}, not {FORMAT}")
        return Manifest(**{**stored, "prompts": tuple(stored["prompts"])})
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadInput(f"{path} is damaged ({error}); add the encoder again") from None


def home() -> Path:
    """The folder of all encoders: ``VISTERM_ENCODERS``, or one in the user's data directory."""
    from platformdirs import user_data_path

    given = os.environ.get("VISTERM_ENCODERS")
    return Path(given) if given else user_data_path("visterm", appauthor=False) / "encoders"


def installed() -> list[Manifest]:
    """Every encoder that is there, by name."""
    return [read_manifest(path) for path in sorted(home().glob("[!.]*.json"))]


def is_encoder(name: str) -> bool:
    """Whether a name is an installed encoder's, or a known network's that could be installed."""
    if name in known_networks():
        return True
    return _NAME.fullmatch(name) is not None and _manifest_path(name).is_file()


def manifest_of(name: str) -> Manifest:
    """What is written down of an encoder, whose files are there."""
    path = _manifest_path(name)
    if not path.is_file():
        there = ", ".join(one.name for one in installed()) or "none"
        what = name if name in known_networks() else "PATH|hf:ORG/NAME"
        raise BadInput(
            f"no encoder called {name!r} is installed (there is {there}); "
            f"visterm encoder add {what} installs one"
        )
    manifest = read_manifest(path)
    for file, (_, size) in manifest.files.items():
        there_now = home() / manifest.folder / file
        if not there_now.is_file() or there_now.stat().st_size != size:
            raise BadInput(f"{there_now} is gone or damaged; add the encoder again")
    return manifest


def add(
    source: str,
    *,
    name: str | None = None,
    precision: str | None = None,
    prompts: Sequence[str] = PROMPTS,
    prefix: str | None = None,
    progress: Progress = silent,
) -> Manifest:
    """Install an encoder from a folder, ``hf:ORG/NAME``, or by the name of a known network.

    One of the same name is replaced once the new one has passed every check. ``prefix`` comes
    before every text; encoders whose text side is NLLB's have the code of a language there, English
    where none is given.

    Raises
    ------
    BadInput
        Where the files are no encoder that can be used; nothing is left of them.
    """
    for prompt in prompts:
        if prompt.count("{}") != 1:
            raise BadInput(f"a prompt has one place for the word, {{}}, unlike {prompt!r}")
    path = _manifest_path(name or proposed_name(source))
    replaced = _folder_named_by(path)
    try:
        make_folder(home())
        folder = home() / f"{_FILES}{os.urandom(4).hex()}"
        folder.mkdir()
    except OSError as error:
        raise VistermError(f"cannot write into {home()}: {error.strerror}") from None
    try:
        fetch(source, folder, precision, progress)
        adopt(folder)
        layout = read_layout(folder, precision)
        hashes = _hashes(folder, layout, progress)
        progress("trying the encoder", 0, 1)
        manifest = Manifest(
            name=path.stem,
            source=source,
            folder=folder.name,
            digest=hashlib.sha256(json.dumps(sorted(hashes.items())).encode()).hexdigest(),
            files=hashes,
            dimensions=_tried(folder, layout.precision),
            precision=layout.precision,
            reads_texts=layout.text is not None,
            prompts=tuple(prompts) or PROMPTS,
            prefix=("eng_Latn" if path.stem.startswith("nllb") else "")
            if prefix is None
            else prefix,
            licence=known_networks()[source].licence if source in known_networks() else None,
        )
        progress("trying the encoder", 1, 1)
        _sync(folder, hashes)
        write_whole(path, json.dumps(asdict(manifest), indent=1, ensure_ascii=False).encode())
    except OSError as error:
        raise VistermError(f"cannot install {source}: {error.strerror or error}") from None
    finally:
        _sweep(folder.name, replaced)
    return manifest


def remove(name: str) -> None:
    """Delete an encoder; vectors that it gave pictures stay in their collections."""
    path = _manifest_path(name)
    if not path.is_file():
        manifest_of(name)  # says which there are
    folder = _folder_named_by(path)
    try:
        path.unlink()
        sync_folder(home())
        _sweep(folder)
    except OSError as error:
        raise VistermError(f"cannot delete {path}: {error.strerror or error}") from None


def _manifest_path(name: str) -> Path:
    if not _NAME.fullmatch(name):
        raise BadInput(f"{name!r} is no name for an encoder; use letters, digits, . - and _")
    return home() / f"{name}.json"


def _folder_named_by(path: Path) -> str | None:
    try:
        return read_manifest(path).folder
    except BadInput:  # there is none, or it is damaged
        return None


def _sweep(*own: str | None) -> None:
    """Delete what no manifest names: own folders of files now, others once they are abandoned."""
    try:
        named = {manifest.folder for manifest in installed()}
    except BadInput:
        return  # a manifest that cannot be read now may name any of them
    for left in [*home().glob(f"{_FILES}*"), *home().glob(f".*{PART}")]:
        with contextlib.suppress(FileNotFoundError):  # its own installation ended just now
            is_abandoned = time.time() - left.stat().st_mtime > _ABANDONED
            if left.name in named or not (left.name in own or is_abandoned):
                continue
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink()


def _sync(where: Path, files: Iterable[str]) -> None:
    """Make files and the names of all of them lasting, before a manifest names them."""
    for file in files:
        with open(where / file, "rb+") as opened:
            os.fsync(opened.fileno())
    for inside in (where, *(path for path in where.rglob("*") if path.is_dir())):
        sync_folder(inside)


def _hashes(where: Path, layout: Layout, progress: Progress) -> dict[str, list[Any]]:
    """SHA-256 and size of an encoder's files, whose weights all lie among them."""
    check_weights(where, layout.vision)
    if layout.text is not None:
        check_weights(where, layout.text.graph)
    hashes: dict[str, list[Any]] = {}
    for number, file in enumerate(layout.files):
        progress("hashing files", number, len(layout.files))
        with open(where / file, "rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
            hashes[file] = [digest, os.fstat(opened.fileno()).st_size]
    progress("hashing files", len(hashes), len(hashes))
    return hashes


def _tried(where: Path, precision: str) -> int:
    """How many numbers both sides give, run apart: a hostile graph costs a process, no more."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", "from visterm.encoders import encoder; encoder.trial()"],
            input=json.dumps([str(where), precision, _MEMORY]).encode(),
            capture_output=True,
            env=child_environment(),
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BadInput(f"a text and a picture take longer than {_SECONDS} s") from None
    try:
        answer = json.loads(done.stdout.decode().splitlines()[-1])
    except (ValueError, IndexError, UnicodeDecodeError):
        raise BadInput("the graphs crash what runs them, so they are not installed") from None
    if "extra" in answer:
        raise MissingExtra(answer["extra"])
    if "problem" in answer:
        raise BadInput(answer["problem"])
    return int(answer["dimensions"])
