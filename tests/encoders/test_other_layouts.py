"""Encoders as immich and rclip keep them: tiny graphs with the real layouts, sizes and fillers."""

from __future__ import annotations

import gzip
import itertools
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.drawn_encoder import CONCEPTS, draw, table, tokenizer, write
from PIL import Image

from visterm import encoders
from visterm.encoders.adoption import clip_tokenizer, from_open_clip
from visterm.encoders.layout import RCLIP, from_transformers
from visterm.errors import BadInput, MissingExtra
from visterm.onnx_session import PROVIDERS, open_session
from visterm.pictures.sandbox import read_picture

HALF = {"mean": [0.5] * 3, "std": [0.5] * 3}
CLIP = {
    "mean": [0.48145466, 0.4578275, 0.40821073],
    "std": [0.26862954, 0.26130258, 0.27577711],
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VISTERM_ENCODERS", str(tmp_path / "installed"))
    return tmp_path / "installed"


def immich(folder: Path, *, pad: str = "[unknown]", **text: Any) -> Path:
    """The files as immich keeps them; ``text`` is more of open_clip's ``text_cfg``."""
    plain = write(folder.parent / f"{folder.name}-plain")
    for side, graph in (("visual", "vision_model"), ("textual", "text_model")):
        (folder / side).mkdir(parents=True)
        shutil.move(plain / f"onnx/{graph}.onnx", folder / side / "model.onnx")
    tokenizer().save(str(folder / "textual/tokenizer.json"))
    said = {
        "textual/tokenizer_config.json": {"pad_token": pad},
        "visual/preprocess_cfg.json": {
            "size": [32, 32],
            "mode": "RGB",
            "interpolation": "bicubic",
            "resize_mode": "shortest",
            "fill_color": 0,
            **HALF,
        },
        "config.json": {"embed_dim": 32, "text_cfg": {"context_length": 16} | text},
    }
    for name, values in said.items():
        (folder / name).write_text(json.dumps(values))
    return folder


def of_tokens(*ids: int) -> np.ndarray:
    row = table()[list(ids)].sum(axis=0)
    return np.asarray(row / np.linalg.norm(row))


def test_immichs_layout_gives_the_vectors_of_the_transformers_one(
    home: Path, tmp_path: Path
) -> None:
    encoders.add(str(write(tmp_path / "plain")))
    encoders.add(str(immich(tmp_path / "theirs")))
    (name,) = draw(tmp_path, 1)
    pixels = [read_picture(tmp_path / name)] * 2
    ours, theirs = (encoders.open_encoder(which) for which in ("plain", "theirs"))
    np.testing.assert_array_equal(ours.picture_rows(pixels), theirs.picture_rows(pixels))
    assert theirs.word_rows(CONCEPTS).shape == (len(CONCEPTS), 32)


@pytest.mark.parametrize(("pad", "filler"), [("[begin]", 1), ("[unknown]", 2), ("[pad]", 0)])
def test_texts_are_filled_up_to_open_clips_length_with_the_named_token(
    home: Path, tmp_path: Path, pad: str, filler: int
) -> None:
    encoders.add(str(immich(tmp_path / "tiny", pad=pad)))
    rows = encoders.open_encoder("tiny").text_rows(["red"])
    np.testing.assert_allclose(rows[0], of_tokens(1, 3, *[filler] * 14), atol=1e-6)


def test_texts_are_cleaned_where_open_clip_says_so(home: Path, tmp_path: Path) -> None:
    encoders.add(str(immich(tmp_path / "plain")))
    encoders.add(str(immich(tmp_path / "clean", tokenizer_kwargs={"clean": "canonicalize"})))
    text = "RED, blue_circle!"
    plain, clean = (encoders.open_encoder(which).text_rows([text]) for which in ("plain", "clean"))
    np.testing.assert_allclose(clean[0], of_tokens(1, 3, 5, 9, *[2] * 12), atol=1e-6)
    assert not np.allclose(plain, clean), "punctuation and joined words are unknown tokens"


def test_a_language_comes_before_every_text(home: Path, tmp_path: Path) -> None:
    """The code is a token by itself in NLLB's tokenizer; here "blue " stands for it."""
    encoders.add(str(immich(tmp_path / "tiny")), prefix="blue ")
    rows = encoders.open_encoder("tiny").text_rows(["red"])
    np.testing.assert_allclose(rows[0], of_tokens(1, 5, 3, *[2] * 13), atol=1e-6)
    english = encoders.add(str(tmp_path / "tiny"), name="nllb-clip-tiny")
    assert english.prefix == "eng_Latn"


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"size": 32, "resize_mode": "longest", **HALF}, "'longest'"),
        ({"size": 32, "interpolation": "random", **HALF}, "'random'"),
        ({"size": None, **HALF}, "whole numbers of pixels"),
        ({"size": 32}, "3 finite numbers"),
        ([], "one JSON object"),
    ],
)
def test_what_open_clip_says_otherwise_is_refused(
    home: Path, tmp_path: Path, said: object, problem: str
) -> None:
    source = immich(tmp_path / "tiny")
    (source / "visual/preprocess_cfg.json").write_text(json.dumps(said))
    with pytest.raises(BadInput, match=problem):
        encoders.add(str(source))


MERGES = "#version\na n\nan d</w>\nd o\ndo g</w>\nc a\nca t</w>\n' s</w>\n"


def slowly(text: str) -> list[int]:
    """Byte-pair encoding as OpenAI's CLIP does it, for texts in ASCII: the best merge first."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = [chr(byte) for byte in printable] + [chr(256 + n) for n in range(68)]
    merges = [tuple(line.split()) for line in MERGES.splitlines()[1:]]
    words = [*letters, *(letter + "</w>" for letter in letters), *map("".join, merges)]
    words += ["<start>", "<end>"]
    ids = [len(words) - 2]
    for part in re.findall(r"'s|'t|[a-z]+|[0-9]|[^\sa-z0-9]+", text.lower()):
        pieces = [*part[:-1], part[-1] + "</w>"]
        while True:
            pairs = [pair for pair in itertools.pairwise(pieces) if pair in merges]
            if not pairs:
                break
            best, joined = min(pairs, key=merges.index), list[str]()
            while pieces:
                take = 2 if tuple(pieces[:2]) == best else 1
                joined.append("".join(pieces[:take]))
                pieces = pieces[take:]
            pieces = joined
        ids += [words.index(piece) for piece in pieces]
    return [*ids, len(words) - 1]


@pytest.mark.parametrize("text", ["A  dog and 2 cats!", "dog's band", "", "x\ny... canada 10:30"])
def test_rclips_tokenizer_is_openais(tmp_path: Path, text: str) -> None:
    path = tmp_path / "merges.gz"
    path.write_bytes(gzip.compress(MERGES.encode()))
    assert clip_tokenizer(path).encode(text).ids == slowly(text)


def test_rclips_model_is_installed_from_its_folder(home: Path, tmp_path: Path) -> None:
    plain, source = write(tmp_path / "plain"), tmp_path / "rclip"
    (source / RCLIP).mkdir(parents=True)
    (source / "tokenizer").mkdir()
    shutil.copy(plain / "onnx/text_model.onnx", source / RCLIP / "textual.onnx")
    shutil.copy(plain / "onnx/vision_model.onnx", source / RCLIP / "visual.onnx")
    name = "bpe_simple_vocab_16e6.txt.gz"
    (source / "tokenizer" / name).write_bytes(b"not packed")
    with pytest.raises(BadInput, match="holds no merges"):
        encoders.add(str(source))
    (source / "tokenizer" / name).write_bytes(gzip.compress(MERGES.encode()))
    # Its graphs want 256 pixels and 49,408 words; the tiny ones have 32 and 22, and say so.
    with pytest.raises(BadInput, match="cannot be run"):
        encoders.add(str(source))
    colours, places = rclip_graphs(source / RCLIP)
    added = encoders.add(str(source), name="rclip")
    assert (added.dimensions, added.reads_texts) == (4, True)
    opened = encoders.open_encoder("rclip")
    ids = np.zeros(77)
    ids[: len(slowly("a dog"))] = slowly("a dog")
    expected = ids @ places
    np.testing.assert_allclose(
        opened.text_rows(["a DOG"])[0], expected / np.linalg.norm(expected), rtol=1e-4
    )
    pixels = np.random.default_rng(0).integers(0, 256, (300, 400, 3)).astype(np.uint8)
    square = Image.fromarray(pixels).resize((341, 256), Image.Resampling.BICUBIC)
    square = square.crop((42, 0, 298, 256))
    fed = (np.asarray(square) / 255 - CLIP["mean"]) / CLIP["std"]
    row = fed.mean(axis=(0, 1)) @ colours
    np.testing.assert_allclose(
        opened.picture_rows([pixels] * 2)[1], row / np.linalg.norm(row), rtol=1e-3
    )


def rclip_graphs(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Write graphs of rclip's shapes, for one picture and one text at a time; returns weights."""
    from onnx import TensorProto, helper, numpy_helper, save

    random = np.random.default_rng(5)
    colours, places = random.standard_normal((3, 4)), random.standard_normal((77, 4))
    mean = [
        helper.make_node("GlobalAveragePool", ["image"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["row"]),
    ]
    cast = [helper.make_node("Cast", ["text"], ["row"], to=TensorProto.FLOAT)]
    for name, nodes, weights, given in (
        ("visual", mean, colours, ("image", TensorProto.FLOAT, [1, 3, 256, 256])),
        ("textual", cast, places, ("text", TensorProto.INT64, [1, 77])),
    ):
        graph = helper.make_graph(
            [*nodes, helper.make_node("MatMul", ["row", "weights"], ["vector"])],
            name,
            [helper.make_tensor_value_info(*given)],
            [helper.make_tensor_value_info("vector", TensorProto.FLOAT, [1, 4])],
            [numpy_helper.from_array(weights.astype(np.float32), "weights")],
        )
        opset = [helper.make_opsetid("", 13)]
        save(helper.make_model(graph, opset_imports=opset, ir_version=8), folder / f"{name}.onnx")
    return colours, places


DOCUMENTED = {
    "CLIP_224": {"size": 224, **CLIP},
    "CLIP_256": {"size": 256, **CLIP},
    "SIGLIP_224": {"size": [224, 224], "resize_mode": "squash", **HALF},
    "SIGLIP_384": {"size": [384, 384], "resize_mode": "squash", **HALF},
}


def test_hashes_of_preparation_in_the_docs_are_those_of_the_code() -> None:
    page = (Path(__file__).parents[2] / "docs/how-to/encoders.md").read_text()
    rows = page.partition("| encoder | layout |")[2].partition("\n\n")[0]
    listed = set(re.findall(r"`([0-9a-f]{8})`", rows))
    ready = {
        name: from_transformers(from_open_clip(said)).digest for name, said in DOCUMENTED.items()
    }
    assert listed == set(ready.values()), ready
    preprocessor = {
        "size": {"shortest_edge": 224}, "crop_size": 224, "resample": 3,
        "image_mean": CLIP["mean"], "image_std": CLIP["std"],
    }  # fmt: skip
    assert from_transformers(preprocessor).digest == ready["CLIP_224"]


@pytest.mark.parametrize("provider", sorted(set(PROVIDERS) - {"cpu"}))
def test_a_provider_that_is_not_there_is_named(provider: str, tmp_path: Path) -> None:
    graph = write(tmp_path / "tiny") / "onnx/vision_model.onnx"
    with pytest.raises(MissingExtra, match=f"cannot compute on {provider} here"):
        open_session(str(graph), "tiny", provider)
