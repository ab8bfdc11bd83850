"""Work over many pictures: order, reasons, progress, and processes that die."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from visterm.datasets.scenes import Scene
from visterm.errors import BadInput, VistermError
from visterm.features import picture_batches
from visterm.features.picture_batches import BATCH, PictureBatch, over_pictures

# A child of an interpreter that loads this ends at a picture of that name, as by a bug in C.
_DEADLY = """
import os, sys
def dies(event, arguments):
    if event == "open" and "deadly" in str(arguments[0]):
        os.abort()
if "visterm.pictures.sandbox as" in str(sys.orig_argv):
    sys.addaudithook(dies)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, many: list[Scene]) -> list[Path]:
    """Seventy picture files, of which the seventh is text, the fortieth is cut short and the last
    is missing."""
    place = tmp_path_factory.mktemp("pictures")
    paths = [place / f"{number:02}.png" for number in range(len(many))]
    for path, scene in zip(paths, many, strict=True):
        Image.fromarray(scene.pixels).save(path)
    paths[7].write_text("not a picture")
    paths[40].write_bytes(paths[40].read_bytes()[:200])
    paths[-1].unlink()
    return paths


def sums(batches: list[PictureBatch[list[int]]]) -> dict[int, int]:
    """What ``[int(p.sum()) …]`` said of each picture."""
    return {
        number: total
        for batch in batches
        for number, total in zip(batch.numbers, batch.result or [], strict=True)
    }


def test_every_picture_is_worked_on_once_in_order(many: list[Scene]) -> None:
    pictures = [scene.pixels for scene in many]
    batches = list(over_pictures(lambda pixels: [int(p.sum()) for p in pixels], pictures))
    assert [n for batch in batches for n in batch.numbers] == list(range(len(many)))
    assert max(len(batch.numbers) for batch in batches) == BATCH
    assert sums(batches) == {i: int(p.sum()) for i, p in enumerate(pictures)}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_unreadable_pictures_cost_themselves_and_give_reasons(
    folder: list[Path], many: list[Scene], n_jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder[0].parent)
    files = [path.name for path in folder]  # relative paths are those of this folder in all
    heard: list[tuple[str, int, int]] = []
    batches = list(
        over_pictures(
            lambda pixels: [int(p.sum()) for p in pixels],
            files,
            n_jobs=n_jobs,
            progress=lambda *said: heard.append(said),
            what="adding up",
        )
    )
    skipped = {skip.number: skip for batch in batches for skip in batch.skipped}
    assert set(skipped) == {7, 40, 69}
    assert all(skip.picture == files[skip.number] for skip in skipped.values())
    assert all(len(skip.reason) > 5 for skip in skipped.values())
    assert sums(batches) == {i: int(s.pixels.sum()) for i, s in enumerate(many) if i not in skipped}
    assert heard == [("adding up", 32, 70), ("adding up", 64, 70), ("adding up", 70, 70)]


def test_a_batch_of_unreadable_pictures_has_no_result(tmp_path: Path) -> None:
    (batch,) = over_pictures(len, [tmp_path / "nothing.jpg", tmp_path])
    assert batch.result is None
    assert batch.numbers == []
    assert [skip.number for skip in batch.skipped] == [0, 1]


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (np.zeros((4, 4), np.uint8), r"3 bytes are needed, not uint8 of shape \(4, 4\)"),
        (np.zeros((4, 4, 4), np.uint8), "3 bytes are needed"),
        (np.zeros((4, 4, 3)), "3 bytes are needed, not float64"),
        (np.zeros((0, 4, 3), np.uint8), "3 bytes are needed"),
        (Image.new("RGB", (4, 4)), "a path or an array of pixels"),
        (None, "a path or an array of pixels"),
    ],
)
def test_what_is_no_picture_costs_itself_only(wrong: object, reason: str) -> None:
    sound = np.zeros((4, 4, 3), np.uint8)
    (batch,) = over_pictures(len, [sound, wrong, sound], max_side=3)
    assert batch.numbers == [0, 2]
    assert batch.result == 2
    (skip,) = batch.skipped
    assert skip.number == 1
    assert re.search(reason, skip.reason)


@pytest.mark.parametrize(
    "single", ["tree.jpg", Path("tree.jpg"), b"tree.jpg", np.zeros((4, 4, 3), np.uint8)]
)
def test_a_single_picture_is_not_taken_for_a_list(single: object) -> None:
    with pytest.raises(BadInput, match="put a single one in brackets"):
        next(over_pictures(len, single))


def test_a_stream_of_pictures_is_refused() -> None:
    with pytest.raises(BadInput, match="list, not as a generator"):
        next(over_pictures(len, (path for path in ["tree.jpg"])))


def test_no_pictures_are_no_batches() -> None:
    assert list(over_pictures(len, [], n_jobs=2)) == []


def test_pixels_are_shrunk_as_files_are(tmp_path: Path, scenes: list[np.ndarray]) -> None:
    path = tmp_path / "scene.png"
    Image.fromarray(scenes[0]).save(path)
    (batch,) = over_pictures(list, [path, scenes[0]], max_side=90)
    from_file, from_pixels = batch.result or []
    assert from_file.shape == (60, 90, 3)
    assert np.array_equal(from_file, from_pixels)


def test_a_picture_that_ends_the_process_of_the_work_costs_itself() -> None:
    def die_of_white(pixels: list[np.ndarray]) -> list[int]:
        if any(one.min() == 255 for one in pixels):
            os._exit(1)
        return [len(pixels)]

    pictures = [np.full((4, 4, 3), 255 * (number == 5), np.uint8) for number in range(BATCH + 2)]
    batches = list(over_pictures(die_of_white, pictures, n_jobs=2))
    assert [one.number for batch in batches for one in batch.skipped] == [5]
    assert sum(batch.result[0] for batch in batches if batch.result) == BATCH + 1


def test_work_that_ends_its_process_is_one_clear_error(many: list[Scene]) -> None:
    def die(pixels: list[np.ndarray]) -> list[int]:
        os._exit(1)

    with pytest.raises(VistermError, match="a process at work was ended"):
        list(over_pictures(die, [scene.pixels for scene in many], n_jobs=2))


def test_a_picture_that_crashes_its_decoder_costs_itself_in_every_process(
    folder: list[Path], tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(_DEADLY)
    deadly = shutil.copy(folder[0], tmp_path / "deadly.png")
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)]),
        "PICTURES": os.pathsep.join(map(str, [*folder[1:7], deadly, *folder[8:40]])),
    }
    code = """
import os
from visterm.features.picture_batches import over_pictures
for batch in over_pictures(len, os.environ["PICTURES"].split(os.pathsep), n_jobs=2):
    print(batch.result, *[(one.number, one.reason) for one in batch.skipped])
"""
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    assert ran.stdout.decode().splitlines() == ["31 (6, 'it crashes the decoder')", "7"]


def test_errors_of_the_work_itself_reach_the_caller(many: list[Scene]) -> None:
    def fail(pixels: list[np.ndarray]) -> int:
        raise RuntimeError("a bug, not a broken picture")

    with pytest.raises(RuntimeError, match="a bug"):
        list(over_pictures(fail, [scene.pixels for scene in many], n_jobs=2))


def test_in_one_process_only_the_next_batch_is_decoded_ahead(folder: list[Path]) -> None:
    opened: list[int] = []

    class Watched(os.PathLike[str]):
        def __init__(self, number: int) -> None:
            self.number = number

        def __fspath__(self) -> str:
            opened.append(self.number)
            return str(folder[0])

    seen = []
    for batch in over_pictures(len, [Watched(number) for number in range(4 * BATCH)]):
        seen.append(batch.result)
        assert max(opened) < BATCH * (len(seen) + 1)
    assert seen == [BATCH] * 4


def test_whoever_stops_on_the_way_waits_for_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    decode, may_end = picture_batches._Decode.__call__, threading.Event()
    ended: list[int] = []

    def slow(self: Any, batch: Any) -> Any:
        if batch[0][0] == 1:
            may_end.wait(20)
        ended.append(batch[0][0])
        return decode(self, batch)

    monkeypatch.setattr(picture_batches, "BATCH", 1)
    monkeypatch.setattr(picture_batches._Decode, "__call__", slow)
    flat = np.zeros((4, 4, 3), dtype=np.uint8)
    batches = picture_batches.over_pictures(len, [flat, flat])
    next(batches)
    del batches  # a garbage collector does no more than this
    assert ended == [0]
    may_end.set()
