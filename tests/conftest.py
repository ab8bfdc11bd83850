"""What every test stands on: a cache of its own, so that none reads or fills a person's."""

from __future__ import annotations

import os
import tempfile

from hypothesis import settings

# Set before anything asks for it; worker processes inherit it.
os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="visterm-cache-")

# A run says the same about the same tree; HYPOTHESIS_PROFILE=explore looks for new examples.
settings.register_profile("repeatable", derandomize=True)
settings.register_profile("explore", derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
