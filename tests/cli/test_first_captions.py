"""The first captions in a folder: searches go on, whatever they are."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from PIL import Image

from visterm.collection import Collection
from visterm.datasets.scenes import draw_scenes
from visterm.web.writer import WriterProcess

sys.path.insert(0, str(Path(__file__).parent))

from running import visterm  # it lies beside this file

IN_VAIN = "too few to learn from"


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight pictures without captions, which the starter knows; copy before changing anything."""
    folder = tmp_path_factory.mktemp("indexed") / "Pictures"
    draw_scenes(folder, 8, size=(96, 64))
    (folder / "captions.tsv").unlink()
    with Collection.open(folder) as collection:
        collection.add(n_jobs=1)
    return folder


@pytest.fixture
def folder(indexed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(indexed, tmp_path / "Pictures"))


def with_comment(path: Path, comment: str) -> None:
    """Write a description into a picture's EXIF, as programs do."""
    with Image.open(path) as picture:
        exif = picture.getexif()
        exif[270] = comment
        picture.save(path, exif=exif)


def test_one_caption_leaves_the_starter_answering_and_is_spoken_of_once(folder: Path):
    before = visterm("search", "beach", "--paths", cwd=folder)
    last = before.stdout.split()[-1]
    assert visterm("caption", last, "holiday with Anna", cwd=folder).returncode == 0
    first = visterm("search", "beach", "--paths", cwd=folder)
    assert (first.returncode, first.stdout) == (0, before.stdout)
    assert first.stderr.count(IN_VAIN) == 1
    again = visterm("search", "beach", "--paths", cwd=folder)
    assert (again.returncode, again.stdout, again.stderr) == (0, before.stdout, "")


def test_with_features_that_no_starter_knows_captions_alone_answer(tmp_path: Path):
    folder = tmp_path / "Pictures"
    draw_scenes(folder, 3, size=(48, 32))
    (folder / "captions.tsv").unlink()
    assert visterm("add", "--features", "blocks", cwd=folder).returncode == 0
    assert visterm("caption", "scene-0001.jpg", "holiday with Anna", cwd=folder).returncode == 0
    found = visterm("search", "anna", "--paths", cwd=folder)
    assert (found.returncode, found.stdout) == (0, "scene-0001.jpg\n")
    assert f"{IN_VAIN} (caption at least 2); captions alone answer" in found.stderr
    assert visterm("search", "beach", cwd=folder).returncode == 1


def test_a_job_of_the_page_says_so_once_and_is_done(folder: Path):
    visterm("caption", "scene-0001.jpg", "holiday with Anna", cwd=folder)
    with WriterProcess(folder, folder / ".visterm") as writer:
        results = [writer.ask("add", {"changed": None}) for _ in range(2)]
    assert IN_VAIN in results[0]["not_trained"]
    assert "not_trained" not in results[1]
    assert [one["trained"] for one in results] == [False, False]


def test_other_captions_are_tried_anew(folder: Path):
    visterm("caption", "scene-0001.jpg", "holiday with Anna", cwd=folder)
    visterm("search", "beach", cwd=folder)
    visterm("caption", "scene-0002.jpg", "work with Bruno", cwd=folder)
    found = visterm("search", "bruno", "-k", "1", "--paths", cwd=folder)
    assert (found.returncode, found.stdout) == (0, "scene-0002.jpg\n")


def test_one_word_on_three_pictures_is_learnt_against_the_others(folder: Path):
    beaches = visterm("search", "beach", "--paths", "-k", "3", cwd=folder).stdout.split()
    tigers = visterm("search", "tiger", "--paths", cwd=folder).stdout.split()
    for name in beaches:
        visterm("caption", name, "Anna", cwd=folder)
    found = visterm("search", "Anna", "--paths", "-k", "3", cwd=folder)
    assert found.returncode == 0, found.stderr
    assert IN_VAIN not in found.stderr
    assert set(found.stdout.split()) == set(beaches)
    bare = visterm("search", "tiger captioned:no", "--paths", cwd=folder).stdout.split()
    assert bare == [name for name in tigers if name not in beaches]


def test_a_word_in_all_captions_is_learnt_beside_others(folder: Path):
    beaches = visterm("search", "beach", "--paths", "-k", "3", cwd=folder).stdout.split()
    for name, words in zip(beaches, ("Anna", "Anna", "Anna with Bruno"), strict=True):
        visterm("caption", name, words, cwd=folder)
    found = visterm("search", "Anna", "--paths", "-k", "3", cwd=folder)
    assert set(found.stdout.split()) == set(beaches)
    assert visterm("search", "bruno", "--paths", "-k", "1", cwd=folder).stdout.strip() == beaches[2]


def test_one_word_on_all_pictures_leaves_the_starter_answering(folder: Path):
    before = visterm("search", "beach", "--paths", cwd=folder)
    for path in sorted(folder.glob("*.jpg")):
        visterm("caption", path, "Anna", cwd=folder)
    found = visterm("search", "beach", "--paths", cwd=folder)
    assert (found.returncode, found.stdout) == (0, before.stdout)
    assert found.stderr.count(IN_VAIN) == 1


def test_names_of_several_words_stay_together(folder: Path):
    names = sorted(path.name for path in folder.glob("*.jpg"))
    captions = ("Aunt Rosa", "Aunt Rosa", "a dog in New York", "New York", "people")
    for name, words in zip(names, captions, strict=False):
        visterm("caption", name, words, cwd=folder)
    for query in ("Aunt Rosa", '"aunt rosa"', "rosa"):
        found = visterm("search", query, "--paths", "-k", "2", cwd=folder)
        assert set(found.stdout.split()) == set(names[:2]), query
    found = visterm("search", "New York -people", "--paths", "-k", "2", cwd=folder)
    assert set(found.stdout.split()) == set(names[2:4])
    described = json.loads(visterm("describe", names[0], "--json", cwd=folder).stdout)
    words = [one["word"] for one in described["pictures"][0]["words"]]
    assert "aunt rosa" in words
    assert not {"aunt", "rosa"} & set(words)


def test_training_by_name_still_says_that_captions_are_too_few(folder: Path):
    visterm("caption", "scene-0001.jpg", "holiday with Anna", cwd=folder)
    for _ in range(2):
        asked = visterm("train", cwd=folder)
        assert asked.returncode == 1
        assert IN_VAIN in asked.stderr


def test_what_a_program_wrote_is_no_caption(folder: Path):
    with_comment(folder / "scene-0001.jpg", "Created by GIMP")
    found = visterm("search", "beach", cwd=folder)
    assert found.returncode == 0
    assert IN_VAIN not in found.stderr
    with Collection.open(folder) as collection:
        assert not collection.has_captions
        assert collection.status().captioned == 0


def test_captions_of_vanished_pictures_do_not_count(folder: Path):
    for number in (1, 2):
        visterm("caption", f"scene-000{number}.jpg", f"holiday {number}", cwd=folder)
        (folder / f"scene-000{number}.jpg").unlink()
    found = visterm("search", "beach", cwd=folder)
    assert found.returncode == 0
    assert IN_VAIN not in found.stderr
    assert "holiday" not in visterm("search", "holidays", cwd=folder).stdout
    with Collection.open(folder) as collection:
        assert not collection.has_captions
        assert not collection.awaits_training
        assert not collection.is_trained


def test_a_check_brings_the_starter_where_captions_have_become_too_few(folder: Path):
    for number, words in ((1, "holiday Anna"), (2, "work Bruno")):
        visterm("caption", f"scene-000{number}.jpg", words, cwd=folder)
    assert visterm("train", cwd=folder).returncode == 0
    visterm("caption", "scene-0002.jpg", "", cwd=folder)
    for path in (folder / ".visterm" / "models").rglob("model.safetensors"):
        path.write_bytes(b"harm")
    checked = visterm("check", "--repair", cwd=folder)
    assert checked.returncode == 0, checked.stderr
    assert visterm("search", "beach", cwd=folder).returncode == 0
