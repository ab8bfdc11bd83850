"""Faults seeded into the runner, the protocol and the papers' entries: how many do tests notice?

``python -m benchmarks.mutants --json`` copies the package, ``papers/`` and their tests, changes one
line at a time in a way that would make figures dishonest, and runs the tests that watch who learns
from whom. A mutant that no test notices is named. Takes about half an hour on one core.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
COPIED = ("src", "papers", "tests/experiments", "pyproject.toml")
NAMES = ("cache", "protocol", "cross_modal_ranks", "pairs", "picture_features", "honesty")
NEAR = {
    "src/": "cache or protocol or cross_modal or kept or tpami_12 or tpami-12 or ecml-6 or unseen "
    "or candidates or seeds or evaluate or latent or p_values",
    "papers/tpami2008/tables": "tpami-12 or unseen",
    "papers/ecml2006/tables": "ecml-6 or ecml-4",
    "papers/": "pairs or tested_pair or sentences or annotation or captions or across or kernels",
}
"""Tests that would notice first, by the file of a mutant; all are run where they do not."""
EXPERIMENTS = "src/visterm/experiments/"


class Mutant(NamedTuple):
    """A fault: what stands in a file, and what is put in its place."""

    fault: str
    file: str
    found: str
    put: str


MUTANTS = [
    Mutant("validation pictures train too", f"{EXPERIMENTS}protocol.py",
           "np.sort(order[:trained]), np.sort(order[trained:])",
           "np.sort(order), np.sort(order[trained:])"),
    Mutant("the split is the same for all seeds", f"{EXPERIMENTS}protocol.py",
           "order = np.random.default_rng(self.seed).permutation(len(self.development))",
           "order = np.random.default_rng(0).permutation(len(self.development))"),
    Mutant("given validation pictures train", f"{EXPERIMENTS}protocol.py",
           "return np.arange(trained), np.arange(trained, len(self.development))",
           "return np.arange(len(self.development)), np.arange(trained, len(self.development))"),
    Mutant("test pictures drawn stay in training", f"{EXPERIMENTS}protocol.py",
           '(np.sort(order[tested:]), "development")', '(np.sort(order), "development")'),
    Mutant("pictures dealt out to test also train", f"{EXPERIMENTS}protocol.py",
           "CaptionedDataset(name, train, test, validation, queries), seed=seed)",
           "CaptionedDataset(name, train + test.take(range(3)), "
           "test.take(range(3, len(test))), validation, queries), seed=seed)"),
    Mutant("the seed is not in the digest of data", f"{EXPERIMENTS}protocol.py",
           '{words} {self.seed}{drawn}"', '{words}{drawn}"'),
    Mutant("captions are not in the digest of data", f"{EXPERIMENTS}protocol.py",
           "data_digest(both.paths, both.words)", "data_digest(both.paths, map(str, both.paths))"),
    Mutant("seen and unseen are swapped", f"{EXPERIMENTS}protocol.py",
           "seen[number] = not holding or len(reduce(_common, holding)) > 0",
           "seen[number] = bool(holding) and len(reduce(_common, holding)) == 0"),
    Mutant("codebooks are learnt from validation pictures too", f"{EXPERIMENTS}picture_features.py",
           "rows = extractor.fit_transform(training, progress=progress)",
           "rows = extractor.fit_transform(paths, progress=progress)[train]"),
    Mutant("test and validation features are swapped", f"{EXPERIMENTS}picture_features.py",
           "parts = [[paths[i] for i in valid], *([protocol.test.paths] if test else [])]",
           "parts = [*([protocol.test.paths] if test else []), [paths[i] for i in valid]]"),
    Mutant("tokens of test pictures weigh all", f"{EXPERIMENTS}picture_features.py",
           "captions, words = self.protocol.captions[train], self.protocol.vocabulary",
           "captions, words = self.protocol.captions[valid], self.protocol.vocabulary"),
    Mutant("kept features forget the protocol", f"{EXPERIMENTS}picture_features.py",
           "points, self.test, self.protocol.digest", "points, self.test"),
    Mutant("validation rows are training rows", f"{EXPERIMENTS}runs.py",
           "for rows, numbers in zip(vectors, protocol.split, strict=False)",
           "for rows, numbers in zip((vectors[0], vectors[0]), "
           "(protocol.split[0],) * 2, strict=False)"),
    Mutant("as published learns from validation pictures", f"{EXPERIMENTS}runs.py",
           "    if not training_only:\n        numbers", "    if True:\n        numbers"),
    Mutant("ours does not learn from validation pictures", f"{EXPERIMENTS}runs.py",
           "    if not training_only:\n        numbers", "    if False:\n        numbers"),
    Mutant("training pictures are tested", f"{EXPERIMENTS}runs.py",
           "rows = learner.transform(vectors.test)",
           "rows = learner.transform(vectors.training[: vectors.test.shape[0]])"),
    Mutant("unseen is what no development picture answers, always", f"{EXPERIMENTS}runs.py",
           "seen = protocol.seen_in_training if training_only else protocol.seen_queries",
           "seen = protocol.seen_queries"),
    Mutant("slices seen and unseen change places", f"{EXPERIMENTS}runs.py",
           "slices(relevance, seen), seconds, chosen)",
           "slices(relevance, ~seen), seconds, chosen)"),
    Mutant("CCA is measured by its transform", f"{EXPERIMENTS}runs.py",
           'return isinstance(model, PairModel) and hasattr(model, "text_mean_")', "return False"),
    Mutant("captions ask for the next picture", f"{EXPERIMENTS}runs.py",
           "(np.ones(len(owners), np.float32), (np.arange(len(owners)), owners)),\n"
           "        shape=(len(owners), len(rows)),",
           "(np.ones(len(owners), np.float32), (np.arange(len(owners)), "
           "[(o + 1) % len(rows) for o in owners])),\n        shape=(len(owners), len(rows)),"),
    Mutant("the worst candidate is taken", f"{EXPERIMENTS}experiment.py",
           "best = max(range(len(choosers))", "best = min(range(len(choosers))"),
    Mutant("what chooses learns again from validation pictures", f"{EXPERIMENTS}experiment.py",
           "model = clone(candidate.model).set_params(retrain=False)",
           "model = clone(candidate.model).set_params(retrain=True)"),
    Mutant("single-word tables learn from all queries", f"{EXPERIMENTS}experiment.py",
           "return found if max_words is None else replace(found, max_words=max_words)",
           "return found"),
    Mutant("training only is forgotten", f"{EXPERIMENTS}experiment.py",
           'return bool(self.settings.get("learn_from", "development") == "training")',
           "return False"),
    Mutant("slices show all queries", f"{EXPERIMENTS}ranking_tables.py",
           'return whole if name == "all" else whole.slice(_mask(runs, name))', "return whole"),
    Mutant("p-values of slices are those of all queries", f"{EXPERIMENTS}ranking_tables.py",
           "experiment.protocol.test_relevance.take(mask)", "experiment.protocol.test_relevance"),
    Mutant("what is not significant is bold", f"{EXPERIMENTS}ranking_tables.py",
           "if max(found.values(), default=1.0) >= _SIGNIFICANT:", "if False:"),
    Mutant("all seeds are one", f"{EXPERIMENTS}ranking_tables.py",
           "every = [replace(first, seed=seed + number) for number in range(count)]",
           "every = [replace(first, seed=seed) for number in range(count)]"),
    Mutant("kept runs forget the data", f"{EXPERIMENTS}experiment.py",
           'remembered("run", made, about, self.training_only, self.protocol.digest)',
           'remembered("run", made, about, self.training_only)'),
    Mutant("the cache forgets the code of experiments and papers", f"{EXPERIMENTS}cache.py",
           'if "experiments" in rooms:', "if False:"),
    Mutant("the cache forgets the data sets' code", f"{EXPERIMENTS}cache.py",
           '(*FEATURES, "datasets", "evaluation",', '(*FEATURES, "evaluation",'),
    Mutant("the cache forgets its key", f"{EXPERIMENTS}cache.py",
           "text = repr((code_digest(rooms), *key))", "text = repr((code_digest(rooms),))"),
    Mutant("as published draws queries alike (TPAMI)", "papers/tpami2008/tables.toml",
           "max_iter=10_000_000, query_exponent=1.0)", "max_iter=10_000_000)"),
    Mutant("as published draws queries alike (ECML)", "papers/ecml2006/tables.toml",
           "margin=caption, query_exponent=1.0)", "margin=caption)"),
    Mutant("as published learns from validation pictures (ECML)", "papers/ecml2006/tables.toml",
           '[experiments.all.as_published]\nlearn_from = "training"',
           '[experiments.all.as_published]\nlearn_from = "development"'),
    Mutant("ecml-6 is trained on all queries", "papers/ecml2006/tables.toml",
           'like = "all"\nmax_words = 1', 'like = "all"'),
    Mutant("unseen queries are all queries", "papers/tpami2008/tables.toml",
           'slice = "unseen"', 'slice = "all"'),
    Mutant("validation pairs train", "papers/pairs.py",
           "return Partition(name, np.sort(order[held:]), np.sort(order[:held]), test)",
           "return Partition(name, np.sort(order), np.sort(order[:held]), test)"),
    Mutant("tested pairs are among the rest", "papers/pairs.py",
           "rest = np.setdiff1d(np.arange(len(self.paths)), test)",
           "rest = np.arange(len(self.paths))"),
    Mutant("topics are learnt from tested captions", "papers/pairs.py",
           "learnt = self.partition.development\n            if self.labels",
           "learnt = np.arange(len(self.pairs.captions))\n            if self.labels"),
    Mutant("LSA is learnt from tested captions", "papers/pairs.py",
           "space = Lsa(LSA_DIMENSIONS, random_state=0).fit([captions[i] for i in learnt])",
           "space = Lsa(LSA_DIMENSIONS, random_state=0).fit(captions)"),
    Mutant("correlated topics are learnt from all pairs", "papers/pairs.py",
           'numbers = getattr(self.partition, "train" if learn == "chosen" else learn)',
           "numbers = np.arange(len(self.pairs.captions))"),
    Mutant("principal components are those of test pictures too", "papers/pairs.py",
           "centred = vectors[learnt] - mean", "centred = vectors - mean"),
    Mutant("labels are means of tested texts too", "papers/pairs.py",
           "held = csr_array(true[learnt])\n    often",
           "learnt = np.arange(len(texts))\n    held = csr_array(true[learnt])\n    often"),
    Mutant("β is chosen on test pictures", "papers/pair_tables.py",
           "ranked(known + weight * chooser, true[p.validation]).mean_average_precision",
           "ranked(known + weight * _f(both.models[0], both.pictures[p.test], vectors), "
           "true[p.test]).mean_average_precision"),
    Mutant("β is chosen by a model that learnt from validation pictures", "papers/pair_tables.py",
           "chooser = _f(both.choosers[0], both.pictures[p.validation], vectors)",
           "chooser = _f(both.models[0], both.pictures[p.validation], vectors)"),
    Mutant("as published shows F with the prior", "papers/pair_tables.py",
           "return LabelScores(plain, together, back.T)",
           "return LabelScores(together, together, back.T)"),
    Mutant("Im2Text ranks pictures", "papers/pair_tables.py",
           "back = _f(both.models[1]", "back = _f(both.models[0]"),
    Mutant("folds learn from the held fold", "papers/pair_tables.py",
           "rest, held = np.setdiff1d(every, held), np.sort(held)",
           "rest, held = every, np.sort(held)"),
    Mutant("the final model learns from tested pairs", "papers/pair_tables.py",
           "np.concatenate([partition.train, partition.validation]),",
           "np.arange(len(pictures)),"),
    Mutant("captions are chosen on tested pairs", "papers/pair_tables.py",
           "partition.train,\n            partition.validation,",
           "partition.train,\n            partition.test,"),
    Mutant("neighbours are chosen on tested pictures", "papers/pair_tables.py",
           "held = pictures[p.validation], true[p.validation]",
           "held = pictures[p.test], true[p.test]"),
    Mutant("annotation is chosen on test pictures", "papers/leaderboards/annotation.py",
           "reached = _given(tried, known, true).f1",
           "reached = _given(model.scores(way, test, settings), known, answers).f1"),
    Mutant("annotation learns from test pictures", "papers/leaderboards/annotation.py",
           "every = Annotators(np.vstack([train, held]), np.vstack([known, true]), seed)",
           "every = Annotators(np.vstack([train, held, test]), "
           "np.vstack([known, true, answers]), seed)"),
    Mutant("Flickr8k's CCA is chosen on test sentences", "papers/leaderboards/flickr8k.py",
           "dev = partition.validation", "dev = partition.test"),
    Mutant("Flickr8k's text spaces learn from dev sentences", "papers/leaderboards/flickr8k.py",
           "        return self.train", "        return np.concatenate([self.train, self.test])"),
    Mutant("the tested data set teaches too", "papers/bitr2017/cross_dataset.py",
           "each = self._first(train, CAPTIONS_EACH), self._first(held, 1)",
           'each = self._first(np.concatenate([train, *(self.parts[n, "train"] for n in NAMES)]), '
           "CAPTIONS_EACH), self._first(held, 1)"),
    Mutant("words across data sets are learnt from tested pictures", "papers/bitr2017/transfer.py",
           "worded = np.flatnonzero(np.diff(side.words[: side.trained].indptr))",
           "worded = np.flatnonzero(np.diff(side.words.indptr))"),
    Mutant("block sides are chosen with test pictures in the codebook",
           "papers/tpami2008/kernels.py",
           "counts = extract(protocol, blocks, test=False, progress=progress)",
           "counts = extract(protocol, blocks, test=True, progress=progress)"),
    Mutant("two kernels are learnt from training pictures only",
           "papers/tpami2008/joint_kernels.py",
           "every = Pictures(table, captions, train + held, 0)",
           "every = Pictures(table, captions, train, 0)"),
]  # fmt: skip


def seeded(mutant: Mutant, root: Path) -> bool:
    """Whether the tests notice a mutant, which is taken back afterwards."""
    file = root / mutant.file
    text = file.read_text(encoding="utf-8")
    if text.count(mutant.found) < 1:
        raise SystemExit(f"{mutant.file} no longer holds what {mutant.fault!r} changes")
    changed = text.replace(mutant.found, mutant.put)
    if file.suffix == ".py":
        compile(changed, mutant.file, "exec")  # what is no Python would be noticed by anything
    file.write_text(changed, encoding="utf-8")
    try:
        near = next(words for start, words in NEAR.items() if mutant.file.startswith(start))
        return tested(root, "-k", near).returncode != 0 or tested(root).returncode != 0
    finally:
        file.write_text(text, encoding="utf-8")


def tested(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """The tests that watch, ended by the first that fails."""
    files = [f"tests/experiments/test_{name}.py" for name in NAMES]
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *options, *files]
    paths = {"PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        words, cwd=root, env={**os.environ, **paths}, capture_output=True, text=True
    )


def main() -> None:
    """Seed the faults one by one, and say which were noticed."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--json", action="store_true", help="one object on stdout")
    options.add_argument("--only", default="", help="mutants whose fault has this text")
    given = options.parse_args()
    wanted = [one for one in MUTANTS if given.only in one.fault]
    began, survived = time.monotonic(), []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for part in COPIED:
            (root / part).parent.mkdir(parents=True, exist_ok=True)
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            copy(ROOT / part, root / part)
        plain = tested(root)
        if plain.returncode != 0:
            raise SystemExit(f"tests fail without any mutant:\n{plain.stdout[-2000:]}")
        for number, mutant in enumerate(wanted, start=1):
            caught = seeded(mutant, root)
            survived += [] if caught else [mutant.fault]
            said = "caught" if caught else "SURVIVED"
            print(f"{number}/{len(wanted)} {said}: {mutant.fault}", file=sys.stderr, flush=True)
    found = {
        "mutants": len(wanted),
        "caught": len(wanted) - len(survived),
        "share": round(1 - len(survived) / len(wanted), 3),
        "survived": survived,
        "seconds": round(time.monotonic() - began),
    }
    print(json.dumps(found) if given.json else f"{found['caught']} of {len(wanted)} caught")


if __name__ == "__main__":
    main()
