"""visterm search --space: whole sentences on the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from visterm.datasets.scenes import draw_scenes

sys.path.insert(0, str(Path(__file__).parent))

from running import visterm  # it lies beside this file


def test_sentences_are_answered_from_the_first_question_on(tmp_path: Path) -> None:
    for path, words in draw_scenes(tmp_path, 40, size=(48, 32)):
        path.with_suffix(".txt").write_text(" ".join(words))
    (tmp_path / "captions.tsv").unlink()
    ran = visterm("search", "--space", "lsa", "a tree in the snow", "-k", "4", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert len(ran.stdout.splitlines()) == 4
    again = visterm("search", "a tree in the snow", "--space", "lsa", "--json", cwd=tmp_path)
    found = json.loads(again.stdout)
    assert len(found["results"]) == 20
    assert found["results"][0]["probability"] is None
    wrong = visterm("search", "snow", "--space", "thoughts", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "there are words, lsa, sentences, encoder" in wrong.stderr
