"""When and where a picture was taken is read wherever cameras, people and programs write it."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from pathlib import Path

import pytest
from PIL import Image

from visterm.pictures.metadata import Capture, name_capture
from visterm.pictures.reader import Wanted, read_here

PACKET = """<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF
 xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about=""
 xmlns:exif="http://ns.adobe.com/exif/1.0/" xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/"
 exif:DateTimeOriginal="2018-05-06T07:08:09+02:00" exif:GPSLatitude="38,42.5N"
 exif:GPSLongitude="9,8,30W" photoshop:City="Lisboa" photoshop:Country="Portugal"/>
</rdf:RDF></x:xmpmeta>"""


def seconds(*moment: int) -> int:
    return int(datetime(*moment, tzinfo=UTC).timestamp())  # type: ignore[arg-type, misc]


def exif(**more: object) -> Image.Exif:
    block = Image.Exif()
    block[0x0132] = "2021:01:01 00:00:00"
    block.get_ifd(0x8769)[0x9003] = more.get("time", "2019:07:04 10:20:30")
    block.get_ifd(0x8825).update(
        {1: "N", 2: (38.0, 42.0, 30.0), 3: "W", 4: (9.0, 8.0, 24.0)} | more.get("gps", {})
    )
    return block


def test_exif_says_when_and_where_in_every_format_that_has_it(tmp_path: Path) -> None:
    for ending in ("jpg", "png", "webp"):
        path = tmp_path / f"picture.{ending}"
        Image.new("RGB", (8, 8)).save(path, exif=exif())
        found = read_here(path, Wanted(metadata=True)).metadata.capture
        assert (found.taken, found.source) == (seconds(2019, 7, 4, 10, 20, 30), "exif"), ending
        assert (found.latitude, found.longitude) == pytest.approx((38.70833, -9.14), abs=1e-4)


def test_a_clock_never_set_and_a_receiver_without_signal_say_nothing() -> None:
    block = exif(time="0000:00:00 00:00:00", gps={2: (0.0, 0.0, 0.0), 4: (0.0, 0.0, 0.0)})
    del block[0x0132]
    for data in (block.tobytes(), b"Exif\0\0and nothing"):
        file = io.BytesIO()
        Image.new("RGB", (8, 8)).save(file, "JPEG", exif=data)
        found = read_here(file.getvalue(), Wanted(metadata=True)).metadata
        assert found.capture == Capture()


def test_a_sidecar_counts_first_and_its_places_are_captions(tmp_path: Path) -> None:
    path = tmp_path / "picture.jpg"
    Image.new("RGB", (8, 8)).save(path, exif=exif())
    path.with_suffix(".xmp").write_text(PACKET)
    found = read_here(path, Wanted(metadata=True)).metadata
    assert (found.capture.taken, found.capture.source) == (seconds(2018, 5, 6, 7, 8, 9), "xmp")
    assert found.capture.longitude == pytest.approx(-9.14167, abs=1e-4)
    assert [(one.source, one.text) for one in found.captions] == [
        ("xmp-sidecar:place", "Lisboa\nPortugal")
    ]


@pytest.mark.parametrize(
    ("name", "moment"),
    [
        ("IMG_20190704_102030.jpg", (2019, 7, 4, 10, 20, 30)),
        ("PXL_20190704_102030123.jpg", (2019, 7, 4, 10, 20, 30)),
        ("2019-07-04 10.20.30.heic", (2019, 7, 4, 10, 20, 30)),
        ("WhatsApp Image 2019-07-04 at 10.20.30.jpeg", (2019, 7, 4, 10, 20, 30)),
        ("Screenshot_2019-07-04-10-20-30.png", (2019, 7, 4, 10, 20, 30)),
        ("IMG-20190704-WA0012.jpg", (2019, 7, 4)),
        ("wedding 1985-06-01.tif", (1985, 6, 1)),
    ],
)
def test_names_hold_dates(name: str, moment: tuple[int, ...]) -> None:
    assert name_capture(name) == Capture(seconds(*moment), "name")


@pytest.mark.parametrize("name", ["DSC_0417.jpg", "scan-19999999.png", "120190704.jpg", "boat.jpg"])
def test_numbers_that_are_no_dates_are_none(name: str) -> None:
    assert name_capture(name) == Capture()
