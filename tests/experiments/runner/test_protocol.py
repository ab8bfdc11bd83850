"""The protocol is the benchmark: who teaches, who chooses, and who is looked at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from visterm.datasets.captioned_pictures import CaptionedPictures
from visterm.datasets.locations import data_folder
from visterm.errors import BadInput
from visterm.experiments.papers.registry import TABLES, maker_of, reproduce
from visterm.experiments.runner.protocol import Protocol, corel5k, split_off_test


def captioned(count: int) -> CaptionedPictures:
    said = ["tree snow", "tree sea", "sea sun", "snow sun tree"]
    return CaptionedPictures(
        [Path(f"{i}.jpg") for i in range(count)], [said[i % 4] for i in range(count)], "toy"
    )


def test_no_picture_teaches_and_is_tested() -> None:
    protocol = split_off_test(captioned(100), seed=3)
    assert set(protocol.development.paths).isdisjoint(protocol.test.paths)
    assert len(protocol.development) + len(protocol.test) == 100


def test_training_and_validation_pictures_are_disjoint_and_complete() -> None:
    train, valid = split_off_test(captioned(100)).split
    assert len(np.intersect1d(train, valid)) == 0
    assert sorted([*train, *valid]) == list(range(80))


def test_the_seed_decides_the_split() -> None:
    first, again, other = (split_off_test(captioned(100), seed=s).test.paths for s in (0, 0, 1))
    assert first == again
    assert first != other


def test_too_few_pictures_or_words_are_refused_with_advice() -> None:
    with pytest.raises(BadInput, match="too few to test on"):
        split_off_test(captioned(10))
    lonely = CaptionedPictures(
        [Path(f"{i}.jpg") for i in range(30)], [f"word{i}" for i in range(30)], "lonely"
    )
    with pytest.raises(BadInput, match="nothing to learn"):
        split_off_test(lonely)


@pytest.fixture(scope="module")
def corel() -> Protocol:
    try:
        folder = data_folder("corel5k")
    except BadInput as missing:
        pytest.skip(str(missing))
    return corel5k(folder)


def test_corel_gives_the_papers_figures_exactly(corel: Protocol) -> None:
    found = reproduce("corel-statistics").found
    published = {
        "vocabulary": 179,
        "test_queries": 2241,
        "single": 179,
        "multi": 2062,
        "easy": 421,
        "difficult": 1820,
        "mean_relevant": 2.37,
        "mean_words": 2.51,
    }
    assert {name: found[name] for name in published} == published


def test_corel_splits_4000_to_500(corel: Protocol) -> None:
    assert [len(part) for part in corel.split] == [4000, 500]


def test_every_table_has_something_that_makes_it() -> None:
    assert all(callable(maker_of(table)) for table in TABLES)
