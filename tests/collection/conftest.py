"""Small drawn pictures in a folder, and an extractor quick enough for hundreds of tries."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from visterm.collection import Collection
from visterm.datasets.scenes import draw_scenes
from visterm.features import EXTRACTORS

sys.path.insert(0, str(Path(__file__).parent))

from thumbnails import Thumbnails  # it lies beside this file


@pytest.fixture(autouse=True, scope="session")
def _quick_extractor() -> Iterator[None]:
    EXTRACTORS[Thumbnails.name] = Thumbnails
    yield
    del EXTRACTORS[Thumbnails.name]


@pytest.fixture(scope="session")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty captioned scenes, drawn once; copy them before changing anything."""
    folder = tmp_path_factory.mktemp("drawn")
    draw_scenes(folder, 60, size=(48, 32))
    return folder


@pytest.fixture
def pictures(drawn: Path, tmp_path: Path) -> Callable[[int], Path]:
    """A folder of one's own with the first so many scenes, and their captions beside it."""

    def copied(count: int) -> Path:
        folder = tmp_path / "pictures"
        folder.mkdir()
        for path in sorted(drawn.glob("*.jpg"))[:count]:
            shutil.copy2(path, folder)
        shutil.copy2(drawn / "captions.tsv", tmp_path)
        return folder

    return copied


@pytest.fixture
def collection(pictures: Callable[[int], Path]) -> Iterator[Collection]:
    """Twelve pictures, added."""
    with Collection.open(pictures(12)) as opened:
        opened.add(features="thumbnails")
        yield opened


@pytest.fixture(scope="session")
def trained(drawn: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of them in a collection that has learnt; copy it before changing anything."""
    folder = tmp_path_factory.mktemp("trained") / "pictures"
    shutil.copytree(drawn, folder, ignore=shutil.ignore_patterns("*.tsv"))
    with Collection.open(folder) as opened:
        opened.add(features="thumbnails")
        opened.caption_from(shutil.copy2(drawn / "captions.tsv", folder.parent))
        opened.train()
    return folder


@pytest.fixture
def learnt(trained: Path, tmp_path: Path) -> Iterator[Collection]:
    """Sixty captioned pictures, learnt from."""
    shutil.copy2(trained.with_name("captions.tsv"), tmp_path)
    with Collection.open(shutil.copytree(trained, tmp_path / "pictures")) as opened:
        yield opened
