"""Pictures and texts that belong together, and the spaces in which entries compare them.

A pair is a picture and one of its texts; a picture may stand in several pairs. Entries name spaces
of pictures ("topics", "cnn", "views", "cnn-128") and of texts ("topics", "words", "lsa",
"sentences", "labels"), and may define further ones, in which a model brings both sides together.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from visterm.datasets import CaptionedDataset
from visterm.errors import BadInput
from visterm.estimator import clone
from visterm.experiments.cache import FEATURES, data_digest, remembered
from visterm.features import CNN, DenseSift, Extractor, parse_features
from visterm.features.notation import parse_named
from visterm.models import model_of
from visterm.models.inputs import Vectors
from visterm.models.pairs import PairModel
from visterm.progress import Progress, silent
from visterm.text import Vocabulary
from visterm.text.spaces import Glove, Lsa, Sentences, Topics, Words
from visterm.text.spaces.space import unit
from visterm.text.spaces.topics import Lda
from visterm.text.tokens import stem, tokens

PARTS = 10
TOPICS = 100
LSA_DIMENSIONS = 500
VIEWS = (CNN(size=288), CNN(network="lite1", size=320), CNN(network="lite2", size=352))
"""What each of three networks sees of a picture."""
_VISTERM_PICTURES, _TOPIC_PICTURES = 4000, 5000  # pictures that visterms and their topics come from
_LEAST_CAPTIONS, _LEAST_PHRASES = 3, 10  # captions that hold a word or pair, or a phrase
_AT_ONCE = 1024

Rows = NDArray[np.float32]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Partition:
    """Numbers of the pairs that train, that choose, and that are tested."""

    name: str
    train: Numbers
    validation: Numbers
    test: Numbers

    @cached_property
    def development(self) -> Numbers:
        """All that are learnt from in the end: training and validation pairs."""
        return np.sort(np.concatenate([self.train, self.validation]))


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pictures, those to test on last, and their texts with the number of each one's picture."""

    paths: list[Path]
    captions: list[str]
    owners: Numbers
    labels: list[str]
    tested: int
    seed: int

    @classmethod
    def of(cls, data: CaptionedDataset, seed: int) -> Pairs:
        """A data set's pictures, each with its whole caption and labels."""
        every, n = data.development + data.tested, len(data.tested)
        return cls(every.paths, every.captions, np.arange(len(every)), every.words, n, seed)

    @cached_property
    def digest(self) -> str:
        pictures = data_digest(self.paths, [""] * len(self.paths))
        texts = [Path(str(owner)) for owner in self.owners], self.captions
        return f"{pictures} {data_digest(*texts)} {self.tested} {self.seed}"

    def partitions(self, count: int) -> Iterator[Partition]:
        """The first so many of ten parts as test pictures, or the data set's own for 0.

        A tenth of the other pictures chooses hyper-parameters, and is learnt from afterwards too.
        """
        n = len(self.paths)
        if not 0 <= count <= PARTS:
            raise BadInput(f"there are 1 to {PARTS} partitions, or 0 for the given split")
        if count == 0:
            yield self._partition(np.arange(n - self.tested, n), "given split")
        parts = np.array_split(np.random.default_rng(self.seed).permutation(n), PARTS)
        for number in range(count):
            yield self._partition(np.sort(parts[number]), f"part {number + 1} of {PARTS}")

    def _partition(self, test: Numbers, name: str) -> Partition:
        rest = np.setdiff1d(np.arange(len(self.paths)), test)
        order = np.random.default_rng(self.seed).permutation(rest)
        held = len(rest) // PARTS
        return Partition(name, np.sort(order[held:]), np.sort(order[:held]), test)


@dataclass(frozen=True, eq=False)
class LabelSets:
    """Labels, or phrases, each a word of a document."""

    documents: Sequence[str]

    @cached_property
    def words(self) -> tuple[str, ...]:
        return tuple(Vocabulary.from_captions(self.documents, language=None).words)

    @cached_property
    def true(self) -> csr_array:
        """Pairs × labels."""
        known = Vocabulary.from_captions(self.documents, language=None)
        return csr_array(known.counts(self.documents) > 0).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Spaces:
    """Vectors of all pairs by the names of spaces; what is learnt is learnt from a partition."""

    pairs: Pairs
    partition: Partition
    defined: Mapping[str, Mapping[str, Any]]
    labels: LabelSets | None = None
    progress: Progress = silent
    features: str | None = None
    """What pictures are in place of what the light network sees in them."""

    @cached_property
    def _kept(self) -> dict[Any, Any]:
        return {}

    def _once(self, what: str, name: str, make: Any) -> Any:
        if (what, name) not in self._kept:
            self._kept[what, name] = make()
        return self._kept[what, name]

    def pictures(self, name: str) -> Rows:
        """The pictures of all pairs."""
        return np.asarray(self._once("pictures", name, lambda: self._pictures(name)))

    def _pictures(self, name: str) -> Rows:
        pairs = self.pairs
        if name in self.defined:
            return self.fitted(name).picture_rows(self.pictures(self.defined[name]["pictures"]))
        if name.endswith("-128"):
            return principal_components(self.pictures(name[:-4]), self.partition)
        if name == "topics":
            return visual_topics(pairs, self.progress)[pairs.owners]
        views = seen_by(self.features, {"cnn": (CNN(),), "views": VIEWS}[name])
        return cnn_vectors(pairs.paths, views, self.progress)[pairs.owners]

    def texts(self, name: str) -> Vectors:
        """The texts of all pairs."""
        made: Vectors = self._once("texts", name, lambda: self._texts(name))
        return made

    def _texts(self, name: str) -> Vectors:
        if name in self.defined:
            return self.fitted(name).text_rows(self.texts(self.defined[name]["texts"]))
        captions, learnt = self.pairs.captions, self.partition.development
        if name == "labels":
            return self._labels.true.toarray()
        if name == "sentences":
            return caption_vectors(captions, learnt, self.progress)
        if name == "lsa":
            space = Lsa(LSA_DIMENSIONS, random_state=0).fit([captions[i] for i in learnt])
            return np.asarray(space.transform(captions))
        if name == "words":
            means = np.asarray(Glove().fit([captions[i] for i in learnt]).transform(captions))
            return unit(means - means[learnt].mean(axis=0))
        documents = captions if self.labels is None else self.labels.documents
        return np.asarray(self.topics.transform(documents))

    @property
    def topics(self) -> Topics:
        """Topics of captions, or of label sets, each label a word by itself."""

        def make() -> Topics:
            learnt = self.partition.development
            if self.labels is None:
                space = Topics(random_state=self.pairs.seed)
                return space.fit([self.pairs.captions[i] for i in learnt], progress=self.progress)
            space = Topics(TOPICS, language=None, stop_words=(), min_captions=1, random_state=0)
            return space.fit([self.labels.documents[i] for i in learnt])

        found: Topics = self._once("topics", "", make)
        return found

    @property
    def _labels(self) -> LabelSets:
        if self.labels is None:
            raise BadInput("this table has no labels")
        return self.labels

    def label_vectors(self, name: str, *, means: bool = False) -> Rows:
        """Single labels as texts of a space; as means of the texts that hold them if asked for."""
        if name in self.defined:
            inner = self.label_vectors(self.defined[name]["texts"], means=means)
            return self.fitted(name).text_rows(inner)
        if means:
            return mean_texts(np.asarray(self.texts(name)), self._labels.true, self.partition)
        if name == "labels":
            return np.eye(len(self._labels.words), dtype=np.float32)
        return np.asarray(self.topics.labels(self._labels.words))

    def fitted(self, name: str) -> PairModel:
        """The model of a defined space: training pairs teach it and validation pairs choose; or, by
        ``learn``, either part of the pairs teaches it, and nothing is chosen."""

        def make() -> PairModel:
            given = self.defined[name]
            model = pair_model(given["model"])
            both = self.pictures(given["pictures"]), self.texts(given["texts"])
            learn = given.get("learn", "chosen")
            numbers = getattr(self.partition, "train" if learn == "chosen" else learn)
            held = (both[0][self.partition.validation], both[1][self.partition.validation])
            options: dict[str, Any] = {"validation": held} if learn == "chosen" else {}
            model.fit(*(rows[numbers] for rows in both), **options, progress=self.progress)
            return model

        found: PairModel = self._once("fitted", name, make)
        return found


def pair_model(text: str, **fixed: Any) -> PairModel:
    """A model of pairs as entries write it; validation pairs are ranked for their own texts."""
    named = parse_named(text)
    model = model_of(named.name)()
    known = model.get_params()
    usual = {"judged_by": "pairs", "max_words": 1, **fixed}
    fitting = {name: value for name, value in usual.items() if name in known}
    model.set_params(**fitting | named.parameters)
    if not isinstance(model, PairModel):
        raise BadInput(f"{named.name} does not learn from pairs of pictures and texts")
    return model


def principal_components(vectors: Rows, partition: Partition, dimensions: int = 128) -> Rows:
    """The leading principal components of the development pictures, as the paper takes them."""
    learnt = partition.development
    mean = vectors[learnt].mean(axis=0)
    centred = vectors[learnt] - mean
    _, directions = np.linalg.eigh(centred.T @ centred)
    return unit((vectors - mean) @ directions[:, ::-1][:, :dimensions])


def mean_texts(texts: Rows, true: csr_array, partition: Partition) -> Rows:
    """A label as the mean of the development texts that hold it; zeros where none does."""
    learnt = partition.development
    held = csr_array(true[learnt])
    often = np.maximum(np.asarray(held.sum(axis=0)).reshape(-1, 1), 1)
    return np.asarray(held.T @ texts[learnt] / often, np.float32)


def seen_by(features: str | None, usual: Sequence[Extractor]) -> Sequence[Extractor]:
    """The networks that look at pictures: those that a table names, unless others are given."""
    return usual if features is None else (parse_features(features),)


def network_key(features: str | None) -> tuple[str, ...]:
    """What a figure depends on beside its entry: the networks that were given, if any."""
    return () if features is None else (parse_features(features).key,)


def cnn_vectors(paths: list[Path], views: Sequence[Extractor], progress: Progress = silent) -> Rows:
    """What networks see in pictures, side by side, of unit length."""
    parts = [np.asarray(extracted(paths, view, paths, progress), np.float32) for view in views]
    return parts[0] if len(parts) == 1 else np.hstack(parts) / np.float32(np.sqrt(len(parts)))


def extracted(
    paths: list[Path], extractor: Extractor, training: list[Path], progress: Progress
) -> Vectors:
    """Vectors of all pictures, by an extractor that learns from some; kept in the user's cache."""

    def rows() -> Vectors:
        ready = clone(extractor).set_params(n_jobs=os.cpu_count() or 1)
        found = ready.fit(training).extract(paths, progress=progress)
        if found.skipped:
            first = found.skipped[0]
            raise BadInput(f"a benchmark needs all its pictures; {first.picture}: {first.reason}")
        return found.rows

    settings = {k: v for k, v in extractor.get_params().items() if k != "n_jobs"}
    pictures = [data_digest(some, [""] * len(some)) for some in (paths, training)]
    about: tuple[object, ...] = extractor.name, extractor.version, settings, pictures
    if not isinstance(extractor, CNN | DenseSift):  # which files a network has is in its key
        about = extractor.key, pictures
    return remembered("vectors", rows, *about, rooms=FEATURES)


def visual_topics(pairs: Pairs, progress: Progress = silent) -> Rows:
    """Mixtures of 100 visual topics: SIFT on a grid at three scales, 1,000 visterms, LDA.

    The paper learns visterms and topics from pictures of another benchmark; here some of the
    training pictures are used for both, without their captions, for all partitions alike.
    """
    paths, seed = pairs.paths, pairs.seed
    order = np.random.default_rng(seed).permutation(len(paths) - pairs.tested)
    extractor = DenseSift(
        visterms=1000, weighting="counts", root=False, max_side=176, random_state=seed
    )
    training = [paths[i] for i in np.sort(order[:_VISTERM_PICTURES])]
    lda = Lda(TOPICS, max_iter=2, random_state=seed)

    def mixtures() -> Rows:
        counts = csr_array(extracted(paths, extractor, training, progress))
        lda.fit(counts[np.sort(order[:_TOPIC_PICTURES])], progress=progress)
        return np.asarray(lda.transform(counts), np.float32)

    return remembered("topics", mixtures, lda.get_params(), extractor.get_params(), pairs.digest)


def caption_vectors(captions: Sequence[str], trained: Numbers, progress: Progress) -> csr_array:
    """tf·idf of stems and adjacent pairs of them, learnt from some captions; sentence vectors."""
    documents = [stems_and_pairs(caption) for caption in captions]
    space = Words(min_captions=_LEAST_CAPTIONS, language=None)
    space.fit([documents[i] for i in trained])
    words = csr_array(space.transform(documents))
    encoder = Sentences()

    def sentences() -> Rows:
        parts = []
        for at in range(0, len(captions), _AT_ONCE):
            progress("encoding captions", at, len(captions))
            parts.append(np.asarray(encoder.transform(captions[at : at + _AT_ONCE])))
        progress("encoding captions", len(captions), len(captions))
        return np.asarray(np.concatenate(parts), np.float32)

    rows = remembered("sentences", sentences, encoder.name, list(captions), rooms=("text",))
    return csr_array(hstack([words, csr_array(rows)], format="csr"))


def stems_and_pairs(caption: str) -> str:
    """The stems of a caption and its adjacent pairs, each written as one word.

    >>> stems_and_pairs("Two dogs run")
    'two dog run two-dog dog-run'
    """
    found = [stem(token) for token in tokens(caption)]
    return " ".join([*found, *("-".join(pair) for pair in pairwise(found))])


def phrase_documents(captions: Sequence[str], progress: Progress = silent) -> list[str]:
    """The phrases of each caption, each written as one word; those of few captions are left out."""
    from visterm.text.phrases import phrases

    def read() -> list[list[str]]:
        found = []
        for done, caption in enumerate(captions):
            if done % 500 == 0:
                progress("finding phrases", done, len(captions))
            found.append(["-".join("-".join(one.words).split()) for one in phrases(caption)])
        progress("finding phrases", len(captions), len(captions))
        return found

    found = remembered("phrases", read, list(captions), rooms=("text",))
    known = Vocabulary.from_captions(
        (" ".join(one) for one in found), min_captions=_LEAST_PHRASES, language=None
    )
    return [" ".join(word for word in one if word in known) for one in found]
