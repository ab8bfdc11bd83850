"""A data set of one's own: tables with given parts, several rows a picture, labels, words."""

from __future__ import annotations

from pathlib import Path

import pytest

from visterm.datasets import QueryOptions, read_dataset, read_tsv
from visterm.errors import BadInput


def table(folder: Path, name: str, rows: list[tuple[str, str]]) -> Path:
    path = folder / f"{name}.tsv"
    path.write_text("".join(f"{picture}\t{text}\n" for picture, text in rows))
    return path


def test_rows_of_one_picture_are_one_picture_with_several_captions(tmp_path: Path) -> None:
    rows = [("a.jpg", "a sea"), ("b.jpg", "sun"), ("a.jpg", "blue water"), ("a.jpg", "")]
    pictures = read_tsv(table(tmp_path, "captions", rows))
    assert [path.name for path in pictures.paths] == ["a.jpg", "b.jpg"]
    assert pictures.captions == ["a sea\nblue water\n", "sun"]
    assert pictures.single_captions() == (["a sea", "blue water", "", "sun"], [0, 0, 0, 1])
    assert len(read_tsv(tmp_path / "captions.tsv", merge=False)) == 4


def test_given_parts_are_taken_and_none_may_share_a_picture(tmp_path: Path) -> None:
    train = table(tmp_path, "train", [("a.jpg", "sea"), ("b.jpg", "sun")])
    held = table(tmp_path, "held", [("c.jpg", "sea sun")])
    test = table(tmp_path, "test", [("d.jpg", "sun")])
    data = read_dataset(train, test, held)
    assert [path.name for path in data.development.paths] == ["a.jpg", "b.jpg", "c.jpg"]
    leaking = table(tmp_path, "leaking", [("d.jpg", "sun"), ("b.jpg", "sun")])
    with pytest.raises(BadInput, match=r"b\.jpg is in the train and in the test table"):
        read_dataset(train, leaking)


def test_labels_beside_captions_are_what_queries_are_made_of(tmp_path: Path) -> None:
    train = table(tmp_path, "train", [("a.jpg", "a sea"), ("a.jpg", "water"), ("b.jpg", "sun")])
    labels = table(tmp_path, "labels", [("b.jpg", "star"), ("a.jpg", "ocean wave")])
    data = read_dataset(train, labels=[labels])
    assert data.train.words == ["ocean wave", "star"]
    assert data.train.captions == ["a sea\nwater", "sun"]
    table(tmp_path, "labels", [("b.jpg", "star")])
    with pytest.raises(BadInput, match=r"1 pictures of train have no row .*a\.jpg"):
        read_dataset(train, labels=[labels])


def test_words_can_be_given_be_those_of_test_captions_or_not_too_common() -> None:
    train, test = ["tree snow", "tree sea", "tree sun sea"], ["sun sky", "sun sky"]
    assert QueryOptions().vocabulary(train, test).words == ("sea", "tree")
    assert QueryOptions(words_from="test").vocabulary(train, test).words == ("sky", "sun")
    assert QueryOptions(max_share=0.7).vocabulary(train, test).words == ("sea",)
    given = QueryOptions(words=("sun", "moon")).vocabulary(train, test)
    assert given.words == ("sun", "moon")
    assert given.idf[0] > 0
    with pytest.raises(BadInput, match="no word stands in 9 captions"):
        QueryOptions(min_captions=9).vocabulary(train, test)
