"""Table 1 of the TPAMI paper: the sizes of Corel and of its queries."""

from __future__ import annotations

import numpy as np

from visterm.evaluation import Table
from visterm.experiments.papers.published import published
from visterm.experiments.runner.protocol import Source, corel5k
from visterm.experiments.runner.reports import Report
from visterm.progress import Progress, silent
from visterm.text import Relevance


def corel_statistics(data: Source, seed: int = 0, progress: Progress = silent) -> Report:
    """Sizes of the Corel benchmark: what the protocol must give before anything is measured."""
    protocol = corel5k(data, seed=seed)
    train, valid = protocol.split
    ours = {"vocabulary": len(protocol.vocabulary)} | {
        _name(name, key): value
        for name, relevance in (
            ("test", protocol.test_relevance),
            ("train", protocol.relevance_of(train)),
            ("validation", protocol.relevance_of(valid)),
        )
        for key, value in query_statistics(relevance).items()
    }
    relevance = protocol.test_relevance
    ours["p10_ceiling"] = round(100 * p10_ceiling(relevance), 1)
    ours["unseen_in_training"] = int((~protocol.seen_in_training).sum())
    ours["unseen_in_development"] = int((~protocol.seen_queries).sum())
    theirs = published("tpami")["table 1"]
    rows = {name.replace("_", " "): [theirs.get(name), str(value)] for name, value in ours.items()}
    table = Table("Corel statistics", ["published", "ours"], rows)
    return Report(table, ours)


def _name(part: str, key: str) -> str:
    """Test figures go by their plain names, as the papers give them."""
    return key if part == "test" and key != "queries" else f"{part}_{key}"


def p10_ceiling(relevance: Relevance) -> float:
    """P@10 of a ranker that is always right: few queries have ten relevant pictures.

    >>> from scipy.sparse import csr_array
    >>> p10_ceiling(Relevance(csr_array([[1.0]]), csr_array([[1.0, 1.0, 0.0]])))
    0.2
    """
    return float(np.minimum(relevance.relevant_per_query, 10).mean() / 10)


def query_statistics(relevance: Relevance) -> dict[str, float]:
    words, relevant = relevance.words_per_query, relevance.relevant_per_query
    return {
        "queries": len(relevance),
        "single": int((words == 1).sum()),
        "multi": int((words > 1).sum()),
        "easy": int((relevant >= 3).sum()),
        "difficult": int((relevant < 3).sum()),
        "mean_relevant": round(float(relevant.mean()), 2),
        "mean_words": round(float(words.mean()), 2),
    }
