"""What a probability is called: a good match, a possible one, or none.

A match that is likelier than not is good. One that is less likely, but worth a look, is possible.
``benchmarks.honest_answers`` says how often either is right.
"""

from __future__ import annotations

GOOD = 0.5
"""The probability from which a match is good."""
POSSIBLE = 0.1
"""The probability from which a match is possible."""
