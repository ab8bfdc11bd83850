"""Picture files are read by children of this process, so that one which dies costs a picture.

Files are decoded by libraries in C, and the most careful checks do not keep one of these from a
crash. So every file is read by a child: there are a few, each of which serves one thread at a time,
with limits on memory and on processor time; whichever dies or hangs is replaced.

A child writes a line once it is ready, then reads requests and writes readings: a line of JSON
each way, and bytes after it (a picture that is no file, the pixels). Nothing is pickled: whoever
takes over a child by a bug of a decoder can send numbers and texts, and no programs.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import queue
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from visterm.child_process import child_environment
from visterm.errors import BadInput, UnreadablePicture
from visterm.pictures.formats import NO_MEMORY
from visterm.pictures.metadata import Caption, Capture, Metadata
from visterm.pictures.reader import Reading, Wanted, read_here

if TYPE_CHECKING:
    from visterm.pictures.decoder import Pixels

CRASHES = "it crashes the decoder"
HANGS = "decoding it takes too long"
NEVER_READY = "the decoder does not start"
MEMORY = 1_000_000_000
"""Bytes that a child may take for a file, besides what it has when it is ready."""
_LONGEST = 10.0
_TEXT_TAKES = 6
"""So many times as long may a picture take whose text is read: a page of small print does."""
_PATIENCE = 3
"""So many times that processor time may pass until a file is given up that takes none."""
_LONGEST_START = 60.0
"""Seconds for a child to load its libraries, which no picture is to blame for."""
_ALIVE = b".\n"


class _Child:
    """A process that reads files, one at a time; it is loading its libraries when this is made."""

    def __init__(self, command: tuple[str, ...]) -> None:
        from subprocess import PIPE, Popen

        # In a session of its own: Ctrl-C is its parent's, after whom it ends.
        self.process = Popen(
            command, stdin=PIPE, stdout=PIPE, env=child_environment(), start_new_session=True
        )
        self.is_ready = self.has_answered = self.is_late = False

    def end(self) -> None:
        self.process.kill()
        with contextlib.suppress(OSError):
            self.process.communicate()

    def ask(self, request: dict[str, Any], data: bytes, longest: float) -> Reading | str:
        """What it reads; where it ends instead, or takes too long, the reason."""
        assert self.process.stdin is not None
        reason = NEVER_READY
        try:
            if not self.is_ready:
                self._answer(_LONGEST_START)
                self.is_ready = True
            reason = CRASHES
            self.process.stdin.write(json.dumps(request).encode() + b"\n" + data)
            self.process.stdin.flush()
            reading = _reading(*self._answer(_PATIENCE * longest))
            self.has_answered = True
            return reading
        except (OSError, ValueError, KeyError, TypeError):
            self.end()
        from signal import Signals

        timer = -getattr(Signals, "SIGPROF", 0)
        if reason == CRASHES and (self.is_late or self.process.returncode == timer):
            return f"{HANGS}, more than {longest:g} seconds"
        return reason

    def _answer(self, patience: float) -> tuple[dict[str, Any], bytearray]:
        """A line and the bytes after it; where they do not come in time it is killed."""
        assert self.process.stdout is not None
        line = _ALIVE
        while line == _ALIVE:
            late = threading.Timer(patience, self._give_up)
            late.start()
            try:
                line = self.process.stdout.readline()
                answer = {} if line == _ALIVE else json.loads(line)
                data = bytearray(int(answer.get("bytes", 0)))
                if self.process.stdout.readinto(data) != len(data):  # type: ignore[attr-defined]
                    raise OSError("it has ended")
            finally:
                late.cancel()
        return answer, data

    def _give_up(self) -> None:
        self.is_late = True
        self.process.kill()


class Readers:
    """A few children that read files.

    Parameters
    ----------
    children
        How many read at the same time; they begin when they are first needed.
    longest
        Seconds of processor time after which a picture is given up, and a third of those that may
        pass while it takes none; those of a child that begins do not count.
    command
        What a child runs.
    """

    def __init__(
        self,
        children: int | None = None,
        longest: float = _LONGEST,
        command: tuple[str, ...] = (sys.executable, "-c", f"import {__name__} as s; s.main()"),
    ) -> None:
        self.children = children or max(2, os.cpu_count() or 1)
        self._longest, self._command = longest, command
        # The last one first, so that no more begin than are needed at the same time.
        self._free: queue.LifoQueue[_Child | None] = queue.LifoQueue()
        for _ in range(self.children):
            self._free.put(None)

    def begin(self) -> None:
        """Let a child load its libraries while this process does something else."""
        child = self._free.get()
        try:
            child = child or _Child(self._command)
        finally:
            self._free.put(child)

    def read(self, source: str | os.PathLike[str] | bytes, wanted: Wanted) -> Reading:
        """What a child reads of a file, or of its bytes, or the reason why not."""
        data, path = (source, None) if isinstance(source, bytes) else (b"", os.fspath(source))
        try:
            # A child stands where this process stood when it began.
            path = None if path is None else str(Path(path).absolute())
        except OSError:  # the folder one stands in is gone
            return Reading(reason="no such file")
        longest = self._longest * (_TEXT_TAKES if wanted.text else 1)
        about = {"path": path, "bytes": len(data), "longest": longest}
        request = about | {"wanted": asdict(wanted)}
        child = self._free.get()
        try:
            while True:
                child = child or _Child(self._command)
                was_used = child.has_answered
                answer = child.ask(request, data, longest)
                if isinstance(answer, Reading):
                    return answer
                child = None
                if answer != CRASHES or not was_used:
                    return Reading(reason=answer)
                # A picture before this one may have harmed it, so that a new one is asked.
        except OSError:
            return Reading(reason=NEVER_READY)
        finally:
            self._free.put(child)

    def close(self) -> None:
        """End the children that are free."""
        with contextlib.suppress(queue.Empty):
            while True:
                child = self._free.get_nowait()
                if child is not None:
                    child.end()


def _message(reading: Reading) -> tuple[dict[str, Any], bytes]:
    """A reading as JSON and the bytes of its pixels."""
    data = b"".join(pixels.tobytes() for pixels in reading.pixels)
    about = {
        "digest": None if reading.digest is None else reading.digest.hex(),
        "metadata": asdict(reading.metadata),
        "size": reading.size,
        "seconds": reading.seconds,
        "text": reading.text,
        "reason": reading.reason,
        "shape": (len(reading.pixels), *reading.pixels[0].shape) if reading.pixels else None,
        "bytes": len(data),
    }
    return about, data


def _reading(answer: dict[str, Any], data: bytearray) -> Reading:
    """The reading that a child sent."""
    written = answer["metadata"]
    captions = [Caption(**caption) for caption in written["captions"]]
    capture, recorded = Capture(**written["capture"]), Capture(**written["recorded"])
    reading = Reading(
        digest=None if answer["digest"] is None else bytes.fromhex(answer["digest"]),
        metadata=Metadata(captions, capture, recorded, written["problems"]),
        size=None if answer["size"] is None else tuple(answer["size"]),
        seconds=answer["seconds"],
        text=answer["text"],
        reason=answer["reason"],
    )
    if answer["shape"] is not None:
        import numpy as np

        reading.pixels = list(np.frombuffer(data, np.uint8).reshape(answer["shape"]))
    return reading


_turn = threading.RLock()  # a garbage collector may end what somebody forgot to close
_own: tuple[int, Readers] | None = None
"""The children, and the process whose they are: a fork of it must not ask them, too."""


def readers() -> Readers:
    """The children of this process, which begin when they are first asked."""
    global _own
    with _turn:
        if _own is None or _own[0] != os.getpid():
            _own = os.getpid(), Readers()
            atexit.register(_own[1].close)
        return _own[1]


def read_picture(
    source: str | os.PathLike[str] | bytes,
    *,
    max_side: int | None = None,
    second: float | None = None,
) -> Pixels:
    """Decode one picture to upright RGB.

    JPEG, PNG, WebP, GIF (its first frame), TIFF (its first page), BMP and AVIF are recognised by
    content, whatever the name says; HEIC too where the extra ``heic`` is installed, RAW files with
    ``raw``, and a frame of a video with ``video``. EXIF's orientation is applied, alpha is laid on
    white, 16-bit and float greys are scaled to eight bits.

    Parameters
    ----------
    source
        A path, or the bytes of a picture file. Only regular files are opened. Decoding may take 64
        million pixels, a gigabyte of memory, and ten seconds of processor time.
    max_side
        Shrink so that the longer side has at most so many pixels; never enlarge. Much faster for
        JPEG, which is then decoded at a fraction of its size.
    second
        Of a video, the frame that is shown then; without it, the most usual one.

    Returns
    -------
    (height, width, 3) uint8 array, C-contiguous.

    Raises
    ------
    UnreadablePicture
        For whatever cannot be read, with the reason in a few words.

    Examples
    --------
    >>> import io
    >>> from PIL import Image
    >>> file = io.BytesIO()
    >>> Image.new("LA", (40, 20), (0, 0)).save(file, "PNG")
    >>> read_picture(file.getvalue(), max_side=10)[0, 0].tolist()
    [255, 255, 255]
    >>> read_picture(b"GIF89a")
    Traceback (most recent call last):
    visterm.errors.UnreadablePicture: picture in memory: its GIF data are broken
    """
    if max_side is not None and max_side < 1:
        raise BadInput("max_side must be at least 1")
    return _readable(source, Wanted(pixels=True, second=second, max_side=max_side)).pixels[0]


def picture_size(source: str | os.PathLike[str] | bytes) -> tuple[int, int]:
    """Width and height as `read_picture` would give them, without decoding a pixel if it can be.

    >>> import io
    >>> from PIL import Image
    >>> file = io.BytesIO()
    >>> Image.new("RGB", (40, 20)).save(file, "PNG")
    >>> picture_size(file.getvalue())
    (40, 20)
    """
    size = _readable(source, Wanted(size=True)).size
    assert size is not None
    return size


def captions_of(
    path: str | os.PathLike[str], *, problems: list[str] | None = None
) -> list[Caption]:
    """All captions of one picture, at most one for each source.

    Metadata from strangers never raises: what is broken gives no caption, and a line about it is
    appended to ``problems`` where a list is given.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     picture = pathlib.Path(folder, "boat.jpg")
    ...     _ = picture.with_suffix(".txt").write_text("a boat on the sea")
    ...     captions_of(picture)
    [Caption(source='txt', text='a boat on the sea')]
    """
    metadata = readers().read(path, Wanted(metadata=True)).metadata
    if problems is not None:
        problems.extend(metadata.problems)
    return metadata.captions


def _readable(source: str | os.PathLike[str] | bytes, wanted: Wanted) -> Reading:
    reading = readers().read(source, wanted)
    if reading.reason is not None:
        where = "picture in memory" if isinstance(source, bytes) else os.fspath(source)
        raise UnreadablePicture(where, reading.reason)
    return reading


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Read what is asked for until nobody asks any more."""
    import warnings

    import numpy as np  # noqa: F401 - before it is ready
    from PIL import AvifImagePlugin, Image

    def tell(answer: bytes) -> None:
        answers.write(answer)
        answers.flush()

    def alive() -> None:  # a large file takes its time
        _limit_time(longest)
        tell(_ALIVE)

    warnings.simplefilter("ignore")
    Image.MAX_IMAGE_PIXELS = None  # `check_size` knows who allows how many
    AvifImagePlugin.DEFAULT_MAX_THREADS = 1  # a thread reserves memory that it never takes
    taken, reads_text = _memory_taken(), False
    tell(b"{}\n")
    for line in requests:
        asked = json.loads(line)
        wanted, longest = Wanted(**asked["wanted"]), asked["longest"]
        source = requests.read(asked["bytes"]) if asked["path"] is None else asked["path"]
        if wanted.text and not reads_text:  # what it is loaded with is no picture's
            reads_text = True
            from visterm.pictures import ocr

            ocr.engine()
            taken = _memory_taken()
        _limit_memory(taken)
        _limit_time(longest)
        try:
            reading = read_here(source, wanted, alive)
        except MemoryError:
            reading = Reading(reason=NO_MEMORY)
        about, data = _message(reading)
        tell(json.dumps(about).encode() + b"\n" + data)
        _limit_time(0)


def _limit_time(seconds: float) -> None:
    """End this process after so many seconds of the processor: a busy machine is no fault of the
    picture. The signal's default action ends libraries in C, too, which hear of nothing else."""
    import signal

    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _memory_taken() -> int | None:
    """Bytes of addresses that this process has; None where the system does not say."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        with open("/proc/self/statm") as about:
            return int(about.read().split()[0]) * resource.getpagesize()
    return None


def _limit_memory(taken: int | None) -> None:
    """Let this process take `MEMORY` more and no more."""
    if taken is not None:
        import resource

        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, resource.RLIM_INFINITY))


def main() -> None:
    """What a child runs."""
    # What a decoder prints must not be taken for pixels, and is nobody's business.
    out, nowhere = os.fdopen(os.dup(1), "wb"), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        serve(sys.stdin.buffer, out)
