"""The recipe that makes the starter: classes, what can be seen, and how two kinds of words join."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

sys.path.append(str(Path(__file__).parents[2]))

from starter.class_weights import of_unit_spread
from starter.classes import read_classes
from starter.joint_words import shares
from starter.trained_words import can_be_seen, word_quality

from visterm.errors import BadInput
from visterm.text import Vocabulary
from visterm.text.tokens import tokens


def test_every_class_has_a_name_and_every_word_is_one_that_can_be_typed():
    classes = read_classes()
    assert len(classes.names) == 1000
    assert all(name.strip() for name in classes.names)
    for word, numbers in classes.words.items():
        assert tokens(word) == [word]
        assert numbers
        assert set(numbers) <= set(range(1000))


def test_words_of_classes_fold_into_different_words():
    assert len(Vocabulary.of_words(list(read_classes().words))) == len(read_classes().words)


@pytest.mark.parametrize(
    ("number", "name"),
    [(0, "tench"), (151, "chihuahua"), (292, "tiger"), (483, "castle"), (779, "school bus"),
     (978, "seashore"), (999, "toilet paper")],
)  # fmt: skip
def test_classes_stand_at_their_numbers(number: int, name: str):
    assert read_classes().names[number] == name


def test_a_hypernym_is_all_of_its_kind():
    words = read_classes().words
    assert words["dog"] == tuple(range(151, 269))
    assert set(words["cat"]) == set(range(281, 286))
    assert {404, 895} == set(words["airplane"])


def test_a_table_with_a_line_missing_is_refused(tmp_path: Path):
    table = Path(read_classes.__defaults__[0])
    lines = [line for line in table.read_text().splitlines() if not line.startswith("150 ")]
    (tmp_path / "classes.txt").write_text("\n".join(lines))
    with pytest.raises(BadInput, match="150"):
        read_classes(tmp_path / "classes.txt")


def test_words_that_rank_by_chance_cannot_be_seen():
    random = np.random.default_rng(0)
    held = random.random((400, 3)) < 0.1
    held[2:, 2] = False
    rows = random.standard_normal((400, 3)).astype(np.float32)
    rows[:, 0] += 3 * held[:, 0]
    words = csr_array(held.astype(np.float32))
    seen = can_be_seen(word_quality(rows, words), words)
    assert seen.tolist() == [True, False, False]
    assert can_be_seen(word_quality(rows, words), words, unjudged=True).tolist()[2]


def test_shares_follow_whoever_sees_the_word_and_prefer_the_network_where_it_costs_little():
    random = np.random.default_rng(1)
    held = random.random((600, 3)) < 0.2
    noise = random.standard_normal((600, 6)).astype(np.float32)
    trained, known = noise[:, :3].copy(), noise[:, 3:].copy()
    trained[:, 0] += 4 * held[:, 0]
    known[:, 1] += 4 * held[:, 1]
    trained[:, 2] += 40 * held[:, 2]
    known[:, 2] += 40 * held[:, 2]
    found = shares(trained, known, csr_array(held.astype(np.float32)))
    assert found[0] >= 0.75
    assert found[1] <= 0.25
    assert found[2] == 0.0


def test_unit_spread_is_unit_spread():
    random = np.random.default_rng(2)
    vectors = random.standard_normal((50, 4)).astype(np.float32)
    weights = of_unit_spread(random.standard_normal((3, 4)).astype(np.float32), vectors)
    np.testing.assert_allclose((vectors @ weights.T).std(axis=0), 1, rtol=1e-5)
