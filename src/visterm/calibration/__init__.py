"""Scores → probabilities and cut-offs: what a score is worth, and where good matches end."""

from visterm.calibration.calibration import Calibration, uncalibrated, word_statistics
from visterm.calibration.cutoff import GOOD, POSSIBLE
from visterm.calibration.estimation import calibrate
from visterm.calibration.judgements import judged_shift
from visterm.calibration.link import Link
from visterm.calibration.mention_rate import mention_rate

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
