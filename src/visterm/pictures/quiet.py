"""Keep Pillow's warnings about damaged files off the screen, also where threads decode at once."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

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
