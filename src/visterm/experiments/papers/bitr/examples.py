"""What the BITR paper shows instead of counting: table 1's data sets and figures 5 and 6.

Figure 6 has a query and its best answer for each experiment, both ways; here test pictures and
texts are drawn by the seed, so nobody picked them, and the five best answers are shown.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from visterm.datasets import DATASETS, CaptionedDataset, data_folder
from visterm.errors import BadInput
from visterm.evaluation import Table
from visterm.evaluation.figure_page import Card, Group, figure_page
from visterm.experiments.papers.bitr.cnn_methods import bitr_on_cca, near_labels
from visterm.experiments.papers.bitr.cross_dataset import Corpora
from visterm.experiments.papers.bitr.directions import FOUND, PairVectors, nearest
from visterm.experiments.papers.bitr.methods import bitr
from visterm.experiments.papers.bitr.partitions import IaprExperiment
from visterm.experiments.papers.bitr.phrase_labels import phrase_documents
from visterm.experiments.papers.published import published
from visterm.experiments.runner.protocol import Source
from visterm.experiments.runner.reports import Report
from visterm.experiments.runner.vector_cache import cnn_vectors
from visterm.progress import Progress, silent
from visterm.text import Vocabulary
from visterm.text.spaces import Lsa
from visterm.text.tokens import tokens

THEIRS = published("bitr")
_SHOWN = 3  # queries each way
_DIMENSIONS = 500


class Answered(NamedTuple):
    """A query, its best answers, and which of them are known to be right."""

    query: Card
    answers: list[Card]


def bitr_1(data: Source, seed: int = 0, progress: Progress = silent) -> Report:
    """Samples, captions a picture and words a caption of each data set; figure 5 as a page."""
    rows: dict[str, list[float | int | str | None]] = {
        f"{name}, published": list(figures) for name, figures in THEIRS["table 1"].items()
    }
    found, groups = {}, []
    for name, dataset in _datasets(data).items():
        every = dataset.development + dataset.tested
        captions, _ = every.single_captions()
        words = np.array([len(tokens(caption)) for caption in captions])
        found[name] = {
            "samples": len(every),
            "captions_a_picture": round(len(captions) / len(every), 2),
            "words_a_caption": round(float(words.mean()), 2),
            "words_deviation": round(float(words.std()), 2),
        }
        spread = f"{words.mean():.2f} ± {words.std():.2f}"
        rows[f"{name}, ours"] = [str(len(every)), f"{len(captions) / len(every):g}", spread]
        drawn = np.random.default_rng(seed).permutation(len(every))[:_SHOWN]
        cards = [Card(every.captions[i].replace("\n", " / "), every.paths[i]) for i in drawn]
        groups.append(Group(name, cards))
    columns = ["samples", "captions a picture", "words a caption"]
    table = Table(f"BITR table 1, data sets ({THEIRS['source']})", columns, rows)
    page = figure_page(groups, title="Pictures and what is said of them", note="Drawn by the seed.")
    return Report(table, {"published": THEIRS["table 1"], "ours": found}, page)


def _datasets(data: Source) -> dict[str, CaptionedDataset]:
    if isinstance(data, CaptionedDataset):
        return {data.name: data}
    alone = data is not None and data.name in DATASETS
    names = [data.name] if data is not None and alone else list(DATASETS)
    found = {}
    for name in names:
        folder = data / name if data is not None and not alone else data_folder(name, data)
        if folder.is_dir():
            found[name] = DATASETS[name](folder)
    if not found:
        raise BadInput(f"none of {', '.join(DATASETS)} is in {data}; give the folder above them")
    return found


def bitr_fig6(data: Source, seed: int = 0, progress: Progress = silent) -> Report:
    """Each experiment's answers both ways, as a page: captions, another set's, phrases, labels."""
    iapr = IaprExperiment.read(data, seed)
    drawn = np.random.default_rng(seed)
    shown = {
        "experiment 1, captions": _captions(iapr, drawn, progress),
        "experiment 2, captions of Flickr8k": _across(data, seed, drawn, progress),
        "experiment 3, phrases": _labels(
            iapr, phrase_documents(iapr.captions, progress), drawn, progress
        ),
        "experiment 4, labels": _labels(iapr, iapr.labels, drawn, progress),
    }
    groups, found, rows = [], {}, {}
    for name, ways in shown.items():
        found[name] = {way: [_as_object(one) for one in every] for way, every in ways.items()}
        for way, every in ways.items():
            right = [sum(card.right for card in one.answers) for one in every]
            rows[f"{name}, {way}"] = [len(every), sum(right) if "2" not in name else None]
            groups += [Group(f"{name}: {way}", [one.query, *one.answers]) for one in every]
    table = Table("BITR figure 6, queries drawn by the seed", ["queries", "right answers"], rows)
    note = (
        "BITR-C over the space that CCA finds for CNN vectors and texts, on IAPR TC-12's test "
        f"pictures. First the query, then its {FOUND} best answers; what is known to be right is "
        "framed or ticked. Another data set's captions have no right one."
    )
    return Report(table, found, figure_page(groups, title="BITR, both ways", note=note))


def _captions(
    iapr: IaprExperiment, drawn: np.random.Generator, progress: Progress
) -> dict[str, list[Answered]]:
    (partition,) = iapr.partitions(0)
    space = Lsa(_DIMENSIONS, random_state=0).fit([iapr.captions[i] for i in partition.development])
    seen = cnn_vectors(iapr.paths, os.cpu_count() or 1, progress)
    texts = np.asarray(space.transform(iapr.captions))
    both, test = bitr_on_cca(PairVectors(seen, texts, partition, progress)), partition.test
    asked = np.sort(drawn.permutation(len(test))[:_SHOWN])
    pictures, said = both.pairs.pictures[test], both.pairs.texts[test]
    to_texts = nearest(
        both.to_texts.picture_rows(pictures[asked]), both.to_texts.text_rows(said), FOUND
    )
    back = nearest(
        both.to_pictures.text_rows(said[asked]), both.to_pictures.picture_rows(pictures), FOUND
    )
    cards = [Card(iapr.captions[i], iapr.paths[i]) for i in test]
    return {
        "picture → captions": [
            Answered(cards[q], [Card(cards[a].text, right=a == q) for a in best])
            for q, best in zip(asked, to_texts, strict=True)
        ],
        "caption → pictures": [
            Answered(
                Card(cards[q].text), [Card(cards[a].text, cards[a].path, a == q) for a in best]
            )
            for q, best in zip(asked, back, strict=True)
        ],
    }


def _across(
    data: Source, seed: int, drawn: np.random.Generator, progress: Progress
) -> dict[str, list[Answered]]:
    """What Flickr8k taught, asked by pictures and captions of IAPR TC-12."""
    corpora = Corpora.read(data, seed)
    partition, captions, owners = corpora.partition("flickr8k"), corpora.captions, corpora.owners
    pool, test = partition.development, corpora.tested("iaprtc12")
    space = Lsa(_DIMENSIONS, random_state=0).fit([captions[i] for i in pool])
    seen = cnn_vectors(corpora.paths, os.cpu_count() or 1, progress)[owners]
    texts = np.asarray(space.transform(captions))
    both = bitr_on_cca(PairVectors(seen, texts, partition, progress))
    asked = test[np.sort(drawn.permutation(len(test))[:_SHOWN])]
    first = pool[np.unique(owners[pool], return_index=True)[1]]  # each picture once
    rows, said = both.pairs.pictures, both.pairs.texts
    to_texts = nearest(
        both.to_texts.picture_rows(rows[asked]), both.to_texts.text_rows(said[pool]), FOUND
    )
    back = nearest(
        both.to_pictures.text_rows(said[asked]), both.to_pictures.picture_rows(rows[first]), FOUND
    )
    cards = [Card(captions[i], corpora.paths[owners[i]]) for i in range(len(captions))]
    return {
        "picture → captions": [
            Answered(cards[q], [Card(captions[a]) for a in pool[best]])
            for q, best in zip(asked, to_texts, strict=True)
        ],
        "caption → pictures": [
            Answered(Card(captions[q]), [cards[a] for a in first[best]])
            for q, best in zip(asked, back, strict=True)
        ],
    }


def _labels(
    iapr: IaprExperiment, documents: Sequence[str], drawn: np.random.Generator, progress: Progress
) -> dict[str, list[Answered]]:
    """Phrases or labels, each a word of the documents."""
    (partition,) = iapr.partitions(0)
    seen = cnn_vectors(iapr.paths, os.cpu_count() or 1, progress)
    vocabulary = Vocabulary.from_captions(documents, language=None)
    true = csr_array(vocabulary.counts(documents) > 0).astype(np.float32)
    near, test = near_labels(seen, true, partition, progress), partition.test
    pairs = PairVectors(seen, true.toarray(), partition, progress).projected(near)
    words = near.text_rows(np.eye(len(vocabulary), dtype=np.float32))
    to_labels, to_pictures, _ = pairs.both(bitr("correlation")).label_scores(words, true)
    held = true[test].toarray() > 0
    labelled = np.flatnonzero(held.any(axis=1))
    asked = np.sort(drawn.permutation(labelled)[:_SHOWN])
    known = np.flatnonzero(held.any(axis=0))
    named = np.sort(drawn.permutation(known)[:_SHOWN])
    said = [word.replace("-", " ") for word in vocabulary.words]
    paths = [iapr.paths[i] for i in test]
    return {
        "picture → texts": [
            Answered(
                Card(iapr.captions[test[q]], paths[q]),
                [Card(said[t], right=bool(held[q, t])) for t in _best(to_labels[q])],
            )
            for q in asked
        ],
        "text → pictures": [
            Answered(
                Card(said[t]),
                [
                    Card(iapr.captions[test[p]], paths[p], right=bool(held[p, t]))
                    for p in _best(to_pictures[t])
                ],
            )
            for t in named
        ],
    }


def _best(scores: NDArray[np.float32]) -> NDArray[np.int64]:
    return np.argsort(-scores, kind="stable")[:FOUND]


def _as_object(one: Answered) -> dict[str, Any]:
    return {"query": _said(one.query), "answers": [_said(card) for card in one.answers]}


def _said(card: Card) -> dict[str, Any]:
    shown = Path(card.path).name if card.path is not None else None
    return {"text": card.text, "picture": shown, "right": bool(card.right)}
