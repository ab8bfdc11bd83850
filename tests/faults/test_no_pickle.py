"""visterm's own code loads no pickle: reading a file or an answer must not run what it says."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src" / "visterm"
MODULES = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "shelve", "marshal"}
CALLS = {"np.load": "allow_pickle", "numpy.load": "allow_pickle", "torch.load": "weights_only"}
SAFE = {"allow_pickle": False, "weights_only": True}
FORBIDDEN = {"joblib.load", "joblib.Memory", "yaml.load", "pd.read_pickle", "eval", "exec"}


def unsafe(tree: ast.AST) -> list[str]:
    """What in a program may run what it reads, with its line."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [one.name for one in node.names]
            origin = getattr(node, "module", None) or ""
            roots = {name.split(".")[0] for name in (*names, origin)}
            found += [f"{node.lineno}: {name}" for name in roots & MODULES]
            imported = {f"{origin}.{name}" for name in names}
            found += [f"{node.lineno}: {name}" for name in imported & (FORBIDDEN | CALLS.keys())]
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in FORBIDDEN:
                found.append(f"{node.lineno}: {called}")
            if called in CALLS:
                given = {one.arg: one.value for one in node.keywords}
                value = given.get(CALLS[called])
                if not isinstance(value, ast.Constant) or value.value != SAFE[CALLS[called]]:
                    found.append(f"{node.lineno}: {called} without {CALLS[called]}")
            found += [
                f"{node.lineno}: {one.arg}"
                for one in node.keywords
                if one.arg in SAFE and getattr(one.value, "value", None) != SAFE[one.arg]
            ]
    return found


def test_nothing_that_is_read_is_run() -> None:
    problems = {
        path.relative_to(SOURCES).as_posix(): found
        for path in SOURCES.rglob("*.py")
        if (found := unsafe(ast.parse(path.read_text())))
    }
    assert problems == {}


@pytest.mark.parametrize(
    "program",
    [
        "import pickle",
        "from cloudpickle import loads",
        "np.load(path)",
        "np.load(path, allow_pickle=True)",
        "torch.load(path, map_location='cpu')",
        "joblib.load(path)",
        "from joblib import load",
        "from numpy import load",
        "joblib.Memory(folder)",
        "from joblib import Memory",
        "np.savez(file, allow_pickle=True)",
        "eval(text)",
    ],
)
def test_whoever_adds_one_is_found_out(program: str) -> None:
    assert unsafe(ast.parse(program))
