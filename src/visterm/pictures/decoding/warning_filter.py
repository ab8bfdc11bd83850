"""Keep what Pillow and libtiff say about damaged files off the screen, also among threads."""

from __future__ import annotations

import ctypes
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

_lock = threading.Lock()
_changes: list[warnings.catch_warnings[None]] = []
_reading = 0


@contextmanager
def quiet() -> Iterator[None]:
    """Ignore warnings of Pillow and pillow-heif while the block runs.

    Python's filters belong to the whole process, so threads that decode at the same time share one
    change of them: the first to enter makes it and the last to leave takes it back.
    """
    global _reading
    with _lock:
        _reading += 1
        if _reading == 1:
            change = warnings.catch_warnings()
            change.__enter__()
            warnings.filterwarnings("ignore", module=r"(PIL|pillow_heif)\b")
            _changes.append(change)
    try:
        yield
    finally:
        with _lock:
            _reading -= 1
            if _reading == 0:
                _changes.pop().__exit__(None, None, None)


@cache
def silence_libtiff() -> None:
    """Keep the libtiff inside Pillow from printing; its errors still come as exceptions.

    libtiff writes straight to the process's error stream unless its handlers are taken away, which
    Pillow does not do. Where Pillow hides the library's functions (Windows), it goes on printing.
    """
    from PIL import _imaging

    try:
        library = ctypes.CDLL(_imaging.__file__)
        setters = (library.TIFFSetErrorHandler, library.TIFFSetWarningHandler)
    except (AttributeError, OSError):
        return
    for setter in setters:
        setter.argtypes, setter.restype = [ctypes.c_void_p], ctypes.c_void_p
        setter(None)
