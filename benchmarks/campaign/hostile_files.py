"""Hostile files of every format that visterm reads: healthy ones of a kind, and how it is read.

Pictures and binary formats are damaged; formats of text are also made by their grammar, with what
stumbles programs in every place.
"""

from __future__ import annotations

import hashlib
import io
import json
import struct
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.campaign.mutations import Mutant, mutated, pictures, saved

_ODD = (
    *(
        "",
        "0",
        "-1",
        "a boat",
        "ä\u0301 海 🛶",
        "\u202egpj.exe",
        "\0",
        "\ud800",
        "<script>alert(1)",
    ),
    *("'; DROP TABLE captions; --", "../../etc/passwd", "=cmd|' /C calc'!A0", "%s%n", "x" * 70_000),
    *("\r\n\r\n", "NaN", "1e999", "[" * 3_000, "&amp;&#x0;", "]]>", '"', "\\", "\t,;\n", "\ufeff"),
)
_CALM = tuple(one for one in _ODD if not set(one) & set('<&"]\0\ud800'))
"""What may stand anywhere in XML."""
Maker = Callable[[int, np.random.Generator], Mutant]


@dataclass(frozen=True)
class Kind:
    """A kind of files: how one is made by number and seed, and what its name ends with."""

    make: Maker
    ending: str
    share: int
    """How many files, beside those of other kinds."""


def kinds(seed: int) -> dict[str, Kind]:
    """All kinds of files, by name."""
    rng = np.random.default_rng(seed)
    every = pictures(rng)
    named: dict[str, Kind] = {}
    for name in ("jpeg", "png", "webp", "gif", "tiff", "bmp", "avif", "heic"):
        healthy = [one for one in every if one[0] == name]
        if healthy:
            named[name] = Kind(_damaged(healthy), f".{name[:4]}", 6)
    tables = [b"path,text\na.jpg,a boat\n", b'"a.jpg";"a ""red"" boat"\n', b"a.jpg\ta boat\n"]
    lines = [b'{"path": "a.jpg", "text": ["a boat", "the sea"]}\n', b'["a.jpg", "a boat"]\n']
    return named | {
        "xmp": Kind(_xmp, ".xmp", 8),
        "iptc": Kind(_damaged([("iptc", _iptc(rng))]), ".jpeg", 5),
        "exif": Kind(_damaged([("exif", _exif())]), ".jpeg", 5),
        "txt": Kind(_damaged([("txt", "a boat\nthe sea".encode("utf-16"))]), ".txt", 2),
        "csv": Kind(_text(tables), ".csv", 5),
        "jsonl": Kind(_text(lines), ".jsonl", 5),
        "parquet": Kind(_damaged(_parquet()), ".parquet", 4),
        "safetensors": Kind(_stored(_models()), ".safetensors", 5),
        "onnx": Kind(_damaged(_network()), ".onnx", 3),
        "starter": Kind(_stored(_starter()), ".starter", 3),
        "column": Kind(_column, ".column", 3),
        "checkpoint": Kind(_damaged(_checkpoint()), ".npz", 3),
        "tar": Kind(_damaged(_shards(rng)), ".tar", 5),
        "query": Kind(_query, ".query", 3),
    }


def _damaged(healthy: list[Mutant]) -> Maker:
    return lambda number, rng: mutated(healthy, number, rng)


def _text(lines: list[bytes]) -> Maker:
    """Text with odd things in odd places, or damaged as any file may be."""

    def make(number: int, rng: np.random.Generator) -> Mutant:
        line = lines[number % len(lines)]
        if number % 3 == 0:
            return mutated([("text", line)], number, rng)
        words = line.decode().split("a boat" if number % 3 == 1 else ",")
        odd = "".join(word + _odd(rng) for word in words) * int(rng.integers(1, 5))
        return "grammar", odd.encode("utf-8", "surrogatepass")

    return make


def _odd(rng: np.random.Generator, some: Sequence[str] = _ODD) -> str:
    return some[int(rng.integers(len(some)))]


def _xmp(number: int, rng: np.random.Generator) -> Mutant:
    """RDF of any depth, with entities, namespaces, languages and bags; most are not closed.

    Every third is well formed, and begins with a keyword: what reads fields meets it, too.
    """
    is_whole = number % 3 == 1
    pieces = _CALM if is_whole else _ODD
    names = ("dc:subject", "dc:title", "dc:description", "rdf:Bag", "rdf:Alt", "rdf:li", "x:y")
    rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    open_ones, parts = [], [f'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="{rdf}" ']
    parts.append('xmlns:dc="http://purl.org/dc/elements/1.1/"><rdf:Description rdf:about="">')
    if is_whole:
        parts += ["<dc:subject><rdf:Bag><rdf:li>", _odd(rng, pieces)[:200]]
        parts.append("</rdf:li></rdf:Bag></dc:subject>")
    elif rng.random() < 0.1:
        parts.insert(0, '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>')
    for _ in range(int(rng.integers(1, 60))):
        choice = rng.random()
        if choice < 0.5:
            open_ones.append(names[int(rng.integers(len(names)))])
            parts.append(f'<{open_ones[-1]} xml:lang="{_odd(rng, pieces)[:20]}">')
        elif choice < 0.8 and open_ones:
            parts.append(f"</{open_ones.pop()}>")
        else:
            parts.append(_odd(rng, pieces)[:200])
    if is_whole or rng.random() < 0.7:
        parts += [f"</{name}>" for name in reversed(open_ones)]
        parts.append("</rdf:Description></rdf:RDF></x:xmpmeta>")
    data = "".join(parts).encode(("utf-8", "utf-8", "utf-16")[number % 3], "surrogatepass")
    return ("grammar", data) if number % 4 else mutated([("xmp", data)], number, rng)


def _query(number: int, rng: np.random.Generator) -> Mutant:
    pieces = ("sky", "-", "tree:2", "in:", '"', "sea:-1e9", "(", "OR", ":", "snow*", "like:", "--")
    chosen = [*pieces, *_ODD]
    some = (chosen[int(rng.integers(len(chosen)))] for _ in range(int(rng.integers(1, 12))))
    return "grammar", " ".join(some).encode("utf-8", "surrogatepass")


def _jpeg_with(marker: int, payload: bytes) -> bytes:
    from PIL import Image

    healthy = saved(Image.new("RGB", (8, 8)), "JPEG", {})
    segment = bytes([0xFF, marker]) + (len(payload) + 2).to_bytes(2, "big") + payload
    return healthy[:2] + segment + healthy[2:]


def _iptc(rng: np.random.Generator) -> bytes:
    fields = b"".join(
        b"\x1c\x02" + bytes([number]) + len(text).to_bytes(2, "big") + text
        for number, text in ((25, b"boat"), (25, b"sea"), (120, b"a boat on the sea"), (5, b"t"))
    )
    block = b"8BIM\x04\x04\0\0" + len(fields).to_bytes(4, "big") + fields
    return _jpeg_with(0xED, b"Photoshop 3.0\0" + block)


def _exif() -> bytes:
    from PIL import Image

    about = Image.Exif()
    about[270], about[0x9C9F] = "a boat", "sea;snow".encode("utf-16-le")
    return saved(Image.new("RGB", (8, 8)), "JPEG", {"exif": about})


def _parquet() -> list[Mutant]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        return [("parquet", b"PAR1 PAR1")]
    file = io.BytesIO()
    table = pyarrow.table({"path": ["a.jpg", "b.jpg"] * 50, "caption": ["a boat", None] * 50})
    parquet.write_table(table, file)
    return [("parquet", file.getvalue())]


def _models() -> list[Mutant]:
    folder = Path(__file__).parents[2] / "tests" / "models" / "samples"
    every = sorted(folder.glob("*.safetensors"))
    return [(path.stem, path.read_bytes()) for path in every if path.stat().st_size < 5_000]


def _network() -> list[Mutant]:
    try:
        from onnx import TensorProto, helper
    except ImportError:
        return [("onnx", b"\x08\x07")]
    picture = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])
    vector = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 192])
    flat = helper.make_node("Flatten", ["x"], ["y"])
    model = helper.make_model(
        helper.make_graph([flat], "flat", [picture], [vector]),
        opset_imports=[helper.make_opsetid("", 13)],
        ir_version=8,
    )
    return [("onnx", model.SerializeToString())]


def _starter() -> list[Mutant]:
    """One of three words; the real one is large, and damaged in the same ways."""
    from safetensors.numpy import save

    about = {
        "format": 1,
        "words": ["a", "b", "c"],
        "keys": ["a", "b", "c"],
        "extractor": "cnn-1",
        "facts": {},
    }
    arrays: dict[str, Any] = {
        "codes": np.zeros((3, 8), np.int8),
        "scales": np.ones(3, np.float32),
        "idf": np.ones(3, np.float32),
    }
    return [("starter", save(arrays, metadata={"visterm": json.dumps(about)}))]


def _stored(healthy: list[Mutant]) -> Maker:
    """Arrays with a header in JSON: damaged, or sound with something odd in the header."""
    from safetensors import safe_open
    from safetensors.numpy import save

    def make(number: int, rng: np.random.Generator) -> Mutant:
        if number % 2:
            return mutated(healthy, number, rng)
        with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
            file.write(healthy[number % len(healthy)][1])
            file.flush()
            with safe_open(file.name, framework="numpy") as stored:
                about = json.loads(stored.metadata()["visterm"])
                arrays = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
        for name in list(arrays):
            if rng.random() < 0.2:
                arrays[name] = arrays[name].ravel()[: int(rng.integers(1, 9))]
        header = {"visterm": json.dumps(_with_odd(about, rng))}
        return "grammar", save(arrays, metadata=header)

    return make


def _with_odd(value: Any, rng: np.random.Generator) -> Any:
    """The same JSON with one place of it taken by something that does not belong there."""
    if not isinstance(value, dict | list) or not value or rng.random() < 0.2:
        odd: tuple[Any, ...] = (None, -1, 1e308, "x", [], {}, [[]], True, 2**70, {"format": 1})
        return odd[int(rng.integers(len(odd)))]
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = keys[int(rng.integers(len(keys)))]
    copy = value.copy()
    copy[key] = _with_odd(value[key], rng)
    return copy


def _column(number: int, rng: np.random.Generator) -> Mutant:
    """A word's column: as it was written, of odd length, or damaged as any file may be."""
    codes = rng.bytes(2 * int(rng.integers(1, 200)))
    odd = (0, 1, len(codes), 1 << 60, (1 << 64) - 1)
    said = odd[int(rng.integers(len(odd)))] if number % 3 == 2 else len(codes) // 2
    header = struct.pack("<8sQ32s16x", b"vtcol1", said, hashlib.sha256(codes).digest())
    whole = "column", header + codes
    return mutated([whole], number, rng) if number % 3 == 0 else whole


def _checkpoint() -> list[Mutant]:
    file = io.BytesIO()
    about = json.dumps({"key": "a", "runs": [[0.5, {"C": 0.1}]]})
    np.savez(file, allow_pickle=False, about=np.array(about), weights_=np.eye(3))
    squeezed = io.BytesIO()
    np.savez_compressed(squeezed, allow_pickle=False, about=np.array(about), weights_=np.eye(9))
    return [("checkpoint", file.getvalue()), ("checkpoint", squeezed.getvalue())]


def _shards(rng: np.random.Generator) -> list[Mutant]:
    found = []
    for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode="w", format=form) as tar:
            for name in ("a/0001.jpg", "a/0001.txt", "../x.jpg", "ä" * 60 + "/1.png", ".h/1.jpg"):
                about = tarfile.TarInfo(name)
                about.size = 40
                tar.addfile(about, io.BytesIO(rng.bytes(40)))
            link = tarfile.TarInfo("link.jpg")
            link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
            tar.addfile(link)
        found.append(("tar", file.getvalue()))
    return found
