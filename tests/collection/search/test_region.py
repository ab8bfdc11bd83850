"""A region of a picture is looked for by itself: what looks like it, not like the whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from visterm.collection import Collection, SearchRequest
from visterm.errors import BadInput


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    """A picture half red and half blue, and one of each colour."""
    for name, colours in {"both": ("red", "blue"), "a": ("red",) * 2, "b": ("blue",) * 2}.items():
        picture = Image.new("RGB", (64, 32), colours[0])
        picture.paste(colours[1], (32, 0, 64, 32))
        picture.save(tmp_path / f"{name}.png")
    opened = Collection.open(tmp_path)
    opened.add(features="cnn")
    return opened


@pytest.mark.parametrize(("left", "best"), [(0.0, "a.png"), (0.5, "b.png")])
def test_what_looks_like_the_region_comes_first(
    collection: Collection, left: float, best: str
) -> None:
    path = collection.root / "both.png"
    for like in (path, collection.number(path)):
        request = SearchRequest(like=like, region=(left, 0.0, left + 0.5, 1.0))
        found = [Path(one.path).name for one in collection.search(request).results]
        assert found[0] == best
        assert "both.png" not in found


@pytest.mark.parametrize("region", [(0.5, 0, 0.5, 1), (0, 0, 1.1, 1), (-0.1, 0, 1, 1)])
def test_what_is_no_region_is_said(region: tuple[float, ...]) -> None:
    with pytest.raises(BadInput, match="fraction from 0 to 1"):
        SearchRequest(like=1, region=region)
    with pytest.raises(BadInput, match="fraction from 0 to 1"):
        SearchRequest("boat", region=(0, 0, 1, 1))
