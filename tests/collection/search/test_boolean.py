"""OR and parentheses are set operations on what their parts answer; facts about pictures filter."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from visterm.collection import Collection, SearchRequest
from visterm.errors import BadInput
from visterm.pictures.sidecar_writer import with_captions
from visterm.text.query import MOST_ALTERNATIVES, parse_query

PICTURES = 48
WORDS = {"boat": 2, "tree": 3, "snow": 5, "anna": 7}
"""Words, each in the caption of every second, third … picture."""
LEAVES = {
    **{word: {n for n in range(PICTURES) if n % step == 0} for word, step in WORDS.items()},
    "in:odd": {n for n in range(PICTURES) if n % 2},
    "in:even": {n for n in range(PICTURES) if n % 2 == 0},
    "captioned:no": {n for n in range(PICTURES) if all(n % step for step in WORDS.values())},
    "rating:>=4": {n for n in range(PICTURES) if n % 6 in (4, 5)},
    "rating:2": {n for n in range(PICTURES) if n % 6 == 2},
    "rating:<2": {n for n in range(PICTURES) if n % 6 == 1},
    "camera:nikon": {n for n in range(PICTURES) if n % 4 == 1},
    "lens:35mm": {n for n in range(PICTURES) if n % 8 == 3},
    "every:12-25": {n for n in range(PICTURES) if n % 12 == 11},
    "every:07": {n for n in range(PICTURES) if n % 12 == 6},
    "2019": {n for n in range(PICTURES) if n % 3 == 1},
}


def write_picture(folder: Path, number: int) -> None:
    exif = Image.Exif()
    month = number % 12 + 1
    exif.get_ifd(0x8769)[0x9003] = f"{2018 + number % 3}:{month:02d}:25 12:00:00"
    if number % 4 == 1:
        exif[0x010F], exif[0x0110] = "NIKON CORPORATION", "NIKON D750"
    if number % 8 == 3:
        exif.get_ifd(0x8769)[0xA434] = "XF35mmF2"
    if number % 6:
        exif[0x4746] = number % 6
    path = folder / ("odd" if number % 2 else "even") / f"{number}.jpg"
    path.parent.mkdir(exist_ok=True)
    Image.new("RGB", (8, 8), (number, 0, 0)).save(path, exif=exif)
    words = [word for word, step in WORDS.items() if number % step == 0]
    if words:
        path.with_suffix(".txt").write_text(" ".join(words))


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    folder = tmp_path_factory.mktemp("boolean")
    for number in range(PICTURES):
        write_picture(folder, number)
    with Collection.open(folder) as opened:
        opened.add(features="blocks")
        yield opened


@cache
def numbers(collection: Collection) -> dict[int, int]:
    """By its id, the number of a picture, which its file is named after."""
    records = collection.records(collection.matches("in:odd OR in:even", PICTURES))
    return {one: int(record.files[0].at(collection.root).stem) for one, record in records.items()}


def answered(collection: Collection, text: str) -> set[int]:
    return {numbers(collection)[one] for one in collection.matches(text, 2 * PICTURES)}


trees = st.recursive(
    st.sampled_from(sorted(LEAVES)),
    lambda inner: st.tuples(st.sampled_from(["and", "or", "|"]), inner, inner),
    max_leaves=5,
)


def written(tree: object) -> str:
    if isinstance(tree, str):
        return tree
    how, left, right = tree  # type: ignore[misc]
    between = {"and": " ", "or": " OR ", "|": "|"}[how]
    return f"({written(left)}){between}({written(right)})"


def meant(tree: object) -> set[int]:
    if isinstance(tree, str):
        return LEAVES[tree]
    how, left, right = tree  # type: ignore[misc]
    return meant(left) & meant(right) if how == "and" else meant(left) | meant(right)


@settings(max_examples=1000, deadline=None)
@given(trees)
def test_a_boolean_query_is_answered_by_set_operations(
    collection: Collection, tree: object
) -> None:
    assert answered(collection, written(tree)) == meant(tree)


def test_or_binds_less_than_standing_side_by_side(collection: Collection) -> None:
    both = LEAVES["boat"] & LEAVES["tree"]
    assert answered(collection, "boat tree OR snow") == both | LEAVES["snow"]
    either = LEAVES["tree"] | LEAVES["snow"]
    assert answered(collection, "boat (tree OR snow) in:even") == LEAVES["boat"] & either
    assert answered(collection, 'boat|"OR"') == LEAVES["boat"]


def test_pages_counts_and_probabilities_go_on_as_ever(collection: Collection) -> None:
    found = collection.search(SearchRequest("boat OR snow", k=7))
    assert found.cutoff == len(LEAVES["boat"] | LEAVES["snow"])
    assert found.more
    assert all(one.probability is not None and one.probability > 0.5 for one in found.results)
    later = collection.search(SearchRequest("boat OR snow", k=7, offset=7))
    assert not {one.picture for one in found.results} & {one.picture for one in later.results}


def test_people_are_found_by_the_names_in_their_regions(tmp_path: Path) -> None:
    for name in ("a", "b"):
        Image.new("RGB", (8, 8), (name == "a" and "red") or "blue").save(tmp_path / f"{name}.jpg")
    packet = with_captions(None, ["People|Anna Lopes"])
    assert packet is not None
    (tmp_path / "a.jpg.xmp").write_bytes(packet)
    (tmp_path / "b.txt").write_text("anna was here")
    with Collection.open(tmp_path) as opened:
        opened.add(features="blocks")
        assert [Path(one.path).name for one in opened.search("person:anna").results] == ["a.jpg"]
        assert len(opened.search("anna").results) == 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("boat OR", "between two things"),
        ("| boat", "between two things"),
        ("(boat OR )", "between two things"),
        ("(boat", "not closed"),
        ("boat)", "was not opened"),
        ("boat NOT tree", "write -word"),
        ("boat -(tree OR snow)", "a minus before each word"),
        ("rating:6", "rating:>=4"),
        ("every:13", "every:12-25"),
        (" ".join(["(boat|tree)"] * 6), f"at most {MOST_ALTERNATIVES}"),
    ],
)
def test_what_cannot_be_read_is_said(text: str, problem: str) -> None:
    with pytest.raises(BadInput, match=problem):
        parse_query(text)


def test_or_is_not_for_likeness(collection: Collection) -> None:
    with pytest.raises(BadInput, match="leave the picture out"):
        collection.search("boat OR tree", like=1)
