"""What cameras and programs write is no caption; what people write is."""

from __future__ import annotations

import pytest

from visterm.pictures.texts import is_machine_written


@pytest.mark.parametrize(
    "text",
    [
        "",
        "...",
        "Created by GIMP",
        "Created with The GIMP",
        "Created with GIMP on a Mac",
        "OLYMPUS DIGITAL CAMERA",
        "KONICA MINOLTA DIGITAL CAMERA",
        "Samsung Digimax digital still camera",
        "SONY DSC",
        "SAMSUNG",
        "DCIM",
        "DCIM\\100MEDIA\\DJI_0042.JPG",
        "DCIM100GOPRO",
        "Untitled",
        "untitled-1",
        "ASCII",
        "Software: Adobe Photoshop CS3",
        "CREATOR: gd-jpeg v1.0 (using IJG JPEG v62), quality = 90",
        "LEAD Technologies Inc. V1.01",
        "Optimized by JPEGmini 3.9.2.5L",
        "Processed with VSCO with a6 preset",
        "Edited with Snapseed",
        "IMG_1234",
        "IMG_1234.JPG",
        "img-20190812-wa0001.jpg",
        "_DSC4711",
        "DSC_0001",
        "DSCN0815",
        "P1010001",
        "PXL_20210704_101112345.jpg",
        "20190812_101112",
        "Screenshot 2020-01-02 at 10.11.12",
        "exif_jpeg_picture",
        "default",
    ],
)
def test_what_machines_write_is_told_from_captions(text: str):
    assert is_machine_written(text)


@pytest.mark.parametrize(
    "text",
    [
        "Anna",
        "holiday with Anna",
        "1987",
        "2019-08-12",
        "Created by Grandma for my birthday",
        "a cake made by Anna",
        "Gimp, our old dog",
        "an old digital camera on a table",
        "my digital camera",
        "Canon on the castle wall",
        "Samsung phones in a shop window",
        "Sony building in Berlin",
        "Default Street, Dublin",
        "Untitled by Rothko",
        "image of a saint",
        "Photo of Anna, 12",
        "G20 protest",
        "P-51 Mustang",
        "Anna at the beach.jpg",
        "software engineers at lunch",
        "leading a horse",
        "picture frame",
        "scanned by Anna from an old print",
        "ascii art on a wall",
        "screenshot of the game we made",
        "Google office in Zurich",
        "DSC reunion 2010",
        "route 66",
    ],
)
def test_what_people_write_stays(text: str):
    assert not is_machine_written(text)
