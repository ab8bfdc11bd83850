"""The methods of the BITR paper on its own features, and ours on CNN vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.experiments.papers.bitr.directions import Both, Fit, Make, PairVectors
from visterm.experiments.papers.bitr.partitions import TOPICS, Partition
from visterm.models import Bitr, Cca, ConceptSvm, WeightedKnn, Wsabie
from visterm.models.bitr import LOSSES
from visterm.progress import Progress
from visterm.text.spaces import Topics
from visterm.text.spaces.space import unit

Rows = NDArray[np.float32]
_STRENGTHS = (1.0, 10.0, 100.0, 1e3, 1e4, 1e5)


def bitr(loss: str, judged_by: str = "pairs") -> Make:
    """A BITR model of either direction, with C for validation pictures to choose."""
    # The manhattan loss has no closed form on the sphere, and takes many times longer a round.
    slow = loss == "manhattan"
    return lambda ranks: Bitr(
        loss=loss,
        ranks=ranks,
        C=_STRENGTHS[1::2] if slow else _STRENGTHS,
        max_iter=40 if slow else 100,
        judged_by=judged_by,
        max_words=1,
    )


def wsabie(outputs: str) -> Make:
    """A WSABIE model, with its learning rate for validation pictures to choose."""
    return lambda _: Wsabie(
        outputs=outputs,
        n_components=TOPICS,
        learning_rate=(0.003, 0.03),
        judged_by="words" if outputs == "words" else "pairs",
        max_words=1,
    )


def cca(**changes: Any) -> Cca:
    """CCA with ridges and scaling for validation pictures to choose."""
    offered: dict[str, Any] = {
        "ridge": (0.1, 0.3, 1.0),
        "text_ridge": (0.1, 0.3, 1.0),
        "scaling": (0.5, 1.0, 1.5),
        "judged_by": "pairs",
    }
    return Cca(**{**offered, "n_components": 256, **changes})


def paper_methods(
    topics: PairVectors, *, with_wsabie: bool = True
) -> Iterator[tuple[str, Fit, Cca | None]]:
    """CCA, WSABIE and BITR on topics (TR) and correlated topics (CTR), in the paper's order.

    Correlated topics are CCA projections, learnt from training pairs only, so that models on top
    can still choose with the validation pairs. With each method comes what fits it, and what
    brings further texts from TR to the space its pairs are in.
    """
    offered: dict[str, Any] = {
        "ridge": (0.1, 0.3, 1.0, 3.0),
        "text_ridge": (0.03, 0.1, 0.3, 1.0),
        "scaling": (0.0, 0.5, 1.0),
    }
    model = topics.choose(Cca(n_components=TOPICS, judged_by="pairs", **offered))
    yield "CCA", partial(Both, topics, model, model), None
    spaces: dict[str, tuple[PairVectors, Cca | None]] = {
        "TR": (topics, None),
        "CTR": (topics.projected(model), model),
    }
    makers = {"WSABIE": wsabie("texts")} if with_wsabie else {}
    makers |= {shown: bitr(loss) for loss, shown in reversed(LOSSES.items())}
    for method, make in makers.items():
        for space, (pairs, to_space) in spaces.items():
            yield f"{method} ({space})", partial(pairs.both, make), to_space


def label_space(documents: Sequence[str], partition: Partition, seed: int) -> Topics:
    """Topics of label sets, each label a word by itself."""
    space = Topics(TOPICS, language=None, stop_words=(), min_captions=1, random_state=seed)
    return space.fit([documents[i] for i in partition.development])


def mean_texts(texts: Rows, true: csr_array, partition: Partition) -> Rows:
    """A label as the mean of the development texts that hold it; zeros where none does."""
    held = csr_array(true[partition.development])
    often = np.maximum(np.asarray(held.sum(axis=0)).reshape(-1, 1), 1)
    return np.asarray(held.T @ texts[partition.development] / often, np.float32)


def knn_scores(
    pictures: Rows, true: csr_array, partition: Partition, progress: Progress
) -> tuple[NDArray[np.float32], dict[str, Any]]:
    """Weighted kNN, its parameters chosen on validation pictures by single labels."""
    p = partition
    model = WeightedKnn(
        n_neighbors=(25, 50, 100),
        sharpness=(5.0, 10.0, 15.0, 20.0, 30.0, 45.0),
        retrain=True,
        max_words=1,
    )
    held = (pictures[p.validation], true[p.validation])
    model.fit(pictures[p.train], true[p.train], validation=held, progress=progress)
    return model.transform(pictures[p.test]), model.decided() | {"validation": model.validation_}


def svm_scores(
    pictures: Rows, true: csr_array, partition: Partition, n_jobs: int, progress: Progress
) -> NDArray[np.floating]:
    """One SVM a label: its decision values, not standardised, so that rare labels stay rare."""
    p = partition
    model = ConceptSvm(C=1.0, fusion="weighted", n_jobs=n_jobs)
    model.fit(pictures[p.development], true[p.development], progress=progress)
    return model.transform(pictures[p.test]) * model.deviation_ + model.mean_


def pca(vectors: Rows, partition: Partition, dimensions: int = 128) -> Rows:
    """The leading principal components of the development pictures, as the paper takes them."""
    mean = vectors[partition.development].mean(axis=0)
    centred = vectors[partition.development] - mean
    _, directions = np.linalg.eigh(centred.T @ centred)
    return unit((vectors - mean) @ directions[:, ::-1][:, :dimensions])


def centred(vectors: Rows, partition: Partition) -> Rows:
    """Without the mean of the development texts, of unit length: what all share says nothing."""
    return unit(vectors - vectors[partition.development].mean(axis=0))
