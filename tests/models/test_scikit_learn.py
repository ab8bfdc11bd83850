"""Models in a notebook: scikit-learn's tools and its own checks take them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from problems import problem
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer
from sklearn.utils.estimator_checks import check_estimator

from visterm.errors import BadInput, NotFitted
from visterm.models import MODELS, Cca, KernelRidge, Model, Pamir, load_model
from visterm.text import Relevance

SMALL: dict[str, dict[str, Any]] = {
    "pamir": {"max_iter": 200},
    "kernel-pamir": {"max_iter": 200},
    "bbnn": {"block_width": 1, "max_iter": 1, "epoch_pairs": 50, "batch_size": 10},
    "cmtt": {"n_components": 2},
    "plsa": {"n_components": 2, "text_steps": 2},
    "bitr": {"max_iter": 5},
    "wsabie": {"n_components": 4, "max_iter": 2},
    "weighted-knn": {"n_neighbors": 3},
    "contrastive": {"n_components": 4, "max_iter": 1, "batch_size": 10},
}
PICTURES = np.random.default_rng(0).random((40, 5))
CAPTIONS = ["sun over the sea" if x > 0.5 else "snow and trees" for x in PICTURES[:, 0]]

# Checks of scikit-learn that models do not pass, and why.
WORDING = "refused as it asks, in words about pictures and captions instead of samples and features"
CALLED_Y = "what is learnt from is called Y, a matrix, and cannot be passed as y=…"
EXPLAINED = {
    "check_complex_data": WORDING,
    "check_dtype_object": WORDING,
    "check_estimators_empty_data_messages": WORDING,
    "check_fit2d_1sample": WORDING,
    "check_fit2d_predict1d": WORDING,
    "check_n_features_in_after_fitting": WORDING,
    "check_positive_only_tag_during_fit": WORDING,
    "check_requires_y_none": WORDING,
    "check_transformer_data_not_an_array": CALLED_Y,
    "check_transformer_general": CALLED_Y,
    "check_dont_overwrite_parameters": "fit says in `interrupted` whether it was ended by Ctrl-C",
    "check_methods_sample_order_invariance": "BBNN adds float32 in batches: 1e-7 apart",
    "check_transformer_n_iter": "Wsabie makes all its passes, so that n_iter_ would be max_iter",
}


def small(name: str, **changes: Any) -> Model:
    return MODELS[name](**{**SMALL.get(name, {}), **changes})


@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_check_of_scikit_learn_is_passed_or_explained(name: str) -> None:
    if name == "contrastive":
        pytest.importorskip("torch")
    results = check_estimator(small(name), on_skip=None, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    unexplained = {name: str(why)[:300] for name, why in failed.items() if name not in EXPLAINED}
    assert not unexplained
    assert sum(r["status"] == "passed" for r in results) > 20


def test_texts_are_captions_and_the_vocabulary_is_kept(tmp_path) -> None:
    model = Pamir(max_iter=2000).fit(PICTURES, CAPTIONS)
    assert {"sun", "sea", "snow"} <= set(model.vocabulary_.words)
    assert set(model.predict(PICTURES)) <= set(model.vocabulary_.words)
    assert model.score(PICTURES, CAPTIONS) > 0.8
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.vocabulary_.words == model.vocabulary_.words
    assert again.score(PICTURES, CAPTIONS) == model.score(PICTURES, CAPTIONS)
    counts = model.vocabulary_.counts(CAPTIONS)
    by_counts = Pamir(max_iter=2000).fit(PICTURES, counts)
    assert by_counts.vocabulary_ is None
    np.testing.assert_array_equal(by_counts.weights_, model.weights_)
    assert by_counts.score(PICTURES, counts) == model.score(PICTURES, CAPTIONS)
    words = np.array(model.vocabulary_.words)
    assert (words[by_counts.predict(PICTURES)] == model.predict(PICTURES)).all()


def test_validation_and_further_pictures_may_be_texts_too() -> None:
    model = Pamir(C=(0.01, 0.1), max_iter=1000)
    model.fit(PICTURES[:30], CAPTIONS[:30], validation=(PICTURES[30:], CAPTIONS[30:]))
    assert model.validation_ > 0.5
    words = model.vocabulary_.words
    model.partial_fit(PICTURES[30:], [*CAPTIONS[30:39], "nothing known"])
    assert model.vocabulary_.words == words
    with pytest.raises(BadInput, match="every caption is empty"):
        Pamir().fit(PICTURES, [""] * len(PICTURES))


def test_score_is_the_mean_average_precision_over_words_or_queries() -> None:
    given = problem("dense")
    model = KernelRidge().fit(given.X, given.Y)
    rows, held = model.transform(given.held_X), csr_array(given.held_Y)
    by_word = []
    for word in np.flatnonzero(held.sum(axis=0)):
        order = np.argsort(-rows[:, word], kind="stable")
        hits = (held[:, [word]].toarray().ravel() > 0)[order]
        by_word.append(np.mean(np.cumsum(hits)[hits] / (np.flatnonzero(hits) + 1)))
    assert model.score(given.held_X, held) == pytest.approx(np.mean(by_word), abs=1e-6)
    queries = Relevance(csr_array(np.eye(held.shape[1])), csr_array(held.T))
    assert model.score(given.held_X, queries) == pytest.approx(np.mean(by_word), abs=1e-6)


def test_pairs_of_text_vectors_are_scored_by_pairs() -> None:
    texts = PICTURES @ np.random.default_rng(1).standard_normal((5, 4))
    assert Cca().fit(PICTURES, texts).score(PICTURES, texts) > 0.9


def test_searches_pipelines_and_cross_validation_take_models() -> None:
    search = GridSearchCV(Pamir(max_iter=500), {"C": [1e-6, 0.1]}, cv=2)
    assert search.fit(PICTURES, CAPTIONS).best_params_["C"] in (1e-6, 0.1)
    assert search.best_estimator_.score(PICTURES, CAPTIONS) > 0.7
    steps = make_pipeline(FunctionTransformer(np.sqrt), Normalizer(), Pamir(max_iter=2000))
    assert steps.fit(PICTURES, CAPTIONS).score(PICTURES, CAPTIONS) > 0.7
    assert steps.predict(PICTURES).shape == (40,)
    assert cross_val_score(KernelRidge(), PICTURES, CAPTIONS, cv=3).min() > 0.7


def test_what_has_learnt_nothing_raises_the_error_of_scikit_learn() -> None:
    for error in (NotFittedError, NotFitted):
        with pytest.raises(error, match="call fit first"):
            Pamir().transform(PICTURES)


def test_fit_transform_is_fit_and_transform() -> None:
    rows = Pamir(max_iter=300).fit_transform(PICTURES, CAPTIONS)
    np.testing.assert_array_equal(
        rows, Pamir(max_iter=300).fit(PICTURES, CAPTIONS).transform(PICTURES)
    )


@pytest.mark.parametrize(
    "name", [n for n in sorted(MODELS) if "random_state" in MODELS[n]._defaults()]
)
def test_random_state_may_be_none_or_a_generator(name: str) -> None:
    if name == "contrastive":
        pytest.importorskip("torch")
    first, second = (
        small(name, random_state=np.random.default_rng(5))
        .fit(PICTURES, CAPTIONS)
        .transform(PICTURES)
        for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)
    small(name, random_state=None).fit(PICTURES, CAPTIONS)
    small(name, random_state=np.random.RandomState(0)).fit(PICTURES, CAPTIONS)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_parameters_are_given_by_name(name: str) -> None:
    with pytest.raises(TypeError, match="positional"):
        MODELS[name](1.0)
