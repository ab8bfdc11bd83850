"""Are copies of a picture found, and nothing else?

    python -m benchmarks.near_duplicates --json [--data DATA/corel5k] [--pictures 500]

Four variants are made of each picture: scaled to half, re-encoded (JPEG, quality 30), cropped by
20 % of each side at a random place, and with shifted colours (channels scaled, brightness raised).
A collection of the pictures and all variants is described by the CNN and its near-duplicates are
found. ``precision`` is the percentage of pairs in groups that are of one picture, ``recall`` that
of variants in the group of their original, ``recall_crops`` that of crops; ``best_is_original``
how often the one proposed to be kept is the original. Without ``--data`` the pictures are drawn
scenes. Thresholds were chosen on other pictures: ``--skip`` passes over so many.
"""

from __future__ import annotations

import argparse
import io
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageEnhance

from benchmarks.common import say, show
from visterm.collection import Collection
from visterm.datasets.scenes import draw_scenes

KINDS = ("scaled", "encoded", "cropped", "shifted")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.near_duplicates", description=__doc__
    )
    parser.add_argument("--data", type=Path, help="the corel5k folder; else drawn scenes")
    parser.add_argument("--pictures", type=int, default=500, help="originals; each has 4 variants")
    parser.add_argument("--skip", type=int, default=0, help="pictures of the data to pass over")
    parser.add_argument("--folder", type=Path, help="where the collection is made")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="visterm-duplicates-", dir=given.folder))
    try:
        names = make(folder, given)
        with Collection.open(folder) as collection:
            collection.add(features="cnn")
            say("described")
            begin = time.perf_counter()
            groups = collection.near_duplicates()
            seconds = time.perf_counter() - begin
            by_number = {
                number: Path(record.files[0].path).stem
                for number, record in collection.records(collection.newest(10**9)).items()
            }
        found = [[by_number[one] for one in (g.best, *g.others)] for g in groups]
        show({**judged(names, found), "seconds": round(seconds, 1)}, as_json=given.json)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def make(folder: Path, given: argparse.Namespace) -> list[str]:
    """The originals, named by a number, and their variants, named number-kind."""
    if given.data is None:
        source = folder.parent / f"{folder.name}-drawn"
        draw_scenes(source, given.pictures, seed=11, size=(192, 128))
        paths = sorted(source.glob("*.jpg"))
    else:
        paths = sorted(p for p in Path(given.data).rglob("*") if p.suffix in (".jpg", ".jpeg"))
        order = np.random.default_rng(5).permutation(len(paths))
        paths = [paths[n] for n in order[given.skip : given.skip + given.pictures]]
    random = np.random.default_rng(3)
    for number, path in enumerate(paths):
        with Image.open(path) as opened:
            picture = opened.convert("RGB")
        picture.save(folder / f"{number:05d}.png")
        for kind in KINDS:
            (folder / f"{number:05d}-{kind}.jpg").write_bytes(variant(picture, kind, random))
    if given.data is None:
        shutil.rmtree(source)
    return [f"{number:05d}" for number in range(len(paths))]


def variant(picture: Image.Image, kind: str, random: np.random.Generator) -> bytes:
    width, height = picture.size
    quality = 90
    if kind == "scaled":
        picture = picture.resize((width // 2, height // 2), Image.Resampling.LANCZOS)
    elif kind == "encoded":
        quality = 30
    elif kind == "cropped":
        left = int(random.integers(0, width // 5 + 1))
        top = int(random.integers(0, height // 5 + 1))
        picture = picture.crop((left, top, left + width * 4 // 5, top + height * 4 // 5))
    else:
        scales = random.uniform(0.85, 1.15, 3)
        pixels = np.clip(np.asarray(picture) * scales, 0, 255).astype(np.uint8)
        picture = ImageEnhance.Brightness(Image.fromarray(pixels)).enhance(1.15)
    data = io.BytesIO()
    picture.save(data, "JPEG", quality=quality)
    return data.getvalue()


def judged(names: list[str], groups: list[list[str]]) -> dict[str, Any]:
    pairs = right = 0
    group_of: dict[str, int] = {}
    for number, group in enumerate(groups):
        roots = [name[:5] for name in group]
        for place, root in enumerate(roots):
            pairs += place
            right += sum(other == root for other in roots[:place])
            group_of[group[place]] = number
    recall = {
        kind: sum(
            name in group_of and group_of.get(f"{name}-{kind}") == group_of[name] for name in names
        )
        for kind in KINDS
    }
    best = sum(len(group[0]) == 5 for group in groups)
    return {
        "originals": len(names),
        "variants": len(names) * len(KINDS),
        "groups": len(groups),
        "precision": round(100 * right / pairs, 2) if pairs else None,
        "recall": round(100 * sum(recall.values()) / (len(names) * len(KINDS)), 2),
        "recall_crops": round(100 * recall["cropped"] / len(names), 2),
        "recall_by_kind": {k: round(100 * v / len(names), 2) for k, v in recall.items()},
        "best_is_original": round(100 * best / len(groups), 2) if groups else None,
    }


if __name__ == "__main__":
    raise SystemExit(main())
