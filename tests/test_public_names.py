"""What `from visterm import …` gives: everything by name, and nothing before it is asked for."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import visterm
from visterm.features import EXTRACTORS
from visterm.models import MODELS
from visterm.text.spaces import SPACES


@pytest.mark.parametrize(
    "kind", [MODELS, EXTRACTORS, SPACES], ids=["models", "extractors", "spaces"]
)
def test_every_kind_is_public_by_its_name(kind):
    own = [one for one in kind.values() if one.__module__.startswith("visterm.")]
    assert own, "other tests may add kinds of their own for a while, but none take ours away"
    for one in own:
        assert getattr(visterm, one.__name__) is one
        assert one.__name__ in dir(visterm)


def test_every_listed_name_is_there_and_belongs_to_visterm():
    for name in visterm.__all__:
        assert getattr(visterm, name).__module__.startswith("visterm.")


def test_a_type_checker_sees_the_same_names():
    tree = ast.parse(Path(visterm.__file__).read_text(encoding="utf-8"))
    imports = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.asname: node.module
        for node in imports.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    }
    assert seen == {name: f"visterm.{package}" for name, package in visterm._PACKAGE_OF.items()}


def test_an_unknown_name_is_no_attribute():
    with pytest.raises(AttributeError, match="no attribute 'Pamirr'"):
        visterm.Pamirr  # noqa: B018
    with pytest.raises(ImportError):
        from visterm import Pamirr  # noqa: F401


def test_importing_visterm_loads_no_library_and_its_models_no_scikit_learn():
    code = "import sys, visterm; print(*sys.modules); import visterm.features, visterm.models"
    first, then = subprocess.run(
        [sys.executable, "-c", f"{code}; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    loaded = first.split()
    heavy = {"numpy", "scipy", "sklearn", "numba", "PIL", "onnxruntime", "sqlite3"}
    assert not heavy & set(loaded)
    assert [name for name in loaded if name.startswith("visterm.")] == []
    assert "sklearn" not in then.split()
