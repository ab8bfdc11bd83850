"""A small collection that has learnt, copied for each test that changes it, and an app over it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from visterm.collection import Collection, SharedState
from visterm.collection.search.shard import SearchShard
from visterm.compute import LocalReplicas
from visterm.datasets.scenes import draw_scenes
from visterm.web.app import make_app
from visterm.web.security import Rules

PICTURES = 200
CAPTIONED = 180
# A small codebook: a text space over the thousands of dimensions of a large one takes minutes.
FEATURES = "blocks(channels=((32, joint, 60), (16, colours, 40)), colours=20)"


@pytest.fixture(scope="session")
def taught_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Drawn scenes, most of them captioned and learnt from; copy it before changing anything."""
    folder = tmp_path_factory.mktemp("web") / "holidays"
    drawn = draw_scenes(folder, PICTURES, size=(72, 48))
    (folder / "captions.tsv").unlink()
    (folder / "alps").mkdir()
    table = folder.parent / "captions.tsv"
    with open(table, "w") as file:
        for number, (path, words) in enumerate(drawn):
            if number % 10 == 0:
                path = path.rename(folder / "alps" / path.name)
            if number < CAPTIONED:
                print(f"holidays/{path.relative_to(folder)}\t{' '.join(words)}", file=file)
    with Collection.open(folder) as collection:
        collection.add(features=FEATURES, n_jobs=1)
        collection.caption_from(table)
        collection.train()
    return folder


@pytest.fixture
def own(taught_folder: Path, tmp_path: Path) -> Path:
    """A copy to do with as one likes."""
    return Path(shutil.copytree(taught_folder, tmp_path / "holidays"))


@pytest.fixture(scope="module")
def shared(taught_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A client of a copy that a module's tests share: they leave it as they found it."""
    folder = tmp_path_factory.mktemp("shared") / "holidays"
    with client_of(Path(shutil.copytree(taught_folder, folder))) as client:
        yield client


@pytest.fixture
def client(own: Path) -> Iterator[TestClient]:
    """A client of a collection of one's own."""
    with client_of(own) as opened:
        yield opened


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[TestClient]:
    """A client of a folder without pictures."""
    folder = tmp_path / "nothing"
    folder.mkdir()
    with client_of(folder) as opened:
        yield opened


@pytest.fixture
def guarded(taught_folder: Path) -> Iterator[Callable[..., TestClient]]:
    """Clients under other rules."""
    opened: list[TestClient] = []

    def under(**rules: object) -> TestClient:
        client = client_of(taught_folder, Rules(**rules))  # type: ignore[arg-type]
        opened.append(client)
        return client.__enter__()

    yield under
    for client in opened:
        client.__exit__(None, None, None)


@pytest.fixture
def shards() -> LocalReplicas:
    """Two shards in this process, which a test may silence."""
    return LocalReplicas(SearchShard, [()] * 2)


@pytest.fixture
def sharded(taught_folder: Path, shards: LocalReplicas) -> Iterator[TestClient]:
    """A client of a server whose searches shards answer."""
    with client_of(taught_folder, shared=SharedState(replicas=shards)) as opened:
        yield opened


def client_of(
    folder: Path, rules: Rules | None = None, shared: SharedState | None = None
) -> TestClient:
    """As a browser on the same machine would ask, one that follows no redirects."""
    return TestClient(
        make_app(folder, rules=rules, shared=shared),
        base_url="http://127.0.0.1:8765",
        client=("127.0.0.1", 50000),
        follow_redirects=False,
        raise_server_exceptions=False,
    )
