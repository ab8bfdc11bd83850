"""Contrastive maps: what the loss asks for, written slowly, and pictures with several captions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, hstack

from visterm.models import Contrastive

torch = pytest.importorskip("torch")


def pairs(n=120, seed=0):
    """Pictures that show one of six subjects, and texts that name it."""
    rng = np.random.default_rng(seed)
    subject = rng.integers(0, 6, n)
    seen = np.eye(6)[subject] @ rng.normal(size=(6, 12)) + 0.2 * rng.normal(size=(n, 12))
    return seen.astype(np.float32), np.eye(6, dtype=np.float32)[subject], subject


def small(**changes):
    return Contrastive(
        **{"n_components": 16, "learning_rate": 0.01, "batch_size": 40, "max_iter": 20, **changes}
    )


def test_the_loss_is_that_of_the_formula():
    from visterm.models._contrastive_descent import Maps, TrainingPairs

    seen, said, _ = pairs(8)
    owners = np.array([0, 0, 1, 2, 3, 4, 5, 6])
    given = TrainingPairs(seen, owners, csr_array(said), seen.mean(axis=0), "cpu")
    maps = Maps(given, small(temperature=0.5).get_params(), torch)
    x, y = (torch.nn.functional.normalize(torch.randn(8, 4), dim=1) for _ in range(2))
    scores = (x @ y.T).numpy().astype(float) / 0.5
    expected = 0.0
    for table in (scores, scores.T):
        for i, row in enumerate(table):
            own = np.flatnonzero(owners == owners[i])
            log_shares = row - np.log(np.exp(row).sum())
            expected -= log_shares[own].mean() / 8
    found = maps.loss(x, y, torch.from_numpy(owners)).item()
    assert found == pytest.approx(expected, rel=1e-5)


def test_dense_and_sparse_columns_of_texts_are_one_map():
    seen, said, subject = pairs()
    rare = csr_array((np.ones(120), (np.arange(120), np.arange(120) % 30)), shape=(120, 30))
    texts = csr_array(hstack([rare, said, np.ones((120, 1))], format="csr"))
    model = small(hidden_units=8).fit(seen, texts)
    assert model.text_map_.shape == (37, 16)
    rows = model.text_rows(np.hstack([np.zeros((6, 30)), np.eye(6), np.ones((6, 1))]))
    assert np.mean((model.picture_rows(seen) @ rows.T).argmax(axis=1) == subject) > 0.9


def test_all_captions_of_a_picture_are_its_own():
    seen, said, subject = pairs()
    texts = np.concatenate([np.hstack([said, 0 * said]), np.hstack([0 * said, said])])
    model = small().fit(np.concatenate([seen, seen]), texts)
    for rows in np.split(model.text_rows(np.eye(12)), 2):
        found = (model.picture_rows(seen) @ rows.T).argmax(axis=1)
        assert np.mean(found == subject) > 0.9


def test_mapping_needs_no_torch(monkeypatch, tmp_path):
    seen, said, _ = pairs()
    model = small(hidden_units=4).fit(seen, said)
    model.save(tmp_path / "maps")
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    again = Contrastive.load(tmp_path / "maps")
    assert np.array_equal(again.picture_rows(seen), model.picture_rows(seen))
