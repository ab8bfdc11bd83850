"""A cluster of two nodes: the same results as on one machine, whatever dies on the way.

All of it stands in one file, so that the cluster begins once.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextvars import Context
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.drawn_collection import make
from benchmarks.ray_nodes import RayNodes, two_nodes
from PIL import Image

from visterm.collection import Collection, SearchRequest, SharedState
from visterm.collection.ingest import pipeline
from visterm.collection.search.request import PartialAnswer
from visterm.collection.serving import application
from visterm.collection.store.feature_rows import findable, vectors_of
from visterm.compute import (
    cluster,
    map_batches,
    map_items,
    ray_cluster,
    replicated,
    running_on,
)
from visterm.datasets.scenes import draw_scenes
from visterm.errors import BadInput, VistermError
from visterm.features import EXTRACTORS
from visterm.models import Pamir

# Workers look there, too.
sys.path += [str(Path(__file__).parents[1] / room) for room in ("compute", "collection", "cli")]

from cluster_work import add_up, complain
from fragile import DEADLY, Fragile
from running import visterm
from watched_shard import WatchedShard

TABLES = ("pictures", "places", "rows", "skipped", "segments")


@pytest.fixture(scope="module")
def nodes() -> Iterator[RayNodes]:
    pytest.importorskip("ray")
    with two_nodes() as made, running_on(made.address):
        yield made


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """90 pictures, of which one is broken and one is there twice, and 40 in a shard."""
    root = tmp_path_factory.mktemp("drawn")
    scenes = [path for path, _ in draw_scenes(root, 10, size=(48, 32))]
    for number in range(120):
        content = scenes[number % 10].read_bytes() + number.to_bytes(2, "big")
        (root / f"more-{number:03}.jpg").write_bytes(content)
    (root / "more-007.jpg").write_bytes((root / "more-006.jpg").read_bytes())
    (root / "more-050.jpg").write_bytes(b"no picture")
    (root / "more-090.txt").write_text("a boat at sea")
    (root / "shards").mkdir()
    with tarfile.open(root / "shards" / "0.tar", "w") as tar:
        for path in sorted(root.glob("more-*"))[80:]:
            tar.add(path, path.name)
            path.unlink()
    return root


def known(collection: Collection) -> tuple[dict[str, list[Any]], np.ndarray]:
    """All rows of the catalogue, and all vectors."""
    with sqlite3.connect(collection.store / "catalogue.sqlite") as db:
        rows = {table: list(db.execute(f"SELECT * FROM {table}")) for table in TABLES}
    key = collection.catalogue.get("extractor") or ""
    numbers = findable(collection.catalogue, key).tolist()
    return rows, np.asarray(vectors_of(collection.catalogue, key, numbers))


def on_one_machine(root: Path, features: str) -> tuple[dict[str, list[Any]], np.ndarray]:
    """The same catalogue made where no cluster is known."""
    with Context().run(Collection.open, root) as alone:
        Context().run(alone.add, features=features)
        found = known(alone)
    shutil.rmtree(root / ".visterm")
    return found


def test_a_node_killed_while_pictures_and_shards_are_added_changes_nothing(
    nodes: RayNodes, drawn: Path
) -> None:
    expected, vectors = on_one_machine(drawn, "cnn")
    killed: list[int] = []
    heard: list[str] = []

    def kill_once(what: str, done: int, total: int) -> None:
        heard.append(what)
        if what.startswith("adding") and done and not killed:
            killed.append(done)
            nodes.kill_second()

    with Collection.open(drawn) as collection:
        report = collection.add(features="cnn", progress=kill_once)
        found, rows = known(collection)
        assert collection.search("", like=drawn / "shards/0.tar/more-090.jpg").results
        again = collection.add()
        (drawn / "more-070.jpg").rename(drawn / "moved.jpg")
        moved = collection.add()
    nodes.bring_back()
    assert killed
    assert found == expected
    np.testing.assert_array_equal(rows, vectors)
    assert report.extracted == 128
    assert [path for path, _ in report.skipped] == ["more-050.jpg"]
    assert any(re.search(r"· 2 nodes, \d+ retr(y|ies)$", what) for what in heard)
    assert again.extracted == 0
    assert (moved.moved, moved.extracted) == (1, 0)


@pytest.fixture
def fragile(drawn: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Seventy pictures for an extractor that one of them may end."""
    monkeypatch.setitem(EXTRACTORS, Fragile.name, Fragile)
    monkeypatch.setattr(pipeline, "BATCH", 32)
    for path in sorted(drawn.glob("*.jpg"))[:70]:
        shutil.copy2(path, tmp_path)
    return tmp_path


def test_a_driver_that_was_killed_goes_on_from_its_last_commit(
    nodes: RayNodes, fragile: Path
) -> None:
    expected, vectors = on_one_machine(fragile, Fragile.name)
    driver = [sys.executable, str(Path(__file__).with_name("killed_driver.py"))]
    died = subprocess.run([*driver, fragile, nodes.address, "32"], check=False)
    assert died.returncode == -signal.SIGKILL
    with Collection.open(fragile) as collection:
        committed = len(known(collection)[0]["rows"])
        assert 0 < committed < 70
        report = collection.add()
        found, rows = known(collection)
    assert report.extracted == len(vectors) - committed
    assert found == expected
    np.testing.assert_array_equal(rows, vectors)


@pytest.mark.parametrize("where", ["here", "there"])
def test_a_picture_that_ends_its_process_costs_itself_and_once(
    nodes: RayNodes, fragile: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setattr(ray_cluster, "MAX_DEATHS", 1)  # each takes a worker's start
    monkeypatch.setattr(pipeline, "WORTH", 20)
    for path in sorted(fragile.glob("*.jpg"))[40:]:
        path.unlink()
    Image.new("RGB", (48, 32), (DEADLY,) * 3).save(fragile / "deadly.png")
    run = Context().run if where == "here" else _call
    with run(Collection.open, fragile) as collection:
        report = run(collection.add, features=Fragile.name, n_jobs=2)
        again = run(collection.add, n_jobs=2)
    assert report.skipped == [("deadly.png", "it crashes the process that describes it")]
    assert (report.new, again.skipped) == (39, [])  # one of the forty is there twice


def _call(function: Any, *given: Any, **options: Any) -> Any:
    return function(*given, **options)


def test_work_that_ends_every_worker_is_one_clear_error(
    nodes: RayNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_cluster, "MAX_DEATHS", 1)
    with pytest.raises(VistermError, match="a process at work was ended"):
        list(map_batches(add_up, [[1, 2], [66]]))


def test_work_is_no_further_ahead_than_the_cores_need(nodes: RayNodes) -> None:
    begun: list[int] = []

    def source() -> Iterator[list[int]]:
        for number in range(20):
            begun.append(number)
            yield [number]

    where = cluster()
    assert where is not None
    for done, result in enumerate(where.map_batches(add_up, source())):
        assert result == [2 * done]
        assert len(begun) - done <= 2 * 2 + 2
    assert len(begun) == 20


def test_errors_of_the_work_itself_reach_the_caller(nodes: RayNodes) -> None:
    with pytest.raises(BadInput, match=r"^[12] is no good$"):  # whichever comes first
        map_items(complain, [1, 2])


def problem() -> tuple[np.ndarray, np.ndarray]:
    """Vectors and words of 120 pictures, with noise."""
    rng = np.random.default_rng(0)
    Y = (rng.random((120, 4)) < 0.4).astype(np.float32)
    X = (Y @ rng.standard_normal((4, 8)) + 0.5 * rng.standard_normal((120, 8))).astype(np.float32)
    return X, Y


def trained(**parameters: Any) -> Pamir:
    X, Y = problem()
    model = Pamir(max_iter=2000, **parameters)
    return model.fit(X[:80], Y[:80], validation=(X[80:], Y[80:]))


def test_models_are_the_same_on_the_cluster_as_here(nodes: RayNodes) -> None:
    for parameters in ({"C": (0.001, 0.1)}, {"C": 0.1, "n_shards": 2}):
        here = Context().run(trained, **parameters)
        there = trained(**parameters)
        assert np.array_equal(here.weights_, there.weights_)
        assert (here.C_, here.n_iter_) == (there.C_, there.n_iter_)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is asked of the cluster meanwhile."""
    found: list[str] = []

    def watch(name: str) -> None:
        whole = getattr(ray_cluster.RayCluster, name)

        def heard(self: Any, *given: Any, **options: Any) -> Any:
            found.append(name)
            return whole(self, *given, **options)

        monkeypatch.setattr(ray_cluster.RayCluster, name, heard)

    for name in ("map_batches", "map_items", "replicated"):
        watch(name)
    return found


def printed(*words: str, cwd: Path) -> Any:
    """What a command prints, without how long things took."""
    ran = Context().run(visterm, *words, "--json", cwd=cwd)
    assert ran.returncode == 0, ran.stderr
    passing = ("seconds", "study")
    return json.loads(
        ran.stdout, object_pairs_hook=lambda pairs: {k: v for k, v in pairs if k not in passing}
    )


def test_commands_print_the_same_on_the_cluster(
    nodes: RayNodes, tmp_path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(EXTRACTORS, Fragile.name, Fragile)
    scenes = draw_scenes(tmp_path, 60, size=(48, 32))
    lines = [f"{path.name}\t{' '.join(words)}\n" for path, words in scenes]
    (tmp_path / "table.tsv").write_text("".join(lines))
    measured = ("table.tsv", "--features", Fragile.name, "--workers", "1")
    learning = ("--C", "0.1", "--kernel", "linear", "--max-iter", "2000", "--objective", "plain")
    commands: dict[str, tuple[str, ...]] = {
        "add": ("--features", Fragile.name, "--workers", "1"),
        "train": ("--model", "pamir(max_iter=400, n_shards=2)"),
        "evaluate": (*measured, "--model", "pamir(max_iter=2000)"),
        "tune": (*measured, *learning, "--objective", "averaged"),
    }
    for name, words in commands.items():
        for side in ("here", "there") if name == "train" else ():
            printed(
                "caption", "--from", "table.tsv", *own_store(name, tmp_path / side), cwd=tmp_path
            )
        here = printed(name, *words, *own_store(name, tmp_path / "here"), cwd=tmp_path)
        assert not asked
        there = [*words, *own_store(name, tmp_path / "there"), "--ray", nodes.address]
        found = printed(name, *there, cwd=tmp_path)
        assert asked, name
        if name == "add":
            assert (here.pop("nodes"), found.pop("nodes")) == (0, 2)
        assert found == here
        asked.clear()


def own_store(command: str, folder: Path) -> tuple[str, ...]:
    """Where a command keeps what it finds out."""
    folder.mkdir(exist_ok=True)
    if command == "tune":
        return ("--study", str(folder / "study.sqlite"))
    return () if command == "evaluate" else ("--store", str(folder / "store"))


def test_tables_of_papers_are_made_on_the_cluster(
    nodes: RayNodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = []

    def make(*given: Any, **more: Any) -> None:
        where.append(cluster())
        raise BadInput("enough")

    monkeypatch.setattr("visterm.experiments.tables.reproduce", make)
    for words in ([], ["--ray", nodes.address]):
        Context().run(visterm, "reproduce", "tpami-9", *words, cwd=tmp_path)
    assert [one is None for one in where] == [True, False]


def test_searches_survive_replicas_and_say_when_a_shard_has_none(
    nodes: RayNodes, tmp_path: Path
) -> None:
    make(tmp_path, 60, words=10, width=64)
    request = SearchRequest("word003 -word004:0.5", k=60)
    with Collection.open(tmp_path) as one:
        expected = one.search(request)
    name = application(tmp_path / ".visterm")
    with replicated(WatchedShard, [()], name=name, replicas=2) as replicas:
        shared = SharedState(replicas=replicas)
        status = printed("status", "--ray", nodes.address, cwd=tmp_path)
        assert status["cluster"] == {"nodes": 2, "cores": 2, "shards": {f"{name}-0": 2}}
        said = Context().run(visterm, "status", "--ray", nodes.address, cwd=tmp_path).stdout
        assert "2 nodes, 2 cores" in said
        assert f"{name}-0: 2 replicas" in said
        with Collection.open(tmp_path, shared=shared) as several:
            assert replicas.ask("size", [(np.zeros(8 << 20, np.uint8),)]) == [8 << 20]
            assert several.search(request) == expected
            processes = {replicas.ask("process", [()])[0] for _ in range(40)}
            os.kill(processes.pop(), signal.SIGKILL)
            assert several.search(request) == expected
            for process in [*processes, *{replicas.ask("process", [()])[0] for _ in range(20)}]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            while (again := several.search(request)).partial is not None:
                pass  # until Ray has begun a replica anew
            assert again == expected
            replicas.close()
            assert several.search(request).partial == PartialAnswer(0, 60)


@pytest.mark.parametrize(
    ("name", "arguments", "found"),
    [
        ("cluster_add", "--pictures 4 --rounds 1 --killed 0", {"pictures": 4}),
        (
            "cluster_search",
            "--shards 2 --replicas 1 --pictures 60 --words 20 --queries 6 --seconds 1 "
            "--connections 2",
            {"exact": True, "queries": 6, "errors": 0, "wrong": 0, "partial": 0},
        ),
    ],
)
def test_a_benchmark_of_clusters_answers_its_question(
    nodes: RayNodes,
    name: str,
    arguments: str,
    found: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "argv", [name, *arguments.split(), "--json"])
    Context().run(import_module(f"benchmarks.{name}").main)
    assert found.items() <= json.loads(capsys.readouterr().out).items()
