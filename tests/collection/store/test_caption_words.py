"""Postings stay in step with captions, whoever changes them and however that ends."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from visterm.collection import Collection
from visterm.collection.store.caption_words import (
    EVERY,
    are_right,
    holders,
    name_holders,
    stems,
)
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.name_words import name_key
from visterm.collection.store.snapshot import snapshot


def said(collection: Collection, word: str, source: str | None = None) -> list[str]:
    """Names of the files whose captions, or names of a source, hold a word, by the postings."""
    db = collection.catalogue.db
    assert are_right(db)
    (key,) = stems(word) or {EVERY}
    numbers = holders(db, name_key(source, key) if source else key).tolist()
    question = "SELECT name FROM places WHERE picture = ? ORDER BY name"
    return [name for one in numbers for (name,) in db.execute(question, (one,))]


def version(collection: Collection) -> str | None:
    return collection.catalogue.get("caption_words")


def test_a_caption_is_found_by_its_words_until_it_changes_or_goes(collection: Collection) -> None:
    path = collection.root / "scene-0001.jpg"
    collection.caption(path, "Two Dogs and the cat")
    assert said(collection, "dog") == said(collection, "cats") == ["scene-0001.jpg"]
    assert said(collection, "") == ["scene-0001.jpg"]
    collection.caption(path, "a cat")
    assert (said(collection, "dog"), said(collection, "cat")) == ([], ["scene-0001.jpg"])
    collection.caption(path, "")
    assert said(collection, "cat") == said(collection, "") == []
    assert collection.catalogue.one("SELECT count(*) FROM caption_words") == 0


def test_words_that_hold_english_together_are_not_listed() -> None:
    assert stems("with the and of") == set()


def test_every_source_counts_until_a_person_speaks(collection: Collection) -> None:
    path = collection.root / "scene-0001.jpg"
    path.with_suffix(".txt").write_text("a lighthouse")
    table = collection.root / "table.tsv"
    table.write_text("scene-0001.jpg\ta storm\n")
    collection.add()
    collection.caption_from(table)
    assert said(collection, "lighthouse") == said(collection, "storm") == ["scene-0001.jpg"]
    collection.caption(path, "Anna")
    assert said(collection, "lighthouse") == said(collection, "storm") == []
    assert said(collection, "anna") == ["scene-0001.jpg"]
    path.with_suffix(".txt").unlink()
    collection.add()
    collection.caption(path, "")
    assert (said(collection, "lighthouse"), said(collection, "storm")) == ([], ["scene-0001.jpg"])


def test_folders_are_told_from_captions_and_follow_their_pictures(collection: Collection) -> None:
    root = collection.root
    (root / "Lisbon_1987").mkdir()
    (root / "scene-0001.jpg").rename(root / "Lisbon_1987" / "a.jpg")
    collection.add()
    assert said(collection, "lisbon", "folder") == []
    collection.add(folders=True)
    assert said(collection, "lisbon", "folder") == said(collection, "1987", "folder") == ["a.jpg"]
    assert said(collection, "lisbon") == said(collection, "") == []  # a folder's name is no caption
    (root / "Porto").mkdir()
    (root / "Lisbon_1987" / "a.jpg").rename(root / "Porto" / "a.jpg")
    collection.add()
    assert (said(collection, "lisbon", "folder"), said(collection, "porto", "folder")) == (
        [],
        ["a.jpg"],
    )
    collection.add(folders=False)
    assert said(collection, "porto", "folder") == []


def test_a_vanished_picture_keeps_its_caption_and_so_does_a_removed_one(
    collection: Collection,
) -> None:
    root = collection.root
    for name in ("scene-0001.jpg", "scene-0002.jpg"):
        collection.caption(root / name, "Anna")
    (root / "scene-0001.jpg").unlink()
    collection.add()
    assert len(said(collection, "anna")) == 2
    collection.remove([root / "scene-0002.jpg"])
    assert len(said(collection, "anna")) == 2
    assert collection.complete("anna") == []


def test_an_edited_picture_brings_its_caption_along(collection: Collection) -> None:
    path = collection.root / "scene-0001.jpg"
    collection.caption(path, "Anna")
    shutil.copy(collection.root / "scene-0002.jpg", path)
    path.write_bytes(path.read_bytes() + b"\0")
    collection.add()
    assert said(collection, "anna").count("scene-0001.jpg") == 1


def test_a_transaction_that_fails_changes_no_postings(collection: Collection) -> None:
    path = collection.root / "scene-0001.jpg"
    collection.caption(path, "Anna")
    before = version(collection)
    catalogue = collection.catalogue

    def fail() -> None:
        with catalogue.writing("trying"), catalogue.transaction() as db:
            db.execute("UPDATE captions SET text = 'Berta'")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert said(collection, "anna") == ["scene-0001.jpg"]
    assert version(collection) == before
    collection.caption(path, "Berta")
    assert version(collection) != before


def test_pictures_of_several_chunks_are_found_in_order(tmp_path) -> None:
    catalogue = Catalogue(tmp_path)
    numbers = [1, 65_535, 65_536, 131_072, 200_000]
    with catalogue.writing("trying"), catalogue.transaction() as db:
        for number in numbers:
            db.execute("INSERT INTO pictures (id, hash) VALUES (?, ?)", (number, str(number)))
            db.execute("INSERT INTO captions VALUES (?, 'person', 'Anna')", (number,))
    assert holders(catalogue.db, "anna").tolist() == numbers
    assert catalogue.one("SELECT count(*) FROM caption_words WHERE word = 'anna'") == 4


def test_a_check_finds_postings_that_are_wrong_and_repairs_them(collection: Collection) -> None:
    collection.caption(collection.root / "scene-0001.jpg", "Anna")
    with collection.catalogue.writing("damaging"), collection.catalogue.transaction() as db:
        db.execute("DELETE FROM caption_words WHERE word = 'anna'")
    assert len(collection.check().problems) == 1
    assert collection.check(repair=True).repaired == ["the words of captions listed again"]
    assert said(collection, "anna") == ["scene-0001.jpg"]


def test_a_name_is_held_where_its_words_stand_together(collection: Collection) -> None:
    for number, text in enumerate(["Aunt Rosa", "Rosa and her aunt", "with aunt rosa, asleep"], 1):
        collection.caption(collection.root / f"scene-000{number}.jpg", text)
    found = name_holders(collection.catalogue.db, ["aunt", "rosa"]).tolist()
    names = [collection.record(one).files[0].path for one in found]
    assert names == ["scene-0001.jpg", "scene-0003.jpg"]


def test_remembered_postings_are_those_of_now(collection: Collection) -> None:
    catalogue = collection.catalogue
    assert snapshot(catalogue).postings.holders("anna").size == 0
    assert not snapshot(catalogue).postings.lengths.any()
    collection.caption(collection.root / "scene-0001.jpg", "Anna")
    now = snapshot(catalogue).postings
    assert now.holders("anna").tolist() == np.flatnonzero(now.lengths == 1).tolist() != []
    assert snapshot(catalogue).postings.holders("anna") is now.holders("anna")
