"""The one search path: a `SearchRequest` in, a `SearchResponse` out, whoever asks.

Words, LSA, sentences and "like this picture" are triples of text space, model and index, which
rank pictures for a query (`rankers`); what follows (filters, cut-off, near-duplicates, pages) is
the same for all of them (`searcher`).
"""
