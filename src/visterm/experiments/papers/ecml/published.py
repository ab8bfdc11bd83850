"""Figures of the ECML paper and its report, as fractions."""

from __future__ import annotations

ECML = "Grangier, Monay and Bengio, ECML 2006"

# AvgP on Corel: table 4 of the report (3 of the paper), all queries, and table 6, single words.
ECML_4 = {
    "blobs": {"CMRM": 0.104, "CMTT": 0.118, "PLSA": 0.097, "PAMIR": 0.119},
    "SIFT": {"CMRM": 0.108, "CMTT": 0.091, "PLSA": 0.123, "PAMIR": 0.160},
    "blobs + SIFT": {"CMRM": 0.147, "CMTT": 0.115, "PLSA": 0.167, "PAMIR": 0.216},
}
ECML_6 = {
    "blobs": {"CMRM": 0.142, "CMTT": 0.172, "PLSA": 0.155, "PAMIR": 0.166},
    "SIFT": {"CMRM": 0.142, "CMTT": 0.151, "PLSA": 0.171, "PAMIR": 0.238},
    "blobs + SIFT": {"CMRM": 0.192, "CMTT": 0.191, "PLSA": 0.245, "PAMIR": 0.307},
}
