"""Word weights on matrices: the cases a vocabulary never makes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from visterm.errors import BadInput
from visterm.text.weighting import inverse_frequency, weigh_queries


def test_stored_zeros_are_not_words_that_a_caption_holds():
    captions = csr_array((np.array([1, 0]), np.array([0, 1]), np.array([0, 1, 2])), shape=(2, 2))
    assert inverse_frequency(captions).tolist() == pytest.approx([np.log(2), np.log(4)])


def test_unwanted_words_keep_their_sign_under_both_weightings():
    words = csr_array(np.array([[2.0, -3.0]]))
    idf = np.array([1.0, 1.0])
    assert weigh_queries(words, idf).toarray() == pytest.approx(np.array([[1, -1]]) / np.sqrt(2))
    often = weigh_queries(words, idf, binary=False).toarray()
    assert often == pytest.approx(np.array([[2, -3]]) / np.sqrt(13))


def test_queries_over_another_vocabulary_are_refused():
    with pytest.raises(BadInput, match="over 2 words but 3 word weights"):
        weigh_queries(csr_array((1, 2)), np.ones(3))


def test_weighing_leaves_its_input_as_it_was():
    words = csr_array(np.array([[2, 0, 1]], dtype=np.int32))
    weighed = weigh_queries(words, np.array([0.5, 1.0, 2.0]))
    weighed.indices[:] = 0
    assert words.toarray().tolist() == [[2, 0, 1]]
    assert weighed.dtype == np.float32
