"""What `visterm tune` searches: features, kernels, objectives and C, each written in a line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, NamedTuple

from visterm.errors import BadInput
from visterm.experiments.runner.picture_features import check_features
from visterm.features.notation import parse_named
from visterm.kernels import KERNELS, Kernel
from visterm.models import KernelPamir, Pamir

LINEAR = "linear"

OBJECTIVES: Mapping[str, Mapping[str, Any]] = {
    "plain": {},
    "averaged": {"averaged": True},
    "hardest": {"negatives": 5},
    "warp": {"negatives": 20, "warp": True},
}
"""What PAMIR makes small, by name; parameters in brackets change or add to these."""

_OBJECTIVE_PARAMETERS = ("averaged", "least_margin", "margin", "negatives", "warp")


class TrialSettings(NamedTuple):
    """One setting of everything that is searched."""

    features: str
    kernel: str
    objective: str
    C: float


@dataclass(frozen=True)
class SearchSpace:
    """All settings to try, and how long and often PAMIR learns for each.

    Attributes
    ----------
    features : tuple of str
        As ``visterm evaluate --features`` takes them.
    kernels : tuple of str
        "linear" is PAMIR itself; others are kernel PAMIR, such as "rbf(gamma=2)".
    objectives : tuple of str
        Names of `OBJECTIVES`, with parameters in brackets: "warp(negatives=10, averaged=True)".
    C : tuple of float
    max_iter : int
        Most triplets of a fit; the best moment on validation pictures counts.
    repeats : int
        Fits of a trial with seeds of their own, whose AvgP is averaged.

    Examples
    --------
    >>> space = SearchSpace(("cnn", "blocks"), ("linear",), ("plain", "averaged"), (0.1,))
    >>> len(space.trials())
    4
    >>> space.trials()[0]
    TrialSettings(features='cnn', kernel='linear', objective='plain', C=0.1)
    """

    features: tuple[str, ...] = ("cnn", "blocks", "cnn+blocks")
    kernels: tuple[str, ...] = (LINEAR, "rbf(gamma=2)")
    objectives: tuple[str, ...] = tuple(OBJECTIVES)
    C: tuple[float, ...] = (0.1, 0.3, 1.0)
    max_iter: int = 3_000_000
    repeats: int = 1

    def trials(self) -> list[TrialSettings]:
        """Every combination, the last setting changing fastest."""
        return [TrialSettings(*settings) for settings in product(*self.choices().values())]

    def choices(self) -> dict[str, tuple[Any, ...]]:
        """What there is to choose from, by the names of a trial's settings."""
        return dict(
            zip(
                TrialSettings._fields,
                (self.features, self.kernels, self.objectives, self.C),
                strict=True,
            )
        )

    def check(self) -> None:
        """Refuse what does not exist before anything is computed."""
        for name, given in self.to_json().items():
            if isinstance(given, list) and (not given or len(set(given)) < len(given)):
                raise BadInput(f"{name} must be named, each once; these are {given}")
        for least, name in ((1, "max_iter"), (1, "repeats")):
            if getattr(self, name) < least:
                raise BadInput(f"{name} must be at least {least}, not {getattr(self, name)}")
        for features in self.features:
            check_features(features)
        for kernel in self.kernels:
            make_kernel(kernel)
        for objective in self.objectives:
            objective_parameters(objective)
        for c in self.C:
            if not c > 0:
                raise BadInput(f"C must be positive, not {c}")

    def learner(
        self, trial: TrialSettings, *, max_words: int | None, seed: int
    ) -> Pamir | KernelPamir:
        """The model of a trial, ready to fit with validation pictures."""
        shared = {
            "C": trial.C,
            "max_iter": self.max_iter,
            "max_words": max_words,
            "random_state": seed,
            **objective_parameters(trial.objective),
        }
        kernel = make_kernel(trial.kernel)
        return Pamir(**shared) if kernel is None else KernelPamir(kernel=kernel, **shared)

    def to_json(self) -> dict[str, Any]:
        """Plain values, by which one space differs from another."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}


def make_kernel(text: str) -> Kernel | None:
    """The kernel of a line; None is linear, which PAMIR needs no kernel for.

    >>> make_kernel("chi2(gamma=0.5)")
    ChiSquare(gamma=0.5, relative=True)
    """
    name, parameters = parse_named(text)
    if name == LINEAR and not parameters:
        return None
    if name not in KERNELS:
        raise BadInput(f"no kernel called {name!r}; there are {', '.join(KERNELS)}")
    try:
        return KERNELS[name](**parameters)
    except TypeError:
        given = ", ".join(parameters) or "nothing"
        raise BadInput(f"the kernel {name!r} cannot be made of {given}") from None


def objective_parameters(text: str) -> dict[str, Any]:
    """What an objective says of PAMIR's parameters.

    >>> objective_parameters("warp(negatives=10)")
    {'negatives': 10, 'warp': True}
    """
    name, parameters = parse_named(text)
    if name not in OBJECTIVES:
        raise BadInput(f"no objective called {name!r}; there are {', '.join(OBJECTIVES)}")
    for parameter in parameters:
        if parameter not in _OBJECTIVE_PARAMETERS:
            known = ", ".join(_OBJECTIVE_PARAMETERS)
            raise BadInput(f"an objective has no parameter {parameter!r}; it has {known}")
    return {**OBJECTIVES[name], **parameters}
