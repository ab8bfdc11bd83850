"""Ranks of pictures for captions and of captions for pictures, where a picture has several."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from visterm.datasets import CaptionedPictures
from visterm.experiments import runs as room
from visterm.experiments.comparison import make_model
from visterm.experiments.protocol import Protocol
from visterm.models import Cca
from visterm.text import Relevance, Vocabulary

WORDS = ("sea", "sun", "tree", "snow")


@pytest.fixture
def protocol() -> Protocol:
    captions = ["sea\nsun", "tree\nsea", "snow\ntree snow\nsun"]
    pictures = CaptionedPictures([Path(f"{i}.jpg") for i in range(3)], captions)
    return Protocol("toy", pictures, pictures, Vocabulary.of_words(WORDS), 1, 1)


# Pictures × words; written by hand so that every rank below can be read off.
ROWS = np.array([[3, 1, 0, 0], [2, 0, 3, 0], [0, 2, 1, 5]], dtype=np.float32)


def test_each_caption_asks_for_its_picture_and_the_best_caption_of_a_picture_counts(
    protocol: Protocol,
) -> None:
    found = room.cross_modal_ranks(None, ROWS, protocol)
    # sea → picture 0 first; sun → 0 second; tree → 1 first; sea → 1 second; the rest → 2 first.
    assert found["image retrieval R@1"] == pytest.approx(100 * 5 / 7, abs=0.01)
    assert found["image retrieval R@5"] == 100
    assert found["image retrieval median rank"] == 1
    assert found["annotation R@1"] == 100


def test_blocks_do_not_change_the_ranks(
    protocol: Protocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.random.default_rng(0).random((3, 4)).astype(np.float32)
    whole = room.cross_modal_ranks(None, rows, protocol)
    monkeypatch.setattr(room, "_SCORES_AT_ONCE", 1)
    assert room.cross_modal_ranks(None, rows, protocol) == whole


def test_cca_ranks_by_its_own_f_and_bitr_learns_to_rank_pictures() -> None:
    rng = np.random.default_rng(0)
    pictures = rng.random((30, 6)).astype(np.float32)
    words = csr_array((rng.random((30, 5)) < 0.4).astype(np.float32))
    model = Cca(ridge=0.1, text_ridge=0.1, scaling=1.0).fit(pictures, words)
    asked = Relevance(csr_array(np.eye(5, dtype=np.float32)), csr_array(words.T))
    scores = room.asked_of(model, asked).queries @ room.mapped(model, pictures).T
    expected = model.text_rows(asked.queries) @ model.picture_rows(pictures).T
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-5)
    assert make_model("bitr").ranks == "pictures"
    bitr = make_model("bitr(C=1.0)").set_params(retrain=False).fit(pictures, words)
    assert room.asked_of(bitr, asked) is asked
