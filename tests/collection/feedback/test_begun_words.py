"""A yes begins a word that nobody knows: searchable at once, taken back bit for bit."""

from __future__ import annotations

import pytest

from visterm.collection import Collection, UnknownWords
from visterm.collection.store.events import judged_pictures, words_of
from visterm.collection.store.versions import current
from visterm.errors import BadInput


def ranking(collection: Collection, query: str) -> list[tuple[int, float]]:
    return [(one.picture, one.score) for one in collection.search(query, k=1000).results]


def first(collection: Collection, query: str) -> int:
    return ranking(collection, query)[0][0]


def test_a_yes_begins_a_word_that_is_found_at_once(learnt: Collection) -> None:
    picture = ranking(learnt, "sea")[17][0]
    with pytest.raises(UnknownWords):
        learnt.search("Anna")
    said = learnt.judge("Anna", picture, True)
    assert (said.query, said.picture) == ("anna", picture)
    assert first(learnt, "Anna") == picture
    assert first(learnt, "annas") == picture
    with Collection.open(learnt.root) as again:
        assert ranking(again, "anna") == ranking(learnt, "anna")
        assert again.check().is_well


def test_a_no_to_an_unknown_word_says_that_there_is_nothing_to_correct(learnt: Collection) -> None:
    with pytest.raises(UnknownWords, match="nothing to correct"):
        learnt.judge("Anna", 3, False)
    assert learnt.judgements() == []


def test_a_no_to_a_begun_word_counts(learnt: Collection) -> None:
    learnt.judge("anna", 3, True)
    rival = ranking(learnt, "anna")[1][0]
    before = dict(ranking(learnt, "anna"))[rival]
    learnt.judge("anna", rival, False)
    assert dict(ranking(learnt, "anna"))[rival] < before
    assert judged_pictures(learnt.catalogue, words_of("Anna in:alps"))[rival] is False
    assert judged_pictures(learnt.catalogue, "sea") == {}


def test_the_other_words_stay_as_they_were(learnt: Collection) -> None:
    before = {query: ranking(learnt, query) for query in ("sea", "sky tree", "house -sea")}
    learnt.judge("anna", 3, True)
    assert {query: ranking(learnt, query) for query in before} == before


def test_taking_back_restores_the_state_before_bit_for_bit(learnt: Collection) -> None:
    queries = ("sea", "anna", "anna sea", "bruno")
    states = []

    def state() -> list[object]:
        found: list[object] = []
        for query in queries:
            try:
                found.append(ranking(learnt, query))
            except UnknownWords as error:
                found.append(error.unknown)
        return found

    for query, picture, relevant in (
        ("anna sea", 4, True),
        ("anna", 5, True),
        ("anna sea", 6, True),
        ("bruno", 7, True),
        ("anna", 8, False),
        ("bruno", 9, True),
    ):
        states.append(state())
        learnt.judge(query, picture, relevant)
    for before in reversed(states):
        learnt.undo()
        assert state() == before
    assert current(learnt.catalogue).new_words == ()  # type: ignore[union-attr]


def test_undoing_the_yes_that_began_a_word_leaves_what_the_others_alone_would_teach(
    learnt: Collection,
) -> None:
    said = learnt.judge("anna", 5, True)
    learnt.judge("bruno", 7, True)
    learnt.undo(said.id)
    assert first(learnt, "bruno") == 7
    with pytest.raises(UnknownWords):
        learnt.search("anna")
    assert learnt.check().is_well


def test_saying_no_later_takes_the_word_back(learnt: Collection) -> None:
    learnt.judge("anna", 5, True)
    assert not learnt.judge("anna", 5, False).relevant
    with pytest.raises(UnknownWords):
        learnt.search("anna")
    learnt.judge("anna", 6, True)
    assert first(learnt, "anna") == 6


def test_words_that_were_begun_survive_training_and_may_be_learnt(learnt: Collection) -> None:
    learnt.judge("anna", 5, True)
    learnt.judge("bruno", 7, True)
    names = learnt.root / "scene-0010.jpg", learnt.root / "scene-0011.jpg"
    for path in names:
        learnt.caption(path, "bruno")
    learnt.train(force=True)
    version = current(learnt.catalogue)
    assert version is not None
    assert version.new_words == ("anna",)
    assert first(learnt, "anna") == 5
    assert "bruno" in version.vocabulary()
    assert learnt.check().is_well


def test_a_name_of_several_unknown_words_is_begun_as_one(learnt: Collection) -> None:
    learnt.judge("Aunt Rosa", 5, True)
    assert current(learnt.catalogue).new_words == ("aunt rosa",)  # type: ignore[union-attr]
    assert first(learnt, '"aunt rosa"') == 5
    assert learnt.search("rosa").results[0].picture == 5


def test_a_begun_word_joins_others_in_queries_descriptions_and_explanations(
    learnt: Collection,
) -> None:
    learnt.judge("anna", 5, True)
    assert len(ranking(learnt, "anna sea -house")) == 60
    assert learnt.explain(5, "anna sea").score == pytest.approx(
        dict(ranking(learnt, "anna sea"))[5]
    )
    values = [
        {one.word: one.score for one in learnt.describe(picture, 1000)}["anna"]
        for picture in (5, *range(10, 20))
    ]
    assert values[0] == max(values)
    (about,) = learnt.descriptions([learnt.root / "scene-0005.jpg"], words=1000, phrases=0)
    assert "anna" in {one.word for one in about.words}


def test_new_pictures_are_ranked_for_a_begun_word(learnt: Collection) -> None:
    from visterm.datasets.scenes import draw_scenes

    learnt.judge("anna", 5, True)
    draw_scenes(learnt.root / "more", 3, size=(48, 32), seed=5)
    learnt.add(n_jobs=1)
    assert len(ranking(learnt, "anna")) == 63
    assert learnt.check().is_well


def test_a_killed_writer_leaves_the_word_to_the_next(learnt: Collection) -> None:
    learnt.judge("anna", 5, True)
    wanted = ranking(learnt, "anna")
    catalogue = learnt.catalogue
    with catalogue.writing("testing"), catalogue.transaction() as db:
        db.execute("DELETE FROM directions")
        catalogue.set("begun", None)
        catalogue.set("clicks", "unlearnt")
    with Collection.open(learnt.root) as again:
        again.search("sea")
        assert ranking(again, "anna") == wanted


def test_a_word_is_begun_anew_after_its_picture_was_removed(learnt: Collection) -> None:
    learnt.judge("anna", learnt.root / "scene-0005.jpg", True)
    learnt.remove([learnt.root / "scene-0005.jpg"])
    other = learnt.search("sea", 1).results[0].picture
    learnt.judge("anna", other, True)
    assert first(learnt, "anna") == other


@pytest.mark.parametrize("query", ["the", "-anna"])
def test_nothing_is_begun_by_words_that_say_nothing(learnt: Collection, query: str) -> None:
    with pytest.raises(BadInput):
        learnt.judge(query, 3, True)
    assert learnt.judgements() == []


@pytest.mark.parametrize("query", ["Himmel", '"Himmel"'])
def test_only_quotes_keep_a_german_noun_from_being_translated(
    learnt: Collection, query: str
) -> None:
    learnt.judge(query, 5, True)
    begun = current(learnt.catalogue).new_words  # type: ignore[union-attr]
    assert begun == (("himmel",) if '"' in query else ())


@pytest.mark.parametrize("query", ["Rosa", '"Rosa"', '"rosa"'])
def test_a_name_that_is_a_word_of_another_language_is_taught_as_itself(
    learnt: Collection, query: str
) -> None:
    learnt.judge("pink", 9, True)
    before = {asked: ranking(learnt, asked) for asked in ("pink", "rosa")}
    assert learnt.search("rosa").replaced == {"rosa": ["pink"]}
    with pytest.raises(UnknownWords) as refused:
        learnt.search(query)
    assert refused.value.unknown["rosa"][0] == "pink"
    learnt.judge(query, 5, True)
    assert current(learnt.catalogue).new_words == ("pink", "rosa")  # type: ignore[union-attr]
    for asked in (query, "rosa", "Rosa"):
        answer = learnt.search(asked)
        assert answer.results[0].picture == 5
        assert answer.results[0].judged is True
        assert not answer.replaced
    assert ranking(learnt, "pink") == before["pink"]
    with Collection.open(learnt.root) as again:
        assert first(again, "rosa") == 5
    learnt.undo_last()
    assert {asked: ranking(learnt, asked) for asked in before} == before
