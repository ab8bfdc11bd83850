"""Reading an old-format torch checkpoint without torch, and without trusting it.

Such a file is five pickles (a magic number, a version, the machine's word sizes, the named
tensors, the order of the storages) followed by the storages as raw bytes.
"""

from __future__ import annotations

import io
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from visterm.errors import BadInput
from visterm.features.cnn.opcodes import Storage, Tensor, UnsafePickle, follow

MAGIC = 0x1950A86A20F9469CFC6C
VERSION = 1001
LARGEST_FILE = 1 << 30


def read_checkpoint(path: str | Path) -> dict[str, NDArray]:
    """Return the named tensors of an old-format torch checkpoint as NumPy arrays.

    Nothing in the file is ever called or imported, and no array is larger than the bytes that
    stand for it.

    Parameters
    ----------
    path
        A file written by ``torch.save(state_dict)`` of torch before 1.6, or by a later one with
        ``_use_new_zipfile_serialization=False``.

    Raises
    ------
    BadInput
        When the file holds anything but named tensors, or its sizes do not agree.
    """
    path = Path(path)
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise UnsafePickle(f"it is larger than {LARGEST_FILE >> 20} MB")
        return tensors_of(path.read_bytes())
    except OSError as error:
        raise BadInput(f"cannot read the checkpoint {path}: {error.strerror or error}") from error
    except UnsafePickle as refusal:
        raise BadInput(
            f"{path} is not a checkpoint that visterm will read: {refusal}; "
            "install the package it came with again"
        ) from None


def tensors_of(data: bytes) -> dict[str, NDArray]:
    """Return the named tensors in the bytes of a checkpoint.

    Examples
    --------
    >>> tensors_of(b"PK, or any other bytes")
    Traceback (most recent call last):
    visterm.features.cnn.opcodes.UnsafePickle: its description is malformed (ValueError)
    """
    file = io.BytesIO(data)
    if follow(file) != MAGIC or follow(file) != VERSION:
        raise UnsafePickle("it does not begin like an old-format torch checkpoint")
    machine = follow(file)
    if not isinstance(machine, dict) or machine.get("little_endian") is not True:
        raise UnsafePickle("its numbers are not little-endian")
    tensors, keys = follow(file), follow(file)
    if not isinstance(tensors, dict):
        raise UnsafePickle("it is not a dictionary of tensors")
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise UnsafePickle(f"its entry {name!r:.60} is not a tensor")
    storages = _read_storages(data, file.tell(), keys, tensors)
    return {name: _lay_out(name, tensor, storages) for name, tensor in tensors.items()}


def _read_storages(
    data: bytes, at: int, keys: object, tensors: dict[str, Tensor]
) -> dict[str, NDArray]:
    """Cut the bytes after the pickles into arrays, each as long as the pickles promised."""
    promised: dict[str, Storage] = {}
    for tensor in tensors.values():
        if promised.setdefault(tensor.storage.key, tensor.storage) != tensor.storage:
            raise UnsafePickle(f"its storage {tensor.storage.key!r:.60} is described in two ways")
    if not isinstance(keys, list) or any(type(key) is not str for key in keys):
        raise UnsafePickle("the list of its storages is not a list of names")
    if sorted(keys) != sorted(promised):
        raise UnsafePickle("the list of its storages does not match its tensors")
    storages = {}
    for key in keys:
        storage = promised[key]
        length = int.from_bytes(data[at : at + 8], "little", signed=True)
        at += 8
        end = at + storage.length * np.dtype(storage.dtype).itemsize
        if length != storage.length or end > len(data):
            raise UnsafePickle(f"its storage {key!r:.60} is not as long as promised")
        storages[key] = np.frombuffer(memoryview(data)[at:end], dtype=storage.dtype)
        at = end
    if at != len(data):
        raise UnsafePickle("bytes follow its last storage")
    return storages


def _lay_out(name: str, tensor: Tensor, storages: dict[str, NDArray]) -> NDArray:
    """Copy a tensor into C order.

    Its axes may lie in any order in the file, but its numbers must fill their span exactly once:
    a stride of zero would let a few bytes stand for more memory than there is.
    """
    storage, shape, strides = storages[tensor.storage.key], tensor.shape, tensor.strides
    inwards = sorted(range(len(shape)), key=lambda axis: strides[axis], reverse=True)
    reach = 1
    for axis in reversed(inwards):
        if shape[axis] > 1:
            if strides[axis] != reach:
                raise UnsafePickle(f"its tensor {name!r:.60} overlaps itself or has gaps")
            reach *= shape[axis]
    end = tensor.offset + math.prod(shape)
    if end > len(storage):
        raise UnsafePickle(f"its tensor {name!r:.60} reaches beyond its storage")
    as_stored = storage[tensor.offset : end].reshape([shape[axis] for axis in inwards])
    return np.array(as_stored.transpose(np.argsort(inwards)), order="C")
