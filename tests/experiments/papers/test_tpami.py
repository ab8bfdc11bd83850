"""The model comparison: one run for all tables, chosen on validation, indexed once, and a page."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from visterm.cli.app import app
from visterm.evaluation import best_of, evaluate_rows
from visterm.experiments.demonstration import scenes
from visterm.experiments.papers.published import published
from visterm.experiments.papers.tpami import joint_kernels
from visterm.experiments.papers.tpami import model_comparison as tpami
from visterm.experiments.papers.tpami.ranking_page import compared
from visterm.experiments.runner.indexed_models import IndexedModel, rank_all, settled
from visterm.experiments.runner.presets import PRESETS, make_model
from visterm.experiments.runner.protocol import Protocol
from visterm.features import Blocks
from visterm.models import MODELS, Cmrm, ConceptSvm
from visterm.models.grids import GRIDS

TABLES = (7, 8, 9, 10, 11, 12)

THEIRS = published("tpami")


@pytest.fixture(scope="module")
def protocol(tmp_path_factory: pytest.TempPathFactory) -> Protocol:
    return scenes(tmp_path_factory.mktemp("scenes"), 90)


@pytest.fixture(scope="module")
def made(protocol: Protocol) -> dict[str, IndexedModel]:
    blocks = Blocks(channels=((32, "edges", 60), (32, "colours", 60)), colours=20)
    return tpami.compare_models(protocol, blocks)


@pytest.fixture
def on_scenes(made: dict[str, IndexedModel], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the tables find the drawn scenes where a command would have put Corel's run."""
    monkeypatch.setitem(tpami._made, (None, 0), made)


def test_every_model_of_the_paper_is_run_and_ranks_far_above_chance(
    made: dict[str, IndexedModel], protocol: Protocol
) -> None:
    rows = np.random.default_rng(0).random((20, *made["PAMIR"].rows.shape))
    relevance = protocol.test_relevance
    chance = np.mean([evaluate_rows(r, relevance).mean()["AvgP"] for r in rows])
    assert list(made) == list(THEIRS["table 9"])
    for name, one in made.items():
        assert one.outcome.evaluation.mean()["AvgP"] > 1.3 * chance, name


def test_models_learn_from_all_development_pictures_with_what_validation_chose(
    made: dict[str, IndexedModel], protocol: Protocol
) -> None:
    pamir = made["PAMIR"]
    assert pamir.model.C == pamir.outcome.chosen["C"] in GRIDS["pamir"]["C"].values
    assert pamir.model.max_iter == pamir.outcome.chosen["max_iter"]
    cmrm = made["CMRM"].model
    assert isinstance(cmrm, Cmrm)
    assert len(cmrm.captions_starts_) - 1 == len(protocol.development)


def test_pamir_by_two_kernels_starts_from_nothing_and_from_the_svms(
    protocol: Protocol, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(os, "cpu_count", lambda: 1)  # no processes for 90 pictures
    small = Blocks(channels=((32, "colours", 60),), colours=20)
    monkeypatch.setattr(joint_kernels, "make_extractor", lambda *_, **__: small)
    table = joint_kernels.joint_table(protocol)
    assert len(table) == len(protocol.development) + len(protocol.test)
    np.testing.assert_allclose(np.diag(table), 1, rtol=1e-3)
    found = joint_kernels.compared(protocol, table, max_iter=2_000)
    assert list(found) == ["SVM", "PAMIR", "PAMIR from the SVMs"]
    for one in found.values():
        assert one.part("all").mean()["AvgP"] > 0.2
    assert found["PAMIR from the SVMs"].chosen["max_iter"] <= 2_000


def test_settling_keeps_the_c_of_each_word() -> None:
    pictures = np.eye(6) + 0.1
    captions = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [1, 1], [0, 0]])
    chooser = ConceptSvm(C=(0.1, 10.0)).fit(pictures, captions, validation=(pictures, captions))
    np.testing.assert_array_equal(settled(chooser).word_C, chooser.word_C_)


def test_retrieval_finds_what_the_evaluation_ranks_first(
    made: dict[str, IndexedModel], protocol: Protocol
) -> None:
    relevance = protocol.test_relevance
    rows = made["CMTT"].rows
    scores = np.asarray(relevance.queries @ rows.T)
    best = rank_all(rows, relevance)
    np.testing.assert_allclose(scores[np.arange(len(best)), best], scores.max(axis=1), rtol=1e-5)


@pytest.mark.usefixtures("on_scenes")
@pytest.mark.parametrize("number", TABLES)
def test_tables_stand_beside_the_papers_figures_and_as_one_object(number: int) -> None:
    report = getattr(tpami, f"tpami_{number}")(None)
    assert [c for c in report.table.columns if c.endswith(" ours")] == [
        f"{name} ours" for name in THEIRS["table 9"]
    ]
    row = next(iter(report.table.rows))
    assert all(report.table.number(row, column) is not None for column in report.table.columns)
    assert set(json.loads(json.dumps(report.found))) >= {"published", "ours"}


@pytest.mark.usefixtures("on_scenes")
def test_times_are_given_as_ratios_to_pamir_too() -> None:
    table = tpami.tpami_7(None).table
    assert table.number("times PAMIR", "SVM published") == pytest.approx(687 / 17, abs=1e-3)
    seconds = [table.number("processor seconds", f"{name} ours") for name in ("SVM", "PAMIR")]
    ratio = table.number("times PAMIR", "SVM ours")
    assert ratio == pytest.approx(seconds[0] / seconds[1], rel=0.01)
    assert table.number("times PAMIR", "PAMIR ours") == 1


@pytest.mark.usefixtures("on_scenes")
def test_bold_is_what_the_wilcoxon_test_says_of_each_slice(made: dict[str, IndexedModel]) -> None:
    table = tpami.tpami_11(None).table
    for name in ("single", "multi"):
        parts = {
            m: one.outcome.evaluation.slice(one.outcome.slices[name]) for m, one in made.items()
        }
        best = best_of(parts)
        expected = [] if best is None else [(name, f"{best} ours")]
        assert [cell for cell in table.bold if cell[0] == name] == expected


def test_the_page_shows_five_pictures_of_two_models_for_six_queries(
    made: dict[str, IndexedModel], protocol: Protocol
) -> None:
    report = compared(protocol, made)
    page = (report.page or b"").decode()
    rival = report.found["runner_up"]
    assert page.count("<section>") == len(report.table.rows) == 6
    assert page.count("<img") == 2 * 6 * 5
    assert page.count(f"<strong>{rival}</strong>") == page.count("<strong>PAMIR</strong>") == 6
    validation = {m: one.outcome.chosen["validation"] for m, one in made.items() if m != "PAMIR"}
    assert validation[rival] == max(validation.values())


def test_what_the_page_counts_as_found_is_what_it_ticks(
    made: dict[str, IndexedModel], protocol: Protocol
) -> None:
    report = compared(protocol, made)
    page = (report.page or b"").decode()
    found = sum(sum(query["found"].values()) for query in report.found["queries"])
    assert page.count('<li class="hit">') == found


def test_every_model_has_something_for_validation_pictures_to_decide() -> None:
    # BBNN decides how many rounds it takes; the contrastive maps have settings for each data set.
    assert set(GRIDS) | {"bbnn", "contrastive"} == set(MODELS)
    assert all(kind.decides for kind in MODELS.values())


@pytest.mark.parametrize("name", sorted(MODELS))
def test_choices_are_parameters_of_the_models_they_are_for(name: str) -> None:
    model = make_model(name, max_words=3, seed=5)
    for parameter, offered in PRESETS.get(name, {}).items():
        assert getattr(model, parameter) == offered
    assert model.max_words == 3
    assert model.retrain


def test_the_page_never_fetches_anything(made: dict[str, IndexedModel], protocol: Protocol) -> None:
    page = compared(protocol, made).page or b""
    assert b"http://" not in page
    assert b"https://" not in page


@pytest.mark.usefixtures("on_scenes")
def test_one_command_makes_several_tables_and_their_figures(tmp_path: Path) -> None:
    words = ["reproduce", "tpami-9", "tpami-11", "--figure", str(tmp_path / "figures"), "--json"]
    ran = CliRunner().invoke(app, words)
    assert ran.exit_code == 0, ran.output
    assert set(json.loads(ran.stdout)) == {"tpami-9", "tpami-11"}
    drawn = sorted(file.name for file in (tmp_path / "figures").iterdir())
    assert drawn == ["tpami-11.png", "tpami-9.png"]


@pytest.mark.usefixtures("on_scenes")
def test_one_table_is_its_own_object_and_prints_in_every_layout() -> None:
    alone = CliRunner().invoke(app, ["reproduce", "tpami-8", "--json"])
    assert set(json.loads(alone.stdout)) == {"published", "ours"}
    shown = {
        layout: CliRunner().invoke(app, ["reproduce", "tpami-8", "--layout", layout]).stdout
        for layout in ("text", "markdown", "latex")
    }
    assert shown["markdown"].startswith("**TPAMI table 8")
    assert shown["latex"].startswith("\\begin{table}")
    assert shown["text"].splitlines()[0] == "TPAMI table 8, retrieval (" + THEIRS["source"] + ")"
