"""The concept SVM against one scikit-learn machine a word and its scores standardised slowly."""

from __future__ import annotations

import numpy as np
import pytest
from problems import held_relevance, problem
from scipy.sparse import csr_array
from sklearn.svm import SVC, LinearSVC

from visterm.errors import BadInput
from visterm.evaluation import mean_average_precision
from visterm.models import ConceptSvm
from visterm.models.selection import quality
from visterm.text import Relevance
from visterm.text.weighting import weigh_queries

DENSE = problem("dense")
SPARSE = problem("sparse")


def standardised(scores, training_scores):
    mean = sum(training_scores) / len(training_scores)
    deviation = (sum((s - mean) ** 2 for s in training_scores) / len(training_scores)) ** 0.5
    return [(s - mean) / deviation for s in scores]


def slowly(machine, X, Y, held, word):
    """One word's standardised scores, by a machine made for nothing else."""
    fitted = machine.fit(X, Y[:, [word]].toarray().ravel() > 0)
    return standardised(fitted.decision_function(held), fitted.decision_function(X))


@pytest.mark.parametrize("balanced", [False, True])
def test_scores_are_those_of_one_machine_a_word(balanced):
    model = ConceptSvm(C=0.3, balanced=balanced, fusion="weighted").fit(DENSE.X, DENSE.Y)
    rows = model.transform(DENSE.held_X)
    weights = "balanced" if balanced else None
    for word in (0, 4, 9):
        machine = LinearSVC(C=0.3, dual=False, class_weight=weights, tol=1e-3)
        expected = slowly(machine, DENSE.X, DENSE.Y, DENSE.held_X, word)
        np.testing.assert_allclose(rows[:, word], expected, atol=2e-3)


def test_a_precomputed_linear_kernel_gives_the_machine_of_the_linear_kernel():
    model = ConceptSvm(C=2.0, kernel="precomputed", fusion="weighted")
    model.fit(DENSE.X @ DENSE.X.T, DENSE.Y)
    rows = model.transform(DENSE.held_X @ DENSE.X.T)
    for word in (0, 7):
        machine = SVC(C=2.0, kernel="linear")
        expected = slowly(machine, DENSE.X, DENSE.Y, DENSE.held_X, word)
        np.testing.assert_allclose(rows[:, word], expected, atol=2e-2)
    assert DENSE.quality(rows) > 0.8
    model.fit(csr_array(DENSE.X @ DENSE.X.T), DENSE.Y)
    sparse = model.transform(csr_array(DENSE.held_X @ DENSE.X.T))
    np.testing.assert_allclose(sparse, rows, atol=1e-4)


def test_a_query_averages_the_scores_of_its_words():
    average = ConceptSvm(fusion="average").fit(DENSE.X, DENSE.Y)
    plain = ConceptSvm(fusion="weighted").fit(DENSE.X, DENSE.Y)
    words = csr_array(np.array([[1, 0, 0, 0, 0, 0, 0, 0, 0, 1], [0, 1, 1, 1, 0, 0, 0, 0, 0, 0]]))
    queries = weigh_queries(words, average.idf_)
    scores = queries @ average.transform(DENSE.held_X).T
    z = plain.transform(DENSE.held_X)
    for query, held in enumerate(([0, 9], [1, 2, 3])):
        means = np.array([sum(row[t] for t in held) / len(held) for row in z])
        # The same up to one positive factor of the query's.
        np.testing.assert_allclose(scores[query] / scores[query, 0], means / means[0], rtol=1e-3)
        assert scores[query, 0] * means[0] > 0
    weighted = queries @ z.T
    assert not np.allclose(weighted[0] / weighted[0, 0], scores[0] / scores[0, 0], rtol=1e-2)


def test_each_word_takes_the_c_of_its_best_average_precision():
    cs = (0.0003, 0.01, 1.0)
    model = ConceptSvm(C=cs).fit(
        DENSE.X, DENSE.Y, validation=(DENSE.other_X[:25], DENSE.other_Y[:25])
    )
    tried = [ConceptSvm(C=c).fit(DENSE.X, DENSE.Y).transform(DENSE.other_X[:25]) for c in cs]
    for word in range(10):
        answers = csr_array(DENSE.other_Y[:25].toarray()[:, [word]].T.astype(float))
        reached = [mean_average_precision(rows[:, [word]].T, answers) for rows in tried]
        assert reached[cs.index(model.word_C_[word])] == max(reached)
    assert len(set(model.word_C_)) > 1


def test_a_word_that_validation_is_silent_about_takes_the_c_that_is_best_over_all():
    cs = (0.0003, 0.01, 1.0)
    captions = DENSE.other_Y.toarray()
    captions[:, 3] = 0
    model = ConceptSvm(C=cs).fit(DENSE.X, DENSE.Y, validation=(DENSE.other_X, captions))
    relevance = held_relevance(captions, len(captions), model.idf_, 4)
    tried = [
        quality(ConceptSvm(C=c).fit(DENSE.X, DENSE.Y).transform(DENSE.other_X), relevance)
        for c in cs
    ]
    assert model.word_C_[3] == model.C_ == cs[int(np.argmax(tried))]


def test_relevance_may_judge_and_its_single_words_decide():
    answers = csr_array(DENSE.other_Y.toarray().T.astype(float))
    told = Relevance(csr_array(np.eye(10)), answers)
    cs = (0.0003, 1.0)
    by_relevance = ConceptSvm(C=cs).fit(DENSE.X, DENSE.Y, validation=(DENSE.other_X, told))
    by_captions = ConceptSvm(C=cs, max_words=1).fit(
        DENSE.X, DENSE.Y, validation=(DENSE.other_X, DENSE.other_Y)
    )
    assert by_relevance.word_C_.tolist() == by_captions.word_C_.tolist()
    assert by_relevance.validation_ == pytest.approx(by_captions.validation_)


def test_validation_tells_the_quality_of_what_was_fitted():
    model = ConceptSvm(C=(0.01, 1.0)).fit(
        SPARSE.X, SPARSE.Y, validation=(SPARSE.other_X, SPARSE.other_Y)
    )
    relevance = held_relevance(SPARSE.other_Y, 60, model.idf_, 4)
    assert model.validation_ == pytest.approx(
        quality(model.transform(SPARSE.other_X), relevance), abs=1e-3
    )


def test_words_that_every_caption_holds_or_none_score_nothing():
    captions = DENSE.Y.toarray()
    captions[:, 2], captions[:, 5] = 0, 1
    for fusion in ("average", "weighted"):
        model = ConceptSvm(fusion=fusion).fit(DENSE.X, captions)
        rows = model.transform(DENSE.held_X)
        assert (rows[:, [2, 5]] == 0).all()
        assert np.isfinite(rows).all()
        assert (rows[:, 0] != 0).all()


def test_pictures_that_all_look_alike_score_alike():
    rows = (
        ConceptSvm().fit(np.ones((160, 3)), DENSE.Y).transform([[1.0, 1.0, 1.0], [5.0, 0.0, 2.0]])
    )
    assert (rows == 0).all()


@pytest.mark.parametrize("told", [DENSE, SPARSE], ids=["dense", "sparse"])
def test_the_number_of_threads_does_not_show(told):
    rows = [
        ConceptSvm(C=(0.1, 1.0), n_jobs=n_jobs)
        .fit(told.X, told.Y, validation=(told.other_X, told.other_Y))
        .transform(told.held_X)
        .tobytes()
        for n_jobs in (1, 2, 4)
    ]
    assert len(set(rows)) == 1


def test_what_was_chosen_can_be_given_to_another_fit():
    validation = (SPARSE.other_X, SPARSE.other_Y)
    chosen = ConceptSvm(C=(0.01, 1.0)).fit(SPARSE.X, SPARSE.Y, validation=validation)
    again = ConceptSvm(**chosen.decided()).fit(SPARSE.X, SPARSE.Y)
    assert again.transform(SPARSE.held_X).tobytes() == chosen.transform(SPARSE.held_X).tobytes()
    assert again.word_C_.tolist() == chosen.word_C_.tolist()


def test_retraining_learns_from_both_sets_with_the_chosen_c():
    validation = (SPARSE.other_X, SPARSE.other_Y)
    model = ConceptSvm(C=(0.01, 1.0), retrain=True)
    model.fit(SPARSE.X, SPARSE.Y, validation=validation)
    both_X = np.vstack([SPARSE.X.toarray(), SPARSE.other_X.toarray()])
    both_Y = np.vstack([SPARSE.Y.toarray(), SPARSE.other_Y.toarray()])
    both = ConceptSvm(word_C=model.word_C_).fit(csr_array(both_X), both_Y)
    assert model.transform(SPARSE.held_X).tobytes() == both.transform(SPARSE.held_X).tobytes()


def test_sparse_vectors_with_wide_indices_are_taken():
    wide = csr_array(SPARSE.X.copy())
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    rows = ConceptSvm().fit(wide, SPARSE.Y).transform(wide)
    assert rows.tobytes() == ConceptSvm().fit(SPARSE.X, SPARSE.Y).transform(SPARSE.X).tobytes()


def test_progress_counts_the_words():
    told = []
    ConceptSvm(C=(0.1, 1.0)).fit(
        SPARSE.X,
        SPARSE.Y,
        validation=(SPARSE.other_X, SPARSE.other_Y),
        progress=lambda *said: told.append(said),
    )
    assert told == [("training", i, 10) for i in range(1, 11)]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"C": 0}, "C must be positive"),
        ({"C": float("inf")}, "C must be positive"),
        ({"kernel": "rbf"}, "kernel must be 'linear' or 'precomputed'"),
        ({"fusion": "sum"}, "fusion must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"word_C": (1.0, 2.0)}, "each of the 10 words"),
        ({"word_C": (0.0,) * 10}, "each of the 10 words"),
        ({"kernel": "precomputed"}, "square.*160 × 30"),
    ],
)
def test_parameters_out_of_bounds_are_refused(wrong, why):
    with pytest.raises(BadInput, match=why):
        ConceptSvm(**wrong).fit(DENSE.X, DENSE.Y)


def test_a_precomputed_kernel_cannot_be_learnt_again_with_validation_pictures():
    own, held = DENSE.X @ DENSE.X.T, DENSE.other_X @ DENSE.X.T
    model = ConceptSvm(kernel="precomputed", retrain=True)
    with pytest.raises(BadInput, match="retrain needs the kernel of the validation pictures"):
        model.fit(own, DENSE.Y, validation=(held, DENSE.other_Y))


def test_relevance_cannot_teach():
    told = Relevance(csr_array(np.eye(10)), csr_array(DENSE.Y.toarray().T.astype(float)))
    with pytest.raises(BadInput, match=r"captions \(pictures × words\)"):
        ConceptSvm().fit(DENSE.X, told)
    answers = csr_array(DENSE.other_Y.toarray().T.astype(float))
    judge = Relevance(csr_array(np.eye(10)), answers)
    with pytest.raises(BadInput, match="retrain needs captions"):
        ConceptSvm(retrain=True).fit(DENSE.X, DENSE.Y, validation=(DENSE.other_X, judge))
