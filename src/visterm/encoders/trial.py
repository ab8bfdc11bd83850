"""A text and a picture through an encoder, in a process of its own: ``python -m`` this module.

Reads folder, files, precision and the memory allowed as JSON from stdin, and prints what came out.
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

import numpy as np

from visterm.encoders.encoder import opened
from visterm.encoders.manifest import Manifest
from visterm.errors import BadInput, MissingExtra


def main() -> None:
    where, files, precision, memory = json.load(sys.stdin)
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    try:
        print(json.dumps({"dimensions": tried(Path(where), files, precision)}), flush=True)
    except MissingExtra as error:
        print(json.dumps({"extra": str(error)}), flush=True)
    except BadInput as error:
        print(json.dumps({"problem": str(error)}), flush=True)
    except MemoryError:
        print(json.dumps({"problem": "the graphs need too much memory"}), flush=True)


def tried(where: Path, files: dict[str, int], precision: str) -> int:
    """How many numbers a picture and a text become; an error where these are not alike."""
    about = Manifest("trial", str(where), "", {}, 0, precision)
    encoder = opened(where, about, files=files)
    picture = np.linspace(0, 255, 96 * 64 * 3).astype(np.uint8).reshape(64, 96, 3)
    seen = encoder.picture_rows([picture])
    read = encoder.text_rows(["a photo of a tree"])
    if seen.shape[1] != read.shape[1]:
        raise BadInput(
            f"a picture becomes {seen.shape[1]} numbers and a text {read.shape[1]}: these graphs "
            "do not belong together"
        )
    if not seen.any() or not read.any():
        raise BadInput("a picture or a text becomes nothing but zeros")
    return int(seen.shape[1])


if __name__ == "__main__":
    main()
