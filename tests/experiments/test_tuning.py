"""A search that may be stopped at any moment: what is tried next, what is kept, what is refused."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from visterm.datasets import CaptionedPictures
from visterm.datasets.scenes import draw_scenes
from visterm.errors import BadInput
from visterm.experiments.protocol import Protocol, split_off_test
from visterm.experiments.tuning import SearchSpace, fingerprint, tune

SMALL = "blocks(channels=((32, joint, 20),), colours=8)"
SPACE = SearchSpace((SMALL,), ("linear", "rbf(gamma=2)"), ("plain", "averaged"), (0.1,), 20_000)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw_into(tmp_path_factory.mktemp("scenes"))


def draw_into(folder: Path, seed: int = 2) -> Path:
    scenes = draw_scenes(folder, 50, seed=seed)
    lines = [f"{path.relative_to(folder)}\t{' '.join(words)}\n" for path, words in scenes]
    (folder / "captions.tsv").write_text("".join(lines))
    return folder


@pytest.fixture(scope="module")
def drawn(folder: Path) -> Protocol:
    lines = [line.split("\t") for line in (folder / "captions.tsv").read_text().splitlines()]
    known = CaptionedPictures([folder / p for p, _ in lines], [c for _, c in lines], "scenes")
    return split_off_test(known, language=None)


def test_everything_is_tried_when_there_is_time_and_the_best_comes_first(drawn: Protocol) -> None:
    told: list[tuple[str, int, int]] = []
    found = tune(drawn, SPACE, n_jobs=1, progress=lambda *said: told.append(said))
    assert found.finished
    assert {one.trial for one in found.results} == set(SPACE.trials())
    means = [one.mean for one in found.results]
    assert means == sorted(means, reverse=True)
    assert found.best is found.results[0]
    assert 0 < means[-1] <= means[0] <= 1
    counted = [(done, total) for what, done, total in told if what == "trials"]
    assert counted == [(done, 4) for done in range(5)]


def test_pictures_are_described_once_for_all_trials(drawn: Protocol) -> None:
    told: list[tuple[str, int, int]] = []
    tune(drawn, SPACE, n_jobs=1, progress=lambda *said: told.append(said))
    train, _ = drawn.split
    finished = [said for said in told if said[0] == "counting visterms" and said[1] == len(train)]
    assert len(finished) == 1


def test_a_search_that_goes_on_describes_no_picture_again(
    drawn: Protocol, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    study = tmp_path / "tune.sqlite"
    whole = tune(drawn, SPACE, study=study, n_jobs=1)
    study.unlink()
    told: list[str] = []
    again = tune(drawn, SPACE, study=study, n_jobs=1, progress=lambda what, *_: told.append(what))
    assert "counting visterms" not in told
    assert [one.avgp for one in again.results] == [one.avgp for one in whole.results]


def test_test_pictures_are_not_even_opened(drawn: Protocol) -> None:
    gone = CaptionedPictures([Path("gone.jpg")] * len(drawn.test), drawn.test.captions)
    blind = Protocol("blind", drawn.development, gone, drawn.vocabulary, 4, drawn.held_out)
    assert tune(
        blind, SearchSpace((SMALL,), ("linear",), ("plain",), (0.1,), 5_000), n_jobs=1
    ).finished


def test_repeats_have_seeds_of_their_own(drawn: Protocol) -> None:
    space = SearchSpace((SMALL,), ("linear",), ("plain",), (0.1,), 5_000, repeats=3)
    (one,) = tune(drawn, space, n_jobs=1).results
    assert len(one.avgp) == len(set(one.avgp)) == 3
    assert one.mean == pytest.approx(sum(one.avgp) / 3)


def test_a_spent_budget_begins_no_trial_and_later_searches_go_on(
    drawn: Protocol, tmp_path: Path
) -> None:
    study = tmp_path / "tune.sqlite"
    none = tune(drawn, SPACE, seconds=0, study=study, n_jobs=1)
    assert (none.results, none.best, none.finished) == ([], None, False)
    whole = tune(drawn, SPACE, study=study, n_jobs=1)
    before = finished(study)
    told: list[str] = []
    again = tune(drawn, SPACE, study=study, n_jobs=1, progress=lambda what, *_: told.append(what))
    assert again.results == whole.results
    assert finished(study) == before
    assert set(told) == {"trials"}  # neither described nor trained


def test_a_trial_whose_first_fit_stays_behind_is_pruned(drawn: Protocol) -> None:
    poor = "blocks(channels=((64, edges, 2),), colours=8)"
    values = (0.03, 0.1, 0.3, 1.0)
    space = SearchSpace((SMALL, poor), ("linear",), ("plain",), values, 20_000, repeats=2)
    found = tune(drawn, space, n_jobs=1)
    assert found.finished
    pruned = [one for one in found.results if len(one.avgp) == 1]
    assert pruned
    assert found.best is not None
    assert len(found.best.avgp) == 2
    assert max(one.mean for one in pruned) < found.best.mean


def test_a_trial_that_fails_is_reported_and_tried_again(drawn: Protocol, tmp_path: Path) -> None:
    space = SearchSpace((SMALL,), ("linear", "match(width=7)"), ("plain",), (0.1,), 5_000)
    study = tmp_path / "tune.sqlite"
    found = tune(drawn, space, study=study, n_jobs=1)
    assert found.best is not None
    assert found.best.trial.kernel == "linear"
    failed = found.results[1]
    assert failed.failed is not None
    assert "do not divide into descriptors" in failed.failed
    assert failed.failed in found.table("t").to_text()
    tried = len(finished(study))
    tune(drawn, space, study=study, n_jobs=1)
    assert len(finished(study)) == tried + 1


def test_other_searches_are_refused_and_left_alone(drawn: Protocol, tmp_path: Path) -> None:
    study = tmp_path / "tune.sqlite"
    tune(drawn, SPACE, seconds=0, study=study)
    kept = study.read_bytes()
    wider = SearchSpace((SMALL,), SPACE.kernels, SPACE.objectives, (0.1, 0.3), 20_000)
    with pytest.raises(BadInput, match=r"study of another search: C differ; give another --study"):
        tune(drawn, wider, study=study)
    other = split_off_test(
        CaptionedPictures(drawn.development.paths, drawn.development.captions, "fewer"),
        language=None,
    )
    with pytest.raises(BadInput, match=r"another search: dataset, pictures, .*sha256 differ"):
        tune(other, SPACE, study=study)
    assert study.read_bytes() == kept
    study.write_bytes(b"these are no tables" * 400)
    with pytest.raises(BadInput, match=r"no study of visterm tune .* give another --study"):
        tune(drawn, SPACE, study=study)


def test_captions_and_pictures_count_for_what_the_data_are(drawn: Protocol, tmp_path: Path) -> None:
    told = fingerprint(drawn)
    assert told == fingerprint(drawn)
    changed = list(drawn.development.captions)
    changed[0] += " dragon"
    other = CaptionedPictures(drawn.development.paths, changed, drawn.development.name)
    assert fingerprint(Protocol("scenes", other, drawn.test, drawn.vocabulary, 4, 4)) != told


@pytest.mark.parametrize(
    ("space", "said"),
    [
        (SearchSpace(features=("tea-leaves",)), "no features called 'tea-leaves'"),
        (SearchSpace(kernels=("corn",)), "no kernel called 'corn'"),
        (SearchSpace(kernels=("rbf(beta=1)",)), "'rbf' cannot be made of beta"),
        (SearchSpace(objectives=("wealth",)), "no objective called 'wealth'"),
        (SearchSpace(objectives=("plain(C=1)",)), "no parameter 'C'"),
        (SearchSpace(C=(0.1, -1.0)), "C must be positive"),
        (SearchSpace(C=()), "C must be named"),
        (SearchSpace(repeats=0), "repeats must be at least 1"),
    ],
)
def test_a_space_of_what_does_not_exist_is_refused_at_once(space: SearchSpace, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        space.check()


def finished(study: Path) -> list[str]:
    """What the trials of a study gave, as it is stored."""
    if not study.exists():
        return []
    with closing(sqlite3.connect(f"file:{study}?mode=ro", uri=True)) as tables:
        try:
            found = tables.execute(
                "select value_json from trial_user_attributes where key = 'result'"
            )
            return [row[0] for row in found]
        except sqlite3.OperationalError:  # its tables are not there yet
            return []


def command(folder: Path, study: Path) -> list[str]:
    words = ["tune", str(folder / "captions.tsv"), "--features", SMALL, "--study", str(study)]
    settings = ["--C", "0.1", "--C", "0.3", "--max-iter", "100000", "--workers", "1"]
    return [sys.executable, "-m", "visterm", *words, *settings, "--json"]


def test_a_killed_search_goes_on_where_it_was(folder: Path, tmp_path: Path) -> None:
    study = tmp_path / "tune.sqlite"
    running = subprocess.Popen(command(folder, study), stdout=subprocess.PIPE)
    until = time.monotonic() + 120
    while len(finished(study)) < 2:
        assert running.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < until, "two trials took two minutes"
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    running.communicate()
    kept = finished(study)
    ran = subprocess.run(command(folder, study), capture_output=True, text=True, check=True)
    found = json.loads(ran.stdout)
    assert (found["tried"], found["of"], found["finished"]) == (16, 16, True)
    assert 2 <= len(kept) < 16
    assert finished(study)[: len(kept)] == kept
    assert len(finished(study)) == 16
    best = max(found["trials"], key=lambda trial: trial["AvgP"])
    assert found["best"] == found["trials"][0]
    assert found["best"]["AvgP"] == best["AvgP"]
