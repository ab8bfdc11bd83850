"""Videos: a handful of frames that differ from each other, decoded by PyAV (extra ``video``).

Key frames stand for themselves, so only they are decoded; a short video with hardly any is read
through instead. This runs in a process of its own (`sandbox`), which may be killed.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from visterm.pictures.formats import Refused, check_size, reasons
from visterm.pictures.metadata import Capture, video_capture

if TYPE_CHECKING:
    from visterm.pictures.decoder import Pixels

MOST = 6
"""Frames that stand for a video."""
DISTINCT = 0.05
"""The mean difference of greys, of all there are, from which two frames are not one."""
LARGEST_SIDE = 640
"""Pixels of the longer side of frames that are described: several are in memory together."""
_CANDIDATES = 24
_SHORT = 60.0
"""Seconds up to which a video is read through and not leapt over."""
_SPACING = 1.0
"""Seconds between frames."""
_ENOUGH = 3
_MOST_DECODED = 2000
_BUDGET = 6.0
"""Seconds after which the frames that were found by then must do."""
_FLAT = 6.0
"""The standard deviation of greys below which there is nothing to be seen."""

Float = NDArray[np.float32]


class OpenVideo:
    """A video file with its first stream of pictures; `Refused` says why it cannot be read."""

    def __init__(self, file: BinaryIO, format_: str) -> None:
        try:
            import av
        except ImportError:
            raise Refused("videos need the extra 'video': pip install 'visterm[video]'") from None
        self._av, self._file, self._format = av, file, format_
        self._container: Any = None
        self._size: tuple[int, int] | None = None
        self._until = time.monotonic() + _BUDGET

    def __enter__(self) -> OpenVideo:
        with reasons("video"):
            self._rewind()
        return self

    def _rewind(self) -> None:
        self._close()
        self._file.seek(0)
        # The demuxer is named: no playlist or script makes it open other files.
        self._container = self._av.open(self._file, format=self._format)

    def __exit__(self, *error: object) -> None:
        self._close()

    def _close(self) -> None:
        if self._container is not None:
            self._container.close()
            self._container = None

    @property
    def capture(self) -> Capture:
        """When and where it was taken, as its header says."""
        return video_capture(self._container.metadata)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the first frame that was decoded, upright."""
        if self._size is None:
            self.at(0.0, 2)
        assert self._size is not None
        return self._size

    def distinct_frames(self, max_side: int | None) -> tuple[list[float], list[Pixels]]:
        """Up to `MOST` frames that differ, and their seconds: the most usual one first."""
        side = min(max_side or LARGEST_SIDE, LARGEST_SIDE)
        frames = self._spaced(side, only_keys=True)
        if len(frames) < _ENOUGH:
            frames |= self._spaced(side, only_keys=False)
        if not frames:
            raise Refused("it holds no frame that can be decoded")
        seconds = sorted(frames)
        chosen = _distinct([frames[second] for second in seconds])
        shown = [frames[seconds[n]] for n in chosen]
        alike = [_resized(frame, shown[0].shape) for frame in shown]  # a video may change its size
        return [seconds[n] for n in chosen], alike

    def _stream(self) -> Any:
        streams = self._container.streams.video
        if not streams:
            raise Refused("it holds no pictures, only sound or data")
        stream = streams[0]
        context = stream.codec_context
        if context is None:
            raise Refused("its pictures are encoded in a way that nothing here decodes")
        check_size((context.width, context.height))
        context.thread_count = 1
        return stream

    @property
    def _duration(self) -> float:
        return (self._container.duration or 0) / self._av.time_base

    def _spaced(self, side: int, *, only_keys: bool) -> dict[float, Pixels]:
        """Frames a second or more apart: key frames of all of it, or any of its beginning."""
        frames: dict[float, Pixels] = {}
        with reasons("video"):
            self._rewind()
            stream, last = self._stream(), -_SPACING
            if only_keys:
                stream.codec_context.skip_frame = "NONKEY"
            is_long = only_keys and self._duration > _SHORT
            for count, frame in enumerate(
                self._leaps(stream) if is_long else self._decoded(stream)
            ):
                if count >= _MOST_DECODED or len(frames) >= (_SHORT if only_keys else _CANDIDATES):
                    break
                if self._second(frame) - last >= _SPACING:
                    last = self._second(frame)
                    frames[last] = self._rgb(frame, side)
        return frames

    def _leaps(self, stream: Any) -> Iterator[Any]:
        """The key frames nearest to even times."""
        for number in range(_CANDIDATES):
            self._seek(stream, (number + 0.5) / _CANDIDATES * self._duration)
            yield from itertools.islice(self._decoded(stream), 1)

    def at(self, second: float, max_side: int | None) -> Pixels:
        """The last frame that begins by then; where seeking leaps too far, from the beginning."""
        with reasons("video"):
            shown = self._until_second(self._stream(), second) if second else None
            if shown is None:
                self._rewind()
                shown = self._until_second(self._stream(), second, seeks=False)
        if shown is None:
            raise Refused("it holds no frame that can be decoded")
        return self._rgb(shown, max_side)

    def _until_second(self, stream: Any, second: float, *, seeks: bool = True) -> Any:
        """The last frame that begins by then; None where all that come after a seek are later."""
        shown = None
        if seeks:
            self._seek(stream, second)
        for count, frame in enumerate(self._decoded(stream)):
            is_later = self._second(frame) > second + 1e-3
            if count >= _MOST_DECODED or (is_later and (seeks or shown is not None)):
                break
            shown = frame
            if self._second(frame) >= second - 1e-3:
                break
        return shown

    def _seek(self, stream: Any, second: float) -> None:
        # Times are rounded; a millisecond too early would bring the key frame before.
        at = (second + 1e-3) * self._av.time_base + (self._container.start_time or 0)
        try:
            self._container.seek(int(at))
        except self._av.error.FFmpegError:  # it has no index: from where it stands
            return

    def _second(self, frame: Any) -> float:
        """When a frame is shown, counted from the beginning, wherever the clock started."""
        start = (self._container.start_time or 0) / self._av.time_base
        return round(max(float(frame.time or 0.0) - start, 0.0), 3)

    def _decoded(self, stream: Any) -> Iterator[Any]:
        """Frames from here on, for as long as there is time; broken packets are passed over."""
        broken = 0
        for packet in self._container.demux(stream):
            if time.monotonic() > self._until or broken > _CANDIDATES:
                return
            try:
                yield from packet.decode()
            except self._av.error.FFmpegError:
                broken += 1

    def _rgb(self, frame: Any, side: int | None) -> Pixels:
        """A frame upright, in square pixels, no larger than ``side``."""
        check_size((frame.width, frame.height))
        scale = 1.0 if side is None else min(1.0, side / max(frame.width, frame.height))
        width, height = (max(2, round(s * scale)) for s in (frame.width, frame.height))
        pixels = frame.to_ndarray(format="rgb24", width=width, height=height)
        turns = round(frame.rotation / 90) % 4
        if self._size is None:
            is_lying = turns % 2 == 1
            self._size = (frame.height, frame.width) if is_lying else (frame.width, frame.height)
        return np.ascontiguousarray(np.rot90(pixels, turns))


def _distinct(frames: list[Pixels]) -> list[int]:
    """Numbers of frames that differ: the usual one, then ever the one least like those before."""
    small = np.stack([_small(frame) for frame in frames])
    visible = [n for n, one in enumerate(small) if one.std() >= _FLAT / 255]
    places = visible or list(range(len(frames)))
    apart = np.abs(small[places][:, None] - small[places][None]).mean(axis=2)
    chosen = [int(apart.sum(axis=1).argmin())]
    while len(chosen) < MOST:
        nearest = apart[:, chosen].min(axis=1)
        farthest = int(nearest.argmax())
        if nearest[farthest] < DISTINCT:
            break
        chosen.append(farthest)
    return [places[n] for n in chosen]


def _small(frame: Pixels) -> Float:
    return _resized(frame, (16, 16)).astype(np.float32).ravel() / np.float32(255)


def _resized(frame: Pixels, shape: tuple[int, ...]) -> Pixels:
    from PIL import Image

    if frame.shape[:2] == shape[:2]:
        return frame
    small = Image.fromarray(frame).resize((shape[1], shape[0]), Image.Resampling.BOX)
    return np.asarray(small)
