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
    about = Manifest("trial", str(where), "", "", {}, 0, precision, reads_texts=False)
    encoder = opened(where, about, files=files)
    picture = np.linspace(0, 255, 96 * 64 * 3).astype(np.uint8).reshape(64, 96, 3)
    rows = [encoder.picture_rows([picture])]
    if encoder.layout.text is not None:
        rows.append(encoder.text_rows(["a photo of a tree"]))
    if not all(row.any() for row in rows):
        raise BadInput("a picture or a text becomes nothing but zeros")
    widths = [row.shape[1] for row in rows]
    if len(set(widths)) > 1:
        raise BadInput(
            f"a picture becomes {widths[0]} numbers and a text {widths[1]}: these graphs do not "
            "belong together"
        )
    return int(widths[0])


if __name__ == "__main__":
    main()
