"""Scores → probabilities and cut-offs: what a score is worth, and where good matches end."""

from visterm.calibration.calibration import Calibration, uncalibrated, word_statistics
from visterm.calibration.cutoff import mean_f1, probability_threshold
from visterm.calibration.estimation import calibrate
from visterm.calibration.judgements import judged_shift
from visterm.calibration.linear_calibration import LinearCalibration
from visterm.calibration.link import Link
from visterm.calibration.mention_rate import mention_rate

__all__ = [
    "Calibration",
    "LinearCalibration",
    "Link",
    "calibrate",
    "judged_shift",
    "mean_f1",
    "mention_rate",
    "probability_threshold",
    "uncalibrated",
    "word_statistics",
]
