"""What does a dual encoder bring: words before any caption, learning on top, and at what cost?

    python -m benchmarks.encoder --json

The encoder has hand-set weights and knows the colours and shapes of drawn pictures
(`benchmarks.drawn_encoder`). ``zero_shot_ap`` is the mean AP of its words, some of which no starter
knows, before anybody has captioned or clicked. Then somebody calls two things by names of her own,
"glyph" and "ember": ``captions`` are the APs of these names before and after 40 of 200 pictures are
captioned, over the others; ``clicks`` those before and after each of ten clicks on the first
picture not yet judged. ``unseen`` is a word that no model has met, asked in a collection of many
pictures: its time without the text encoder's own, over the time of one reading of all rows with the
same threads (``ratio_rows``).
``torch_difference`` is the largest between vectors and those of the same graph in torch.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import drawn_encoder
from benchmarks.common import say, show
from benchmarks.drawn_collection import AT_ONCE, put
from benchmarks.rankings import word_model
from visterm import encoders
from visterm.collection import Collection
from visterm.collection.feedback.encoder_words import SEPARATION
from visterm.collection.ingest.extractors import prepare, take
from visterm.collection.store.feature_rows import Rows
from visterm.collection.training.pretrained import begin
from visterm.features import parse_features

NAMES = {"glyph": ("blue", "triangle"), "ember": ("red", "square")}
"""Names that nobody has heard of, for what they mean to one person."""
CAPTIONED, CLICKS = 40, 10
UNSEEN = ["pollution", "gargoyle", "zeppelin", "turbine", "harvest", "smoke", "ballet", "crimson"]

Drawn = dict[str, tuple[str, str]]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.encoder", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--pictures", type=int, default=200, help="drawn pictures")
    parser.add_argument("--many", type=int, default=100_000, help="pictures for unseen words")
    parser.add_argument("--width", type=int, default=512, help="numbers of their vectors")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        os.environ["VISTERM_ENCODERS"] = str(root / "encoders")
        encoders.add(str(drawn_encoder.write(root / "drawn")))
        drawn = drawn_encoder.draw(root / "pictures", asked.pictures)
        found: dict[str, Any] = {
            "torch_difference": torch_difference(root / "pictures", list(drawn)[:50])
        }
        with Collection.open(root / "pictures") as collection:
            collection.add(features="encoder(drawn)")
            found |= zero_shot(collection, drawn)
            found["clicks"] = clicks(collection, drawn)
            collection.forget_judgements()
            found["captions"] = captions(collection, drawn)
        found["unseen"] = unseen(root / "many", asked.many, asked.width)
    show(found, as_json=asked.json)


def zero_shot(collection: Collection, drawn: Drawn) -> dict[str, Any]:
    """Mean AP of single words and of pairs, before anybody said anything."""
    words = {word: (word,) for word in drawn_encoder.CONCEPTS}
    words |= {word: (same,) for word, same in drawn_encoder.SYNONYMS.items()}
    pairs = {f"{one} {other}": (one, other) for one, other in set(drawn.values())}
    single = [average_precision(collection, *one, drawn) for one in words.items()]
    return {
        "zero_shot_ap": round(100 * float(np.mean(single)), 2),
        "zero_shot_ap_least": round(100 * min(single), 2),
        "zero_shot_ap_pairs": round(
            100 * float(np.mean([average_precision(collection, *p, drawn) for p in pairs.items()])),
            2,
        ),
        "words": len(words),
    }


def captions(collection: Collection, drawn: Drawn) -> dict[str, list[float]]:
    """AP of a person's own names among pictures without a caption, before and after training."""
    some = dict(list(drawn.items())[:CAPTIONED])
    others = dict(list(drawn.items())[CAPTIONED:])
    asked = {name: f"{name} captioned:no" for name in NAMES}

    def now() -> list[float]:
        return [average_precision(collection, asked[n], NAMES[n], others) for n in NAMES]

    before = now()
    for name, concepts in some.items():
        own = [one for one, meant in NAMES.items() if concepts == meant]
        collection.caption(collection.root / name, " ".join([*concepts, *own]))
    collection.train()
    after = now()
    return {n: [round(100 * b, 1), round(100 * a, 1)]
            for n, b, a in zip(NAMES, before, after, strict=True)}  # fmt: skip


def clicks(collection: Collection, drawn: Drawn) -> dict[str, list[float]]:
    """AP of a person's own names, before and after each of some clicks."""
    found = {}
    for name, meant in NAMES.items():
        course, judged = [average_precision(collection, name, meant, drawn)], set()
        # Somebody who begins a name shows one picture that it means.
        first = next(one for one, concepts in drawn.items() if concepts == meant)
        for _ in range(CLICKS):
            collection.judge(name, collection.root / first, drawn[first] == meant)
            judged.add(first)
            course.append(average_precision(collection, name, meant, drawn))
            ranked = [one.path.name for one in collection.search(name, k=len(drawn)).results]
            first = next(one for one in ranked if one not in judged)
        found[name] = [round(100 * one, 1) for one in course]
    return found


def average_precision(
    collection: Collection, query: str, concepts: tuple[str, ...], drawn: Drawn
) -> float:
    ranked = [one.path.name for one in collection.search(query, k=10_000).results]
    held = np.array([set(concepts) <= set(drawn[one]) for one in ranked if one in drawn])
    return (
        float((np.cumsum(held) / np.arange(1, held.size + 1))[held].mean()) if held.any() else 0.0
    )


def unseen(folder: Path, pictures: int, width: int) -> dict[str, Any]:
    """How long words take that no model has met, and how long it takes to read all rows once."""
    folder.mkdir()
    wide = _wide(folder.parent / "wide", width)
    random = np.random.default_rng(0)
    with Collection.open(folder) as collection:
        catalogue = collection.catalogue
        with catalogue.writing("making many pictures"):
            key = prepare(catalogue, f"encoder({wide})", []).key
            with catalogue.transaction():
                take(catalogue, f"encoder({wide})", key)
            for first in range(0, pictures, AT_ONCE):
                count = min(AT_ONCE, pictures - first)
                vectors = random.standard_normal((count, width), np.float32)
                vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
                put(catalogue, Rows(catalogue, key), vectors, first)
            begin(catalogue)
        say(f"{pictures:,} pictures made")
        return _timed(collection, key, pictures, wide)


def _timed(collection: Collection, key: str, pictures: int, encoder: str) -> dict[str, Any]:
    opened = encoders.open_encoder(encoder)
    vocabulary = word_model(collection).vocabulary
    collection.search("crimson", k=20)  # what is loaded once is loaded
    rows = Rows(collection.catalogue, key).file
    assert rows is not None
    direction = np.ones((1, opened.dimensions), np.float32)
    whole, reading, text = [], [], []
    asked = [word for word in UNSEEN[:-1] if word not in vocabulary]
    for word in asked:
        began = time.perf_counter()
        opened.word_rows([word])
        text.append(time.perf_counter() - began)
        began = time.perf_counter()
        rows.products(direction)
        reading.append(time.perf_counter() - began)
        began = time.perf_counter()
        collection.search(word, k=20)
        whole.append(time.perf_counter() - began)
    began = time.perf_counter()  # a column that is kept costs no reading
    collection.search(asked[-1], k=20)
    again = time.perf_counter() - began
    middle = {"whole": whole, "rows": reading, "text": text}
    ms = {name: 1000 * statistics.median(times) for name, times in middle.items()}
    return {
        "pictures": pictures,
        "width": opened.dimensions,
        "search_ms": round(ms["whole"] - ms["text"], 2),
        "text_encoder_ms": round(ms["text"], 2),
        "reading_rows_ms": round(ms["rows"], 2),
        "ratio_rows": round((ms["whole"] - ms["text"]) / ms["rows"], 3),
        "again_ms": round(1000 * again, 2),
        "separation": SEPARATION,
    }


def _wide(folder: Path, width: int) -> str:
    """The same encoder with longer vectors, as real ones have."""
    return encoders.add(str(drawn_encoder.write(folder, width=width, vision_width=width))).name


def torch_difference(folder: Path, names: list[str]) -> float:
    """The largest difference between our vectors and those of the same graph in torch."""
    import torch
    from PIL import Image
    from torch.nn import functional

    side = drawn_encoder.SIDE
    squares = []
    for name in names:
        picture = Image.open(folder / name).convert("RGB")
        scale = side / min(picture.size)
        size = (int(picture.width * scale), int(picture.height * scale))
        whole = np.asarray(picture.resize(size, Image.Resampling.BICUBIC))
        top, left = (whole.shape[0] - side) // 2, (whole.shape[1] - side) // 2
        squares.append((whole[top : top + side, left : left + side] / 255 - 0.5) / 0.5)
    pixels = torch.tensor(np.stack(squares), dtype=torch.float32).permute(0, 3, 1, 2)
    given = {name: torch.tensor(value) for name, value in drawn_encoder.weights().items()}
    coloured = functional.conv2d(pixels, given["colours"], given["threshold"]).relu()
    colour = (given["sharp"] * coloured.mean(dim=(2, 3))).softmax(dim=1)
    mask = coloured.amax(dim=1, keepdim=True)
    matched = functional.conv2d(mask, given["templates"], padding=drawn_encoder.RADIUS + 2)
    shape = (given["softer"] * matched.amax(dim=(2, 3))).softmax(dim=1)
    rows = torch.cat([colour, shape], dim=1) @ given["projection"] + given["constant"]
    theirs = functional.normalize(rows, dim=1).numpy()
    ours = parse_features("encoder(drawn)").fit([]).transform([folder / name for name in names])
    texts = ["a photo of a red circle", "azure wedge", "snow"]
    ids = [drawn_encoder.tokenizer().encode(text).ids for text in texts]
    table = torch.tensor(drawn_encoder.table())
    said = functional.normalize(torch.stack([table[one].sum(dim=0) for one in ids]), dim=1).numpy()
    read: NDArray[np.float32] = encoders.open_encoder("drawn").text_rows(texts)
    return float(max(np.abs(ours - theirs).max(), np.abs(read - said).max()))


if __name__ == "__main__":
    main()
