"""How good rankings are: measures, slices, significance, tables, and TREC's files.

Importing this package loads NumPy only; numba and SciPy come with the first measurement.
"""

from visterm.evaluation.caption_ranks import CaptionRanks, caption_ranks
from visterm.evaluation.caption_similarity import CaptionSimilarity
from visterm.evaluation.evaluation import Evaluation, evaluate, evaluate_rows, seen_queries, slices
from visterm.evaluation.labels import annotation, labels_both_ways
from visterm.evaluation.measures import Measure, mean_average_precision, measure
from visterm.evaluation.significance import Comparison, best_of, compare
from visterm.evaluation.tables import Table, measures_table

__all__ = [
    "CaptionRanks",
    "CaptionSimilarity",
    "Comparison",
    "Evaluation",
    "Measure",
    "Table",
    "annotation",
    "best_of",
    "caption_ranks",
    "compare",
    "evaluate",
    "evaluate_rows",
    "labels_both_ways",
    "mean_average_precision",
    "measure",
    "measures_table",
    "seen_queries",
    "slices",
]
