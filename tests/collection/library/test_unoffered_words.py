"""Words for a person's age, sex or origin are answered when typed, and offered to nobody."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from visterm.collection import Collection
from visterm.datasets.scenes import draw_scenes
from visterm.text.unoffered_words import UNOFFERED


def test_they_are_answered_and_neither_described_nor_completed_until_captions_use_them(
    tmp_path: Path,
) -> None:
    draw_scenes(tmp_path, 12, size=(48, 32))
    (tmp_path / "captions.tsv").unlink()
    with Collection.open(tmp_path) as collection:
        collection.add()
        answer = collection.search("woman", k=12)
        assert not answer.unknown
        every = answer.results
        first = every[0].picture
        said = {one.word for one in collection.describe(first, 2000)}
        assert len(said) > 1000
        assert not said & UNOFFERED
        assert not {one.word for one in collection.complete("wom", 50)} & UNOFFERED
        collection.caption(first, "a woman by the sea")
        assert "woman" in {one.word for one in collection.complete("wom", 50)}
        last = every[-1].picture
        assert "woman" in {one.word for one in collection.describe(last, 2000)}


def test_a_name_of_somebody_that_a_click_began_is_not_offered_either(tmp_path: Path) -> None:
    draw_scenes(tmp_path, 12, size=(48, 32))
    (tmp_path / "captions.tsv").unlink()
    with Collection.open(tmp_path) as collection:
        collection.add()
        for name in ("zzq pensioner", "blorf"):
            collection.judge(name, 1, True)
        said = [one.word for one in collection.describe(1, 2000)]
        assert "blorf" in said[:10]
        assert "zzq pensioner" not in said
        assert "blorf" in {one.word for one in collection.complete("blo", 50)}
        assert collection.complete("zzq", 50) == []


def test_words_about_pictures_are_never_said_and_can_be_searched_for(
    pictures: Callable[[int], Path],
) -> None:
    folder = pictures(60)
    with Collection.open(folder) as collection:
        collection.add(features="thumbnails")
        table = (folder.parent / "captions.tsv").read_text().splitlines()
        for line in table:
            path, words = line.split("\t")
            caption = f"{words}, several panoramic views" if "sea" in words else words
            collection.caption(folder / Path(path).name, caption)
        collection.train()
        said = {one.word for one in collection.describe(1, 1000)}
        assert "sea" in said
        assert not said & {"several", "panoramic", "views"}
        for word in ("several", "panoramic", "view"):
            assert len(collection.search(word, k=60).results) == 60
