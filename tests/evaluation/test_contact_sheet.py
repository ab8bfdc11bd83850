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
    RankedPicture,
    RankedQuery,
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


def ranked(path: Path, caption: str = "sea sky", *, hit: bool = False) -> RankedPicture:
    return RankedPicture(path, 0.5, caption, relevant=hit)


def written(folder: Path, *rankings: RankedQuery, **how: object) -> Page:
    sheet = contact_sheet(rankings, **{"title": "Found", **how})  # type: ignore[arg-type]
    (folder / "sheet.html").write_bytes(sheet)
    source = sheet.decode()
    assert source.startswith("<!doctype html>")
    page = Page(source)
    assert page.open == []
    return page


def test_pictures_are_small_jpeg_files_inside_the_page(tmp_path: Path, picture: Path) -> None:
    page = written(tmp_path, RankedQuery("sea", [ranked(picture), ranked(picture)]))
    images = page.all("img")
    assert len(images) == 2
    head, code = images[0]["src"].split(",")
    assert head == "data:image/jpeg;base64"
    with Image.open(io.BytesIO(base64.b64decode(code))) as inside:
        assert inside.format == "JPEG"
        assert inside.size == (THUMBNAIL, THUMBNAIL // 3)
        assert (images[0]["width"], images[0]["height"]) == tuple(map(str, inside.size))


def test_the_page_asks_for_nothing_and_runs_nothing(tmp_path: Path, picture: Path) -> None:
    page = written(
        tmp_path,
        RankedQuery(HOSTILE, [ranked(picture, HOSTILE, hit=True)], relevant=1),
        title=HOSTILE,
        note=HOSTILE,
        measures={HOSTILE: 0.5, "AvgP": 0.25},
    )
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


def test_what_captions_and_queries_hold_is_shown_as_it_was_written(
    tmp_path: Path, picture: Path
) -> None:
    page = written(
        tmp_path, RankedQuery(HOSTILE, [ranked(picture, HOSTILE)]), title=HOSTILE, note=HOSTILE
    )
    assert page.text.count(HOSTILE) == 5  # tab, heading, note, query, caption
    assert len(page.all("img")) == 1


def test_relevant_pictures_are_marked_by_a_sign_and_a_word(tmp_path: Path, picture: Path) -> None:
    page = written(
        tmp_path,
        RankedQuery("sea", [ranked(picture), ranked(picture, hit=True)], relevant=7),
    )
    assert [item["class"] for item in page.all("li")] == ["miss", "hit"]
    marks = [span for span in page.all("span") if span.get("aria-label") == "relevant"]
    assert len(marks) == 2  # the picture's, and the legend's
    assert page.text.count("✓") == 2
    assert "1 of the 2 shown are relevant, 7 in all" in page.text


def test_the_legend_tells_hidden_captions_from_learnt_ones(tmp_path: Path, picture: Path) -> None:
    hidden, learnt = ranked(picture), RankedPicture(picture, 1.0, "sea", True, hidden=False)
    both = written(tmp_path, RankedQuery("sea", [hidden, learnt]))
    assert "hidden from the model" in both.text
    assert "the model was trained on" in both.text
    one = written(tmp_path, RankedQuery("sea", [hidden]))
    assert "the model was trained on" not in one.text


def test_words_of_the_query_are_underlined_in_captions(tmp_path: Path, picture: Path) -> None:
    written(tmp_path, RankedQuery("Sea -boat", [ranked(picture, "a sea, a seal & a Boat")]))
    source = (tmp_path / "sheet.html").read_text(encoding="utf-8")
    assert "a <u>sea</u>, a seal &amp; a <u>Boat</u>" in source


def test_fractions_are_shown_in_percent_and_ranks_as_they_are(
    tmp_path: Path, picture: Path
) -> None:
    query = RankedQuery("sea", [ranked(picture)])
    page = written(tmp_path, query, measures={"AvgP": 0.4123, "median rank": 6.5, "mine": 0.1})
    text = " ".join(page.text.split())
    assert "AvgP41.2 %" in text
    assert "median rank6.5mine10.0 %" in text
    described = [term for term in page.all("dt") if "title" in term]
    assert "Average precision" in described[0]["title"]


def test_an_unreadable_picture_leaves_a_frame_with_the_reason(
    tmp_path: Path, picture: Path
) -> None:
    broken = tmp_path / "broken.jpg"
    broken.write_bytes(b"")
    page = written(tmp_path, RankedQuery("sea", [ranked(broken), ranked(picture)]))
    assert len(page.all("img")) == 1
    assert "empty" in page.text


def test_a_query_that_found_nothing_is_still_shown(tmp_path: Path) -> None:
    page = written(tmp_path, RankedQuery("unicorn", []))
    assert "unicorn" in page.text
    assert "no picture found" in page.text


def test_odd_names_and_characters_do_not_stop_the_page(tmp_path: Path, picture: Path) -> None:
    odd = tmp_path / "bj\udcf8rn.png"
    try:
        odd.write_bytes(picture.read_bytes())
    except (OSError, UnicodeEncodeError):
        pytest.skip("this file system takes no such name")
    assert len(written(tmp_path, RankedQuery("sea\udc80", [ranked(odd)])).all("img")) == 1


def test_a_sheet_of_nothing_is_refused() -> None:
    with pytest.raises(BadInput, match="at least one"):
        contact_sheet([], title="Found")


def test_the_page_serves_light_and_dark_and_small_screens(tmp_path: Path, picture: Path) -> None:
    page = written(tmp_path, RankedQuery("sea", [ranked(picture)]))
    source = (tmp_path / "sheet.html").read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in source
    assert any(meta.get("name") == "viewport" for meta in page.all("meta"))
    assert page.all("html") == [{"lang": "en"}]
