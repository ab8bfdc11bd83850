"""Figures of the TPAMI paper, as fractions."""

from __future__ import annotations

TPAMI = "Grangier and Bengio, IEEE TPAMI 30(8), 2008"

# Table 7: seconds of indexing, 8: microseconds a query, on an AMD Athlon64 of 2.4 GHz.
TPAMI_7 = {"CMRM": 3.0, "CMTT": 9.0, "PLSA": 240.0, "SVM": 687.0, "PAMIR": 17.0}
TPAMI_8 = dict.fromkeys(TPAMI_7, 340.0)
# Table 9: Corel test queries. Table 10 and 11: AvgP by slice. Table 12: unseen queries.
TPAMI_9 = {
    "CMRM": {"AvgP": 0.192, "BEP": 0.131, "P@10": 0.078},
    "CMTT": {"AvgP": 0.198, "BEP": 0.137, "P@10": 0.076},
    "PLSA": {"AvgP": 0.207, "BEP": 0.128, "P@10": 0.087},
    "SVM": {"AvgP": 0.220, "BEP": 0.138, "P@10": 0.093},
    "PAMIR": {"AvgP": 0.263, "BEP": 0.174, "P@10": 0.100},
}
TPAMI_10 = {
    "CMRM": {"easy": 0.340, "difficult": 0.158},
    "CMTT": {"easy": 0.313, "difficult": 0.172},
    "PLSA": {"easy": 0.380, "difficult": 0.167},
    "SVM": {"easy": 0.419, "difficult": 0.173},
    "PAMIR": {"easy": 0.433, "difficult": 0.224},
}
TPAMI_11 = {
    "CMRM": {"single": 0.258, "multi": 0.186},
    "CMTT": {"single": 0.264, "multi": 0.193},
    "PLSA": {"single": 0.317, "multi": 0.197},
    "SVM": {"single": 0.327, "multi": 0.210},
    "PAMIR": {"single": 0.340, "multi": 0.257},
}
TPAMI_12 = {
    "CMRM": {"AvgP": 0.127, "BEP": 0.071, "P@10": 0.025},
    "CMTT": {"AvgP": 0.129, "BEP": 0.063, "P@10": 0.027},
    "PLSA": {"AvgP": 0.111, "BEP": 0.041, "P@10": 0.029},
    "SVM": {"AvgP": 0.101, "BEP": 0.031, "P@10": 0.025},
    "PAMIR": {"AvgP": 0.161, "BEP": 0.077, "P@10": 0.035},
}

# Table 1: the sizes of the Corel benchmark, as it prints them.
COREL_STATISTICS = {
    "vocabulary": "179",
    "test_queries": "2241",
    "single": "179",
    "multi": "2062",
    "easy": "421",
    "difficult": "1820",
    "mean_relevant": "2.37",
    "mean_words": "2.51",
    "train_queries": "7221",
    "train_mean_relevant": "5.33",
    "train_mean_words": "2.78",
    "validation_queries": "1962",
    "validation_mean_relevant": "2.44",
    "validation_mean_words": "2.51",
}

# Tables 3 and 4: AvgP on Corel's validation queries. Sides in pixels of the paper's
# pictures, which are twice as large as ours.
TPAMI_3 = {32: 0.261, 48: 0.253, 64: 0.273, 96: 0.253, 128: 0.223, 192: 0.178, 256: 0.183}
TPAMI_4 = {"expected likelihood": 0.231, "match": 0.256, "visterm, linear": 0.273}
