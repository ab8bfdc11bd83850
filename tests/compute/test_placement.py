"""Where work runs, where nobody has asked for a cluster, or none can be had."""

from __future__ import annotations

import subprocess
import sys

import pytest

from visterm.compute import cluster, map_items, running_on, spread
from visterm.errors import MissingExtra


def test_without_a_cluster_work_is_done_here() -> None:
    with running_on(None):
        assert cluster() is None
        assert map_items(str, [1, 2]) == ["1", "2"]
        assert spread(list, [("ab",), ("bb",)]).call("count", "b") == [1, 2]


def test_nothing_imports_ray_unless_a_cluster_is_asked_for() -> None:
    modules = "visterm.cli.app, visterm.models, visterm.collection.ingest.cluster"
    code = f"import sys, {modules}; print('ray' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "False"


def test_without_the_extra_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"visterm\[cluster\]"), running_on("local"):
        pass


def test_an_address_where_nobody_answers_is_named() -> None:
    pytest.importorskip("ray")
    code = (
        "from visterm.compute import running_on\n"
        "from visterm.errors import BadInput\n"
        "try:\n"
        "    running_on('nonsense').__enter__()\n"
        "except BadInput as error:\n"
        "    print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "no Ray cluster answers at 'nonsense'" in said.stdout
