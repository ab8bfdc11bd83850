from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from PIL import Image

from visterm.collection import Collection
from visterm.collection.media.captions import to_learn_from
from visterm.errors import BadInput

XMP = """<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF
 xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
 xmlns:dc="http://purl.org/dc/elements/1.1/"><rdf:Description rdf:about="">
 <dc:subject><rdf:Bag><rdf:li>{}</rdf:li></rdf:Bag></dc:subject>
 </rdf:Description></rdf:RDF></x:xmpmeta>"""


def heard(collection: Collection) -> dict[str, str]:
    """What there is to learn from, by the file's name."""
    names = dict(
        collection.catalogue.db.execute("SELECT picture, name FROM places WHERE NOT vanished")
    )
    found = to_learn_from(collection.catalogue, "thumbnails-1")
    return {names[picture]: text for picture, _, text in found}


def test_captions_inside_and_beside_files_are_found_with_their_sources(
    collection: Collection,
) -> None:
    root = collection.root
    exif = Image.Exif()
    exif[0x010E] = "snow on a hill"
    Image.open(root / "scene-0001.jpg").save(root / "inside.jpg", exif=exif)
    (root / "scene-0002.txt").write_text("a boat at sea")
    (root / "scene-0003.jpg.xmp").write_text(XMP.format("lighthouse"))
    collection.add()
    assert collection.captions(root / "inside.jpg") == {"exif:description": "snow on a hill"}
    assert collection.captions(root / "scene-0002.jpg") == {"txt": "a boat at sea"}
    assert collection.captions(root / "scene-0003.jpg") == {"xmp-sidecar:subject": "lighthouse"}


def test_reading_is_incremental_and_a_sidecar_may_come_change_and_go(
    collection: Collection,
) -> None:
    path, beside = collection.root / "scene-0001.jpg", collection.root / "scene-0001.txt"
    beside.write_text("tree")
    assert collection.add().captions == 1
    assert collection.add().captions == 0
    beside.write_text("tree and snow")
    report = collection.add()
    assert (report.captions, report.extracted) == (1, 0)
    assert collection.captions(path) == {"txt": "tree and snow"}
    beside.unlink()
    assert collection.add().captions == 1
    assert collection.captions(path) == {}


def test_a_persons_own_words_win_over_every_other_source(collection: Collection) -> None:
    path = collection.root / "scene-0001.jpg"
    (collection.root / "scene-0001.txt").write_text("from the file")
    collection.add()
    assert heard(collection) == {"scene-0001.jpg": "from the file"}
    collection.caption(path, "  from a person ")
    assert heard(collection) == {"scene-0001.jpg": "from a person"}
    assert set(collection.captions(path)) == {"person", "txt"}
    collection.caption(path, "")
    assert heard(collection) == {"scene-0001.jpg": "from the file"}


def test_a_persons_words_outlive_a_sidecar_that_changes(collection: Collection) -> None:
    path = collection.root / "scene-0001.jpg"
    collection.caption(path, "mine")
    (collection.root / "scene-0001.txt").write_text("theirs")
    collection.add()
    (collection.root / "scene-0001.txt").unlink()
    collection.add()
    assert collection.captions(path) == {"person": "mine"}


def test_a_table_names_pictures_from_its_folder_the_collections_or_by_a_bare_name(
    collection: Collection, tmp_path: Path
) -> None:
    root = collection.root
    (root / "sub").mkdir()
    (root / "scene-0003.jpg").rename(root / "sub" / "third.jpg")
    collection.add()
    table = tmp_path / "words.csv"
    table.write_text(
        "path,caption\n"
        "pictures/scene-0001.jpg,from the table\n"
        "scene-0002.jpg,from the root\n"
        "elsewhere/third.jpg,by name\n"
        f"{root / 'scene-0004.jpg'},absolute\n"
        "nowhere.jpg,lost\n"
    )
    report = collection.caption_from(table)
    assert (report.pictures, report.unknown) == (4, ["nowhere.jpg"])
    assert heard(collection) == {
        "scene-0001.jpg": "from the table",
        "scene-0002.jpg": "from the root",
        "third.jpg": "by name",
        "scene-0004.jpg": "absolute",
    }


def test_a_second_import_replaces_the_first_and_a_broken_table_changes_nothing(
    collection: Collection, tmp_path: Path
) -> None:
    table = tmp_path / "words.jsonl"
    table.write_text('{"path": "scene-0001.jpg", "text": ["tree", "snow"]}\n')
    collection.caption_from(table)
    assert heard(collection) == {"scene-0001.jpg": "tree\nsnow"}
    table.write_text('["scene-0001.jpg", "sea"]\nnonsense\n')
    with pytest.raises(BadInput, match="line 2"):
        collection.caption_from(table)
    assert heard(collection) == {"scene-0001.jpg": "tree\nsnow"}
    table.write_text('["scene-0001.jpg", "sea"]\n')
    collection.caption_from(table)
    assert heard(collection) == {"scene-0001.jpg": "sea"}


def test_copies_of_one_picture_are_heard_together(collection: Collection) -> None:
    root = collection.root
    shutil.copy(root / "scene-0001.jpg", root / "copy.jpg")
    (root / "scene-0001.txt").write_text("tree")
    (root / "copy.xmp").write_text(XMP.format("snow"))
    collection.add()
    expected = {"txt": "tree", "xmp-sidecar:subject": "snow"}
    assert collection.captions(root / "copy.jpg") == expected
    assert collection.captions(root / "scene-0001.jpg") == expected


def test_folder_names_are_words_when_that_is_switched_on(collection: Collection) -> None:
    root = collection.root
    (root / "Alps 2019" / "snow").mkdir(parents=True)
    (root / "scene-0001.jpg").rename(root / "Alps 2019" / "snow" / "one.jpg")
    collection.add()
    assert heard(collection) == {}
    collection.add(folders=True)
    assert heard(collection) == {"one.jpg": "Alps 2019 snow"}
    collection.caption(root / "Alps 2019" / "snow" / "one.jpg", "mine")
    assert heard(collection) == {"one.jpg": "mine"}
    collection.add(folders=False)
    collection.caption(root / "Alps 2019" / "snow" / "one.jpg", "")
    assert heard(collection) == {}


def test_a_picture_that_is_not_there_is_named(collection: Collection, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"none\.jpg is not in the collection; visterm add"):
        collection.caption(collection.root / "none.jpg", "words")
    with pytest.raises(BadInput, match="it is outside"):
        collection.caption(tmp_path / "none.jpg", "words")


def test_broken_metadata_costs_its_words_and_not_the_picture(collection: Collection) -> None:
    told: list[str] = []
    (collection.root / "scene-0001.xmp").write_text("<not xml")
    report = collection.add(on_skip=lambda path, reason: told.append(path))
    assert told == ["the metadata of scene-0001.xmp"]
    assert report.skipped == []
    assert len(collection) == 12


def test_a_picture_is_known_through_a_link_to_its_folder(
    collection: Collection, tmp_path: Path
) -> None:
    os.symlink(collection.root, tmp_path / "link")
    collection.caption(tmp_path / "link" / "scene-0001.jpg", "tree")
    assert collection.captions(collection.root / "scene-0001.jpg") == {"person": "tree"}
