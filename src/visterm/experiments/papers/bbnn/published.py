"""Figures of the BBNN report, as fractions."""

from __future__ import annotations

BBNN = "Grangier and Bengio, ICANN 2006"

# Tables 2 and 3: Corel test queries, all of them and those of one word.
BBNN_2 = {
    "CMRM": {"AvgP": 0.147, "P@10": 0.058},
    "PLSA": {"AvgP": 0.167, "P@10": 0.071},
    "PAMIR": {"AvgP": 0.216, "P@10": 0.088},
    "BBNN": {"AvgP": 0.262, "P@10": 0.102},
}
BBNN_3 = {
    "CMRM": {"AvgP": 0.192, "P@10": 0.178},
    "PLSA": {"AvgP": 0.245, "P@10": 0.213},
    "PAMIR": {"AvgP": 0.307, "P@10": 0.253},
    "BBNN": {"AvgP": 0.350, "P@10": 0.285},
}
