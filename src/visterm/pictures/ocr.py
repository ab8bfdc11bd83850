"""Text that is to be read in pictures, such as signs and scans (extra ``ocr``).

RapidOCR's networks lie in its package, and nothing is fetched. It finds lines and reads each.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from visterm.errors import BadInput
from visterm.pictures.texts import tidy

if TYPE_CHECKING:
    from visterm.pictures.decoder import Pixels

SIDE = 1600
"""Pixels of the longer side: the small print of a scanned page can still be read."""
_DETECTED = 960
"""Pixels of the longer side among which lines are looked for; they are read at the full size."""
_SURE = 0.7
"""Lines that it is less sure of are left out: foliage and fences look like letters."""


def is_installed() -> bool:
    """Whether the extra is there."""
    return find_spec("rapidocr") is not None


def check_installed() -> None:
    """Say what to install where the extra is missing."""
    if not is_installed():
        raise BadInput("text in pictures is read by the extra 'ocr': pip install 'visterm[ocr]'")


@cache
def engine() -> Any:
    """What reads, loaded once; None where the extra is missing."""
    if not is_installed():
        return None
    from rapidocr import RapidOCR

    return RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.max_side_len": SIDE,
            "Det.limit_type": "max",  # small pictures are not enlarged, which invents letters
            "Det.limit_side_len": _DETECTED,
            "Rec.rec_batch_num": 1,  # a page of long lines takes half the memory
            **{f"EngineConfig.onnxruntime.{of}_op_num_threads": 1 for of in ("intra", "inter")},
        }
    )


def text_in(pixels: Pixels) -> str | None:
    """The lines of text in a picture, from top to bottom; None where the extra is missing."""
    if engine() is None:
        return None
    found = engine()(pixels[:, :, ::-1])
    read = zip(found.txts or (), found.scores or (), strict=True)
    return "\n".join(line for text, sure in read if sure >= _SURE and (line := tidy(text)))
