from __future__ import annotations

import os
from pathlib import Path

import pytest

from visterm.collection.sources.folders import look_at, walk
from visterm.collection.sources.opening import File


def put(path: Path, content: bytes = b"x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def found(root: Path, folder: str = "") -> list[str]:
    return [
        f"{listing.folder}/{file.name}" for listing in walk(root, folder) for file in listing.files
    ]


def test_pictures_are_found_in_the_order_of_names_whatever_the_disk_says(tmp_path: Path) -> None:
    for name in ("b/z.png", "b/a.JPG", "a/m.webp", "z.tif", "a/deep/er/x.gif", "notes.txt", "b/c"):
        put(tmp_path / name)
    assert found(tmp_path) == ["/z.tif", "a/m.webp", "a/deep/er/x.gif", "b/a.JPG", "b/z.png"]
    assert found(tmp_path, "a/deep") == ["a/deep/er/x.gif"]


def test_hidden_files_and_folders_and_visterms_own_are_passed_over(tmp_path: Path) -> None:
    for name in (".hidden/a.jpg", ".visterm/features/b.jpg", "._c.jpg", "d.jpg"):
        put(tmp_path / name)
    assert found(tmp_path) == ["/d.jpg"]


def test_links_are_followed_and_circles_end(tmp_path: Path) -> None:
    put(tmp_path / "a" / "x.jpg")
    put(tmp_path / "outside" / "y.jpg")
    (tmp_path / "root").mkdir()
    for name, to in (("in", "a"), ("again", "a"), ("out", "outside")):
        (tmp_path / "root" / name).symlink_to(tmp_path / to)
    (tmp_path / "a" / "up").symlink_to(tmp_path / "root")
    (tmp_path / "a" / "self").symlink_to(tmp_path / "a" / "self")
    (tmp_path / "a" / "broken.jpg").symlink_to(tmp_path / "nowhere")
    names = [path.rsplit("/", 1)[1] for path in found(tmp_path / "root")]
    assert sorted(names) == ["x.jpg", "y.jpg"]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_folder_that_cannot_be_listed_is_named_and_the_others_are_listed(tmp_path: Path) -> None:
    put(tmp_path / "closed" / "a.jpg")
    put(tmp_path / "open" / "b.jpg")
    tmp_path.chmod(0o755)
    (tmp_path / "closed").chmod(0)
    me = os.geteuid()
    for parent in tmp_path.parents:
        if me == 0 and not parent.stat().st_mode & 1:  # pytest's own folders are its own
            parent.chmod(0o755)
    try:
        if me == 0:  # root may read everything
            os.seteuid(65_534)
        listings = list(walk(tmp_path))
    finally:
        os.seteuid(me)
        (tmp_path / "closed").chmod(0o755)
    problems = {at.folder: at.problem for at in listings if at.problem}
    assert problems == {"closed": "permission denied"}
    assert [at.folder for at in listings if at.files] == ["open"]


@pytest.mark.skipif(os.name != "posix", reason="names of POSIX are bytes")
def test_a_name_that_is_no_text_is_told_and_left_out(tmp_path: Path) -> None:
    try:
        put(Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.jpg")))
    except OSError:
        pytest.skip("this file system takes text only")
    (listing,) = walk(tmp_path)
    assert listing.files == []
    assert listing.unusable[0][1] == "its name is not valid text; rename it"


def test_a_sidecar_is_seen_to_come_change_and_go(tmp_path: Path) -> None:
    put(tmp_path / "a.jpg")
    put(tmp_path / "b.jpg")

    def stamps() -> dict[str, str]:
        return {file.name: file.sidecars for at in walk(tmp_path) for file in at.files}

    alone = stamps()
    put(tmp_path / "a.jpg.xmp")
    with_xmp = stamps()
    put(tmp_path / "a.txt", b"longer")
    with_both = stamps()
    assert alone["a.jpg"] == "" != with_xmp["a.jpg"] != with_both["a.jpg"]
    assert {one["b.jpg"] for one in (alone, with_xmp, with_both)} == {""}
    single = look_at(tmp_path, "", ["a.jpg"])["a.jpg"]
    assert isinstance(single, File)
    assert single.sidecars == with_both["a.jpg"]
