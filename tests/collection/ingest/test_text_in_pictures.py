"""Text that is to be read in pictures counts where its owner wants it, and goes where not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from visterm.collection import Collection, UnknownWords
from visterm.collection.store.caption_words import are_right
from visterm.errors import BadInput
from visterm.pictures import ocr
from visterm.pictures.reader import Reading, Wanted
from visterm.pictures.sandbox import CRASHES, Readers


def sign(path: Path, text: str) -> None:
    picture = Image.new("RGB", (640, 320), "white")
    font = ImageFont.load_default(64)
    ImageDraw.Draw(picture).text((40, 80), text, fill="navy", font=font)
    picture.save(path)


def test_without_the_extra_the_error_says_what_to_install(
    pictures: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ocr, "is_installed", lambda: False)
    with (
        Collection.open(pictures(2)) as collection,
        pytest.raises(BadInput, match=r"pip install 'visterm\[ocr\]'"),
    ):
        collection.add(features="thumbnails", ocr=True)


def test_text_is_found_shown_and_taken_away(learnt: Collection) -> None:
    pytest.importorskip("rapidocr", reason="the extra ocr is not installed: no text is read")
    sign(learnt.root / "shop.png", "Fresh Bakery\nopen daily")
    learnt.add()
    with pytest.raises(UnknownWords):
        learnt.search("bakery")
    learnt.add(ocr=True)
    best = learnt.search("bakery").results[0]
    assert best.path.name == "shop.png"
    assert best.evidence is not None
    assert best.evidence.says() == "text in it: bakery"
    assert learnt.captions(best.picture) == {"ocr": "Fresh Bakery\nopen daily"}
    assert learnt.status().sources["ocr"] == 1
    assert are_right(learnt.catalogue.db)
    sign(learnt.root / "later.png", "Lighthouse Museum")
    learnt.add()  # it is remembered
    assert learnt.search("museum").results[0].path.name == "later.png"
    learnt.add(ocr=False)
    assert learnt.captions(best.picture) == {}
    assert are_right(learnt.catalogue.db)
    with pytest.raises(UnknownWords):
        learnt.search("bakery")


def test_a_picture_whose_text_crashes_the_child_is_there_without_it(
    pictures: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Readers.read

    def crashing(self: Readers, source: str, wanted: Wanted) -> Reading:
        return Reading(reason=CRASHES) if wanted.text else read(self, source, wanted)

    monkeypatch.setattr(ocr, "is_installed", lambda: True)
    monkeypatch.setattr(Readers, "read", crashing)
    with Collection.open(pictures(3)) as collection:
        assert collection.add(features="thumbnails", ocr=True).skipped == []
        assert len(collection) == 3
        assert collection.add().extracted == 0  # nor is it tried every time
