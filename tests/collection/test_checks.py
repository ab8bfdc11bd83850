from __future__ import annotations

import re
from pathlib import Path

import pytest

from visterm.collection import Collection
from visterm.collection.search.request import SearchResult
from visterm.collection.store.versions import UNFINISHED, current, sweep
from visterm.errors import VistermError
from visterm.index import columns

ROWS = [f"features/*/*/{name}" for name in ("codes", "scales", "ids")]


def harm(path: Path) -> None:
    """Turn one byte in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


def answer(collection: Collection) -> list[SearchResult]:
    return collection.search("tree -sea", 60).results


def same(found: list[SearchResult], expected: list[SearchResult]) -> bool:
    return [one.path for one in found] == [one.path for one in expected]


def test_a_sound_collection_is_well_and_every_file_was_read(learnt: Collection) -> None:
    found = learnt.check()
    assert found.is_well
    named = learnt.catalogue.one("SELECT count(*) FROM segments")
    assert found.files >= named + 4


@pytest.mark.parametrize("kind", [*ROWS, "features/*/extractor.*"])
@pytest.mark.parametrize("how", ["harmed", "cut short", "deleted"])
def test_damaged_features_are_named_and_made_again(learnt: Collection, kind: str, how: str) -> None:
    before = answer(learnt)
    path = sorted(learnt.store.glob(kind))[0]
    if how == "harmed":
        harm(path)
    elif how == "deleted":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-1])
    found = learnt.check()
    assert len(found.problems) == 1
    assert str(path) in found.problems[0]
    mended = learnt.check(repair=True)
    assert mended.is_well
    assert "60 pictures described again" in mended.repaired
    assert learnt.check().is_well
    if kind in ROWS:
        assert same(answer(learnt), before)
    else:  # vectors of an extractor fitted anew need a model learnt anew
        assert "the model learnt again" in mended.repaired
        assert len(answer(learnt)) == 60


@pytest.mark.parametrize("kind", [ROWS[0], "features/*/extractor.*"])
def test_vectors_of_pictures_that_are_away_are_left_where_they_are(
    learnt: Collection, kind: str, tmp_path: Path
) -> None:
    before = answer(learnt)
    rows = learnt.catalogue.one("SELECT count(*) FROM rows")
    harm(sorted(learnt.store.glob(kind))[0])
    away = [path.rename(tmp_path / path.name) for path in sorted(learnt.root.glob("*.jpg"))]
    with pytest.raises(VistermError, match="Bring it back"):
        learnt.check(repair=True)
    assert learnt.catalogue.one("SELECT count(*) FROM rows") == rows
    assert current(learnt.catalogue) is not None
    for path in away:
        path.rename(learnt.root / path.name)
    assert learnt.check(repair=True).is_well
    assert len(answer(learnt)) == len(before)


@pytest.mark.parametrize("how", ["harmed", "cut short", "emptied"])
def test_a_damaged_column_is_named_deleted_and_made_again(
    learnt: Collection, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(columns, "_KEPT_FROM", 0)
    before = answer(learnt)
    kept = sorted(learnt.store.glob("features/*/*/columns/*"))
    assert len(kept) == 2
    if how == "harmed":
        harm(kept[0])
    else:
        kept[0].write_bytes(kept[0].read_bytes()[:-1] if how == "cut short" else b"")
    (problem,) = learnt.check().problems
    assert str(kept[0]) in problem
    mended = learnt.check(repair=True)
    assert (mended.is_well, mended.repaired) == (True, ["1 columns deleted, to be made again"])
    with Collection.open(learnt.root) as again:
        assert answer(again) == before
    assert sorted(learnt.store.glob("features/*/*/columns/*")) == kept


@pytest.mark.parametrize("kind", ["models/*/model.safetensors", "models/*/vocabulary.json"])
def test_a_damaged_model_is_named_and_learnt_again(learnt: Collection, kind: str) -> None:
    path = sorted(learnt.store.glob(kind))[0]
    harm(path)
    found = learnt.check()
    assert any(str(path) in line for line in found.problems)
    mended = learnt.check(repair=True)
    assert mended.is_well
    assert mended.repaired == ["the model learnt again"]
    assert len(answer(learnt)) == 60


def test_a_damaged_catalogue_is_told_and_not_touched(learnt: Collection) -> None:
    learnt.close()
    with learnt.catalogue.path.open("r+b") as file:
        file.seek(4096 * 3)
        file.write(b"\xff" * 4096 * 6)
    with Collection.open(learnt.root) as collection:
        what_to_do = r"itself is damaged.* put a copy of it back.* visterm import"
        assert re.search(what_to_do, collection.check().problems[-1])
        with pytest.raises(VistermError, match=what_to_do):
            collection.check(repair=True)


def test_files_that_nobody_names_are_swept_by_the_next_writer(learnt: Collection) -> None:
    rubbish = [
        learnt.store / "features" / "thumbnails-1" / "99" / "codes",
        learnt.store / "features" / "thumbnails-1" / ".x.part",
        learnt.store / "models" / "99" / "model.safetensors",
    ]
    for path in rubbish:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"rubbish")
    learnt.add()
    assert not any(path.exists() for path in rubbish)
    assert learnt.check().is_well


@pytest.mark.parametrize("room", ["models", "features", "features/linked"])
def test_what_a_link_in_the_store_leads_to_is_not_swept(
    learnt: Collection, tmp_path: Path, room: str
) -> None:
    """A store that came from others must not delete what lies outside it."""
    mine = tmp_path / "mine" / "letters" / "letter.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("dear")
    link = learnt.store / room
    if link.exists():
        link.rename(tmp_path / "before")
    link.symlink_to(mine.parent if "/" in room else mine.parents[1])
    sweep(learnt.catalogue)
    assert mine.read_text() == "dear"


def test_a_damaged_text_space_is_named_and_learnt_again(learnt: Collection) -> None:
    learnt.train_space("lsa")
    for kind in ("space.safetensors", "model.safetensors"):
        space = current(learnt.catalogue, "lsa")
        assert space is not None
        path = space.folder / kind
        harm(path)
        (problem,) = learnt.check().problems
        assert str(path) in problem
        mended = learnt.check(repair=True)
        assert mended.is_well
        assert mended.repaired == ["the space lsa learnt again"]
        assert learnt.search("a sea with a boat", 60, space="lsa").results


@pytest.mark.parametrize("kind", [ROWS[0], "models/*/model.safetensors"])
def test_a_repair_that_was_interrupted_is_noticed_and_goes_on(
    learnt: Collection, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    harm(sorted(learnt.store.glob(kind))[0])

    def killed(*given: object, **named: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(learnt, "add" if kind in ROWS else "train", killed)
        with pytest.raises(KeyboardInterrupt):
            learnt.check(repair=True)
    (problem,) = learnt.check().problems
    assert "a repair was interrupted" in problem
    assert learnt.check(repair=True).is_well
    assert learnt.check().is_well
    assert len(answer(learnt)) == 60


def forget_captions(collection: Collection, kept: int) -> None:
    """Let only the first so many pictures keep their captions."""
    with collection.catalogue.writing("forgetting"), collection.catalogue.transaction() as db:
        db.execute("DELETE FROM captions WHERE picture > ?", (kept,))


MODEL, EXTRACTOR, VECTORS = (
    "models/*/model.safetensors",
    "features/*/extractor.*",
    ROWS[0],
)


@pytest.mark.parametrize("kinds", [(MODEL,), (EXTRACTOR,), (VECTORS, MODEL)])
def test_a_model_that_could_not_be_learnt_again_is_left_where_it_is(
    learnt: Collection, kinds: tuple[str, ...], tmp_path: Path
) -> None:
    forget_captions(learnt, 1)
    paths = [sorted(learnt.store.glob(kind))[0] for kind in kinds]
    model = sorted(learnt.store.glob(MODEL))[0]
    for path in paths:
        harm(path)
    with pytest.raises(VistermError, match=r"model.* cannot be learnt again.* Nothing was changed"):
        learnt.check(repair=True)
    assert all(path.exists() for path in (model, *paths))
    assert current(learnt.catalogue) is not None
    assert len(answer(learnt)) == 60
    learnt.caption_from(tmp_path / "captions.tsv")
    mended = learnt.check(repair=True)
    assert mended.is_well
    assert "the model learnt again" in mended.repaired


@pytest.mark.parametrize("kind", ["models/*/space.safetensors", EXTRACTOR])
def test_a_text_space_that_could_not_be_learnt_again_is_left_where_it_is(
    learnt: Collection, kind: str, tmp_path: Path
) -> None:
    learnt.train_space("lsa")
    forget_captions(learnt, 19)
    path = sorted(learnt.store.glob(kind))[0]
    harm(path)
    with pytest.raises(VistermError, match=r"space lsa.* cannot be learnt again: 19 captioned"):
        learnt.check(repair=True)
    assert path.exists()
    assert current(learnt.catalogue, "lsa") is not None
    assert current(learnt.catalogue) is not None
    learnt.caption_from(tmp_path / "captions.tsv")
    mended = learnt.check(repair=True)
    assert mended.is_well
    assert "the space lsa learnt again" in mended.repaired


def test_what_an_interrupted_repair_dropped_and_cannot_be_learnt_is_said_once(
    learnt: Collection,
) -> None:
    """A model that was trained since is kept: captions may no longer do for another."""
    forget_captions(learnt, 1)
    with learnt.catalogue.writing("repairing"), learnt.catalogue.transaction():
        learnt.catalogue.set(UNFINISHED, "lsa words")
    (problem,) = learnt.check(repair=True).problems
    assert "the space lsa is gone" in problem
    assert learnt.check().is_well
    assert len(answer(learnt)) == 60
