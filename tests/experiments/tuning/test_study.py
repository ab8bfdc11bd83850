"""A search that may be stopped at any moment: what is tried next, what is kept, what is refused."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from visterm.datasets.captioned_pictures import CaptionedPictures
from visterm.datasets.scenes import draw_scenes
from visterm.errors import BadInput
from visterm.experiments.runner.protocol import Protocol, split_off_test
from visterm.experiments.tuning.search_space import SearchSpace, Trial
from visterm.experiments.tuning.study import fingerprint, next_trial, tune
from visterm.experiments.tuning.trial_log import TrialLog, TrialResult

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
    found = tune(drawn, SPACE, workers=1, progress=lambda *said: told.append(said))
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
    tune(drawn, SPACE, workers=1, progress=lambda *said: told.append(said))
    train, _ = drawn.split
    finished = [said for said in told if said[0] == "counting visterms" and said[1] == len(train)]
    assert len(finished) == 1


def test_a_search_that_goes_on_describes_no_picture_again(drawn: Protocol, tmp_path: Path) -> None:
    log = tmp_path / "tune.jsonl"
    whole = tune(drawn, SPACE, log=log, workers=1)
    log.write_bytes(log.read_bytes().splitlines(keepends=True)[0])
    told: list[str] = []
    again = tune(drawn, SPACE, log=log, workers=1, progress=lambda what, *_: told.append(what))
    assert "counting visterms" not in told
    assert [one.avgp for one in again.results] == [one.avgp for one in whole.results]
    (vectors,) = (tmp_path / "tune.vectors").iterdir()
    vectors.write_bytes(vectors.read_bytes()[:100])  # damaged, so made anew
    log.write_bytes(log.read_bytes().splitlines(keepends=True)[0])
    tune(drawn, SPACE, log=log, workers=1, progress=lambda what, *_: told.append(what))
    assert "counting visterms" in told


def test_test_pictures_are_not_even_opened(drawn: Protocol) -> None:
    gone = CaptionedPictures([Path("gone.jpg")] * len(drawn.test), drawn.test.captions)
    blind = Protocol("blind", drawn.development, gone, drawn.vocabulary, 4, drawn.held_out)
    assert tune(
        blind, SearchSpace((SMALL,), ("linear",), ("plain",), (0.1,), 5_000), workers=1
    ).finished


def test_repeats_have_seeds_of_their_own(drawn: Protocol) -> None:
    space = SearchSpace((SMALL,), ("linear",), ("plain",), (0.1,), 5_000, repeats=3)
    (one,) = tune(drawn, space, workers=1).results
    assert len(one.avgp) == len(set(one.avgp)) == 3
    assert one.mean == pytest.approx(sum(one.avgp) / 3)


def test_a_spent_budget_begins_no_trial_and_later_searches_go_on(
    drawn: Protocol, tmp_path: Path
) -> None:
    log = tmp_path / "tune.jsonl"
    none = tune(drawn, SPACE, seconds=0, log=log, workers=1)
    assert (none.results, none.best, none.finished) == ([], None, False)
    whole = tune(drawn, SPACE, log=log, workers=1)
    before = log.read_bytes()
    told: list[str] = []
    again = tune(drawn, SPACE, log=log, workers=1, progress=lambda what, *_: told.append(what))
    assert again.results == whole.results
    assert log.read_bytes() == before
    assert set(told) == {"trials"}  # neither described nor trained


def test_the_next_trial_changes_as_little_as_possible_of_the_best() -> None:
    space = SearchSpace(("a", "b"), ("linear", "k"), ("plain", "warp"), (0.1, 0.3))
    trials = space.trials()
    first, better = trials[0], Trial("b", "k", "plain", 0.1)
    results = {first: TrialResult(first, (0.2,)), better: TrialResult(better, (0.3,))}
    waiting = [trial for trial in trials if trial not in results]
    assert next_trial(waiting, results).differs(better) == 1
    assert next_trial(waiting, {first: TrialResult(first, (0.4,))}).differs(first) == 1
    failed = {better: TrialResult(better, failed="no")}
    assert next_trial(waiting, failed) == waiting[0]


def test_a_trial_that_fails_is_told_and_tried_again(drawn: Protocol, tmp_path: Path) -> None:
    space = SearchSpace((SMALL,), ("linear", "match(width=7)"), ("plain",), (0.1,), 5_000)
    log = tmp_path / "tune.jsonl"
    found = tune(drawn, space, log=log, workers=1)
    assert found.best is not None
    assert found.best.trial.kernel == "linear"
    failed = found.results[1]
    assert failed.failed is not None
    assert "do not divide into descriptors" in failed.failed
    assert failed.failed in found.table("t").to_text()
    lines = len(log.read_text().splitlines())
    tune(drawn, space, log=log, workers=1)
    assert len(log.read_text().splitlines()) == lines + 1


def test_half_a_line_at_the_end_is_dropped(drawn: Protocol, tmp_path: Path) -> None:
    log = tmp_path / "tune.jsonl"
    whole = tune(drawn, SPACE, log=log, workers=1)
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:-1]) + lines[-1][:25])
    again = tune(drawn, SPACE, log=log, workers=1)
    assert again.finished
    assert [one.mean for one in again.results] == [one.mean for one in whole.results]
    assert len(log.read_bytes().splitlines()) == len(lines)


def test_logs_of_other_searches_are_refused_and_left_alone(drawn: Protocol, tmp_path: Path) -> None:
    log = tmp_path / "tune.jsonl"
    tune(drawn, SPACE, seconds=0, log=log)
    kept = log.read_bytes()
    wider = SearchSpace((SMALL,), SPACE.kernels, SPACE.objectives, (0.1, 0.3), 20_000)
    with pytest.raises(BadInput, match=r"log of another search: C differ; give another --log"):
        tune(drawn, wider, log=log)
    other = split_off_test(
        CaptionedPictures(drawn.development.paths, drawn.development.captions, "fewer"),
        language=None,
    )
    with pytest.raises(BadInput, match=r"another search: dataset, pictures, .*sha256 differ"):
        tune(other, SPACE, log=log)
    assert log.read_bytes() == kept
    for content in (b"", b"tree\n", b'{"log": "other"}\n', b"[1]\n"):
        log.write_bytes(content)
        with pytest.raises(BadInput, match="no log of visterm tune"):
            TrialLog(log, {})
    log.write_bytes(kept + b'{"trial": 3}\n')
    with pytest.raises(BadInput, match="line 2: this is no trial"):
        tune(drawn, SPACE, log=log)


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


def command(folder: Path, log: Path) -> list[str]:
    words = ["tune", str(folder / "captions.tsv"), "--features", SMALL, "--log", str(log)]
    settings = ["--C", "0.1", "--C", "0.3", "--iterations", "300000", "--workers", "1"]
    return [sys.executable, "-m", "visterm", *words, *settings, "--json"]


def test_a_killed_search_goes_on_where_it_was(folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "tune.jsonl"
    running = subprocess.Popen(command(folder, log), stdout=subprocess.PIPE)
    until = time.monotonic() + 120
    while not log.exists() or log.read_bytes().count(b"\n") < 3:
        assert running.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < until, "two trials took two minutes"
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    running.communicate()
    kept = log.read_bytes()
    ran = subprocess.run(command(folder, log), capture_output=True, text=True, check=True)
    found = json.loads(ran.stdout)
    assert (found["tried"], found["of"], found["finished"]) == (16, 16, True)
    assert log.read_bytes().startswith(kept[: kept.rfind(b"\n") + 1])
    lines = [json.loads(line) for line in log.read_text().splitlines()[1:]]
    assert len({json.dumps(line["trial"]) for line in lines}) == len(lines) == 16
    best = max(found["trials"], key=lambda trial: trial["AvgP"])
    assert found["best"] == found["trials"][0]
    assert found["best"]["AvgP"] == best["AvgP"]
