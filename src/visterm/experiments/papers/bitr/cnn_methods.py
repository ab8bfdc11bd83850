"""Captions and labels by CNN vectors: the paper's set-up, and what validation liked best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from visterm.experiments.papers.bitr.directions import Both, Fit, PairVectors
from visterm.experiments.papers.bitr.methods import Rows, bitr, cca, centred, pca, wsabie
from visterm.experiments.papers.bitr.partitions import Partition
from visterm.experiments.runner.caption_vectors import caption_vectors
from visterm.models import Cca, Contrastive
from visterm.models.bitr import LOSSES
from visterm.progress import Progress
from visterm.text.spaces import Glove, Lsa

MAPS: dict[str, Any] = {
    "temperature": 0.05,
    "learning_rate": 1e-3,
    "weight_decay": 0.01,
    "batch_size": 256,
    "max_iter": 10,
    "picture_dropout": 0.0,
    "text_dropout": 0.0,
}
"""Of contrastive maps: what 1,900 of the training pictures that come with IAPR TC-12 liked well."""


def cnn_caption_methods(
    seen: Rows, captions: Sequence[str], partition: Partition, progress: Progress
) -> Iterator[tuple[str, Fit]]:
    """The paper's table 7 (PCA of the CNN, word vectors), then CCA and BITR with LSA."""
    learnt = [captions[i] for i in partition.development]
    words = np.asarray(Glove().fit(learnt).transform(captions))
    pairs = PairVectors(pca(seen, partition), centred(words, partition), partition, progress)
    yield "CCA", partial(pairs.both, lambda _: cca(scaling=0.0))
    yield "WSABIE", partial(pairs.both, wsabie("texts"))
    for loss, name in reversed(LOSSES.items()):
        yield name, partial(pairs.both, bitr(loss))
    texts = np.asarray(Lsa(500, random_state=0).fit(learnt).transform(captions))
    whole = PairVectors(seen, texts, partition, progress)
    yield "CCA, CNN + LSA", partial(whole.both, lambda _: cca())
    yield "BITR-C on that CCA", partial(bitr_on_cca, whole)
    yield (
        "contrastive, CNN + words + sentences",
        partial(contrastive, seen, captions, partition, progress),
    )


def bitr_on_cca(pairs: PairVectors) -> Both:
    """BITR-C over the space that CCA finds for pictures and texts."""
    return pairs.projected(pairs.choose(cca())).both(bitr("correlation"))


def contrastive(
    seen: Rows, captions: Sequence[str], partition: Partition, progress: Progress
) -> Both:
    """Contrastive maps by settings that were chosen beforehand, on pictures not tested here."""
    learnt = partition.development
    texts = caption_vectors(captions, learnt.tolist(), progress)
    model = Contrastive(**MAPS).fit(seen[learnt], texts[learnt], progress=progress)
    return Both(PairVectors(seen, texts, partition, progress), model, model)


def cnn_label_methods(
    seen: Rows, true: csr_array, partition: Partition, progress: Progress
) -> Iterator[tuple[str, Fit, Rows]]:
    """Labels by CNN vectors, label sets as words; with each the vectors of single labels."""
    words, texts = np.eye(true.shape[1], dtype=np.float32), true.toarray()
    whole = PairVectors(seen, texts, partition, progress)
    small = PairVectors(pca(seen, partition), texts, partition, progress)
    near = near_labels(seen, true, partition, progress)
    by_words = {"judged_by": "words", "max_words": 1}
    yield "CCA (CNN)", partial(whole.both, lambda _: cca(**by_words)), words
    yield "CCA (CNN, 128)", partial(small.both, lambda _: cca(**by_words)), words
    yield "WSABIE (CNN, 128)", partial(small.both, wsabie("words")), words
    yield "BITR-C (CNN, 128)", partial(small.both, bitr("correlation", "words")), words
    yield (
        "BITR-C (CCA of CNN)",
        partial(whole.projected(near).both, bitr("correlation")),
        near.text_rows(words),
    )


def near_labels(seen: Rows, true: csr_array, partition: Partition, progress: Progress) -> Cca:
    """CCA of CNN vectors and label sets, in whose space pictures with like labels are near."""
    train = partition.train
    model = Cca(ridge=0.1, text_ridge=0.3, scaling=0.5)
    return model.fit(seen[train], true[train].toarray(), progress=progress)
