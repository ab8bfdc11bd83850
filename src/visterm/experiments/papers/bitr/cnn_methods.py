"""Captions and labels by CNN vectors: the paper's set-up, and what validation liked best."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.sparse import csr_array

from visterm.experiments.papers.bitr.directions import Both, Figures, PairVectors, score_figures
from visterm.experiments.papers.bitr.methods import (
    Chosen,
    Rows,
    bitr,
    cca,
    centred,
    knn_scores,
    pca,
    svm_scores,
    wsabie,
)
from visterm.experiments.papers.bitr.partitions import Partition
from visterm.models import Cca
from visterm.models.bitr import LOSSES
from visterm.progress import Progress
from visterm.text.spaces import Glove, Lsa


def cnn_caption_methods(
    seen: Rows, captions: Sequence[str], partition: Partition, chosen: Chosen, progress: Progress
) -> Iterator[tuple[str, Both]]:
    """The paper's table 7 (PCA of the CNN, word vectors), then CCA and BITR with LSA."""
    told = [captions[i] for i in partition.development]
    words = np.asarray(Glove().fit(told).transform(captions))
    pairs = PairVectors(pca(seen, partition), centred(words, partition))
    model = pairs.fit(cca(scaling=0.0), partition, progress)
    yield "CCA", chosen.note("CCA", Both(pairs, partition, model, model))
    yield "WSABIE", chosen.note("WSABIE", pairs.both(wsabie("texts"), partition, progress))
    for loss, name in reversed(LOSSES.items()):
        yield name, chosen.note(name, pairs.both(bitr(loss), partition, progress))
    space = Lsa(500, random_state=0).fit(told)
    pairs = PairVectors(seen, np.asarray(space.transform(captions)))
    name = "CCA, CNN + LSA"
    model = pairs.fit(cca(), partition, progress)
    yield name, chosen.note(name, Both(pairs, partition, model, model))
    projected = projections(pairs, partition, progress)
    name = "BITR-C on that CCA"
    yield name, chosen.note(name, projected.both(bitr("correlation"), partition, progress))


def projections(
    pairs: PairVectors, partition: Partition, progress: Progress, **changes: object
) -> PairVectors:
    """CCA projections of both sides, learnt from teaching pairs only."""
    model = cca(**changes)
    p = partition
    held = (pairs.pictures[p.choose], pairs.texts[p.choose])
    model.fit(pairs.pictures[p.teach], pairs.texts[p.teach], validation=held, progress=progress)
    return PairVectors(model.picture_rows(pairs.pictures), model.text_rows(pairs.texts))


def cnn_label_methods(
    seen: Rows, true: csr_array, partition: Partition, chosen: Chosen, progress: Progress
) -> Iterator[tuple[str, dict[str, Figures]]]:
    """Labels by CNN vectors, label sets as words."""
    tested = csr_array(true[partition.test])
    words = np.eye(true.shape[1], dtype=np.float32)
    texts = true.toarray()
    pairs = PairVectors(seen, texts)
    name = "CCA (CNN)"
    model = pairs.fit(cca(judged_by="words", max_words=1), partition, progress)
    both = chosen.note(name, Both(pairs, partition, model, model))
    yield name, both.labels(words, true)
    name = "weighted kNN (CNN)"
    scores, chosen.by_method[name] = knn_scores(seen, true, partition, progress)
    yield name, score_figures(scores, tested)
    near = Cca(ridge=0.1, text_ridge=0.3, scaling=0.5)
    near.fit(seen[partition.teach], texts[partition.teach], progress=progress)
    name = "weighted kNN (CCA of CNN)"
    scores, chosen.by_method[name] = knn_scores(near.picture_rows(seen), true, partition, progress)
    yield name, score_figures(scores, tested)
    small = pca(seen, partition)
    name = "CCA (CNN, 128)"
    model = PairVectors(small, texts).fit(cca(judged_by="words", max_words=1), partition, progress)
    both = chosen.note(name, Both(PairVectors(small, texts), partition, model, model))
    yield name, both.labels(words, true)
    name = "SVM (CNN, 128)"
    yield (
        name,
        score_figures(svm_scores(small, true, partition, os.cpu_count() or 1, progress), tested),
    )
    name = "WSABIE (CNN, 128)"
    both = PairVectors(small, texts).both(wsabie("words"), partition, progress)
    yield name, chosen.note(name, both).labels(words, true)
    name = "BITR-C (CNN, 128)"
    both = PairVectors(small, texts).both(bitr("correlation", "words"), partition, progress)
    yield name, chosen.note(name, both).labels(words, true)
    name = "BITR-C (CCA of CNN)"
    projected = PairVectors(near.picture_rows(seen), near.text_rows(texts))
    both = projected.both(bitr("correlation"), partition, progress)
    yield name, chosen.note(name, both).labels(near.text_rows(words), true)
