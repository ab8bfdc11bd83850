"""Installing encoders: what works is checked and hashed, what does not leaves nothing behind."""

from __future__ import annotations

import io
import json
import os
import shutil
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from benchmarks.drawn_encoder import CONCEPTS, WIDTH, draw, write

from visterm import encoders
from visterm.encoders import layout as layouts
from visterm.encoders import sources
from visterm.errors import BadInput
from visterm.features import parse_features
from visterm.pictures import read_picture


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VISTERM_ENCODERS", str(tmp_path / "installed"))
    return tmp_path / "installed"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("files") / "tiny")


def there(home: Path) -> list[str]:
    return sorted(path.name for path in home.iterdir()) if home.exists() else []


@pytest.mark.parametrize(
    ("layout", "precision"),
    [("transformers", "fp16"), ("open_clip", "fp32"), ("transformers", "int8")],
)
def test_any_known_layout_and_precision_gives_pictures_and_words_in_one_space(
    home: Path, tmp_path: Path, layout: str, precision: str
) -> None:
    source = write(tmp_path / "tiny", layout=layout, precision=precision)
    found = encoders.add(str(source))
    assert (found.name, found.dimensions, found.precision) == ("tiny", WIDTH, precision)
    drawn = draw(tmp_path / "pictures", 30)
    rows = (
        parse_features("encoder(tiny)").fit().transform([tmp_path / "pictures" / n for n in drawn])
    )
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    best = (rows @ encoders.open_encoder("tiny").word_rows(CONCEPTS).T)[:, :6].argmax(axis=1)
    assert [CONCEPTS[one] for one in best] == [colour for colour, _ in drawn.values()]


def test_what_is_installed_is_listed_and_removed(home: Path, files: Path) -> None:
    found = encoders.add(str(files), name="mine", prompts=["a drawing of {}"])
    assert [one.name for one in encoders.installed()] == ["mine"]
    assert found.prompts == ("a drawing of {}",)
    assert set(found.files) == {
        *("onnx/vision_model.onnx", "onnx/text_model.onnx", "tokenizer.json"),
        *("preprocessor_config.json", "config.json"),
    }
    encoders.remove("mine")
    assert there(home) == []
    with pytest.raises(BadInput, match="no encoder called 'mine'"):
        encoders.open_encoder("mine")


def test_only_files_of_the_encoder_are_taken(home: Path, files: Path, tmp_path: Path) -> None:
    more = tmp_path / "more"
    shutil.copytree(files, more)
    (more / "run.py").write_text("raise SystemExit")
    (more / "pytorch_model.bin").write_bytes(b"pickled")
    encoders.add(str(more))
    kept = {path.name for path in (home / "more").rglob("*") if path.is_file()}
    assert not kept & {"run.py", "pytorch_model.bin"}


def test_an_encoder_that_changed_since_pictures_were_described_is_refused(
    home: Path, files: Path, tmp_path: Path
) -> None:
    encoders.add(str(files))
    extractor = parse_features("encoder(tiny)").fit()
    before = extractor.key
    encoders.add(str(write(tmp_path / "other", precision="fp16")), name="tiny")
    with pytest.raises(BadInput, match="another one now"):
        extractor.rows([np.zeros((8, 8, 3), np.uint8)])
    assert parse_features("encoder(tiny)").key != before


def test_an_encoder_answers_although_whoever_replaced_it_was_killed(
    home: Path, files: Path
) -> None:
    before = encoders.add(str(files), name="mine")
    (home / "mine").rename(home / ".before-mine")
    assert encoders.installed() == [before]
    assert encoders.open_encoder("mine").text_rows(["red"]).shape == (1, WIDTH)
    again = encoders.add(str(files), name="mine", prompts=["a drawing of {}"])
    assert encoders.installed() == [again]
    assert there(home) == ["mine"]
    shutil.copytree(home / "mine", home / ".before-mine")
    encoders.remove("mine")
    assert there(home) == []


def broken(files: Path, folder: Path, name: str, content: bytes | None) -> Path:
    shutil.copytree(files, folder)
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    return folder


VISION = "onnx/vision_model.onnx"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (VISION, None, "vision graph is missing"),
        ("tokenizer.json", None, "tokenizer is missing"),
        ("preprocessor_config.json", None, "nothing says how pictures are made ready"),
        ("preprocessor_config.json", b"{", "cannot be read as JSON"),
        ("preprocessor_config.json", b'{"image_mean": [0], "size": 8}', "three numbers"),
        ("preprocessor_config.json", b'{"image_mean": [0,0,0], "size": 9999999}', "up to 4096"),
        ("tokenizer.json", b'{"model": {}}', "is no tokenizer"),
        (VISION, b"", "is empty"),
        (VISION, b"\x00not a graph" * 9, "cannot be opened as an ONNX model"),
        (VISION, b"\n\x08location\x12\x0b/etc/passwd", "weights from '/etc/passwd'"),
        (VISION, b"\n\x08location\x12\x0e../weights.bin", "weights from '../weights.bin'"),
    ],
)
def test_broken_and_hostile_files_are_refused_in_a_line_and_leave_nothing(
    home: Path, files: Path, tmp_path: Path, name: str, content: bytes | None, said: str
) -> None:
    with pytest.raises(BadInput, match=said) as refused:
        encoders.add(str(broken(files, tmp_path / "bad", name, content)))
    assert "\n" not in str(refused.value)
    assert there(home) == []


def test_sides_that_do_not_belong_together_are_refused(home: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="do not belong together"):
        encoders.add(str(write(tmp_path / "odd", width=WIDTH - 1)))
    assert there(home) == []


def test_what_fails_leaves_the_encoder_of_the_same_name_as_it_was(
    home: Path, files: Path, tmp_path: Path
) -> None:
    kept = encoders.add(str(files))
    bad = broken(files, tmp_path / "tiny", "tokenizer.json", b"{}")
    with pytest.raises(BadInput):
        encoders.add(str(bad))
    assert [one.digest for one in encoders.installed()] == [kept.digest]


def test_what_a_killed_installation_left_goes_with_the_next_one(home: Path, files: Path) -> None:
    left, under_way = home / ".part-killed", home / ".part-now"
    for one in (left, under_way):
        (one / "files").mkdir(parents=True)
    os.utime(left, (0, 0))
    encoders.add(str(files))
    assert there(home) == [".part-now", "tiny"]


def test_an_encoder_larger_than_allowed_is_refused(
    home: Path, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISTERM_ENCODER_BYTES", "4000")
    with pytest.raises(BadInput, match="an encoder at most"):
        encoders.add(str(files))
    assert there(home) == []


def test_an_archive_is_read_wherever_its_folder_is_and_nothing_leaves_it(
    home: Path, files: Path, tmp_path: Path
) -> None:
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as packed:
        packed.writestr("../../outside.txt", "no")
        for path in files.rglob("*"):
            packed.write(path, f"deep/inside/{path.relative_to(files).as_posix()}")
    assert encoders.add(str(tmp_path / "packed.zip")).name == "packed"
    assert there(home) == ["packed"]
    assert not list(tmp_path.parent.rglob("outside.txt"))


def test_links_and_bombs_in_archives_are_refused(
    home: Path, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    linked = tmp_path / "linked.tar.gz"
    with tarfile.open(linked, "w:gz") as tar:
        for path in files.rglob("*.*"):
            tar.add(path, path.relative_to(files).as_posix())
        link = tarfile.TarInfo("tokenizer.json")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.members[:] = [m for m in tar.members if m.name != "tokenizer.json"]
        tar.addfile(link)
    monkeypatch.setattr(layouts, "MOST_BYTES", 1 << 20)
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in files.rglob("*.*"):
            packed.write(path, path.relative_to(files).as_posix())
        packed.writestr("onnx/vision_model.onnx_data", bytes(2 << 20))
    with pytest.raises(BadInput, match="at most"):
        encoders.add(str(bomb))
    (tmp_path / "cut.tar.gz").write_bytes(linked.read_bytes()[:500])
    with pytest.raises(BadInput, match="cannot be read"):
        encoders.add(str(tmp_path / "cut.tar.gz"))
    assert there(home) == []


@pytest.mark.parametrize("at", range(40, 400, 60))
def test_a_byte_that_changed_in_an_archive_is_one_clear_line(
    home: Path, files: Path, tmp_path: Path, at: int
) -> None:
    archive = tmp_path / "damaged.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(files.rglob("*.*"), key=lambda one: one.suffix != ".onnx"):
            packed.write(path, path.relative_to(files).as_posix())
    content = bytearray(archive.read_bytes())
    content[at] ^= 0xFF
    archive.write_bytes(content)
    with pytest.raises(BadInput):
        encoders.add(str(archive))
    assert there(home) == []


def test_preprocessing_follows_the_file_to_the_pixel(files: Path, tmp_path: Path) -> None:
    from PIL import Image

    from visterm.encoders.preprocessing import from_open_clip, from_transformers

    (name,) = draw(tmp_path, 1)
    pixels, picture = read_picture(tmp_path / name), Image.open(tmp_path / name)
    said = json.loads((files / "preprocessor_config.json").read_text())
    ours = from_transformers({**said, "size": {"shortest_edge": 40}})
    slowly = picture.resize((60, 40), Image.Resampling.BICUBIC).crop((14, 4, 46, 36))
    assert (ours.square(pixels) == np.asarray(slowly)).all()
    fed = (np.asarray(slowly) / 255 - 0.5) / 0.5
    np.testing.assert_allclose(
        ours.fed(np.asarray(slowly)[None])[0], fed.transpose(2, 0, 1), atol=1e-6
    )
    plain = {"size": 20, "mean": [0, 0, 0], "std": [1, 1, 1], "interpolation": "bilinear"}
    squashed = from_open_clip({**plain, "resize_mode": "squash"}).square(pixels)
    assert (squashed == np.asarray(picture.resize((20, 20), Image.Resampling.BILINEAR))).all()
    padded = from_open_clip({**plain, "resize_mode": "longest", "fill_color": 7}).square(pixels)
    assert (padded[:3] == 7).all()
    assert (padded[3:16] == np.asarray(picture.resize((20, 13), Image.Resampling.BILINEAR))).all()


def test_a_stream_that_brings_more_than_it_said_is_cut() -> None:
    with pytest.raises(BadInput, match="larger"):
        sources._copy(io.BytesIO(bytes(100)), io.BytesIO(), most=10)
