"""PLSA, constrained to the text: aspects learnt from captions, then recognised by visterms.

``P(t|p) = Σ_z P(z|p) P(t|z)`` and ``P(v|p) = Σ_z P(z|p) P(v|z)``. EM on the captions gives P(z|p)
and P(t|z); EM on the visterms, with P(z|p) held, gives P(v|z); EM on the visterms of a new picture,
with P(v|z) held, gives its P(z|p).

F. Monay and D. Gatica-Perez, PLSA-based image auto-annotation: constraining the latent space, ACM
Multimedia 2004; T. Hofmann, Machine Learning 42, 2001; as measured by D. Grangier and S. Bengio,
IEEE TPAMI 30(8), 2008.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.errors import BadInput
from visterm.models.annotation import Annotated, Annotator, Choice, as_text
from visterm.models.base import Validation
from visterm.models.selection import candidates, quality
from visterm.progress import Progress
from visterm.text import Relevance

if TYPE_CHECKING:
    from visterm.models._plsa_kernels import Counts, Factors

_WATCHED = frozenset((1, 2, 3, 4, 6, 8, 11, 15, 20, 30, 40, 60, 80, 120, 160))
"""EM steps after which validation pictures are looked at: the first ones change the most."""


class Plsa(Annotator):
    """Probabilistic latent semantic analysis, constrained to the text.

    Parameters
    ----------
    n_components : int or sequence of int
        How many aspects z.
    text_steps : int or sequence of int
        EM steps on the captions.
    visterm_steps, folding_steps : int
        EM steps on the visterms of the training pictures, and on those of each new picture. With
        validation pictures, at most so many, and the best moment of both counts.
    power : float or sequence of float
        Visterms count as their number raised to this, above 0 and up to 1. The papers count them
        plainly; less than 1 keeps large plain areas from speaking for the whole picture.
    retrain : bool
        Learn again from training and validation pictures, with what was chosen.
    max_words : int, optional
        Largest query made from the captions of validation pictures; None makes them all.
    n_jobs : int, optional
        Threads; None uses all cores. The result is the same for any number.
    random_state : int
        Seed of P(z|p) and P(t|z) before the first step.

    Attributes
    ----------
    words_ : array of shape (T, K)
        ``P(t|z)``, each column a distribution.
    visterms_ : array of shape (V, K)
        ``P(v|z)``, likewise.
    prior_ : array of shape (K,)
        ``P(z)`` over the training pictures: where a new picture starts.
    text_likelihood_, visterm_likelihood_ : arrays
        Log-likelihood of captions and of visterms before each EM step.
    idf_ : array of shape (T,)
    n_components_, text_steps_, visterm_steps_, folding_steps_, power_ : what was chosen.
    validation_ : float
        Best AvgP on validation pictures, NaN without them.

    Notes
    -----
    Only the first EM has more than one optimum and needs a seed. With one factor held, the
    likelihood is concave in the other, so the other two start flat: all visterms alike, and each
    new picture at P(z). Pictures without a caption have no P(z|p), and teach nothing.

    Examples
    --------
    >>> pictures = np.array([[3, 0], [2, 1], [0, 4], [1, 3]])
    >>> captions = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])  # sun, sun, sea, sea
    >>> model = Plsa(n_components=2).fit(pictures, captions)
    >>> model.word_probabilities([[2, 0]]).argmax(axis=1)
    array([0])
    """

    name = "plsa"
    arrays = ("words_", "visterms_", "prior_", "text_likelihood_", "visterm_likelihood_", "idf_")
    facts = (
        "n_features_in_",
        "n_components_",
        "text_steps_",
        "visterm_steps_",
        "folding_steps_",
        "power_",
        "validation_",
    )
    decides = ("n_components", "text_steps", "visterm_steps", "folding_steps", "power")

    words_: NDArray[np.float64]
    visterms_: NDArray[np.float64]
    prior_: NDArray[np.float64]
    text_likelihood_: NDArray[np.float64]
    visterm_likelihood_: NDArray[np.float64]
    n_components_: int
    text_steps_: int
    visterm_steps_: int
    folding_steps_: int

    def __init__(
        self,
        n_components: int | Sequence[int] = 200,
        text_steps: int | Sequence[int] = 40,
        visterm_steps: int = 20,
        folding_steps: int = 20,
        power: float | Sequence[float] = 1.0,
        retrain: bool = False,
        max_words: int | None = 4,
        n_jobs: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.n_components = n_components
        self.text_steps = text_steps
        self.visterm_steps = visterm_steps
        self.folding_steps = folding_steps
        self.power = power
        self.retrain = retrain
        self.max_words = max_words
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _offered(self, validation: Validation | None) -> dict[str, list[Any]]:
        rule = "a whole number, 1 or more"
        for name in ("visterm_steps", "folding_steps"):
            candidates(name, (getattr(self, name),), validation, _whole, rule)
        if self.n_jobs is not None and not _whole(self.n_jobs):
            raise BadInput(f"n_jobs must be {rule}, or None for all cores, not {self.n_jobs!r}")
        if not isinstance(self.random_state, int | np.integer) or self.random_state < 0:
            raise BadInput(f"random_state must be a whole number ≥ 0, not {self.random_state}")
        return {
            "n_components": candidates("n_components", self.n_components, validation, _whole, rule),
            "text_steps": candidates("text_steps", self.text_steps, validation, _whole, rule),
            "visterm_steps": [int(self.visterm_steps)],
            "folding_steps": [int(self.folding_steps)],
        }

    def _choose(
        self,
        told: Annotated,
        held: csr_array,
        relevance: Relevance,
        offered: dict[str, list[Any]],
        progress: Progress,
    ) -> tuple[float, Choice, dict[str, Any]]:
        from visterm.models._plsa_kernels import Counts

        new = Counts(held)
        total = len(offered["n_components"]) * len(offered["text_steps"]) * self.visterm_steps
        best, choice, learnt = -1.0, {}, {}
        with self._threads() as threads:
            moments = self._moments(told, offered, threads)
            for done, moment in enumerate(moments, start=1):
                step = moment.choice["visterm_steps"]
                if step in _WATCHED or step == self.visterm_steps:
                    reached, folding = self._best_folding(moment, new, told, relevance, threads)
                    if reached > best:
                        best, learnt = reached, moment.fitted()
                        choice = moment.choice | {"folding_steps": folding}
                progress("choosing", done, total)
        return best, choice, learnt

    def _learn(self, told: Annotated, choice: Choice, progress: Progress) -> dict[str, Any]:
        offered = {name: [value] for name, value in choice.items()}
        with self._threads() as threads:
            for moment in self._moments(told, offered, threads):
                progress("training", moment.choice["visterm_steps"], choice["visterm_steps"])
        return moment.fitted()

    def _moments(
        self, told: Annotated, offered: dict[str, list[Any]], threads: Executor
    ) -> Iterator[_Moment]:
        """The model after each EM step on the visterms, for each choice of aspects and captions."""
        # numba loads here, not when somebody only asks for the model's parameters.
        from visterm.models._plsa_kernels import Counts, walk_text, walk_visterms

        by_visterm = Counts(csr_array(told.counts.T.tocsr()))
        for aspects in offered["n_components"]:
            text_likelihood: list[float] = []
            texts = walk_text(told.captions, int(aspects), int(self.random_state), threads)
            for text_step, (pictures, words, likelihood) in enumerate(texts, start=1):
                text_likelihood.append(likelihood)
                if text_step not in offered["text_steps"]:
                    continue
                chosen = {"n_components": aspects, "text_steps": text_step}
                visterm_likelihood: list[float] = []
                walk = walk_visterms(by_visterm, pictures, threads)
                for visterms, likelihood in islice(walk, offered["visterm_steps"][0]):
                    visterm_likelihood.append(likelihood)
                    yield _Moment(
                        chosen | {"visterm_steps": len(visterm_likelihood)},
                        words,
                        visterms,
                        pictures.sum(axis=0) / pictures.sum(),
                        np.array(text_likelihood),
                        np.array(visterm_likelihood),
                    )
                if text_step == max(offered["text_steps"]):
                    break

    def _best_folding(
        self,
        moment: _Moment,
        new: Counts,
        told: Annotated,
        relevance: Relevance,
        threads: Executor,
    ) -> tuple[float, int]:
        """The best AvgP of the validation pictures while they fold in, and after which step."""
        from visterm.models._plsa_kernels import walk_folding

        best = (-1.0, 0)
        walk = walk_folding(new, moment.visterms, moment.prior, threads)
        for step, (pictures, _) in enumerate(islice(walk, self.folding_steps), start=1):
            if step in _WATCHED or step == self.folding_steps:
                reached = quality(as_text(pictures @ moment.words.T, told.idf), relevance)
                best = max(best, (reached, -step))
        return best[0], -best[1]

    def _probabilities(self, counts: csr_array) -> NDArray[np.float64]:
        from visterm.models._plsa_kernels import Counts, walk_folding

        with self._threads() as threads:
            walk = walk_folding(Counts(counts), self.visterms_, self.prior_, threads)
            *_, (pictures, _likelihood) = islice(walk, self.folding_steps_)
        return np.asarray(pictures @ self.words_.T)

    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.n_jobs or os.cpu_count() or 1)


@dataclass(frozen=True)
class _Moment:
    """The model as it stands after some steps."""

    choice: Choice
    words: Factors
    visterms: Factors
    prior: NDArray[np.float64]
    text_likelihood: NDArray[np.float64]
    visterm_likelihood: NDArray[np.float64]

    def fitted(self) -> dict[str, Any]:
        return {
            "words_": self.words,
            "visterms_": self.visterms,
            "prior_": self.prior,
            "text_likelihood_": self.text_likelihood,
            "visterm_likelihood_": self.visterm_likelihood,
        }


def _whole(number: Any) -> bool:
    return bool(number >= 1 and number == int(number))
