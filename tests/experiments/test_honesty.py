"""Who learns from whom, in every table: spies in the place of models see which pictures reach
``fit``, ``validation`` and ``transform``.

Every picture has a number, which can be read off its features and off its caption.
"""

from __future__ import annotations

import contextlib
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import papers.bitr2017.cross_dataset as cross_dataset
import papers.bitr2017.pages as bitr_pages
import papers.bitr2017.transfer as transfer
import papers.leaderboards.annotation as annotation
import papers.leaderboards.flickr8k as flickr8k
import papers.pair_tables as pair_tables
import papers.pairs as pairs_module
import papers.tpami2008.joint_kernels as joint_kernels
import papers.tpami2008.kernels as kernels
import pytest
from papers.leaderboards.label_scores import Annotators, Estimates
from papers.pairs import LabelSets, Spaces
from scipy.sparse import csr_array, issparse

from visterm.datasets import CaptionedDataset, CaptionedPictures, Corel5k, QueryOptions
from visterm.estimator import clone
from visterm.evaluation import Table
from visterm.evaluation.significance import against_best, resampled_means
from visterm.experiments import comparison, experiment, picture_features
from visterm.experiments.experiment import ALONE, Experiment
from visterm.experiments.protocol import protocol_of
from visterm.experiments.ranking_tables import _marked, _p_values
from visterm.experiments.runs import RankedRun, Seconds, outcome_of
from visterm.experiments.tables import entry, reproduce
from visterm.features.bag_of_visterms import Bag
from visterm.models import Model
from visterm.models.pairs import PairModel

BITS = 5
DRAWN = np.random.default_rng(3).permutation(np.arange(1, 31))
TEST, DEVELOPMENT = sorted(DRAWN[:8].tolist()), sorted(DRAWN[8:].tolist())
HELD_OUT = 4
PAPERS = Path(__file__).parents[2] / "papers"
ENTRIES = {
    name: (table, paper)
    for file in sorted(PAPERS.glob("*/tables.toml"))
    for paper in [tomllib.loads(file.read_text(encoding="utf-8"))]
    for name, table in paper["tables"].items()
}
RANKING = [name for name, (table, _) in ENTRIES.items() if "view" in table]
PAIRED = [name for name, (table, _) in ENTRIES.items() if "pair_table" in table.get("code", "")]


def caption(number: int) -> str:
    """Words that say the number."""
    return " ".join(f"w{k}{'ab'[number >> k & 1]}" for k in range(BITS))


def columns(number: int) -> list[int]:
    """The same as columns of a matrix."""
    return [2 * k + (number >> k & 1) for k in range(BITS)]


def path(number: int) -> Path:
    return Path(f"{number}.jpg")


def rows_of(paths: list[Path]) -> csr_array:
    made = np.zeros((len(paths), 2 * BITS), np.float32)
    for row, one in enumerate(paths):
        made[row, columns(int(one.stem))] = 1
    return csr_array(made)


def numbers_of(rows: Any) -> list[int]:
    """The numbers of pictures by their features; tokens of Corel begin at column 1."""
    found = []
    for row in csr_array(rows):
        first = np.sort(np.flatnonzero(row.toarray()))[:BITS]
        for offset in (0, 1):
            bits = first - offset - 2 * np.arange(BITS)
            if set(bits.tolist()) <= {0, 1}:
                found.append(int((bits << np.arange(BITS)).sum()))
                break
    assert len(found) == rows.shape[0]
    return found


@dataclass(repr=False)
class Watch:
    """What was seen: fits, mappings, and what extractors and text spaces learnt from."""

    words: tuple[str, ...] = ()
    fits: list[SimpleNamespace] = field(default_factory=list)
    mapped: list[SimpleNamespace] = field(default_factory=list)
    codebooks: list[list[int]] = field(default_factory=list)

    def __deepcopy__(self, memo: Any) -> Watch:
        return self  # copies of a spy report to the same place

    def texts(self, Y: Any) -> list[int]:
        """The numbers of captions, words as the protocol orders them."""
        found = []
        for row in csr_array(Y):
            said = [self.words[t] for t in np.flatnonzero(row.toarray())]
            found.append(sum(1 << int(word[1]) for word in said if word.endswith("b")))
        return found


class Numbered(Bag):
    """An extractor whose rows say which picture they are of."""

    name = "numbered"

    def __init__(self, watch: Watch) -> None:
        self.watch = watch

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {}

    def set_params(self, **_: Any) -> Numbered:
        return self

    def fit_transform(self, paths: Any, **_: Any) -> csr_array:
        self.watch.codebooks.append([int(one.stem) for one in paths])
        return rows_of(paths)

    def extract(self, paths: Any, **_: Any) -> Any:
        return SimpleNamespace(rows=rows_of(paths), skipped=[])

    def weigh(self, counts: csr_array) -> csr_array:
        return counts


class Spy(Model):
    """Stands for a model; learns nothing, and says what it was given."""

    def __init__(self, real: Model, watch: Any, retrain: bool = True) -> None:
        self.real, self.watch, self.retrain = real, watch, retrain
        self.name, self.takes = real.name, real.takes

    def set_params(self, **given: Any) -> Spy:
        self.retrain = given.pop("retrain", self.retrain)
        self.real.set_params(**given)
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"real": self.real, "watch": self.watch, "retrain": self.retrain}

    def decided(self) -> dict[str, Any]:
        return {}

    def fit(self, X: Any, Y: Any, *, validation: Any = None, **_: Any) -> Spy:
        held = None if validation is None else numbers_of(validation[0])
        said = [numbers_of(X) == self.watch.texts(Y)]
        said += [] if validation is None else [held == self.watch.texts(validation[1])]
        assert all(said), "pictures and captions belong to each other"
        seen = SimpleNamespace(spy=self, learnt=numbers_of(X), held=held)
        self.watch.fits.append(seen)
        self.validation_ = 0.1 + 1e-3 * len(self.watch.fits)
        return self

    def transform(self, X: Any) -> Any:
        self.watch.mapped.append(SimpleNamespace(spy=self, numbers=numbers_of(X)))
        return np.random.default_rng(0).random((X.shape[0], len(self.watch.words)), np.float32)


@pytest.fixture
def data(tmp_path: Path) -> Corel5k:
    """Pictures that exist only as numbers, in two parts."""
    parts = []
    for name, numbers in (("train", DEVELOPMENT), ("test", TEST)):
        tokens = [" ".join(str(c + 1) for c in columns(n)) + "\n" for n in numbers]
        (tmp_path / f"{name}_blobs.txt").write_text("".join(tokens))
        texts = [caption(n) for n in numbers]
        parts.append(CaptionedPictures([path(n) for n in numbers], texts, name, texts))
    queries = QueryOptions(language=None, max_words=None, words_from="test")
    return Corel5k("toy", *parts, queries=queries, held_out=HELD_OUT, folder=tmp_path)


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch, data: Corel5k) -> Watch:
    seen = Watch(tuple(protocol_of(data).vocabulary.words))
    assert len(seen.words) == 2 * BITS
    make = experiment.make_model
    spied = lambda *given, **options: Spy(make(*given, **options), seen)  # noqa: E731
    for module in (experiment, comparison):
        monkeypatch.setattr(module, "make_model", spied)
    monkeypatch.setattr(experiment, "remembered", lambda what, make, *_, **__: make())
    monkeypatch.setattr(picture_features, "remembered", lambda what, make, *_, **__: make())
    monkeypatch.setattr(picture_features, "parse_features", lambda *_, **__: Numbered(seen))
    monkeypatch.setattr(picture_features, "weigh_visterms", lambda counts, *_, **__: counts)
    monkeypatch.setattr(
        picture_features, "latent_rows", lambda parts, captions, *_: _checked(seen, parts, captions)
    )
    monkeypatch.setattr(picture_features, "_warn_if_shrunk", None, raising=False)
    monkeypatch.setattr(experiment, "block_numbers", lambda _: 1)
    monkeypatch.setattr("visterm.experiments.picture_features._warn_if_shrunk", lambda *_: None)
    return seen


def _checked(seen: Watch, parts: Any, captions: Any) -> Any:
    seen.codebooks.append(numbers_of(parts[0]))
    assert seen.texts(captions) == numbers_of(parts[0])
    return parts


def published(table: str) -> list[bool]:
    """Whether a table has settings of the paper's own, too."""
    described, paper = ENTRIES[table]
    experiments = paper["experiments"]
    known = experiments[described["experiment"]]
    known = {**experiments.get(known.get("like"), {}), **known}
    has = described.get("as_published", "as_published" in known)
    return [False, True] if has else [False]


@pytest.mark.parametrize(
    ("table", "as_published"), [(name, way) for name in RANKING for way in published(name)]
)
def test_test_pictures_teach_and_choose_nothing_and_parts_keep_their_place(
    table: str, as_published: bool, watch: Watch, data: Corel5k
) -> None:
    experiment = Experiment(entry(table), data, 0, as_published)
    settings, protocol = experiment.settings, experiment.protocol
    tested = TEST if "dealt_out" not in settings else [int(p.stem) for p in protocol.test.paths]
    everyone = sorted([*TEST, *DEVELOPMENT])
    reproduce(table, data, as_published=as_published, seeds=1)
    choosers = [one for one in watch.fits if one.held is not None]
    learners = [one for one in watch.fits if one.held is None]
    training_only = as_published or "dealt_out" in settings
    held_out = {tuple(one.held) for one in choosers}
    trained = {tuple(one.learnt) for one in choosers}
    assert len(held_out) == len(trained) == 1, "one split for all models"
    ((held,), (train,)) = held_out, trained
    assert len(held) == (HELD_OUT if "dealt_out" not in settings else 8)
    assert not set(held) & set(train)
    assert sorted([*held, *train, *tested]) == everyone
    for one in choosers:
        assert not one.spy.retrain, "what chooses does not learn from validation pictures"
    for one in learners:
        assert one.learnt == [*train, *(() if training_only else held)]
    assert [one.numbers for one in watch.mapped] == [tested] * len(learners)
    assert {id(one.spy) for one in watch.mapped} == {id(one.spy) for one in learners}
    for learnt in watch.codebooks:
        assert learnt == list(train)


@pytest.mark.parametrize(
    ("table", "as_published"), [(name, way) for name in RANKING for way in published(name)]
)
def test_models_are_asked_as_the_table_says(
    table: str, as_published: bool, watch: Watch, data: Corel5k
) -> None:
    reproduce(table, data, as_published=as_published, seeds=1)
    words = {"ecml-6": 1, "ecml-6-measures": 1, "bbnn-3": 1, "tpami-13": 3, "tpami-7-large": 3}
    for one in watch.fits:
        real = one.spy.real
        assert real.max_words == words.get(table), "of queries that it learns from"
        if as_published and "query_exponent" in real.get_params():
            assert real.query_exponent == 1.0, "the papers draw triplets uniformly"
        if as_published and real.name in ("cmrm", "cmtt", "plsa"):
            assert real.power == 1.0
        if as_published and real.name == "pamir":
            assert real.margin == ("caption" if table.startswith("ecml") else "constant")
            assert min(real.C) == 0.001


@pytest.mark.parametrize("as_published", [False, True])
def test_unseen_queries_are_those_that_nothing_learnt_from_answers(
    as_published: bool, watch: Watch, data: Corel5k
) -> None:
    experiment = Experiment(entry("tpami-12"), data, 0, as_published)
    outcome = experiment.runs()[ALONE]["PAMIR"].outcome
    learnt = next(one.learnt for one in watch.fits if one.held is None)
    texts = [set(caption(number).split()) for number in learnt]
    relevance = experiment.protocol.test_relevance
    for query, unseen in enumerate(outcome.slices["unseen"]):
        words = {watch.words[t] for t in relevance.queries[[query]].indices}
        assert unseen == (not any(words <= text for text in texts))
    assert outcome.slices["unseen"].sum() + outcome.slices["seen"].sum() == len(relevance)
    assert 0 < outcome.slices["unseen"].sum() < len(relevance)
    report = reproduce("tpami-12", data, as_published=as_published, seeds=1)
    expected = outcome.part("unseen").mean()["AvgP"]
    assert report.table.number("AvgP", "PAMIR ours") == pytest.approx(100 * expected, abs=1e-3)


def test_p_values_are_those_of_the_slice_and_nothing_is_bold_without_them(data: Corel5k) -> None:
    one = Experiment(entry("tpami-12"), data, 0)
    protocol, relevance = one.protocol, one.protocol.test_relevance
    right = protocol.vocabulary.counts(protocol.test.words).toarray().astype(np.float32)
    drawn = np.random.default_rng(0).random((2, *right.shape)).astype(np.float32)
    rows = {"PAMIR": right, "SVM": drawn[0], "CMRM": 0.3 * right + drawn[1]}
    runs = {
        name: [RankedRun(every, outcome_of(protocol, every, Seconds(), {}), {})]
        for name, every in rows.items()
    }
    found = {}
    for part in ("all", "unseen"):
        mask = np.ones(len(relevance), bool)
        mask = mask if part == "all" else runs["SVM"][0].outcome.slices[part]
        asked = relevance.take(mask)
        found[part] = against_best(
            {name: run.outcome.part(part).mean()["AvgP"] for name, (run,) in runs.items()},
            {name: resampled_means(run.rows, asked) for name, (run,) in runs.items()},
        )
        assert _p_values(runs, [one], part) == found[part]
    assert found["all"] != found["unseen"]
    columns, bold = [f"{name} ours" for name in runs], [("AvgP", "PAMIR ours")]
    plain = Table("T", columns, {"AvgP": [0.1] * len(runs)}, bold=bold)
    marked = _marked(plain, {"AvgP": ("all", runs)}, [one])
    assert marked.p_values == {("AvgP", f"{name} ours"): p for name, p in found["all"].items()}
    assert marked.bold == (bold if max(found["all"].values()) < 0.05 else [])
    alike = dict.fromkeys(runs, runs["SVM"])
    assert _marked(plain, {"AvgP": ("all", alike)}, [one]).bold == []


def test_validation_pictures_choose_among_candidates_and_only_the_best_is_tested(
    watch: Watch, data: Corel5k
) -> None:
    report = reproduce("ecml-4", data)
    fits = [one for one in watch.fits if one.spy.name.endswith("pamir")]
    tested = [one for one in watch.mapped if one.spy.name.endswith("pamir")]
    assert len(tested) == 3  # one for each row, though seven were tried
    assert len([one for one in fits if one.held is not None]) == 7
    tried = report.found["tried_on_validation"]["SIFT"]
    # A spy's AvgP grows with every fit, so the last of a row's candidates is the best.
    assert report.found["ours"]["SIFT"]["PAMIR"]["chosen"]["way"] == list(tried)[-1]


def test_seeds_deal_the_validation_pictures_out_anew_and_test_pictures_stay(
    watch: Watch, data: Corel5k
) -> None:
    reproduce("tpami-9", data, seeds=3)
    held = {tuple(one.held) for one in watch.fits if one.held is not None}
    assert len(held) == 3
    assert {tuple(one.numbers) for one in watch.mapped} == {tuple(TEST)}
    assert {one.spy.real.random_state for one in watch.fits if one.spy.name == "pamir"} == {0, 1, 2}


def test_runs_are_kept_under_their_data_seed_settings_and_what_they_learn_from(
    watch: Watch, data: Corel5k, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys: list[str] = []

    def remembered(what: str, make: Any, *key: Any, **_: Any) -> Any:
        keys.append(repr(key))
        return make()

    monkeypatch.setattr(experiment, "remembered", remembered)
    swapped = replace(
        data.train, captions=data.train.captions[::-1], labels=data.train.labels[::-1]
    )
    first = Experiment(entry("bbnn-2"), data)
    others = [
        replace(first, seed=1),
        replace(first, data=replace(data, train=swapped)),
        replace(first, as_published=True),
        replace(first, entry=entry("bbnn-3")),
    ]
    for one in (first, first, *others):
        with contextlib.suppress(AssertionError):  # captions of other pictures
            one.run(one.candidates()[ALONE]["BBNN"])
    assert keys[0] == keys[1]
    assert len(set(keys)) == 5


def test_evaluate_chooses_on_validation_pictures_and_maps_test_pictures_once(
    watch: Watch, data: Corel5k
) -> None:
    comparison.compare_models_by_name(protocol_of(data), ["pamir", "cmrm"])
    assert len(watch.fits) == 2
    for one in watch.fits:
        assert one.spy.retrain
        assert sorted([*one.learnt, *one.held]) == DEVELOPMENT
        assert len(one.held) == HELD_OUT
    assert [one.numbers for one in watch.mapped] == [TEST, TEST]


def test_blocks_and_kernels_are_chosen_without_test_pictures(
    data: Corel5k, monkeypatch: pytest.MonkeyPatch
) -> None:
    protocol = protocol_of(data)
    seen: list[Any] = []

    def choose(given: Any, model: Any, vectors: Any, progress: Any) -> Any:
        seen.append([part.shape[0] for part in vectors])
        model.validation_, model.C_ = 0.5, 0.1
        return model

    asked: list[bool] = []

    def extract(given: Any, blocks: Any, *, test: bool = True, progress: Any = None) -> Any:
        asked.append(test)
        blocks.sizes_ = (6, 6)
        return tuple(rows_of([data.train.paths[i] for i in n]) for n in protocol.split)

    monkeypatch.setattr(kernels, "choose", choose)
    monkeypatch.setattr(kernels, "extract", extract)
    kernels.sides_tried(protocol, [16], [5, 7])
    assert asked == [False]
    assert seen == [[len(DEVELOPMENT) - HELD_OUT, HELD_OUT]] * 2


def test_two_kernels_are_chosen_on_validation_pictures_and_learnt_from_all_development_ones(
    data: Corel5k, monkeypatch: pytest.MonkeyPatch
) -> None:
    protocol, seen = protocol_of(data), []
    words = tuple(protocol.vocabulary.words)
    learn = joint_kernels._learn

    def watched(given: Any, *models: Any) -> Any:
        watch = Watch(words)
        seen.append((given.learnt, given.held, watch.texts(given.captions)))
        return learn(given, *models)

    monkeypatch.setattr(joint_kernels, "_learn", watched)
    every = np.vstack([rows_of(data.train.paths).toarray()[np.concatenate(protocol.split)],
                       rows_of(data.test.paths).toarray()])  # fmt: skip
    joint_kernels.compared(protocol, np.asarray(every @ every.T / BITS, np.float32), max_iter=500)
    trained = len(DEVELOPMENT) - HELD_OUT
    sizes = [(learnt, held) for learnt, held, _ in seen]
    assert sizes == [(trained, HELD_OUT), (trained + HELD_OUT, 0)]
    for _, _, said in seen:
        assert said == [DEVELOPMENT[i] for i in np.concatenate(protocol.split)]


class PairSpy(PairModel):
    """Stands for a model of pairs: both sides stay where they are."""

    facts = ()

    def __init__(self, real: PairModel, watch: Any, retrain: bool = False) -> None:
        self.real, self.watch, self.retrain = real, watch, retrain
        self.name = real.name
        self.deviation_, self.mean_ = 1.0, 0.0

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return self.real.get_params()

    def set_params(self, **given: Any) -> PairSpy:
        self.retrain = given.pop("retrain", self.retrain)
        self.real.set_params(**given)
        return self

    def decided(self) -> dict[str, Any]:
        return {}

    def fit(self, X: Any, Y: Any, *, validation: Any = None, **_: Any) -> PairSpy:
        learnt = self.watch.both_of(X, Y)
        held = None if validation is None else self.watch.both_of(*validation)
        self.watch.fits.append(SimpleNamespace(spy=self, learnt=learnt, held=held))
        self.validation_ = 0.5
        return self

    def picture_rows(self, X: Any) -> Any:
        return np.pad(dense(X), ((0, 0), (0, 40 - X.shape[1])))

    text_rows = picture_rows

    def transform(self, X: Any) -> Any:
        self.watch.mapped.append(self.watch.pairs_of(X, "pictures"))
        return np.random.default_rng(0).random((len(X), self.watch.labels), np.float32)


def dense(rows: Any) -> Any:
    return np.asarray(rows.toarray() if issparse(rows) else rows, np.float32)


@dataclass(repr=False)
class PairWatch:
    """Fits, mappings, and the texts that text spaces learnt from; pairs by their rows."""

    fits: list[SimpleNamespace] = field(default_factory=list)
    mapped: list[list[int]] = field(default_factory=list)
    spaces: list[list[str]] = field(default_factory=list)
    labels: int = 2 * BITS
    owners: Any = None
    known: dict[tuple[str, bytes], int] = field(default_factory=dict)

    def __deepcopy__(self, memo: Any) -> PairWatch:
        return self

    def note(self, rows: Any, side: str) -> Any:
        for number, row in enumerate(dense(rows)):
            self.known.setdefault((side, row.tobytes()), number)
        return rows

    def both_of(self, X: Any, Y: Any) -> list[int]:
        """The numbers of pairs by their texts; a picture may stand in several."""
        texts = self.pairs_of(Y, "texts")
        seen = [self.pairs_of(dense(X)[[i]], "pictures")[0] for i in range(X.shape[0])]
        owners = self.owners if self.owners is not None else np.arange(10_000)
        assert [owners[i] for i in seen] == [owners[i] for i in texts], "pairs belong together"
        return texts

    def pairs_of(self, rows: Any, side: str) -> list[int]:
        return [self.known[side, row.tobytes()] for row in dense(rows)]


@pytest.fixture
def pair_watch(monkeypatch: pytest.MonkeyPatch) -> PairWatch:
    seen = PairWatch()

    class TextSpace:
        """A row for every text, the same whatever it learnt from."""

        name, perplexity_ = "texts", 1.0

        def __init__(self, *_: Any, **__: Any) -> None:
            pass

        def fit(self, texts: Any, **_: Any) -> Any:
            seen.spaces.append(list(texts))
            return self

        def transform(self, texts: Any) -> Any:
            return np.stack([np.random.default_rng(list(t.encode())).random(16) for t in texts])

        def labels(self, words: Any) -> Any:
            return self.transform(words)

    def pictures(paths: Any, *_: Any) -> Any:
        return np.stack(
            [np.random.default_rng(list(str(p).encode())).random(16) for p in paths]
        ).astype(np.float32)

    for name in ("Topics", "Lsa", "Glove", "Sentences", "Words"):
        monkeypatch.setattr(pairs_module, name, TextSpace)
    monkeypatch.setattr(pairs_module, "visual_topics", lambda pairs, _: pictures(pairs.paths))
    for module in (pairs_module, annotation, transfer):
        monkeypatch.setattr(module, "cnn_vectors", pictures)
    monkeypatch.setattr(pairs_module, "principal_components", lambda rows, *_: rows)
    for side in ("pictures", "texts"):
        whole = getattr(Spaces, side)
        noted = lambda self, name, whole=whole, side=side: seen.note(whole(self, name), side)  # noqa: E731
        monkeypatch.setattr(Spaces, side, noted)
    make, other = pairs_module.pair_model, pair_tables.make_model
    for module in (pairs_module, pair_tables, flickr8k):
        monkeypatch.setattr(module, "pair_model", lambda *g, **o: PairSpy(make(*g, **o), seen))
    monkeypatch.setattr(pair_tables, "make_model", lambda *g, **o: PairSpy(other(*g, **o), seen))
    monkeypatch.setattr(pair_tables, "remembered", lambda what, make, *_: make())
    monkeypatch.setattr(flickr8k, "remembered", lambda what, make, *_: make())
    monkeypatch.setattr(pairs_module, "remembered", lambda what, make, *_, **__: make())
    monkeypatch.setattr(pair_tables, "settled", lambda model: PairSpy(model.real, seen))
    monkeypatch.setattr(pair_tables, "clone", lambda model: PairSpy(clone(model.real), seen))
    monkeypatch.setattr(pair_tables, "Annotators", SpiedAnnotators.over(seen))
    monkeypatch.setattr(
        pair_tables,
        "phrase_documents",
        lambda captions, _: [text.replace("w", "v") for text in captions],
    )
    return seen


class SpiedAnnotators(Annotators):
    """Says which pictures it knows, and which are asked about."""

    watch: Any

    @classmethod
    def over(cls, watch: Any) -> Any:
        return type("Spied", (cls,), {"watch": watch})

    def scores(self, way: str, asked: Any, settings: Any) -> Estimates:
        known = self.watch.pairs_of(self.pictures, "pictures")
        seen = SimpleNamespace(spy=self, learnt=known, held=None)
        self.watch.fits.append(seen)
        self.watch.mapped.append(self.watch.pairs_of(asked, "pictures"))
        rng = np.random.default_rng(0)
        shapes = (len(asked), len(self.pictures))
        return Estimates(*(rng.random((n, self.labels.shape[1]), np.float32) for n in shapes))


def way_of(table: str) -> list[bool]:
    return [False, True] if "as_published" in ENTRIES[table][0] else [False]


@pytest.mark.parametrize("partitions", [0, 2])
@pytest.mark.parametrize(
    ("table", "as_published"), [(name, way) for name in PAIRED for way in way_of(name)]
)
def test_no_tested_pair_teaches_or_chooses_in_either_direction(
    table: str, as_published: bool, partitions: int, pair_watch: PairWatch, data: Corel5k
) -> None:
    whole = pairs_module.Pairs.of(data, 0)
    parts = list(whole.partitions(partitions))
    for texts in (whole.labels, [text.replace("w", "v") for text in whole.labels]):
        pair_watch.note(LabelSets(texts).true, "texts")
    ends = []
    on = pair_tables.Measurement.on
    with pytest.MonkeyPatch.context() as patch:

        def counted(self: Any, *given: Any) -> Any:
            found = on(self, *given)
            ends.append((len(pair_watch.fits), len(pair_watch.mapped), len(pair_watch.spaces)))
            return found

        patch.setattr(pair_tables.Measurement, "on", counted)
        reproduce(table, data, partitions=partitions, as_published=as_published)
    begin = (0, 0, 0)
    for part, end in zip(parts, ends, strict=True):
        fits, mapped, spaces = (
            seen[a:b]
            for seen, a, b in zip(
                (pair_watch.fits, pair_watch.mapped, pair_watch.spaces), begin, end, strict=True
            )
        )
        begin = end
        tested = set(part.test.tolist())
        assert fits
        for one in fits:
            assert not tested & set(one.learnt)
            assert not tested & set(one.held or ())
            assert not set(one.learnt) & set(one.held or ())
        for one in mapped:
            assert one == part.test.tolist()
        taught = {text.replace("v", "w") for texts in spaces for text in texts}
        said = [*data.train.captions, *data.test.captions]
        assert not taught & {said[i] for i in part.test}
        finals = [one for one in fits if one.held is None and not _of_training(one)]
        for one in finals:
            assert sorted(one.learnt) == part.development.tolist()
        choosers = [one for one in fits if one.held is not None and _chooses(one, part)]
        assert choosers
        for one in choosers:
            assert (one.learnt, one.held) == (part.train.tolist(), part.validation.tolist())
        folds = [one for one in fits if one.held is not None and not _chooses(one, part)]
        assert bool(folds) == as_published
        for one in folds:
            assert sorted([*one.learnt, *one.held]) == part.development.tolist()
            assert not one.spy.retrain


def _of_training(one: Any) -> bool:
    """The space in which pictures with like labels are near is learnt from training pairs."""
    params = getattr(one.spy, "real", None)
    return params is not None and params.name == "cca" and params.get_params()["scaling"] == 0.5


def _chooses(one: Any, part: Any) -> bool:
    return len(one.held) == len(part.validation) and one.held == part.validation.tolist()


def test_the_given_split_tests_the_test_pictures(pair_watch: PairWatch, data: Corel5k) -> None:
    whole = pairs_module.Pairs.of(data, 0)
    (part,) = whole.partitions(0)
    assert [int(whole.paths[i].stem) for i in part.test] == TEST
    assert len(part.validation) == len(DEVELOPMENT) // 10


def test_captions_of_the_other_data_set_teach_nothing(
    pair_watch: PairWatch, data: Corel5k, monkeypatch: pytest.MonkeyPatch
) -> None:
    def named(name: str, root: Any) -> CaptionedDataset:
        mark = {"iaprtc12": "i", "flickr8k": "f"}[name]
        parts = []
        for part in (data.train, data.test):
            texts = [f"{mark} {text}\n{mark} again {text}" for text in part.captions]
            parts.append(CaptionedPictures([Path(mark) / p for p in part.paths], texts))
        held = parts[0].take(range(5)) if name == "flickr8k" else None
        train = parts[0].take(range(5, len(parts[0]))) if held else parts[0]
        return CaptionedDataset(name, train, parts[1], held)

    monkeypatch.setattr(cross_dataset, "read_named", named)
    corpora = cross_dataset.Corpora.read(None, 0)
    captions, owners = corpora.pairs.captions, corpora.pairs.owners
    pair_watch.owners = owners
    for source, mark in (("iaprtc12", "i"), ("flickr8k", "f")):
        pair_watch.fits.clear()
        pair_watch.spaces.clear()
        cross_dataset._measured(entry("bitr-exp2"), corpora, source, lambda *_: None)
        assert pair_watch.fits
        tested = {t for name in cross_dataset.NAMES for t in corpora.tested(name).tolist()}
        for one in pair_watch.fits:
            numbers = {*one.learnt, *(one.held or ())}
            assert {captions[i][0] for i in numbers} == {mark}
            assert not numbers & tested
            assert not {owners[i] for i in one.learnt} & {owners[i] for i in one.held or ()}
        assert {text[0] for texts in pair_watch.spaces for text in texts} == {mark}
        said = {captions[i] for i in tested}
        assert not said & {text for texts in pair_watch.spaces for text in texts}


def test_sentences_are_learnt_from_training_pictures_and_dev_pictures_choose(
    pair_watch: PairWatch, data: Corel5k
) -> None:
    parts = [data.train.take(range(12)), data.test, data.train.take(range(12, 18))]
    several = [CaptionedPictures(p.paths, [f"one {c}\ntwo {c}" for c in p.captions]) for p in parts]
    owners = pair_watch.owners = np.repeat(np.arange(26), 2)
    report = reproduce("flickr8k", CaptionedDataset("toy", *several))
    cca, *maps = pair_watch.fits
    for one in pair_watch.fits:
        assert {owners[i] for i in one.learnt} == set(range(12))
    assert cca.held == list(range(24, 36, 2))  # the first sentence of each dev picture
    assert all(one.held is None for one in maps)
    assert len(maps) == entry("flickr8k").table["seeds"]
    for texts in pair_watch.spaces:
        said = {text.split(" ", 1)[1] for text in texts}
        assert not said & {*several[1].captions[0].split("\n")} & {*data.test.captions}
        assert len(texts) == 24
    assert set(report.found["validation"]) == set(report.found["ours"])


def test_annotation_is_chosen_on_validation_pictures_whatever_is_true_of_test_ones(
    pair_watch: PairWatch, data: Corel5k, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = annotation.cnn_vectors([*data.train.paths, *data.test.paths], ())
    pair_watch.note(rows, "pictures")
    monkeypatch.setattr(annotation, "Annotators", SpiedAnnotators.over(pair_watch))
    first = reproduce("annotation", data).found["annotation"]["toy"]
    n, tested = len(DEVELOPMENT), list(range(len(DEVELOPMENT), len(DEVELOPMENT) + len(TEST)))
    known = [sorted(one.learnt) for one in pair_watch.fits]
    asked = [sorted(one) for one in pair_watch.mapped]
    final = [k == list(range(n)) for k in known]
    assert [a == tested for a in asked] == final, "test pictures are asked about in the end only"
    assert sum(final) == 3
    for learnt, wanted in zip(known, asked, strict=True):
        assert not set(learnt) & set(wanted)
        if wanted != tested:
            assert len(wanted) == HELD_OUT
    texts = [data.test.captions[(i + 3) % len(TEST)] for i in range(len(TEST))]
    other = replace(data, test=replace(data.test, captions=texts, labels=texts))
    again = reproduce("annotation", other).found["annotation"]["toy"]
    assert again["validation"] == first["validation"]
    assert again["chosen"] == first["chosen"]


def test_words_across_data_sets_are_learnt_from_one_sides_training_pictures(
    data: Corel5k,
) -> None:
    watch = Watch(tuple(protocol_of(data).vocabulary.words))
    rows = rows_of([*data.train.paths, *data.test.paths])
    side = transfer.Side(rows.toarray(), csr_array(rows), len(DEVELOPMENT))
    watch.words = tuple(f"w{k}{letter}" for k in range(BITS) for letter in "ab")
    real = next(iter(transfer._methods(0)))[1]
    transfer._trained(Spy(real, watch), side, 0, lambda *_: None)
    (one,) = watch.fits
    assert sorted([*one.learnt, *one.held]) == DEVELOPMENT
    assert len(one.held) == len(DEVELOPMENT) // 10
    asked = side.relevance
    assert asked.pictures.shape[1] == len(TEST)


def test_examples_are_drawn_from_test_pictures_and_learnt_from_others(
    pair_watch: PairWatch, data: Corel5k
) -> None:
    whole = pairs_module.Pairs.of(data, 0)
    drawn = np.random.default_rng(0)
    shown = bitr_pages._captions(entry("bitr-fig6"), whole, drawn, lambda *_: None)
    tested = {path(number) for number in TEST}
    for one in shown["picture → captions"]:
        assert one.query.path in tested
    for one in shown["caption → pictures"]:
        assert {card.path for card in one.answers} <= tested
    n = len(DEVELOPMENT)
    assert all(max([*one.learnt, *(one.held or ())]) < n for one in pair_watch.fits)
