"""What an ONNX file says of weights beside it: only files of the encoder, in the same folder."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping
from pathlib import Path

from visterm.errors import BadInput

_KEY = b"\n\x08location\x12"
"""How an ONNX file, a protocol buffer, begins the name of a file that holds a tensor."""
_LONGEST = 4096


def check_weights(folder: Path, graph: str, files: Mapping[str, int]) -> None:
    """Refuse a graph whose weights lie anywhere but in the encoder's own files beside it."""
    beside = Path(graph).parent
    for name in set(locations(folder / graph)):
        if (beside / name).as_posix() not in files or Path(name).name != name:
            raise BadInput(
                f"{graph} wants its weights from {name!r}, which is no file of this encoder"
            )


def locations(path: Path) -> Iterator[str]:
    """The names of files that an ONNX file reads tensors from."""
    with open(path, "rb") as file:
        if not path.stat().st_size:
            raise BadInput(f"{path.name} is empty")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            at = data.find(_KEY)
            while at >= 0:
                size, begin = _varint(data, at + len(_KEY))
                if size <= _LONGEST:
                    yield data[begin : begin + size].decode("utf-8", "replace")
                at = data.find(_KEY, at + 1)


def _varint(data: mmap.mmap, at: int) -> tuple[int, int]:
    """A number of variable length, and where what follows begins."""
    value, shift = 0, 0
    while at < len(data) and shift < 35:
        byte = data[at]
        value, shift, at = value | (byte & 0x7F) << shift, shift + 7, at + 1
        if byte < 0x80:
            break
    return value, at


def add_output(path: Path, name: str) -> None:
    """Make a value inside of a graph one of its outputs.

    A protocol buffer that follows another is merged into it: what is appended is a model whose
    graph has nothing but this output, without its type, which onnxruntime infers.
    """
    with open(path, "ab") as file:
        file.write(_field(7, _field(12, _field(1, name.encode()))))  # model, graph, output: name


def _field(number: int, content: bytes) -> bytes:
    """A field of a protocol buffer; its length is one byte.

    >>> _field(1, b"tokens")
    b'\\n\\x06tokens'
    """
    if len(content) > 127:
        raise BadInput(f"a name of {len(content)} bytes is too long for an output")
    return bytes([number << 3 | 2, len(content)]) + content
