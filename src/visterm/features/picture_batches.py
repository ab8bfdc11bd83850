"""Work over many pictures: decoded one by one, made rows of in fixed batches, wherever work runs.

A broken picture costs its own row and yields a reason. Batches have one size whatever the number
of processes, so that the results do not depend on it either.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from visterm.compute import cluster, map_batches
from visterm.errors import BadInput, UnreadablePicture
from visterm.pictures.sandbox import read_picture
from visterm.progress import Progress, silent

BATCH = 32
CRASHES = "it crashes the process that describes it"

Pixels: TypeAlias = "NDArray[np.uint8]"
Picture: TypeAlias = "str | os.PathLike[str] | NDArray[np.uint8]"
Pictures: TypeAlias = "Sequence[Picture]"
"""A picture file, or the pixels of one."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class Skipped:
    """A picture that could not be used, by its place in the list, and why."""

    number: int
    picture: str
    reason: str


@dataclass(frozen=True)
class PictureBatch(Generic[Result]):
    """The result of one batch: of which pictures it speaks, and which were skipped."""

    numbers: list[int]
    result: Result | None
    skipped: list[Skipped] = field(default_factory=list)


def over_pictures(
    work: Callable[[list[Pixels]], Result],
    pictures: Pictures,
    *,
    max_side: int | None = None,
    n_jobs: int = 1,
    portable: bool = True,
    progress: Progress = silent,
    what: str = "pictures",
) -> Iterator[PictureBatch[Result]]:
    """Run ``work`` over batches of decoded pictures, in order, a few batches ahead at most.

    The work is done on a cluster, or by several processes where there is more than one batch;
    otherwise, or where it is not ``portable`` to other processes, in this one.

    >>> flat = np.zeros((4, 4, 3), dtype=np.uint8)
    >>> [batch.result for batch in over_pictures(len, [flat, flat])]
    [2]
    """
    check_list(pictures)
    batches = [
        list(enumerate(pictures[start : start + BATCH], start))
        for start in range(0, len(pictures), BATCH)
    ]
    done, n_jobs = 0, min(n_jobs, len(batches))
    found: Iterator[PictureBatch[Result]]
    if portable and batches and (n_jobs > 1 or cluster() is not None):
        there = _DecodeAndWork(work, _Decode(max_side), os.getcwd())
        found = map_batches(there, batches, n_jobs=n_jobs)
    else:
        found = _in_this_process(work, batches, _Decode(max_side))
    for batch in found:
        done += len(batch.numbers) + len(batch.skipped)
        progress(what, done, len(pictures))
        yield batch


def gather(
    work: Callable[[list[Pixels]], Result], pictures: Pictures, **options: Any
) -> tuple[list[Result], list[int], list[Skipped]]:
    """Results of all batches, the numbers of the pictures they speak of, and what was skipped.

    ``options`` are those of `over_pictures`.

    >>> gather(len, [np.zeros((4, 4, 3), dtype=np.uint8)])
    ([1], [0], [])
    """
    results, numbers, skipped = [], [], []
    for batch in over_pictures(work, pictures, **options):
        if batch.result is not None:
            results.append(batch.result)
        numbers += batch.numbers
        skipped += batch.skipped
    return results, numbers, skipped


def check_list(pictures: Pictures) -> None:
    """Refuse a single picture where a list is meant, before it is taken for one.

    >>> check_list("tree.jpg")
    Traceback (most recent call last):
    visterm.errors.BadInput: pictures come as a list; put a single one in brackets
    """
    single = isinstance(pictures, str | bytes | os.PathLike)
    if single or (isinstance(pictures, np.ndarray) and pictures.ndim == 3):
        raise BadInput("pictures come as a list; put a single one in brackets")
    if not hasattr(pictures, "__len__") or not hasattr(pictures, "__getitem__"):
        raise BadInput(f"pictures come as a list, not as a {type(pictures).__name__}")


def _in_this_process(
    work: Callable[[list[Pixels]], Result],
    batches: list[list[tuple[int, Picture]]],
    decode: _Decode,
) -> Iterator[PictureBatch[Result]]:
    """One batch after another; while one is worked on, a thread decodes the next."""
    if not batches:
        return
    from concurrent.futures import ThreadPoolExecutor

    # Not in a with statement: whoever stops on the way leaves this to the garbage collector, which
    # may come in a thread that is just beginning, and to wait for another one there is to hang.
    ahead = ThreadPoolExecutor(1)
    coming = ahead.submit(decode, batches[0])
    for following in [*batches[1:], None]:
        decoded = coming.result()
        if following is not None:
            coming = ahead.submit(decode, following)
        yield _worked(work, decoded)
    ahead.shutdown()


class _DecodeAndWork(Generic[Result]):
    """Decode and work in another process, which may have been begun in another folder."""

    def __init__(
        self,
        work: Callable[[list[Pixels]], Result],
        decode: _Decode,
        folder: str,
    ) -> None:
        self.work, self.decode, self.folder = work, decode, folder
        # Of the extractor, whose method the work nearly always is.
        self.gpus = getattr(getattr(work, "__self__", None), "gpus", 0)

    def __call__(self, batch: list[tuple[int, Picture]]) -> PictureBatch[Result]:
        with suppress(OSError):  # another machine need not have it; paths there are whole ones
            os.chdir(self.folder)
        return _worked(self.work, self.decode(batch))

    def lost(self, batch: list[tuple[int, Picture]]) -> PictureBatch[Result]:
        """What a picture gives that ends the process which works on it."""
        skipped = [Skipped(number, str(picture), CRASHES) for number, picture in batch]
        return PictureBatch([], None, skipped)


@dataclass(frozen=True)
class _Decode:
    """Decodes the pictures of a batch."""

    max_side: int | None

    def __call__(self, batch: list[tuple[int, Picture]]) -> PictureBatch[list[Pixels]]:
        numbers, decoded, skipped = [], list[Pixels](), []
        for number, picture in batch:
            try:
                decoded.append(_pixels_of(picture, self.max_side))
                numbers.append(number)
            except UnreadablePicture as error:
                skipped.append(Skipped(number, error.where, error.reason))
        return PictureBatch(numbers, decoded, skipped)


def _worked(
    work: Callable[[list[Pixels]], Result], decoded: PictureBatch[list[Pixels]]
) -> PictureBatch[Result]:
    result = work(decoded.result) if decoded.result else None
    return PictureBatch(decoded.numbers, result, decoded.skipped)


def _pixels_of(picture: Picture, max_side: int | None) -> Pixels:
    if isinstance(picture, str | os.PathLike):
        return read_picture(picture, max_side=max_side)
    if not isinstance(picture, np.ndarray):
        kind = type(picture).__name__
        raise UnreadablePicture(f"a {kind}", "a picture is a path or an array of pixels")
    if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3 or not picture.size:
        form = f"{picture.dtype} of shape {picture.shape}"
        raise UnreadablePicture("pixels", f"height × width × 3 bytes are needed, not {form}")
    return shrunk(picture, max_side)


def shrunk(pixels: Pixels, max_side: int | None) -> Pixels:
    """Pixels given as an array, brought to the size that files are decoded to."""
    h, w = pixels.shape[:2]
    if max_side is None or max(h, w) <= max_side:
        return pixels
    from PIL import Image

    scale = max_side / max(h, w)
    size = (max(1, round(w * scale)), max(1, round(h * scale)))
    return np.asarray(
        Image.fromarray(pixels).resize(size, Image.Resampling.LANCZOS, reducing_gap=3)
    )
