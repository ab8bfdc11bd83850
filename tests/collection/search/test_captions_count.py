"""What is written about pictures counts in every search by words."""

from __future__ import annotations

import pytest

from visterm.collection import Collection, SearchRequest
from visterm.collection.media.captions import effective_captions
from visterm.collection.store.caption_words import completeness
from visterm.collection.store.snapshot import NotTrained
from visterm.errors import BadInput


def names(collection: Collection, query: str, **options: object) -> list[str]:
    return [one.path.name for one in collection.search(query, **options).results]


def scene(number: int) -> str:
    return f"scene-{number:04d}.jpg"


def test_a_word_of_one_caption_is_found_though_no_model_knows_it(learnt: Collection) -> None:
    with pytest.raises(BadInput, match="not known yet"):
        learnt.search("Anna")
    learnt.caption(learnt.root / scene(3), "Anna at the sea")
    answer = learnt.search("Anna")
    assert [one.path.name for one in answer.results] == [scene(3)]
    assert (answer.unknown, answer.replaced, answer.cutoff) == ({}, {}, 1)
    assert answer.results[0].probability == pytest.approx(0.99, abs=0.001)
    learnt.caption(learnt.root / scene(3), "")
    with pytest.raises(BadInput, match="not known yet"):
        learnt.search("Anna")


def test_captions_that_say_so_come_first_and_tell_it(learnt: Collection) -> None:
    last = learnt.search("sea captioned:yes", k=60).results[-1]
    learnt.caption(last.path, "the sea")
    found = learnt.search("sea", k=60).results
    (now,) = (one for one in found if one.picture == last.picture)
    assert now.evidence is not None
    assert now.evidence.words == ("sea",)
    assert now.score == pytest.approx(now.evidence.sight + now.evidence.caption, abs=1e-5)
    without = [one for one in found if one.evidence is not None and not one.evidence.words]
    assert all(one.score < now.score for one in without)
    assert all(one.evidence.caption < 0 for one in without if one.evidence is not None)


def test_one_word_is_read_and_the_other_seen(learnt: Collection) -> None:
    first, *_, last = learnt.search("tree", k=60).results
    for one in (first, last):
        learnt.caption(one.path, "Anna")
    assert names(learnt, "anna tree", k=1) == [first.path.name]
    assert names(learnt, "anna -tree", k=1) == [last.path.name]
    assert len(names(learnt, "anna tree", k=60)) == 60


def test_words_that_mean_the_same_are_read_as_well(learnt: Collection) -> None:
    last = learnt.search("sea", k=60).results[-1]
    learnt.caption(last.path, "Oceans")
    answer = learnt.search("ocean", k=60)
    assert answer.replaced == {"ocean": ["sea"]}
    (found,) = (one for one in answer.results if one.picture == last.picture)
    assert found.evidence is not None
    assert found.evidence.words == ("sea",)


def test_what_captions_hold_is_not_read_in_another_language(learnt: Collection) -> None:
    assert learnt.search("Baum").replaced == {"baum": ["tree"]}
    learnt.caption(learnt.root / scene(3), "Anna Baum")
    answer = learnt.search("Baum")
    assert ([one.path.name for one in answer.results], answer.replaced) == ([scene(3)], {})


def test_a_name_that_the_model_knows_is_read_as_a_whole(learnt: Collection) -> None:
    for number, text in ((1, "Aunt Rosa"), (2, "Rosa, and an aunt"), (3, "with Aunt Rosa")):
        learnt.caption(learnt.root / scene(number), text)
    learnt.train(force=True)
    found = learnt.search("Aunt Rosa", k=60).results
    said = {one.path.name for one in found if one.evidence is not None and one.evidence.words}
    assert said == {scene(1), scene(3)}
    assert {one.path.name for one in found[:2]} == said


def test_folders_count_where_their_owner_lets_them(learnt: Collection) -> None:
    (learnt.root / "Lisbon 1987").mkdir()
    (learnt.root / scene(5)).rename(learnt.root / "Lisbon 1987" / scene(5))
    learnt.add()
    with pytest.raises(BadInput):
        learnt.search("lisbon")
    learnt.add(folders=True)
    assert names(learnt, "1987 lisbon") == [scene(5)]


def test_captions_of_vanished_pictures_answer_nothing(learnt: Collection) -> None:
    for number in (1, 2):
        learnt.caption(learnt.root / scene(number), "Anna")
    (learnt.root / scene(1)).unlink()
    learnt.add()
    assert names(learnt, "anna") == [scene(2)]


def test_filters_narrow_what_is_read(learnt: Collection) -> None:
    for number in (1, 2):
        learnt.caption(learnt.root / scene(number), "Anna")
    assert names(learnt, "anna captioned:no") == []
    (learnt.root / "away").mkdir()
    (learnt.root / scene(1)).rename(learnt.root / "away" / scene(1))
    learnt.add()
    assert names(learnt, "anna in:away") == [scene(1)]


def test_another_reader_sees_a_new_caption_at_its_next_question(learnt: Collection) -> None:
    with Collection.open(learnt.root) as other:
        before = other.search("sea", k=60)
        learnt.caption(before.results[-1].path, "the sea, and Anna")
        assert names(other, "anna") == [before.results[-1].path.name]
        assert other.search("sea", k=60) == learnt.search("sea", k=60) != before


def test_likeness_and_words_use_captions_too(learnt: Collection) -> None:
    learnt.caption(learnt.root / scene(7), "Anna")
    like = learnt.root / scene(3)
    found = learnt.search(SearchRequest("anna", like=like, k=5)).results
    assert scene(7) in [one.path.name for one in found[:2]]


def test_how_complete_captions_are_is_learnt_from_them(learnt: Collection) -> None:
    before = completeness(learnt.catalogue.db).max()
    table = learnt.root / "short.tsv"
    captions = effective_captions(learnt.catalogue, range(1, 61))
    rows = [(learnt.record(n).files[0].path, text.split()[0]) for n, text in captions.items()]
    table.write_text("".join(f"{path}\t{word}\n" for path, word in rows))
    learnt.caption_from(table)
    now = completeness(learnt.catalogue.db)
    assert 0 == now[0] < 0.05 <= now[1] < 0.8 * before <= 0.95
    assert now.tolist() == sorted(now.tolist()), "long captions leave out less"


def test_before_any_model_what_is_written_answers_alone(collection: Collection) -> None:
    collection.caption(collection.root / scene(1), "Anna at the sea")
    collection.caption(collection.root / scene(2), "Anna")
    answer = collection.search("anna sea zebra")
    assert [one.path.name for one in answer.results] == [scene(1), scene(2)]
    assert (answer.unknown, answer.cutoff) == ({"zebra": []}, 1)
    assert answer.results[0].evidence is not None
    assert answer.results[0].evidence.words == ("anna", "sea")
    assert names(collection, "anna -sea") == [scene(2), scene(1)]
    assert names(collection, "anna captioned:no") == []
    for query in ("zebra", "-anna"):
        with pytest.raises(NotTrained, match="nothing has been learnt yet"):
            collection.search(query)
