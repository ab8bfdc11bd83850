"""The command line: thin, it parses, calls, and prints.

`--json` prints one object on stdout; progress and warnings go to stderr. Exit codes: 0 done,
1 failed, 2 wrong use.
"""

from __future__ import annotations

import sys

from visterm.errors import BadInput, VistermError


def main() -> None:
    """Run the command line; errors for people are one line, without a traceback."""
    from visterm.cli.quick import understood

    try:
        wish = understood(sys.argv[1:])
        if wish is not None:
            from visterm.cli.searching import answer

            answer(wish)
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


__all__ = ["main"]
