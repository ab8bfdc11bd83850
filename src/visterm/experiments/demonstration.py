"""The main job in one go, on pictures drawn for it: learn from captions, rank without them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from visterm.datasets import CaptionedDataset, CaptionedPictures, QueryOptions
from visterm.datasets.scenes import draw_scenes
from visterm.evaluation import Evaluation
from visterm.evaluation.contact_sheet import RankedPicture, RankedQuery, contact_sheet
from visterm.evaluation.ranking import top
from visterm.experiments.picture_features import PictureFeatures
from visterm.experiments.protocol import Protocol, protocol_of, with_test
from visterm.experiments.runs import Extracted, Seconds, run
from visterm.files import write_whole
from visterm.models import Pamir
from visterm.progress import Progress, silent

SCENE_FEATURES = "cnn"


@dataclass(frozen=True)
class Demo:
    """What the demo did: the page it wrote, its rankings and its measures."""

    page: Path
    protocol: Protocol
    rankings: list[RankedQuery]
    evaluation: Evaluation
    seconds: Seconds


def run_demo(
    folder: Path, *, pictures: int = 600, seed: int = 0, progress: Progress = silent
) -> Demo:
    """Draw captioned pictures, hide a third of the captions, learn, rank and write a page."""
    folder.mkdir(parents=True, exist_ok=True)
    seconds = Seconds()
    with seconds.on("drawing"):
        protocol = scenes(folder / "pictures", pictures, seed=seed, progress=progress)
    with seconds.on("features"):
        rows = PictureFeatures(protocol).vectors(SCENE_FEATURES, progress=progress)
        vectors = Extracted(*rows)
    model = Pamir(C=(0.03, 0.1, 0.3), max_words=protocol.max_words, retrain=True, random_state=seed)
    outcome = run(protocol, vectors, model, seconds, progress=progress)
    mapped = model.transform(vectors.test)
    rankings = [ranked(protocol, mapped, words) for words in demonstrative_queries(protocol)]
    page = folder / "rankings.html"
    sheet = contact_sheet(
        rankings,
        title="visterm: pictures found from words",
        measures=outcome.evaluation.mean(),
        note=(
            f"{len(protocol.development)} captioned pictures trained {len(protocol.vocabulary)} "
            f"words; these {len(protocol.test)} had their captions hidden."
        ),
    )
    write_whole(page, sheet)
    return Demo(page, protocol, rankings, outcome.evaluation, seconds)


def scenes(folder: Path, pictures: int, *, seed: int = 0, progress: Progress = silent) -> Protocol:
    """Draw captioned pictures; the captions of a third of them are for testing only."""
    return protocol_of(drawn_scenes(folder, pictures, seed, progress), seed=seed)


def drawn_scenes(
    folder: Path, pictures: int, seed: int = 0, progress: Progress = silent
) -> CaptionedDataset:
    """Drawn pictures with captions as a data set, a third of them to be tested on."""
    drawn = draw_scenes(folder, pictures, seed=seed, progress=progress)
    known = CaptionedPictures([p for p, _ in drawn], [" ".join(w) for _, w in drawn], "scenes")
    whole = CaptionedDataset("scenes", known, queries=QueryOptions(language=None))
    return with_test(whole, share=1 / 3, seed=seed)


def demonstrative_queries(protocol: Protocol, count: int = 5) -> list[tuple[str, ...]]:
    """Queries of two or three words with several answers, about different things if possible."""
    relevance = protocol.test_relevance
    words, relevant = relevance.words_per_query, relevance.relevant_per_query
    likely = np.flatnonzero((words >= 2) & (words <= 3) & (relevant <= len(protocol.test) / 8))
    # Rare words with many answers first: the queries a person would try.
    weight = relevant * np.asarray(relevance.queries.astype(bool) @ protocol.vocabulary.idf)
    said = [
        tuple(protocol.vocabulary.words[t] for t in relevance.queries[[query]].indices)
        for query in sorted(likely, key=lambda q: -weight[q])
    ]
    apart: list[tuple[str, ...]] = []
    for query in said:
        if not any(set(query) & set(other) for other in apart):
            apart.append(query)
    others = [query for query in said if query not in apart]
    return (apart + others)[:count]


def ranked(
    protocol: Protocol,
    rows: NDArray[np.float32],
    words: tuple[str, ...],
    shown: int = 5,
    by: str = "",
) -> RankedQuery:
    """The best test pictures for these words, with what their hidden captions say."""
    query = protocol.vocabulary.query_vectors([" ".join(words)])
    scores = np.asarray(query @ rows.T)[0]
    answers = [set(words) <= set(text.split()) for text in protocol.test.words]
    pictures = [
        RankedPicture(
            protocol.test.paths[i], float(scores[i]), protocol.test.captions[i], answers[i]
        )
        for i in top(scores, shown)
    ]
    return RankedQuery(" ".join(words), pictures, sum(answers), by)
