"""BLEU against sacrebleu, ROUGE-1 against rouge-score, on texts of every shape."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visterm.errors import BadInput
from visterm.evaluation.caption_similarity import CaptionSimilarity

sacrebleu = pytest.importorskip("sacrebleu", reason="sacrebleu is not installed")
rouge_scorer = pytest.importorskip("rouge_score.rouge_scorer", reason="no rouge-score")

CAPTIONS = [
    "a man in a red tee-shirt and a woman carrying a red bag are watching some waterfalls;",
    "View of giant waterfalls over a u-shaped cliff; white clouds in a blue sky (in the back);",
    "a red bag, a red bag and a man 1,200.5 m high at 7-8 o'clock.",
    "the sea",
    "sea",
    "",
    "...",
    "Zürich & l'été: 20% <b>&quot;sun&quot;</b>",
    "a a a a a red red",
]
TEXTS = st.text(st.sampled_from("abA1. ,;-'&<é\n"), max_size=30) | st.lists(
    st.sampled_from(["a", "red", "bag", "Man", "sea,", "2.5", "x-ray", ";"]), max_size=12
).map(" ".join)


def their_bleu(candidate: str, reference: str, order: int, *, smooth: bool = True) -> float:
    bleu = sacrebleu.BLEU(
        lowercase=True,
        tokenize="13a",
        max_ngram_order=order,
        smooth_method="exp" if smooth else "none",
        effective_order=False,
    )
    return bleu.sentence_score(candidate, [reference]).score / 100


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("smooth", [True, False])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_bleu_of_every_pair_is_sacrebleus(order, smooth):
    n = len(CAPTIONS)
    found, true = np.divmod(np.arange(n * n), n)
    ours = CaptionSimilarity(CAPTIONS, CAPTIONS).bleu(found, true, order, smooth=smooth)
    theirs = [
        their_bleu(CAPTIONS[i], CAPTIONS[j], order, smooth=smooth)
        for i, j in zip(found, true, strict=True)
    ]
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=4), st.sampled_from([1, 2, 3]))
def test_bleu_and_rouge_agree_with_their_packages_on_drawn_texts(pairs, order):
    found, true = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    numbers = np.arange(len(pairs))
    similarity = CaptionSimilarity(found, true)
    bleu = [their_bleu(left, right, order) for left, right in pairs]
    np.testing.assert_allclose(similarity.bleu(numbers, numbers, order), bleu, atol=1e-12)
    scorer = rouge_scorer.RougeScorer(["rouge1"], use_stemmer=False)
    theirs = [scorer.score(right, left)["rouge1"] for left, right in pairs]
    ours = similarity.rouge(numbers, numbers)
    np.testing.assert_allclose(ours.precision, [one.precision for one in theirs], atol=1e-12)
    np.testing.assert_allclose(ours.recall, [one.recall for one in theirs], atol=1e-12)
    np.testing.assert_allclose(ours.f1, [one.fmeasure for one in theirs], atol=1e-12)


def test_the_best_five_are_averaged_and_text_to_pictures_swaps_the_roles():
    found, true = CAPTIONS[:4], [CAPTIONS[2], CAPTIONS[3]]
    best = [[0, 1, 2], [3, 2, 1]]
    similarity = CaptionSimilarity(found, true)
    to_text, to_pictures = similarity.of_best(best), similarity.of_best(best, "to pictures")
    pairs = [(found[i], true[q]) for q, row in enumerate(best) for i in row]
    for order in (1, 2, 3):
        one_way = np.mean([their_bleu(left, right, order) for left, right in pairs])
        other_way = np.mean([their_bleu(right, left, order) for left, right in pairs])
        assert to_text[f"BLEU-{order}"] == pytest.approx(one_way)
        assert to_pictures[f"BLEU-{order}"] == pytest.approx(other_way)
    assert to_text["ROUGE-1"] == pytest.approx(to_pictures["ROUGE-1"])
    assert to_text["ROUGE-1 recall"] != pytest.approx(to_pictures["ROUGE-1 recall"])


def test_wrong_pairs_and_orders_are_told():
    similarity = CaptionSimilarity(["a"], ["a", "b"])
    with pytest.raises(BadInput, match="from 1 to 3"):
        similarity.bleu([0], [0], 4)
    with pytest.raises(BadInput, match="1 found captions"):
        similarity.bleu([1], [0])
    with pytest.raises(BadInput, match="2 true captions × k"):
        similarity.of_best([[0]])
    with pytest.raises(BadInput, match="one length"):
        similarity.rouge([0], [0, 1])


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("swapped", [False, True])
def test_bleu_of_a_corpus_is_sacrebleus(order, swapped):
    found = ["a blue sky over a sea", "a red car; and a house", "a man with a hat"]
    true = ["a blue sky and the sea with waves", "a red car", "a man with a hat on a horse"]
    similarity = CaptionSimilarity(found, true)
    theirs = sacrebleu.BLEU(lowercase=True, tokenize="13a", max_ngram_order=order)
    candidates, references = (true, found) if swapped else (found, true)
    expected = theirs.corpus_score(candidates, [references]).score / 100
    numbers = range(3)
    ours = similarity.corpus_bleu(list(numbers), list(numbers), order, true_is_candidate=swapped)
    assert ours == pytest.approx(expected, rel=1e-6)
