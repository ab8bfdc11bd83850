"""Tables of captioned pictures: what they mean, and what is said when they are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from visterm.datasets import CaptionedPictures, read_tsv
from visterm.errors import BadInput


def table(folder: Path, content: str | bytes) -> Path:
    path = folder / "captions.tsv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_rows_keep_their_order_and_blank_lines_are_skipped(tmp_path: Path) -> None:
    pictures = read_tsv(table(tmp_path, "b.jpg\tsea sky\n\n  \na/c d.jpg\ttree\r\n"))
    assert pictures.paths == [tmp_path / "b.jpg", tmp_path / "a" / "c d.jpg"]
    assert pictures.captions == ["sea sky", "tree"]
    assert len(pictures) == 2
    assert list(pictures) == [(tmp_path / "b.jpg", "sea sky"), (tmp_path / "a" / "c d.jpg", "tree")]
    assert pictures.name == "captions"


def test_paths_can_be_relative_to_another_folder(tmp_path: Path) -> None:
    pictures = read_tsv(table(tmp_path, "a.jpg\tsea\n"), root=tmp_path / "pictures")
    assert pictures.paths == [tmp_path / "pictures" / "a.jpg"]


def test_an_empty_caption_further_tabs_and_any_language_are_kept(tmp_path: Path) -> None:
    pictures = read_tsv(table(tmp_path, "\ufeffa.jpg\t\nb.jpg\tsnø\ttrær\u2028fjell"))
    assert pictures.captions == ["", "snø\ttrær\u2028fjell"]


def test_a_missing_picture_is_not_the_tables_concern(tmp_path: Path) -> None:
    assert len(read_tsv(table(tmp_path, "nowhere.jpg\tsea\n"))) == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("a.jpg sea sky", "no tab"),
        ("\tsea sky", "no picture's path"),
        ("/etc/passwd\tsea", "absolute"),
        ("C:\\pictures\\a.jpg\tsea", "absolute"),
        ("\\\\host\\share\\a.jpg\tsea", "absolute"),
        ("a/../../b.jpg\tsea", "leads out"),
        ("..\\b.jpg\tsea", "leads out"),
        ("a\0.jpg\tsea", "no picture's path"),
    ],
)
def test_a_malformed_line_is_named(tmp_path: Path, line: str, said: str) -> None:
    path = table(tmp_path, f"good.jpg\tsea\n\n{line}\n")
    with pytest.raises(BadInput, match=said) as caught:
        read_tsv(path)
    assert str(caught.value).startswith(f"{path}, line 3: ")
    assert "\n" not in str(caught.value)


def test_text_in_another_encoding_is_named_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="line 2: not UTF-8"):
        read_tsv(table(tmp_path, "a.jpg\tsea\nb.jpg\tsnø\n".encode("latin-1")))


def test_a_missing_table_or_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file"):
        read_tsv(tmp_path / "nothing.tsv")
    with pytest.raises(BadInput, match="directory"):
        read_tsv(tmp_path)


def test_pictures_without_a_caption_each_are_refused() -> None:
    with pytest.raises(BadInput, match="1 paths but 2 captions"):
        CaptionedPictures([Path("a.jpg")], ["sea", "sky"])
