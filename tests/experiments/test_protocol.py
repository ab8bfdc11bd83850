"""The protocol is the benchmark: who teaches, who chooses, and who is looked at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from visterm.datasets import CaptionedDataset, CaptionedPictures, data_folder, read_dataset
from visterm.errors import BadInput
from visterm.evaluation import seen_queries
from visterm.experiments.protocol import (
    Protocol,
    corel5k,
    dealt_out,
    protocol_of,
    split_off_test,
)
from visterm.experiments.tables import reproduce
from visterm.text import relevance_from_captions


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


def test_several_captions_of_a_picture_are_never_parted(tmp_path: Path) -> None:
    table = tmp_path / "captions.tsv"
    said = ["a tree in snow", "snow on a tree", "the sea", "sun and sea", "a tree by the sea"]
    table.write_text("".join(f"{i}.jpg\t{text}\n" for i in range(40) for text in said))
    protocol = protocol_of(read_dataset(table))
    assert set(protocol.development.paths).isdisjoint(protocol.test.paths)
    assert len(protocol.development) + len(protocol.test) == 40
    train, valid = protocol.split
    assert len({protocol.development.paths[i] for i in [*train, *valid]}) == 32


def test_validation_pictures_that_are_given_validate_whatever_the_seed() -> None:
    parts = [
        replace(captioned(n), paths=[Path(f"{n}-{i}.jpg") for i in range(n)]) for n in (30, 10, 20)
    ]
    data = CaptionedDataset("given", parts[0], parts[2], parts[1])
    for seed in (0, 1):
        train, valid = protocol_of(data, seed=seed).split
        assert train.tolist() == list(range(30))
        assert valid.tolist() == list(range(30, 40))


def test_queries_are_seen_when_a_development_picture_answers_them() -> None:
    protocol = split_off_test(captioned(60))
    few = replace(protocol, development=protocol.development.take([0, 1]), held_out=1)
    for one in (protocol, few):
        relevance = relevance_from_captions(one.captions, one.vocabulary.idf, max_words=4)
        expected = seen_queries(one.test_relevance, relevance)
        assert one.seen_queries.tolist() == expected.tolist()
    assert 0 < few.seen_queries.sum() < len(few.seen_queries)


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


def test_a_data_set_is_dealt_out_anew_by_shares() -> None:
    parts = [
        replace(captioned(n), paths=[Path(f"{n}-{i}.jpg") for i in range(n)]) for n in (70, 20)
    ]
    protocol = dealt_out(CaptionedDataset("toy", *parts), [42, 29, 29], seed=1, max_words=3)
    train, held = protocol.split
    assert [len(train), len(held), len(protocol.test)] == [38, 26, 26]
    every = {*protocol.development.paths, *protocol.test.paths}
    assert every == {path for part in parts for path in part.paths}
    assert protocol.max_words == 3


def test_the_digest_changes_with_captions_pictures_split_and_seed() -> None:
    first = split_off_test(captioned(60))
    changed = list(first.development.captions)
    changed[0] += " dragon"
    others = [
        replace(first, seed=1),
        replace(first, held_out=first.held_out + 1),
        replace(first, max_words=1),
        replace(first, development=replace(first.development, captions=changed)),
        replace(first, test=first.test.take(range(5))),
    ]
    assert first.digest == split_off_test(captioned(60)).digest
    assert len({one.digest for one in (first, *others)}) == 6
