"""Values that follow from vectors and weights: computed anew, and exact."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from visterm.calibration.link import log_logistic
from visterm.collection import Collection
from visterm.collection.store import index_rows, linear_values
from visterm.collection.store.active_model import active_model
from visterm.collection.store.feature_rows import findable, vectors_of
from visterm.collection.store.linear_values import (
    block_products,
    linear_weights,
    open_index,
    products,
)
from visterm.collection.store.vector_files import Block, parts_of
from visterm.collection.store.versions import current
from visterm.collection.training import index_sync
from visterm.index.score import best, scores
from visterm.models import load_model


def test_products_have_the_same_bits_for_one_picture_as_for_many_and_in_compiled_code(monkeypatch):
    rng = np.random.default_rng(0)
    for width in (1, 48, 1280, 1283):
        vectors, weights = (rng.standard_normal((n, width)).astype(np.float32) for n in (9, 5))
        every = products(vectors, weights)
        np.testing.assert_allclose(every, vectors.astype(float) @ weights.T, rtol=1e-5, atol=1e-5)
        one = products(vectors[3:4], weights[2:3])
        assert one.tobytes() == every[3:4, 2:3].tobytes()
        monkeypatch.setattr(linear_values, "_FEW", 0)
        assert products(vectors, weights).tobytes() == every.tobytes()
        monkeypatch.undo()


def test_products_with_codes_have_the_bits_of_those_with_decoded_vectors(monkeypatch):
    rng = np.random.default_rng(0)
    for width in (1, 48, 1283):
        vectors, weights = (rng.standard_normal((n, width)).astype(np.float32) for n in (40, 5))
        block = Block(width, parts_of(vectors, compact=True))
        assert block.is_coded
        places = rng.permutation(40)[:30]
        expected = products(block.dense(places), weights)
        assert block_products(block, places, weights).tobytes() == expected.tobytes()
        monkeypatch.setattr(linear_values, "_FEW", 0)
        assert block_products(block, places, weights).tobytes() == expected.tobytes()
        monkeypatch.undo()


def test_products_with_sparse_rows_have_the_bits_of_those_with_all_numbers(monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.setattr(linear_values, "_FEW", 0)
    for width in (1, 48, 1283):
        vectors, weights = (rng.standard_normal((n, width)).astype(np.float32) for n in (40, 5))
        vectors[rng.random(vectors.shape) < 0.7] = 0
        block = Block(width, parts_of(csr_array(vectors)))
        places = rng.permutation(40)[:30]
        expected = products(vectors[places], weights)
        assert block_products(block, places, weights).tobytes() == expected.tobytes()
        backwards = {  # as somebody else may have written them
            "data": block.arrays["data"][::-1],
            "indices": block.arrays["indices"][::-1],
            "indptr": block.arrays["indptr"][-1] - block.arrays["indptr"][::-1],
        }
        other = Block(width, backwards)
        assert width == 1 or not other.is_ordered
        assert block_products(other, 39 - places, weights).tobytes() == expected.tobytes()


def full_values(collection: Collection) -> tuple[np.ndarray, np.ndarray]:
    """Ids, and the values of all words for all pictures, by the formula."""
    version = current(collection.catalogue)
    assert version is not None
    ids = findable(collection.catalogue, version.extractor)
    vectors = vectors_of(collection.catalogue, version.extractor, ids.tolist())
    weights, link = (
        load_model(version.folder / "model.safetensors").linear_weights(),
        version.link(),
    )
    assert weights is not None
    assert link is not None
    return ids, log_logistic(link.intercepts + link.slopes * products(vectors, weights)).astype(
        np.float32
    )


def check_exact(collection: Collection) -> None:
    """Rankings are those of the full product of the stored vectors, to the last bit."""
    index = active_model(collection.catalogue).index
    ids, values = full_values(collection)
    count = values.shape[1]
    np.testing.assert_array_equal(index.rows(ids)[:, :count], values)
    rng = np.random.default_rng(0)
    for length in (1, 2, 4):
        words = np.sort(rng.choice(count, length, replace=False))
        weights = rng.random(length).astype(np.float32)
        expected = best(ids, scores(weights, values[:, words].T, ids.size), 10)
        found = index.search((words, weights), 10)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])


def test_rankings_of_a_linear_model_are_exact_though_no_value_is_kept(learnt: Collection) -> None:
    index = active_model(learnt.catalogue).index
    version = current(learnt.catalogue)
    assert version is not None
    assert index.coded().tolist() == list(range(version.words))
    assert sum(path.stat().st_size for path in version.index.glob("*.columns")) < 3000 * 60
    check_exact(learnt)
    index.prepare()
    check_exact(learnt)


def test_values_of_a_few_pictures_are_computed_once(learnt: Collection, monkeypatch) -> None:
    values = active_model(learnt.catalogue).index.exact
    assert isinstance(values, linear_values.LinearValues)
    words, ids = np.array([3, 1]), np.array([5, 999, 2])
    first = values(words, ids)
    assert np.isnan(first).tolist() == [[False, False], [True, True], [False, False]]
    monkeypatch.setattr(values, "_computed", None)
    again = values(words, np.array([2, 5]))
    np.testing.assert_array_equal(again, first[[2, 0]])


def test_a_picture_that_is_asked_for_twice_has_one_value(learnt: Collection) -> None:
    version = current(learnt.catalogue)
    assert version is not None
    twice = open_index(learnt.catalogue, version).values([0, 1], [3, 2, 3])
    once = open_index(learnt.catalogue, version).values([0, 1], [2, 3])
    np.testing.assert_array_equal(twice, once[[1, 0, 1]])


def test_a_model_that_is_not_linear_keeps_its_values(learnt: Collection) -> None:
    learnt.train(model="cmtt", force=True)
    version = current(learnt.catalogue)
    assert version is not None
    assert linear_weights(version) is None
    assert active_model(learnt.catalogue).index.coded().size == 0
    assert learnt.search("sky", k=5).results
    assert learnt.check().is_well


def test_the_weights_of_a_model_are_found_whatever_its_file_says(
    learnt: Collection,
) -> None:
    version = current(learnt.catalogue)
    assert version is not None
    model = version.folder / "model.safetensors"
    weights = linear_weights(version)
    assert weights is not None
    np.testing.assert_array_equal(weights, load_model(model).linear_weights())
    written = model.read_bytes()
    model.write_bytes(written.replace(b'\\"linear\\"', b'\\"before\\"'))  # as files of before
    np.testing.assert_array_equal(linear_weights(version), weights)


@pytest.fixture
def with_values(pictures: Callable[[int], Path], tmp_path: Path) -> Iterator[Collection]:
    """A collection whose index keeps all values, as those made before do, and knows clicks."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (index_sync, index_rows, linear_values):
            patch.setattr(module, "linear_weights", lambda *_: None)
        with Collection.open(pictures(60)) as opened:
            opened.add(features="thumbnails")
            opened.caption_from(tmp_path / "captions.tsv")
            opened.train(max_iter=2000)
            opened.judge("sky", 7, relevant=True)
            assert active_model(opened.catalogue).index.coded().size == 0
    with Collection.open(opened.root) as opened:
        yield opened


def answers(collection: Collection) -> dict[str, list[tuple[int, float]]]:
    return {
        query: [(one.picture, round(one.score, 4)) for one in collection.search(query, 60).results]
        for query in ("sky", "sea sky", "tree -sea")
    }


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills and forks are POSIX")
def test_a_kill_while_values_give_way_to_codes_leaves_some_of_both_that_answer_alike(
    with_values: Collection, monkeypatch
) -> None:
    monkeypatch.setattr(index_sync, "_PENDING", 8)
    before = answers(with_values)
    root = with_values.root
    with_values.close()
    child = os.fork()
    if child == 0:
        steps = []

        def strike(*_: object) -> None:
            steps.append(1)
            if len(steps) == 3:
                os.kill(os.getpid(), signal.SIGKILL)

        with Collection.open(root) as dying:
            dying.add(progress=strike)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    with Collection.open(root) as collection:
        index = active_model(collection.catalogue).index
        assert 0 < index.keeping(1).size < 60
        assert answers(collection) == before
        assert collection.check().is_well
        collection.add()
        index = active_model(collection.catalogue).index
        assert index.keeping(1).size == 0
        assert answers(collection) == before
        assert collection.check().is_well
        check_exact(collection)
        collection.undo()
        assert collection.check().is_well


def test_a_search_loads_no_compiled_code(learnt: Collection, monkeypatch) -> None:
    for name in [name for name in sys.modules if name.startswith("visterm.index._")]:
        monkeypatch.delitem(sys.modules, name)
    assert learnt.search("sky", k=5).results
    assert not [name for name in sys.modules if name.startswith("visterm.index._")]
