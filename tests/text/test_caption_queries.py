"""Queries drawn from captions, as often as the formula says, against a list of all of them."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import chi2_contingency, chisquare

from visterm.errors import BadInput
from visterm.text.caption_queries import caption_queries
from visterm.text.query_sampler import count_answers, list_answers
from visterm.text.query_source import QuerySource, caption_source


def some_captions(pictures=800, seed=0):
    """One word that all hold, two that hardly anybody does, and six in between."""
    rng = np.random.default_rng(seed)
    held = rng.random((pictures, 9)) < [1, 0.5, 0.4, 0.3, 0.2, 0.2, 0.1, 0, 0]
    held[rng.choice(pictures, 2, replace=False), 7] = True
    held[3, 8] = True
    return held


HELD = some_captions()
DRAWS = 60_000


def listed(held, largest):
    """All queries that rank pictures: how many answer each."""
    found: dict[tuple[int, ...], int] = Counter()
    for row in held:
        for size in range(1, largest + 1):
            found.update(combinations(np.flatnonzero(row).tolist(), size))
    return {words: count for words, count in found.items() if count < len(held)}


def draw(source, count=DRAWS, seed=7):
    if not isinstance(source, QuerySource):
        source = QuerySource(None, source, source.pictures, source.largest)
    block, _ = source.draw(np.array([seed], np.uint64), count, 0)
    for words, weights, size, picture in zip(
        block.words, block.weights, block.sizes, block.pictures.tolist(), strict=True
    ):
        yield tuple(words[:size].tolist()), weights[:size], picture


@pytest.mark.parametrize("exponent", [0, 0.5, 1])
@pytest.mark.parametrize("lengths", [None, (0.2, 0.3, 0.5)])
def test_queries_are_drawn_in_proportion_to_a_power_of_their_answers(exponent, lengths):
    queries = caption_queries(
        csr_array(HELD), np.ones(9), exponent=exponent, lengths=lengths, max_words=3
    )
    every = listed(HELD, 3)
    drawn = Counter(tuple(sorted(words)) for words, *_ in draw(queries))
    assert set(drawn) <= set(every)
    shares = np.diff(queries.size_edges[0], prepend=0)
    if lengths is not None:
        np.testing.assert_allclose(shares, lengths)
    for size, share in enumerate(shares, start=1):
        of_size = [words for words in every if len(words) == size]
        seen = np.array([drawn[words] for words in of_size])
        assert seen.sum() == pytest.approx(share * DRAWS, abs=4 * np.sqrt(DRAWS))
        expected = np.array([every[words] ** exponent for words in of_size], float)
        assert chisquare(seen, expected * seen.sum() / expected.sum()).pvalue > 1e-3


@pytest.mark.parametrize("exponent", [0, 0.5, 1])
def test_of_short_captions_the_length_of_a_query_is_left_to_the_exponent(exponent):
    short = HELD & (np.cumsum(HELD, axis=1) <= 5)
    queries = caption_queries(csr_array(short), np.ones(9), exponent=exponent, max_words=3)
    every = listed(short, 3)
    mass = np.zeros(3)
    for words, count in every.items():
        mass[len(words) - 1] += count**exponent
    shares = np.diff(queries.size_edges[0], prepend=0)
    np.testing.assert_allclose(shares, mass / mass.sum(), rtol=0.05)


@pytest.mark.parametrize("exponent", [0, 0.5, 1])
@pytest.mark.parametrize("lengths", [None, (0.2, 0.3, 0.5)])
@pytest.mark.parametrize("longest", [5, 9])
def test_listed_queries_are_drawn_as_often_as_those_from_captions(exponent, lengths, longest):
    held = csr_array(HELD & (np.cumsum(HELD, axis=1) <= longest))
    how = {"exponent": exponent, "lengths": lengths, "max_words": 3}
    source = caption_source(held, np.ones(9), **how)
    assert source.listed is not None
    assert (source.listed.edges.size == 0) == (exponent == 0 and not lengths and longest == 5)
    listed_draws, caption_draws = (
        Counter((tuple(sorted(words)), picture % 7) for words, _, picture in draw(queries))
        for queries in (source, caption_queries(held, np.ones(9), **how))
    )
    both = [
        (listed_draws[query], caption_draws[query])
        for query in listed_draws | caption_draws
        if listed_draws[query] + caption_draws[query] >= 20
    ]
    assert len(both) > 100
    assert chi2_contingency(np.array(both).T).pvalue > 1e-4


def test_the_picture_is_uniform_among_those_that_answer():
    queries = caption_queries(csr_array(HELD), np.ones(9), exponent=0.5, max_words=2)
    seen: dict[tuple[int, ...], Counter[int]] = {}
    for words, _, picture in draw(queries):
        seen.setdefault(tuple(sorted(words)), Counter())[picture] += 1
    for words, pictures in seen.items():
        answering = np.flatnonzero(HELD[:, list(words)].all(axis=1))
        assert set(pictures) <= set(answering.tolist())
        if sum(pictures.values()) > 8 * len(answering) and len(answering) > 1:
            counts = [pictures[picture] for picture in answering.tolist()]
            assert chisquare(counts).pvalue > 1e-4


def test_weights_are_those_of_query_vectors():
    idf = np.array([0.0, 1, 2, 3, 4, 5, 6, 7, 8])
    queries = caption_queries(csr_array(HELD), idf, exponent=0.5, max_words=3)
    for words, weights, _ in draw(queries, 500):
        own = idf[list(words)]
        np.testing.assert_allclose(weights, own / np.linalg.norm(own), rtol=1e-5)
    weightless = caption_queries(csr_array(HELD), np.zeros(9), exponent=1, max_words=3)
    for words, weights, _ in draw(weightless, 100):
        np.testing.assert_allclose(weights, 1 / np.sqrt(len(words)), rtol=1e-5)


def test_answers_are_counted_and_listed_whether_words_are_rare_or_not():
    queries = caption_queries(csr_array(HELD), np.ones(9), exponent=0.5)
    assert {bool(row >= 0) for row in queries.bit_rows} == {True, False}
    for words in listed(HELD, 3):
        asked = np.array(words, np.uint32)
        answering = np.flatnonzero(HELD[:, list(words)].all(axis=1))
        assert list_answers(queries, asked).tolist() == answering.tolist()
        assert count_answers(queries, asked, 200) == len(answering)
        assert (count_answers(queries, asked, 3) > 3) == (len(answering) > 3)


def test_long_captions_draw_queries_of_all_lengths_and_take_memory_by_their_words_alone():
    rng = np.random.default_rng(0)
    held = np.zeros((300, 1000), bool)
    for row in held:
        row[rng.choice(1000, 200, replace=False)] = True
    queries = caption_queries(csr_array(held), np.ones(1000), exponent=0.5, max_words=4)
    shares = np.diff(queries.size_edges[0], prepend=0)
    assert shares.min() > 0.01
    assert shares.max() < 0.6
    given = caption_queries(
        csr_array(held), np.ones(1000), exponent=0.5, lengths=(0.5, 0, 0.5), max_words=4
    )
    sizes = Counter(len(words) for words, *_ in draw(given, 1000))
    assert set(sizes) == {1, 3}
    entries = held.sum()
    assert sum(np.asarray(part).nbytes for part in queries) < 20 * entries


def test_long_captions_that_differ_by_a_word_are_told_apart():
    held = np.ones((2, 12), bool)
    held[0, 0] = False
    for exponent in (0, 0.5, 1):
        queries = caption_queries(csr_array(held), np.ones(12), exponent=exponent, max_words=2)
        assert all(0 in words and picture == 1 for words, _, picture in draw(queries, 100))


def test_captions_and_lengths_that_leave_no_query_are_refused():
    with pytest.raises(BadInput, match=r"no query tells pictures apart.*captions that differ"):
        caption_queries(csr_array(np.ones((3, 2))), np.ones(2), exponent=0.5)
    with pytest.raises(BadInput, match="no caption has as many words as query_lengths"):
        caption_queries(csr_array(np.eye(3)), np.ones(3), exponent=0.5, lengths=(0, 1))
    with pytest.raises(BadInput, match="max_words must be at least 1"):
        caption_queries(csr_array(np.eye(3)), np.ones(3), exponent=0.5, max_words=0)
