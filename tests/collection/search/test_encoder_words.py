"""Pictures described by a dual encoder: any word is answered, and learning goes on from there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.drawn_encoder import draw
from benchmarks.encoder import average_precision
from slow_scores import assert_ranked, slow_scores

from visterm.collection import Collection
from visterm.collection.search.request import SearchRequest
from visterm.collection.store.snapshot import shared_state
from visterm.errors import BadInput

COUNT = 60


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory, drawn_encoder: str) -> Path:
    root = tmp_path_factory.mktemp("shapes")
    draw(root, COUNT)
    with Collection.open(root) as collection:
        collection.add(features=f"encoder({drawn_encoder})")
    return root


@pytest.fixture
def shapes(described: Path, tmp_path: Path) -> Iterator[Collection]:
    shutil.copytree(described, tmp_path / "shapes")
    with Collection.open(tmp_path / "shapes") as collection:
        yield collection


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str]]:
    return draw(tmp_path_factory.mktemp("again"), COUNT)


def test_words_are_answered_before_any_caption_those_of_the_starter_and_others(
    shapes: Collection, drawn: dict[str, tuple[str, str]]
) -> None:
    for query, meant in {
        "red": ("red",),
        "crimson": ("red",),
        "crimson disc": ("red", "circle"),
        "azure:2 wedge": ("blue", "triangle"),
    }.items():
        answer = shapes.search(query, k=3)
        assert not answer.unknown
        assert not answer.replaced
        assert answer.cutoff
        assert all(one.probability is not None for one in answer.results)
        assert average_precision(shapes, query, meant, drawn) > 0.95


def test_unwanted_words_and_filters_count_for_words_that_no_model_has_met(
    shapes: Collection, drawn: dict[str, tuple[str, str]]
) -> None:
    reds = sum("red" in one for one in drawn.values())
    found = [drawn[one.path.name] for one in shapes.search("crimson -disc", k=reds).results]
    circles = [place for place, one in enumerate(found) if "circle" in one]
    others = [place for place, one in enumerate(found) if "circle" not in one]
    assert min(circles) > max(place for place in others if "red" in found[place])
    first = shapes.search("crimson", k=1).results[0]
    shapes.caption(first.path, "kept")
    assert first.picture not in {
        one.picture for one in shapes.search("crimson captioned:no", k=COUNT).results
    }


def test_the_ranking_is_that_of_the_slow_formula(shapes: Collection) -> None:
    text = "red crimson azure:0.5 -disc"
    assert_ranked(shapes.search(text, k=COUNT).results, slow_scores(shapes, text), text)


def test_columns_of_such_words_are_kept_and_a_few_pictures_are_worth_no_file(
    shapes: Collection,
) -> None:
    before = sorted((shapes.store / "features").rglob("*"))
    kept = shared_state(shapes.catalogue).columns._open
    for number, word in enumerate(("crimson", "azure", "disc", "azure", "crimson")):
        shapes.search(word)
        assert len(kept) == min(number + 1, 3)
    assert sorted((shapes.store / "features").rglob("*")) == before


def test_clicks_begin_at_the_encoders_vector_and_undo_returns_to_it(
    shapes: Collection, drawn: dict[str, tuple[str, str]]
) -> None:
    meant = ("red", "circle")
    before = shapes.search("crimson", k=COUNT)
    asked = average_precision(shapes, "crimson", meant, drawn)
    for name, one in list(drawn.items())[:20]:
        if "red" in one:
            shapes.judge("crimson", shapes.root / name, one == meant)
    assert average_precision(shapes, "crimson", meant, drawn) > asked
    assert average_precision(shapes, "crimson", ("red",), drawn) > 0.8
    shapes.forget_judgements()
    assert shapes.search("crimson", k=COUNT) == before


def test_training_starts_from_the_encoder_and_keeps_what_captions_do_not_speak_of(
    shapes: Collection, drawn: dict[str, tuple[str, str]]
) -> None:
    meant = ("blue", "triangle")
    for name, one in list(drawn.items())[:30]:
        shapes.caption(shapes.root / name, " ".join([*one, *(["glyph"] if one == meant else [])]))
    shapes.train()
    others = dict(list(drawn.items())[30:])
    assert average_precision(shapes, "glyph captioned:no", meant, others) > 0.9
    assert average_precision(shapes, "red", ("red",), drawn) > 0.95
    assert average_precision(shapes, "crimson disc", ("red", "circle"), drawn) > 0.95
    assert shapes.check().is_well


def test_sentences_are_asked_in_the_encoders_own_space(
    shapes: Collection, drawn: dict[str, tuple[str, str]]
) -> None:
    shapes.train_space("encoder")
    answer = shapes.search(SearchRequest("a red circle on grey", k=2, space="encoder"))
    assert {drawn[one.path.name] for one in answer.results} == {("red", "circle")}
    assert not shapes.train_space("encoder"), "once is enough"


def test_without_its_encoder_a_collection_says_what_is_missing(
    shapes: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISTERM_ENCODERS", str(tmp_path / "none"))
    with pytest.raises(BadInput, match="no encoder called 'drawn' is installed"):
        shapes.search("crimson")
    assert shapes.search("red", k=1).results, "what the index holds needs no encoder"
