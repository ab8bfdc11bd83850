"""visterm describe: what is printed, and what is written beside pictures."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import canonicalize

import pytest

from visterm.collection import Collection
from visterm.datasets.scenes import draw_scenes
from visterm.features import EXTRACTORS
from visterm.pictures.sandbox import captions_of
from visterm.text.phrases import tagger

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "collection"))

from running import visterm  # it lies beside this file
from thumbnails import Thumbnails  # an extractor for tests

BESIDE = b"""<x:xmpmeta xmlns:x="adobe:ns:meta/">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/">
   <dc:subject><rdf:Bag><rdf:li>Holiday</rdf:li></rdf:Bag></dc:subject>
  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>
"""


@pytest.fixture(autouse=True, scope="module")
def _quick_extractor() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(EXTRACTORS, Thumbnails.name, Thumbnails)
        yield


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of captioned scenes, learnt from; copy it before changing anything."""
    folder = tmp_path_factory.mktemp("Pictures")
    draw_scenes(folder, 130, size=(48, 32))
    with Collection.open(folder) as collection:
        collection.add(features="thumbnails")
        collection.caption_from(folder / "captions.tsv")
        collection.train()
    return folder


@pytest.fixture
def folder(taught: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(taught, tmp_path / "Pictures", copy_function=shutil.copy2))


def test_words_and_nearest_captions_are_printed(taught):
    ran = visterm("describe", "scene-0001.jpg", "scene-0002.jpg", cwd=taught)
    assert ran.returncode == 0
    lines = ran.stdout.splitlines()
    assert lines[0] == "scene-0001.jpg"
    assert lines[1].startswith("  own ")
    assert lines[2].startswith("  words ")
    assert sum(line.startswith("  like ") for line in lines) == 6


def test_json_holds_scores_chances_and_paths(taught):
    ran = visterm(
        "describe", "scene-0001.jpg", "--words", "4", "--captions", "2", "--json", cwd=taught
    )
    (about,) = json.loads(ran.stdout)["pictures"]
    assert len(about["words"]) == 4
    assert all(0 <= one["probability"] <= 1 for one in about["words"])
    chances = [one["probability"] for one in about["words"]]
    assert chances == sorted(chances, reverse=True)
    assert [set(one) for one in about["captions"]] == [{"text", "score", "path"}] * 2
    assert "sidecar" not in about


def test_a_picture_elsewhere_is_described_by_the_collection_one_stands_in(taught, tmp_path):
    outside = tmp_path / "x.jpg"
    shutil.copy(taught / "scene-0005.jpg", outside)
    ran = visterm("describe", outside, "--json", cwd=taught)
    (about,) = json.loads(ran.stdout)["pictures"]
    assert about["own"] == {}
    assert about["captions"][0]["path"] == str(taught / "scene-0005.jpg")


def test_from_elsewhere_the_collection_of_the_picture_is_asked(taught, tmp_path):
    ran = visterm("describe", taught / "scene-0001.jpg", "--json", cwd=tmp_path)
    assert json.loads(ran.stdout)["pictures"][0]["own"]


def test_a_dry_run_shows_the_difference_and_writes_nothing(folder):
    before = sorted(folder.iterdir())
    words = ["--write-xmp", "--least", "0.05", "--dry-run"]
    ran = visterm("describe", "scene-0001.jpg", *words, cwd=folder)
    assert "+++ scene-0001.jpg.xmp" in ran.stdout
    assert "+   <dc:subject>" in ran.stdout
    assert sorted(folder.iterdir()) == before


def test_what_was_written_is_no_caption_at_the_next_add(folder):
    (folder / "scene-0002.xmp").write_bytes(BESIDE)
    visterm("add", ".", cwd=folder)
    with Collection.open(folder) as collection:
        before = {name: collection.captions(folder / name) for name in _names(folder)}
    assert before["scene-0002.jpg"]["xmp-sidecar:subject"] == "Holiday"
    ran = visterm(
        "describe", "scene-0001.jpg", "scene-0002.jpg", "--write-xmp", "--least", "0.05", cwd=folder
    )
    assert ran.stdout.count("  written ") == 2
    likely = json.loads(visterm("describe", "scene-0001.jpg", "--json", cwd=folder).stdout)
    first = likely["pictures"][0]["words"][0]["word"]
    text = (folder / "scene-0001.jpg.xmp").read_text(encoding="utf-8")
    assert text.count(f"<rdf:li>{first}</rdf:li>") == 2  # as a keyword, and as one of ours
    assert "Holiday" in (folder / "scene-0002.xmp").read_text(encoding="utf-8")
    added = visterm("add", ".", "--json", cwd=folder)
    assert added.returncode == 0, added.stderr
    with Collection.open(folder) as collection:
        assert {name: collection.captions(folder / name) for name in _names(folder)} == before
    assert captions_of(folder / "scene-0001.jpg") == []


def test_where_chances_are_not_known_no_word_is_written_and_that_is_said(tmp_path):
    draw_scenes(tmp_path, 8, size=(48, 32))
    with Collection.open(tmp_path) as collection:
        collection.add(features="thumbnails")
        collection.caption_from(tmp_path / "captions.tsv")
        collection.train()
    ran = visterm("describe", "scene-0001.jpg", "--write-xmp", "--dry-run", cwd=tmp_path)
    assert "no word is written" in ran.stderr
    assert "dc:subject>" not in ran.stdout
    assert "<visterm:" not in ran.stdout


def test_writing_twice_changes_nothing_the_second_time(folder):
    words = ["describe", "scene-0001.jpg", "--write-xmp", "--least", "0.05"]
    assert "  written " in visterm(*words, cwd=folder).stdout
    again = visterm(*words, "--json", cwd=folder)
    sidecar = json.loads(again.stdout)["pictures"][0]["sidecar"]
    assert sidecar == {"path": "scene-0001.jpg.xmp", "written": False, "diff": ""}


def test_asking_for_nothing_takes_out_all_that_was_written(folder):
    (folder / "scene-0002.xmp").write_bytes(BESIDE)
    visterm("describe", "scene-0002.jpg", "--write-xmp", "--least", "0.05", cwd=folder)
    assert (folder / "scene-0002.xmp").read_bytes() != BESIDE
    nothing = ["--words", "0"]
    visterm("describe", "scene-0002.jpg", "--write-xmp", *nothing, cwd=folder)
    left = canonicalize((folder / "scene-0002.xmp").read_text())
    assert left == canonicalize(BESIDE.decode())


def test_a_sidecar_that_cannot_be_added_to_is_told_and_left(folder):
    (folder / "scene-0001.xmp").write_bytes(b"<broken")
    ran = visterm("describe", "scene-0001.jpg", "--write-xmp", cwd=folder)
    assert ran.returncode == 0
    assert "scene-0001.xmp is left as it is" in ran.stderr
    assert (folder / "scene-0001.xmp").read_bytes() == b"<broken"


def test_without_the_tagger_there_are_no_phrases_and_the_extra_is_named(taught, monkeypatch):
    monkeypatch.setitem(sys.modules, "HanTa.HanoverTagger", None)
    tagger.cache_clear()
    ran = visterm("describe", "scene-0001.jpg", "--json", cwd=taught)
    tagger.cache_clear()
    assert "visterm[phrases]" in ran.stderr
    (about,) = json.loads(ran.stdout)["pictures"]
    assert about["words"]
    assert about["phrases"] == []


def test_unreadable_pictures_are_skipped_with_a_reason(taught, tmp_path):
    (tmp_path / "no.jpg").write_bytes(b"nothing")
    ran = visterm("describe", tmp_path / "no.jpg", "scene-0001.jpg", cwd=taught)
    assert (ran.returncode, ran.stderr.count("skipping")) == (0, 1)
    assert visterm("describe", tmp_path / "no.jpg", cwd=taught).returncode == 1


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["describe", "."], "is a folder"),
        (["describe", "scene-0001.jpg", "--dry-run"], "--write-xmp"),
        (["describe", "scene-0001.jpg", "--least", "0.5"], "--write-xmp"),
    ],
)
def test_wrong_use_is_one_line(taught, words, line):
    ran = visterm(*words, cwd=taught)
    assert ran.returncode == 2
    assert line in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_without_a_collection_it_says_how_to_make_one(tmp_path):
    ran = visterm("describe", "x.jpg", cwd=tmp_path)
    assert ran.returncode == 2
    assert "visterm add" in ran.stderr


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.jpg"))
