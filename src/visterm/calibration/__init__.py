"""Scores → probabilities and cut-offs: what a score is worth, and where good matches end."""

from visterm.calibration.calibration import Calibration, PlattScale, word_statistics
from visterm.calibration.cutoff import mean_f1, probability_threshold
from visterm.calibration.estimation import calibrate

__all__ = [
    "Calibration",
    "PlattScale",
    "calibrate",
    "mean_f1",
    "probability_threshold",
    "word_statistics",
]
