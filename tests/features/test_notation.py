"""One notation for features and models, and keys that say which vectors can be compared."""

from __future__ import annotations

import re

import pytest

from visterm.errors import BadInput
from visterm.features import CNN, Blobs, Blocks, Combined, OnnxEmbedder, Sift, parse_features
from visterm.features.notation import parse_named, split_joined


def test_names_make_extractors() -> None:
    assert type(parse_features("cnn")) is CNN
    sift = parse_features("sift", n_jobs=3, random_state=7)
    assert isinstance(sift, Sift)
    assert (sift.n_jobs, sift.random_state) == (3, 7)
    combined = parse_features("blocks + cnn+blobs", n_jobs=2)
    assert isinstance(combined, Combined)
    assert [type(part) for part in combined.parts] == [Blocks, CNN, Blobs]
    assert (combined.n_jobs, combined.parts[1].n_jobs) == (2, 2)


def test_files_of_embedders_may_hold_plus_signs() -> None:
    combined = parse_features("blocks+onnx:a+b.onnx+sift")
    assert isinstance(combined, Combined)
    blocks, embedder, sift = combined.parts
    assert isinstance(embedder, OnnxEmbedder)
    assert embedder.path == "a+b.onnx"
    assert (blocks.name, sift.name) == ("blocks", "sift")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (
            "blurbs",
            "no features called 'blurbs'; there are blocks, block-counts, visterm-counts",
        ),
        ("", "no features called ''"),
        ("blocks+", "no features called ''"),
        ("cnn+cnn", "the same features twice"),
        ("onnx", "onnx needs a file: onnx:model.onnx"),
        ("sift:4000", "only onnx takes a file"),
        ("cnn(colour=3)", "cnn has no parameter 'colour'; it has crop, network, normalise"),
        ("cnn(output=grid)", "cnn has no parameter 'output'"),
    ],
)
def test_names_that_mean_nothing_are_refused(text: str, match: str) -> None:
    with pytest.raises(BadInput, match=match):
        parse_features(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cnn(288)", "in brackets stand parameters with values"),
        ("cnn(size=__import__('os'))", "in brackets stand parameters with values"),
        ("cnn(size=288", "no name with parameters"),
        ("cnn(size=1, size=2)", "stands there once"),
        ("cnn(**{})", "by its name"),
    ],
)
def test_broken_notation_is_refused_and_never_run(text: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        parse_named(text)


def test_plus_signs_join_parts_only_outside_brackets_and_file_names() -> None:
    assert split_joined("a(x=1e+3)+b") == ["a(x=1e+3)", "b"]
    assert split_joined("onnx:my+net.onnx+b") == ["onnx:my+net.onnx", "b"]


def test_parameters_reach_the_extractor() -> None:
    assert parse_features("cnn(size=288, crop=squash)").get_params()["crop"] == "squash"
    assert parse_features("dense-sift(sides=(16, 32))").get_params()["sides"] == (16, 32)


def test_weights_reach_the_combination() -> None:
    weighted = parse_features("2*cnn+blocks")
    assert isinstance(weighted, Combined)
    assert weighted.weights == (2.0, 1.0)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("cnn", "cnn-1"),
        ("cnn(size=224)", "cnn-1"),
        ("cnn(size=288)", "cnn-1(size=288)"),
        ("cnn(crop=squash, size=288)", "cnn-1(crop=squash,size=288)"),
        ("cnn(size=288, crop=squash)", "cnn-1(crop=squash,size=288)"),
        ("blocks+cnn", "blocks-1+cnn-1"),
        ("blocks+2*cnn(size=96)", "(blocks-1+cnn-1(size=96))(weights=(1.0,2.0))"),
        ("blocks(channels=((32,joint,50),))", "blocks-1(channels=((32,joint,50),))"),
    ],
)
def test_a_key_names_version_and_parameters_that_are_not_the_usual_ones(
    text: str, key: str
) -> None:
    assert parse_features(text, n_jobs=3).key == key


def test_long_parameters_and_files_are_hashed_into_a_key_that_names_a_folder() -> None:
    many = ", ".join(f"(32, joint, {size})" for size in range(10, 90))
    one, other = (parse_features(f"blocks(channels=({many}), colours={n})") for n in (8, 9))
    assert one.key != other.key
    for key in (one.key, parse_features("onnx:my/net.onnx").key):
        assert re.fullmatch(r"\w+-1-[0-9a-f]+", key)
