"""Where an encoder's files come from: a folder, the URL of an archive, or a hub's repository."""

from __future__ import annotations

import lzma
import re
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from typing import IO
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from visterm.encoders.layout import OFFERED, check_size, most_bytes, names_of
from visterm.errors import BadInput
from visterm.progress import Progress, silent

HUB = "hf:"
_MOST_MEMBERS = 10_000
_CHUNK = 1 << 20
_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz")
_DAMAGED = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError),
    *(EOFError, OSError, RuntimeError),
)
"""What reading a damaged archive may raise."""


def proposed_name(source: str) -> str:
    """What an encoder from this source is called, unless a person says otherwise.

    >>> proposed_name("hf:some/clip-small@main"), proposed_name("https://a.example/b/tiny.tar.gz?x")
    ('clip-small', 'tiny')
    """
    if source.startswith(HUB):
        return source.removeprefix(HUB).partition("@")[0].rpartition("/")[2]
    last = (
        PurePosixPath(urlsplit(source).path).name if is_url(source) else Path(source).resolve().name
    )
    for end in _ARCHIVES:
        last = last.removesuffix(end)
    return re.sub(r"[^\w.-]", "-", last).strip("-.") or "encoder"


def is_url(source: str) -> bool:
    return source.startswith(("http://", "https://"))


def fetch(
    source: str, target: Path, precision: str | None, progress: Progress = silent
) -> dict[str, int]:
    """Bring an encoder's files into a new folder; returns their sizes by path below it."""
    if source.startswith(HUB):
        from visterm.encoders.hub import from_hub

        found = from_hub(source.removeprefix(HUB), precision, progress)
        return _from_folder(found, target, precision)
    if is_url(source):
        return _from_url(source, target, precision, progress)
    path = Path(source).expanduser()
    if path.is_dir():
        return _from_folder(path, target, precision)
    if path.is_file() and path.name.endswith(_ARCHIVES):
        return _from_archive(path, target, precision)
    raise BadInput(
        f"{source} is no folder with an encoder, no archive ({', '.join(_ARCHIVES)}), no URL of "
        "one and no hf:ORG/NAME"
    )


def _from_folder(folder: Path, target: Path, precision: str | None) -> dict[str, int]:
    there = {name: (folder / name).stat().st_size for name in OFFERED if (folder / name).is_file()}
    files = {name: there[name] for name in names_of(there, precision)}
    check_size(files)
    for name in files:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / name, target / name)
    return {name: (target / name).stat().st_size for name in files}


def _from_url(url: str, target: Path, precision: str | None, progress: Progress) -> dict[str, int]:
    end = next((end for end in _ARCHIVES if urlsplit(url).path.endswith(end)), None)
    if end is None:
        raise BadInput(f"{url} is no archive ({', '.join(_ARCHIVES)}) of an encoder's folder")
    archive = target.parent / f"archive{end}"
    try:
        with urlopen(Request(url, headers={"User-Agent": "visterm"}), timeout=60) as answer:
            total = int(answer.headers.get("Content-Length") or 0)
            check_size({"archive": total})
            with open(archive, "wb") as file:
                _copy(answer, file, lambda done: progress("fetching", done, total or done))
    except (URLError, OSError, ValueError, HTTPException) as error:
        raise BadInput(f"cannot fetch {url}: {getattr(error, 'reason', error)}") from None
    try:
        return _from_archive(archive, target, precision)
    finally:
        archive.unlink()


def _from_archive(archive: Path, target: Path, precision: str | None) -> dict[str, int]:
    """The files of an encoder in an archive, in its root or below one folder; others are left."""
    with _members(archive) as members:
        by_name = _inside(members)
        names = names_of({name: size for name, (size, _) in by_name.items()}, precision)
        check_size({name: by_name[name][0] for name in names})
        files = {}
        for name in names:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            size, opened = by_name[name]
            with opened() as source, open(target / name, "wb") as file:
                files[name] = _copy(source, file, most=size)
    return files


Member = tuple[int, Callable[[], IO[bytes]]]
"""A file's size, and what opens it."""


@contextmanager
def _members(archive: Path) -> Iterator[dict[str, Member]]:
    """The plain files of an archive by their path in it; links and devices are none."""
    found: dict[str, Member] = {}
    try:
        if archive.name.endswith(".zip"):
            with zipfile.ZipFile(archive) as zipped:
                for one in zipped.infolist()[:_MOST_MEMBERS]:
                    if not one.is_dir():
                        found[one.filename] = one.file_size, partial(zipped.open, one)
                yield found
            return
        with tarfile.open(archive) as tar:
            for number, entry in enumerate(tar):
                if number >= _MOST_MEMBERS:
                    raise BadInput(f"the archive holds more than {_MOST_MEMBERS:,} files")
                if entry.isfile():
                    found[entry.name] = entry.size, partial(_plain, tar, entry)
            yield found
    except _DAMAGED as error:
        raise BadInput(f"the archive cannot be read: {error}") from None


def _plain(tar: tarfile.TarFile, entry: tarfile.TarInfo) -> IO[bytes]:
    found = tar.extractfile(entry)
    assert found is not None, "only plain files are members"
    return found


def _inside(members: dict[str, Member]) -> dict[str, Member]:
    """Members by the names that files of encoders have, wherever in the archive their folder is."""
    paths = {PurePosixPath(name): member for name, member in members.items()}
    roots = sorted(
        {
            path.parents[name.count("/")]
            for path in paths
            for name in ("tokenizer.json", "textual/tokenizer.json")
            if path.as_posix() == name or path.as_posix().endswith(f"/{name}")
        },
        key=lambda root: (len(root.parts), root),
    )
    root = roots[0] if roots else PurePosixPath()
    if len(roots) > 1 and roots[0] / "textual" == roots[1]:
        root = roots[0]
    return {name: paths[root / name] for name in OFFERED if root / name in paths}


def _copy(
    source: IO[bytes],
    file: IO[bytes],
    report: Callable[[int], None] = lambda done: None,
    most: int | None = None,
) -> int:
    """Copy, and stop where more comes than was said."""
    done, limit = 0, most_bytes() if most is None else most
    while chunk := source.read(_CHUNK):
        done += len(chunk)
        if done > limit:
            raise BadInput(f"a file is larger than the {limit:,} bytes it may have")
        file.write(chunk)
        report(done)
    return done
