"""What every test stands on: a cache of its own, so that none reads or fills a person's."""

from __future__ import annotations

import os
import tempfile

# Set before anything asks for it; worker processes inherit it.
os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="visterm-cache-")
