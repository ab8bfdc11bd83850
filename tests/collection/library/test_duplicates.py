"""Near-duplicates: copies in every shape are one group, other pictures are not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageEnhance

from visterm.collection import Collection
from visterm.collection.library.duplicates import SmallPicture, fit


def noise(seed: int, size: tuple[int, int] = (96, 64)) -> Image.Image:
    """A picture with details of several sizes."""
    random = np.random.default_rng(seed)
    found = np.zeros((size[1], size[0], 3))
    for cells in (4, 9, 16):
        some = Image.fromarray(random.integers(0, 256, (cells, cells, 3), np.uint8))
        found += np.asarray(some.resize(size, Image.Resampling.BICUBIC), float)
    return Image.fromarray((found / 3).astype(np.uint8))


def small(picture: Image.Image) -> SmallPicture:
    return SmallPicture.of(np.asarray(picture.convert("RGB")))


@pytest.mark.parametrize("box", [(0, 0, 77, 51), (19, 13, 96, 64), (0, 0, 96, 51), (10, 0, 86, 64)])
def test_a_crop_fits_what_it_was_cropped_from(box: tuple[int, int, int, int]) -> None:
    for seed in range(3):
        assert fit(small(noise(seed)), small(noise(seed).crop(box))) > 0.85


def test_other_light_and_size_fit_and_other_pictures_do_not() -> None:
    one = noise(1)
    assert fit(small(one), small(one.resize((48, 32)))) > 0.95
    assert fit(small(one), small(ImageEnhance.Brightness(one).enhance(1.3))) > 0.9
    assert max(fit(small(one), small(noise(seed))) for seed in range(2, 8)) < 0.6
    assert fit(small(one), small(Image.new("RGB", (96, 64)))) < 0.1


def test_groups_propose_the_largest_and_count_exact_copies_as_files(tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    for seed in range(4):
        noise(seed, (192, 128)).save(folder / f"{seed}.png")
    noise(1, (192, 128)).resize((96, 64)).save(folder / "1-small.jpg", quality=60)
    noise(1, (192, 128)).crop((0, 0, 154, 103)).save(folder / "1-crop.jpg")
    (folder / "2-copy.png").write_bytes((folder / "2.png").read_bytes())
    with Collection.open(folder) as collection:
        collection.add(features="thumbnails")
        assert collection.kept_duplicates() is None
        (group,) = collection.near_duplicates()
        names = {n: Path(r.files[0].path).name for n, r in collection.records(range(1, 9)).items()}
        assert names[group.best] == "1.png"
        assert {names[one] for one in group.others} == {"1-small.jpg", "1-crop.jpg"}
        assert collection.kept_duplicates() == ([group], True)
        (folder / "1-crop.jpg").unlink()
        collection.add()
        kept = collection.kept_duplicates()
        assert kept is not None
        assert not kept[1]


def test_an_empty_collection_has_none(pictures: Callable[[int], Path]) -> None:
    with Collection.open(pictures(0)) as collection:
        assert collection.near_duplicates() == []
