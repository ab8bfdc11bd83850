"""Scores → probabilities and cut-offs: what a score is worth, and where good matches end."""

from visterm.calibration.calibration import (
    GOOD,
    POSSIBLE,
    Calibration,
    Link,
    uncalibrated,
    word_statistics,
)
from visterm.calibration.estimation import calibrate, judged_shift, mention_rate

__all__ = [
    "GOOD",
    "POSSIBLE",
    "Calibration",
    "Link",
    "calibrate",
    "judged_shift",
    "mention_rate",
    "uncalibrated",
    "word_statistics",
]
