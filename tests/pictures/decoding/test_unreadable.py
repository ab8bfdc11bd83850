"""Whatever cannot be read gives `UnreadablePicture` with a reason, silently and without waiting."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import struct
import subprocess
import sys
import threading
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from visterm.errors import UnreadablePicture
from visterm.pictures.decoding.decoder import read_picture

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
        assert reason(path) == "no permission to read it"
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
    assert "allowed" in reason(forged(kind, 16_000, 16_000))
    if kind not in ("JPEG", "GIF", "WEBP", "AVIF"):  # these cannot claim more
        assert "allowed" in reason(forged(kind, 2**30, 2**30))


def test_pictures_without_pixels_or_with_endless_sides_are_refused() -> None:
    assert reason(forged("JPEG", 0, 0))
    assert reason(forged("PNG", 0, 7))
    assert "65,535" in reason(forged("BMP", 1_000_000, 2))


def test_memory_bounds_formats_whose_decoders_need_much_of_it() -> None:
    assert "MB" in reason(forged("WEBP", 7_000, 7_000))


def test_text_and_profiles_that_unpack_without_end_are_refused() -> None:
    bomb = zlib.compress(bytes(200_000_000), 9)
    for chunk in (
        png_chunk(b"zTXt", b"Comment\0\0" + bomb),
        png_chunk(b"iTXt", b"Comment\0\1\0\0\0" + bomb),
        png_chunk(b"iCCP", b"icc\0\0" + bomb),
    ):
        assert "too large" in reason(png_with(chunk))


def test_millions_of_empty_parts_are_refused() -> None:
    assert "too much" in reason(png_with(png_chunk(b"teSt", b"") * 10_000))
    jpeg = saved("JPEG")
    assert "too many parts" in reason(jpeg[:2] + b"\xff\xe5\0\2" * 50_000 + jpeg[2:])
    assert "no picture" in reason(b"\xff\xd8\xff" + bytes(200_000))
    gif = saved("GIF")
    head = 13 + (3 << ((gif[10] & 7) + 1))
    comment = b"!\xfe" + b"\x01x" * 2_000_000 + b"\0"
    assert "too much" in reason(gif[:head] + comment + gif[head:])


def test_a_jpeg_of_endless_scans_is_refused() -> None:
    data = saved("JPEG", progressive=True)
    last = data.rindex(b"\xff\xda")
    scan = data[last:-2]
    assert read_picture(data[:-2] + b"\xff\xd9").shape == (40, 60, 3)
    assert "too many scans" in reason(data[:-2] + scan * 1_000 + b"\xff\xd9")


def test_a_video_behind_a_picture_is_not_counted_as_scans() -> None:
    data = saved("JPEG", progressive=True) + b"\xff\xda\0\4ab" * 1_000
    assert read_picture(data).shape == (40, 60, 3)


def tiff(*entries: tuple[int, int, int, int]) -> bytes:
    table = b"".join(struct.pack("<HHII", *entry) for entry in sorted(entries))
    return b"II*\0\x08\0\0\0" + struct.pack("<H", len(entries)) + table + bytes(4)


def test_giant_tiles_and_tables_of_tiffs_are_refused() -> None:
    size = [(256, 4, 1, 100), (257, 4, 1, 100), (258, 3, 1, 8), (262, 3, 1, 1), (259, 3, 1, 5)]
    tiles = [(322, 4, 1, 40_000), (323, 4, 1, 40_000), (324, 4, 1, 8), (325, 4, 1, 8)]
    assert "tiles" in reason(tiff(*size, *tiles))
    strips = [(273, 4, 300_000, 0), (279, 4, 1, 8)]
    assert "too many strips" in reason(tiff(*size, *strips) + bytes(2_000_000))


@pytest.mark.parametrize("kind", KINDS)
def test_files_that_go_on_for_gigabytes_are_not_read_whole(kind: str, tmp_path: Path) -> None:
    """Holes take no room on the disk; whoever reads them all takes the memory of this machine."""
    data = saved(kind)
    if kind == "PNG":  # one chunk that never ends
        at = data.index(b"IDAT") - 4
        data = data[:at] + struct.pack(">I", 2**31 - 1) + data[at + 4 : -16]
    elif kind == "TIFF":
        tags = [(256, 4, 1, 9), (257, 4, 1, 9), (700, 1, 1_900_000_000, 8)]
        data = tiff(*tags)
    path = tmp_path / "endless"
    path.write_bytes(data)
    os.truncate(path, 2_000_000_000)
    program = """
import resource, sys
from visterm.pictures import captions_of, read_picture
from visterm.errors import UnreadablePicture
resource.setrlimit(resource.RLIMIT_AS, (1_000_000_000, 1_000_000_000))
captions_of(sys.argv[1])
try:
    print(read_picture(sys.argv[1]).shape)
except UnreadablePicture as problem:
    print(problem.reason)
"""
    command = [sys.executable, "-c", program, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    if kind in ("PNG", "TIFF", "WEBP", "AVIF"):
        assert "besides its pixels takes" in done.stdout
    else:
        assert done.stdout == "(40, 60, 3)\n"


def test_nothing_is_printed_and_no_warning_leaks_also_by_c_libraries() -> None:
    """In a child process, because libtiff writes to the descriptor and not to sys.stderr."""
    program = """
import io, sys
import numpy as np
from PIL import Image
from visterm.pictures.decoding.decoder import read_picture
from visterm.errors import UnreadablePicture
picture = Image.fromarray(np.random.default_rng(0).integers(0, 256, (40, 60, 3)).astype("u1"))
refused = 0
for kind, options in [("TIFF", {}), ("TIFF", {"compression": "jpeg"}), ("JPEG", {}), ("PNG", {}),
                      ("TIFF", {"compression": "tiff_lzw"}), ("TIFF", {"compression": "group4"}),
                      ("TIFF", {"compression": "tiff_deflate"}), ("WEBP", {}), ("AVIF", {})]:
    file = io.BytesIO()
    source = picture.convert("1") if options.get("compression") == "group4" else picture
    source.save(file, kind, **options)
    data = file.getvalue()
    rng = np.random.default_rng(1)
    for _ in range(40):
        broken = bytearray(data)
        for at in rng.integers(0, len(data), 6):
            broken[at] = rng.integers(0, 256)
        try:
            read_picture(bytes(broken[: rng.integers(len(data) // 2, len(data))]))
        except UnreadablePicture:
            refused += 1
print(refused)
"""
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stderr == ""
    assert int(done.stdout) > 100


def test_warnings_of_others_come_back_after_decoding_in_threads() -> None:
    before = list(warnings.filters)
    data = forged("PNG", 12_000, 8_000)
    threads = [threading.Thread(target=lambda: reason(data)) for _ in range(8)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [str(warning.message) for warning in caught] == []
        warnings.warn("mine", stacklevel=1)
        assert len(caught) == 1
    assert list(warnings.filters) == before


def test_large_text_that_is_honest_does_not_cost_the_picture() -> None:
    info = PngImagePlugin.PngInfo()
    info.add_itxt("XML:com.adobe.xmp", "x" * 3_000_000)
    assert read_picture(saved("PNG", pnginfo=info)).shape == (40, 60, 3)
