"""Values that were computed before: the latest, and never too many."""

import numpy as np

from visterm.collection.store.remembered_values import RememberedValues


def values_of(words, ids):
    """A value of its own for every word and picture."""
    return (np.asarray(words)[None, :] * 1000.0 + np.asarray(ids)[:, None]).astype(np.float32)


def test_values_come_back_by_word_and_picture_in_any_order():
    rng = np.random.default_rng(0)
    remembered, said = RememberedValues(), {}
    for _ in range(50):
        words, ids = rng.integers(0, 5, 2), rng.integers(0, 40, 8)
        remembered.keep(words, ids, values_of(words, ids))
        said |= {(word, one): None for word in words for one in ids}
        words, ids = rng.permutation(5), rng.permutation(40)
        known = np.array([[(word, one) in said for word in words] for one in ids])
        expected = np.where(known, values_of(words, ids), np.nan)
        np.testing.assert_array_equal(remembered.of(words, ids), expected)


def test_too_many_values_make_room_for_the_latest():
    remembered = RememberedValues(most=4)
    word = np.array([1])
    for first in (0, 3):
        some = np.arange(first, first + 3)
        remembered.keep(word, some, values_of(word, some))
    assert np.isnan(remembered.of(word, np.arange(3))).all()
    np.testing.assert_array_equal(remembered.of(word, some), values_of(word, some))
    remembered.keep(word, np.arange(9), values_of(word, np.arange(9)))
    assert not np.isnan(remembered.of(word, some)).any(), "more than there is room for is not kept"


def test_a_picture_without_a_vector_is_asked_for_again():
    remembered, word, picture = RememberedValues(), np.array([2]), np.array([7])
    remembered.keep(word, picture, np.full((1, 1), np.nan, np.float32))
    remembered.keep(word, picture, np.float32([[0.5]]))
    assert remembered.of(word, picture).item() == 0.5
