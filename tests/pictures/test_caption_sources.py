"""Captions are found wherever photographers keep them, whole and with their sources."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, features
from PIL.PngImagePlugin import PngInfo

from visterm.pictures.metadata import Caption
from visterm.pictures.sandbox import captions_of

PICTURE = Image.fromarray(
    np.arange(20 * 30 * 3, dtype=np.uint32).astype(np.uint8).reshape(20, 30, 3)
)


def saved(kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    PICTURE.copy().save(file, kind, **options)
    return file.getvalue()


def found(data: bytes, folder: Path) -> dict[str, str]:
    path = folder / "picture"
    path.write_bytes(data)
    problems: list[str] = []
    captions = captions_of(path, problems=problems)
    assert problems == []
    return {caption.source: caption.text for caption in captions}


def dataset(record: int, number: int, data: bytes) -> bytes:
    return struct.pack(">BBBH", 0x1C, record, number, len(data)) + data


def resource(kind: int, data: bytes, name: bytes = b"") -> bytes:
    name = bytes([len(name)]) + name
    head = b"8BIM" + struct.pack(">H", kind) + name + bytes(len(name) % 2)
    return head + struct.pack(">I", len(data)) + data + bytes(len(data) % 2)


def segment(marker: int, data: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(data) + 2) + data


def jpeg_with(*segments: bytes) -> bytes:
    data = saved("JPEG")
    return data[:2] + b"".join(segments) + data[2:]


IPTC = (
    dataset(2, 0, b"\0\2")
    + dataset(2, 5, b"Evening")
    + dataset(2, 25, b"sea")
    + dataset(2, 25, b"old boat")
    + dataset(2, 120, b"A boat\r\non the sea")
)
IPTC_FOUND = {
    "iptc:title": "Evening",
    "iptc:keywords": "sea\nold boat",
    "iptc:caption": "A boat on the sea",
}


def xmp(body: str = "", attributes: str = "") -> bytes:
    return f"""<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" {attributes}>
  {body}
  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>
<?xpacket end="w"?>""".encode()


XMP = xmp(
    """<dc:subject><rdf:Bag><rdf:li>sea</rdf:li><rdf:li>Bäume &amp; Felder</rdf:li></rdf:Bag>
    </dc:subject>
    <dc:title><rdf:Alt><rdf:li xml:lang="de">Abend</rdf:li>
      <rdf:li xml:lang="x-default">Evening</rdf:li><rdf:li xml:lang="en">Evening</rdf:li></rdf:Alt>
    </dc:title>
    <dc:description><rdf:Alt><rdf:li xml:lang="x-default">A boat</rdf:li></rdf:Alt></dc:description>
    """
)
XMP_FOUND = {
    "xmp:subject": "sea\nBäume & Felder",
    "xmp:title": "Evening\nAbend",
    "xmp:description": "A boat",
}


def windows(text: str) -> bytes:
    return (text + "\0").encode("utf-16-le")


def exif() -> Image.Exif:
    block = Image.Exif()
    block[270] = "A boat"
    block[0x9C9E] = windows("sea;Fähre; old boat")
    block[0x9C9B] = windows("Abend")
    block[0x9C9F] = windows("Hafen")
    return block


EXIF_FOUND = {
    "exif:description": "A boat",
    "exif:keywords": "sea\nFähre\nold boat",
    "exif:title": "Abend",
    "exif:subject": "Hafen",
}


def test_iptc_of_a_jpeg_is_found_among_photoshops_resources(tmp_path: Path) -> None:
    other = resource(0x03ED, bytes(15), b"odd") + resource(0x0BB7, b"x")
    data = jpeg_with(segment(0xED, b"Photoshop 3.0\0" + other + resource(0x0404, IPTC)))
    assert found(data, tmp_path) == IPTC_FOUND


@pytest.mark.parametrize(
    ("charset", "raw"),
    [
        (b"\x1b%G", "Zürich – Fähre".encode()),
        (b"", "Zürich – Fähre".encode()),
        (b"", "Zürich – Fähre".encode("cp1252")),
        (b"\x1b.A", "Zürich – Fähre".encode("cp1252")),
    ],
)
def test_iptc_is_decoded_by_the_charset_it_names(
    charset: bytes, raw: bytes, tmp_path: Path
) -> None:
    block = (dataset(1, 90, charset) if charset else b"") + dataset(2, 25, raw)
    data = jpeg_with(segment(0xED, b"Photoshop 3.0\0" + resource(0x0404, block)))
    assert found(data, tmp_path) == {"iptc:keywords": "Zürich – Fähre"}


def test_a_named_latin_charset_is_believed_even_where_utf_8_would_fit(tmp_path: Path) -> None:
    block = dataset(1, 90, b"\x1b.A") + dataset(2, 25, "ü".encode())
    data = jpeg_with(segment(0xED, b"Photoshop 3.0\0" + resource(0x0404, block)))
    assert found(data, tmp_path) == {"iptc:keywords": "Ã¼"}


def test_iptc_of_a_tiff_is_found(tmp_path: Path) -> None:
    assert found(saved("TIFF", tiffinfo={33_723: IPTC}), tmp_path) == IPTC_FOUND


def test_xmp_is_found_in_every_format_that_carries_it(tmp_path: Path) -> None:
    text = PngInfo()
    text.add_itxt("XML:com.adobe.xmp", XMP.decode())
    packed = PngInfo()
    packed.add_itxt("XML:com.adobe.xmp", XMP.decode(), zip=True)
    files = [
        saved("JPEG", xmp=XMP),
        saved("PNG", pnginfo=text),
        saved("PNG", pnginfo=packed),
        saved("WEBP", xmp=XMP),
        saved("TIFF", tiffinfo={700: XMP}),
    ]
    if features.check("avif"):
        files.append(saved("AVIF", xmp=XMP))
    for data in files:
        assert found(data, tmp_path) == XMP_FOUND


def test_exif_is_found_in_every_format_that_carries_it(tmp_path: Path) -> None:
    kinds = ["JPEG", "PNG", "WEBP"] + (["AVIF"] if features.check("avif") else [])
    for kind in kinds:
        assert found(saved(kind, exif=exif()), tmp_path) == EXIF_FOUND
    tags = {270: "A boat", 0x9C9E: windows("sea;Fähre; old boat")}
    assert found(saved("TIFF", tiffinfo=tags), tmp_path) == {
        "exif:description": "A boat",
        "exif:keywords": "sea\nFähre\nold boat",
    }


def test_heic_metadata_is_found_where_the_extra_is_installed(tmp_path: Path) -> None:
    pillow_heif = pytest.importorskip("pillow_heif")
    file = io.BytesIO()
    heic = pillow_heif.from_pillow(PICTURE)
    heic.save(file, xmp=XMP, exif=exif().tobytes())
    assert found(file.getvalue(), tmp_path) == XMP_FOUND | EXIF_FOUND


def test_simple_properties_and_attributes_of_xmp_are_read(tmp_path: Path) -> None:
    packet = xmp("<dc:description>A boat</dc:description>", 'dc:title="Evening"')
    assert found(saved("JPEG", xmp=packet), tmp_path) == {
        "xmp:title": "Evening",
        "xmp:description": "A boat",
    }


def test_xmp_about_other_documents_is_left_alone(tmp_path: Path) -> None:
    pantry = """<m:Pantry xmlns:m="http://ns.adobe.com/xap/1.0/mm/"><rdf:Bag><rdf:li>
      <rdf:Description dc:title="stock"><dc:subject>stolen</dc:subject></rdf:Description>
      </rdf:li></rdf:Bag></m:Pantry><dc:title>Evening</dc:title>"""
    assert found(saved("JPEG", xmp=xmp(pantry)), tmp_path) == {"xmp:title": "Evening"}


def test_utf_16_xmp_is_read(tmp_path: Path) -> None:
    path = tmp_path / "boat.jpg"
    path.write_bytes(saved("JPEG"))
    Path(f"{path}.xmp").write_bytes(XMP.decode().encode("utf-16"))
    assert Caption("xmp-sidecar:description", "A boat") in captions_of(path)


def test_all_sources_of_one_picture_are_kept_apart(tmp_path: Path) -> None:
    data = saved("JPEG", xmp=XMP, exif=exif())
    iptc = segment(0xED, b"Photoshop 3.0\0" + resource(0x0404, IPTC))
    assert found(data[:2] + iptc + data[2:], tmp_path) == IPTC_FOUND | XMP_FOUND | EXIF_FOUND


@pytest.mark.parametrize("name", ["boat.jpg.xmp", "boat.xmp", "boat.XMP"])
def test_xmp_sidecars_of_both_names_are_read(name: str, tmp_path: Path) -> None:
    (tmp_path / "boat.jpg").write_bytes(saved("JPEG"))
    (tmp_path / name).write_bytes(XMP)
    captions = captions_of(tmp_path / "boat.jpg")
    expected = {source.replace("xmp:", "xmp-sidecar:"): text for source, text in XMP_FOUND.items()}
    assert {caption.source: caption.text for caption in captions} == expected


@pytest.mark.parametrize("name", ["boat.jpg.txt", "boat.txt", "boat.TXT"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
def test_txt_sidecars_of_both_names_and_any_encoding_are_read(
    name: str, encoding: str, tmp_path: Path
) -> None:
    (tmp_path / "boat.jpg").write_bytes(saved("JPEG"))
    (tmp_path / name).write_bytes("Zürich  am See\r\n\r\nFähre\n".encode(encoding))
    assert captions_of(tmp_path / "boat.jpg") == [Caption("txt", "Zürich am See\nFähre")]


def test_two_sidecars_are_read_as_one_the_more_telling_name_first(tmp_path: Path) -> None:
    (tmp_path / "boat.jpg").write_bytes(saved("JPEG"))
    (tmp_path / "boat.jpg.txt").write_text("boat\nsea")
    (tmp_path / "boat.txt").write_text("sea\nharbour")
    assert captions_of(str(tmp_path / "boat.jpg")) == [Caption("txt", "boat\nsea\nharbour")]


def test_what_cameras_write_by_themselves_is_no_caption(tmp_path: Path) -> None:
    for text in ("OLYMPUS DIGITAL CAMERA         ", "SONY DSC", "DCIM\\100MEDIA\\DJI_1.JPG", "  "):
        block = Image.Exif()
        block[270] = text
        assert found(saved("JPEG", exif=block), tmp_path) == {}


def test_formats_without_metadata_and_files_that_are_no_pictures_have_no_captions(
    tmp_path: Path,
) -> None:
    for data in (saved("BMP"), saved("GIF"), b"", b"hello", saved("PNG")):
        assert found(data, tmp_path) == {}


LAUGHS = b"""<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;">]>""" + xmp(
    "<dc:title>&d;</dc:title>"
).partition(b"?>")[2]
OUTSIDE = (
    b"""<?xml version="1.0"?><!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/hostname">]>"""
    + xmp("<dc:title>&f;</dc:title>").partition(b"?>")[2]
)
REMOTE = b'<!DOCTYPE x SYSTEM "http://example.invalid/x.dtd">' + xmp().partition(b"?>")[2]


@pytest.mark.parametrize("packet", [LAUGHS, OUTSIDE, REMOTE])
def test_xml_that_declares_entities_or_a_type_is_refused(packet: bytes, tmp_path: Path) -> None:
    path = tmp_path / "boat.jpg"
    path.write_bytes(saved("JPEG", xmp=packet))
    path.with_suffix(".xmp").write_bytes(packet)
    problems: list[str] = []
    assert captions_of(path, problems=problems) == []
    assert len(problems) == 2
    assert all("declares a document type" in problem for problem in problems)


@pytest.mark.parametrize(
    "packet",
    [
        b"<",
        b"<a>" * 200_000,
        b"\xff\xfe<",
        b'<?xml version="1.0" encoding="utf-7"?><a/>',
        xmp()[:300],
    ],
)
def test_broken_xml_is_one_problem_and_costs_no_other_caption(
    packet: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "boat.jpg"
    path.write_bytes(saved("JPEG", exif=exif()))
    path.with_suffix(".xmp").write_bytes(packet)
    problems: list[str] = []
    assert {c.source: c.text for c in captions_of(path, problems=problems)} == EXIF_FOUND
    assert len(problems) == 1
    assert problems[0].startswith(str(path.with_suffix(".xmp")))


def test_broken_xmp_inside_a_file_costs_neither_its_iptc_nor_its_exif(tmp_path: Path) -> None:
    data = saved("JPEG", xmp=b"<broken", exif=exif())
    path = tmp_path / "boat.jpg"
    path.write_bytes(
        data[:2] + segment(0xED, b"Photoshop 3.0\0" + resource(0x0404, IPTC)) + data[2:]
    )
    problems: list[str] = []
    assert {c.source: c.text for c in captions_of(path, problems=problems)} == (
        IPTC_FOUND | EXIF_FOUND
    )
    assert len(problems) == 1


def test_sidecars_that_are_too_large_binary_or_folders_are_problems(tmp_path: Path) -> None:
    path = tmp_path / "boat.jpg"
    path.write_bytes(saved("JPEG"))
    (tmp_path / "boat.txt").write_bytes(b"sea " * 1_000_000)
    (tmp_path / "boat.jpg.txt").write_bytes(b"sea\0\1\2")
    (tmp_path / "boat.xmp").mkdir()
    (tmp_path / "boat.jpg.xmp").symlink_to("nowhere")
    problems: list[str] = []
    assert captions_of(path, problems=problems) == []
    assert sorted(problem.rpartition(": ")[2] for problem in problems) == [
        "it is a folder",
        "it is larger than 1,000,000 bytes",
        "it is not text",
        "no such file",
    ]


def test_packed_xmp_that_unpacks_without_end_is_bounded(tmp_path: Path) -> None:
    body = b"XML:com.adobe.xmp\0\1\0\0\0" + zlib.compress(bytes(200_000_000), 9)
    chunk = struct.pack(">I4s", len(body), b"iTXt") + body
    data = saved("PNG")
    path = tmp_path / "boat.png"
    path.write_bytes(data[:33] + chunk + struct.pack(">I", zlib.crc32(chunk[4:])) + data[33:])
    assert captions_of(path) == []


def test_a_missing_picture_is_a_problem_and_not_an_error(tmp_path: Path) -> None:
    problems: list[str] = []
    assert captions_of(tmp_path / "boat.jpg", problems=problems) == []
    assert problems == [f"{tmp_path / 'boat.jpg'}: no such file"]


FILES = [
    jpeg_with(segment(0xED, b"Photoshop 3.0\0" + resource(0x0404, IPTC)), segment(0xE1, XMP)),
    saved("JPEG", xmp=XMP, exif=exif()),
    saved("PNG", exif=exif()),
    saved("WEBP", xmp=XMP, exif=exif()),
    saved("TIFF", tiffinfo={33_723: IPTC, 700: XMP, 270: "A boat"}),
    *([saved("AVIF", xmp=XMP)] if features.check("avif") else []),
    XMP,
    IPTC,
]


@given(
    data=st.sampled_from(FILES),
    changes=st.lists(
        st.tuples(st.integers(0, 10**6), st.binary(min_size=1, max_size=4)), max_size=8
    ),
    cut=st.integers(0, 10**6),
    beside=st.sampled_from([".xmp", ".txt", ".jpg"]),
)
@settings(max_examples=300, deadline=None)
def test_damaged_files_never_raise(
    tmp_path_factory: pytest.TempPathFactory,
    data: bytes,
    changes: list[tuple[int, bytes]],
    cut: int,
    beside: str,
) -> None:
    broken = bytearray(data)
    for at, put in changes:
        broken[at % len(data) : at % len(data) + len(put)] = put
    folder = tmp_path_factory.getbasetemp()
    (folder / "boat.jpg").write_bytes(b"")
    path = folder / f"boat{beside}"
    path.write_bytes(bytes(broken[: len(broken) - cut % len(broken)]) if cut % 3 else bytes(broken))
    try:
        for caption in captions_of(folder / "boat.jpg"):
            assert caption.text.strip() == caption.text != ""
            caption.text.encode()
    finally:
        path.unlink()


@given(
    head=st.sampled_from([b"", b"\xff\xd8\xff", b"II*\0", b"\x89PNG\r\n\x1a\n", b"RIFF0000WEBP"]),
    data=st.binary(max_size=2_000),
)
@settings(max_examples=200, deadline=None)
def test_random_bytes_never_raise(
    tmp_path_factory: pytest.TempPathFactory, head: bytes, data: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "random.jpg"
    path.write_bytes(head + data)
    assert all(isinstance(caption, Caption) for caption in captions_of(path))
