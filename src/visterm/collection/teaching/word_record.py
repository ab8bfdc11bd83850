"""What is known of a word: its examples, how well it is ranked, and the words nearest to it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from visterm.collection.feedback import log
from visterm.collection.search.request import SearchRequest
from visterm.collection.search.searcher import search
from visterm.collection.store.caption_words import holders
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.name_words import counting, name_key
from visterm.collection.store.snapshot import Snapshot, snapshot
from visterm.collection.teaching.service import held_out_avgp
from visterm.text.query import UnknownWords
from visterm.text.tokens import stem

_EXAMPLES = 12
_NEAREST = 8
_SAMPLE = 2000


@dataclass(frozen=True)
class WordRecord:
    """A word as a collection knows it.

    Attributes
    ----------
    known : bool
        Whether the model has learnt what it looks like.
    captions, yes, no : int
        Captions that hold it, and answers to it.
    names : int
        Pictures of which the name of a file or folder holds it, where these count.
    avgp : float or None
        On held-out captioned pictures; None where none of them holds it.
    nearest : tuple of str
        Words that are seen in the same pictures.
    examples : tuple of int
        Pictures with a yes first, then the best of the ranking.
    """

    word: str
    known: bool
    captions: int
    names: int
    yes: int
    no: int
    avgp: float | None
    nearest: tuple[str, ...]
    examples: tuple[int, ...]


def word_record(catalogue: Catalogue, root: Path, word: str) -> WordRecord:
    """Gather what is known of a word; `UnknownWords` where nothing is."""
    now = snapshot(catalogue)
    words = log.words_of(word)
    answers = log.judged_pictures(catalogue, words)
    number = now.words.vocabulary.number(words)
    held = holders(catalogue.db, stem(words))
    named = [
        holders(catalogue.db, name_key(source, stem(words))) for source in counting(catalogue.db)
    ]
    names = np.unique(np.concatenate([np.empty(0, np.int64), *named])).size
    try:
        found = [one.picture for one in search(catalogue, root, SearchRequest(word, 40)).results]
    except UnknownWords:
        if number is None and not (held.size or names or answers):
            raise
        found = []
    yes = [one for one, relevant in answers.items() if relevant]
    examples = dict.fromkeys([*yes, *(one for one in found if answers.get(one) is not False)])
    return WordRecord(
        words,
        number is not None,
        int(held.size),
        int(names),
        len(yes),
        len(answers) - len(yes),
        held_out_avgp(catalogue, word) if number is not None else None,
        _nearest(now, number),
        tuple(examples)[:_EXAMPLES],
    )


def _nearest(now: Snapshot, number: int | None) -> tuple[str, ...]:
    """Words whose columns are most like that of a word, over a sample of pictures."""
    model = now.words
    pictures = now.pictures(model.version.extractor)
    if number is None or number >= model.words or pictures is None or len(pictures) < 3:
        return ()
    sample = pictures.findable[:: max(1, len(pictures) // _SAMPLE)]
    logs = model.log_probabilities(pictures.file.at(pictures.positions(sample)))
    rows = np.exp(logs[:, : model.words].astype(np.float64))
    rows -= rows.mean(axis=0)
    lengths = np.linalg.norm(rows, axis=0)
    alike = rows.T @ rows[:, number] / np.maximum(lengths * lengths[number], 1e-12)
    alike[number] = -1
    order = np.argsort(-alike)[:_NEAREST]
    return tuple(model.vocabulary.words[one] for one in order.tolist() if alike[one] > 0)
