"""Python processes that this one begins: what they may load."""

from __future__ import annotations

import os
import sys


def child_environment() -> dict[str, str]:
    """An environment for a child, which loads what it needs from where this process has its own.

    Nothing is loaded from the folder one stands in, which Python would put first for ``-m``: it may
    hold anybody's files. That holds for children of the child, too.

    >>> child_environment()["PYTHONSAFEPATH"]
    '1'
    """
    paths = os.pathsep.join(filter(None, sys.path))
    return os.environ | {"PYTHONPATH": paths, "PYTHONSAFEPATH": "1"}
