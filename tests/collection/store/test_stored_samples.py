"""What 0.2.0 wrote: its collections are refused untouched, its backups bring everything back."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

import pytest

from visterm.collection import Collection
from visterm.errors import VistermError

SAMPLES = Path(__file__, "..", "samples").resolve()


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """24 pictures of 0.2.0, captioned, trained and clicked."""
    with tarfile.open(SAMPLES / "release-0.2.0.tar.xz") as tar:
        tar.extractall(tmp_path, filter="data")
    return tmp_path / "release-0.2.0"


def test_a_collection_of_0_2_0_is_refused_untouched_with_what_to_do(release: Path) -> None:
    def files() -> dict[Path, bytes]:
        store = release / ".visterm"
        return {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}

    before = files()
    with pytest.raises(VistermError, match=r"visterm 0\.2 or earlier.*visterm import"):
        Collection.open(release)
    after = files()
    assert {path: after[path] for path in before} == before
    assert all(path.name.startswith("catalogue.sqlite") for path in after.keys() - before.keys())


def test_a_backup_of_0_2_0_brings_everything_back(release: Path) -> None:
    shutil.rmtree(release / ".visterm")
    with Collection.open(release) as collection:
        collection.add(features="thumbnails")
        report = collection.restore(release / "backup.jsonl")
        assert (report.captions, report.judgements, report.unknown) == (25, 3, [])
        assert collection.captions(release / "scene-0002.jpg")["person"] == "a quiet harbour"
        assert [one.query for one in collection.judgements()] == ["sky", "sea", "dodo"]
        collection.train()
        assert (
            collection.search("dodo", k=1).results[0].picture == collection.judgements()[2].picture
        )
        assert collection.check().is_well
