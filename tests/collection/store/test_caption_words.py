"""The words that are looked up are those of captions, whoever changes these and however it ends."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from visterm.collection import Collection
from visterm.collection.store.caption_words import (
    CAPTION,
    are_right,
    caption_lengths,
    captioned,
    holders,
)
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.snapshot import snapshot
from visterm.text.tokens import stem


def said(collection: Collection, word: str, column: str = CAPTION) -> list[str]:
    """Names of the files whose captions, or names, hold a word; any word where none is given."""
    db = collection.catalogue.db
    assert are_right(db)
    numbers = (holders(db, stem(word), column) if word else captioned(db)).tolist()
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
    assert collection.catalogue.one("SELECT count(*) FROM written") == 0
    assert not caption_lengths(collection.catalogue.db).size


def test_words_that_hold_english_together_are_found_within_a_name_alone(
    collection: Collection,
) -> None:
    collection.caption(collection.root / "scene-0001.jpg", "with the and of")
    assert said(collection, "the") == said(collection, "") == []
    collection.caption(collection.root / "scene-0001.jpg", "the statue of liberty")
    collection.caption(collection.root / "scene-0002.jpg", "liberty, a statue")
    db = collection.catalogue.db
    key = " ".join(stem(word) for word in ("statue", "of", "liberty"))
    assert (holders(db, "of").size, holders(db, "the of").size) == (0, 0)
    assert len(said(collection, "statue")) == 2
    assert holders(db, key).size == 1


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


def test_a_transaction_that_fails_changes_no_words(collection: Collection) -> None:
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
    assert captioned(catalogue.db).tolist() == numbers
    with catalogue.writing("trying"), catalogue.transaction() as db:
        db.execute("DELETE FROM captions WHERE picture > 65536")
    assert captioned(catalogue.db).tolist() == numbers[:3]
    assert are_right(catalogue.db)


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM written",
        "UPDATE written SET caption = 'berta'",
        "UPDATE written_content SET c0 = 'berta'",
        "DELETE FROM written_data WHERE id > 10",
        "UPDATE written_data SET block = zeroblob(9)",
        "INSERT INTO written (rowid, caption) VALUES (777, 'anna')",
        "DELETE FROM caption_lengths",
    ],
)
def test_a_check_finds_words_that_are_wrong_and_repairs_them(
    collection: Collection, damage: str
) -> None:
    collection.caption(collection.root / "scene-0001.jpg", "Anna")
    with collection.catalogue.writing("damaging"), collection.catalogue.transaction() as db:
        db.execute(damage)
    assert len(collection.check().problems) == 1
    assert collection.check(repair=True).repaired == ["the words of captions listed again"]
    assert said(collection, "anna") == ["scene-0001.jpg"]


def test_a_name_is_held_where_its_words_stand_together(collection: Collection) -> None:
    for number, text in enumerate(["Aunt Rosa", "Rosa and her aunt", "with aunt rosa, asleep"], 1):
        collection.caption(collection.root / f"scene-000{number}.jpg", text)
    pictures = holders(collection.catalogue.db, "aunt rosa").tolist()
    names = [collection.record(picture).files[0].path for picture in pictures]
    assert names == ["scene-0001.jpg", "scene-0003.jpg"]


def test_a_name_does_not_reach_from_one_file_into_another(collection: Collection) -> None:
    root = collection.root
    for name in ("aunt.jpg", "rosa.jpg"):
        shutil.copy(root / "scene-0001.jpg", root / name)
    collection.add(names="files")
    assert len(said(collection, "aunt", "file")) == len(said(collection, "rosa", "file")) == 3
    assert holders(collection.catalogue.db, "aunt rosa", "file").size == 0


def test_remembered_lists_are_those_of_now(collection: Collection) -> None:
    catalogue = collection.catalogue
    assert snapshot(catalogue).written.holders("anna").size == 0
    assert not snapshot(catalogue).written.lengths.any()
    collection.caption(collection.root / "scene-0001.jpg", "Anna")
    now = snapshot(catalogue).written
    assert now.holders("anna").tolist() == np.flatnonzero(now.lengths == 1).tolist() != []
    assert snapshot(catalogue).written.holders("anna") is now.holders("anna")


def test_a_year_that_a_query_quotes_is_looked_up_as_a_word(collection: Collection) -> None:
    collection.caption(collection.root / "scene-0001.jpg", "Lisbon, 1987")
    db = collection.catalogue.db
    assert holders(db, '"1987"').tolist() == holders(db, "1987").tolist() != []
    assert all(not holders(db, key).size for key in ("", '"', 'x" OR caption:"lisbon'))
