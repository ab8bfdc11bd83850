"""What a cluster's workers and drivers load is imported by them, with their own search path."""

from __future__ import annotations

collect_ignore = ["fragile.py", "killed_driver.py"]
