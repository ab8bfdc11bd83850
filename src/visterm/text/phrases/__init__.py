"""Phrases of captions: who does what, what is where, what is done where."""

from visterm.text.phrases.clause_reader import clauses, tagger
from visterm.text.phrases.phrase_reader import KINDS, Phrase, phrases

__all__ = ["KINDS", "Phrase", "clauses", "phrases", "tagger"]
