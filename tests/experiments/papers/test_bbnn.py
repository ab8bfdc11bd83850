"""The BBNN report's tables: the network on blocks beside models on visterms, on drawn scenes."""

from __future__ import annotations

from pathlib import Path

import pytest

from visterm.experiments.demonstration import scenes
from visterm.experiments.papers.bbnn import network_comparison as bbnn_tables
from visterm.experiments.papers.published import published
from visterm.experiments.runner.presets import PRESETS
from visterm.experiments.runner.protocol import Protocol
from visterm.features import BlockCounts, Blocks
from visterm.models import Bbnn

SMALL = {
    "block_units": 40,
    "picture_units": 40,
    "batch_size": 50,
    "epoch_pairs": 1500,
    "max_iter": 6,
}

THEIRS = published("bbnn")


@pytest.fixture(scope="module")
def protocol(tmp_path_factory: pytest.TempPathFactory) -> Protocol:
    return scenes(tmp_path_factory.mktemp("scenes"), 90)


@pytest.fixture
def on_scenes(protocol: Protocol, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the tables look at few drawn scenes with small models."""
    monkeypatch.setitem(PRESETS, "bbnn", SMALL)
    monkeypatch.setattr(bbnn_tables, "corel5k", lambda data, seed: protocol)
    compare = bbnn_tables.compare_with_bbnn

    def small(protocol, visterms, blocks, progress):
        visterms = Blocks(channels=((32, "edges", 60), (32, "colours", 60)), colours=20)
        counts = BlockCounts(colours=20)
        return compare(protocol, visterms, counts, models={"PAMIR": "pamir"}, progress=progress)

    monkeypatch.setattr(bbnn_tables, "compare_with_bbnn", small)


def test_tables_show_ours_beside_the_published_figures(on_scenes: None) -> None:
    report = bbnn_tables.bbnn_2(None)
    assert report.found["published"]["BBNN"] == {"AvgP": 26.2, "P@10": 10.2}
    assert list(report.found["ours"]) == ["PAMIR", "BBNN"]
    ours = report.found["ours"]["BBNN"]
    assert 1 <= ours["chosen"]["max_iter"] <= SMALL["max_iter"]
    assert ours["AvgP"] > 20
    text = report.table.to_text()
    assert "26.2" in text
    assert f"{ours['AvgP']:.1f}" in text


def test_the_single_word_table_learns_and_ranks_single_words_only(
    on_scenes: None, protocol: Protocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    learnt = []
    fit = Bbnn.fit

    def watched(self, *given, **named):
        learnt.append(self.max_words)
        return fit(self, *given, **named)

    monkeypatch.setattr(Bbnn, "fit", watched)
    report = bbnn_tables.bbnn_3(None)
    assert set(learnt) == {1}
    held = protocol.test_relevance.words_per_query == 1
    assert report.found["ours"]["BBNN"]["queries"] == int(held.sum())


def test_models_stand_in_the_report_s_order() -> None:
    assert [*bbnn_tables.OTHERS, "BBNN"] == list(THEIRS["table 2"]) == list(THEIRS["table 3"])


def test_as_published_validation_chooses_among_settings_of_plain_descent(
    protocol: Protocol, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    small = {"epoch_pairs": 200, "max_iter": 1, "block_units": 8, "picture_units": 8}
    monkeypatch.setattr(bbnn_tables, "PLAIN", bbnn_tables.PLAIN | small)
    rates = [{"learning_rate": rate} for rate in (0.01, 0.3)]
    made = bbnn_tables.published_bbnn(protocol, BlockCounts(colours=20), rates)
    chosen = made["BBNN"].outcome.chosen
    assert chosen["learning_rate"] in (0.01, 0.3)
    assert len(list((tmp_path / "visterm" / "experiments").glob("run-*.json"))) == 2
