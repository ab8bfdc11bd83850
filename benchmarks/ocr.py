"""Is text in pictures found by search?

    python -m benchmarks.ocr --json

A hundred signs are drawn: one to three lines of words, in several fonts, sizes, colours, slants
and turns, on plain walls and on noisy ones, half of them saved as JPEGs of modest quality.
``found`` is the share of their words, each searched by itself, whose sign is among the first R
pictures, R being how many signs hold the word; ``seconds`` is what adding took a picture, with
everything else that it does. Needs the extra ``ocr``.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from benchmarks.common import show
from visterm.collection import Collection, UnknownWords

SIGNS = 100
FONTS = Path("/usr/share/fonts/truetype/dejavu")
WORDS = """
    bakery library museum station platform pharmacy hospital entrance exit market harbour ferry
    lighthouse theatre cinema gallery parking bicycle tickets information breakfast coffee closed
    sandwich chocolate menu invoice receipt contract deliver warranty danger caution private open
    welcome northbound airport terminal customs gate luggage laundry barber florist hardware
    antiques jewellery optician dentist surgery kindergarten university faculty
"""
GROUNDS = ("white", "ivory", "gold", "darkgreen", "navy", "firebrick", "lightgrey", "black")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ocr", description=__doc__)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--signs", type=int, default=SIGNS)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        drawn = draw(Path(folder), given.signs, given.seed)
        with Collection.open(folder, create=True) as collection:
            began = time.perf_counter()
            collection.add(ocr=True)
            seconds = (time.perf_counter() - began) / given.signs
            found = [
                is_found(collection, word, name, sum(word in other for other in drawn.values()))
                for name, words in drawn.items()
                for word in words
            ]
    result = {
        "signs": given.signs,
        "words": len(found),
        "found": round(float(np.mean(found)), 3),
        "seconds": round(seconds, 2),
    }
    show(result, as_json=given.json)
    return 0


def draw(folder: Path, signs: int, seed: int) -> dict[str, list[str]]:
    """Signs in a folder; returns the words of each by its name."""
    random = np.random.default_rng(seed)
    fonts = sorted(map(str, FONTS.glob("*.ttf")))
    drawn = {}
    for number in range(signs):
        words = random.choice(WORDS.split(), random.integers(1, 5), replace=False).tolist()
        picture = sign(random, words, str(random.choice(fonts)) if fonts else None)
        name = f"{number:03d}.{'jpg' if number % 2 else 'png'}"
        how: dict[str, Any] = {"quality": 60} if number % 2 else {}
        picture.save(folder / name, **how)
        drawn[name] = words
    return drawn


def sign(random: np.random.Generator, words: list[str], font: str | None) -> Image.Image:
    """One sign on a wall."""
    size = int(random.integers(18, 90))
    made = ImageFont.load_default(size) if font is None else ImageFont.truetype(font, size)
    ground = str(random.choice(GROUNDS))
    ink = "white" if ground in ("darkgreen", "navy", "firebrick", "black") else "black"
    cased = [str.upper, str.title, str.lower][random.integers(3)]
    text = cased("\n".join(" ".join(words[n : n + 2]) for n in range(0, len(words), 2)))
    box = ImageDraw.Draw(Image.new("RGB", (1, 1))).multiline_textbbox((0, 0), text, font=made)
    plate = Image.new("RGBA", (int(box[2]) + 2 * size, int(box[3]) + size), ground)
    ImageDraw.Draw(plate).multiline_text((size, size // 2), text, fill=ink, font=made)
    turned = plate.rotate(float(random.uniform(-15, 15)), Image.Resampling.BICUBIC, expand=True)
    wide, tall = (int(side * random.uniform(1.1, 1.8)) for side in turned.size)
    grain = random.integers(0, 60) * random.standard_normal((tall, wide, 1))
    wall = np.clip(random.integers(40, 220, 3) + grain, 0, 255).astype(np.uint8)
    picture = Image.fromarray(wall).filter(ImageFilter.GaussianBlur(1))
    place = ((wide - turned.width) // 2, (tall - turned.height) // 2)
    picture.paste(turned, place, turned)
    return picture


def is_found(collection: Collection, word: str, name: str, signs: int) -> bool:
    """Whether a search for a word shows a sign among as many pictures as hold it."""
    try:
        results = collection.search(word, k=signs).results
    except UnknownWords:
        return False
    return name in {one.path.name for one in results}


if __name__ == "__main__":
    raise SystemExit(main())
