"""The demo's photographs: their credits, and how a package is taken apart; nothing is fetched."""

from __future__ import annotations

import hashlib
import io
import lzma
import os
import struct
import tarfile
import zlib
from pathlib import Path
from shutil import which

import pytest

from visterm.datasets import photographs as module
from visterm.datasets.photographs import (
    CREDITS,
    NoPhotographs,
    Photograph,
    fetch_photographs,
    package_files,
    photographs,
)

needs_dpkg = pytest.mark.skipif(which("dpkg-deb") is None, reason="there is no dpkg-deb here")

FREE = {"public domain", "CC0-1.0"} | {
    f"{kind}-{version}" for kind in ("CC-BY", "CC-BY-SA") for version in ("2.0", "3.0", "4.0")
}


def test_every_photograph_names_its_photographer_and_a_free_licence() -> None:
    known = photographs()
    assert len(known) > 250
    assert {one.licence for one in known} <= FREE
    for one in known:
        assert one.photographer.strip()
        assert one.source.startswith("https://")
        assert len(bytes.fromhex(one.sha256)) == 32
        assert not Path(one.name).is_absolute()
        assert ".." not in one.name
    for field in ("name", "file"):
        assert len({getattr(one, field) for one in known}) == len(known)


def resources(files: dict[str, bytes], packed: dict[str, bytes]) -> bytes:
    """A Qt resource archive of the folder ``animals``, its files as they are or compressed."""
    held = {**files, **packed}
    names, name_at = b"", {}
    for name in ("animals", *held):
        name_at[name] = len(names)
        names += struct.pack(">HI", len(name), 0) + name.encode("utf-16-be")
    data, data_at = b"", {}
    for name, content in held.items():
        data_at[name] = len(data)
        if name in packed:
            content = struct.pack(">I", len(content)) + zlib.compress(content)
        data += struct.pack(">I", len(content)) + content
    rest = struct.pack(">Q", 0)  # when each file was changed
    tree = struct.pack(">IHII", 0, 2, 1, 1) + rest
    tree += struct.pack(">IHII", name_at["animals"], 2, len(held), 2) + rest
    for name in held:
        tree += struct.pack(">IHHHI", name_at[name], name in packed, 0, 1, data_at[name]) + rest
    at = 20
    head = b"qres" + struct.pack(">IIII", 2, at, at + len(tree), at + len(tree) + len(data))
    return head + tree + data + names


def package(files: dict[str, bytes]) -> bytes:
    """A Debian package that holds these files."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"./{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    empty = lzma.compress(bytes(10240))
    data = lzma.compress(tar.getvalue())
    members = {"debian-binary": b"2.0\n", "control.tar.xz": empty, "data.tar.xz": data}
    made = b"!<arch>\n"
    for name, content in members.items():
        made += f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode()
        made += content + b"\n" * (len(content) % 2)
    return made


HELD = package(
    {
        "usr/a.jpg": b"a boat",
        "usr/b.jpg": b"not asked for",
        "usr/more.rcc": resources({"owl.webp": b"an owl"}, {"notes.txt": b"n" * 99}),
    }
)


@needs_dpkg
def test_files_come_out_of_a_package_and_of_archives_inside_it(tmp_path: Path) -> None:
    (tmp_path / "some.deb").write_bytes(HELD)
    wanted = ["usr/a.jpg", "usr/more.rcc:animals/owl.webp", "usr/gone.jpg"]
    assert dict(package_files(tmp_path / "some.deb", wanted)) == {
        "usr/a.jpg": b"a boat",
        "usr/more.rcc:animals/owl.webp": b"an owl",
    }


def photograph(file: str, name: str, content: bytes) -> Photograph:
    digest = hashlib.sha256(content).hexdigest()
    return Photograph("some", file, name, "Anna", "CC0-1.0", "https://example.org", digest)


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An apt-get that has one package of two photographs."""
    (tmp_path / "some.deb").write_bytes(HELD)
    programs = tmp_path / "bin"
    programs.mkdir()
    script = f'#!/bin/sh\ncp "{tmp_path}/some.deb" some_1.0_all.deb 2> /dev/null || '
    (programs / "apt-get").write_text(script + "{ echo 'E: Unable to fetch some' >&2; exit 100; }")
    (programs / "apt-get").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    known = [
        photograph("usr/a.jpg", "sea/boat.jpg", b"a boat"),
        photograph("usr/more.rcc:animals/owl.webp", "owl.webp", b"an owl"),
    ]
    monkeypatch.setattr(module, "photographs", lambda: known)
    return tmp_path


@needs_dpkg
def test_photographs_are_fetched_once_with_their_credits(offered: Path) -> None:
    folder = offered / "photographs"
    seen = []
    assert fetch_photographs(folder, progress=lambda *step: seen.append(step)) == 2
    assert (folder / "sea" / "boat.jpg").read_bytes() == b"a boat"
    assert (folder / "owl.webp").read_bytes() == b"an owl"
    assert (folder / CREDITS).read_text(encoding="utf-8").splitlines()[1].split("\t")[3] == "Anna"
    assert seen
    (offered / "some.deb").unlink()
    assert fetch_photographs(folder) == 2, "they were there"


def test_a_package_that_cannot_be_fetched_is_said_so(offered: Path) -> None:
    (offered / "some.deb").unlink()
    with pytest.raises(NoPhotographs, match="apt-get download: Unable to fetch some"):
        fetch_photographs(offered / "photographs")


def test_other_systems_are_told_where_photographs_would_come_from(
    offered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(offered))
    with pytest.raises(NoPhotographs, match="apt-get is not there"):
        fetch_photographs(offered / "photographs")


@needs_dpkg
def test_a_file_that_is_another_is_left_out_and_too_few_are_no_demo(
    offered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = [
        photograph("usr/a.jpg", "boat.jpg", b"a boat"),
        photograph("usr/b.jpg", "b.jpg", b"what it was once"),
    ]
    monkeypatch.setattr(module, "photographs", lambda: known)
    with pytest.raises(NoPhotographs, match="only 1 of the 2 photographs"):
        fetch_photographs(offered / "photographs")
    assert not (offered / "photographs" / "b.jpg").exists()
    monkeypatch.setattr(module, "FEWEST", 1)
    assert fetch_photographs(offered / "photographs") == 1
    assert "b.jpg" not in (offered / "photographs" / CREDITS).read_text(encoding="utf-8")
