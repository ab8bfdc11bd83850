"""Choosing hyper-parameters and the number of iterations by AvgP on validation pictures.

One engine for all models (`fit`). A model offers values for the parameters it `decides`, and runs
its training with one of each (`_run`), as a series of `Trial`s if it can be stopped on the way.
The trial that ranks the validation pictures best is kept, or, with ``retrain``, learnt again from
training and validation pictures together. On a cluster, trials run side by side.

What is not given is chosen from a small grid of its own, so that models that are set up
without a word, and fitted with validation pictures, can be compared fairly (`GRIDS`). While the
best value of such a grid of numbers lies on its edge, the grid is extended, up to its limit if it
has one; ``extended_`` says so.

A `Checkpoint` keeps finished runs in a file, for a fit that was killed on the way.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias, TypeVar
from uuid import uuid4
from warnings import warn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from visterm.compute import cluster, map_items
from visterm.errors import BadInput
from visterm.evaluation import mean_average_precision
from visterm.files import write_whole
from visterm.models.inputs import Vectors, stack
from visterm.models.rules import AUTO, GRIDS, candidates
from visterm.models.supervision import Captions, Supervision, Validation, read_captions
from visterm.progress import Progress, silent
from visterm.text import Relevance

if TYPE_CHECKING:
    from visterm.models.base import Model

Run = tuple[float, dict[str, Any]]
"""AvgP of a run at its best moment, and the parameters there."""


class Checkpoint:
    """The runs that a search has finished, in their order, and what the best of them learnt.

    ``key`` tells what is learnt from what: a file of another key, or a damaged one, counts as none.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "checkpoint.npz"
    >>> Checkpoint(path, "a").add(0.5, {"C": 0.1}, {"weights_": np.eye(2)})
    >>> Checkpoint(path, "a").runs, Checkpoint(path, "b").runs
    ([(0.5, {'C': 0.1})], [])
    """

    def __init__(self, path: Path, key: str) -> None:
        self.path, self.key = path, key
        self.runs: list[Run] = []
        self.fitted: dict[str, NDArray[Any]] = {}
        try:
            with np.load(path, allow_pickle=False) as kept:
                about = json.loads(str(kept["about"]))
                if about["key"] == key:
                    self.fitted = {name: kept[name] for name in kept.files if name != "about"}
                    self.runs = [(avgp, choice) for avgp, choice in about["runs"]]
        except Exception:  # whatever is wrong with an archive: zipfile and NumPy have many names
            self.runs, self.fitted = [], {}

    def add(self, avgp: float, choice: Mapping[str, Any], fitted: Mapping[str, Any]) -> None:
        """Keep a run; not that of a model that learns other things than arrays."""
        if not all(isinstance(value, np.ndarray) for value in fitted.values()):
            return
        if avgp > max((best for best, _ in self.runs), default=-1.0):
            self.fitted = dict(fitted)
        self.runs.append((avgp, dict(choice)))
        about = json.dumps({"key": self.key, "runs": self.runs}, default=np.ndarray.tolist)
        file = io.BytesIO()
        arrays: dict[str, Any] = {"about": np.array(about), **self.fitted}
        np.savez(file, **arrays)
        write_whole(self.path, file.getvalue())

    def remove(self) -> None:
        """Forget everything, once it is needed no more."""
        self.path.unlink(missing_ok=True)


MOST_VALUES = 9
"""Values of a parameter up to which its grid is extended."""
_T = TypeVar("_T")
Choice: TypeAlias = "dict[str, Any]"
"""A value for each parameter that validation pictures can decide."""


def grid_of(model: Model, validation: object | None) -> dict[str, list[Any]]:
    """The checked values of each parameter that validation pictures can decide."""
    found = {}
    for name, rule in model.decides.items():
        given = getattr(model, name)
        if isinstance(given, str) and given == AUTO:
            grid = GRIDS[model.name][name]
            given = grid.default if validation is None else grid.values
        found[name] = candidates(name, given, validation, rule)
    return found


@dataclass(frozen=True)
class HeldOut:
    """Validation pictures, and how well the rows that a model maps them to rank them.

    They are ranked for queries (``relevance``), or for their own ``texts``.
    """

    vectors: Vectors
    avgp: Callable[[Any], float]
    relevance: Relevance | None = None
    texts: Vectors | None = None


class Task(NamedTuple):
    """What runs of a model learn from, and the values that held-out pictures choose among."""

    training: Supervision
    held: HeldOut | None
    grid: dict[str, list[Any]]
    initial: Model | None
    progress: Progress


class Trial(NamedTuple):
    """A model as it stands with some parameters after some of its iterations.

    ``rows`` maps the validation pictures. ``keep`` takes a copy of what is learnt, cheap enough to
    be taken whenever it is the best so far, and makes fitted attributes of it when called again.
    """

    choice: Choice
    rows: Callable[[], Any]
    keep: Callable[[], Callable[[], dict[str, Any]]]


class Found(NamedTuple):
    """The best trial."""

    avgp: float
    choice: Choice
    fitted: Callable[[], dict[str, Any]]
    stopped: bool = False
    """Whether somebody interrupted the run, so that a later moment might be better."""


def fit(
    model: Model,
    X: ArrayLike | csr_array,
    Y: Captions,
    validation: Validation | None,
    progress: Progress | None,
    initial: Model | None = None,
) -> None:
    """Check, choose, learn and keep what was learnt; whatever fails leaves the model as it was.

    A keyboard interrupt ends the learning with the best that was learnt so far, if anything was.
    """
    report = progress or silent
    model._check_parameters()
    model._drawn_seed = None
    grid = grid_of(model, validation)
    Y, vocabulary = read_captions(Y, None if initial is None else initial.vocabulary_)
    if validation is not None:
        validation = validation[0], read_captions(validation[1], vocabulary)[0]
    training = model._supervise(model._vectors(X), Y, initial)
    avgp = float("nan")
    if validation is not None:
        vectors = model._vectors(validation[0], width=training.vectors.shape[1])
        held = model._held_out(vectors, validation[1], training)
        task = Task(training, held, grid, initial, report)
        if model.retrain:
            training = _joined(model, training, vectors, validation[1], initial)
        found = _search(model, task)
        avgp, choice = found.avgp, found.choice
        grid = {name: [value] for name, value in choice.items()}
        again, stopped = model.retrain and not found.stopped, found.stopped
        fitted = {} if again else found.fitted()
        del found, task  # such as a Gram matrix, before another one is made
    if validation is None or again:
        what = "training" if validation is None else "retraining"
        found = _train(model, Task(training, None, grid, initial, report), what)
        choice, fitted, stopped = found.choice, found.fitted(), found.stopped
    model._keep(fitted, choice, training)
    model.extended_ = _beyond_grids(model, choice) if validation is not None else {}
    if model.extended_:
        grids = GRIDS[model.name]
        said = ", ".join(
            f"{name} {value}" + (" (its limit)" if value >= grids[name].limit else "")
            for name, value in model.extended_.items()
        )
        warn(f"{model.name}: chosen beyond its grid, which was extended: {said}", stacklevel=3)
    model.validation_, model.interrupted, model.vocabulary_ = avgp, stopped, vocabulary


def _search(model: Model, task: Task) -> Found:
    """The parameters and the moment with the best AvgP on the held-out pictures."""
    choices = model._choices(task.grid)
    if len(choices) > 1 and cluster() is not None and not model.is_spread(task.training):
        return _side_by_side(model, task._replace(progress=silent), choices)
    return _one_after_another(model, task, choices)


def _side_by_side(model: Model, task: Task, choices: Sequence[Choice]) -> Found:
    """The best of all runs, each in a worker of a cluster."""
    trial = _SideBySide(model, task)
    trials = list(map_items(trial, choices))
    while (wider := wider_choice(model, [(one.avgp, one.choice) for one in trials])) is not None:
        trials += map_items(trial, [wider])
    return max(trials, key=lambda found: found.avgp)  # of equals, the first


def _one_after_another(model: Model, task: Task, choices: Sequence[Choice]) -> Found:
    """The best of all runs, or of those until an interrupt."""
    prepared, best = model._prepare(task), None
    bar = Bar(task.progress, "training", len(choices))
    kept = model.checkpoint
    runs = [] if kept is None else list(kept.runs)
    if kept is not None and runs:
        avgp, choice = max(runs, key=lambda run: run[0])
        best = Found(avgp, choice, always(dict(kept.fitted)))
    try:
        while (number := len(runs)) < len(choices) or wider_choice(model, runs):
            choice = choices[number] if number < len(choices) else wider_choice(model, runs) or {}
            found = _best_moment(model, task, prepared, choice, bar.part(number))
            if best is None or found.avgp > best.avgp:
                best = found._replace(stopped=False)
            if found.stopped:
                return best._replace(stopped=True)
            if kept is not None:
                kept.add(found.avgp, found.choice, found.fitted())
            runs.append((found.avgp, found.choice))
            bar.finish(number)
    except KeyboardInterrupt:
        if best is None:
            raise
        return best._replace(stopped=True)
    assert best is not None, "there is always a choice"
    return best


def wider_choice(model: Model, runs: Sequence[tuple[float, Choice]]) -> Choice | None:
    """The best choice so far with one step beyond the edge of a grid that it lies on; None where it
    lies on none.

    Only grids of "auto" are extended, in the ratio of their last two values; what somebody gave is
    what they want to choose from.
    """
    best = max(runs, key=lambda run: run[0])[1]
    for name, rule in model.decides.items():
        if not _is_open(model, name):
            continue
        values = (choice[name] for _, choice in runs)
        tried = sorted({value for value in values if type(value) in (int, float)})
        if len(tried) < 2:
            continue
        for edge, inner in zip((tried[-1], tried[0]), (tried[-2], tried[1]), strict=True):
            wider = _rounded(edge * edge / inner, type(edge)) if inner else edge
            wider = min(wider, GRIDS[model.name][name].limit)
            is_new = not tried[0] <= wider <= tried[-1] and rule.allowed(wider)
            if best[name] == edge and is_new and len(tried) < MOST_VALUES:
                return best | {name: wider}
    return None


def _beyond_grids(model: Model, choice: Choice) -> dict[str, Any]:
    """What was chosen that the grids of "auto" do not hold."""
    found = {name: value for name, value in choice.items() if name in model.decides}
    return {
        name: value
        for name, value in found.items()
        if _is_open(model, name) and value not in GRIDS[model.name][name].values
    }


def _is_open(model: Model, name: str) -> bool:
    """Whether a parameter has a grid of numbers that may be extended."""
    given = getattr(model, name)
    values = GRIDS[model.name][name].values if isinstance(given, str) and given == AUTO else ()
    return len(values) > 1 and all(type(value) in (int, float) for value in values)


def _rounded(value: float, kind: type = float) -> Any:
    """To one digit, as grids are written; counts stay counts.

    >>> _rounded(1 / 0.3), _rounded(0.1 / 3), _rounded(1600.0, int)
    (3.0, 0.03, 2000)
    """
    return kind(float(f"{value:.1g}"))


def _best_moment(
    model: Model, task: Task, prepared: Any, choice: Choice, progress: Progress
) -> Found:
    """The moment of a run with the best AvgP on the held-out pictures."""
    assert task.held is not None
    best, since = None, 0
    try:
        for trial in model._run(task, prepared, choice, progress):
            avgp = task.held.avgp(trial.rows())
            since += 1
            if best is None or avgp > best.avgp:
                best, since = Found(avgp, choice | trial.choice, trial.keep()), 0
            if since >= model.patience:
                break
    except KeyboardInterrupt:
        if best is None:
            raise
        return best._replace(stopped=True)
    assert best is not None, "every run has a trial"
    return best


class _SideBySide:
    """A trial in a worker of a cluster, which prepares once for all trials that it gets."""

    prepared: ClassVar[tuple[str, Any]] = ("", None)

    def __init__(self, model: Model, task: Task) -> None:
        self.model, self.task, self.number = model, task, uuid4().hex

    def __call__(self, choice: Choice) -> Found:
        kind = type(self)
        if kind.prepared[0] != self.number:
            kind.prepared = ("", None)  # such as a Gram matrix, before another one is made
            kind.prepared = (self.number, self.model._prepare(self.task))
        found = _best_moment(self.model, self.task, kind.prepared[1], choice, silent)
        return found._replace(fitted=always(found.fitted()))


def _train(model: Model, task: Task, what: str) -> Found:
    """What a run with the only choice of the grid has learnt in the end."""
    prepared, choice = model._prepare(task), model._choices(task.grid)[0]
    bar, last, stopped = Bar(task.progress, what, 1), None, False
    try:
        for trial in model._run(task, prepared, choice, bar.part(0)):
            last = trial
    except KeyboardInterrupt:
        if last is None:
            raise
        stopped = True
    assert last is not None, "every run has a trial"
    fitted = always(last.keep()())
    bar.finish(0)
    return Found(float("nan"), choice | last.choice, fitted, stopped)


def _joined(
    model: Model, training: Supervision, vectors: Vectors, Y: Captions, initial: Model | None
) -> Supervision:
    if model.precomputed:
        raise BadInput(
            "retrain needs the kernel of the validation pictures with each other, which a "
            "precomputed table does not hold; give a kernel and vectors, or fit again"
        )
    if training.texts is None or isinstance(Y, Relevance):
        raise BadInput(
            "retrain needs captions of training and validation pictures, not Relevance: who is "
            "relevant across sets is not known"
        )
    texts = stack(training.texts, model._texts(Y, vectors.shape[0], training.texts.shape[1]))
    return model._supervise(stack(training.vectors, vectors), texts, initial)


def all_choices(grid: Mapping[str, Sequence[Any]]) -> list[Choice]:
    """Every combination, the last parameter changing fastest.

    >>> all_choices({"C": (1, 2), "warp": (True,)})
    [{'C': 1, 'warp': True}, {'C': 2, 'warp': True}]
    """
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


class Bar:
    """One progress bar for several runs of equal length, in whatever unit they count.

    >>> bar = Bar(print, "training", runs=2)
    >>> bar.part(1)("passes", 3, 10)
    training 13 20
    >>> bar.finish(1)
    training 20 20
    """

    def __init__(self, progress: Progress, what: str, runs: int) -> None:
        self._progress, self._what, self._runs = progress, what, runs
        self._length, self._done = 1, 0

    def part(self, number: int) -> Progress:
        """What one of the runs reports to."""

        def report(what: str, done: int, total: int) -> None:
            self._length, self._done = total, number * total + done
            self._runs = max(self._runs, number + 1)  # a grid may be extended
            self._progress(self._what, self._done, self._runs * total)

        return report

    def finish(self, number: int) -> None:
        """A run is over, wherever it was stopped."""
        if self._done < (number + 1) * self._length:
            self.part(number)(self._what, self._length, self._length)


def quality(rows: NDArray[np.floating], relevance: Relevance) -> float:
    """AvgP of text-space rows over the queries that some picture answers.

    >>> quality(np.eye(2), Relevance(csr_array(np.eye(2)), csr_array(np.eye(2))))
    1.0
    """
    scores = relevance.queries @ np.asarray(rows, dtype=np.float32).T
    return mean_average_precision(scores, relevance.pictures)


def always(value: _T) -> Callable[[], _T]:
    """What gives a value whenever it is called.

    >>> always(7)()
    7
    """
    return lambda: value
