"""One method on one partition: pairs of vectors in, the figures of both directions out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array

from visterm.evaluation.caption_ranks import CaptionRanks, equal_captions
from visterm.evaluation.caption_similarity import CaptionSimilarity
from visterm.evaluation.labels import LabelRanking, labels_both_ways, ranked
from visterm.experiments.papers.bitr.partitions import Partition
from visterm.experiments.runner.cross_modal_ranks import ranks_in_blocks
from visterm.models import Cca
from visterm.models.inputs import Vectors
from visterm.models.pairs import PairModel
from visterm.progress import Progress, silent
from visterm.text.spaces.space import unit

Rows = NDArray[np.float32]
Make = Callable[[str], PairModel]
"""Makes the unfitted model that ranks "texts" for a picture, or "pictures" for a text."""
Fit = Callable[[], "Both"]
"""Fits a method's models, when it is called: figures that are kept need none."""
Figures = dict[str, float]
Model = TypeVar("Model", bound=PairModel)
_WEIGHTS = (0.1, 0.2, 0.4, 0.8, 1.5, 3.0)  # of scores beside how often labels are given
FOUND = 5  # captions compared with the true one, as in the paper


@dataclass(frozen=True, eq=False)
class PairVectors:
    """Vectors of all pictures and of all their texts, row by row, and the partition they have."""

    pictures: Rows
    texts: Vectors
    partition: Partition
    progress: Progress = silent

    def choose(self, model: Model) -> Model:
        """Fit to the training pairs; validation pairs choose, and are not learnt from."""
        train, held = (
            (self.pictures[numbers], self.texts[numbers])
            for numbers in (self.partition.train, self.partition.validation)
        )
        model.fit(*train, validation=held, progress=self.progress)
        return model

    def fit(self, model: Model) -> Model:
        """Choose on the validation pictures, and learn from them too."""
        return self.choose(model.set_params(retrain=True))

    def projected(self, model: Cca) -> PairVectors:
        """Both sides in the space that CCA found for them."""
        rows = model.picture_rows(self.pictures), model.text_rows(self.texts)
        return PairVectors(*rows, self.partition, self.progress)

    def both(self, make: Make) -> Both:
        """Fitted models of both directions; one model where the direction changes nothing."""
        to_texts = self.fit(make("texts"))
        alike = "ranks" not in to_texts.get_params()
        return Both(self, to_texts, to_texts if alike else self.fit(make("pictures")))


@dataclass(frozen=True, eq=False)
class Both:
    """Models of both directions on a partition, and what they are worth."""

    pairs: PairVectors
    to_texts: PairModel
    to_pictures: PairModel

    @property
    def partition(self) -> Partition:
        return self.pairs.partition

    def chosen(self, method: str) -> dict[str, dict[str, Any]]:
        """What validation pictures decided for a method, each way."""
        ways = {"to text": self.to_texts, "to picture": self.to_pictures}
        left_out = ("n_features_in_", "n_texts_in_", "sums_")
        return {
            f"{method}, {way}": model.decided()
            | {
                name.rstrip("_"): getattr(model, name)
                for name in model.facts
                if name not in left_out
            }
            for way, model in ways.items()
        }

    def captions(self, captions: Sequence[str]) -> dict[str, Figures]:
        """BLEU, ROUGE over all other pictures' captions, ranks among the tested ones."""
        test, others = self.partition.test, self.partition.development
        tested = [captions[i] for i in test]
        similarity = CaptionSimilarity([captions[i] for i in others], tested)
        figures = {}
        for way, model in (("to text", self.to_texts), ("to picture", self.to_pictures)):
            pictures, texts = (
                model.picture_rows(self.pairs.pictures),
                model.text_rows(self.pairs.texts),
            )
            asked, answers = (pictures, texts) if way == "to text" else (texts, pictures)
            found = nearest(asked[test], answers[others], FOUND)
            alike = similarity_figures(similarity, found, way)
            figures[way] = alike | _ranks(asked[test], answers[test], tested)
        return figures

    def labels(
        self, vectors: Rows, true: csr_array, *, by_angle: bool = False
    ) -> dict[str, Figures]:
        """P@5 and mAP of labels, given as vectors of the text space, for the tested pictures.

        With them P@5 and mAP of "plain" F, without how often labels are given. ``by_angle`` ranks
        pictures by rows of unit length, so that long ones do not come first for every label.
        """
        held = csr_array(true[self.partition.test])
        to_labels, to_pictures, plain = self.label_scores(vectors, true, by_angle=by_angle)
        figures = label_figures(ranked(to_labels, held), ranked(to_pictures, csr_array(held.T)))
        alone = ranked(plain, held)
        figures["to text"] |= {
            "P@5 plain": alone.precision,
            "mAP plain": alone.mean_average_precision,
        }
        return figures

    def label_scores(
        self, vectors: Rows, true: csr_array, *, by_angle: bool = False
    ) -> tuple[Rows, Rows, Rows]:
        """Scores of labels for the tested pictures, of pictures for labels, and plain F.

        Vectors of labels say what a label is like, not how often it is given, so labels are ranked
        for a picture by ``log P(label) + β·F``, β chosen on the validation pictures. Pictures are
        ranked for a label by F: its frequency is the same for all of them. Of the two models the
        one that did better on the validation pictures ranks them.
        """
        p = self.partition
        plain = self._scores(self.to_texts, p.test, vectors)
        chosen = self._scores(self.to_texts, p.validation, vectors)
        given = np.asarray(true[p.development].sum(axis=0)).reshape(-1)
        prior = np.log((given + 0.5) / (len(p.development) + 1))
        spread = max(float(chosen.std()), 1e-12)
        weights = [one / spread for one in _WEIGHTS]
        reached = [
            ranked(prior + weight * chosen, true[p.validation]).mean_average_precision
            for weight in weights
        ]
        weight = weights[int(np.argmax(reached))]
        better = max(self.to_pictures, self.to_texts, key=lambda model: model.validation_)
        to_labels = np.asarray(prior + weight * plain, np.float32)
        return to_labels, self._scores(better, p.test, vectors, by_angle).T, plain

    def _scores(
        self,
        model: PairModel,
        pictures: NDArray[np.int64],
        vectors: Rows,
        by_angle: bool = False,
    ) -> Rows:
        rows = model.picture_rows(self.pairs.pictures[pictures])
        return (unit(rows) if by_angle else rows) @ model.text_rows(vectors).T


def label_figures(to_labels: LabelRanking, to_pictures: LabelRanking) -> dict[str, Figures]:
    """What `labels_both_ways` found, by the names of the columns."""
    return {
        way: {"P@5": one.precision, "mAP": one.mean_average_precision}
        for way, one in (("to text", to_labels), ("to picture", to_pictures))
    }


def score_figures(scores: NDArray[np.floating], true: csr_array) -> dict[str, Figures]:
    """P@5 and mAP both ways of one table of scores, pictures × labels."""
    both = labels_both_ways(scores, true)
    return label_figures(both.to_labels, both.to_pictures)


def similarity_figures(
    similarity: CaptionSimilarity, found: NDArray[np.int64], way: str
) -> Figures:
    """BLEU and ROUGE of the captions found for each true one, the other way round → pictures."""
    back = way == "to picture"
    together = similarity.corpus_bleu(
        found.ravel(), np.repeat(np.arange(len(found)), found.shape[1]), true_is_candidate=back
    )
    alike = similarity.of_best(found, "to pictures" if back else "to text")
    return dict(alike) | {"BLEU-1 corpus": together}


def nearest(asked: Rows, answers: Rows, count: int) -> NDArray[np.int64]:
    """Numbers of the best answers of each query, the best first; lower numbers among equals.

    >>> nearest(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32), 1).tolist()
    [[0], [1]]
    """
    parts = []
    for at in range(0, len(asked), 512):
        scores = asked[at : at + 512] @ answers.T
        parts.append(np.argsort(-scores, axis=1, kind="stable")[:, :count])
    return np.concatenate(parts)


def _ranks(asked: Rows, answers: Rows, captions: Sequence[str]) -> Figures:
    """Ranks of the true one, and of any that is worded like it (marked =)."""
    own = csr_array(eye_array(len(asked), dtype=np.float32))
    equal, alone = (
        ranks_in_blocks(lambda part: asked[part] @ answers.T, true)
        for true in (equal_captions(captions), own)
    )
    summary = CaptionRanks(equal, alone).summary((1, 10, 50))
    worded = summary["equal captions count"]
    return summary["only its own"] | {f"{name} =": value for name, value in worded.items()}


def mean_figures(
    found: Sequence[Mapping[str, Figures]], mean: Callable[..., Any] = np.mean
) -> dict[str, Figures]:
    """The mean over partitions of every figure, or what else tells of several.

    >>> mean_figures([{"to text": {"R@50": 0.1}}, {"to text": {"R@50": 0.3}}])
    {'to text': {'R@50': 0.2}}
    """
    return {
        way: {name: float(mean([one[way][name] for one in found])) for name in figures}
        for way, figures in found[0].items()
    }
