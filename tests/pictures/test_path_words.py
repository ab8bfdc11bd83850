"""Names of files and folders say what people wrote there, and nothing that machines did."""

from __future__ import annotations

import unicodedata

import pytest

from visterm.pictures.texts import file_words, folder_words


@pytest.mark.parametrize(
    "name",
    [
        "IMG_1234.jpg",
        "_DSC0042.NEF",
        "DSCN0815.JPG",
        "P1010023.JPG",
        "20190714_123456.jpg",
        "2019-07-14.jpg",
        "IMG-20190714-WA0003.jpg",
        "PXL_20210203_101112123.jpg",
        "WhatsApp Image 2021-01-02 at 10.11.12.jpeg",
        "Screenshot 2021-01-01 at 12.00.00.png",
        "41033.jpg",
        "a3f9c2d177ab.png",
        "deadbeefcafe.png",
        "b1c2d3.jpg",
        "550e8400-e29b-41d4-a716-446655440000.jpg",
        "2019.jpg",
    ],
)
def test_what_machines_number_has_no_words(name: str) -> None:
    assert file_words(name, joined=True) == ()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("beach-sunset 3.jpg", "beach sunset"),
        ("AuntRosa_Lisbon.JPG", "Aunt Rosa Lisbon"),
        ("NYCTrip.jpg", "NYC Trip"),
        ("LISBON.JPG", "LISBON"),
        ("2019-07-14 Lisbon.jpg", "Lisbon"),
        ("Lisbon2.jpg", "Lisbon"),
        ("DSC_1234-anna.jpg", "anna"),
        ("Anna & Bob (2).jpg", "Anna Bob"),
        ("sunset%20beach.jpg", "sunset beach"),
        ("Übergröße_imSchnee.jpeg", "Übergröße im Schnee"),
        ("雪山.jpg", "雪山"),
        ("New York.jpg", "New York"),
        ("O'Hara.jpg", "O'Hara"),
    ],
)
def test_what_people_wrote_is_taken_apart_on_every_system(name: str, words: str) -> None:
    for form in ("NFC", "NFD"):
        assert " ".join(file_words(unicodedata.normalize(form, name))) == words


def test_what_is_written_as_one_is_also_one() -> None:
    assert file_words("iPhone.jpg", joined=True) == ("Phone", "iPhone")
    assert file_words("tee-shirt.jpg", joined=True) == ("tee", "shirt", "tee-shirt")
    assert file_words("DSC_1234-anna.jpg", joined=True) == ("anna",)


@pytest.mark.parametrize(
    ("folder", "words"),
    [
        ("", ""),
        ("Urlaub 2019/Ostsee", "Urlaub 2019 Ostsee"),
        ("2019/07/14", "2019"),
        ("2019-07-14 Lisbon", "Lisbon"),
        ("Lisbon_1987", "Lisbon 1987"),
        ("DCIM/100CANON", ""),
        ("100APPLE", ""),
        ("Camera Roll", ""),
        ("New Folder (2)", ""),
        ("s3://bucket/Lisbon", "Lisbon"),
        ("http://example.org/a/Beach%20Photos", "Beach"),
        ("sea/train-0001.tar", "sea"),
    ],
)
def test_folders_say_their_words_and_lone_years(folder: str, words: str) -> None:
    assert " ".join(folder_words(folder)) == words
