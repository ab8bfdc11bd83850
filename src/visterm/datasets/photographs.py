"""Free photographs for the demo, taken out of Debian's packages: none of them is kept here.

``photographs.tsv`` names the package, the file, the photographer, the licence, the source and the
SHA-256 of each one, and is written beside the photographs. All are in the public domain or under
CC0, CC BY or CC BY-SA.
"""

from __future__ import annotations

import hashlib
import struct
import subprocess
import tarfile
import tempfile
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import IO

from visterm.errors import VistermError
from visterm.files import write_whole
from visterm.progress import Progress, silent

CREDITS = "CREDITS.tsv"
MEGABYTES = 86
"""What the packages weigh together."""
FEWEST = 100
"""Photographs without which the demo is none: other releases hold other versions of some."""


class NoPhotographs(VistermError):
    """The photographs could not be fetched; the message says why."""


@dataclass(frozen=True)
class Photograph:
    """Where a photograph comes from, what it is called here, and whom to thank for it."""

    package: str
    file: str
    """Its path in the package; ``a.rcc:b`` is the file ``b`` of the Qt resources ``a.rcc``."""
    name: str
    photographer: str
    licence: str
    source: str
    sha256: str

    @property
    def line(self) -> str:
        """Its line of the credits."""
        return "\t".join(vars(self).values())


def photographs() -> list[Photograph]:
    """All photographs of the demo, with their credits."""
    lines = resources.files("visterm.datasets").joinpath("photographs.tsv").read_text("utf-8")
    return [Photograph(*line.split("\t")) for line in lines.splitlines()[1:]]


def fetch_photographs(folder: Path | str, *, progress: Progress = silent) -> int:
    """Put the photographs and their credits into a folder; those that are there stay.

    Returns how many there are. Raises `NoPhotographs` where apt-get cannot fetch the packages, or
    they hold few of the photographs whose licences were read.
    """
    folder, known = Path(folder), photographs()
    missing: dict[str, dict[str, Photograph]] = defaultdict(dict)
    for one in known:
        if not (folder / one.name).is_file():
            missing[one.package][one.file] = one
    if missing:
        with tempfile.TemporaryDirectory(prefix="visterm-photographs-") as scratch:
            _download(list(missing), Path(scratch))
            for done, (package, files) in enumerate(missing.items()):
                progress("unpacking photographs", done, len(missing))
                for file, content in package_files(_only(scratch, package), files):
                    if hashlib.sha256(content).hexdigest() == files[file].sha256:
                        target = folder / files[file].name
                        target.parent.mkdir(parents=True, exist_ok=True)
                        write_whole(target, content)
    there = [one for one in known if (folder / one.name).is_file()]
    if len(there) < min(FEWEST, len(known)):
        raise NoPhotographs(
            f"Debian's packages hold only {len(there)} of the {len(known)} photographs here"
        )
    header = "\t".join(Photograph.__annotations__)
    lines = [header, *(one.line for one in there)]
    write_whole(folder / CREDITS, ("\n".join(lines) + "\n").encode())
    return len(there)


def _download(packages: list[str], into: Path) -> None:
    try:
        subprocess.run(
            ["apt-get", "download", "--quiet", *packages],
            cwd=into, check=True, capture_output=True, text=True,
        )  # fmt: skip
    except FileNotFoundError:
        raise NoPhotographs("they lie in Debian's packages, and apt-get is not there") from None
    except subprocess.CalledProcessError as error:
        reason = (error.stderr.strip().splitlines() or ["it failed"])[-1]
        raise NoPhotographs(f"apt-get download: {reason.removeprefix('E: ')}") from None


def _only(folder: str, package: str) -> Path:
    return next(Path(folder).glob(f"{package}_*.deb"))


def package_files(package: Path, wanted: Collection[str]) -> Iterator[tuple[str, bytes]]:
    """The wanted files of a Debian package, by their names and what they hold."""
    inside: dict[str, set[str]] = defaultdict(set)
    for file in wanted:
        outer, _, inner = file.partition(":")
        inside[outer].add(inner)
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as tar:
        yield from _wanted(tar.stdout, inside)


def _wanted(tar: IO[bytes] | None, inside: dict[str, set[str]]) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=tar, mode="r|") as archive:
        for member in archive:
            name = member.name.removeprefix("./")
            if name not in inside or (stream := archive.extractfile(member)) is None:
                continue
            content = stream.read()
            if inside[name] == {""}:
                yield name, content
                continue
            for inner, held in _resources(content):
                if inner in inside[name]:
                    yield f"{name}:{inner}", held


_DIRECTORY, _PACKED = 2, 0b101


def _resources(archive: bytes) -> Iterator[tuple[str, bytes]]:
    """The files of a Qt resource archive that are stored as they are, which photographs are."""
    version, tree, data, names = struct.unpack_from(">IIII", archive, 4)
    entry_size = 22 if version >= 2 else 14

    def below(entry: int, folder: str) -> Iterator[tuple[str, bytes]]:
        at = tree + entry * entry_size
        name_at, flags = struct.unpack_from(">IH", archive, at)
        path = folder
        if entry:
            (length,) = struct.unpack_from(">H", archive, names + name_at)
            start = names + name_at + 6
            path += archive[start : start + 2 * length].decode("utf-16-be")
        if flags & _DIRECTORY:
            count, first = struct.unpack_from(">II", archive, at + 6)
            for child in range(first, first + count):
                yield from below(child, f"{path}/" if path else "")
        elif not flags & _PACKED:
            start = data + struct.unpack_from(">I", archive, at + 10)[0]
            (length,) = struct.unpack_from(">I", archive, start)
            yield path, archive[start + 4 : start + 4 + length]

    yield from below(0, "")
