"""Asking in whole sentences: pictures and texts meet in a space other than words.

Captions become vectors of a text space (LSA, or sentence vectors, which know other languages), CCA
learns where pictures lie among them, and every picture's row is kept in a dense index. All of it
follows from captions and vectors, so it is made when it is first asked for, and again when they
have changed: a folder ``spaces/<name>-<key>`` whose key is a hash of what it was made from, valid
once its mark is written.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from visterm.collection.captions import to_learn_from
from visterm.collection.catalogue import Catalogue
from visterm.collection.extractors import current_key
from visterm.collection.lesson import held_out, vectors_of
from visterm.collection.mapping import FINDABLE, findable
from visterm.collection.rows import Rows
from visterm.collection.search import Answer, Result, allowed, located
from visterm.errors import BadInput, VistermError
from visterm.files import write_whole
from visterm.progress import Progress, silent
from visterm.text.query import Query, parse_query

if TYPE_CHECKING:
    from visterm.features.extractor import Rows as Vectors
    from visterm.index.dense import DenseIndex
    from visterm.models import Cca
    from visterm.text.spaces import TextSpace

SPACES = ("lsa", "sentences")
"""Text spaces that can be asked in whole sentences."""
_SPACE, _MODEL, _INDEX, _MARK = "space.safetensors", "model.safetensors", "index", "made.json"
_FORMAT = 1  # raised when the same captions would make something else
_ENOUGH = 20  # captioned pictures to learn from, and held-out ones to choose by


@dataclass(frozen=True, eq=False)
class SpaceSearch:
    """A text space, what places pictures in it, and the pictures' rows."""

    space: TextSpace
    model: Cca
    index: DenseIndex


def search_sentence(
    catalogue: Catalogue, root: Path, name: str, text: str, k: int, offset: int = 0
) -> Answer:
    """Pictures for a whole sentence, best first; ``in:`` and ``captioned:`` narrow them as ever."""
    sentence, conditions = split_conditions(text)
    if not sentence:
        raise BadInput("an empty question; write a sentence, as in 'a dog runs on a beach'")
    found = opened(catalogue, name)
    vector = np.asarray(found.space.queries([sentence]))
    if not vector.any():
        raise BadInput(f"no caption taught any word of {sentence!r}; try --space sentences")
    row = found.model.text_rows(vector)[0]
    allow = allowed(catalogue, conditions)
    wanted = offset + k
    while True:
        ids, scores = found.index.search(row, wanted, allow=allow)
        places = located(catalogue, root, ids.tolist(), conditions.folders)
        there = [at for at, one in enumerate(ids.tolist()) if one in places]
        if len(there) >= offset + k or len(ids) < wanted:
            chosen = there[offset : offset + k]
            return Answer(
                [Result(int(ids[at]), float(scores[at]), places[int(ids[at])]) for at in chosen]
            )
        wanted *= 2


# What only queries of words have: -people, snow:2, snow:-0.5.
_FOR_WORDS = re.compile(r"-\w.*|\w+:-?[\d.]+")


def split_conditions(text: str) -> tuple[str, Query]:
    """A sentence, and the conditions that were written with it.

    >>> sentence, conditions = split_conditions("ein Hund, am Strand in:alps captioned:no")
    >>> sentence, conditions.folders, conditions.captioned
    ('ein Hund, am Strand', ('alps',), False)
    """
    words: list[str] = []
    conditions: list[str] = []
    for word in text.split():
        if _FOR_WORDS.fullmatch(word):
            raise BadInput(
                f"{word} is for searches by words; say it in the sentence, or leave --space out"
            )
        (conditions if word.startswith(("in:", "captioned:")) else words).append(word)
    return " ".join(words), parse_query(" ".join(conditions))


def opened(catalogue: Catalogue, name: str) -> SpaceSearch:
    """What answers in a space now; `BadInput` where it was never made, or not since the news."""
    from visterm.index.dense import DenseIndex
    from visterm.models import Cca
    from visterm.text.spaces import load_space

    folder = _folder(catalogue, name)
    if not (folder / _MARK).is_file():
        raise VistermError(f"the space {name} has not been learnt from these captions yet")
    return SpaceSearch(
        load_space(folder / _SPACE),
        Cca.load(folder / _MODEL),
        DenseIndex.open(folder / _INDEX),
    )


def is_ready(catalogue: Catalogue, name: str) -> bool:
    """Whether a space was made from the captions and pictures that there are now."""
    return (_folder(catalogue, name) / _MARK).is_file()


def learn(catalogue: Catalogue, name: str, *, progress: Progress = silent) -> None:
    """Make what answers in a space; the caller holds the lock."""
    extractor = _extractor(catalogue)
    told = [
        (picture, digest, text) for picture, digest, text in to_learn_from(catalogue, extractor)
    ]
    if len(told) < _ENOUGH:
        raise BadInput(
            f"{len(told)} captioned pictures are too few for sentences; {_ENOUGH} is the least "
            "(visterm caption --from TABLE gives many)"
        )
    folder = _folder(catalogue, name)
    shutil.rmtree(folder, ignore_errors=True)  # what a kill left without its mark
    folder.mkdir(parents=True)
    texts = [text for *_, text in told]
    space = _space(name).fit(texts, progress=progress)
    vectors = vectors_of(catalogue, extractor, [picture for picture, *_ in told])
    held = np.array([held_out(digest) for _, digest, _ in told])
    model = _model(vectors, np.asarray(space.captions(texts)), held, progress)
    space.save(folder / _SPACE)
    model.save(folder / _MODEL)
    _index(catalogue, extractor, model, folder, progress)
    write_whole(folder / _MARK, json.dumps({"space": name, "captions": len(told)}).encode())
    for other in folder.parent.glob(f"{name}-*"):
        if other != folder:
            with contextlib.suppress(OSError):
                shutil.rmtree(other)


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
    teach, judge = np.flatnonzero(~held), np.flatnonzero(held)
    model = Cca(ridge=(0.1, 0.3, 1.0), text_ridge=(0.1, 0.3, 1.0), retrain=True)
    chosen_by = (vectors[judge], texts[judge])
    return model.fit(vectors[teach], texts[teach], validation=chosen_by, progress=progress)


def _index(
    catalogue: Catalogue, extractor: str, model: Cca, folder: Path, progress: Progress
) -> None:
    from visterm.index.dense import DenseIndex

    index = DenseIndex.create(folder / _INDEX, words=model.text_map_.shape[1])
    total = len(findable(catalogue, extractor))
    done = 0
    for numbers, places, block in Rows(catalogue, extractor).blocks("rows", FINDABLE):
        rows = model.picture_rows(block.vectors()[places])
        order = np.argsort(numbers)
        index.append(rows[order], numbers[order])
        done += len(numbers)
        progress("mapping pictures", done, total)
    while index.merge():
        pass


def _folder(catalogue: Catalogue, name: str) -> Path:
    """Where a space lies that is made from what is known now."""
    if name not in SPACES:
        raise BadInput(f"no space called {name!r}; there are words, {', '.join(SPACES)}")
    extractor = _extractor(catalogue)
    digest = hashlib.sha256(f"{_FORMAT} {name} {extractor}".encode())
    for picture, content, text in to_learn_from(catalogue, extractor):
        digest.update(f"{picture} {text}\0".encode() + content)
    digest.update(findable(catalogue, extractor).tobytes())
    return catalogue.store / "spaces" / f"{name}-{digest.hexdigest()[:24]}"


def _extractor(catalogue: Catalogue) -> str:
    extractor = current_key(catalogue)
    if extractor is None:
        raise VistermError("there are no pictures yet; visterm add finds them")
    return extractor
