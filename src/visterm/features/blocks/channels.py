"""Channels: of which blocks, and of what in them, a picture's bag of visterms is made."""

from __future__ import annotations

from visterm.errors import BadInput
from visterm.features.blocks.block_descriptor import TEXTURE_BINS
from visterm.features.parameters import is_whole

Channel = tuple[int, str, int]
"""Block side in pixels, what of the histogram counts, and the size of the codebook."""

PARTS = {
    "joint": slice(None),
    "edges": slice(0, TEXTURE_BINS),
    "colours": slice(TEXTURE_BINS, None),
}

# Chosen on Corel's validation pictures; docs/notes/corel.md shows what each part brings.
DEFAULT_CHANNELS: tuple[Channel, ...] = (
    (16, "joint", 4000),
    (16, "edges", 2000),
    (16, "colours", 2000),
    (32, "joint", 4000),
    (32, "edges", 2000),
    (32, "colours", 2000),
)


def check_channel(channel: Channel) -> None:
    """Say what is wrong with a channel, if anything is.

    >>> check_channel((31, "joint", 1000))
    Traceback (most recent call last):
    visterm.errors.BadInput: the side of a channel is an even number from 4 on, not 31
    """
    try:
        side, part, size = channel
    except (TypeError, ValueError):
        raise BadInput(f"a channel is (side, part, size), not {channel!r}") from None
    if not isinstance(part, str) or part not in PARTS:
        raise BadInput(f"the part of a channel is one of {', '.join(PARTS)}, not {part!r}")
    if not is_whole(side, 4) or side % 2:
        raise BadInput(f"the side of a channel is an even number from 4 on, not {side!r}")
    if not is_whole(size, 1):
        raise BadInput(f"the size of a channel is a whole number from 1 on, not {size!r}")
