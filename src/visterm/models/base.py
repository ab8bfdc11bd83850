"""The contract of all models: scikit-learn's manners, one way into the text space, capabilities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from visterm.estimator import clone
from visterm.evaluation import mean_average_precision
from visterm.kernels import kernel_from_json
from visterm.models.inputs import (
    Vectors,
    caption_words,
    is_sparse,
    picture_vectors,
    relevance_for,
    square_table,
    word_matrix,
)
from visterm.models.rules import Rules, candidates
from visterm.models.selection import (
    Checkpoint,
    Choice,
    HeldOut,
    Task,
    Trial,
    all_choices,
    fit,
    quality,
)
from visterm.models.supervision import (
    Captions,
    Supervision,
    Validation,
    read_captions,
    validation_queries,
)
from visterm.progress import Progress
from visterm.stored import Stored
from visterm.text import Relevance, Vocabulary

_SPREAD_BYTES = 1 << 30
_KEPT_AS = {"max_iter": "n_iter_"}


@dataclass(eq=False, repr=False, kw_only=True)
class Validated:
    """What every model can be told of validation pictures: whether it learns from them, too, and
    the most words of the queries that they answer."""

    retrain: bool = False
    max_words: int | None = 4


class Model(Validated, Stored):
    """A map from picture vectors into the text space: ``F(q, p) = q · f(p)``.

    A model sets ``name``, ``arrays`` (its fitted arrays), ``decides`` and ``_map``, and learns in
    ``_learn`` with one choice of parameters, or in ``_run`` where it can be stopped on the way.
    Choosing, retraining, saving, loading and input checks come from here and `selection`.
    """

    # Capabilities: what others ask instead of a model's name.
    takes: ClassVar[str] = "vectors"
    """What its pictures come as: "vectors" of any kind, visterm "counts", or rows of "blocks"."""
    targets: ClassVar[str] = "words"
    """What its texts come as: counts of "words", or "vectors" of any text space (words too)."""
    captions_only: ClassVar[bool] = False
    """Whether it learns from captions that tell pictures apart, and not from `Relevance`."""
    supports_warm_start: ClassVar[bool] = False
    """Whether ``fit`` takes ``initial``, a model over the same words to start from."""
    learns_from_others: ClassVar[bool] = False
    """Whether it takes ``others``, pictures without captions, and ``meanings`` of words."""
    linear_array: ClassVar[str | None] = None
    """The fitted array that holds W of shape (T, d), where ``f(p) = W p``."""
    iteration: ClassVar[str | None] = None
    """What ``max_iter`` counts, if anything: "triplets", "epochs", "planes" or "passes"."""
    decides: ClassVar[Rules] = {}
    """Parameters that validation pictures can decide; each is then kept under its name and "_",
    the number of iterations as ``n_iter_``."""

    checks: ClassVar[Rules] = {}
    """Rules for parameters that validation pictures do not decide."""
    patience: float = np.inf
    """Trials without a better AvgP after which a run is given up."""

    n_features_in_: int
    idf_: NDArray[np.float64]
    checkpoint: Checkpoint | None = None
    """Where a fit with validation pictures keeps the runs it has finished, and finds them again."""
    interrupted: bool = False
    """Whether the last fit was ended by a keyboard interrupt, with the best learnt until then."""
    extended_: Mapping[str, Any] = {}
    """Parameters, with their values, for which validation pictures chose beyond the grid."""
    validation_: float
    """Best AvgP on validation pictures, NaN without them."""
    vocabulary_: Vocabulary | None = None
    """The words of captions that were given as texts."""
    random_state: Any = 0
    _drawn_seed: int | None = None

    @property
    def seed(self) -> int:
        """``random_state``, or a number that it drew for this fit."""
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        if self._drawn_seed is None:
            self._drawn_seed = int(_generator(self.random_state).integers(2**31))
        return self._drawn_seed

    @property
    def precomputed(self) -> bool:
        """Whether pictures come as rows of a precomputed kernel instead of vectors."""
        return getattr(self, "kernel", None) == "precomputed"

    def linear_weights(self) -> NDArray[np.float32] | None:
        """W of shape (T, d) where ``f(p) = W p``, so that each number of p has its part; or None.

        >>> from visterm.models import Cca, Pamir
        >>> sun, sea = [1.0, 0.0], [0.0, 1.0]
        >>> Pamir(max_iter=10).fit([sun, sea], [[1, 0], [0, 1]]).linear_weights().shape
        (2, 2)
        """
        if self.linear_array is None:
            return None
        self._check_fitted()
        found: NDArray[np.float32] = getattr(self, self.linear_array)
        return found

    def _about(self) -> dict[str, Any]:
        about = {**super()._about(), "linear": self.linear_array}
        return about if self.vocabulary_ is None else about | {"vocabulary": self.vocabulary_}

    @classmethod
    def _restored(cls, about: Mapping[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        model = super()._restored(about, arrays)
        if isinstance(about["parameters"].get("kernel"), Mapping):
            model.set_params(kernel=kernel_from_json(about["parameters"]["kernel"]))
        if "vocabulary" in about:
            model.vocabulary_ = Vocabulary.from_json(about["vocabulary"])
        return model

    def decided(self) -> dict[str, Any]:
        """What validation pictures decided, or what was given, by the names of the parameters.

        >>> from visterm.models import Cmtt
        >>> model = Cmtt(n_components=1).fit([[2.0, 0.0], [0.0, 1.0]], [[1, 0], [0, 1]])
        >>> model.decided()
        {'n_components': 1, 'power': 1.0}
        """
        self._check_fitted()
        return {name: getattr(self, kept_as(name)) for name in self.decides}

    def fit(
        self,
        X: ArrayLike | csr_array,
        Y: Captions,
        *,
        validation: Validation | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from picture vectors and captions: texts, pictures × words, or `Relevance`.

        Of texts, the words become ``vocabulary_``; a plain array of labels counts as one word each.
        With ``validation = (X, Y)`` of other pictures, parameters that are "auto" or several values
        become those with the best AvgP on them, and so does the number of iterations.
        """
        fit(self, X, Y, validation, progress)
        return self

    def fit_transform(
        self, X: ArrayLike | csr_array, Y: Captions, **how: Any
    ) -> NDArray[np.float32]:
        """`fit`, then `transform` of the same pictures."""
        return self.fit(X, Y, **how).transform(X)

    def predict(self, X: ArrayLike | csr_array) -> NDArray[Any]:
        """The word, or the label, that each picture scores highest for; of counts its number.

        >>> from visterm.models import KernelRidge
        >>> pictures = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]]
        >>> KernelRidge().fit(pictures, ["sun", "sun", "sea"]).predict(pictures).tolist()
        ['sun', 'sun', 'sea']
        """
        best = self.transform(X).argmax(axis=1)
        if self.vocabulary_ is None:
            return best
        words = np.array(self.vocabulary_.words)[best]
        return words if self.vocabulary_.language else words.astype(np.int64)

    def score(self, X: ArrayLike | csr_array, Y: Captions) -> float:
        """Mean average precision over the words of Y, or over its queries if it is `Relevance`.

        >>> from visterm.models import KernelRidge
        >>> pictures = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]]
        >>> KernelRidge().fit(pictures, ["sun", "sun", "sea"]).score(pictures, ["sun", "", "sea"])
        1.0
        """
        rows, (Y, _) = self.transform(X), read_captions(Y, self.vocabulary_)
        if isinstance(Y, Relevance):
            return quality(rows, relevance_for(Y, len(rows), words=rows.shape[1]))
        captions = word_matrix(Y, len(rows), words=rows.shape[1])
        return mean_average_precision(np.ascontiguousarray(rows.T), csr_array(captions.T))

    def transform(self, X: ArrayLike | csr_array) -> NDArray[np.float32]:
        """Text-space rows ``f(p)`` of shape (n, T), float32."""
        self._check_fitted()
        rows = self._map(picture_vectors(X, width=self.n_features_in_))
        return np.ascontiguousarray(rows, dtype=np.float32)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import TransformerTags

        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags(preserves_dtype=[])
        tags.target_tags.required, tags.target_tags.multi_output = True, True
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self.takes == "counts"
        tags.input_tags.pairwise = self.precomputed
        return tags

    # What a model may say for itself.

    def left_out(self) -> tuple[NDArray[np.int64], NDArray[np.float32]] | None:
        """Some of the pictures it has just learnt from, by number, and their rows of the text space
        as they would be had each not been learnt from; None where it cannot tell."""
        return None

    def is_spread(self, training: Supervision) -> bool:
        """Whether a single run is spread over a cluster, because it is too large for one worker;
        else runs with different parameters are, one a worker."""
        vectors = training.vectors
        size = vectors.data.nbytes if is_sparse(vectors) else vectors.nbytes
        return bool(size > _SPREAD_BYTES)

    def _map(self, vectors: Vectors) -> NDArray[np.float32]:
        raise NotImplementedError

    def _learn(self, prepared: Any, choice: Choice, progress: Progress) -> dict[str, Any]:
        """The fitted attributes, by name."""
        raise NotImplementedError

    def _check_parameters(self) -> None:
        for name, rule in self.checks.items():
            candidates(name, getattr(self, name), None, rule._replace(several=False))

    def _vectors(self, X: ArrayLike | csr_array, width: int | None = None) -> Vectors:
        vectors = picture_vectors(X, width=width)
        return square_table(vectors) if self.precomputed and width is None else vectors

    def _texts(self, Y: Any, pictures: int, width: int | None = None) -> Vectors:
        if self.captions_only and width is None:
            return caption_words(Y, pictures)
        return word_matrix(Y, pictures, words=width)

    def _supervise(self, vectors: Vectors, Y: Captions, initial: Model | None) -> Supervision:
        return Supervision(vectors, self._texts(Y, vectors.shape[0]))

    def _held_out(self, vectors: Vectors, Y: Captions, training: Supervision) -> HeldOut:
        asked = validation_queries(Y, vectors.shape[0], self.max_words, training.idf)
        return HeldOut(vectors, lambda rows: quality(rows, asked), asked)

    def _choices(self, grid: dict[str, list[Any]]) -> list[Choice]:
        return all_choices(grid)

    def _prepare(self, task: Task) -> Any:
        """What all runs learn from; made once for them."""
        return task.training

    def _run(
        self, task: Task, prepared: Any, choice: Choice, progress: Progress
    ) -> Iterator[Trial]:
        """The model with these parameters, after each part of its iterations or at their end."""
        fitted = self._learn(prepared, choice, progress)
        trial = clone(self)
        trial._keep(fitted, choice, task.training)
        yield Trial(choice, lambda: trial._held_rows(task.held), lambda: lambda: fitted)

    def _held_rows(self, held: HeldOut) -> Any:
        return self.transform(held.vectors)

    def _keep(self, fitted: dict[str, Any], choice: Choice, training: Supervision) -> None:
        self.n_features_in_ = training.vectors.shape[1]
        if "idf_" in self.arrays:
            self.idf_ = training.idf
        chosen = {kept_as(name): value for name, value in choice.items()}
        for name, value in (chosen | fitted).items():
            setattr(self, name, value)

    @classmethod
    def _fact_names(cls) -> tuple[str, ...]:
        decided = (kept_as(name) for name in cls.decides)
        kept = (name for name in decided if name not in cls.arrays)
        return ("n_features_in_", *kept, "validation_", *cls.facts)


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    return np.random.default_rng(random_state)


def kept_as(parameter: str) -> str:
    """The fitted attribute of a parameter that validation pictures decide.

    >>> kept_as("C"), kept_as("max_iter")
    ('C_', 'n_iter_')
    """
    return _KEPT_AS.get(parameter, f"{parameter}_")
