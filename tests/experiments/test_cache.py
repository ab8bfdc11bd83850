"""One cache: found again only with the same key and the same code, and never damaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

import visterm
from visterm.experiments import cache
from visterm.experiments.cache import FIGURES, cache_folder, code_digest, data_digest, remembered


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_values_of_all_kinds_come_back_as_they_were() -> None:
    made = {
        "rows": np.float32([[1, 2]]),
        "words": csr_array(np.eye(3)),
        "parts": [1, 2.5, None, "text", True],
        "empty": {},
    }
    remembered("value", lambda: made, "a key")
    found = remembered("value", dict, "a key")
    np.testing.assert_array_equal(found["rows"], made["rows"])
    np.testing.assert_array_equal(found["words"].toarray(), np.eye(3))
    assert found["parts"] == made["parts"]
    assert found["empty"] == {}


def test_another_key_is_another_value_and_a_damaged_file_is_made_anew() -> None:
    assert remembered("value", lambda: 1, "data", 0) == 1
    assert remembered("value", lambda: 2, "data", 1) == 2
    assert remembered("value", lambda: 3, "data", 0) == 1
    for file in cache_folder().iterdir():
        file.write_bytes(file.read_bytes()[:50])
    assert remembered("value", lambda: 4, "data", 0) == 4


def test_figures_depend_on_the_code_of_every_room_that_makes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "src" / "visterm"
    rooms = ("datasets", "evaluation", "experiments", "features", "kernels", "models", "text")
    for room in (*rooms, "pictures", "encoders", "web"):
        (package / room).mkdir(parents=True)
        (package / room / "code.py").write_text("x = 1\n")
    (tmp_path / "papers" / "one").mkdir(parents=True)
    (tmp_path / "papers" / "one" / "code.py").write_text("x = 1\n")
    monkeypatch.setattr(visterm, "__file__", str(package / "__init__.py"))
    monkeypatch.setattr(cache.visterm, "__file__", str(package / "__init__.py"))
    before = code_digest.__wrapped__(FIGURES)
    for file in sorted(tmp_path.rglob("*.py")):
        file.write_text("x = 2\n")
        after = code_digest.__wrapped__(FIGURES)
        assert (after != before) == ("web" not in file.parts), file
        before = after
    (package / "models" / "code.py").write_text('"""Said."""\n\nx = 2  # and why\n')
    (package / "evaluation" / "plots.py").write_text("x = 3\n")
    assert code_digest.__wrapped__(FIGURES) == before, "words and layout decide no figure"


def test_data_are_known_by_names_sizes_and_texts(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(b"1")
    first = data_digest([tmp_path / "a.jpg"], ["sea"])
    assert data_digest([tmp_path / "a.jpg"], ["sun"]) != first
    (tmp_path / "a.jpg").write_bytes(b"12")
    assert data_digest([tmp_path / "a.jpg"], ["sea"]) != first
