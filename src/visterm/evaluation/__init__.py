"""How good rankings are: measures, slices, significance and tables.

Importing this package loads NumPy only; numba and SciPy come with the first measurement.
"""

from visterm.evaluation.caption_ranks import CaptionRanks as CaptionRanks
from visterm.evaluation.caption_ranks import caption_ranks as caption_ranks
from visterm.evaluation.caption_similarity import CaptionSimilarity as CaptionSimilarity
from visterm.evaluation.evaluation import Evaluation as Evaluation
from visterm.evaluation.evaluation import evaluate as evaluate
from visterm.evaluation.evaluation import evaluate_rows as evaluate_rows
from visterm.evaluation.evaluation import seen_queries as seen_queries
from visterm.evaluation.evaluation import slices as slices
from visterm.evaluation.labels import annotation as annotation
from visterm.evaluation.labels import labels_both_ways as labels_both_ways
from visterm.evaluation.measures import Measure as Measure
from visterm.evaluation.measures import mean_average_precision as mean_average_precision
from visterm.evaluation.measures import measure as measure
from visterm.evaluation.significance import Comparison as Comparison
from visterm.evaluation.significance import best_of as best_of
from visterm.evaluation.significance import compare as compare
from visterm.evaluation.tables import Table as Table
from visterm.evaluation.tables import measures_table as measures_table
