"""What the BITR paper shows instead of counting: table 1's data sets and figures 5 and 6.

Figure 6 has a query and its best answer for each experiment, both ways; here test pictures and
texts are drawn by the seed, so nobody picked them, and the five best answers are shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from papers.bitr2017.cross_dataset import Corpora
from papers.pair_tables import FOUND, Both, fit_both, label_scores, nearest
from papers.pairs import LabelSets, Numbers, Pairs, Spaces, phrase_documents
from visterm.datasets import DATASETS, CaptionedDataset, data_folder
from visterm.errors import BadInput
from visterm.evaluation import Table
from visterm.evaluation.contact_sheet import Card, Group, contact_sheet
from visterm.experiments.protocol import Source
from visterm.experiments.tables import Entry, Report
from visterm.progress import Progress, silent
from visterm.text.tokens import tokens

_SHOWN = 3  # queries each way
_CAPTIONS, _LABELS = "BITR-C on that CCA", "BITR-C (CCA of CNN)"  # methods that answer


class Answered(NamedTuple):
    """A query, its best answers, and which of them are known to be right."""

    query: Card
    answers: list[Card]


def bitr_1(entry: Entry, data: Source = None, seed: int = 0, progress: Progress = silent) -> Report:
    """Samples, captions a picture and words a caption of each data set; figure 5 as a page."""
    rows: dict[str, list[float | int | str | None]] = {
        f"{name}, published": list(figures) for name, figures in entry.published.items()
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
    table = Table(entry.titled(""), columns, rows)
    page = contact_sheet(
        groups, title="Pictures and what is said of them", note="Drawn by the seed."
    )
    return Report(table, {"published": entry.published, "ours": found}, page)


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


def bitr_fig6(
    entry: Entry, data: Source = None, seed: int = 0, progress: Progress = silent
) -> Report:
    """Each experiment's answers both ways, as a page: captions, another set's, phrases, labels."""
    iapr = Pairs.of(entry.dataset(data), seed)
    drawn = np.random.default_rng(seed)
    phrases = phrase_documents(iapr.captions, progress)
    shown = {
        "experiment 1, captions": _captions(entry, iapr, drawn, progress),
        "experiment 2, captions of Flickr8k": _across(entry, data, seed, drawn, progress),
        "experiment 3, phrases": _labels(entry, iapr, phrases, drawn, progress),
        "experiment 4, labels": _labels(entry, iapr, iapr.labels, drawn, progress),
    }
    groups, found, rows = [], {}, {}
    for name, ways in shown.items():
        found[name] = {way: [_as_object(one) for one in every] for way, every in ways.items()}
        for way, every in ways.items():
            right = [sum(card.right for card in one.answers) for one in every]
            rows[f"{name}, {way}"] = [len(every), sum(right) if "2" not in name else None]
            groups += [Group(f"{name}: {way}", [one.query, *one.answers]) for one in every]
    table = Table(entry.titled(", queries drawn by the seed"), ["queries", "right answers"], rows)
    note = (
        "BITR-C over the space that CCA finds for CNN vectors and texts, on IAPR TC-12's test "
        f"pictures. First the query, then its {FOUND} best answers; what is known to be right is "
        "framed or ticked. Another data set's captions have no right one."
    )
    return Report(table, found, contact_sheet(groups, title="BITR, both ways", note=note))


def _method(entry: Entry, group: str, name: str) -> Any:
    return entry.paper["methods"][group][name]


def _captions(
    entry: Entry, iapr: Pairs, drawn: np.random.Generator, progress: Progress
) -> dict[str, list[Answered]]:
    (partition,) = iapr.partitions(0)
    spaces = Spaces(iapr, partition, entry.paper["spaces"], progress=progress)
    both, test = fit_both(spaces, _method(entry, "cnn", _CAPTIONS)), partition.test
    asked = np.sort(drawn.permutation(len(test))[:_SHOWN])
    to_texts, back = _nearest(both, test[asked], test, test)
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


def _nearest(
    both: Both, asked: Numbers, texts: Numbers, pictures: Numbers
) -> tuple[Numbers, Numbers]:
    """The best texts of pictures, and the best pictures of their texts."""
    seen, said = both.rows("to text")
    to_texts = nearest(seen[asked], said[texts], FOUND)
    seen, said = both.rows("to picture")
    return to_texts, nearest(said[asked], seen[pictures], FOUND)


def _across(
    entry: Entry, data: Source, seed: int, drawn: np.random.Generator, progress: Progress
) -> dict[str, list[Answered]]:
    """What Flickr8k taught, asked by pictures and captions of IAPR TC-12."""
    corpora = Corpora.read(data, seed)
    pairs, partition = corpora.pairs, corpora.partition("flickr8k")
    pool, test = partition.development, corpora.tested("iaprtc12")
    spaces = Spaces(pairs, partition, entry.paper["spaces"], progress=progress)
    both = fit_both(spaces, _method(entry, "cnn", _CAPTIONS))
    asked = test[np.sort(drawn.permutation(len(test))[:_SHOWN])]
    first = pool[np.unique(pairs.owners[pool], return_index=True)[1]]  # each picture once
    to_texts, back = _nearest(both, asked, pool, first)
    cards = [
        Card(text, pairs.paths[i]) for text, i in zip(pairs.captions, pairs.owners, strict=True)
    ]
    return {
        "picture → captions": [
            Answered(cards[q], [Card(cards[a].text) for a in pool[best]])
            for q, best in zip(asked, to_texts, strict=True)
        ],
        "caption → pictures": [
            Answered(Card(cards[q].text), [cards[a] for a in first[best]])
            for q, best in zip(asked, back, strict=True)
        ],
    }


def _labels(
    entry: Entry,
    iapr: Pairs,
    documents: Sequence[str],
    drawn: np.random.Generator,
    progress: Progress,
) -> dict[str, list[Answered]]:
    """Phrases or labels, each a word of the documents."""
    (partition,) = iapr.partitions(0)
    labels, test = LabelSets(documents), partition.test
    spaces = Spaces(iapr, partition, entry.paper["spaces"], labels, progress)
    method = _method(entry, "cnn-labels", _LABELS)
    vectors = spaces.label_vectors(method["texts"])
    scores = label_scores(fit_both(spaces, method), vectors, labels.true, partition)
    held = labels.true[test].toarray() > 0
    asked = np.sort(drawn.permutation(np.flatnonzero(held.any(axis=1)))[:_SHOWN])
    named = np.sort(drawn.permutation(np.flatnonzero(held.any(axis=0)))[:_SHOWN])
    said = [word.replace("-", " ") for word in labels.words]
    pictures = [Card(iapr.captions[i], iapr.paths[i]) for i in test]
    return {
        "picture → texts": [
            Answered(
                pictures[q],
                [Card(said[t], right=bool(held[q, t])) for t in _best(scores.with_prior[q])],
            )
            for q in asked
        ],
        "text → pictures": [
            Answered(
                Card(said[t]),
                [
                    replace(pictures[p], right=bool(held[p, t]))
                    for p in _best(scores.to_pictures[t])
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
