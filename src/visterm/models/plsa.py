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
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.models import rules
from visterm.models.annotation import Annotator, as_text, damped
from visterm.models.rules import AUTO, Rules, Tuned
from visterm.models.selection import Choice, Task, Trial, always
from visterm.progress import Progress

if TYPE_CHECKING:
    from visterm.models._plsa_kernels import Factors

_WATCHED = frozenset((1, 2, 3, 4, 6, 8, 11, 15, 20, 30, 40, 60, 80, 120, 160))
"""EM steps after which validation pictures are looked at: the first ones change the most."""


@dataclass(eq=False, repr=False, kw_only=True)
class Plsa(Annotator):
    """Probabilistic latent semantic analysis, constrained to the text.

    Parameters
    ----------
    n_components : int, sequence of int or "auto"
        How many aspects z.
    text_steps : int, sequence of int or "auto"
        EM steps on the captions.
    visterm_steps, folding_steps : int
        EM steps on the visterms of the training pictures, and on those of each new picture. With
        validation pictures, at most so many, and the best moment of both counts.
    power : float, sequence of float or "auto"
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
    new picture at P(z). Pictures without a caption have no P(z|p), and count for nothing.

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
    decides: ClassVar[Rules] = {
        "n_components": rules.WHOLE,
        "text_steps": rules.WHOLE,
        "power": rules.SHARE,
        "visterm_steps": rules.BOUND,
        "folding_steps": rules.BOUND,
    }
    checks: ClassVar[Rules] = {"n_jobs": rules.THREADS, "random_state": rules.SEED}

    n_components: Tuned[int] = AUTO
    text_steps: Tuned[int] = AUTO
    visterm_steps: int = 20
    folding_steps: int = 20
    power: Tuned[float] = AUTO
    n_jobs: int | None = None
    random_state: int = 0

    def _prepare(self, task: Task) -> _Aspects:
        return _Aspects(task.training.captions, self.seed, self._threads())

    def _run(
        self, task: Task, prepared: _Aspects, choice: Choice, progress: Progress
    ) -> Iterator[Trial]:
        """The model after each EM step on the visterms, and on those of held-out pictures."""
        # numba loads here, not when somebody only asks for the model's parameters.
        from visterm.models._plsa_kernels import Counts, walk_folding, walk_visterms

        counts = damped(csr_array(task.training.vectors), choice["power"])
        by_visterm, steps = Counts(csr_array(counts.T.tocsr())), int(choice["visterm_steps"])
        prepared.walk_to(int(choice["n_components"]), int(choice["text_steps"]))
        likelihoods: list[float] = []
        walk = walk_visterms(by_visterm, prepared.pictures, prepared.threads)
        for done, (visterms, likelihood) in enumerate(islice(walk, steps), start=1):
            likelihoods.append(likelihood)
            fitted = prepared.fitted() | {
                "visterms_": visterms,
                "visterm_likelihood_": np.array(likelihoods),
            }
            progress("training", done, steps)
            if task.held is None:
                yield Trial({}, always(None), always(always(fitted)))
            elif done in _WATCHED or done == steps:
                held = damped(csr_array(task.held.vectors), choice["power"])
                folding = walk_folding(Counts(held), visterms, fitted["prior_"], prepared.threads)
                for step, (pictures, _) in enumerate(islice(folding, choice["folding_steps"]), 1):
                    if step in _WATCHED or step == choice["folding_steps"]:
                        rows = as_text(pictures @ prepared.words.T, task.training.idf)
                        chosen = {"visterm_steps": done, "folding_steps": step}
                        yield Trial(chosen, always(rows), always(always(fitted)))

    def _probabilities(self, counts: csr_array) -> NDArray[np.float64]:
        from visterm.models._plsa_kernels import Counts, walk_folding

        with self._threads() as threads:
            walk = walk_folding(Counts(counts), self.visterms_, self.prior_, threads)
            *_, (pictures, _likelihood) = islice(walk, self.folding_steps_)
        return np.asarray(pictures @ self.words_.T)

    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.n_jobs or os.cpu_count() or 1)


class _Aspects:
    """EM on the captions, which goes on from where it is as long as it can."""

    pictures: Factors
    words: Factors

    def __init__(self, captions: csr_array, seed: int, threads: Executor) -> None:
        self.threads = threads
        self._captions, self._seed = captions, seed
        self._aspects, self._likelihoods = 0, list[float]()

    def walk_to(self, aspects: int, steps: int) -> None:
        """So many aspects after so many EM steps."""
        from visterm.models._plsa_kernels import walk_text

        if aspects != self._aspects or steps < len(self._likelihoods):
            self._walk = walk_text(self._captions, aspects, self._seed, self.threads)
            self._aspects, self._likelihoods = aspects, []
        while len(self._likelihoods) < steps:
            self.pictures, self.words, likelihood = next(self._walk)
            self._likelihoods.append(likelihood)

    def fitted(self) -> dict[str, Any]:
        return {
            "words_": self.words,
            "prior_": self.pictures.sum(axis=0) / self.pictures.sum(),
            "text_likelihood_": np.array(self._likelihoods),
        }
