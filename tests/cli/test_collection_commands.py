"""A person's way through a collection by commands: first use, captions, training, search."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from visterm.datasets.scenes import draw_scenes

sys.path.insert(0, str(Path(__file__).parent))

from running import visterm  # it lies beside this file

LINE = re.compile(r" *(?:[<>] )?(\d+) %  (\S+)(?:  \((.+)\))?")
"""A picture that was found: how likely it is, its path, and what else speaks for it."""


def told(*words: str, cwd: Path) -> Any:
    ran = visterm(*words, "--json", cwd=cwd)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of captioned pictures in which somebody has typed nothing but a search."""
    folder = tmp_path_factory.mktemp("Pictures")
    for path, words in draw_scenes(folder, 40, size=(48, 32)):
        path.with_suffix(".txt").write_text(" ".join(words))
    (folder / "captions.tsv").unlink()
    (folder / "broken.jpg").write_bytes(b"no picture")
    (folder / "alps").mkdir()
    shutil.copy(folder / "scene-0001.jpg", folder / "alps" / "copy.jpg")
    ran = visterm("search", "tree", "sky", "-k", "3", cwd=folder)
    assert ran.returncode == 0, ran.stderr
    assert "for the first time" in ran.stderr
    assert "skipping broken.jpg: it is not a picture" in ran.stderr
    assert "40 new pictures, 1 duplicate, 1 skipped" in ran.stderr
    assert len(ran.stdout.splitlines()) == 3
    return folder


def test_one_command_in_a_folder_indexes_learns_and_answers(searched: Path) -> None:
    ran = visterm("search", "tree sky", "-k", "5", cwd=searched)
    assert ran.returncode == 0, ran.stderr
    assert all("match" in line for line in ran.stderr.splitlines())
    lines = [LINE.fullmatch(line) for line in ran.stdout.splitlines()]
    found = [line.groups() for line in lines if line is not None]
    assert len(found) == len(lines) == 5
    chances = [int(percent) for percent, *_ in found]
    assert chances == sorted(chances, reverse=True)
    assert all((searched / path).exists() for _, path, _ in found)
    assert "caption: sky, tree" in [says for *_, says in found]


def test_paths_are_for_pipes_and_follow_where_one_stands(searched: Path) -> None:
    here = visterm("search", "tree in:alps", "--paths", cwd=searched).stdout
    assert here == f"alps{os.sep}copy.jpg\n"
    inside = visterm("search", "tree in:alps", "--paths", cwd=searched / "alps").stdout
    assert inside == "copy.jpg\n"


def test_json_is_one_object_and_says_what_is_unknown(searched: Path) -> None:
    ran = visterm("search", "tree xylophonist", "-k", "2", "--json", cwd=searched)
    found = json.loads(ran.stdout)
    keys = {"picture", "path", "score", "probability", "judged", "evidence", "also"}
    keys |= {"taken", "taken_from", "latitude", "longitude", "type", "frame", "frame_time"}
    keys |= {"id", "fields"}
    assert [set(one) for one in found["results"]] == [keys] * 2
    evidence = found["results"][0]["evidence"]
    assert evidence["words"] == ["tree"]
    total = evidence["sight"] + evidence["caption"]
    assert total == pytest.approx(found["results"][0]["score"], abs=1e-5)
    assert isinstance(found["cutoff"], int), "the starter knows what scores are worth"
    assert "xylophonist" in found["unknown"]
    assert "the word 'xylophonist' is not known, so it is left out" in ran.stderr
    assert "visterm encoder add" in ran.stderr, "what would help"


def test_status_and_check_tell_what_there_is(searched: Path) -> None:
    found = told("status", cwd=searched)
    assert (found["pictures"], found["files"], found["skipped"]) == (40, 41, 1)
    assert found["captioned"] == 40
    assert found["index"]["pictures"] == 40
    assert told("check", cwd=searched)["problems"] == []
    shown = visterm("status", cwd=searched).stdout
    assert "captioned  40 (txt 40)" in shown


def test_names_count_where_a_command_lets_them(searched: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(searched, tmp_path / "copy")
    assert visterm("search", "alps", cwd=folder).returncode == 2
    assert visterm("add", "--names", "folders", cwd=folder).returncode == 0
    assert "(folder: alps)" in visterm("search", "alps", cwd=folder).stdout
    (found,) = told("search", "alps", cwd=folder)["results"]
    evidence = found["evidence"]
    assert (evidence["words"], evidence["file_words"], evidence["folder_words"]) == (
        [],
        [],
        ["alps"],
    )
    total = evidence["sight"] + evidence["caption"] + evidence["name"]
    assert total == pytest.approx(found["score"], abs=1e-5)
    assert told("status", cwd=folder)["names"] == "folders"
    assert "those of folders count as words" in visterm("status", cwd=folder).stdout
    refused = visterm("add", "--names", "everything", cwd=folder)
    assert (refused.returncode, "none, files, folders, both" in refused.stderr) == (2, True)


def test_new_pictures_are_found_by_the_next_search(searched: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(searched, folder)
    Image.new("RGB", (60, 40), "green").save(folder / "alps" / "green.png")
    found = told("search", "captioned:no", cwd=folder)
    assert [Path(one["path"]).name for one in found["results"]] == ["green.png"]
    (folder / "alps" / "green.png").unlink()
    as_is = visterm("search", "captioned:no", "--as-is", "--paths", cwd=folder)
    assert as_is.stdout == f"alps{os.sep}green.png\n"
    assert told("search", "captioned:no", cwd=folder)["results"] == []


def test_captions_training_and_removal_step_by_step(tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    draw_scenes(folder, 30, size=(48, 32))
    table = shutil.move(folder / "captions.tsv", tmp_path / "captions.tsv")
    added = told("add", "--features", "blocks", cwd=folder)
    assert (added["new"], added["pictures"], added["skipped"]) == (30, 30, [])
    nothing = visterm("search", "tree", cwd=folder)
    assert nothing.returncode == 1
    assert nothing.stderr.startswith("visterm: nothing has been learnt yet")
    assert visterm("train", cwd=folder).returncode == 1
    assert told("caption", "--from", str(table), cwd=folder) == {
        "pictures": 30,
        "unknown": [],
        "unread": [],
    }
    own = told("caption", "scene-0001.jpg", "a", "zebra", cwd=folder)
    assert own["captions"]["person"] == "a zebra"
    trained = told("train", cwd=folder)
    assert (trained["kept"], trained["pictures"]) == ("new", 30)
    found = told("search", "zebra", "-k", "1", cwd=folder)
    assert Path(found["results"][0]["path"]).name == "scene-0001.jpg"
    alike = visterm("search", "--like", "scene-0002.jpg", "-k", "4", "--paths", cwd=folder)
    assert len(alike.stdout.split()) == 4
    assert told("remove", "scene-0001.jpg", cwd=folder) == {"removed": 1}
    assert told("add", cwd=folder)["pictures"] == 29
    assert told("remove", "--everything", "--yes", cwd=folder) == {"removed": 29}
    assert not (folder / ".visterm").exists()


def test_damage_is_found_with_exit_code_1_and_repaired(searched: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(searched, folder)
    for path in (folder / ".visterm" / "models").glob("*/model.safetensors"):
        path.write_bytes(b"")
    broken = visterm("check", cwd=folder)
    assert broken.returncode == 1
    assert "visterm check --repair rebuilds what can be rebuilt" in broken.stdout
    failed = visterm("search", "tree", cwd=folder)
    assert failed.returncode == 1
    assert "visterm check --repair" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert told("check", "--repair", cwd=folder)["repaired"] == ["the model learnt again"]
    assert visterm("search", "tree", cwd=folder).returncode == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["search"], "nothing to search for"),
        (["search", "tree:x"], "the weight of 'tree' must be a number"),
        (["search", "qwertzu"], "not known yet: 'qwertzu'"),
        (["search", "tree in:nowhere"], "the collection has no folder 'nowhere'"),
        (["search", "tree \udcff"], "holds half of a character"),
        (["search", "tree", "-k", "0"], "--limit"),
        (["search", "--like", "none.jpg"], "there is no picture none.jpg"),
        (["caption"], "name a picture and its words, or a table with --from"),
        (["caption", "none.jpg", "words"], "none.jpg is not in the collection"),
        (["caption", "--from", "none.csv"], "none.csv: no such file"),
        (["train", "--model", "oracle"], "no model called 'oracle'"),
        (["add", "--features", "tea-leaves"], "no features called 'tea-leaves'"),
        (["add", "none"], "there is no"),
        (["remove"], "name pictures or folders to forget, or --everything"),
        (["remove", "none.jpg"], "none.jpg is not in the collection"),
        (["status", "-C", "none"], "there is no folder none"),
    ],
)
def test_wrong_use_says_what_is_wrong_and_exits_with_2(
    searched: Path, words: list[str], said: str
) -> None:
    ran = visterm(*words, cwd=searched)
    assert ran.returncode == 2, ran.stderr
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr
    assert ran.stdout == ""


def test_a_folder_without_pictures_is_not_made_a_collection(tmp_path: Path) -> None:
    for words in (["search", "tree"], ["status"], ["train"], ["check"]):
        ran = visterm(*words, cwd=tmp_path)
        assert ran.returncode == 2
    assert "there are no pictures in" in visterm("search", "tree", cwd=tmp_path).stderr
    assert list(tmp_path.iterdir()) == []


def test_a_mistyped_folder_makes_no_collection_of_the_one_above(tmp_path: Path) -> None:
    ran = visterm("add", tmp_path / "Pcitures", cwd=tmp_path)
    assert ran.returncode == 2
    assert "there is no" in ran.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_caption_shows_what_was_there_and_how_to_undo_it(searched: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(searched, tmp_path / "copy")
    name = "scene-0001.jpg"
    visterm("caption", name, "red", "boat", cwd=folder)
    changed = visterm("caption", name, "blue", "boat", cwd=folder).stdout.splitlines()
    assert "before: red boat  (by you)" in changed
    assert "now:    blue boat  (by you)" in changed
    assert changed[-1] == "visterm undo takes this back"
    assert visterm("undo", cwd=folder).stdout == "took back the caption of 1 picture\n"
    assert "red boat  (by you)" in visterm("caption", name, cwd=folder).stdout


def test_a_search_loads_no_heavy_library(searched: Path) -> None:
    program = (
        "import sys; sys.argv = ['visterm', 'search', 'tree sky', '-k', '1']\n"
        "from visterm.cli import main\n"
        "try:\n    main()\nexcept SystemExit as left:\n    assert not left.code\n"
        "heavy = {'scipy', 'sklearn', 'numba', 'PIL', 'rich', 'faiss', 'joblib', 'onnxruntime'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=searched
    )
    assert ran.stdout.splitlines()[-1] == "[]", ran.stderr


def test_the_shell_gets_the_whole_answer_of_a_process_that_ends_at_once(searched: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "visterm", "search", "tree", "-k", "40"],
        capture_output=True,
        text=True,
        cwd=searched,
    )
    assert (ran.returncode, len(ran.stdout.splitlines())) == (0, 40), ran.stderr


def test_a_search_whose_answer_nobody_reads_any_more_is_no_error(searched: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "visterm", "search", "tree"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=searched,
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()  # as `head` does when it has seen enough
        assert running.stderr.read() == ""


def test_a_collection_of_before_the_starter_gets_it_with_the_next_search(tmp_path: Path) -> None:
    from visterm.collection import Collection

    draw_scenes(tmp_path / "Pictures", 4, size=(48, 32))
    (tmp_path / "Pictures" / "captions.tsv").unlink()
    with Collection.open(tmp_path / "Pictures") as collection:
        collection.add(n_jobs=1)
        with collection.catalogue.writing("a test"), collection.catalogue.transaction() as db:
            db.execute("DELETE FROM versions")
    ran = visterm("search", "beach", "--paths", cwd=tmp_path / "Pictures")
    assert ran.returncode == 0, ran.stderr
    assert len(ran.stdout.splitlines()) == 4


def test_two_collections_at_once_are_refused_with_what_to_do(tmp_path: Path) -> None:
    for name in ("a", "b"):
        draw_scenes(tmp_path / name, 3, size=(48, 32))
        assert visterm("add", "--features", "blocks", cwd=tmp_path / name).returncode == 0
    both = visterm("add", "a", "b", cwd=tmp_path)
    assert both.returncode == 2
    assert "add to one collection at a time" in both.stderr
    assert not (tmp_path / ".visterm").exists()
    for words in (["search", "sky", "-C", "a", "-C", "b"], ["status", "--collection=a", "-C", "b"]):
        ran = visterm(*words, cwd=tmp_path)
        assert ran.returncode == 2
        assert "one collection at a time" in ran.stderr
    served = visterm("serve", "a", "b", "--no-browser", cwd=tmp_path)
    assert served.returncode == 2
    assert "one collection at a time" in served.stderr
    draw_scenes(tmp_path / "c", 3, size=(48, 32))
    mixed = visterm("add", "a", "c", cwd=tmp_path)
    assert mixed.returncode == 2, "one of them is a collection, and does not hold the other"


def test_training_takes_a_table_of_pictures_to_hold_out(tmp_path: Path) -> None:
    drawn = draw_scenes(tmp_path / "pictures", 60, size=(48, 32))
    for name, part in (("train.tsv", drawn[:40]), ("validation.tsv", drawn[40:])):
        lines = [f"pictures/{path.name}\t{' '.join(words)}\n" for path, words in part]
        (tmp_path / name).write_text("".join(lines))
    folder = tmp_path / "pictures"
    assert visterm("add", "--features", "blocks", cwd=folder).returncode == 0
    assert visterm("caption", "--from", "../train.tsv", cwd=folder).returncode == 0
    found = told("train", "--validation", "../validation.tsv", cwd=folder)
    assert (found["pictures"], found["held_out"]) == (60, 20)
