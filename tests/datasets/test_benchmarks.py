"""The readers of Corel and IAPR TC-12, on small folders of their shape and on the real ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from visterm.datasets import data_folder, read_corel5k, read_flickr8k, read_iaprtc12
from visterm.errors import BadInput


@pytest.fixture
def corel(tmp_path: Path) -> Path:
    (tmp_path / "train.tsv").write_text("images/train/1.jpeg\tsea sky\nimages/train/2.jpeg\tsun\n")
    (tmp_path / "test.tsv").write_text("images/test/3.jpeg\ttree\n")
    (tmp_path / "train_blobs.txt").write_text("3 17 499\n\n")
    (tmp_path / "test_blobs.txt").write_text("8\n")
    return tmp_path


def test_corel_has_two_parts_and_blobs_row_for_row(corel: Path) -> None:
    data = read_corel5k(corel)
    assert data.development.captions == ["sea sky", "sun"]
    assert data.test.paths == [corel / "images" / "test" / "3.jpeg"]
    assert [row.tolist() for row in data.development_blobs] == [[3, 17, 499], []]
    assert [row.tolist() for row in data.test_blobs] == [[8]]
    assert data.test_blobs is data.test_blobs


def test_corel_needs_no_blobs_until_they_are_asked_for(corel: Path) -> None:
    (corel / "train_blobs.txt").unlink()
    data = read_corel5k(corel)
    assert len(data.test_blobs) == 1
    with pytest.raises(BadInput, match=r"train_blobs\.txt: no blob tokens"):
        _ = data.development_blobs


@pytest.mark.parametrize(
    ("content", "said"), [("1\n2\n3\n", "3 lines for 2"), ("1\nblue\n", "line 2: 'blue'")]
)
def test_wrong_blobs_are_named(corel: Path, content: str, said: str) -> None:
    (corel / "train_blobs.txt").write_text(content)
    with pytest.raises(BadInput, match=said):
        _ = read_corel5k(corel).development_blobs


@pytest.mark.parametrize("read", [read_corel5k, read_flickr8k, read_iaprtc12])
def test_another_folder_is_refused_in_one_line(
    read: Callable[[Path], object], tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match="VISTERM_DATA") as caught:
        read(tmp_path)
    assert "test" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_iapr_has_captions_and_labels_of_the_same_pictures(tmp_path: Path) -> None:
    for part in ("train", "test"):
        (tmp_path / f"{part}_labels.tsv").write_text(f"{part}a.jpg\tsky\n{part}b.jpg\tsea\n")
        (tmp_path / f"{part}_captions.tsv").write_text(
            f"{part}b.jpg\tA sea;\n{part}a.jpg\tA sky.\n"
        )
    data = read_iaprtc12(tmp_path)
    assert data.train.captions == ["A sea;", "A sky."]
    assert data.tested.words == ["sea", "sky"]
    (tmp_path / "test_labels.tsv").write_text("testa.jpg\tsky\n")
    with pytest.raises(BadInput, match=r"1 pictures of test_captions have no row .*testb\.jpg"):
        read_iaprtc12(tmp_path)


def test_flickr_merges_the_sentences_of_a_picture(tmp_path: Path) -> None:
    for part in ("train", "dev", "test"):
        rows = [f"{part}{i}.jpg\tA dog number {n}.\n" for i in range(2) for n in range(5)]
        (tmp_path / f"{part}_captions.tsv").write_text("".join(rows))
    data = read_flickr8k(tmp_path)
    assert [len(data.train), len(data.validation or []), len(data.tested)] == [2, 2, 2]
    captions, owners = data.tested.single_captions()
    assert captions[:2] == ["A dog number 0.", "A dog number 1."]
    assert owners == [0] * 5 + [1] * 5


def test_the_folder_given_wins_over_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, named = tmp_path / "given", tmp_path / "named"
    for folder in (given, named / "corel5k"):
        folder.mkdir(parents=True)
    monkeypatch.setenv("VISTERM_DATA", str(named))
    assert data_folder("corel5k", given) == given
    assert data_folder("corel5k") == named / "corel5k"


def test_missing_data_is_said_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VISTERM_DATA", raising=False)
    with pytest.raises(BadInput, match=r"no corel5k data: .*set VISTERM_DATA") as caught:
        data_folder("corel5k")
    assert "\n" not in str(caught.value)
    monkeypatch.setenv("VISTERM_DATA", str(tmp_path))
    with pytest.raises(BadInput, match="VISTERM_DATA must name"):
        data_folder("corel5k")
    with pytest.raises(BadInput, match="you gave"):
        data_folder("corel5k", tmp_path / "typo")


def here(name: str) -> Path:
    try:
        return data_folder(name)
    except BadInput as reason:
        pytest.skip(str(reason))


def test_the_real_corel_has_its_known_sizes() -> None:
    data = read_corel5k(here("corel5k"))
    assert (len(data.development), len(data.test)) == (4500, 500)
    assert len(set(data.test.paths)) == 499
    tokens = {token for row in data.development_blobs for token in row.tolist()}
    assert min(tokens) >= 1
    assert max(tokens) <= 499
    assert all(path.is_file() for path in data.test.paths)


def test_the_real_iapr_has_its_known_sizes() -> None:
    data = read_iaprtc12(here("iaprtc12"))
    assert (len(data.train), len(data.tested)) == (17665, 1962)
    labels = {word for caption in data.train.words for word in caption.split()}
    assert len(labels) == 291


def test_the_real_flickr_has_its_published_split() -> None:
    data = read_flickr8k(here("flickr8k"))
    assert [len(data.train), len(data.validation or []), len(data.tested)] == [6000, 1000, 1000]
    assert len(data.tested.single_captions()[0]) == 5000


def test_a_folder_above_the_data_sets_will_do(tmp_path: Path) -> None:
    (tmp_path / "corel5k").mkdir()
    assert data_folder("corel5k", tmp_path) == tmp_path / "corel5k"
