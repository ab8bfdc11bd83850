"""Decoders in processes of their own, so that one which dies costs a picture and nothing else.

Picture files are decoded by libraries in C, and the most careful limits do not keep one of these
from a crash. While a collection is open (`isolation`), every picture file is decoded by a child, a
few of them, each of which serves one thread at a time; whichever dies or hangs is replaced.

    python -m visterm.pictures.decoding.decoder_process

writes a line once it is ready, then reads requests and writes pixels: a line of JSON each way, and
the bytes after the answer's.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import select
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from visterm.child_process import child_environment
from visterm.errors import UnreadablePicture

if TYPE_CHECKING:
    from visterm.pictures.decoding.frames import Frames
    from visterm.pictures.decoding.pixels import Pixels

CRASHES = "it crashes the decoder"
HANGS = "decoding it takes too long"
NEVER_READY = "the decoder does not start"
_LONGEST = 10.0
_LONGEST_START = 60.0
"""Seconds for a child to load its libraries, which no picture is to blame for."""
_CHILDREN = 2
_PIECE = 1 << 20
_LOADED = ("numpy", "PIL.Image", "visterm.pictures.decoding.decoder")
"""What takes longest to load, before a child is ready."""


class _Child(subprocess.Popen[bytes]):
    is_ready = False
    """Whether it has loaded its libraries."""
    has_answered = False
    """Whether it has read a picture."""


class DecoderProcesses:
    """A few children that decode.

    Parameters
    ----------
    children
        How many decode at the same time; they begin when they are first needed.
    longest
        Seconds after which a picture is given up; those of a child that begins do not count.
    command
        What a child runs.
    """

    def __init__(
        self,
        children: int = _CHILDREN,
        longest: float = _LONGEST,
        command: tuple[str, ...] = (sys.executable, "-m", __name__),
    ) -> None:
        self._longest, self._command = longest, command
        # The last one first, so that no more begin than are needed at the same time.
        self._free: queue.LifoQueue[_Child | None] = queue.LifoQueue()
        for _ in range(children):
            self._free.put(None)

    def begin(self) -> None:
        """Let a child load its libraries while this process does something else."""
        child = self._free.get()
        try:
            child = child or self._begun()
        finally:
            self._free.put(child)

    def read(
        self, path: str, max_pixels: int, max_side: int | None, second: float | None = None
    ) -> Pixels:
        """As `read_picture`, for a path."""
        return self._frames(path, max_pixels=max_pixels, max_side=max_side, second=second).pixels[0]

    def frames(
        self,
        path: str,
        max_pixels: int,
        max_side: int | None,
        *,
        second: float | None = None,
        every: bool = False,
    ) -> Frames:
        """As `decode_frames`."""
        asked = {"max_pixels": max_pixels, "max_side": max_side, "second": second}
        return self._frames(path, **asked, every=every)

    def size(self, path: str) -> tuple[int, int]:
        """As `picture_size`, for a path."""
        answer, _ = self._answered(path, {"measures": True})
        width, height = answer["shape"]
        return width, height

    def _frames(self, path: str, **asked: Any) -> Frames:
        import numpy as np

        from visterm.pictures.decoding.frames import Frames

        answer, data = self._answered(path, asked)
        pixels = np.frombuffer(data, np.uint8).reshape(answer["shape"])
        return Frames(answer["seconds"], list(pixels))

    def _answered(self, path: str, asked: dict[str, Any]) -> tuple[dict[str, Any], bytearray]:
        """What a child says and the bytes after it, or its reason why not."""
        try:
            # A child stands where this process stood when it began.
            asked = asked | {"path": str(Path(path).absolute())}
        except OSError:  # the folder one stands in is gone
            raise UnreadablePicture(path, "no such file") from None
        child, found = self._free.get(), None
        try:
            while found is None:
                if child is None or child.poll() is not None:
                    child = self._begun()
                found = self._asked(child, path, asked)
                if found is None and not child.has_answered:
                    raise UnreadablePicture(path, CRASHES)
                if found is None:  # a picture before this one may have harmed it
                    _end(child)
                else:
                    child.has_answered = True
        except OSError:
            raise UnreadablePicture(path, NEVER_READY) from None
        finally:
            if found is None and child is not None:
                _end(child)
            self._free.put(None if found is None else child)
        answer, data = found
        if "reason" in answer:
            raise UnreadablePicture(path, answer["reason"])
        return answer, data

    def close(self) -> None:
        """End the children that are free."""
        with contextlib.suppress(queue.Empty):
            while True:
                child = self._free.get_nowait()
                if child is not None:
                    _end(child)

    def _begun(self) -> _Child:
        """A new child, which is loading its libraries."""
        pipe = subprocess.PIPE
        # In a session of its own: Ctrl-C is its parent's, after whom it ends.
        return _Child(
            self._command,
            bufsize=0,
            stdin=pipe,
            stdout=pipe,
            env=child_environment(),
            start_new_session=True,
        )

    def _asked(
        self, child: _Child, path: str, asked: dict[str, Any]
    ) -> tuple[dict[str, Any], bytearray] | None:
        """What a child answers; None where it dies of it."""
        assert child.stdin is not None
        try:
            if not child.is_ready:
                _answer(child, _LONGEST_START)
                child.is_ready = True
        except (OSError, ValueError):
            raise UnreadablePicture(path, NEVER_READY) from None
        try:
            # Whoever asks gives up first, and says so; a child that nobody waits for ends itself.
            request = asked | {"longest": 2 * self._longest}
            child.stdin.write(json.dumps(request).encode() + b"\n")
            return _answer(child, self._longest)
        except TimeoutError:
            reason = f"{HANGS}, more than {self._longest:g} seconds"
            raise UnreadablePicture(path, reason) from None
        except (OSError, ValueError):
            return None


def _answer(child: _Child, longest: float) -> tuple[dict[str, Any], bytearray]:
    """A line of a child and the bytes after it; `TimeoutError` where they are not there by then."""
    assert child.stdout is not None
    until = time.monotonic() + longest
    waiting = select.poll()  # select() knows no file beyond the 1024th
    waiting.register(child.stdout, select.POLLIN)

    def more() -> bytes:
        assert child.stdout is not None
        left = until - time.monotonic()
        if left <= 0 or not waiting.poll(1000 * left):
            raise TimeoutError
        piece = os.read(child.stdout.fileno(), _PIECE)
        if not piece:
            raise OSError("it has ended")
        return piece

    data = bytearray()
    while b"\n" not in data:
        data += more()
    line, _, data = data.partition(b"\n")
    answer = json.loads(line)
    while len(data) < int(answer.get("size", 0)):
        data += more()
    return answer, data


def _end(child: _Child) -> None:
    child.kill()
    child.communicate()


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Decode what is asked for until nobody asks any more."""
    for name in _LOADED:
        import_module(name)
    _tell(answers, {})
    for line in requests:
        asked = json.loads(line)
        # Its default action ends libraries in C, too, which hear of nothing else.
        signal.setitimer(signal.ITIMER_REAL, asked.pop("longest"))
        try:
            _tell(answers, *_answer_to(asked))
        except UnreadablePicture as error:
            _tell(answers, {"reason": error.reason})
        signal.setitimer(signal.ITIMER_REAL, 0)


def _answer_to(asked: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    if asked.pop("measures", False):
        from visterm.pictures.decoding.size import picture_size

        return {"shape": picture_size(asked["path"])}, b""
    found = _decoded(**asked)
    data = b"".join(pixels.tobytes() for pixels in found.pixels)
    shape = (len(found.pixels), *found.pixels[0].shape)
    return {"shape": shape, "size": len(data), "seconds": found.seconds}, data


def _tell(answers: IO[bytes], answer: dict[str, Any], data: bytes = b"") -> None:
    answers.write(json.dumps(answer).encode() + b"\n" + data)
    answers.flush()


def _decoded(path: str, second: float | None, every: bool = False, **limits: Any) -> Frames:
    from visterm.pictures.decoding.decoder import read_picture
    from visterm.pictures.decoding.frames import Frames, decode_frames, is_video, limit_memory

    if not is_video(path):
        return Frames([None], [read_picture(path, **limits)])
    limit_memory()
    return decode_frames(path, second=second, every=every, **limits)


if __name__ == "__main__":
    # What a decoder prints must not be taken for pixels.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        serve(sys.stdin.buffer, out)
