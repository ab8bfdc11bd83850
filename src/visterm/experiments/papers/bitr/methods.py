"""The methods of the BITR paper on its own features, and ours on CNN vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.experiments.papers.bitr.directions import Both, Make, PairVectors
from visterm.experiments.papers.bitr.partitions import TOPICS, Partition
from visterm.models import Bitr, Cca, ConceptSvm, WeightedKnn, Wsabie
from visterm.models.bitr import LOSSES
from visterm.progress import Progress
from visterm.text.spaces import Topics
from visterm.text.spaces.space import unit

Rows = NDArray[np.float32]
_STRENGTHS = (1.0, 10.0, 100.0, 1e3, 1e4, 1e5)


@dataclass(eq=False)
class Chosen:
    """What validation pictures decided, method by method."""

    by_method: dict[str, dict[str, Any]] = field(default_factory=dict)

    def note(self, method: str, both: Both) -> Both:
        for way, model in (("to text", both.to_texts), ("to picture", both.to_pictures)):
            facts = {
                name.rstrip("_"): getattr(model, name)
                for name in model.facts
                if name not in ("n_features_in_", "n_texts_in_", "sums_")
            }
            self.by_method[f"{method}, {way}"] = facts
        return both


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
    """A WSABIE model, with its rate for validation pictures to choose."""
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


def paper_pairs(
    pictures: Rows, texts: Rows, partition: Partition, progress: Progress
) -> tuple[PairVectors, PairVectors, Cca]:
    """Topics of both sides (TR), and their CCA projections (CTR), learnt from teaching pairs only.

    The strength of CCA is chosen on the validation pictures; it does not learn from them, so that
    models on top can still choose with them.
    """
    topics = PairVectors(pictures, texts)
    p = partition
    model = Cca(
        ridge=(0.1, 0.3, 1.0, 3.0),
        text_ridge=(0.03, 0.1, 0.3, 1.0),
        scaling=(0.0, 0.5, 1.0),
        n_components=TOPICS,
        judged_by="pairs",
    )
    held = (pictures[p.choose], texts[p.choose])
    model.fit(pictures[p.teach], texts[p.teach], validation=held, progress=progress)
    return topics, PairVectors(model.picture_rows(pictures), model.text_rows(texts)), model


def paper_methods(
    pictures: Rows,
    texts: Rows,
    partition: Partition,
    chosen: Chosen,
    progress: Progress,
    *,
    with_wsabie: bool = True,
) -> Iterator[tuple[str, Both, Cca | None]]:
    """CCA, WSABIE and BITR on topics (TR) and correlated topics (CTR), in the paper's order.

    With each comes what brings further texts from TR to the space its pairs are in.
    """
    topics, projected, model = paper_pairs(pictures, texts, partition, progress)
    yield "CCA", chosen.note("CCA", Both(topics, partition, model, model)), None
    spaces: tuple[tuple[str, PairVectors, Cca | None], ...] = (
        ("TR", topics, None),
        ("CTR", projected, model),
    )
    if with_wsabie:
        for space, pairs, to_space in spaces:
            name = f"WSABIE ({space})"
            yield (
                name,
                chosen.note(name, pairs.both(wsabie("texts"), partition, progress)),
                to_space,
            )
    for loss, shown in reversed(LOSSES.items()):
        for space, pairs, to_space in spaces:
            name = f"{shown} ({space})"
            yield name, chosen.note(name, pairs.both(bitr(loss), partition, progress)), to_space


def label_space(documents: Sequence[str], partition: Partition, seed: int) -> Topics:
    """Topics of label sets, each label a word by itself."""
    space = Topics(TOPICS, language=None, stop_words=(), min_captions=1, random_state=seed)
    return space.fit([documents[i] for i in partition.development])


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
    held = (pictures[p.choose], true[p.choose])
    model.fit(pictures[p.teach], true[p.teach], validation=held, progress=progress)
    return model.transform(pictures[p.test]), {
        "n_neighbors": model.n_neighbors_,
        "sharpness": model.sharpness_,
        "validation": model.validation_,
    }


def svm_scores(
    pictures: Rows, true: csr_array, partition: Partition, workers: int, progress: Progress
) -> NDArray[np.floating]:
    """One SVM a label: its decision values, not standardised, so that rare labels stay rare."""
    p = partition
    model = ConceptSvm(C=1.0, fusion="weighted", n_jobs=workers)
    model.fit(pictures[p.development], true[p.development], progress=progress)
    return model.transform(pictures[p.test]) * model.deviation_ + model.mean_


def pca(vectors: Rows, partition: Partition, dimensions: int = 128) -> Rows:
    """The leading principal components of the pictures that teach, as the paper takes them."""
    mean = vectors[partition.development].mean(axis=0)
    centred = vectors[partition.development] - mean
    _, directions = np.linalg.eigh(centred.T @ centred)
    return unit((vectors - mean) @ directions[:, ::-1][:, :dimensions])


def centred(vectors: Rows, partition: Partition) -> Rows:
    """Without the mean of what teaches, of unit length: what all texts share tells none apart."""
    return unit(vectors - vectors[partition.development].mean(axis=0))
