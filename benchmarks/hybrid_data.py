"""What `benchmarks.hybrid` asks of each data set: who teaches, who is shown, and who judges."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from visterm.datasets import CaptionedPictures, read_corel5k, read_flickr8k, read_iaprtc12
from visterm.errors import BadInput
from visterm.experiments.protocol import protocol_of
from visterm.text import Relevance, Vocabulary, relevance_from_captions
from visterm.text.tokens import STOP_WORDS

_READERS = {"corel5k": read_corel5k, "flickr8k": read_flickr8k, "iaprtc12": read_iaprtc12}
NAMES = tuple(_READERS)


@dataclass(frozen=True)
class Trial:
    """Captions that teach, captions to show, and queries with the shown pictures that answer.

    ``paths`` are the pictures that teach, then those that are shown.
    """

    name: str
    paths: list[Path]
    teaching: list[str]
    shown: list[str]
    queries: list[str]
    relevance: Relevance


def read_trial(name: str, folder: Path, queries: int, validation: bool) -> Trial:
    """A data set's trial; on validation pictures, which are then taken from those that teach."""
    if name not in _READERS:
        raise BadInput(
            f"{folder}: name the folder of {', '.join(_READERS)}, or one that holds them"
        )
    protocol = protocol_of(_READERS[name](folder))
    taught, shown = protocol.development, protocol.test
    if validation:
        training, held = protocol.split
        taught, shown = (protocol.development.take(some) for some in (training, held))
    first, judged = _texts(name, shown)
    asked = _drawn(judged, protocol.vocabulary, protocol.max_words, queries, name == "corel5k")
    return Trial(
        name,
        taught.paths + shown.paths,
        _texts(name, taught)[0],
        first,
        [
            " ".join(f'"{protocol.vocabulary.words[word]}"' for word in asked.queries.indices[a:b])
            for a, b in pairwise(asked.queries.indptr)
        ],
        asked,
    )


def _texts(name: str, pictures: CaptionedPictures) -> tuple[list[str], list[str]]:
    """What is shown of each picture, and what judges: of several captions all but the first."""
    if name != "flickr8k":
        return pictures.captions, pictures.words
    lines = [text.split("\n") for text in pictures.captions]
    return [first for first, *_ in lines], ["\n".join(rest) for _, *rest in lines]


def _drawn(
    texts: list[str], vocabulary: Vocabulary, most: int | None, queries: int, every: bool
) -> Relevance:
    found = relevance_from_captions(vocabulary.counts(texts), vocabulary.idf, max_words=most)
    if every or len(found) <= queries:
        return found
    # As many of one word as of two; what only holds sentences together asks for nothing.
    random = np.random.default_rng(0)
    stopped = np.array([word in STOP_WORDS for word in vocabulary.words])
    sizes = found.words_per_query * (found.queries.astype(bool) @ stopped == 0)
    half = [np.flatnonzero(sizes == size) for size in (1, 2)]
    some = [random.choice(one, min(len(one), queries // 2), replace=False) for one in half]
    return found.take(np.sort(np.concatenate(some)))
