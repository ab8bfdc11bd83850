"""Values to choose from, and the AvgP that decides."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from problems import held_relevance
from scipy.sparse import csr_array

from visterm.errors import BadInput
from visterm.models import MODELS, Bitr, Cca, Pamir
from visterm.models.base import Model
from visterm.models.rules import AUTO, BOUND, GRIDS, POSITIVE, Grid, Rule, Rules, candidates
from visterm.models.selection import Checkpoint, HeldOut, Trial, always, quality
from visterm.text import Relevance


def test_one_value_needs_no_validation_pictures_and_several_do():
    assert candidates("C", 2.0, None, POSITIVE) == [2.0]
    assert candidates("C", (1.0, 2.0), "pictures", POSITIVE) == [1.0, 2.0]
    assert candidates("C", np.array([1.0]), None, POSITIVE) == [1.0]
    with pytest.raises(BadInput, match="choosing C among several needs validation pictures"):
        candidates("C", [1.0, 2.0], None, POSITIVE)


@pytest.mark.parametrize("wrong", [0, -1.0, float("nan"), "much", None, (1.0, -1.0), (), [[1.0]]])
def test_values_out_of_bounds_are_named(wrong):
    with pytest.raises(BadInput, match="C must be positive"):
        candidates("C", wrong, "pictures", POSITIVE)


def test_held_captions_become_queries_and_given_relevance_stays():
    captions = csr_array(np.array([[1, 1, 0], [0, 1, 0]]))
    made = held_relevance(captions, 2, np.ones(3), None)
    assert sorted(made.relevant_per_query.tolist()) == [1, 1, 2]
    assert len(held_relevance(captions, 2, np.ones(3), 1)) == 2
    given = Relevance(csr_array(np.eye(3)), csr_array(np.ones((3, 2))))
    assert held_relevance(given, 2, np.ones(3), None) is given
    with pytest.raises(BadInput, match="knows 4 words"):
        held_relevance(captions, 2, np.ones(4), None)


def test_quality_is_the_mean_average_precision_of_the_products():
    relevance = Relevance(csr_array(np.eye(2)), csr_array(np.array([[1.0, 0.0], [1.0, 0.0]])))
    rows = np.array([[0.9, 0.1], [0.2, 0.8]])  # first for one query, second for the other
    assert quality(rows, relevance) == 0.75


# What "auto" stands for


def toy(n=40):
    rng = np.random.default_rng(3)
    words = (rng.random((n, 4)) < 0.4).astype(float)
    words[np.arange(n), np.arange(n) % 4] = 1
    return np.hstack([words, np.zeros((n, 3))]) + rng.standard_normal((n, 7)), words


def test_what_is_not_given_is_chosen_from_its_grid_and_what_is_given_stays():
    X, Y = toy()
    model = Cca(ridge=0.02).fit(X[:30], Y[:30], validation=(X[30:], Y[30:]))
    assert model.ridge_ == 0.02
    reached = {
        (text_ridge, scaling): Cca(ridge=0.02, text_ridge=text_ridge, scaling=scaling)
        .fit(X[:30], Y[:30], validation=(X[30:], Y[30:]))
        .validation_
        for text_ridge in (*GRIDS["cca"]["text_ridge"].values, model.text_ridge_)
        for scaling in (*GRIDS["cca"]["scaling"].values, model.scaling_)
    }
    assert model.validation_ == max(reached.values()) == reached[model.text_ridge_, model.scaling_]


@pytest.mark.parametrize("best", [3.0, 0.0004, 200.0, 0.5])
def test_a_grid_is_extended_while_its_best_value_lies_on_its_edge(best, monkeypatch, recwarn):
    monkeypatch.setitem(GRIDS, "peaked", {"C": Grid(1.0, (0.1, 0.3, 1.0))})
    validation = (PICTURES, WORDS)
    model = Peaked(best=best).fit(PICTURES, WORDS, validation=validation)
    grid = [value for value in (0.1, 0.3, 1.0) if abs(np.log(value / best)) < 0.8]
    assert abs(np.log(model.C_ / best)) < 0.8, "within one step of the best"
    assert dict(model.extended_) == ({} if grid else {"C": model.C_})
    assert [f"C {model.C_}" in str(said.message) for said in recwarn] == ([] if grid else [True])
    given = Peaked(best=best, C=(0.1, 0.3, 1.0)).fit(PICTURES, WORDS, validation=validation)
    assert given.C_ in (0.1, 0.3, 1.0), "what somebody gave is what there is to choose from"


def test_a_grid_is_not_extended_beyond_its_limit_and_the_warning_says_so(monkeypatch, recwarn):
    monkeypatch.setitem(GRIDS, "peaked", {"C": Grid(1.0, (0.1, 0.3, 1.0), limit=10.0)})
    model = Peaked(best=200.0).fit(PICTURES, WORDS, validation=(PICTURES, WORDS))
    assert model.C_ == 10.0
    assert ["C 10.0 (its limit)" in str(said.message) for said in recwarn] == [True]


class Peaked(Model):
    """Ranks the better, the nearer its C is to ``best`` in ratio."""

    name = "peaked"
    arrays = ("learnt_", "idf_")
    decides: ClassVar[Rules] = {"C": POSITIVE}

    def __init__(self, C=AUTO, best=1.0, retrain=False, max_words=None):
        self.C, self.best, self.retrain, self.max_words = C, best, retrain, max_words

    def _held_out(self, vectors, Y, training):
        return HeldOut(vectors, lambda far: far)

    def _run(self, task, prepared, choice, progress):
        progress("running", 1, 1)
        far = -abs(np.log(choice["C"] / self.best))
        yield Trial({}, always(far), always(always({"learnt_": np.float32([1])})))


def test_without_validation_pictures_auto_is_the_documented_default():
    X, Y = toy()
    plain = {name: grid.default for name, grid in GRIDS["cca"].items()}
    assert {**Cca().fit(X, Y).decided(), **plain} == Cca().fit(X, Y).decided()
    assert GRIDS["bitr"]["C"].default == Bitr().fit(X, Y).C_


@pytest.mark.parametrize("kind", MODELS.values(), ids=lambda kind: kind.name)
def test_every_grid_is_of_parameters_that_are_auto_and_holds_values_that_are_allowed(kind):
    grids = GRIDS.get(kind.name, {})
    assert {name for name, value in kind().get_params().items() if value == AUTO} - {
        "judged_by"
    } == set(grids)
    for name, grid in grids.items():
        assert len(grid.values) > 1 or grid.default == AUTO  # it chooses by itself
        assert candidates(name, (grid.default, *grid.values), "pictures", kind.decides[name])


def test_texts_that_count_words_are_judged_by_words_and_others_by_pairs():
    X, Y = toy()
    validation = (X[30:], Y[30:])
    by_words, by_pairs = (
        Cca(ridge=(0.1, 1.0), judged_by=by).fit(X[:30], Y[:30], validation=validation).validation_
        for by in ("words", "pairs")
    )
    assert by_words != by_pairs
    assert Cca(ridge=(0.1, 1.0)).fit(X[:30], Y[:30], validation=validation).validation_ == by_words
    halves = Cca(ridge=(0.1, 1.0)).fit(X[:30], Y[:30] / 2, validation=(X[30:], Y[30:] / 2))
    assert halves.validation_ == pytest.approx(by_pairs)


# The engine, with a model that is nothing but its parameters


class Counted(Model):
    """Says x of its first word after the best of its iterations if ``sign`` is 1, else −x."""

    name = "counted"
    arrays = ("learnt_", "idf_")
    decides: ClassVar[Rules] = {"sign": Rule(lambda sign: sign in (-1, 1), "±1"), "max_iter": BOUND}

    def __init__(self, sign=1, max_iter=8, best=3, patience=2, retrain=False, max_words=None):
        self.sign, self.max_iter, self.best = sign, max_iter, best
        self.patience, self.retrain, self.max_words = patience, retrain, max_words

    def _run(self, task, prepared, choice, progress):
        for done in range(1, choice["max_iter"] + 1):
            RAN.append((choice["sign"], done, prepared.vectors.shape[0]))
            progress("running", done, choice["max_iter"])
            learnt = np.float32([1 if done == self.best and choice["sign"] == 1 else -1])
            rows = task.held and task.held.vectors * learnt * [1, 0]
            yield Trial({"max_iter": done}, always(rows), always(always({"learnt_": learnt})))


RAN: list[tuple[int, int, int]] = []
PICTURES, WORDS = np.array([[1.0, 1.0], [2.0, 1.0], [3.0, 1.0]]), np.array([[0, 1], [0, 1], [1, 0]])


def test_the_best_iteration_of_the_best_choice_is_kept_and_runs_stop_when_patience_ends():
    RAN.clear()
    seen = []
    model = Counted(sign=(-1, 1)).fit(
        PICTURES,
        WORDS,
        validation=(PICTURES, WORDS[:, :2]),
        progress=lambda what, done, total: seen.append((what, done, total)),
    )
    assert model.decided() == {"sign": 1, "max_iter": 3}
    assert model.learnt_ == 1
    # −1 never gets better than at its first iteration; +1 is best at its third.
    assert [step for step in RAN if step[0] == -1] == [(-1, done, 3) for done in (1, 2, 3)]
    assert [step for step in RAN if step[0] == 1] == [(1, done, 3) for done in (1, 2, 3, 4, 5)]
    assert seen[-1] == ("training", 16, 16)
    assert seen == sorted(seen, key=lambda one: one[1])


def test_retraining_runs_once_more_over_all_pictures_for_as_long_as_was_best():
    RAN.clear()
    model = Counted(sign=(-1, 1), retrain=True)
    model.fit(PICTURES, WORDS, validation=(PICTURES, WORDS))
    assert RAN[-3:] == [(1, 1, 6), (1, 2, 6), (1, 3, 6)]
    assert (model.n_iter_, model.sign_) == (3, 1)


def test_without_validation_pictures_all_iterations_run():
    RAN.clear()
    assert Counted().fit(PICTURES, WORDS).n_iter_ == 8
    assert [done for _, done, _ in RAN] == [*range(1, 9)]


# Interrupts


def interrupting(after: int):
    """A progress that is interrupted, as by Ctrl-C, when it has been told so often."""
    calls = []

    def progress(what: str, done: int, total: int) -> None:
        calls.append(done)
        if len(calls) == after:
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize("retrain", [False, True])
def test_an_interrupt_keeps_the_best_that_was_learnt_until_then(retrain):
    X, Y = toy(80)
    model = Pamir(C=(0.1, 1.0), max_iter=4000, patience=1000, retrain=retrain)
    validation = (X[60:], Y[60:])
    model.fit(X[:60], Y[:60], validation=validation, progress=interrupting(after=30))
    assert (model.interrupted, model.C_) == (True, 0.1)
    whole = Pamir(C=0.1, max_iter=4000, patience=1000)
    avgps: list[float] = []
    for end in range(100, 3000, 100):
        moment = Pamir(C=0.1, max_iter=end).fit(X[:60], Y[:60])
        avgps.append(quality(moment.transform(X[60:]), held_relevance(*validation_of(moment, Y))))
    assert model.validation_ == pytest.approx(max(avgps), abs=1e-6)
    assert not whole.fit(X[:60], Y[:60], validation=validation).interrupted


def validation_of(model, Y):
    return csr_array(Y[60:]), 20, model.idf_, 4


def test_an_interrupt_without_validation_keeps_the_last_and_before_anything_is_learnt_it_ends_all():
    X, Y = toy()
    model = Pamir(max_iter=4000).fit(X, Y, progress=interrupting(after=11))
    assert (model.interrupted, model.n_iter_) == (True, 1000)
    same = Pamir(max_iter=1100).fit(X, Y)  # the part under way was learnt, and not yet counted
    assert model.weights_.tobytes() == same.weights_.tobytes()
    with pytest.raises(KeyboardInterrupt):
        Pamir(max_iter=4000).fit(X, Y, progress=interrupting(after=1))


def test_a_fit_that_was_killed_goes_on_after_the_runs_it_had_finished(tmp_path):
    X, Y = toy(80)

    def begun():
        model = Pamir(C=(0.1, 1.0, 0.3), max_iter=400, patience=1000)
        model.checkpoint = Checkpoint(tmp_path / "kept", "these captions")
        return model

    def killed(what, done, total):
        reports.append(done)
        if done > 500:  # in the second run
            raise RuntimeError("killed")

    reports: list[int] = []
    data, validation = (X[:60], Y[:60]), (X[60:], Y[60:])
    with pytest.raises(RuntimeError, match="killed"):
        begun().fit(*data, validation=validation, progress=killed)
    reports.clear()
    again = begun().fit(
        *data, validation=validation, progress=lambda what, done, total: reports.append(done)
    )
    assert min(reports) > 400, "the first run is not run again"
    never = Pamir(C=(0.1, 1.0, 0.3), max_iter=400, patience=1000).fit(*data, validation=validation)
    assert again.decided() == never.decided()
    assert again.weights_.tobytes() == never.weights_.tobytes()
    assert again.validation_ == never.validation_
