"""The command line: thin, it parses, calls, and prints.

`--json` prints one object on stdout; progress and warnings go to stderr. Exit codes: 0 done,
1 failed, 2 wrong use.
"""

from __future__ import annotations

import os
import sys

from visterm.errors import BadInput, VistermError


def main() -> None:
    """Run the command line; errors for people are one line, without a traceback."""
    from visterm.cli.quick_search import parse

    _load_nothing_from_here()
    try:
        _check_one_collection(sys.argv[1:])
        options = parse(sys.argv[1:])
        if options is not None:
            from visterm.cli.search_command import run

            run(options)
        else:
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


def _load_nothing_from_here() -> None:
    """Keep children from the code in this folder, which may be of whoever sent the pictures.

    Python puts the folder that one stands in first for ``-m`` and ``-c``, by which helpers begin. A
    process that was begun so itself has trusted it, and may have visterm from there.
    """
    if not {"", os.getcwd()} & set(sys.path):
        os.environ["PYTHONSAFEPATH"] = "1"


def _check_one_collection(arguments: list[str]) -> None:
    """Option parsers take the last of two silently; the first was meant as much."""
    before = arguments[: arguments.index("--")] if "--" in arguments else arguments
    named = [one for one in before if one in ("-C", "--collection") or one[:13] == "--collection="]
    if len(named) > 1:
        raise BadInput("one collection at a time: -C is given more than once")


__all__ = ["main"]
