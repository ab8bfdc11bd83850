"""Compiled: queries drawn from a list or straight from captions, and pictures that answer them.

Listed queries are drawn uniformly, or by cumulative probabilities.

From captions, a picture is drawn, then some of its words, so that a query of n words comes in
proportion to the number c of pictures that hold them all, and the picture is uniform among these.
To draw it in proportion to ``c^a`` instead, 0 ≤ a ≤ 1, it is accepted with probability
``c^(a−1)``: a bound is drawn that is at least c with this probability, and answers are counted
only until there are more. Single words, whose c is known, are drawn from a table.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_AT_ONCE = 16
"""Blocks of 64 pictures that are counted together."""
_STRIDE = np.uint64(0x9E3779B97F4A7C15)
"""What SplitMix64 counts by."""
_SCANNED = 16
"""Answers that are compared one by one, without a branch; of more, the place is found by halves."""


@njit(inline="always")
def random_bits(state):  # type: ignore[no-untyped-def]
    """SplitMix64: the whole state is one counter, so that a fit can be repeated and resumed."""
    state[0] += _STRIDE
    return _mixed(state[0])


@njit(inline="always")
def _mixed(counter):  # type: ignore[no-untyped-def]
    z = counter
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(inline="always")
def below(state, n):  # type: ignore[no-untyped-def]
    """A whole number from 0 to n − 1."""
    return _scaled(random_bits(state), n)


@njit(inline="always")
def _scaled(bits, n):  # type: ignore[no-untyped-def]
    return np.int64(((bits >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@njit(inline="always")
def _share(state):  # type: ignore[no-untyped-def]
    """A number from 0 to below 1."""
    return _fraction(random_bits(state))


@njit(inline="always")
def _fraction(bits):  # type: ignore[no-untyped-def]
    return (bits >> np.uint64(11)) * 2.0**-53


@njit(inline="always")
def _part(edges, row, drawn):  # type: ignore[no-untyped-def]
    """The part that a fraction falls in, by cumulative probabilities; none without any is met."""
    low, high = np.int64(0), np.int64(edges.shape[1])
    while low < high:
        middle = (low + high) >> 1
        if edges[row, middle] <= drawn:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def draw_query(captions, state, words, weights):  # type: ignore[no-untyped-def]
    """Write the words of a query and their weights; returns how many, and a picture with them."""
    size = 1 + _part(captions.size_edges, 0, _share(state))
    if size == 1:
        word = _part(captions.word_edges, 0, _share(state))
        first, last = captions.holder_starts[word], captions.holder_starts[word + 1]
        words[0], weights[0] = word, np.float32(1)
        return size, np.int64(captions.holders[first + below(state, last - first)])
    while True:  # each is written once: inlined twice, they would take twice as long to compile
        picture = propose(captions, size, state, words)
        if _accept(captions, words[:size], state):
            _weigh(captions.idf, words[:size], weights)
            return size, picture


# What follows is inlined: a call would hand on, and count references to, all arrays of captions.


@njit(inline="always")
def propose(captions, size, state, words):  # type: ignore[no-untyped-def]
    """Some words of a caption, every set of so many words in every caption alike; its picture."""
    length = _part(captions.length_edges, size - 1, _share(state))
    first, last = captions.length_starts[length], captions.length_starts[length + 1]
    picture = captions.by_length[first + below(state, last - first)]
    start = captions.starts[picture]
    for i in range(size):  # R. Floyd's way to draw a set, one random number for each member
        last_one = start + length - size + i
        word = captions.words[start + below(state, length - size + i + 1)]
        for j in range(i):
            if words[j] == word:
                word = captions.words[last_one]
                break
        words[i] = word
    return picture


@njit(inline="always")
def _accept(captions, words, state):  # type: ignore[no-untyped-def]
    fewest = holders_of(captions, rarest(captions, words))
    if fewest == captions.pictures:
        return False  # every picture answers, and none is worse
    if captions.exponent == 1:
        return True
    most = (1.0 - _share(state)) ** (
        1.0 / (captions.exponent - 1.0)
    )  # at least c with probability c^(a−1)
    return most >= fewest or count_answers(captions, words, most) <= most


@njit(cache=True, nogil=True)
def acceptance(captions, size, proposals, state):  # type: ignore[no-untyped-def]
    """The share of proposed queries of this size that are accepted."""
    words, accepted = np.empty(size, dtype=np.uint32), 0
    for _ in range(proposals):
        propose(captions, size, state, words)
        accepted += _accept(captions, words, state)
    return accepted / proposals


@njit(inline="always")
def holders_of(captions, word):  # type: ignore[no-untyped-def]
    """How many pictures hold a word."""
    return captions.holder_starts[word + 1] - captions.holder_starts[word]


@njit(inline="always")
def rarest(captions, words):  # type: ignore[no-untyped-def]
    """The word that fewest pictures hold."""
    rare = np.int64(words[0])
    for i in range(1, len(words)):
        if holders_of(captions, np.int64(words[i])) < holders_of(captions, rare):
            rare = np.int64(words[i])
    return rare


@njit(inline="always")
def _ones(bits):  # type: ignore[no-untyped-def]
    """How many of 64 bits are set."""
    bits -= (bits >> np.uint64(1)) & np.uint64(0x5555555555555555)
    bits = (bits & np.uint64(0x3333333333333333)) + (
        (bits >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((bits * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(inline="always")
def count_answers(captions, words, most):  # type: ignore[no-untyped-def]
    """How many pictures hold all words; somewhere above ``most`` it stops counting."""
    rare = rarest(captions, words)
    count = np.int64(0)
    if captions.bit_rows[rare] >= 0:  # then the others, which more pictures hold, have bits too
        return _count_bits(captions, words, most)
    for i in range(captions.holder_starts[rare], captions.holder_starts[rare + 1]):
        count += _answers_but(captions, words, rare, np.int64(captions.holders[i]))
        if count > most:
            break
    return count


@njit(inline="always")
def _count_bits(captions, words, most):  # type: ignore[no-untyped-def]
    """`count_answers` by bits, four words at once: a short query has its first word several times.

    Some blocks are counted before it looks whether they are enough, so that the loop over them has
    no way out and becomes vector instructions.
    """
    bits, rows, last = captions.bits, captions.bit_rows, len(words) - 1
    first, second = np.uint32(rows[words[0]]), np.uint32(rows[words[min(1, last)]])
    third, fourth = np.uint32(rows[words[min(2, last)]]), np.uint32(rows[words[min(3, last)]])
    count = np.int64(0)
    for start in range(0, bits.shape[1], _AT_ONCE):
        for i in range(start, min(start + _AT_ONCE, bits.shape[1])):
            block = np.uint64(i)
            held = bits[first, block] & bits[second, block]
            held &= bits[third, block] & bits[fourth, block]
            for j in range(4, len(words)):
                held &= bits[np.uint32(rows[words[j]]), block]
            count += _ones(held)
        if count > most:
            break
    return count


@njit(inline="always")
def is_listed(relevant, first, last, picture):  # type: ignore[no-untyped-def]
    """Whether a picture is among the sorted ones from first to last."""
    if last - first <= _SCANNED:
        found = False
        for i in range(first, last):
            found |= relevant[i] == picture
        return found
    low, high = first, last
    while low < high:
        middle = (low + high) >> 1
        if relevant[middle] < picture:
            low = middle + 1
        else:
            high = middle
    return low < last and relevant[low] == picture


@njit(inline="always")
def _answers_but(captions, words, known, picture):  # type: ignore[no-untyped-def]
    """The same where it is known that the picture holds one of them."""
    for word in words:
        row = captions.bit_rows[word]
        if row >= 0:
            bits = captions.bits[np.uint32(row), picture >> 6]
            if not (bits >> np.uint64(picture & 63)) & np.uint64(1):
                return False
        elif word != known:
            low, high = captions.starts[picture], captions.starts[picture + 1]
            last = high
            while low < high:
                middle = (low + high) >> 1
                if captions.words[middle] < word:
                    low = middle + 1
                else:
                    high = middle
            if low == last or captions.words[low] != word:
                return False
    return True


@njit(cache=True, nogil=True)
def set_bits(bits, rows, starts, holders):  # type: ignore[no-untyped-def]
    """A bit for each picture that holds a word, in the row of the word."""
    for word in range(len(rows)):
        if rows[word] >= 0:
            for i in range(starts[word], starts[word + 1]):
                picture = np.int64(holders[i])
                bits[rows[word], picture >> 6] |= np.uint64(1) << np.uint64(picture & 63)


@njit(inline="always")
def _weigh(idf, words, weights):  # type: ignore[no-untyped-def]
    """q_t ∝ idf_t, of unit length; where all are 0, alike."""
    square = np.float32(0)
    for i in range(len(words)):
        weights[i] = idf[words[i]]
        square += weights[i] * weights[i]
    for i in range(len(words)):
        if square > 0:
            weights[i] /= np.sqrt(square)
        else:
            weights[i] = np.float32(1) / np.sqrt(np.float32(len(words)))


@njit(cache=True, nogil=True)
def list_answers(captions, words):  # type: ignore[no-untyped-def]
    """The pictures that hold all words, in order."""
    rare, count = rarest(captions, words), 0
    first, last = captions.holder_starts[rare], captions.holder_starts[rare + 1]
    pictures = np.empty(last - first, dtype=np.int64)
    for i in range(first, last):
        if _answers_but(captions, words, rare, np.int64(captions.holders[i])):
            pictures[count] = captions.holders[i]
            count += 1
    return pictures[:count]


@njit(cache=True, nogil=True)
def draw_from_captions(captions, state, block, worse):  # type: ignore[no-untyped-def]
    """Fill a `QueryBlock`, and each row of ``worse`` with pictures that do not answer."""
    for i in range(len(block.sizes)):
        words = block.words[i]
        size, block.pictures[i] = draw_query(captions, state, words, block.weights[i])
        block.sizes[i], block.numbers[i] = size, -1
        for j in range(worse.shape[1]):
            picture = below(state, captions.pictures)
            while _answers_but(captions, words[:size], -1, picture):
                picture = below(state, captions.pictures)
            worse[i, j] = picture


@njit(cache=True, nogil=True)
def draw_from_list(listed, pictures, state, block, worse):  # type: ignore[no-untyped-def]
    """The same of listed queries, in a third of the time where arrays and the state are local."""
    starts, all_words, all_weights, relevant_starts, relevant, edges = listed
    words, weights, sizes, numbers, better = block
    counter = state[0]
    for i in range(len(sizes)):
        counter += _STRIDE
        number = np.int64(0)
        if edges.size:
            number = _part(edges, 0, _fraction(_mixed(counter)))
        else:
            number = _scaled(_mixed(counter), len(starts) - 1)
        start = starts[number]
        sizes[i], numbers[i] = starts[number + 1] - start, number
        for j in range(sizes[i]):
            words[i, j], weights[i, j] = all_words[start + j], all_weights[start + j]
        first, last = relevant_starts[number], relevant_starts[number + 1]
        counter += _STRIDE
        better[i] = relevant[first + _scaled(_mixed(counter), last - first)]
        for j in range(worse.shape[1]):
            counter += _STRIDE
            picture = _scaled(_mixed(counter), pictures)
            while is_listed(relevant, first, last, picture):
                counter += _STRIDE
                picture = _scaled(_mixed(counter), pictures)
            worse[i, j] = picture
    state[0] = counter


@njit(cache=True, nogil=True)
def count_all_answers(captions, block):  # type: ignore[no-untyped-def]
    """How many pictures answer each query of a block."""
    counts = np.empty(len(block.sizes), dtype=np.int64)
    for i in range(len(counts)):
        words = block.words[i, : block.sizes[i]]
        counts[i] = count_answers(captions, words, captions.pictures)
    return counts


@njit(cache=True, nogil=True)
def are_answers(captions, block, rows, pictures):  # type: ignore[no-untyped-def]
    """Whether each picture holds all words of the query in the row of the block beside it."""
    is_answer = np.empty(len(rows), dtype=np.bool_)
    for i in range(len(rows)):
        words = block.words[rows[i], : block.sizes[rows[i]]]
        is_answer[i] = _answers_but(captions, words, -1, pictures[i])
    return is_answer


@njit(cache=True, nogil=True)
def are_listed(listed, block, rows, pictures):  # type: ignore[no-untyped-def]
    """Whether each picture is on the list of the query in the row of the block beside it."""
    is_answer = np.empty(len(rows), dtype=np.bool_)
    for i in range(len(rows)):
        number = block.numbers[rows[i]]
        first, last = listed.relevant_starts[number], listed.relevant_starts[number + 1]
        is_answer[i] = is_listed(listed.relevant, first, last, pictures[i])
    return is_answer
