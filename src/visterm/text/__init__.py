"""Words: tokens, vocabulary, queries and what is relevant to them."""

from visterm.text.relevance import Relevance, relevance_from_captions
from visterm.text.vocabulary import Vocabulary

__all__ = ["Relevance", "Vocabulary", "relevance_from_captions"]
