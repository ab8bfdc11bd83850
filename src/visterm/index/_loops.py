"""Arrays at addresses, and the short loops over codes that become vector instructions.

Addresses travel instead of arrays because a compiled call counts the references of every array it
is given, and for a block of a thousand pictures that counting would cost more than the block.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs
from __future__ import annotations

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import carray, njit, types  # type: ignore[attr-defined]
from numba.extending import intrinsic

_LINE = 64


def _pointer_to(kind):
    @intrinsic
    def pointer(_, address):
        def generate(context, builder, signature, arguments):
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return types.CPointer(kind)(types.int64), generate

    return pointer


byte_pointer = _pointer_to(types.uint8)
float_pointer = _pointer_to(types.float32)
double_pointer = _pointer_to(types.float64)
integer_pointer = _pointer_to(types.int64)


@intrinsic
def _prefetch(_, address):
    def generate(context, builder, signature, arguments):
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        call = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        # To be read, to be kept in all caches, and it is data.
        settings = [ir.Constant(number, value) for value in (0, 3, 1)]
        builder.call(call, [builder.inttoptr(arguments[0], pointer), *settings])
        return context.get_dummy_value()

    return types.void(types.int64), generate


@njit(cache=True, nogil=True)
def prefetch_row(rows, place):
    """Let memory bring a row of bytes while the one before it is worked on."""
    first = rows.ctypes.data + place * rows.shape[1]
    for address in range(first, first + rows.shape[1], _LINE):
        _prefetch(address)


@njit(cache=True, nogil=True)
def bytes_at(address, count):
    return carray(byte_pointer(address), (count,))


@njit(cache=True, nogil=True)
def floats_at(address, count):
    return carray(float_pointer(address), (count,))


@njit(cache=True, nogil=True)
def doubles_at(address, count):
    return carray(double_pointer(address), (count,))


@njit(cache=True, nogil=True)
def integers_at(address, count):
    return carray(integer_pointer(address), (count,))


@njit(cache=True, nogil=True)
def sum_codes(codes, factors, start, shift, count, sums):
    """Fill ``sums`` with ``start + sum(factor * code)`` for each picture; returns the largest.

    Sums wrap around while they are made, which is harmless: the whole sum fits.
    """
    done = 2 - codes.size % 2
    one = bytes_at(codes[0] + shift, count)
    if done == 1:
        _begin(sums, start, one, factors[0])
    else:
        _begin_two(sums, start, one, factors[0], bytes_at(codes[1] + shift, count), factors[1])
    for word in range(done, codes.size, 2):
        one = bytes_at(codes[word] + shift, count)
        two = bytes_at(codes[word + 1] + shift, count)
        _add_two(sums, one, factors[word], two, factors[word + 1])
    return largest(sums[:count])


@njit(cache=True, nogil=True)
def _begin(sums, start, one, factor):
    for place in range(one.size):
        sums[place] = start + factor * one[place]


@njit(cache=True, nogil=True)
def _begin_two(sums, start, one, factor, two, second):
    for place in range(one.size):
        sums[place] = start + factor * one[place] + second * two[place]


@njit(cache=True, nogil=True)
def _add_two(sums, one, factor, two, second):
    for place in range(one.size):
        sums[place] = sums[place] + factor * one[place] + second * two[place]


@njit(cache=True, nogil=True)
def largest(numbers):
    found = numbers[0]
    for place in range(numbers.size):
        found = max(found, numbers[place])
    return found


@njit(cache=True, nogil=True)
def smallest(numbers):
    found = numbers[0]
    for place in range(numbers.size):
        found = min(found, numbers[place])
    return found


@njit(cache=True, nogil=True)
def sorted_places(listed, order, ids):
    """Where each id belongs among those listed, which ``order`` makes ascend.

    Each is looked for from the one before it, by growing steps, so that ascending ones are near.
    """
    found = np.empty(ids.size, np.int64)
    low = 0
    for number in range(ids.size):
        if number and ids[number] < ids[number - 1]:
            low = 0
        high, step = low, 1
        while high < listed.size and listed[order[high]] < ids[number]:
            low = high + 1
            high, step = high + step, 2 * step
        high = min(high, listed.size)
        while low < high:
            middle = (low + high) // 2
            if listed[order[middle]] < ids[number]:
                low = middle + 1
            else:
                high = middle
        found[number] = low
    return found
