"""Hundreds of damaged picture files: each gives pixels or a reason, and none ends or hangs a child
that was not meant to."""

from __future__ import annotations

import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks.campaign.mutations import Mutant, bombs, mutated, pictures
from tests.readers import reading_by

from visterm.pictures.reader import Wanted
from visterm.pictures.sandbox import CRASHES, HANGS, Readers

COUNT = 400


def outcomes(mutants: list[Mutant], children: Readers) -> Counter[str]:
    def outcome(mutant: Mutant) -> str:
        name, data = mutant
        found = children.read(data, Wanted(pixels=True, metadata=True, max_side=64))
        assert bool(found.pixels) == (found.reason is None), name
        assert found.reason != CRASHES, name
        return "read" if found.reason is None else found.reason.partition(",")[0]

    with ThreadPoolExecutor(children.children) as threads:
        return Counter(threads.map(outcome, mutants))


def test_hundreds_of_damaged_files_give_pixels_or_a_reason() -> None:
    rng = np.random.default_rng(2_006)
    healthy = pictures(rng)
    children = Readers(2)
    with reading_by(children):
        found = outcomes([mutated(healthy, n, rng) for n in range(COUNT)], children)
    assert found[HANGS] == 0
    # Damage that never or always shows would say that the mutations miss the decoders.
    assert COUNT // 5 < found["read"] < COUNT * 4 // 5, found


def test_files_that_unpack_without_end_are_read_or_given_up_in_their_time() -> None:
    harmful, children = list(islice(bombs(), 2)), Readers(2, longest=0.3)
    with reading_by(children):
        found = outcomes(harmful, children)
    assert found.total() == len(harmful)
    assert found[HANGS] == 1, found
