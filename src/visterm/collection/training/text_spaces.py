"""Training what answers whole sentences: a text space, a model, and the pictures' rows in it.

Captions become vectors of a text space (LSA, or sentence vectors, which know other languages), CCA
learns where pictures lie among them, and every picture's row in that space is kept. It is a
version like that of words: new pictures are mapped when they are searched, and it is trained anew
when many captions have changed, or with everything else by ``visterm train``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visterm.collection.ingest.extractors import current_key, described_by
from visterm.collection.media.captions import to_learn_from
from visterm.collection.store import versions
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.feature_rows import vectors_of
from visterm.collection.store.versions import ENCODER, SPACE
from visterm.collection.training.training_set import held_out
from visterm.collection.training.version_files import write_version
from visterm.errors import BadInput
from visterm.progress import Progress, silent

if TYPE_CHECKING:
    from visterm.features.extractor import Rows as Vectors
    from visterm.models import Cca
    from visterm.text.spaces import EncoderTexts, TextSpace

_ENOUGH = 20  # captioned pictures to learn from, and held-out ones to choose by
_MANY_CHANGES = 0.1
"""The part of captions that may have changed before a space is trained anew by a search."""


def is_trained(catalogue: Catalogue, name: str) -> bool:
    """Whether a space can answer, and has seen nearly all captions."""
    version = versions.current(catalogue, name)
    if version is None or version.extractor != current_key(catalogue):
        return False
    if name == ENCODER:
        return True  # captions teach it nothing
    unseen = versions.caption_changes(catalogue) - version.caption_changes
    return unseen <= _MANY_CHANGES * version.captioned


def is_stale(catalogue: Catalogue, name: str) -> bool:
    """Whether a space that has been trained does not know all captions."""
    version = versions.current(catalogue, name)
    if name == ENCODER:
        return False
    return version is not None and version.caption_changes != versions.caption_changes(catalogue)


def train_space(catalogue: Catalogue, name: str, *, progress: Progress = silent) -> None:
    """Train what answers in a space; the caller holds the lock."""
    extractor = described_by(catalogue)
    if name == ENCODER:
        _take_encoder(catalogue, extractor)
        return
    space, captioned = fit_space(catalogue, name, progress=progress)
    texts = [text for *_, text in captioned]
    vectors = vectors_of(catalogue, extractor, [picture for picture, *_ in captioned])
    held = np.array([held_out(digest) for _, digest, _ in captioned])
    model = _model(vectors, np.asarray(space.transform(texts)), held, progress)
    version = write_version(
        catalogue,
        model,
        lambda folder: space.save(folder / SPACE),
        extractor=extractor,
        words=model.text_map_.shape[1],
        captioned=len(captioned),
        space=name,
        caption_changes=versions.caption_changes(catalogue),
    )
    with catalogue.transaction():
        versions.name(catalogue, version)


def fit_space(
    catalogue: Catalogue, name: str, *, progress: Progress = silent
) -> tuple[TextSpace, list[tuple[int, bytes, str]]]:
    """A space as captions make it, and these with their pictures; no vector is read.

    Raises
    ------
    VistermError
        Where it cannot be: captions are too few, or what reads them is not installed.
    """
    extractor = described_by(catalogue)
    if name == ENCODER:
        return _encoder_texts(catalogue, extractor), []
    captioned = list(to_learn_from(catalogue, extractor))
    if len(captioned) < _ENOUGH:
        raise BadInput(
            f"{len(captioned)} captioned pictures are too few for sentences; {_ENOUGH} is the "
            "least (visterm caption --from TABLE gives many)"
        )
    return _space(name).fit([text for *_, text in captioned], progress=progress), captioned


def _encoder_texts(catalogue: Catalogue, extractor: str) -> EncoderTexts:
    from visterm.features.encoder_vectors import encoder_of
    from visterm.text.spaces import EncoderTexts

    named = encoder_of(extractor)
    if named is None:
        raise BadInput(
            f"the pictures are described by {catalogue.get('features')}, not by a dual encoder; "
            "visterm encoder add installs one, visterm add --features NAME uses it"
        )
    return EncoderTexts(*named).fit()


def _take_encoder(catalogue: Catalogue, extractor: str) -> None:
    """Let an encoder's texts be asked: pictures lie in their space already."""
    from visterm.models import Cca

    space = _encoder_texts(catalogue, extractor)
    version = write_version(
        catalogue,
        Cca.identity(space.dimensions),
        lambda folder: space.save(folder / SPACE),
        extractor=extractor,
        words=space.dimensions,
        space=ENCODER,
    )
    with catalogue.transaction():
        versions.name(catalogue, version)


def _space(name: str) -> TextSpace:
    from visterm.text.spaces import Lsa, Sentences

    return Lsa() if name == "lsa" else Sentences()


def _model(
    vectors: Vectors, texts: NDArray[np.float32], held: NDArray[np.bool_], progress: Progress
) -> Cca:
    """CCA; its ridges are chosen by the held-out pictures where there are enough of them."""
    from visterm.models import Cca

    if held.sum() < _ENOUGH:
        return Cca(ridge=0.3, text_ridge=0.3).fit(vectors, texts, progress=progress)
    train, validate = np.flatnonzero(~held), np.flatnonzero(held)
    model = Cca(scaling=1.0, judged_by="pairs", retrain=True)
    chosen_by = (vectors[validate], texts[validate])
    return model.fit(vectors[train], texts[train], validation=chosen_by, progress=progress)
