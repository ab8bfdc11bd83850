"""Words of the names of files and folders count where their owner lets them."""

from __future__ import annotations

import unicodedata

import pytest

from visterm.collection import Collection
from visterm.collection.media.captions import to_learn_from
from visterm.collection.store.caption_words import are_right
from visterm.errors import BadInput


def found(collection: Collection, query: str, k: int = 60) -> list[str]:
    return [one.path.name for one in collection.search(query, k).results]


def move(collection: Collection, number: int, to: str) -> None:
    """Give a picture another name, or another folder."""
    target = collection.root / to
    target.parent.mkdir(exist_ok=True)
    (collection.root / f"scene-{number:04d}.jpg").rename(target)


def uncaptioned(collection: Collection, query: str) -> int:
    """The number in the name of the last picture for a query; it loses its caption."""
    path = collection.search(query, 60).results[-1].path
    with collection.catalogue.writing("test"), collection.catalogue.transaction() as db:
        picture = db.execute("SELECT picture FROM places WHERE name = ?", (path.name,)).fetchone()
        db.execute("DELETE FROM captions WHERE picture = ?", picture)
    return int(path.stem.rpartition("-")[2])


def test_nothing_counts_unless_somebody_says_so(learnt: Collection) -> None:
    move(learnt, 5, "Lisbon/zeppelin.jpg")
    learnt.add()
    for word in ("lisbon", "zeppelin"):
        with pytest.raises(BadInput, match="not known yet"):
            learnt.search(word)
    assert learnt.status().names == "none"


def test_files_folders_or_both_count_and_change_neither_model_nor_rows(learnt: Collection) -> None:
    move(learnt, 5, "Lisbon/zeppelin.jpg")
    learnt.add()

    def versions() -> tuple[object, ...]:
        model = learnt.status().model
        assert model is not None
        return model["version"], sorted(
            (str(one), one.stat().st_mtime_ns) for one in (learnt.store / "features").rglob("*")
        )

    before = versions()
    for names, by_file, by_folder in (
        ("files", True, False),
        ("folders", False, True),
        ("both", True, True),
        ("none", False, False),
    ):
        learnt.add(names=names)
        for word, counts in (("zeppelin", by_file), ("lisbon", by_folder)):
            if counts:
                assert found(learnt, word) == ["zeppelin.jpg"]
            else:
                with pytest.raises(BadInput, match="not known yet"):
                    learnt.search(word)
        learnt.add()
        assert learnt.status().names == names
        assert are_right(learnt.catalogue.db)
    assert versions() == before


def test_a_name_counts_less_than_a_caption_and_says_who_says_it(learnt: Collection) -> None:
    last = uncaptioned(learnt, "sea captioned:yes")
    before = next(one for one in learnt.search("sea", 60).results if f"{last:04d}" in one.path.name)
    move(learnt, last, "the sea.jpg")
    learnt.add(names="both")
    results = learnt.search("sea", 60).results
    (named,) = (one for one in results if one.path.name == "the sea.jpg")
    assert named.evidence is not None
    assert (named.evidence.words, named.evidence.file_words) == ((), ("sea",))
    assert named.evidence.folder_words == ()
    assert named.evidence.caption == 0
    assert named.score == pytest.approx(named.evidence.sight + named.evidence.name, abs=1e-5)
    assert named.score > before.score
    by_caption = [one.score for one in results if one.evidence is not None and one.evidence.words]
    assert all(score > named.score for score in by_caption)
    assert named.evidence.says() == "file name: sea"
    explained = learnt.explain(named.picture, "sea")
    assert explained.evidence == named.evidence
    assert explained.score == pytest.approx(named.score)


def test_a_folder_is_trusted_less_than_a_file(learnt: Collection) -> None:
    move(learnt, 3, "Lisbon/a.jpg")
    move(learnt, 4, "lisbon.jpg")
    learnt.add(names="both")
    results = learnt.search("lisbon").results
    assert [one.path.name for one in results] == ["lisbon.jpg", "a.jpg"]
    assert results[0].probability > results[1].probability
    assert results[1].evidence.folder_words == ("lisbon",)


def test_names_count_beside_a_persons_own_caption(learnt: Collection) -> None:
    move(learnt, 5, "Lisbon/a.jpg")
    learnt.add(names="folders")
    learnt.caption(learnt.root / "Lisbon" / "a.jpg", "Anna")
    assert found(learnt, "anna") == found(learnt, "lisbon") == ["a.jpg"]
    both = learnt.search("anna lisbon").results[0]
    assert (both.evidence.words, both.evidence.folder_words) == (("anna",), ("lisbon",))


def test_names_are_evidence_and_no_captions_to_learn_from(learnt: Collection) -> None:
    move(learnt, 5, "Lisbon/zeppelin.jpg")
    before = list(to_learn_from(learnt.catalogue, "thumbnails-1"))
    learnt.add(names="both")
    assert list(to_learn_from(learnt.catalogue, "thumbnails-1")) == before
    captioned = learnt.status().captioned
    assert len(found(learnt, "captioned:yes")) == captioned
    learnt.add(folders=True)  # which lets folders teach, as it always did
    assert any("Lisbon" in text for *_, text in to_learn_from(learnt.catalogue, "thumbnails-1"))
    assert learnt.status().names == "both"
    learnt.add(names="files")
    assert list(to_learn_from(learnt.catalogue, "thumbnails-1")) == before


def test_what_cannot_both_be_meant_is_refused(learnt: Collection) -> None:
    with pytest.raises(BadInput, match="leave one of the two out"):
        learnt.add(names="both", folders=False)
    with pytest.raises(BadInput, match="none, files, folders, both can count, not 'all'"):
        learnt.add(names="all")


def test_renames_moves_and_copies_keep_it_right(learnt: Collection) -> None:
    root = learnt.root
    move(learnt, 5, "Lisbon/zeppelin.jpg")
    learnt.add(names="both")
    (root / "Lisbon" / "zeppelin.jpg").rename(root / "Lisbon" / "kraken.jpg")
    learnt.add()
    with pytest.raises(BadInput):
        learnt.search("zeppelin")
    assert found(learnt, "kraken") == found(learnt, "lisbon") == ["kraken.jpg"]
    (root / "Porto").mkdir()
    (root / "Porto" / "b.jpg").write_bytes((root / "Lisbon" / "kraken.jpg").read_bytes())
    learnt.add()
    assert len(found(learnt, "porto")) == len(found(learnt, "lisbon")) == 1
    (root / "Lisbon" / "kraken.jpg").unlink()
    learnt.add()
    assert found(learnt, "porto") == ["b.jpg"]
    with pytest.raises(BadInput):
        learnt.search("lisbon")
    learnt.remove([root / "Porto"])
    with pytest.raises(BadInput):
        learnt.search("porto")
    assert are_right(learnt.catalogue.db)


def test_names_spelt_as_macos_spells_them_are_found(learnt: Collection) -> None:
    move(learnt, 5, f"{unicodedata.normalize('NFD', 'Müllers Höfe')}/a.jpg")
    learnt.add(names="folders")
    assert found(learnt, "müllers höfe") == ["a.jpg"]


def test_a_name_of_several_words_is_read_as_a_whole(learnt: Collection) -> None:
    for number, text in ((1, "Aunt Rosa"), (2, "Rosa, and an aunt"), (3, "with Aunt Rosa")):
        learnt.caption(learnt.root / f"scene-{number:04d}.jpg", text)
    learnt.train(force=True)
    move(learnt, 7, "Aunt_Rosa_07.jpg")
    move(learnt, 8, "Rosa and the aunt.jpg")
    learnt.add(names="files")
    results = learnt.search("Aunt Rosa", 60).results
    assert [one.path.name for one in results if one.evidence.file_words] == ["Aunt_Rosa_07.jpg"]


def test_a_year_on_a_folder_lets_its_pictures_through(learnt: Collection) -> None:
    move(learnt, 5, "1987/a.jpg")
    learnt.add(names="folders")
    assert found(learnt, "1987") == found(learnt, "sea 1987") == ["a.jpg"]


def test_a_words_page_counts_the_names_that_hold_it(learnt: Collection) -> None:
    move(learnt, 5, "Lisbon/a.jpg")
    learnt.add(names="both")
    known = learnt.word("lisbon")
    assert (known.known, known.captions, known.names, len(known.examples)) == (False, 0, 1, 1)


def test_words_of_names_are_completed(learnt: Collection) -> None:
    move(learnt, 5, "Lisbon/AuntRosa.jpg")
    learnt.add(names="both")
    (word,) = learnt.complete("lis")
    assert (word.word, word.captions, word.names, word.known) == ("lisbon", 0, 1, False)
    assert [one.word for one in learnt.complete("aun")] == ["aunt"]
    learnt.add(names="none")
    with Collection.open(learnt.root) as anew:
        assert anew.complete("lis") == []
