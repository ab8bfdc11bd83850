"""Checkpoints are read as data: tensors come out, and whatever else is in them is refused."""

from __future__ import annotations

import builtins
import os
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from visterm.errors import BadInput
from visterm.features.cnn.checkpoint import MAGIC, read_checkpoint
from visterm.features.cnn.weights import checkpoint_path, efficientnet_lite0

HEAD = pickle.dumps(MAGIC, 2) + pickle.dumps(1001, 2)
MACHINE = pickle.dumps({"protocol_version": 1001, "little_endian": True}, 2)
DICTIONARY = b"ccollections\nOrderedDict\n)R"


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def whole(value: int) -> bytes:
    return b"J" + struct.pack("<i", value)


def numbers(values: tuple[int, ...]) -> bytes:
    return b"(" + b"".join(map(whole, values)) + b"t"


def storage(key: str, length: int, kind: str = "torch\nFloatStorage") -> bytes:
    parts = [text("storage"), f"c{kind}\n".encode(), text(key), text("cpu"), whole(length)]
    return b"(" + b"".join(parts) + b"NtQ"


def tensor(
    stored: bytes, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0
) -> bytes:
    parts = [stored, whole(offset), numbers(shape), numbers(strides), b"\x89", DICTIONARY]
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + b"".join(parts) + b"tR"


def entries(**named: bytes) -> bytes:
    inside = b"".join(text(name) + value for name, value in named.items())
    return b"\x80\x02" + DICTIONARY + b"(" + inside + b"u."


def checkpoint(tensors: bytes, **storages: np.ndarray) -> bytes:
    raw = b"".join(struct.pack("<q", a.size) + a.tobytes() for a in storages.values())
    return HEAD + MACHINE + tensors + pickle.dumps(list(storages), 2) + raw


SIX = np.arange(6, dtype="<f4")
GOOD = checkpoint(entries(weight=tensor(storage("a", 6), (2, 3), (3, 1))), a=SIX)


def read(data: bytes, folder: Path) -> dict[str, np.ndarray]:
    path = folder / "checkpoint.pth"
    path.write_bytes(data)
    return read_checkpoint(path)


def test_tensors_come_out_with_their_names_shapes_and_numbers(tmp_path: Path) -> None:
    tensors = read(GOOD, tmp_path)
    assert list(tensors) == ["weight"]
    np.testing.assert_array_equal(tensors["weight"], [[0, 1, 2], [3, 4, 5]])


def test_axes_stored_in_another_order_are_put_right(tmp_path: Path) -> None:
    turned = entries(weight=tensor(storage("a", 6), (2, 3), (1, 2)))
    np.testing.assert_array_equal(
        read(checkpoint(turned, a=SIX), tmp_path)["weight"], [[0, 2, 4], [1, 3, 5]]
    )


def test_two_tensors_may_share_a_storage(tmp_path: Path) -> None:
    both = entries(
        first=tensor(storage("a", 6), (2,), (1,)),
        rest=tensor(storage("a", 6), (4, 1), (1, 1), offset=2),
        count=tensor(storage("b", 1, "torch\nLongStorage"), (), ()),
    )
    tensors = read(checkpoint(both, a=SIX, b=np.array([7], dtype="<i8")), tmp_path)
    assert tensors["first"].tolist() == [0, 1]
    assert tensors["rest"].tolist() == [[2], [3], [4], [5]]
    assert tensors["count"].shape == ()
    assert tensors["count"] == 7


def test_the_real_weights_have_the_shapes_of_efficientnet_lite0() -> None:
    weights = efficientnet_lite0()
    assert len(weights) == 296
    assert weights["_conv_stem.weight"].shape == (32, 3, 3, 3)
    assert weights["_blocks.15._project_conv.weight"].shape == (320, 1152, 1, 1)
    assert weights["_fc.bias"].shape == (1000,)
    assert all(np.isfinite(array).all() for array in weights.values())


class Attack:
    """Calls something when it is unpickled, and leaves a file behind as proof."""

    def __init__(self, call: object, *arguments: object) -> None:
        self.call, self.arguments = call, arguments

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return self.call, self.arguments


def attacks(proof: Path) -> dict[str, Attack]:
    write = f"open({str(proof)!r}, 'w').close()"
    return {
        "os.system": Attack(os.system, f"touch '{proof}'"),
        "eval": Attack(builtins.eval, write),
        "exec": Attack(builtins.exec, write),
        "open": Attack(builtins.open, str(proof), "w"),
        "getattr": Attack(getattr, Attack(os.open, str(proof), os.O_CREAT), "real"),
    }


def body(attack: Attack, protocol: int) -> bytes:
    """The opcodes of an attack without the frame around them, to plant among others."""
    dumped = pickle.dumps(attack, protocol)[:-1]
    return dumped[2:] if protocol >= 2 else dumped


def hidden(attack: Attack, protocol: int) -> dict[str, bytes]:
    planted = body(attack, protocol)
    stored, six = storage("a", 6), {"a": SIX}
    rebuild = b"ctorch._utils\n_rebuild_tensor_v2\n("
    shape = numbers((6,)) + numbers((1,)) + b"\x89"
    return {
        "alone": pickle.dumps(attack, protocol),
        "as the magic number": planted + b"." + GOOD,
        "as the machine": HEAD + planted + b"." + GOOD,
        "as the dictionary": checkpoint(b"\x80\x02" + planted + b".", **six),
        "as an entry": checkpoint(entries(weight=planted), **six),
        "in a list in an entry": checkpoint(entries(weight=b"](" + planted + b"e"), **six),
        "as a name": checkpoint(b"\x80\x02}(" + planted + text("b") + b"u.", **six),
        "as a storage": checkpoint(entries(weight=tensor(planted, (6,), (1,))), **six),
        "as an outside object": checkpoint(entries(weight=planted + b"Q"), **six),
        "as a size": checkpoint(
            entries(weight=rebuild + stored + planted + shape + DICTIONARY + b"tR"), **six
        ),
        "as hooks": checkpoint(
            entries(weight=rebuild + stored + whole(0) + shape + planted + b"tR"), **six
        ),
        "as notes": checkpoint(b"\x80\x02" + DICTIONARY + planted + b"b.", **six),
        "thrown away": checkpoint(b"\x80\x02" + planted + b"0" + entries()[2:], **six),
        "as the list of storages": HEAD + MACHINE + entries() + planted + b".",
    }


@pytest.mark.parametrize("protocol", [0, 2, 4])
@pytest.mark.parametrize("name", ["os.system", "eval", "exec", "open", "getattr"])
def test_no_attack_runs_wherever_it_is_hidden(name: str, protocol: int, tmp_path: Path) -> None:
    proof = tmp_path / "proof"
    attack = attacks(proof)[name]
    for data in hidden(attack, protocol).values():
        with pytest.raises(BadInput, match=r"opcode|it calls"):
            read(data, tmp_path)
    assert not proof.exists()
    pickle.loads(pickle.dumps(attack, protocol))
    assert proof.exists(), "the attack is real: the pickle module does run it"


@pytest.mark.parametrize(
    "opcodes",
    [
        b"(S'touch proof'\nios\nsystem\n",  # INST
        b"(cos\nsystem\nX\x01\x00\x00\x00ao",  # OBJ
        b"cos\nsystem\n)\x81",  # NEWOBJ
        b"\x82\x01",  # EXT1
        b"Pstorage\n",  # PERSID
        b"\x8c\x02os\x8c\x06system\x93",  # STACK_GLOBAL
        b"cnumpy\nndarray\n)R",
        b"ctorch\nload\n)R",
        b"ccollections\nOrderedDict\n]((X\x01\x00\x00\x00aK\x01te\x85R",
        b"ctorch._utils\n_rebuild_parameter\n)R",
    ],
)
def test_other_ways_to_make_objects_are_refused(opcodes: bytes, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"opcode|calls|builds"):
        read(checkpoint(entries(weight=opcodes), a=SIX), tmp_path)


STORED = storage("a", 6)

# What is wrong, the reason given for it, and the bytes.
WRONG = {
    "a storage longer than the file": (
        "not as long as promised",
        checkpoint(entries(weight=tensor(storage("a", 2_000_000_000), (6,), (1,))), a=SIX),
    ),
    "a storage shorter than promised": (
        "not as long as promised",
        checkpoint(entries(weight=tensor(STORED, (6,), (1,))), a=SIX[:5]),
    ),
    "a storage cut short": ("not as long as promised", GOOD[:-1]),
    "a tensor beyond its storage": (
        "reaches beyond",
        checkpoint(entries(weight=tensor(STORED, (3, 3), (3, 1))), a=SIX),
    ),
    "an offset beyond its storage": (
        "reaches beyond",
        checkpoint(entries(weight=tensor(STORED, (6,), (1,), offset=1)), a=SIX),
    ),
    "an empty tensor beyond its storage": (
        "reaches beyond",
        checkpoint(entries(weight=tensor(STORED, (0,), (1,), offset=7)), a=SIX),
    ),
    "a stride of zero": (
        "overlaps itself",
        checkpoint(entries(weight=tensor(STORED, (2_000_000_000, 6), (0, 1))), a=SIX),
    ),
    "overlapping rows": (
        "overlaps itself",
        checkpoint(entries(weight=tensor(STORED, (2, 3), (2, 1))), a=SIX),
    ),
    "a negative size": (
        "not a whole number",
        checkpoint(entries(weight=tensor(STORED, (-2, -3), (3, 1))), a=SIX),
    ),
    "more strides than sizes": (
        "builds a tensor from something else",
        checkpoint(entries(weight=tensor(STORED, (6,), (1, 1))), a=SIX),
    ),
    "a hundred axes": (
        "builds a tensor from something else",
        checkpoint(entries(weight=tensor(STORED, (1,) * 100, (1,) * 100)), a=SIX),
    ),
    "a storage of two types": (
        "described in two ways",
        checkpoint(
            entries(
                one=tensor(STORED, (6,), (1,)),
                two=tensor(storage("a", 6, "torch\nLongStorage"), (6,), (1,)),
            ),
            a=SIX,
        ),
    ),
    "a storage of objects": (
        "calls torch.StringStorage",
        checkpoint(entries(weight=tensor(storage("a", 6, "torch\nStringStorage"), (6,), (1,)))),
    ),
    "a storage nobody uses": ("does not match", checkpoint(entries(), a=SIX)),
    "a storage that is missing": (
        "does not match",
        checkpoint(entries(weight=tensor(STORED, (6,), (1,)))),
    ),
    "storages that are not named": (
        "not a list of names",
        HEAD + MACHINE + entries() + pickle.dumps([1, 2], 2),
    ),
    "a number in place of a tensor": ("is not a tensor", checkpoint(entries(weight=whole(1)))),
    "dictionaries in dictionaries": ("is not a tensor", checkpoint(entries(weight=DICTIONARY))),
    "a list of tensors": ("not a dictionary", checkpoint(b"\x80\x02].")),
    "bytes after the end": ("bytes follow", GOOD + b"\0"),
    "another magic number": ("does not begin", pickle.dumps(1, 2) + GOOD),
    "big-endian numbers": (
        "little-endian",
        HEAD + pickle.dumps({"little_endian": False}, 2) + GOOD,
    ),
    "a key of nested tuples": (
        "not a name",
        checkpoint(b"\x80\x02}(" + b")" + b"\x85" * 200_000 + whole(1) + b"u."),
    ),
    "no end": ("too long", HEAD + MACHINE + b"\x80\x02" + b"K\x01" * 1_500_000),
    "nothing": ("malformed", b""),
    "a zip file, torch's newer format": ("malformed", b"PK\x03\x04" + b"\0" * 100),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_sizes_and_shapes_that_do_not_agree_are_refused(wrong: str, tmp_path: Path) -> None:
    reason, data = WRONG[wrong]
    with pytest.raises(BadInput, match=f"not a checkpoint that visterm will read: .*{reason}"):
        read(data, tmp_path)


@pytest.mark.parametrize("length", range(0, len(GOOD), 7))
def test_a_truncated_checkpoint_is_refused(length: int, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="not a checkpoint that visterm will read"):
        read(GOOD[:length], tmp_path)


@settings(max_examples=300, deadline=None)
@given(place=st.integers(0, len(GOOD) - 1), byte=st.integers(0, 255), more=st.binary(max_size=4))
def test_any_damage_gives_tensors_or_a_reason(
    tmp_path_factory: pytest.TempPathFactory, place: int, byte: int, more: bytes
) -> None:
    damaged = GOOD[:place] + bytes([byte]) + more + GOOD[place + 1 :]
    try:
        tensors = read(damaged, tmp_path_factory.getbasetemp())
    except BadInput:
        return
    assert all(isinstance(array, np.ndarray) for array in tensors.values())
    assert sum(array.nbytes for array in tensors.values()) <= len(damaged)


def test_a_missing_checkpoint_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"nowhere\.pth: No such file"):
        read_checkpoint(tmp_path / "nowhere.pth")


def test_another_file_of_weights_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / checkpoint_path().parents[1].name
    (package / "models").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "models" / checkpoint_path().name).write_bytes(GOOD)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(BadInput, match="not the file of weights that visterm knows"):
        efficientnet_lite0()
