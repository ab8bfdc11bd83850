"""scikit-learn's manners, without loading it: half of the time that a command takes to begin."""

from __future__ import annotations

import inspect
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Self

from visterm.errors import BadInput


class Estimator:
    """What has parameters: those of its constructor, which stores them under their names."""

    if TYPE_CHECKING:  # what is learnt is set by fit, under names that end in "_"

        def __getattr__(self, name: str) -> Any: ...

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        given = inspect.signature(cls).parameters
        return {name: given[name].default for name in sorted(given)}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; none is an estimator of its own, so ``deep`` changes nothing."""
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name."""
        known = self._defaults()
        for name, value in params.items():
            if name not in known:
                raise BadInput(
                    f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known)}"
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        """The parameters that are not the defaults."""
        defaults = self._defaults()
        given = {name: repr(value) for name, value in self.get_params().items()}
        changed = [f"{name}={one}" for name, one in given.items() if one != repr(defaults[name])]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.base import BaseEstimator

        return BaseEstimator().__sklearn_tags__()


def clone(thing: Any) -> Any:
    """An estimator of the same parameters that has learnt nothing; of a sequence, one of each."""
    if isinstance(thing, list | tuple):
        return type(thing)(map(clone, thing))
    if isinstance(thing, Estimator):
        return type(thing)(**{name: clone(one) for name, one in thing.get_params().items()})
    return deepcopy(thing)
