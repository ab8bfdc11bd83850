"""Ranks of pictures for captions and of captions for pictures, where a picture has several."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from visterm.datasets import CaptionedPictures
from visterm.experiments.runner import cross_modal_ranks as room
from visterm.experiments.runner.protocol import Protocol
from visterm.text import Vocabulary

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
    found = room.cross_modal_ranks(ROWS, protocol)
    # sea → picture 0 first; sun → 0 second; tree → 1 first; sea → 1 second; the rest → 2 first.
    assert found["image retrieval R@1"] == pytest.approx(100 * 5 / 7, abs=0.01)
    assert found["image retrieval R@5"] == 100
    assert found["image retrieval median rank"] == 1
    assert found["annotation R@1"] == 100


def test_blocks_do_not_change_the_ranks(
    protocol: Protocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.random.default_rng(0).random((3, 4)).astype(np.float32)
    whole = room.cross_modal_ranks(rows, protocol)
    monkeypatch.setattr(room, "_SCORES_AT_ONCE", 1)
    assert room.cross_modal_ranks(rows, protocol) == whole
