"""Installing encoders: what works is checked and hashed, what does not leaves nothing behind."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.drawn_encoder import CONCEPTS, WIDTH, draw, table, write

from visterm import encoders
from visterm.errors import BadInput
from visterm.features import parse_features
from visterm.pictures.sandbox import read_picture


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VISTERM_ENCODERS", str(tmp_path / "installed"))
    return tmp_path / "installed"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("files") / "tiny")


def there(home: Path) -> list[str]:
    return sorted(path.name for path in home.iterdir()) if home.exists() else []


@pytest.mark.parametrize("precision", ["fp16", "int8"])
def test_any_known_precision_gives_pictures_and_words_in_one_space(
    home: Path, tmp_path: Path, precision: str
) -> None:
    source = write(tmp_path / "tiny", precision=precision)
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
    kept = {path.name for path in home.rglob("*") if path.is_file()}
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


@pytest.mark.parametrize("moment", ["before the manifest is named", "after it"])
def test_a_kill_while_an_encoder_is_replaced_leaves_the_old_one_or_the_new_one(
    home: Path, files: Path, tmp_path: Path, moment: str
) -> None:
    before = encoders.add(str(files), name="mine")
    other = write(tmp_path / "other", precision="fp16")
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(other), moment],
        env=os.environ | {"VISTERM_ENCODERS": str(home)},
        check=False,
    )
    assert killed.returncode == -9
    (found,) = encoders.installed()
    assert (found == before) == (moment == "before the manifest is named")
    assert encoders.open_encoder("mine").text_rows(["red"]).shape == (1, WIDTH)
    for left in home.iterdir():
        os.utime(left, (0, 0))
    again = encoders.add(str(files), name="mine", prompts=["a drawing of {}"])
    assert encoders.installed() == [again]
    assert there(home) == [again.folder, "mine.json"]


KILLED = """
import os, sys
from visterm import encoders
rename = os.replace
def killing(source, target):
    if sys.argv[2] == "after it":
        rename(source, target)
    os.kill(os.getpid(), 9)
os.replace = killing
encoders.add(sys.argv[1], name="mine")
"""


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
        ("preprocessor_config.json", b'{"image_mean": [0], "size": 8}', "3 finite numbers"),
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
    left, under_way = home / "files-killed", home / "files-now"
    for folder in (left, under_way):
        (folder / "onnx").mkdir(parents=True)
    os.utime(left, (0, 0))
    added = encoders.add(str(files))
    assert there(home) == sorted([added.folder, "files-now", "tiny.json"])


def test_preprocessing_follows_the_file_to_the_pixel(files: Path, tmp_path: Path) -> None:
    from PIL import Image

    from visterm.encoders.layout import from_transformers

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
    whole = {**said, "size": {"height": 20, "width": 20}, "do_center_crop": False, "resample": 2}
    squashed = from_transformers(whole).square(pixels)
    assert (squashed == np.asarray(picture.resize((20, 20), Image.Resampling.BILINEAR))).all()


@pytest.mark.parametrize(
    ("said", "filler"),
    [
        ({"pad_token": "[unknown]"}, 2),
        ({"pad_token": {"content": "[unknown]"}}, 2),
        ({}, 1),
    ],
)
def test_texts_are_filled_up_with_the_token_that_the_tokenizer_names(
    home: Path, tmp_path: Path, said: dict[str, object], filler: int
) -> None:
    source = write(tmp_path / "tiny")
    about = {"model_type": "siglip", "text_config": {"max_position_embeddings": 16}}
    (source / "config.json").write_text(json.dumps(about))
    (source / "tokenizer_config.json").write_text(json.dumps(said))
    encoders.add(str(source))
    rows = encoders.open_encoder("tiny").text_rows(["red"])
    ids = [1, 3, *[filler] * 14]
    slowly = table()[ids].sum(axis=0)
    np.testing.assert_allclose(rows[0], slowly / np.linalg.norm(slowly), atol=1e-6)
