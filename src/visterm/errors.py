"""Errors for people: what was wrong, where, and what to do next."""


class VistermError(Exception):
    """Anything visterm can explain; the command line prints it as one line, without a traceback."""


class BadInput(VistermError, ValueError):
    """An argument, array or file does not fit what was asked of it."""


class NotFitted(VistermError):
    """A model or extractor was used before it learnt anything."""


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
