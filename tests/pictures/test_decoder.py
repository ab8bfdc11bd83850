"""`read_picture` gives the right upright pixels for every format and mode it promises."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image, features

from visterm.errors import BadInput
from visterm.pictures.formats import SUPPORTED_EXTENSIONS, Refused, check_size
from visterm.pictures.reader import Wanted, read_here
from visterm.pictures.sandbox import read_picture

needs_avif = pytest.mark.skipif(not features.check("avif"), reason="this Pillow has no AVIF")


def scene(width: int = 48, height: int = 32) -> np.ndarray:
    """Smooth colours with one bright corner, so that lossy formats stay close and turns show."""
    y, x = np.mgrid[0:height, 0:width]
    rgb = np.stack([x * 255 // width, y * 255 // height, (x + y) * 255 // (width + height)], -1)
    rgb[: height // 4, : width // 4] = (250, 240, 10)
    return rgb.astype(np.uint8)


def assert_near(pixels: np.ndarray, expected: np.ndarray, mean: float) -> None:
    """Equal shapes, and on average no farther apart than lossy coding explains."""
    assert pixels.shape == expected.shape
    assert np.abs(pixels.astype(int) - expected).mean() <= mean


def saved(picture: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


@pytest.mark.parametrize(
    ("kind", "options", "tolerance"),
    [
        ("PNG", {}, 0),
        ("BMP", {}, 0),
        ("TIFF", {}, 0),
        ("TIFF", {"compression": "tiff_lzw"}, 0),
        ("TIFF", {"compression": "tiff_deflate"}, 0),
        ("TIFF", {"compression": "packbits"}, 0),
        ("TIFF", {"compression": "jpeg", "quality": 95}, 5),
        ("TIFF", {"big_tiff": True}, 0),
        ("WEBP", {"lossless": True}, 0),
        ("WEBP", {"quality": 95}, 5),
        ("JPEG", {"quality": 95, "subsampling": 0}, 2),
        ("JPEG", {"quality": 95, "progressive": True}, 5),
        pytest.param("AVIF", {"quality": 95}, 5, marks=needs_avif),
    ],
)
def test_every_format_gives_its_pixels_from_a_file_and_from_bytes(
    kind: str, options: dict[str, object], tolerance: int, tmp_path: Path
) -> None:
    data = saved(Image.fromarray(scene()), kind, **options)
    path = tmp_path / "picture.whatever"
    path.write_bytes(data)
    pixels = read_picture(path)
    assert pixels.dtype == np.uint8
    assert pixels.flags.c_contiguous
    assert pixels.flags.writeable
    assert_near(pixels, scene(), tolerance)
    assert_array_equal(read_picture(str(path)), pixels)
    assert_array_equal(read_picture(data), pixels)


def test_heic_gives_its_pixels_where_the_extra_is_installed() -> None:
    pillow_heif = pytest.importorskip("pillow_heif")
    file = io.BytesIO()
    pillow_heif.from_pillow(Image.fromarray(scene())).save(file, quality=95)
    assert_near(read_picture(file.getvalue()), scene(), 5)


def test_heic_without_the_extra_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pillow_heif", None)
    box = struct.pack(">I4s4sI4s4s", 24, b"ftyp", b"heic", 0, b"mif1", b"heic")
    assert "visterm[heic]" in str(read_here(box + bytes(100), Wanted(pixels=True)).reason)


def test_gif_gives_its_first_frame() -> None:
    frames = [Image.new("RGB", (20, 10), colour) for colour in ("red", "green", "blue")]
    data = saved(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert_array_equal(read_picture(data), np.full((10, 20, 3), (255, 0, 0)))


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "TIFF", pytest.param("AVIF", marks=needs_avif)])
def test_animated_and_paged_files_give_their_first_frame(kind: str) -> None:
    frames = [Image.new("RGB", (20, 10), colour) for colour in ("red", "green", "blue")]
    data = saved(frames[0], kind, save_all=True, append_images=frames[1:])
    assert_allclose(read_picture(data).astype(int), np.full((10, 20, 3), (255, 0, 0)), atol=6)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_every_exif_orientation_comes_out_upright(kind: str, orientation: int) -> None:
    """A viewer turns the stored rows by the table of the EXIF standard; so do we."""
    upright = scene()
    stored = {
        1: upright,
        2: upright[:, ::-1],
        3: upright[::-1, ::-1],
        4: upright[::-1],
        5: upright.transpose(1, 0, 2),
        6: np.rot90(upright, 1),
        7: upright[::-1, ::-1].transpose(1, 0, 2),
        8: np.rot90(upright, -1),
    }[orientation]
    options: dict[str, object] = {"lossless": True} if kind == "WEBP" else {}
    if kind == "TIFF":
        options["tiffinfo"] = {274: orientation}
    else:
        exif = Image.Exif()
        exif[274] = orientation
        options["exif"] = exif
    data = saved(Image.fromarray(np.ascontiguousarray(stored)), kind, **options)
    tolerance = 5 if kind == "JPEG" else 0
    assert_near(read_picture(data), upright, tolerance)
    small = read_picture(data, max_side=24)
    assert small.shape == (16, 24, 3)
    assert small[1, 1].tolist() == pytest.approx([250, 240, 10], abs=30)


@needs_avif
@pytest.mark.parametrize("orientation", [3, 6, 8])
def test_avif_orientation_comes_out_upright(orientation: int) -> None:
    stored = {3: scene()[::-1, ::-1], 6: np.rot90(scene(), 1), 8: np.rot90(scene(), -1)}
    exif = Image.Exif()
    exif[274] = orientation
    picture = Image.fromarray(np.ascontiguousarray(stored[orientation]))
    data = saved(picture, "AVIF", quality=95, exif=exif)
    assert_near(read_picture(data), scene(), 5)


@pytest.mark.parametrize(
    "exif", [b"", b"Exif\0\0", b"Exif\0\0II*\0\xff\xff\xff\xff", b"Exif\0\0MM\0*\0\0\0\x08\xff\xff"]
)
def test_broken_exif_does_not_cost_the_picture(exif: bytes) -> None:
    data = saved(Image.fromarray(scene()), "JPEG", exif=exif)
    assert read_picture(data).shape == (32, 48, 3)


def test_alpha_is_laid_on_white() -> None:
    rgba = np.dstack([scene(), np.tile(np.linspace(0, 255, 48).astype(np.uint8), (32, 1))])
    alpha = rgba[..., 3:].astype(int)
    expected = np.rint((rgba[..., :3] * alpha + 255 * (255 - alpha)) / 255)
    for kind, options in (("PNG", {}), ("TIFF", {}), ("WEBP", {"lossless": True, "exact": True})):
        pixels = read_picture(saved(Image.fromarray(rgba), kind, **options))
        assert_allclose(pixels.astype(int), expected, atol=1)


def test_grey_with_alpha_is_laid_on_white() -> None:
    picture = Image.new("LA", (4, 4), (0, 51))
    assert_array_equal(read_picture(saved(picture, "PNG")), np.full((4, 4, 3), 204))


def test_a_transparent_palette_colour_turns_white() -> None:
    picture = Image.frombytes("P", (3, 3), bytes([0, 1, 2]) * 3)
    picture.putpalette([10, 20, 30, 40, 50, 60, 70, 80, 90])
    row = [[10, 20, 30], [255, 255, 255], [70, 80, 90]]
    for kind in ("PNG", "GIF"):
        assert_array_equal(read_picture(saved(picture, kind, transparency=1)), [row] * 3)
    half = read_picture(saved(picture, "PNG", transparency=bytes([255, 0, 0])))
    assert_array_equal(half, [[row[0], row[1], [255, 255, 255]]] * 3)


def test_a_transparent_grey_or_colour_turns_white() -> None:
    grey = Image.frombytes("L", (3, 1), bytes([7, 8, 9]))
    assert read_picture(saved(grey, "PNG", transparency=8))[0, :, 0].tolist() == [7, 255, 9]
    colour = Image.frombytes("RGB", (2, 1), bytes([1, 2, 3, 4, 5, 6]))
    pixels = read_picture(saved(colour, "PNG", transparency=(1, 2, 3)))
    assert pixels[0].tolist() == [[255, 255, 255], [4, 5, 6]]


@pytest.mark.parametrize("kind", ["PNG", "BMP", "TIFF", "GIF"])
def test_one_bit_pictures_are_black_and_white(kind: str) -> None:
    black_and_white = (np.indices((8, 8)).sum(0) % 2).astype(bool)
    pixels = read_picture(saved(Image.fromarray(black_and_white), kind))
    assert_array_equal(pixels, np.repeat(black_and_white[..., None] * 255, 3, axis=2))


def test_palettes_and_greys_of_bmp_and_tiff_are_looked_up() -> None:
    palette = Image.fromarray(scene()).quantize(16)
    expected = np.asarray(palette.convert("RGB"))
    for kind in ("BMP", "TIFF", "PNG"):
        assert_array_equal(read_picture(saved(palette, kind)), expected)
    grey = Image.fromarray(scene()).convert("L")
    for kind in ("BMP", "TIFF", "PNG", "GIF"):
        pixels = read_picture(saved(grey, kind))
        assert_array_equal(pixels, np.repeat(np.asarray(grey)[..., None], 3, axis=2))


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_sixteen_bit_grey_is_scaled_and_not_clipped(kind: str) -> None:
    grey = np.linspace(0, 65_535, 256).astype(np.uint16).reshape(16, 16)
    pixels = read_picture(saved(Image.fromarray(grey), kind))
    assert_array_equal(pixels[..., 1], np.arange(256).reshape(16, 16))


def test_sixteen_bit_grey_of_either_byte_order_is_scaled() -> None:
    grey = (np.arange(64, dtype=np.uint16) * 1040).reshape(8, 8)
    for order, mode in (("<", "I;16"), (">", "I;16B")):
        picture = Image.frombytes(mode, (8, 8), grey.astype(order + "u2").tobytes())
        pixels = read_picture(saved(picture, "TIFF"))
        assert_allclose(pixels[..., 0], grey / 257, atol=0.51)


def test_a_transparent_sixteen_bit_grey_turns_white() -> None:
    header = struct.pack(">IIBBBBB", 2, 1, 16, 0, 0, 0, 0)
    rows = b"\0" + struct.pack(">HH", 1000, 40_000)
    data = png(
        (b"IHDR", header),
        (b"tRNS", struct.pack(">H", 1000)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    assert read_picture(data)[0, :, 0].tolist() == [255, 156]


def png(*chunks: tuple[bytes, bytes]) -> bytes:
    body = b"\x89PNG\r\n\x1a\n"
    for kind, data in chunks:
        check = zlib.crc32(kind + data)
        body += struct.pack(">I4s", len(data), kind) + data + struct.pack(">I", check)
    return body


def test_sixteen_bit_colour_is_scaled() -> None:
    header = struct.pack(">IIBBBBB", 2, 1, 16, 2, 0, 0, 0)
    rows = b"\0" + struct.pack(">6H", 0, 32_768, 65_535, 257 * 10, 257 * 100, 257 * 200)
    data = png((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    assert read_picture(data)[0].tolist() == [[0, 128, 255], [10, 100, 200]]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.0, 0.5, 1.0], [0, 128, 255]),
        ([0.0, 100.0, 255.0], [0, 100, 255]),
        ([0.0, 25_700.0, 65_535.0], [0, 100, 255]),
        ([-1.0, 0.0, 1.0], [0, 128, 255]),
        ([0.0, float("nan"), float("inf")], [0, 0, 255]),
    ],
)
def test_float_greys_are_scaled_by_the_usual_range_that_holds_them(
    values: list[float], expected: list[int]
) -> None:
    picture = Image.fromarray(np.array([values], dtype=np.float32))
    assert read_picture(saved(picture, "TIFF"))[0, :, 2].tolist() == expected


def test_integer_greys_of_32_bits_are_scaled() -> None:
    picture = Image.fromarray(np.array([[0, 500_000, 1_000_000]], dtype=np.int32))
    assert read_picture(saved(picture, "TIFF"))[0, :, 0].tolist() == [0, 128, 255]


def test_cmyk_jpeg_of_adobe_and_cmyk_tiff_give_the_colours_of_their_inks() -> None:
    inks = Image.new("CMYK", (16, 16), (255, 0, 0, 0))
    for kind, options in (("JPEG", {"quality": 100}), ("TIFF", {})):
        pixels = read_picture(saved(inks, kind, **options))
        assert_allclose(pixels.astype(int), np.full((16, 16, 3), (0, 255, 255)), atol=3)


def test_cmyk_jpeg_without_the_adobe_marker_is_not_inverted() -> None:
    """The marker says that inks are stored inverted; without it they are stored as they are."""
    data = saved(Image.new("CMYK", (16, 16), (255, 0, 0, 0)), "JPEG", quality=100)
    at = data.index(b"\xff\xee")
    bare = data[:at] + data[at + 2 + int.from_bytes(data[at + 2 : at + 4], "big") :]
    assert_allclose(read_picture(bare)[8, 8].astype(int), [0, 0, 0], atol=3)
    assert_allclose(read_picture(bare, max_side=8)[4, 4].astype(int), [0, 0, 0], atol=3)


def test_ycck_jpeg_gives_the_colours_of_its_inks() -> None:
    """Photoshop stores inks as luminance and chrominance and says so in the marker's last byte."""
    inks = Image.merge("CMYK", [Image.new("L", (16, 16), ink) for ink in (128, 128, 128, 0)])
    data = bytearray(saved(inks, "JPEG", quality=100))
    at = bytes(data).index(b"\xff\xee")
    assert data[at + 15] == 0
    data[at + 15] = 2
    # Middle chrominance is none at all, so Y = Cb = Cr = 127 stays a middle grey.
    assert_allclose(read_picture(bytes(data))[8, 8].astype(int), [127, 127, 127], atol=4)


def test_lab_and_ycbcr_tiffs_are_brought_to_rgb() -> None:
    red = Image.new("RGB", (8, 8), (200, 30, 40))
    ycbcr = read_picture(saved(red.convert("YCbCr"), "TIFF", compression="tiff_lzw"))
    assert_allclose(ycbcr[4, 4].astype(int), [200, 30, 40], atol=3)
    # Full lightness without colour is white; half of it a grey, which sRGB writes as about 119.
    for lightness, grey in ((255, 255), (128, 119), (0, 0)):
        lab = read_picture(saved(Image.new("LAB", (8, 8), (lightness, 128, 128)), "TIFF"))
        assert_allclose(lab[4, 4].astype(int), [grey] * 3, atol=3)


@pytest.mark.parametrize("size", [(500, 300), (301, 499), (1000, 7), (64, 64)])
@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_max_side_bounds_the_longer_side_and_keeps_the_shape(
    kind: str, size: tuple[int, int]
) -> None:
    pixels = read_picture(saved(Image.fromarray(scene(*size)), kind), max_side=64)
    height, width, _ = pixels.shape
    assert max(height, width) == 64
    assert min(height, width) == max(1, round(min(size) * 64 / max(size)))


def test_a_shrunk_picture_is_close_to_one_shrunk_by_the_mean_of_its_blocks() -> None:
    full = scene(640, 320)
    expected = full.reshape(32, 10, 64, 10, 3).mean((1, 3))
    picture = Image.fromarray(full)
    for source, kind, options in (
        (picture, "PNG", {}),
        (picture, "JPEG", {"quality": 95}),
        (picture.convert("RGBA"), "PNG", {}),
        (picture.convert("RGBA"), "WEBP", {"lossless": True}),
    ):
        pixels = read_picture(saved(source, kind, **options), max_side=64)
        assert_near(pixels, expected, 2)


def test_shrinking_mixes_no_colour_out_of_transparent_pixels() -> None:
    """A transparent pixel has a colour that nobody sees; it must not bleed into its neighbours."""
    rgba = np.zeros((100, 100, 4), dtype=np.uint8)
    rgba[:, ::2] = (255, 255, 255, 255)
    assert_near(
        read_picture(saved(Image.fromarray(rgba), "PNG"), max_side=20), np.full((20, 20, 3), 255), 0
    )


def test_small_pictures_are_never_enlarged() -> None:
    assert read_picture(saved(Image.fromarray(scene()), "PNG"), max_side=500).shape == (32, 48, 3)


def test_the_limit_on_pixels_is_inclusive() -> None:
    check_size((8000, 8000))
    with pytest.raises(Refused, match="64,000,000 allowed"):
        check_size((8001, 8000))


def test_a_side_below_one_is_wrong_use() -> None:
    with pytest.raises(BadInput):
        read_picture(b"", max_side=0)


def test_extensions_are_lower_case_with_a_dot() -> None:
    assert {".jpg", ".jpeg", ".png", ".webp", ".gif", ".tif", ".bmp", ".avif", ".heic"} <= set(
        SUPPORTED_EXTENSIONS
    )
    assert all(ext == ext.lower() and ext.startswith(".") for ext in SUPPORTED_EXTENSIONS)
