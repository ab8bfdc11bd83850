"""Relevance feedback: the log of clicks, and the offsets that are learnt from it."""
