"""The contact sheet: whole in itself, safe whatever captions hold, and readable without colour."""

from __future__ import annotations

import base64
import io
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from visterm.errors import BadInput
from visterm.evaluation.contact_sheet import (
    THUMBNAIL,
    Card,
    Group,
    contact_sheet,
)

HOSTILE = "<script>alert(1)</script> & \"'><img src=x onerror=alert(2)>"


class Page(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.words.append(data)

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self) -> str:
        return "".join(self.words)


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "drawn.png"
    pixels = np.random.default_rng(0).integers(0, 255, (200, 600, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)
    return path


def card(path: Path, caption: str = "sea sky", *, hit: bool = False) -> Card:
    return Card(caption, path, hit, "0.500")


def written(folder: Path, *groups: Group, **how: str) -> Page:
    sheet = contact_sheet(groups, **{"title": "Found", **how})
    (folder / "sheet.html").write_bytes(sheet)
    source = sheet.decode()
    assert source.startswith("<!doctype html>")
    page = Page(source)
    assert page.open == []
    return page


def test_pictures_are_small_jpeg_files_inside_the_page(tmp_path: Path, picture: Path) -> None:
    page = written(tmp_path, Group("sea", [card(picture), card(picture)]))
    images = page.all("img")
    assert len(images) == 2
    head, code = images[0]["src"].split(",")
    assert head == "data:image/jpeg;base64"
    with Image.open(io.BytesIO(base64.b64decode(code))) as inside:
        assert inside.format == "JPEG"
        assert inside.size == (THUMBNAIL, THUMBNAIL // 3)
        assert (images[0]["width"], images[0]["height"]) == tuple(map(str, inside.size))


def test_the_page_asks_for_nothing_and_runs_nothing(tmp_path: Path, picture: Path) -> None:
    group = Group(HOSTILE, [card(picture, HOSTILE, hit=True)], HOSTILE)
    page = written(tmp_path, group, title=HOSTILE, note=HOSTILE)
    assert not {tag for tag, _ in page.elements} & {
        "script",
        "link",
        "iframe",
        "object",
        "a",
        "form",
    }
    for _, attributes in page.elements:
        assert not any(name.startswith("on") for name in attributes)
        for name in ("src", "href", "srcset", "action", "style"):
            assert attributes.get(name, "data:").startswith("data:")
    source = (tmp_path / "sheet.html").read_text(encoding="utf-8")
    assert not re.search(r"https?:|url\(|@import", source)
    policies = [meta["content"] for meta in page.all("meta") if "http-equiv" in meta]
    assert policies == ["default-src 'none'; img-src data:; style-src 'unsafe-inline'"]


def test_what_captions_and_headings_hold_is_shown_as_it_was_written(
    tmp_path: Path, picture: Path
) -> None:
    page = written(tmp_path, Group(HOSTILE, [card(picture, HOSTILE)]), title=HOSTILE, note=HOSTILE)
    assert page.text.count(HOSTILE) == 5  # tab, heading, note, query, caption
    assert len(page.all("img")) == 1


def test_what_is_right_is_marked_by_a_sign_and_a_word(tmp_path: Path, picture: Path) -> None:
    page = written(tmp_path, Group("sea", [card(picture), card(picture, hit=True)], "1 of 2"))
    assert [item["class"] for item in page.all("li")] == ["miss", "hit"]
    assert [s["aria-label"] for s in page.all("span") if "aria-label" in s] == ["right"]
    assert page.text.count("✓") == 1
    assert "1 of 2" in page.text


def test_an_unreadable_picture_leaves_a_frame_with_the_reason(
    tmp_path: Path, picture: Path
) -> None:
    broken = tmp_path / "broken.jpg"
    broken.write_bytes(b"")
    page = written(tmp_path, Group("sea", [card(broken), card(picture)]))
    assert len(page.all("img")) == 1
    assert "empty" in page.text


def test_odd_names_and_characters_do_not_stop_the_page(tmp_path: Path, picture: Path) -> None:
    odd = tmp_path / "bj\udcf8rn.png"
    try:
        odd.write_bytes(picture.read_bytes())
    except (OSError, UnicodeEncodeError):
        pytest.skip("this file system takes no such name")
    assert len(written(tmp_path, Group("sea\udc80", [card(odd)])).all("img")) == 1


def test_a_sheet_of_nothing_is_refused() -> None:
    with pytest.raises(BadInput, match="at least one"):
        contact_sheet([], title="Found")


def test_the_page_serves_light_and_dark_and_small_screens(tmp_path: Path, picture: Path) -> None:
    page = written(tmp_path, Group("sea", [card(picture)]))
    source = (tmp_path / "sheet.html").read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in source
    assert any(meta.get("name") == "viewport" for meta in page.all("meta"))
