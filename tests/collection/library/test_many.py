"""Many pictures at once: captioned, answered, taken out and brought back, each undone as one."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest

from visterm.collection import Collection, UndoneStep
from visterm.collection.ingest import scopes
from visterm.errors import BadInput, VistermError
from visterm.pictures.metadata import Caption
from visterm.pictures.sandbox import captions_of


def state(collection: Collection) -> tuple[object, ...]:
    found = collection.search("sky", 60).results
    said = [collection.captions(number) for number in range(1, 13)]
    return [(one.picture, one.score) for one in found], said, len(collection.judgements())


def test_a_step_of_many_pictures_is_taken_back_as_one(learnt: Collection) -> None:
    learnt.judge("sky", 3, False)
    learnt.caption(2, "an old one")
    before = state(learnt)
    assert learnt.judge_many("sky", {3: True, 4: True, 5: False, 6: False}) == 4
    assert learnt.caption_many([1, 2, 3], "lisbon", more=True) == 3
    assert learnt.captions(2)["person"] == "an old one\nlisbon"
    assert "lisbon" in learnt.captions(1)["person"]
    assert learnt.undo_last().pictures == 3
    assert learnt.undo_last().pictures == 4
    assert state(learnt) == before, "every score as it was, bit for bit"
    assert learnt.undo_last() == UndoneStep("caption", 1)
    assert learnt.undo_last() == UndoneStep("answer to 'sky'", 1)
    assert learnt.undo_last() == UndoneStep("caption", 60)  # the table
    with pytest.raises(BadInput, match="nothing to undo"):
        learnt.undo_last()


def test_what_is_said_again_is_no_step(learnt: Collection) -> None:
    for _ in range(2):
        learnt.caption(2, "once and again")
    assert learnt.undo_last() == UndoneStep("caption", 1)
    assert "person" not in learnt.captions(2)
    assert learnt.undo_last() == UndoneStep("caption", 60)


def test_a_removal_is_taken_back_with_captions_clicks_and_every_score(learnt: Collection) -> None:
    learnt.caption(2, "an old one")
    learnt.judge("sky", 2, True)
    learnt.judge("sky", 7, False)
    learnt.judge("anna", 2, True)
    (learnt.root / "scene-0020.jpg").unlink()
    learnt.add()
    before, shown = state(learnt), learnt.search("anna", 60)
    paths = [learnt.root / f"scene-00{n}.jpg" for n in ("02", "05", "20")]
    assert learnt.remove(paths) == 3
    assert (len(learnt), len(learnt.judgements())) == (57, 1)
    with pytest.raises(BadInput, match="not in the collection"):
        learnt.caption(paths[0], "another")
    learnt.caption(7, "said since")
    learnt.undo_last()
    assert learnt.undo_last() == UndoneStep("removal", 3)
    assert len(learnt) == 59, "a file that had gone before is still gone"
    assert (state(learnt), learnt.search("anna", 60)) == (before, shown)
    assert not [one for one in vars(learnt.add()).values() if one], "nothing is read again"
    assert learnt.check().is_well


def test_what_was_removed_and_freed_is_described_again_when_it_comes_back(
    learnt: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scopes, "_FREED", (1, 0.0))
    before = state(learnt)
    learnt.remove([learnt.root / "scene-0002.jpg"])
    learnt.add()
    assert learnt.catalogue.one("SELECT count(*) FROM rows") == 59
    learnt.undo_last()
    assert learnt.has_news
    learnt.add()
    assert state(learnt) == before


def test_all_clicks_and_a_backup_are_taken_back_as_one(learnt: Collection, tmp_path: Path) -> None:
    for query, picture in (("sky", 3), ("sea", 4), ("sky", 5)):
        learnt.judge(query, picture, picture == 3)
    before, file = state(learnt), tmp_path / "backup.jsonl"
    file.write_text("\n".join(learnt.backup()))
    assert learnt.forget_judgements() == 3
    assert learnt.undo_last() == UndoneStep("answers", 3)
    assert state(learnt) == before
    learnt.judge("sky", 3, False)
    learnt.caption(4, "a boat")
    changed = state(learnt)
    learnt.restore(file)
    learnt.undo_last()
    assert state(learnt) == changed


def test_an_overwritten_caption_comes_back(learnt: Collection) -> None:
    learnt.caption(2, "an old one")
    learnt.caption(2, "a new one")
    learnt.undo_last()
    assert learnt.captions(2)["person"] == "an old one"
    learnt.undo_last()
    assert "person" not in learnt.captions(2)


def test_a_changed_answer_comes_back_and_every_score_with_it(learnt: Collection) -> None:
    learnt.judge("sky", 3, True)
    before = state(learnt)
    learnt.judge("sky", 3, False)
    assert state(learnt) != before
    learnt.undo_last()
    assert state(learnt) == before


def test_a_click_that_was_taken_back_by_its_number_is_no_step_any_more(learnt: Collection) -> None:
    learnt.caption(2, "a boat")
    said = learnt.judge("sky", 3, True)
    learnt.undo(said.id)
    assert learnt.undo_last() == UndoneStep("caption", 1)


def test_answers_that_could_not_be_taken_back_as_one_are_not_given(learnt: Collection) -> None:
    learnt.catalogue.db.execute(
        "CREATE TRIGGER full BEFORE UPDATE ON events WHEN new.before IS NOT NULL "
        "BEGIN SELECT RAISE(ABORT, 'full'); END"
    )
    with pytest.raises(VistermError, match="no space left"):
        learnt.judge_many("sky", {3: True, 4: False})
    assert learnt.judgements() == []


def test_answers_that_are_no_news_are_no_step(learnt: Collection) -> None:
    assert learnt.judge_many("sky", {3: True, 4: True}) == 2
    assert learnt.judge_many("sky", {3: True}) == 0
    assert learnt.undo_last().pictures == 2


def test_many_answers_teach_what_single_ones_do(learnt: Collection) -> None:
    for picture, relevant in ((4, True), (7, True), (5, False)):
        learnt.judge("sky", picture, relevant)
    single = learnt.search("sky", 60)
    learnt.forget_judgements()
    learnt.judge_many("sky", {5: False, 4: True, 7: True})
    assert learnt.search("sky", 60) == single


def test_a_backup_brings_captions_and_clicks_to_moved_files(
    learnt: Collection, tmp_path: Path
) -> None:
    learnt.caption(2, "an old boat")
    learnt.judge("sky", 5, False)
    learnt.judge("sky", 4, True)
    before = state(learnt)
    file = tmp_path / "backup.jsonl"
    file.write_text("\n".join(learnt.backup()))
    learnt.caption(2, "something else")
    learnt.forget_judgements()
    report = learnt.restore(file)
    assert (report.judgements, report.unknown) == (2, [])
    assert state(learnt) == before
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(learnt.root / "scene-0002.jpg", elsewhere / "renamed.jpg")
    with Collection.open(elsewhere) as other:
        other.add(features="thumbnails")
        found = other.restore(file)
        assert other.captions(1)["person"] == "an old boat"
        assert len(found.unknown) == 59 + 2


def test_a_backup_that_cannot_be_read_or_is_of_a_newer_visterm_changes_nothing(
    learnt: Collection, tmp_path: Path
) -> None:
    learnt.caption(2, "an old boat")
    learnt.judge("sky", 5, False)
    before, file = state(learnt), tmp_path / "backup.jsonl"
    head, caption, *_, click = learnt.backup()
    wrong = [{"query": "in:alps"}, {"step": float("nan")}, {"step": []}, {"time": "noon"}]
    lines = ["[]", caption.replace("source", "origin"), click.replace("query", "question")]
    lines += [json.dumps(json.loads(click) | one) for one in wrong]
    newer = json.dumps(json.loads(head) | {"version": 2})
    for text in ("not a backup", "{}", newer, *(f"{head}\n{click}\n{line}" for line in lines)):
        file.write_text(text)
        with pytest.raises(BadInput, match="newer visterm" if text == newer else "backup"):
            learnt.restore(file)
    assert state(learnt) == before


def test_pictures_are_taken_out_in_every_form(learnt: Collection, tmp_path: Path) -> None:
    chosen = learnt.matches("sky")[:3]
    assert len(chosen) == 3
    paths = learnt.export_text(chosen, "list").splitlines()
    rows = json.loads(learnt.export_text(chosen, "json"))
    table = list(csv.DictReader(io.StringIO(learnt.export_text(chosen, "csv"))))
    assert [row["path"] for row in rows] == paths == [row["path"] for row in table]
    assert rows[0]["caption"] == table[0]["caption"] != ""
    for copies in (False, True):
        to = tmp_path / str(copies)
        assert learnt.export_folder(chosen, to, copies=copies) == 3
        assert learnt.export_folder(chosen, to, copies=copies) == 0, "what is there stays"
        assert {path.read_bytes() for path in to.iterdir()} == {
            Path(path).read_bytes() for path in paths
        }
        assert all(path.is_symlink() != copies for path in to.iterdir())
    learnt.caption(chosen[0], "harbour\nold boat")
    for to in (None, tmp_path / "sidecars"):
        assert learnt.export_keywords(chosen[:1], to) == 1
        assert learnt.export_keywords(chosen[:1], to) == 0
    beside, below = Path(paths[0] + ".xmp"), tmp_path / "sidecars" / f"{Path(paths[0]).name}.xmp"
    assert beside.read_bytes() == below.read_bytes()
    assert captions_of(paths[0]) == [Caption("xmp-sidecar:description", "harbour old boat")]
    with pytest.raises(BadInput, match="there are list"):
        learnt.export_text(chosen, "pdf")
