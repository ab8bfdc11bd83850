"""Completion: words of captions and of the model, names of several words among them."""

from __future__ import annotations

from pathlib import Path

from visterm.collection import Collection
from visterm.datasets.scenes import draw_scenes


def test_names_of_several_words_are_completed_as_one(tmp_path: Path) -> None:
    draw_scenes(tmp_path, 6, size=(48, 32))
    with Collection.open(tmp_path) as collection:
        collection.add(features="blocks", n_jobs=1)
        for number, words in enumerate(("Aunt Rosa", "Aunt Rosa", "a rosy dog", "dog"), 1):
            collection.caption(tmp_path / f"scene-000{number}.jpg", words)
        collection.train()

        def completed(start: str) -> list[tuple[str, int]]:
            found = collection.complete(start, 8)
            return [(one.word, one.captions) for one in found if one.known]

        assert completed("au") == [("aunt rosa", 2)]
        assert completed("aunt r") == [("aunt rosa", 2)]
        assert completed("ros") == [("rosy", 1), ("aunt rosa", 2)]


def test_words_are_completed_by_how_many_captions_hold_them(tmp_path: Path) -> None:
    draw_scenes(tmp_path, 6, size=(48, 32))
    with Collection.open(tmp_path) as collection:
        collection.add(features="blocks", n_jobs=1)
        for number, words in enumerate(("photo, phlox", "photo, phlox", "photo, phone"), 1):
            collection.caption(tmp_path / f"scene-000{number}.jpg", words)
        collection.train()
        found = collection.complete("ph", 8)
        assert [(one.word, one.captions, one.known) for one in found] == [
            ("photo", 3, True),
            ("phlox", 2, True),
            ("phone", 1, True),
        ]
