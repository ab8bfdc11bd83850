"""The command line: thin, it parses, calls, and prints.

`--json` prints one object on stdout; progress and warnings go to stderr. Exit codes: 0 done,
1 failed, 2 wrong use.
"""

from __future__ import annotations

import gc
import os
import sys

from visterm.errors import BadInput, VistermError

_SETTINGS = ".numba_config.yaml"
_GARBAGE = 100_000
"""Objects that are made before Python looks for unused ones: loading makes many, and all are used.
"""


def console() -> None:
    """What the shell calls: `main`, but whoever only searched waits for no tidying up.

    To take its modules apart takes Python a sixth of the time of such a command.
    """
    if main() and "multiprocessing" not in sys.modules:  # which may have children to end
        os._exit(0)


def main() -> bool:
    """Run the command line; errors for people are one line, without a traceback.

    Returns whether it was a search, which leaves nothing behind that is not written yet.
    """
    gc.set_threshold(_GARBAGE)
    try:
        from visterm.cli.search import quick_options, run

        _load_nothing_from_here()
        _check_one_collection(sys.argv[1:])
        options = quick_options(sys.argv[1:])
        if options is not None:
            run(options)
            sys.stdout.flush()
            sys.stderr.flush()
            return True
        from visterm.cli.app import app

        app()
    except VistermError as error:
        print(f"visterm: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, BadInput) else 1)
    except KeyboardInterrupt:
        print("visterm: stopped", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output has gone; closing quietly is what other tools do.
        sys.stderr.close()
        sys.exit(1)
    return False


def _load_nothing_from_here() -> None:
    """Keep this process and its children from code and settings in the folder one stands in.

    They may be of whoever sent the pictures. Python puts that folder first for ``-m`` and ``-c``,
    by which helpers begin, and numba reads a file of settings there, by which it unpickles kernels
    and overwrites files. A process that was begun so itself has trusted the folder, and may have
    visterm from there.
    """
    for name in ("NUMBA_CACHE_DIR", "NUMBA_CACHE_LOCATOR_CLASSES"):
        os.environ.setdefault(name, "")  # which wins over that file, whenever it comes
    try:
        here = os.getcwd()
    except OSError:  # it was deleted
        here = ""
    if not {"", here} & set(sys.path):
        os.environ["PYTHONSAFEPATH"] = "1"
        if os.path.lexists(_SETTINGS):
            raise BadInput(
                f"{_SETTINGS} in this folder would change how visterm computes, and may let it run "
                "what others wrote; move it away, or call visterm from another folder"
            )


def _check_one_collection(arguments: list[str]) -> None:
    """Option parsers take the last of two silently; the first was meant as much."""
    before = arguments[: arguments.index("--")] if "--" in arguments else arguments
    named = [word for word in before if word.partition("=")[0] in ("-C", "--collection")]
    if len(named) > 1:
        raise BadInput("one collection at a time: -C is given more than once")


__all__ = ["console", "main"]
