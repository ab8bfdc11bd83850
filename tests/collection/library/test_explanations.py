"""Why: contributions by place and word that sum to the score, with clicks and without."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from visterm.calibration.calibration import log_logistic
from visterm.collection import Collection
from visterm.collection.feedback.changes import current_offsets
from visterm.collection.store.snapshot import snapshot
from visterm.datasets.scenes import draw_scenes
from visterm.errors import BadInput
from visterm.text.query import parse_query, query_vector

STORED = 5e-3
"""How far scores of vectors stored in 8 bits may lie from those of the network's, relatively."""


@pytest.fixture(scope="module", params=["blocks", "cnn"])
def seen(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Collection]:
    """Drawn scenes described by blocks, or by the CNN."""
    folder: Path = tmp_path_factory.mktemp(request.param)
    draw_scenes(folder, 24, size=(96, 64))
    with Collection.open(folder) as collection:
        collection.add(features=request.param, n_jobs=1)
        collection.caption_from(folder / "captions.tsv")
        collection.train()
        with collection.catalogue.writing("forgetting"), collection.catalogue.transaction() as db:
            db.execute("DELETE FROM captions")  # so that nothing but sight counts
        yield collection


@pytest.mark.parametrize("query", ["sea", "sky tree", "house:2 -sea"])
def test_contributions_of_places_sum_to_the_score(seen: Collection, query: str) -> None:
    for found in seen.search(query, k=3).results:
        why = seen.explain(found.picture, query)
        total = sum(float(contributions.sum()) for contributions in why.words.values())
        assert why.score == found.score
        assert total + why.rest == pytest.approx(why.score, abs=1e-9)
        assert why.rest == pytest.approx(unseen(seen, query), abs=STORED * (1 + abs(why.score))), (
            "the model is linear: what is in no place is what the words have anyway"
        )
        assert why.places is not None
        assert why.places.sum() == pytest.approx(total)


def unseen(collection: Collection, query: str) -> float:
    """The score of a picture of which no place says anything."""
    now = snapshot(collection.catalogue).words
    vector = query_vector(parse_query(query), now.vocabulary)
    signs = np.sign(vector.weights)
    odds = signs * now.link.intercepts[vector.numbers]
    return float(np.abs(vector.weights) @ log_logistic(odds))


def test_what_a_caption_says_is_told_beside_what_is_seen(learnt: Collection) -> None:
    found = learnt.search("sea", k=1).results[0]
    why = learnt.explain(found.picture, "sea tree unheardof")
    assert why.evidence is not None
    assert "sea" in why.evidence.words
    assert why.evidence.sight + why.evidence.caption == pytest.approx(why.score)
    learnt.caption(found.path, "Anna")
    alone = learnt.explain(found.picture, "anna")
    assert alone.evidence is not None
    assert (alone.words, alone.evidence.words) == ({}, ("anna",))


def test_every_word_has_its_own_places(seen: Collection) -> None:
    found = seen.search("sky tree", k=1).results[0]
    why = seen.explain(found.path, "sky tree")
    assert set(why.words) == {"sky", "tree"}
    assert why.words["sky"].shape == why.words["tree"].shape
    assert not np.allclose(why.words["sky"], why.words["tree"])
    left, top, right, bottom = why.box
    assert 0 <= left < right <= 1
    assert 0 <= top < bottom <= 1


def test_what_clicks_taught_is_explained_too(seen: Collection) -> None:
    low = seen.search("sea", k=24).results[-1]
    seen.judge("sea", low.picture, True)
    try:
        why = seen.explain(low.picture, "sea")
        assert why.score > low.score
        total = sum(float(contributions.sum()) for contributions in why.words.values())
        assert total + why.rest == pytest.approx(why.score, abs=1e-9)
        offsets = current_offsets(seen.catalogue)
        ((word, direction),) = offsets.directions.items()
        # What clicks would add to a picture like any other is in no place.
        moved = -float(direction @ offsets.model.reference.mean)
        link = offsets.link
        assert link is not None
        nothing = log_logistic(link.intercepts[word] + link.slopes[word] * moved)
        assert why.rest == pytest.approx(nothing, abs=STORED * (1 + abs(why.score)))
    finally:
        seen.forget_judgements()


def test_a_model_that_is_not_linear_leaves_everything_in_the_rest(learnt: Collection) -> None:
    found = learnt.search("sea", k=1).results[0]  # thumbnails know no places
    why = learnt.explain(found.picture, "sea")
    assert why.words == {}
    assert why.places is None
    assert why.rest == why.score == found.score


def test_unknown_words_and_pictures_are_refused(learnt: Collection) -> None:
    with pytest.raises(BadInput, match="does not know"):
        learnt.explain(1, "unheardof")
    with pytest.raises(BadInput, match="there is no picture"):
        learnt.explain(10**9, "sea")
