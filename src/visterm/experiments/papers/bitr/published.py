"""Figures of the BITR paper on IAPR TC-12, as fractions (median ranks as they are)."""

from __future__ import annotations

BITR = "Verma and Jawahar, CVIU 154, 2017"

CAPTION_COLUMNS = ("BLEU-1", "ROUGE-1", "R@50", "median rank")
Both = tuple[tuple[float, ...], tuple[float, ...]]
"""Picture → text, and text → picture."""


def _captions(rows: dict[str, str]) -> dict[str, Both]:
    found: dict[str, Both] = {}
    for name, numbers in rows.items():
        read = [float(number) for number in numbers.split()]
        sides = [(b / 100, r / 100, k / 100, m) for b, r, k, m in (read[:4], read[4:])]
        found[name] = (sides[0], sides[1])
    return found


def _labels(rows: dict[str, str]) -> dict[str, Both]:
    found: dict[str, Both] = {}
    for name, numbers in rows.items():
        p1, m1, p2, m2 = (float(number) / 100 for number in numbers.split())
        found[name] = ((p1, m1), (p2, m2))
    return found


# Table 2: captions by topics (TR) and correlated topics (CTR).
BITR_2 = _captions(
    {
        "CCA": "29.46 30.31 16.32 404.35 30.50 30.16 18.53 301.45",
        "WSABIE (TR)": "26.70 23.75 2.73 932.10 26.01 24.16 2.73 999.10",
        "WSABIE (CTR)": "28.13 24.97 4.76 772.30 27.54 27.00 3.79 798.95",
        "BITR-M (TR)": "31.72 30.43 10.57 519.85 28.58 26.50 2.58 987.45",
        "BITR-M (CTR)": "32.27 31.30 10.30 480.25 30.28 28.20 11.98 409.70",
        "BITR-E (TR)": "31.67 30.47 10.68 493.30 28.74 26.46 2.63 979.45",
        "BITR-E (CTR)": "33.91 32.40 12.41 416.85 30.90 29.01 16.48 334.00",
        "BITR-C (TR)": "32.19 31.65 9.37 594.45 29.63 27.11 2.66 956.05",
        "BITR-C (CTR)": "34.18 32.81 13.78 335.95 31.49 29.66 14.36 355.60",
    }
)
# Table 7: captions by CNN and word vectors.
BITR_7 = _captions(
    {
        "CCA": "31.63 32.78 23.18 277.05 32.79 31.21 22.68 259.00",
        "WSABIE": "29.64 26.85 9.42 571.17 28.40 28.71 7.24 604.89",
        "BITR-M": "34.71 33.98 19.36 261.75 31.02 29.43 21.68 304.85",
        "BITR-E": "35.68 34.59 21.69 283.25 31.95 30.88 22.38 262.35",
        "BITR-C": "36.72 35.45 22.67 243.90 33.61 31.76 19.82 423.55",
    }
)
# Table 5: phrases. Table 6: labels. P@5 and mAP.
BITR_5 = _labels(
    {
        "CCA": "5.22 4.13 1.82 2.62",
        "weighted kNN": "8.38 4.23 2.04 2.98",
        "SVM": "6.85 5.12 1.92 2.44",
        "WSABIE (TR)": "5.32 4.18 1.99 2.34",
        "WSABIE (CTR)": "5.86 4.54 1.58 2.30",
        "BITR-M (TR)": "5.95 4.38 1.79 2.28",
        "BITR-M (CTR)": "6.35 4.76 2.75 3.14",
        "BITR-E (TR)": "6.13 4.94 1.74 2.48",
        "BITR-E (CTR)": "8.63 5.01 2.84 3.49",
        "BITR-C (TR)": "5.98 4.97 1.95 2.55",
        "BITR-C (CTR)": "8.68 5.16 2.88 3.68",
    }
)
BITR_6 = _labels(
    {
        "CCA": "17.29 17.08 4.88 2.97",
        "weighted kNN": "19.31 19.78 8.25 4.30",
        "SVM": "19.15 19.41 5.22 3.13",
        "WSABIE (TR)": "17.67 17.19 2.19 2.34",
        "WSABIE (CTR)": "17.79 18.11 2.48 2.89",
        "BITR-M (TR)": "19.06 17.95 7.90 4.28",
        "BITR-M (CTR)": "18.16 17.99 7.51 4.71",
        "BITR-E (TR)": "18.56 18.59 7.39 4.85",
        "BITR-E (CTR)": "19.32 19.34 8.44 4.95",
        "BITR-C (TR)": "18.75 18.64 8.16 4.59",
        "BITR-C (CTR)": "19.48 19.65 8.71 5.18",
    }
)
# Figure 3, read from the text: seconds for 100,000 pairs of 150 + 150 numbers by C.
BITR_FIG3 = {"1e-05": "15 min", "100000": "18 h"}
# Figure 4: seconds to rank 10 million samples of 100 numbers, scores and sorting.
BITR_FIG4 = {"each by its joint vector": 345.8, "each by two products": 97.6, "all at once": 1.7}
