"""Videos of drawn scenes, encoded by PyAV."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

RATE = 5
"""Frames a second: few, as a test pays for each."""
CODECS = {".mp4": "libx264", ".avi": "mpeg4", ".webm": "libvpx", ".mts": "mpeg2video"}


def encode(path: Path, scenes: Sequence[Path], *, seconds: float = 2.0) -> Path:
    """A video that shows pictures one after another, each for so many seconds."""
    import av

    pixels = [np.asarray(Image.open(one).convert("RGB")) for one in scenes]
    form = {".mts": "mpegts"}.get(path.suffix)
    with av.open(str(path), "w", format=form) as container:
        stream: Any = container.add_stream(CODECS[path.suffix], rate=RATE)
        stream.height, stream.width = pixels[0].shape[:2]
        stream.pix_fmt = "yuv420p"
        for one in pixels:
            for _ in range(round(seconds * RATE)):
                container.mux(stream.encode(av.VideoFrame.from_ndarray(one)))
        container.mux(stream.encode())
    return path
