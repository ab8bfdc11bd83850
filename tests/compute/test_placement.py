"""Where work runs, where nobody has asked for a cluster, or none can be had."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest
from joblib import Parallel, delayed

from visterm.compute import cluster, map_batches, map_items, running_on, spread
from visterm.errors import MissingExtra


def test_without_a_cluster_work_is_done_here() -> None:
    with running_on(None):
        assert cluster() is None
        assert map_items(str, [1, 2]) == ["1", "2"]
        assert spread(list, [("ab",), ("bb",)]).call("count", "b") == [1, 2]


def test_processes_that_describe_pictures_are_not_those_of_other_libraries() -> None:
    def theirs() -> list[int]:
        return Parallel(n_jobs=2, prefer="processes")(delayed(abs)(one) for one in (-1, 2))

    batches = map_batches(len, [["a"], ["b", "c"]] * 4, n_jobs=2)
    first = next(batches)
    assert theirs() == [1, 2]
    assert [first, *batches] == [1, 2] * 4
    assert theirs() == [1, 2]


def test_nothing_imports_ray_unless_a_cluster_is_asked_for() -> None:
    modules = "visterm.cli.app, visterm.models, visterm.collection.ingest.pipeline"
    code = f"import sys, {modules}; print('ray' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "False"


def test_without_the_extra_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"visterm\[cluster\]"), running_on("local"):
        pass


def test_an_address_where_nobody_answers_is_named() -> None:
    pytest.importorskip("ray")
    assert "no Ray cluster answers at 'nonsense'" in said_by(
        """
        try:
            running_on("nonsense").__enter__()
        except BadInput as error:
            print(error)
        """
    )


def test_a_cluster_that_is_begun_here_listens_on_the_loopback_and_none_is_begun_to_ask() -> None:
    pytest.importorskip("ray")
    lines = said_by(
        """
        ray_cluster._is_running = lambda: False  # other tests run one on this machine
        try:
            cluster_status("auto", Path("nowhere"))
        except BadInput as error:
            print(error)
        with running_on("auto"):
            import ray
            print([node["NodeManagerAddress"] for node in ray.nodes()])
            print(cluster_status("auto", Path("nowhere")).nodes)
            with replicated(WatchedShard, [()], name="test", replicas=1) as replicas:
                print(replicas.ask("heard_everywhere", [()]))
        """
    ).splitlines()
    assert lines[0].startswith("no Ray cluster answers at 'auto' (none runs on this machine)")
    assert lines[1:] == ["['127.0.0.1']", "1", "[False]"]


def said_by(lines: str) -> str:
    """What a process of its own prints: Ray reads the environment when it is loaded."""
    imports = """
        from pathlib import Path
        from visterm.collection import cluster_status
        from visterm.compute import ray_cluster, replicated, running_on
        from visterm.errors import BadInput
        from watched_shard import WatchedShard
        """
    code = dedent(imports) + dedent(lines)
    # Workers look for a shard of tests there, too.
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": path},
    )
    return ran.stdout
