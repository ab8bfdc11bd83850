"""Errors for people: what was wrong, where, and what to do next."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


class VistermError(Exception):
    """Anything visterm can explain; the command line prints it as one line, without a traceback."""


class BadInput(VistermError, ValueError):
    """An argument, array or file does not fit what was asked of it."""


class NotAllowed(BadInput):
    """Whoever asked for a change may not do it."""


class NotFitted(VistermError):
    """A model or extractor was used before it learnt anything."""


def not_fitted(message: str) -> NotFitted:
    """`NotFitted`, which is scikit-learn's NotFittedError as well where scikit-learn is loaded."""
    if "sklearn.exceptions" not in sys.modules:
        return NotFitted(message)
    from sklearn.exceptions import NotFittedError

    class _NotFitted(NotFitted, NotFittedError):
        pass

    _NotFitted.__name__ = NotFitted.__name__
    return _NotFitted(message)


class UnreadablePicture(VistermError):
    """A picture could not be decoded safely; ``reason`` says why in a few words."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"{where}: {reason}")
        self.where = where
        self.reason = reason

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        # Exceptions cross process pools by calling their class with ``args``; ours takes two.
        return type(self), (self.where, self.reason)


class MissingExtra(VistermError):
    """A library of an optional extra is needed; the message says how to install it."""


@contextmanager
def encodable() -> Iterator[None]:
    """Refuse text that no file can hold: half of a character, as wrong encodings leave it.

    >>> with encodable():
    ...     "a \\ud83d boat".encode()
    Traceback (most recent call last):
    visterm.errors.BadInput: 'a \\ud83d boat' holds half of a character ('\\ud83d'), which cannot be
    stored; write it in UTF-8
    """
    try:
        yield
    except UnicodeEncodeError as error:
        raise unencodable(error) from None


def unencodable(error: UnicodeEncodeError) -> BadInput:
    """What to tell about a text that no file can hold."""
    text, half = error.object, error.object[error.start]
    near = text[max(0, error.start - 20) : error.start + 20]
    return BadInput(
        f"{near!a} holds half of a character ({half!a}), which cannot be stored; write it in UTF-8"
    )


@contextmanager
def needs_extra(extra: str, what: str) -> Iterator[None]:
    """Let a failing import say which extra to install.

    >>> with needs_extra("research", "figures need matplotlib"):
    ...     import no_such_library
    Traceback (most recent call last):
    visterm.errors.MissingExtra: figures need matplotlib (No module named 'no_such_library');
    install it with: pip install 'visterm[research]'
    """
    try:
        yield
    except ImportError as error:
        line = f"{what} ({error}); install it with: pip install 'visterm[{extra}]'"
        raise MissingExtra(line) from None
