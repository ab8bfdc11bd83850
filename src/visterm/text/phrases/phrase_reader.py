"""Phrases of captions: who does what, what is where, what is done where.

A phrase is a (noun, verb), a (noun, preposition, noun) or a (verb, preposition, noun), in lemmas:
"man walk", "man with hat", "walk on road". Captions list what is to be seen in few patterns, so
their clauses are read from left to right, and a preposition is attached by rules rather than by a
parser; ``python -m benchmarks.phrases`` says how often that is right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from visterm.text.phrases.clause_reader import ClausePart, clauses

NOUN_VERB = "noun verb"
NOUN_PREPOSITION_NOUN = "noun preposition noun"
VERB_PREPOSITION_NOUN = "verb preposition noun"
KINDS = (NOUN_VERB, NOUN_PREPOSITION_NOUN, VERB_PREPOSITION_NOUN)

# Where something stands in the picture rather than in the scene.
_PLACES = frozenset(
    ["foreground", "background", "left", "right", "distance", "centre", "center", "side"]
)
_PEOPLE = frozenset(
    ("man", "woman", "boy", "girl", "child", "person", "people", "lady", "baby", "adult", "kid")
).union(("tourist", "player", "cyclist", "guy", "couple", "spectator"))
_LISTING = frozenset(["with", "of", "by", "between", "without"])
"""Prepositions that take lists: "a room with a bed and a chair"."""


class Phrase(NamedTuple):
    """The kind of a phrase, and its lemmas; as a text, the words with spaces between them.

    >>> str(Phrase("noun verb", ("man", "walk")))
    'man walk'
    """

    kind: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join(self.words)


def phrases(caption: str) -> list[Phrase]:
    """The distinct phrases of an English caption, in order.

    Raises `MissingExtra` where the tagger is not installed (``pip install 'visterm[phrases]'``).

    >>> import pytest
    >>> _ = pytest.importorskip("HanTa")
    >>> [str(one) for one in phrases("a man with a hat is walking on a road; trees at the sea")]
    ['man with hat', 'man walk', 'walk on road', 'tree at sea']
    """
    found: dict[Phrase, None] = {}
    for clause in clauses(caption):
        found.update(dict.fromkeys(_Reader().read(clause)))
    return list(found)


@dataclass
class _Slot:
    """Words that stand side by side: verbs, or the nouns that one preposition takes.

    ``governors`` are what the preposition ``via`` is about, or the subjects of the verbs. The nouns
    from ``group`` on were listed without a break, so that "in the background" is about them all;
    from ``pair`` on, without a comma. A verb that ``describes`` a noun is no predicate: "a house
    made of wood".
    """

    words: list[str]
    via: str = ""
    governors: tuple[str, ...] = ()
    of_verb: bool = False
    is_verb: bool = False
    describes: bool = False
    group: int = 0
    pair: int = 0

    def listed(self, *, far: bool) -> tuple[str, ...]:
        """The nouns that a place is about: ``far`` all of the list, else what "and" joins."""
        found = self.words[self.group if far else max(self.group, self.pair) :]
        return tuple(found or self.words[-1:])


class _Reader:
    """Reads one clause; ``chain`` is what can still be attached to, the innermost last."""

    def __init__(self) -> None:
        self.chain = [_Slot([])]
        self.waiting: list[str] = []  # prepositions that have not met their noun
        self.after_and = False  # whether "and" stood before the waiting preposition
        self.before: ClausePart | None = None
        self.found: list[Phrase] = []

    def read(self, clause: list[ClausePart]) -> list[Phrase]:
        for part in clause:
            if part.kind == "noun":
                self._noun(part.word)
            elif part.kind == "verb":
                self._verb(part)
            elif part.kind == "preposition":
                self.after_and = self._follows("and")
                self.waiting = [*self.waiting, part.word]
            elif part.kind != "and":
                self.waiting = []
                if part.kind == "pronoun":
                    self._break_groups()
            if part.kind != "be" or not self._follows("other"):
                self.before = part  # "that is": the "that" decides whose verb follows
        return self.found

    def _follows(self, *kinds: str) -> bool:
        return self.before is not None and self.before.kind in kinds

    def _noun(self, noun: str) -> None:
        if self.waiting:
            governor, of_verb = self._governor(self.waiting[0], noun)
            for preposition in self.waiting:
                self._keep(governor, preposition, noun, of_verb=of_verb)
            self.chain.append(_Slot([noun], self.waiting[-1], governor, of_verb))
            self.waiting = []
        elif self._follows("verb") and self.chain[-1].is_verb:
            # What something is done to is no phrase of ours, but can itself be somewhere.
            self.chain.append(_Slot([noun], "object"))
        else:
            self._list(noun)

    def _list(self, noun: str) -> None:
        """One more of a list: of what stands "with" something, or of what the clause shows."""
        while len(self.chain) > 1 and not self._takes(self.chain[-1], noun):
            self.chain.pop()
            self._break_groups()
        slot = self.chain[-1]
        if self._follows("comma"):
            slot.pair = len(slot.words)
        slot.words.append(noun)
        if slot.governors:
            self._keep(slot.governors, slot.via, noun, of_verb=slot.of_verb)

    def _takes(self, slot: _Slot, noun: str) -> bool:
        if slot.is_verb or slot.words[-1] in _PLACES:
            return False
        of_people = bool(_PEOPLE.intersection(slot.governors))
        if noun in _PEOPLE and slot.words[-1] not in _PEOPLE and (slot.via != "with" or of_people):
            return False  # "a girl with a hat and a boy"
        clothed = slot.via == "in" and of_people
        return slot.via in _LISTING or slot.via == "object" or slot.of_verb or clothed

    def _governor(self, preposition: str, noun: str) -> tuple[tuple[str, ...], bool]:
        """What a preposition is about, and whether that is a verb; what lies within is closed."""
        again = self._same_again(preposition) if self.after_and else None
        at = self._attaching(preposition, noun) if again is None else again - 1
        del self.chain[at + 1 :]
        slot = self.chain[at]
        if slot.is_verb:
            return tuple(slot.words[-1:]), True
        if preposition in ("of", "with"):
            return tuple(slot.words[-1:]), False
        return slot.listed(far=noun in _PLACES), False

    def _same_again(self, preposition: str) -> int | None:
        """The slot that "and with" goes on from, where there was a "with" before."""
        slots = range(len(self.chain) - 1, 0, -1)
        return next((at for at in slots if self.chain[at].via == preposition), None)

    def _attaching(self, preposition: str, noun: str) -> int:
        """The number of the slot that a preposition is about."""
        last = len(self.chain) - 1
        slot = self.chain[last]
        if last == 0 or slot.is_verb or preposition == "of":
            return last
        if slot.via == "object":
            return last if preposition == "with" else last - 1
        if slot.words[-1] in _PLACES:
            return last - 1
        if preposition == "with":
            # "beds made of wood with white covers": not the wood has covers.
            return last - 2 if slot.governors == ("make",) else last
        if slot.via == "with":
            alone = len(slot.words) == 1 and (noun not in _PLACES or last == 1)
            return last - 1 if alone else last
        if noun in _PLACES:
            with_ = [at for at in range(1, last) if self.chain[at].via == "with"]
            verbs = [at for at in range(1, last) if self.chain[at].is_verb]
            if verbs and self.chain[verbs[-1]].describes:
                return verbs[-1] - 1
            return (with_ or verbs or [0])[-1]
        return last

    def _verb(self, part: ClausePart) -> None:
        self.waiting = []
        at = next((n for n in range(len(self.chain) - 1, 0, -1) if self.chain[n].is_verb), None)
        if at is not None and self._follows("and", "comma"):
            # "are starting and diving", "wearing a hat, riding a horse"
            del self.chain[at + 1 :]
            subjects = self.chain[at].governors
            self.chain[at].words.append(part.word)
        else:
            subjects = self._subjects(part)
            describes = part.plain and not self._follows("be")
            self.chain.append(
                _Slot([part.word], governors=subjects, is_verb=True, describes=describes)
            )
        for subject in subjects:
            self.found.append(Phrase(NOUN_VERB, (subject, part.word)))

    def _subjects(self, part: ClausePart) -> tuple[str, ...]:
        nearest = self.chain[-1]
        if self._follows("pronoun"):
            return ()
        # "a house made of wood", "a lake that is surrounded by hills": of the nearest noun.
        if part.plain and not self._follows("be", "comma"):
            return () if nearest.is_verb else tuple(nearest.words[-1:])
        several = self.before is not None and self.before.kind == "be" and self.before.plural
        del self.chain[1:]
        return tuple(self.chain[0].words if several else self.chain[0].words[-1:])

    def _break_groups(self) -> None:
        self.chain[-1].group = len(self.chain[-1].words)

    def _keep(
        self, governors: tuple[str, ...], preposition: str, noun: str, *, of_verb: bool
    ) -> None:
        kind = VERB_PREPOSITION_NOUN if of_verb else NOUN_PREPOSITION_NOUN
        for governor in governors:
            self.found.append(Phrase(kind, (governor, preposition, noun)))
