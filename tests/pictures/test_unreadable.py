"""Whatever cannot be read gives `UnreadablePicture` with a reason, silently and without waiting."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, PngImagePlugin
from tests.readers import reading_by

from visterm.errors import UnreadablePicture
from visterm.pictures.formats import Refused, opened
from visterm.pictures.sandbox import HANGS, Readers, read_picture

SCENE = Image.fromarray(np.random.default_rng(1).integers(0, 256, (40, 60, 3)).astype(np.uint8))
KINDS = ["JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP", "AVIF"]


def saved(kind: str, picture: Image.Image = SCENE, **options: object) -> bytes:
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def reason(source: str | Path | bytes, **limits: int) -> str:
    with pytest.raises(UnreadablePicture) as caught:
        read_picture(source, **limits)
    return caught.value.reason


def png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I4s", len(data), kind) + data + struct.pack(">I", zlib.crc32(kind + data))


def png_with(*chunks: bytes) -> bytes:
    data = saved("PNG")
    return data[:33] + b"".join(chunks) + data[33:]


def test_missing_empty_and_unreadable_files_say_so(tmp_path: Path) -> None:
    empty = tmp_path / "empty.jpg"
    empty.touch()
    assert reason(empty) == "the file is empty"
    assert reason(b"") == "the file is empty"
    assert reason(tmp_path / "missing.jpg") == "no such file"
    assert reason(empty / "below.jpg") == "no such file"
    assert reason("nul\0inside.jpg") == "no such file"
    assert reason(tmp_path) == "it is a folder"
    assert reason(tmp_path / ("x" * 300)) == "its name is too long"


def test_the_error_says_where_and_crosses_processes() -> None:
    with pytest.raises(UnreadablePicture, match=r"^nowhere/a\.jpg: no such file$") as caught:
        read_picture("nowhere/a.jpg")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (copy.where, copy.reason) == ("nowhere/a.jpg", "no such file")


@pytest.mark.skipif(os.name != "posix", reason="pipes and links of POSIX")
def test_pipes_devices_and_circles_of_links_are_refused_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jpg"
    os.mkfifo(pipe)
    assert reason(pipe) == "it is not a regular file"
    assert reason("/dev/zero") == "it is not a regular file"
    circle = tmp_path / "circle.jpg"
    circle.symlink_to(circle)
    assert reason(circle) == "its symbolic links run in a circle"


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_files_without_permission_say_so(tmp_path: Path) -> None:
    path = tmp_path / "locked.png"
    path.write_bytes(saved("PNG"))
    path.chmod(0)
    me = os.geteuid()
    try:
        if me == 0:  # root may read everything
            os.seteuid(65_534)
        with pytest.raises(Refused, match="no permission to read it"), opened(path):
            pass
    finally:
        os.seteuid(me)


@pytest.mark.parametrize("kind", KINDS)
def test_every_cut_of_a_file_gives_pixels_or_a_reason(kind: str) -> None:
    data = saved(kind)
    for cut in (1, 2, 3, 4, 8, 12, 13, 16, 20, 30, 64, len(data) // 2):
        assert reason(data[:cut])
    with contextlib.suppress(UnreadablePicture):
        assert read_picture(data[:-12]).shape == (40, 60, 3)


@pytest.mark.parametrize("kind", KINDS)
def test_the_name_is_never_believed(kind: str, tmp_path: Path) -> None:
    for extension in (".jpg", ".png", ".heic", ".txt", ""):
        path = tmp_path / f"picture{extension}"
        path.write_bytes(saved(kind))
        assert read_picture(path).shape == (40, 60, 3)


@pytest.mark.parametrize(
    "data",
    [b"hello", b"<svg/>", b"%PDF-1.7", b"\0" * 1000, b"BM", b"BMX?" * 10, b"%!PS-Adobe-3.0 EPSF"],
)
def test_other_content_is_named_as_no_picture(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "picture.jpg"
    path.write_bytes(data)
    assert "not a picture" in reason(path)


@pytest.mark.parametrize("kind", ["PPM", "TGA", "ICO", "JPEG2000", "PCX"])
def test_formats_outside_the_list_are_refused_although_pillow_reads_them(kind: str) -> None:
    assert "not a picture" in reason(saved(kind))


def forged(kind: str, width: int, height: int) -> bytes:
    """A small file whose header claims another size."""
    data = bytearray(saved(kind))
    if kind == "PNG":
        data[16:24] = struct.pack(">II", width, height)
        data[29:33] = struct.pack(">I", zlib.crc32(bytes(data[12:29])))
    elif kind == "JPEG":
        at = bytes(data).index(b"\xff\xc0") + 5
        data[at : at + 4] = struct.pack(">HH", height, width)
    elif kind == "GIF":
        data[6:10] = struct.pack("<HH", width, height)
    elif kind == "BMP":
        data[18:26] = struct.pack("<ii", width, height)
    elif kind == "WEBP":
        data[26:30] = struct.pack("<HH", width & 0x3FFF, height & 0x3FFF)
    elif kind == "AVIF":
        at = bytes(data).index(b"ispe") + 8
        data[at : at + 8] = struct.pack(">II", width, height)
    elif kind == "TIFF":
        data = bytearray(saved(kind, tiffinfo={}))
        for tag, value in ((256, width), (257, height)):
            at = bytes(data).index(struct.pack("<H", tag), 8)
            data[at : at + 12] = struct.pack("<HHII", tag, 4, 1, value)
    return bytes(data)


@pytest.mark.parametrize("kind", KINDS)
def test_claims_of_too_many_pixels_are_refused_before_decoding(kind: str) -> None:
    said = reason(forged(kind, 16_000, 16_000))
    assert "allowed" in said or kind == "WEBP"  # its decoder wants memory for them at once
    if kind not in ("JPEG", "GIF", "WEBP", "AVIF"):  # these cannot claim more
        assert "allowed" in reason(forged(kind, 2**30, 2**30))


def test_pictures_without_pixels_or_with_endless_sides_are_refused() -> None:
    assert reason(forged("JPEG", 0, 0))
    assert reason(forged("PNG", 0, 7))
    assert "65,535" in reason(forged("BMP", 1_000_000, 2))


def test_text_and_profiles_that_unpack_without_end_are_refused() -> None:
    bomb = zlib.compress(bytes(200_000_000), 9)
    for chunk in (
        png_chunk(b"zTXt", b"Comment\0\0" + bomb),
        png_chunk(b"iTXt", b"Comment\0\1\0\0\0" + bomb),
        png_chunk(b"iCCP", b"icc\0\0" + bomb),
    ):
        assert "too large" in reason(png_with(chunk))


def test_large_text_that_is_honest_does_not_cost_the_picture() -> None:
    info = PngImagePlugin.PngInfo()
    info.add_itxt("XML:com.adobe.xmp", "x" * 3_000_000)
    assert read_picture(saved("PNG", pnginfo=info)).shape == (40, 60, 3)


def test_a_jpeg_of_endless_scans_is_given_up() -> None:
    data = saved("JPEG", Image.new("RGB", (2000, 2000)), progressive=True)
    scan = data[data.rindex(b"\xff\xda") : -2]
    with reading_by(Readers(1, longest=0.5)):
        assert reason(data[:-2] + scan * 5_000 + b"\xff\xd9").startswith(HANGS)


def test_files_that_go_on_for_gigabytes_are_not_read_whole(tmp_path: Path) -> None:
    """Holes take no room on the disk; whoever reads them all takes the memory of this machine."""
    png = saved("PNG")  # one chunk that never ends
    at = png.index(b"IDAT") - 4
    png = png[:at] + struct.pack(">I", 2**31 - 1) + png[at + 4 : -16]
    for number, data in enumerate((saved("JPEG"), png, saved("WEBP"))):
        path = tmp_path / f"endless-{number}"
        path.write_bytes(data)
        os.truncate(path, 2_000_000_000)
    assert read_picture(tmp_path / "endless-0").shape == (40, 60, 3)
    assert "memory" in reason(tmp_path / "endless-1")
    assert "memory" in reason(tmp_path / "endless-2")


def test_nothing_is_printed_also_by_c_libraries(capfd: pytest.CaptureFixture[str]) -> None:
    """libtiff writes to the descriptor and not to sys.stderr."""
    rng, refused = np.random.default_rng(1), 0
    for compression in (None, "jpeg", "tiff_lzw", "tiff_deflate"):
        data = saved("TIFF", compression=compression)
        for _ in range(30):
            broken = np.frombuffer(data[: rng.integers(len(data) // 2, len(data))], np.uint8).copy()
            broken[rng.integers(0, len(broken), 6)] = rng.integers(0, 256, 6)
            try:
                read_picture(broken.tobytes())
            except UnreadablePicture:
                refused += 1
    assert refused > 60
    assert capfd.readouterr() == ("", "")
