"""Files as digiKam, Lightroom and immich write them are read, and written back beside their words.

exiftool writes the fields that these programs write, and compares what is there afterwards.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from visterm.collection import Collection
from visterm.pictures.reader import Wanted, read_here
from visterm.pictures.sidecar_writer import caption_change, sidecar_change

pytestmark = pytest.mark.skipif(
    shutil.which("exiftool") is None, reason="exiftool (libimage-exiftool-perl) is not installed"
)

FACE = "{{Area={{H=0.2,W=0.2,X=0.5,Y=0.5,Unit=normalized}},Name={0},Type={1}}}"
REGIONS = ",".join(
    FACE.format(*region)
    for region in (("Anna", "Face"), ("Rex", "Pet"), ("a focus point", "Focus"))
)
SIZE = "AppliedToDimensions={H=6,W=8,Unit=pixel}"
DIGIKAM = (
    "-XMP-digiKam:TagsList=Places/Portugal/Lisbon",
    "-XMP-digiKam:TagsList=People/Rosa Lopes",
    "-XMP-digiKam:TagsList=_Digikam_Internal_Tags_/Version Current",
    "-XMP-lr:HierarchicalSubject=Places|Portugal|Lisbon",
    "-XMP-lr:HierarchicalSubject=People|Rosa Lopes",
    "-XMP-dc:Subject=Lisbon",
    "-XMP-dc:Subject=Rosa Lopes",
    "-XMP-dc:Description=A tram on a hill",
    "-XMP-acdsee:Caption=A tram on a hill",
    "-XMP-xmp:Rating=4",
    "-XMP-digiKam:ColorLabel=2",
    f"-XMP-mwg-rs:RegionInfo={{{SIZE},RegionList=[{REGIONS}]}}",
    "-XMP-MP:RegionInfoMP={Regions=[{PersonDisplayName=Anna,Rectangle=0.4\\, 0.4\\, 0.2\\, 0.2}]}",
)
LIGHTROOM = (
    "-XMP-lr:HierarchicalSubject=Nature|Sea",
    "-XMP-dc:Subject=Nature",
    "-XMP-dc:Subject=Sea",
    "-XMP-dc:Title=Evening",
    "-XMP-xmp:Rating=5",
    "-XMP-xmp:Label=Red",
    "-XMP-crs:Exposure2012=+0.35",
    "-XMP-tiff:Make=NIKON CORPORATION",
    "-XMP-tiff:Model=NIKON D750",
    "-XMP-aux:Lens=24.0-70.0 mm f/2.8",
    "-XMP-photoshop:City=Lisboa",
    "-XMP-exif:DateTimeOriginal=2019-07-04T10:20:30",
)
IMMICH = (
    "-XMP-digiKam:TagsList=Trips/Alps",
    "-XMP-dc:Description=Snow on the pass",
    "-XMP-tiff:ImageDescription=Snow on the pass",
    "-XMP-xmp:Rating=3",
    "-XMP-exif:GPSLatitude=46.5",
    "-XMP-exif:GPSLongitude=8.25",
    "-XMP-exif:DateTimeOriginal=2021-02-03T04:05:06",
)
PROGRAMS = {"digikam": DIGIKAM, "lightroom": LIGHTROOM, "immich": IMMICH}


def exiftool(*words: str | Path) -> str:
    return subprocess.run(
        ["exiftool", "-q", *map(str, words)], check=True, capture_output=True, text=True
    ).stdout


def everything(path: Path) -> dict[str, Any]:
    """All that exiftool reads of a file's XMP, by group and name."""
    (read,) = json.loads(exiftool("-j", "-struct", "-G1", "-n", "-XMP:all", path))
    return {
        name: value
        for name, value in read.items()
        if name.startswith("XMP-") and name != "XMP-x:XMPToolkit"
    }


def in_sidecar(folder: Path, fields: tuple[str, ...], name: str = "boat.jpg.xmp") -> Path:
    Image.new("RGB", (8, 6)).save(folder / "boat.jpg")
    exiftool("-o", folder / name, *fields)
    return folder / "boat.jpg"


def in_picture(folder: Path, fields: tuple[str, ...]) -> Path:
    Image.new("RGB", (8, 6)).save(folder / "boat.jpg")
    exiftool("-overwrite_original", *fields, folder / "boat.jpg")
    return folder / "boat.jpg"


def read(path: Path) -> tuple[dict[str, str], Any]:
    found = read_here(path, Wanted(metadata=True)).metadata
    assert found.problems == []
    captions = {caption.source.partition(":")[2]: caption.text for caption in found.captions}
    return captions, found.capture


@pytest.mark.parametrize("written", [in_sidecar, in_picture])
def test_digikams_trees_faces_and_stars_are_read(written: Any, tmp_path: Path) -> None:
    captions, capture = read(written(tmp_path, DIGIKAM))
    assert captions == {
        "description": "A tram on a hill",
        "subject": "Lisbon\nRosa Lopes",
        "tags": "Places|Portugal|Lisbon\nPeople|Rosa Lopes",
        "people": "Anna\nRex\nRosa Lopes",
    }
    assert capture.rating == 4


@pytest.mark.parametrize("written", [in_sidecar, in_picture])
def test_lightrooms_trees_camera_and_lens_are_read(written: Any, tmp_path: Path) -> None:
    captions, capture = read(written(tmp_path, LIGHTROOM))
    assert captions == {
        "subject": "Nature\nSea",
        "tags": "Nature|Sea",
        "title": "Evening",
        "place": "Lisboa",
    }
    assert (capture.camera, capture.lens) == ("NIKON D750", "24.0-70.0 mm f/2.8")
    assert (capture.rating, capture.source) == (5, "xmp")


def test_immichs_sidecar_is_read(tmp_path: Path) -> None:
    captions, capture = read(in_sidecar(tmp_path, IMMICH))
    assert captions == {"description": "Snow on the pass", "tags": "Trips|Alps"}
    assert (capture.rating, capture.latitude, capture.longitude) == (3, 46.5, 8.25)


def test_a_cameras_own_fields_are_read_from_exif(tmp_path: Path) -> None:
    fields = (
        "-IFD0:Make=FUJIFILM",
        "-IFD0:Model=X-T3",
        "-ExifIFD:LensModel=XF35mm",
        "-IFD0:Rating=2",
    )
    _, capture = read(in_picture(tmp_path, fields))
    assert (capture.camera, capture.lens, capture.rating) == ("FUJIFILM X-T3", "XF35mm", 2)


@pytest.mark.parametrize("program", PROGRAMS)
def test_all_that_a_program_wrote_is_there_after_visterm_wrote(
    program: str, tmp_path: Path
) -> None:
    path = in_sidecar(tmp_path, PROGRAMS[program])
    sidecar = Path(f"{path}.xmp")
    before = everything(sidecar)
    sidecar_change(path, ["predicted"]).write()
    caption_change(path, ["harbour", "Places|Spain"], "A new text").write()
    after = everything(sidecar)
    assert as_list(after["XMP-dc:Subject"]) == [
        *as_list(before.get("XMP-dc:Subject")),
        *("predicted", "harbour", "Spain"),
    ]
    assert "Places|Spain" in as_list(after["XMP-lr:HierarchicalSubject"])
    assert "Places/Spain" in as_list(after["XMP-digiKam:TagsList"])
    assert after["XMP-dc:Description"] == before.get("XMP-dc:Description", "A new text")
    lists = ("XMP-dc:Subject", "XMP-lr:HierarchicalSubject", "XMP-digiKam:TagsList")
    for name, value in before.items():
        if name in lists:
            assert as_list(after[name])[: len(as_list(value))] == as_list(value)
        else:
            assert after[name] == value, name
    sidecar_change(path, []).write()
    caption_change(path, [], "").write()
    assert everything(sidecar) == before


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def test_a_collection_finds_what_other_programs_wrote_and_exports_it(tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    in_sidecar(folder, DIGIKAM)
    with Collection.open(folder) as collection:
        collection.add(features="blocks")
        captions = collection.captions(folder / "boat.jpg")
        assert captions["xmp-sidecar:people"] == "Anna\nRex\nRosa Lopes"
        row = collection.catalogue.db.execute("SELECT camera, lens, rating FROM pictures")
        assert row.fetchone() == (None, None, 4)
        collection.caption(folder / "boat.jpg", "The tram of line 28, " + "uphill " * 200)
        assert collection.export_keywords([1], tmp_path / "out") == 1
    written = everything(tmp_path / "out" / "boat.jpg.xmp")
    before = everything(folder / "boat.jpg.xmp")
    assert {name: written[name] for name in before} == before, "their description stays"
    assert not [word for word in as_list(written["XMP-dc:Subject"]) if len(word) > 50]
