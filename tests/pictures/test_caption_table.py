"""Tables of captions: three kinds, optional headers, many encodings, and the line of a bad row."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visterm.errors import BadInput
from visterm.pictures.caption_table import read_caption_table

ROWS = [("a/boat.jpg", "boat sea"), ("Zürich.png", "Fähre, See")]


def table(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", 'a/boat.jpg,boat sea\nZürich.png,"Fähre, See"\n'),
        ("t.csv", 'path,text\na/boat.jpg,boat sea\nZürich.png,"Fähre, See"\n'),
        ("t.csv", 'id,Caption,FileName\n1,boat sea,a/boat.jpg\n2,"Fähre, See",Zürich.png\n'),
        ("t.csv", "a/boat.jpg;boat sea\r\n\r\nZürich.png;Fähre, See\r\n"),
        ("t.tsv", "a/boat.jpg\tboat sea\nZürich.png\tFähre, See"),
        ("t.TSV", 'file\twords\na/boat.jpg\t"boat sea"\nZürich.png\tFähre, See\n'),
        ("t.jsonl", '{"path": "a/boat.jpg", "text": "boat sea"}\n\n["Zürich.png", "Fähre, See"]\n'),
        (
            "t.ndjson",
            '{"File": "a/boat.jpg", "Caption": "boat sea"}\n["Zürich.png", ["Fähre, See"]]',
        ),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_every_kind_and_encoding_gives_the_same_rows(
    name: str, content: str, encoding: str, tmp_path: Path
) -> None:
    path = table(tmp_path, name, content.encode(encoding))
    assert list(read_caption_table(path)) == ROWS


@pytest.mark.parametrize(
    ("line", "row"),
    [
        ("boat.jpg;boat, sea", ("boat.jpg", "boat, sea")),
        ("boat.jpg,boat; sea", ("boat.jpg", "boat; sea")),
        ('"a, b.jpg";boat', ("a, b.jpg", "boat")),
    ],
)
def test_the_mark_after_the_first_cell_separates_a_csv(
    line: str, row: tuple[str, str], tmp_path: Path
) -> None:
    assert list(read_caption_table(table(tmp_path, "t.csv", line))) == [row]


def test_quoted_texts_may_hold_line_ends_and_quotes(tmp_path: Path) -> None:
    path = table(tmp_path, "t.csv", 'path,text\nboat.jpg,"a ""fine"" boat\n on the sea"\nb.jpg,x\n')
    assert list(read_caption_table(path)) == [
        ("boat.jpg", 'a "fine" boat\non the sea'),
        ("b.jpg", "x"),
    ]


def test_quotation_marks_inside_a_tsv_are_words_and_swallow_no_rows(tmp_path: Path) -> None:
    path = table(tmp_path, "t.tsv", 'boat.jpg\t"Titanic" at sea\nb.jpg\t"unclosed\nc.jpg\tx\n')
    assert list(read_caption_table(path)) == [
        ("boat.jpg", '"Titanic" at sea'),
        ("b.jpg", '"unclosed'),
        ("c.jpg", "x"),
    ]


def test_several_texts_of_a_row_become_one_line_each(tmp_path: Path) -> None:
    path = table(tmp_path, "t.csv", "path,title,keywords\nboat.jpg,Evening,boat sea\n")
    assert list(read_caption_table(path)) == [("boat.jpg", "Evening\nboat sea")]
    path = table(tmp_path, "t.jsonl", '{"path": "boat.jpg", "tags": ["boat", "sea"]}')
    assert list(read_caption_table(path)) == [("boat.jpg", "boat\nsea")]


def test_columns_are_read_as_what_they_are_and_the_others_are_named(tmp_path: Path) -> None:
    cells = {
        "File": "boat.jpg",
        "title": "Evening",
        "Caption": "a boat",
        "description": "at sea",
        "place": "Belém",
        "City": "Lisbon",
        "country": "Portugal",
        "creator": "Ana Luz",
        "photographer": "Rui Sol",
        "date": "1972-05-03",
        "Rating": "5",
        "location": "the pier",
    }
    lines = "Evening a-boat at-sea Belém Lisbon Portugal Ana-Luz Rui-Sol 3-May-1972 the-pier"
    texts = [line.replace("-", " ") for line in lines.split()]
    made = [
        table(tmp_path, "t.csv", ",".join(cells) + "\n" + ",".join(cells.values()) + "\n"),
        table(tmp_path, "t.jsonl", json.dumps(cells)),
        table(tmp_path, "u.jsonl", json.dumps(cells | {"Rating": None, "state": {"odd": 1}})),
    ]
    for path in made:
        unread: set[str] = set()
        ((file, text),) = read_caption_table(path, unread=unread)
        assert file == "boat.jpg"
        assert sorted(text.splitlines()) == sorted(texts)
        assert unread == {"Rating"}
    unread = set()
    assert list(read_caption_table(table(tmp_path, "v.csv", "a.jpg,x\n"), unread=unread))
    assert unread == set()


def test_an_empty_text_is_kept(tmp_path: Path) -> None:
    assert list(read_caption_table(table(tmp_path, "t.csv", "boat.jpg,\n"))) == [("boat.jpg", "")]


def test_an_empty_table_has_no_rows(tmp_path: Path) -> None:
    for name in ("t.csv", "t.tsv", "t.jsonl"):
        assert list(read_caption_table(table(tmp_path, name, ""))) == []


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("t.csv", "a.jpg,x\nb.jpg\n", r"t\.csv, line 2: 1 columns"),
        ("t.csv", "a.jpg,x\nb.jpg,boat, sea\n", r"line 2: 3 columns .* quotes"),
        ("t.csv", 'a.jpg,"x\ny"\nb.jpg,"never closed\n\n', "line 3: not a row of CSV"),
        ("t.csv", 'a.jpg,"x" y\n', "line 1: not a row of CSV"),
        ("t.csv", "path,text\n,boat\n", "line 2: the path is missing"),
        ("t.csv", "text,path\nboat\n", "line 2: the row ends before its path"),
        ("t.tsv", "a.jpg\tx\n\nb.jpg x\n", "line 3: 1 columns"),
        ("t.jsonl", '{"path": "a.jpg", "text": "x"}\n{oh}\n', "line 2: not a line of JSON"),
        ("t.jsonl", '{"path": "a.jpg"}\n', "line 1: no path and text"),
        ("t.jsonl", '{"text": "a.jpg"}\n', "line 1: no path and text"),
        ("t.jsonl", '{"path": 7, "text": "x"}\n', "line 1: no path and text"),
        ("t.jsonl", '{"path": "a.jpg", "text": 7}\n', "line 1: no path and text"),
        ("t.jsonl", "7\n", "line 1: no path and text"),
        ("t.jsonl", "[" * 100_000, "line 1: not a line of JSON"),
        ("t.jsonl", '["a.jpg", ' + "[" * 900 + "]" * 900 + "]", "line 1: no"),
        ("t.jsonl", '["a.jpg", "' + "x" * 2_000_000, "line 1: the line is longer"),
    ],
)
def test_bad_rows_are_named_by_their_line(
    name: str, content: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=said):
        list(read_caption_table(table(tmp_path, name, content)))


def test_files_that_cannot_be_read_are_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file"):
        read_caption_table(tmp_path / "t.csv")
    with pytest.raises(BadInput, match=r"\.csv, \.tsv"):
        read_caption_table(tmp_path / "t.xlsx")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(BadInput, match="folder"):
        read_caption_table(tmp_path / "folder.csv")


letters = st.characters(
    codec="utf-8", exclude_categories=("Cc", "Z"), exclude_characters="\ufeff\ufffe\uffff"
)
words = st.text(letters, min_size=1)
pairs = st.lists(st.tuples(words, st.lists(words, min_size=1, max_size=4).map(" ".join)))


@given(pairs=pairs)
@settings(max_examples=60, deadline=None)
def test_what_a_program_writes_comes_back(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]]
) -> None:
    """Up to the composed form of each letter, which visterm keeps."""
    folder = tmp_path_factory.getbasetemp()
    cells = io.StringIO()
    csv.writer(cells).writerows([("path", "text"), *pairs])
    lines = "".join(json.dumps(pair) + "\n" for pair in pairs)
    for name, content in (("w.csv", cells.getvalue()), ("w.jsonl", lines)):
        rows = list(read_caption_table(table(folder, name, content)))
        assert rows == [(path, unicodedata.normalize("NFC", text)) for path, text in pairs]


@given(data=st.binary(max_size=300), name=st.sampled_from(["r.csv", "r.tsv", "r.jsonl"]))
@settings(max_examples=150, deadline=None)
def test_random_bytes_give_rows_or_bad_input(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, name: str
) -> None:
    path = table(tmp_path_factory.getbasetemp(), name, data)
    with contextlib.suppress(BadInput):
        for file, text in read_caption_table(path):
            assert file
            text.encode()
