"""Reviewing the captions of a word: which hold it though their pictures do not look so, and which
lack it though they do.

A model has learnt from the very captions that are in doubt, so it is not asked alone: a picture is
as likely to show the word as the captions of the captioned pictures most alike say, its own left
out, with what the model sees as a prior worth one picture that looks the same.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from visterm.collection.feedback.changes import bring_in
from visterm.collection.library.descriptions import neighbours_of
from visterm.collection.media.captions import effective_captions
from visterm.collection.store.caption_words import PERSON, captioned, holders
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.events import judged_pictures, words_of
from visterm.collection.store.snapshot import reading
from visterm.errors import BadInput
from visterm.index.codes import magnitudes
from visterm.index.columns import computed
from visterm.text.tokens import one_form, stem, word_pattern
from visterm.text.vocabulary import Vocabulary

_LEAST = {True: 0.95, False: 0.7}
"""How surprising a caption that holds the word, or lacks it, is where it is more likely wrong than
right: so it was on development pictures of Corel (``benchmarks.review``)."""
_CONSIDERED = 400
"""Captions each way that are compared with those of pictures alike: the least likely ones that hold
the word, and the likeliest that do not."""


@dataclass(frozen=True)
class Doubt:
    """A caption to look at."""

    picture: int
    holds: bool
    """Whether the caption has the word."""
    probability: float
    """How likely the picture shows it."""
    is_likely: bool
    """Whether such captions are more often wrong than right."""


def doubts(catalogue: Catalogue, word: str, count: int = 10) -> list[Doubt]:
    """The captions to look at first, those that hold the word and those that lack it in turn.

    Pictures with an answer for the word are left out.
    """
    answered = list(judged_pictures(catalogue, words_of(word)))
    with reading(catalogue) as now:
        model = now.words
        number = _number(model.vocabulary, word)
        pictures = now.pictures(model.version.extractor)
        if pictures is None:
            raise _unknown(word)
        held = holders(catalogue.db, model.vocabulary.keys[number])
        others = np.setdiff1d(captioned(catalogue.db), held, assume_unique=True)
        (codes,) = computed(pictures.file, [model.word_weights(number)])
        chosen = []
        for ids, sign in ((held, 1), (others, -1)):
            ids = np.setdiff1d(ids, answered)
            positions, known = pictures.located(ids)
            order = np.argsort(sign * -magnitudes()[codes[positions]], kind="stable")[:_CONSIDERED]
            chosen.append((ids[known][order], positions[order]))
        ids, positions = (np.concatenate(parts) for parts in zip(*chosen, strict=True))
        vectors = pictures.file.dense(positions)
        near = neighbours_of(now, model.version.extractor, vectors, ids.tolist())
        prior = np.exp(-magnitudes()[codes[positions]].astype(np.float64))
        likely = [
            (float(one.weights() @ np.isin(one.pictures, held)) + seen) / (one.weights().sum() + 1)
            for one, seen in zip(near, prior, strict=True)
        ]
    return _in_turn(ids, np.array(likely), np.isin(ids, held), count)


def _number(vocabulary: Vocabulary, word: str) -> int:
    if not word_pattern(word).fullmatch(one_form(word)):
        raise BadInput(f"review one word at a time, such as sea, not {word!r}")
    number = vocabulary.number(word)
    if number is None:
        raise _unknown(word)
    return number


def _unknown(word: str) -> BadInput:
    return BadInput(f"the model does not know {word!r}; visterm train learns from captions")


def _in_turn(
    ids: NDArray[np.int64], likely: NDArray[np.float64], holds: NDArray[np.bool_], count: int
) -> list[Doubt]:
    """The most doubtful of both kinds, one of each in turn, as long as there are any."""
    surprise = np.where(holds, 1 - likely, likely)
    places = []
    for kind in (True, False):
        own = np.flatnonzero(holds == kind)
        ordered = own[np.argsort(-surprise[own], kind="stable")]
        places += [(rank, not kind, place) for rank, place in enumerate(ordered.tolist())]
    first = [place for _, _, place in sorted(places)[:count]]
    return [
        Doubt(
            int(ids[n]),
            bool(holds[n]),
            float(likely[n]),
            bool(surprise[n] > _LEAST[bool(holds[n])]),
        )
        for n in first
    ]


def review(catalogue: Catalogue, word: str, answers: Mapping[int, bool]) -> int:
    """Let captions say of pictures whether they show a word, as one step; the lock is held.

    A caption gets the word, or loses it, and what was said is remembered as relevance feedback, so
    that it is not asked again. A caption of nothing but the word stays, under a no. Returns how
    many captions changed.
    """
    with reading(catalogue) as known:
        _number(known.words.vocabulary, word)
    texts = effective_captions(catalogue, list(answers))
    changed = {}
    for picture, shows in answers.items():
        before = texts.get(picture, "")
        after = _with(before, word) if shows else _without(before, word)
        if after and after != before:
            changed[picture] = after
    captions = [(picture, PERSON, text) for picture, text in changed.items()]
    query, now = words_of(word), time.time()
    clicks = [(query, picture, shows, now, 1.0) for picture, shows in answers.items()]
    bring_in(catalogue, captions, clicks)
    return len(changed)


def _with(text: str, word: str) -> str:
    is_there = stem(word) in {stem(token) for token in word_pattern(text).findall(one_form(text))}
    return text if is_there else f"{text}\n{word}".strip()


def _without(text: str, word: str) -> str:
    """A caption without a word, in whichever form it stands there.

    >>> _without("Two dogs, on the beach\\ndog", "dog")
    'Two, on the beach'
    >>> _without("Sea, dog, sand (dog)", "dog")
    'Sea, sand'
    """
    wanted, kept = stem(word), []
    for line in text.splitlines():
        pattern = word_pattern(line)
        rest = pattern.sub(lambda m: "" if stem(one_form(m[0])) == wanted else m[0], line)
        if pattern.search(rest):
            kept.append(" ".join(rest.split()) if rest == line else _tidied(rest))
    return "\n".join(kept)


def _tidied(text: str) -> str:
    """A line without the brackets, spaces and commas that a word left behind."""
    text = re.sub(r"\(\s*\)|\[\s*\]", "", text)
    text = re.sub(r"\s+(?=[,;:.!?](?:\s|$))", "", text)
    text = re.sub(r"[,;:]+(?=[,;:.!?])", "", text)
    return " ".join(text.split()).lstrip(" ,;:.!?").rstrip(" ,;:")
