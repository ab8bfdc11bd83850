"""PAMIR as people use it: choosing by validation, retraining, going on, learning from clicks."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from problems import problem
from scipy.sparse import csr_array, vstack

from visterm.errors import BadInput, NotFitted
from visterm.evaluation import mean_average_precision
from visterm.models import Pamir
from visterm.models.pamir._triplets import Objective, triplets_of
from visterm.models.pamir.passive_aggressive import chunks
from visterm.models.supervision import Supervision
from visterm.text import Relevance, relevance_from_captions
from visterm.text.query_source import listed_source
from visterm.text.weighting import inverse_frequency

SPARSE = problem("sparse")
OTHER = (SPARSE.other_X, SPARSE.other_Y)


def avgp_on_other(model: Pamir) -> float:
    told = relevance_from_captions(SPARSE.other_Y, model.idf_, max_words=model.max_words)
    return mean_average_precision(told.queries @ model.transform(SPARSE.other_X).T, told.pictures)


# Validation


@pytest.fixture(scope="module")
def moments() -> dict[tuple[float, int], float]:
    """AvgP on the other pictures at every moment that a search over two C looks at."""
    ends = [done for done, _ in chunks(4000)]
    return {
        (c, end): avgp_on_other(Pamir(C=c, max_iter=end).fit(SPARSE.X, SPARSE.Y))
        for c, end in product((0.01, 1.0), ends)
    }


def test_validation_picks_the_c_and_the_moment_with_the_best_avgp(moments):
    model = Pamir(C=(0.01, 1.0), max_iter=4000, patience=1000)
    model.fit(SPARSE.X, SPARSE.Y, validation=OTHER)
    best = max(moments.values())
    assert model.validation_ == pytest.approx(best, abs=1e-6)
    assert moments[model.C_, model.n_iter_] == pytest.approx(best, abs=1e-6)


def test_the_weights_are_those_of_the_best_moment_and_not_of_the_last(moments):
    model = Pamir(C=1.0, max_iter=4000, patience=1000)
    model.fit(SPARSE.X, SPARSE.Y, validation=OTHER)
    assert model.n_iter_ < 4000, "the best moment must not be the last for this test to tell"
    then = Pamir(C=1.0, max_iter=model.n_iter_).fit(SPARSE.X, SPARSE.Y)
    np.testing.assert_allclose(model.weights_, then.weights_, atol=1e-6)
    assert avgp_on_other(model) == pytest.approx(model.validation_, abs=1e-6)
    assert model.validation_ > moments[1.0, 4000]


def test_patience_gives_up_on_a_c_that_gets_no_better(moments):
    looks: list[int] = []
    model = Pamir(C=1.0, max_iter=4000, patience=2)
    model.fit(
        SPARSE.X,
        SPARSE.Y,
        validation=OTHER,
        progress=lambda what, done, total: looks.append(done),
    )
    curve = [moments[1.0, end] for end, _ in chunks(4000)]
    best, since, expected = -1.0, 0, 0
    for quality in curve:
        expected += 1
        best, since = (quality, 0) if quality > best else (best, since + 1)
        if since == 2:
            break
    assert expected < len(curve)
    assert len(looks) == expected + 1  # and one last word that all is done
    assert looks[-1] == 4000


def test_retraining_learns_from_both_sets_with_what_was_chosen():
    chosen = Pamir(C=(0.01, 1.0), max_iter=4000).fit(SPARSE.X, SPARSE.Y, validation=OTHER)
    again = Pamir(C=(0.01, 1.0), max_iter=4000, retrain=True)
    again.fit(SPARSE.X, SPARSE.Y, validation=OTHER)
    assert (again.C_, again.n_iter_) == (chosen.C_, chosen.n_iter_)
    assert again.validation_ == chosen.validation_
    both = vstack([SPARSE.X, SPARSE.other_X]), vstack([SPARSE.Y, SPARSE.other_Y])
    whole = Pamir(C=chosen.C_, max_iter=chosen.n_iter_).fit(*both)
    assert again.weights_.tobytes() == whole.weights_.tobytes()
    assert again.idf_.tolist() == inverse_frequency(both[1].tocsr()).tolist()


def test_validation_queries_are_weighed_by_the_training_captions():
    model = Pamir(max_iter=100).fit(SPARSE.X, SPARSE.Y, validation=OTHER)
    assert model.idf_.tolist() == SPARSE.idf.tolist()


@pytest.mark.parametrize("learn_dense", [True, False])
def test_sparse_and_dense_pictures_may_be_mixed_between_training_and_validation(learn_dense):
    forms = (lambda X: X.toarray(), lambda X: X)
    train, other = forms if learn_dense else forms[::-1]
    mixed = Pamir(max_iter=2000, retrain=True)
    mixed.fit(train(SPARSE.X), SPARSE.Y, validation=(other(SPARSE.other_X), SPARSE.other_Y))
    plain = Pamir(max_iter=2000, retrain=True).fit(SPARSE.X, SPARSE.Y, validation=OTHER)
    np.testing.assert_allclose(mixed.weights_, plain.weights_, atol=1e-4)


# Relevance in place of captions


def test_relevance_made_from_captions_teaches_about_what_the_captions_teach():
    told = relevance_from_captions(SPARSE.Y, SPARSE.idf, max_words=4)
    by_relevance = Pamir(max_iter=10_000).fit(SPARSE.X, told)
    by_captions = Pamir(max_iter=10_000, query_exponent=0).fit(SPARSE.X, SPARSE.Y)
    qualities = [SPARSE.quality(m.transform(SPARSE.held_X)) for m in (by_relevance, by_captions)]
    assert qualities[0] == pytest.approx(qualities[1], abs=0.02)
    assert (by_relevance.idf_ == 1).all()


def test_validation_may_be_relevance_whatever_the_margin():
    told = relevance_from_captions(SPARSE.other_Y, SPARSE.idf, max_words=4)
    for margin in ("constant", "caption"):
        by_captions = Pamir(max_iter=2000, margin=margin)
        by_captions.fit(SPARSE.X, SPARSE.Y, validation=OTHER)
        by_relevance = Pamir(max_iter=2000, margin=margin)
        by_relevance.fit(SPARSE.X, SPARSE.Y, validation=(SPARSE.other_X, told))
        assert by_relevance.validation_ == by_captions.validation_


def test_the_caption_margin_is_made_of_captions_of_unit_length():
    supervision = Supervision(SPARSE.X, 3 * SPARSE.Y)
    captions, least = supervision.margins("caption", None)
    lengths = np.sqrt(captions.multiply(captions).sum(axis=1))
    np.testing.assert_allclose(lengths[np.diff(captions.indptr) > 0], 1, rtol=1e-5)
    assert least == 0.1
    # ε of a query that is a caption itself is then 1 − (its cosine with the other caption).
    source = listed_source(Relevance(captions[[0]], csr_array(np.eye(1, SPARSE.X.shape[0]))))
    block = triplets_of(source, captions, 0.1).draw(np.zeros(1, np.uint64), 50, Objective())
    cosines = (captions[[0]] @ captions.T).toarray()[0]
    expected = np.maximum(0.1, 1 - cosines[block.worse[:, 0]])
    np.testing.assert_allclose(block.margins[:, 0], expected, rtol=1e-5)


@pytest.mark.parametrize("exponent", [0.0, 1.0])
def test_given_queries_are_drawn_by_the_exponent_too(exponent):
    gains = np.array([[1.0] * 9 + [0], [1] + [0] * 9])
    relevance = Relevance(csr_array(np.eye(2)), csr_array(gains))
    model = Pamir(query_exponent=exponent)
    triplets = model._triplets(model._supervise(np.eye(10, dtype=np.float32), relevance, None))
    block = triplets.draw(np.zeros(1, np.uint64), 4000, Objective())
    share = np.mean(block.words[:, 0] == 0)
    assert share == pytest.approx(0.9 if exponent else 0.5, abs=0.03)


def test_the_caption_margin_and_retraining_need_captions():
    told = relevance_from_captions(SPARSE.Y, SPARSE.idf, max_words=1)
    with pytest.raises(BadInput, match="caption margin needs captions"):
        Pamir(margin="caption").fit(SPARSE.X, told)
    with pytest.raises(BadInput, match="retrain needs captions"):
        Pamir(retrain=True).fit(SPARSE.X, told, validation=OTHER)


def test_relevance_for_other_pictures_or_words_is_refused():
    told = relevance_from_captions(SPARSE.Y, SPARSE.idf, max_words=1)
    with pytest.raises(BadInput, match="speaks of 160 pictures, but there are 60"):
        Pamir().fit(SPARSE.other_X, told)
    broken = Relevance(told.queries * np.nan, told.pictures)
    with pytest.raises(BadInput, match="query vectors hold NaN"):
        Pamir().fit(SPARSE.X, broken)
    model = Pamir(max_iter=10).fit(SPARSE.X, SPARSE.Y)
    with pytest.raises(BadInput, match="knows 10 words, these queries use 9"):
        model.partial_fit(SPARSE.X, Relevance(told.queries[:, :9], told.pictures))


# Going on


def test_partial_fit_goes_on_from_where_it_was():
    model = Pamir(max_iter=500).fit(SPARSE.X, SPARSE.Y)
    before = model.weights_.copy()
    early = SPARSE.quality(model.transform(SPARSE.held_X))
    model.partial_fit(SPARSE.X, SPARSE.Y, steps=20_000)
    assert SPARSE.quality(model.transform(SPARSE.held_X)) > early + 0.05
    assert model.n_iter_ == 20_500
    unchanged = model.weights_.copy()
    model.partial_fit(SPARSE.X, SPARSE.Y, steps=0)
    assert model.weights_.tobytes() == unchanged.tobytes() != before.tobytes()


def test_each_partial_fit_draws_triplets_of_its_own():
    first = Pamir().partial_fit(SPARSE.X, SPARSE.Y, steps=200)
    moved = first.weights_.copy()
    first.partial_fit(SPARSE.X, SPARSE.Y, steps=200)
    same_again = Pamir(random_state=0)
    same_again.partial_fit(SPARSE.X, SPARSE.Y, steps=200)
    same_again.n_iter_ = 0  # as if the second call drew from the seed of the first
    same_again.partial_fit(SPARSE.X, SPARSE.Y, steps=200)
    assert first.weights_.tobytes() != same_again.weights_.tobytes()
    assert first.weights_.tobytes() != moved.tobytes()


def test_partial_fit_is_repeatable_and_starts_from_nothing_like_fit():
    by_parts = Pamir().partial_fit(SPARSE.X, SPARSE.Y, steps=1000)
    at_once = Pamir(max_iter=1000).fit(SPARSE.X, SPARSE.Y)
    assert by_parts.weights_.tobytes() == at_once.weights_.tobytes()
    assert by_parts.idf_.tolist() == at_once.idf_.tolist()


def test_partial_fit_looks_once_at_every_word_or_relevant_picture_by_default():
    assert Pamir().partial_fit(SPARSE.X, SPARSE.Y).n_iter_ == SPARSE.Y.nnz
    told = relevance_from_captions(SPARSE.Y, SPARSE.idf, max_words=4)
    assert Pamir().partial_fit(SPARSE.X, told).n_iter_ == told.pictures.nnz


def test_partial_fit_keeps_the_word_weights_and_takes_new_pictures():
    model = Pamir(C=(0.01, 0.1), max_iter=1000).fit(SPARSE.X, SPARSE.Y, validation=OTHER)
    model.partial_fit(SPARSE.other_X, SPARSE.other_Y, steps=1000)
    assert model.idf_.tolist() == SPARSE.idf.tolist()
    with pytest.raises(BadInput, match="knows 10 words, these captions use 9"):
        model.partial_fit(SPARSE.other_X, SPARSE.other_Y[:, :9])
    with pytest.raises(BadInput, match="80 numbers, these have 79"):
        model.partial_fit(SPARSE.other_X[:, :79], SPARSE.other_Y)
    with pytest.raises(BadInput, match="steps must be 0 or more"):
        model.partial_fit(SPARSE.other_X, SPARSE.other_Y, steps=-1)


def test_a_partial_fit_that_fails_leaves_nothing_half_fitted():
    model = Pamir()
    with pytest.raises(BadInput, match="captions that differ"):
        model.partial_fit(np.eye(2), np.ones((2, 2)))
    with pytest.raises(NotFitted):
        model.transform(np.eye(2))


# Clicks


def test_clicks_bring_the_clicked_picture_to_the_top(tmp_path):
    Pamir(max_iter=2000).fit(SPARSE.X, SPARSE.Y).save(tmp_path / "model")
    model = Pamir.load(tmp_path / "model")  # a loaded model learns on as well
    pictures = SPARSE.held_X.toarray()
    query = np.zeros(10)
    query[3] = 1
    order = np.argsort(-model.transform(pictures) @ query)
    top, clicked = pictures[order[0]], pictures[order[5]]
    losses = [model.update(query, clicked, top) for _ in range(40)]
    assert losses[0] > 1
    assert losses[-1] == pytest.approx(0, abs=1e-5)
    assert losses == sorted(losses, reverse=True)
    scores = model.transform(np.stack([clicked, top])) @ query
    assert scores[0] >= scores[1] + 1 - 1e-4


def test_a_click_may_come_in_sparse_rows_and_moves_only_the_words_of_its_query():
    plain = Pamir(max_iter=100).fit(SPARSE.X, SPARSE.Y)
    sparse = Pamir(max_iter=100).fit(SPARSE.X, SPARSE.Y)
    before = plain.weights_.copy()
    query = np.eye(1, 10, 4)
    plain.update(query[0], SPARSE.held_X[[0]].toarray()[0], SPARSE.held_X[[1]].toarray()[0])
    sparse.update(csr_array(query), SPARSE.held_X[[0]], SPARSE.held_X[[1]])
    assert plain.weights_.tobytes() == sparse.weights_.tobytes()
    assert np.flatnonzero((plain.weights_ != before).any(axis=1)).tolist() == [4]


def test_clicks_that_make_no_sense_are_refused_and_change_nothing():
    with pytest.raises(NotFitted, match="call fit first"):
        Pamir().update([1.0], [1.0], [0.0])
    model = Pamir().partial_fit(np.eye(2), np.eye(2), steps=0)
    refused = [
        (([1.0], [1.0, 0.0], [0.0, 1.0]), "knows 2 words, the query has 1"),
        (([1.0, 0.0], [1.0], [0.0]), "2 numbers, these have 1"),
        (([np.nan, 0.0], [1.0, 0.0], [0.0, 1.0]), "NaN"),
        (([1.0, 0.0], [np.inf, 0.0], [0.0, 1.0]), "infinite"),
        ((["tree", "snow"], [1.0, 0.0], [0.0, 1.0]), "numbers"),
    ]
    for click, why in refused:
        with pytest.raises(BadInput, match=why):
            model.update(*click)
    assert not model.weights_.any()


# Parameters


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({"C": 0}, "C must be positive, not 0"),
        ({"C": -1.0}, "C must be positive"),
        ({"C": np.nan}, "C must be positive"),
        ({"C": "large"}, "C must be positive, not 'large'"),
        ({"C": ()}, "C must be positive"),
        ({"C": (0.1, 1.0)}, "several needs validation"),
        ({"margin": "wide"}, "'constant' or 'caption', not 'wide'"),
        ({"least_margin": 0.0}, "least_margin must be positive"),
        ({"least_margin": np.nan}, "least_margin must be positive"),
        ({"max_iter": 0}, "max_iter must be a whole number, 1 or more"),
        ({"max_words": 0}, "max_words must be at least 1"),
        ({"query_exponent": 1.5}, "query_exponent must be from 0 to 1, not 1.5"),
        ({"query_lengths": (0, 0)}, "query_lengths must be shares"),
        ({"query_lengths": (1, -1)}, "query_lengths must be shares"),
        ({"random_state": -1}, "random_state"),
        ({"random_state": "chance"}, "random_state"),
    ],
)
def test_parameters_that_make_no_sense_are_refused_when_fitting(parameters, why):
    model = Pamir(**parameters)
    with pytest.raises(BadInput, match=why):
        model.fit(SPARSE.X, SPARSE.Y)


def test_the_parameters_of_queries_decide_which_it_learns_from():
    singles = Pamir(max_iter=2000, max_words=1).fit(SPARSE.X, SPARSE.Y)
    by_length = Pamir(max_iter=2000, query_lengths=(1.0,)).fit(SPARSE.X, SPARSE.Y)
    assert singles.weights_.tobytes() == by_length.weights_.tobytes()
    by_exponent = {
        Pamir(max_iter=2000, query_exponent=a).fit(SPARSE.X, SPARSE.Y).weights_.tobytes()
        for a in (0, 0.5, 1)
    }
    assert len(by_exponent) == 3


def test_a_larger_least_margin_asks_for_larger_weights():
    small, large = (
        Pamir(C=10, max_iter=5000, least_margin=margin).fit(SPARSE.X, SPARSE.Y)
        for margin in (1.0, 2.0)
    )
    assert np.abs(large.weights_).sum() > 1.5 * np.abs(small.weights_).sum()


def test_chosen_parameters_survive_a_file(tmp_path):
    model = Pamir(C=[0.01, 0.1], max_iter=500)
    model.fit(SPARSE.X, SPARSE.Y, validation=OTHER).save(tmp_path / "model")
    again = Pamir.load(tmp_path / "model")
    assert again.C == (0.01, 0.1)
    for name in ("C_", "n_iter_", "validation_", "n_features_in_"):
        assert getattr(again, name) == getattr(model, name)
    assert again.idf_.tobytes() == model.idf_.tobytes()


def test_parts_of_the_work_cover_it_all():
    for steps in (0, 1, 7, 40, 41, 2_530_000):
        parts = list(chunks(steps))
        assert sum(size for _, size in parts) == steps
        assert all(size > 0 for _, size in parts)
        assert [done for done, _ in parts] == np.cumsum([size for _, size in parts]).tolist()
