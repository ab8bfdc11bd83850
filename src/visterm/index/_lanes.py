"""Sixteen sums of products at a time, in the widest registers that the machine has.

Loops over numbers become instructions of half that width, and sums kept in an array are stored
after every step; so these are written down as vectors. Which lane a product is added to, and in
which order, is the same on every machine.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, no-check-untyped-defs
from __future__ import annotations

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

LANES = 16
_NUMBER, _CODES = ir.IntType(64), ir.VectorType(ir.IntType(8), LANES)
_SINGLES = ir.VectorType(ir.FloatType(), LANES)
_DOUBLES = ir.VectorType(ir.DoubleType(), LANES)


@intrinsic
def add_coded_lanes(_, codes, low, step, weights, whole, sums):
    """``sums[i % 16] += (codes[i] * step + low) * weights[i]`` for ``whole`` numbers, a positive
    multiple of sixteen; rows are rounded to 32 bits, products to 64. All but ``low`` and ``step``
    are addresses."""

    def generate(_, builder, __, arguments):
        codes, low, step, weights, whole, sums = arguments
        lows, steps = (_everywhere(builder, one) for one in (low, step))
        kept = builder.inttoptr(sums, _DOUBLES.as_pointer())
        before, loop = builder.block, builder.append_basic_block("lanes")
        after = builder.append_basic_block("lanes.done")
        first = builder.load(kept, align=8)
        builder.branch(loop)
        builder.position_at_end(loop)
        place, total = builder.phi(_NUMBER), builder.phi(_DOUBLES)
        row = builder.uitofp(_vector(builder, codes, place, _CODES, 1), _SINGLES)
        row = builder.fadd(builder.fmul(row, steps), lows)
        weight = _vector(builder, weights, place, _SINGLES, 4)
        product = builder.fmul(builder.fpext(row, _DOUBLES), builder.fpext(weight, _DOUBLES))
        added = builder.fadd(total, product)
        following = builder.add(place, ir.Constant(_NUMBER, LANES))
        for phi, start, then in (
            (place, ir.Constant(_NUMBER, 0), following),
            (total, first, added),
        ):
            phi.add_incoming(start, before)
            phi.add_incoming(then, loop)
        builder.cbranch(builder.icmp_signed("<", following, whole), loop, after)
        builder.position_at_end(after)
        builder.store(added, kept, align=8)

    number, single = types.int64, types.float32
    return types.void(number, single, single, number, number, number), generate


def _vector(builder, address, place, kind, size):
    """Sixteen numbers from a place on."""
    begin = builder.add(address, builder.mul(place, ir.Constant(_NUMBER, size)))
    return builder.load(builder.inttoptr(begin, kind.as_pointer()), align=size)


def _everywhere(builder, value):
    """One number in all lanes."""
    kind = ir.VectorType(value.type, LANES)
    nothing = ir.Constant(kind, ir.Undefined)
    one = builder.insert_element(nothing, value, ir.Constant(ir.IntType(32), 0))
    chosen = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(one, nothing, chosen)
