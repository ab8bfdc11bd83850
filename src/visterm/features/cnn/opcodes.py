"""A stack machine that follows a pickle as far as tensors go, and runs nothing.

A pickle is a program that may call anything, so none is run here: the standard library only
splits it into its opcodes, and the machine below follows the two dozen that a dictionary of
tensors needs. A global is nothing but a name in it, and only two names may be "called": an empty
ordered dictionary, and the rebuilding of a tensor. All else is refused where it stands.
"""

from __future__ import annotations

import io
import pickletools
from typing import NamedTuple

# Far above any sensible network; a longer description only wants to keep the reader busy.
MOST_OPCODES = 1_000_000
MOST_AXES = 8

_STORAGE_TYPES = {
    "torch FloatStorage": "<f4",
    "torch DoubleStorage": "<f8",
    "torch HalfStorage": "<f2",
    "torch LongStorage": "<i8",
    "torch IntStorage": "<i4",
    "torch ByteStorage": "u1",
}


class UnsafePickle(Exception):
    """What a file holds that a dictionary of tensors does not."""


class Name(NamedTuple):
    """A global of the pickle: a name, never the thing it names."""

    name: str


class Storage(NamedTuple):
    """A run of numbers that lies further down in the file."""

    dtype: str
    key: str
    length: int


class Tensor(NamedTuple):
    """A shaped view of a storage, made once the storages are read."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


_DICTIONARY = Name("collections OrderedDict")
_TENSOR = Name("torch._utils _rebuild_tensor_v2")
_LITERALS = frozenset({"BININT", "BININT1", "BININT2", "LONG1", "BINUNICODE"})
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_MARK = object()


def follow(file: io.BytesIO) -> object:
    """Follow the pickle that begins where ``file`` stands, and leave ``file`` behind its end.

    Examples
    --------
    >>> follow(io.BytesIO(b"\\x80\\x02}X\\x01\\x00\\x00\\x00aK\\x07s."))
    {'a': 7}
    >>> follow(io.BytesIO(b"cos\\nsystem\\n(X\\x02\\x00\\x00\\x00lstR."))
    Traceback (most recent call last):
    visterm.features.cnn.opcodes.UnsafePickle: it calls os.system, and tensors need no such call
    """
    stack: list[object] = []
    memory: dict[int, object] = {}
    try:
        for count, (opcode, argument, _) in enumerate(pickletools.genops(file)):
            if count > MOST_OPCODES:
                raise UnsafePickle("its description is too long")
            if opcode.name == "STOP":
                (result,) = stack
                return result
            _step(opcode.name, argument, stack, memory)
    except UnsafePickle:
        raise
    except Exception as error:  # a malformed pickle fails in as many ways as there are bytes
        raise UnsafePickle(f"its description is malformed ({type(error).__name__})") from None
    raise UnsafePickle("its description has no end")


def _step(opcode: str, argument: object, stack: list[object], memory: dict[int, object]) -> None:
    match opcode:
        case "PROTO":
            pass
        case _ if opcode in _LITERALS:
            stack.append(argument)
        case _ if opcode in _CONSTANTS:
            stack.append(_CONSTANTS[opcode])
        case "MARK":
            stack.append(_MARK)
        case "EMPTY_DICT":
            stack.append({})
        case "EMPTY_LIST":
            stack.append([])
        case "TUPLE1" | "TUPLE2" | "TUPLE3":
            stack.append(tuple(_take(stack, int(opcode[-1]))))
        case "TUPLE":
            stack.append(tuple(_take_to_mark(stack)))
        case "BINPUT" | "LONG_BINPUT":
            memory[_whole(argument)] = stack[-1]
        case "BINGET" | "LONG_BINGET":
            stack.append(memory[_whole(argument)])
        case "SETITEM":
            _set_items(_take(stack, 2), stack[-1])
        case "SETITEMS":
            _set_items(_take_to_mark(stack), stack[-1])
        case "APPEND" | "APPENDS":
            items = _take(stack, 1) if opcode == "APPEND" else _take_to_mark(stack)
            target = stack[-1]
            if not isinstance(target, list):
                raise UnsafePickle("it appends to something that is not a list")
            target.extend(items)
        case "GLOBAL":
            stack.append(Name(str(argument)))
        case "BINPERSID":
            stack.append(_storage(stack.pop()))
        case "REDUCE":
            stack.append(_call(*_take(stack, 2)))
        case "BUILD":
            # torch hangs its own notes on the dictionary here; they name no tensor.
            _, target = stack.pop(), stack[-1]
            if not isinstance(target, dict):
                raise UnsafePickle("it sets the state of something that is not a dictionary")
        case _:
            raise UnsafePickle(f"it holds the opcode {opcode}, which no tensor needs")


def _call(name: object, arguments: object) -> object:
    match name, arguments:
        case [Name(), ()] if name == _DICTIONARY:
            return {}
        case [Name(), (Storage() as storage, offset, tuple(shape), tuple(strides), _, {})] if (
            name == _TENSOR and len(shape) == len(strides) <= MOST_AXES
        ):
            sizes, steps = tuple(map(_whole, shape)), tuple(map(_whole, strides))
            return Tensor(storage, _whole(offset), sizes, steps)
    raise _refused_call(name)


def _storage(described: object) -> Storage:
    match described:
        case ("storage", Name(name) as global_name, str(key), str(), int(length), None):
            if name not in _STORAGE_TYPES:
                raise _refused_call(global_name)
            return Storage(_STORAGE_TYPES[name], key, _whole(length))
    raise UnsafePickle("it names an outside object that is not a plain storage")


def _refused_call(name: object) -> UnsafePickle:
    if name in (_DICTIONARY, _TENSOR):
        return UnsafePickle(
            "it builds a tensor from something else than a storage, place and shape"
        )
    called = name.name.replace(" ", ".") if isinstance(name, Name) else "something unnamed"
    return UnsafePickle(f"it calls {called:.80}, and tensors need no such call")


def _whole(number: object) -> int:
    if type(number) is not int or number < 0:
        raise UnsafePickle("a size or place in it is not a whole number")
    return number


def _take(stack: list[object], count: int) -> list[object]:
    if len(stack) < count:
        raise UnsafePickle("its description takes more than it put down")
    taken = stack[-count:]
    del stack[-count:]
    return taken


def _take_to_mark(stack: list[object]) -> list[object]:
    items: list[object] = []
    while (top := stack.pop()) is not _MARK:
        items.append(top)
    return items[::-1]


def _set_items(items: list[object], target: object) -> None:
    # Names only: hashing a deeply nested key would overrun the interpreter's own stack.
    if not isinstance(target, dict) or any(type(name) is not str for name in items[::2]):
        raise UnsafePickle("it sets an entry that is not a name in a dictionary")
    target.update(zip(items[::2], items[1::2], strict=True))
