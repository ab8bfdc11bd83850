"""PAMIR and the SVM by two kernels of blocks together, on Corel's test pictures.

Table 4 takes kernels one by one; here ``k = ½ k_visterm + ½ k_likelihood``, each a cosine: what
visterms count and what one Gaussian of a picture's blocks says are different things. PAMIR learns
from nothing, as in the paper, and from the SVMs: its steps are the smallest that mend a triplet, so
what they know of single words stays, and queries of several words are learnt on top.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.sparse import csr_array
from sklearn.base import clone

from papers.tpami2008.kernels import block_histograms
from visterm.experiments.picture_features import PictureFeatures
from visterm.experiments.protocol import Protocol, Source, corel5k
from visterm.experiments.runs import Outcome, Seconds, chosen_by, outcome_of, settled
from visterm.experiments.tables import Entry, Report, avgp_table
from visterm.kernels import Cosine, ExpectedLikelihood, Linear
from visterm.models import ConceptSvm, Model, Pamir
from visterm.models.inputs import stack
from visterm.progress import Progress, silent

Table = NDArray[np.float32]
Fitted = TypeVar("Fitted", bound=Model)
FEATURES = "blocks"
PARTS = ("all", "single", "multi", "easy", "difficult", "unseen")
_LENGTHS = (1.0, 1.3)
"""How long the SVMs' weights are where PAMIR starts from them, beside PAMIR's own in the end."""
_JITTER = 1e-4  # so that pictures seen twice have a factor, too


class Pictures(NamedTuple):
    """All pairs of pictures, the captions of those to learn from, and those that choose."""

    table: Table
    captions: csr_array
    learnt: int
    held: int

    @property
    def rows(self) -> Table:
        """Every picture as a vector, so that products are kernels: ``K = L Lᵀ``."""
        known = self.table[: self.learnt, : self.learnt]
        factor = cholesky(known + _JITTER * np.eye(self.learnt, dtype=np.float32), lower=True)
        return np.asarray(solve_triangular(factor, self.table[: self.learnt], lower=True).T)

    def fit(self, model: Fitted, rows: Table, **options: Any) -> Fitted:
        """From rows of the pictures, by what was given or what validation pictures choose."""
        end = self.learnt + self.held
        if self.held:
            options["validation"] = rows[self.learnt : end], self.captions[self.learnt : end]
        known = self.captions[: self.learnt]
        model.fit(rows[: self.learnt], known, **options)
        return model


def tpami_joint(
    entry: Entry, data: Source = None, seed: int = 0, progress: Progress = silent
) -> Report:
    """AvgP of the SVM, of PAMIR, and of PAMIR from the SVMs, by the sum of two kernels."""
    protocol = corel5k(entry.dataset(data), seed=seed)
    found = compared(protocol, joint_table(protocol, progress), progress)
    ours = {part: {name: one.part(part) for name, one in found.items()} for part in PARTS}
    table = avgp_table(entry.table["title"], {}, ours)
    return Report(table, {"ours": {name: one.to_json() for name, one in found.items()}})


def joint_table(protocol: Protocol, progress: Progress = silent) -> Table:
    """All pairs of pictures: training, validation and test ones, in this order."""
    rows = PictureFeatures(protocol, kept=True).vectors(FEATURES, progress=progress)
    bags = block_histograms(protocol, progress, test=True)
    progress("comparing pictures", 0, 1)
    likelihood = Cosine(ExpectedLikelihood(power=0.1)).fit(bags[0])(np.concatenate(bags))
    visterms = Cosine(Linear())(stack(stack(rows[0], rows[1]), rows[2]))
    return np.asarray((visterms + likelihood) / 2, np.float32)


def compared(
    protocol: Protocol, table: Table, progress: Progress = silent, max_iter: int = 1_000_000
) -> dict[str, Outcome]:
    """Parameters chosen on validation pictures; then all development pictures are learnt from."""
    captions = csr_array(protocol.captions[np.concatenate(protocol.split)])
    train, held = (len(part) for part in protocol.split)
    svm = ConceptSvm(C=(0.1, 1.0, 10.0), kernel="precomputed", max_words=protocol.max_words)
    pamir = Pamir(
        C=(0.1, 0.3),
        max_iter=max_iter,
        averaged=True,
        max_words=protocol.max_words,
        random_state=protocol.seed,
    )
    choosing = Pictures(table, captions, train, held)
    chosen = _learn(choosing, svm, pamir, {one: clone(pamir) for one in _LENGTHS}, progress)
    length = max(_LENGTHS, key=lambda one: chosen.started[one].validation_)
    best = chosen.svm, chosen.pamir, chosen.started[length]
    every = Pictures(table, captions, train + held, 0)
    last = _learn(every, settled(best[0]), settled(best[1]), {length: settled(best[2])}, progress)
    tested, rows = table[train + held :, : train + held], every.rows[train + held :]
    mapped = {
        "SVM": last.svm.transform(tested),
        "PAMIR": last.pamir.transform(rows),
        "PAMIR from the SVMs": last.started[length].transform(rows),
    }
    return {
        name: outcome_of(protocol, one, Seconds(), chosen_by(model))
        for (name, one), model in zip(mapped.items(), best, strict=True)
    }


class Learnt(NamedTuple):
    """The models, learnt from the same pictures; PAMIR from the SVMs by their length."""

    svm: ConceptSvm
    pamir: Pamir
    started: dict[float, Pamir]


def _learn(
    given: Pictures, svm: Any, pamir: Any, started: dict[float, Any], progress: Progress
) -> Learnt:
    """Fit the models."""
    table, rows = given.table[:, : given.learnt], given.rows
    given.fit(svm, table, progress=progress)
    given.fit(pamir, rows, progress=progress)
    start: Any = settled(pamir)
    start.partial_fit(rows[: given.learnt], given.captions[: given.learnt], steps=0)
    # As the SVMs rank: deviations alike, and words averaged, whatever a query weighs them with.
    alike = np.maximum(svm.deviation_ * svm.idf_, 1e-9)
    weights = svm.weights_ / alike[:, None] @ rows[: given.learnt]
    weights *= np.linalg.norm(pamir.weights_) / np.linalg.norm(weights)
    for length, model in started.items():
        start.weights_ = np.ascontiguousarray(length * weights, np.float32)
        given.fit(model, rows, initial=start, progress=progress)
    return Learnt(svm, pamir, started)
