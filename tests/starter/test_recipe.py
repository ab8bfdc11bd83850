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
from starter.corpus import NOT_TRAINED
from starter.related_words import LENT, lent
from starter.trained_words import can_be_seen, discriminants, word_quality

from visterm.errors import BadInput
from visterm.text import Vocabulary
from visterm.text.tokens import tokens
from visterm.text.unoffered_words import PEOPLE


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
    held = random.random((4000, 3)) < 0.1
    held[2:, 2] = False
    rows = random.standard_normal((4000, 3)).astype(np.float32)
    rows[:, 0] += 3 * held[:, 0]
    words = csr_array(held.astype(np.float32))
    seen = can_be_seen(word_quality(rows, words), words)
    assert seen.tolist() == [True, False, False]
    assert can_be_seen(word_quality(rows, words), words, unjudged=True).tolist()[2]


def test_discriminants_point_from_all_pictures_to_those_of_a_word():
    random = np.random.default_rng(1)
    held = random.random((600, 2)) < 0.2
    vectors = random.standard_normal((600, 5)).astype(np.float32)
    vectors[:, 0] += 3 * held[:, 0]
    vectors[:, 1] *= 5
    vectors[:, 1] += 3 * held[:, 1]
    found = discriminants(vectors, csr_array(held.astype(np.float32)))
    assert np.abs(found).argmax(axis=1).tolist() == [0, 1]
    assert found[0, 0] > 3 * found[1, 1] > 0, "a direction that varies anyway counts less"


def test_words_that_mean_nearly_the_same_lend_each_other_weights():
    words = ("ocean", "sea", "tractor", "purple", "violet", "monk")
    shares = lent(words)
    assert not shares.diagonal().any()
    assert shares[0].argmax() == 1
    assert shares[3].argmax() == 4
    assert (shares.sum(axis=1) <= LENT + 1e-6).all()


def test_unit_spread_is_unit_spread():
    random = np.random.default_rng(2)
    vectors = random.standard_normal((50, 4)).astype(np.float32)
    weights = of_unit_spread(random.standard_normal((3, 4)).astype(np.float32), vectors)
    np.testing.assert_allclose((vectors @ weights.T).std(axis=0), 1, rtol=1e-5)


def test_who_is_seen_is_trained_and_what_people_are_by_skin_age_or_origin_is_not():
    for word in ("dark-skinned", "native", "peruvian", "blond", "bald", "elderly", "young"):
        assert word in NOT_TRAINED
    assert {"man", "woman", "child"} <= PEOPLE - NOT_TRAINED
