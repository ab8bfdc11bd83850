"""Where good matches end: a matter of query and picture, whatever else is looked at."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from visterm.calibration.calibration import GOOD, POSSIBLE, Calibration
from visterm.collection import Collection
from visterm.collection.store.versions import CALIBRATION, current
from visterm.collection.training import training_set
from visterm.datasets.scenes import draw_scenes
from visterm.errors import BadInput
from visterm.text import Vocabulary
from visterm.text.query import parse_query, query_vector


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    """Enough captioned pictures that some are held out; those without the sea lie in a folder."""
    folder = tmp_path_factory.mktemp("judged")
    for path, words in draw_scenes(folder, 180, seed=4, size=(48, 32)):
        path.with_suffix(".txt").write_text(" ".join(words))
        if "sea" not in words:
            inland = folder / "inland"
            inland.mkdir(exist_ok=True)
            for one in (path, path.with_suffix(".txt")):
                shutil.move(one, inland / one.name)
    (folder / "captions.tsv").unlink(missing_ok=True)
    with Collection.open(folder) as collection:
        collection.add(features="thumbnails")
        collection.train()
        yield collection


def _known(collection: Collection) -> tuple[Vocabulary, Calibration]:
    version = current(collection.catalogue)
    assert version is not None
    calibration = version.calibration()
    assert isinstance(calibration, Calibration)
    return version.vocabulary(), calibration


def test_chances_fall_with_the_score_and_the_line_is_where_they_cross_it(
    judged: Collection,
) -> None:
    vocabulary, calibration = _known(judged)
    for query in ("sea", "sky house", "tree -sea"):
        answer = judged.search(query, k=1000)
        chances = [one.probability or 0.0 for one in answer.results]
        assert chances == sorted(chances, reverse=True)
        vector = query_vector(parse_query(query), vocabulary)
        least = calibration.least_score(vector.numbers, vector.weights, GOOD)
        assert answer.cutoff == sum(one.score >= least for one in answer.results)
        assert answer.cutoff == sum(chance >= GOOD for chance in chances)
        assert answer.possible == sum(POSSIBLE <= chance < GOOD for chance in chances)
        assert 0 < answer.cutoff + answer.possible < len(chances)


def test_chances_are_of_use(judged: Collection) -> None:
    """Pictures of the sea have higher chances for it than those without."""
    found = {one.path: one.probability or 0.0 for one in judged.search("sea", k=1000).results}
    inland = [chance for path, chance in found.items() if path.parent.name == "inland"]
    shore = [chance for path, chance in found.items() if path.parent.name != "inland"]
    assert sum(shore) / len(shore) > 1.5 * sum(inland) / len(inland)


@pytest.mark.parametrize("k", [1, 3, 50, 1000])
def test_the_line_does_not_depend_on_how_many_are_asked_for(judged: Collection, k: int) -> None:
    assert judged.search("sea", k=k).cutoff == judged.search("sea", k=1000).cutoff


def test_under_a_filter_a_picture_keeps_its_chance(judged: Collection) -> None:
    everywhere = {one.picture: one.probability for one in judged.search("sea", k=1000).results}
    inland = judged.search("sea in:inland", k=1000)
    assert {one.picture: one.probability for one in inland.results}.items() <= everywhere.items()
    good = [one for one in inland.results if (one.probability or 0.0) >= GOOD]
    assert inland.cutoff == len(good)


def test_a_folder_without_forests_has_no_good_match_for_forest(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    for name, colour in (
        ("forest", (30, 110, 40)),
        ("city", (120, 120, 125)),
        ("sea", (30, 60, 190)),
    ):
        (tmp_path / name).mkdir()
        for number in range(60):
            noise = random.normal(0, 12, (24, 32, 3)) + random.normal(0, 10, 3) + colour
            path = tmp_path / name / f"{number}.png"
            Image.fromarray(np.clip(noise, 0, 255).astype(np.uint8)).save(path)
            path.with_suffix(".txt").write_text(name)
    with Collection.open(tmp_path) as collection:
        collection.add(features="thumbnails")
        collection.train()
        assert 50 <= (collection.search("forest").cutoff or 0) <= 70
        nowhere = collection.search("forest in:city", k=5)
        assert nowhere.cutoff == 0
        assert len(nowhere.results) == 5
        assert collection.search("forest in:city", k=5, good=True).results == []


def test_only_good_matches_are_shown_when_asked_for(judged: Collection) -> None:
    whole = judged.search("sea", k=1000)
    good = judged.search("sea", k=1000, good=True)
    assert good.results == whole.results[: whole.cutoff]
    assert judged.search("sea", k=2, good=True).results == whole.results[:2]
    assert good.cutoff is not None
    assert judged.search("sea", k=5, offset=good.cutoff, good=True).results == []


def test_pages_follow_each_other(judged: Collection) -> None:
    whole = judged.search("sky", k=30).results
    pages = [judged.search("sky", k=7, offset=first).results for first in range(0, 30, 7)]
    assert [one for page in pages for one in page][:30] == whole
    assert judged.search("sky", k=7, offset=10**6).results == []
    folded = judged.search("sky", k=30, fold=True).results
    assert judged.search("sky", k=10, offset=5, fold=True).results == folded[5:15]
    with pytest.raises(BadInput, match="pass over"):
        judged.search("sky", offset=-1)


def test_conditions_alone_have_no_line(judged: Collection) -> None:
    answer = judged.search("in:inland", k=3)
    assert answer.cutoff is None
    assert [one.probability for one in answer.results] == [None] * 3
    assert len(judged.search("in:inland", k=3, good=True).results) == 3


def test_answers_to_a_query_correct_the_probabilities_of_all_its_pictures(
    judged: Collection,
) -> None:
    vocabulary, calibration = _known(judged)

    def corrections(query: str) -> np.ndarray:
        """Of pictures that nobody judged: log odds as they are said, less those of their scores."""
        found = [one for one in judged.search(query, k=1000).results if one.judged is None]
        vector = query_vector(parse_query(query), vocabulary)
        usual = calibration.probabilities(
            vector.numbers, vector.weights, [one.score for one in found]
        )
        said = np.array([one.probability for one in found])
        some = (usual > 1e-6) & (usual < 1 - 1e-6)
        return np.log(said / (1 - said))[some] - np.log(usual / (1 - usual))[some]

    before = judged.search("sea house", k=1000)
    for relevant in (False, True):
        for one in before.results[:4]:
            judged.judge("sea house", one.picture, relevant)
        moved = corrections("sea house") * (1 if relevant else -1)
        assert moved.min() > 1e-3
        np.testing.assert_allclose(moved, moved[0], rtol=1e-4)
        np.testing.assert_allclose(corrections("sea"), 0, atol=1e-9)
    judged.forget_judgements()
    assert judged.search("sea house", k=1000) == before


def test_without_held_out_pictures_nothing_is_claimed(
    learnt: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training_set, "_ENOUGH_TO_JUDGE", 1000)
    learnt.train(model="pamir", max_iter=2000, force=True)  # which knows of no left-out pictures
    answer = learnt.search("sea", k=3, good=True)
    assert answer.cutoff is None
    assert [one.probability for one in answer.results] == [None] * 3


def test_words_for_a_picture_come_with_their_chances(judged: Collection) -> None:
    found = judged.search("sea", k=1000).results[-1]
    assert found.evidence is not None
    assert found.evidence.words == ()
    words = judged.describe(found.picture, k=5)
    assert len(words) == 5
    assert [one.probability for one in words] == sorted(
        (one.probability for one in words), reverse=True
    )  # type: ignore[type-var]
    everything = {one.word: one for one in judged.describe(found.path, k=1000)}
    assert everything["sea"].score == pytest.approx(found.score)
    assert found.score < found.evidence.sight  # whose caption leaves the sea out
    with pytest.raises(BadInput, match="1 or more words"):
        judged.describe(found.picture, 0)


def test_what_clicks_taught_shows_in_the_words_of_a_picture(learnt: Collection) -> None:
    low = learnt.search("sea", k=60).results[-1].picture
    before = {one.word: one.score for one in learnt.describe(low, k=100)}
    learnt.judge("sea", low, True)
    after = {one.word: one.score for one in learnt.describe(low, k=100)}
    assert after.pop("sea") > before.pop("sea")
    assert after == before


def test_a_damaged_line_is_found_by_check(learnt: Collection) -> None:
    version = current(learnt.catalogue)
    assert version is not None
    path: Path = version.folder / CALIBRATION
    path.write_bytes(path.read_bytes().replace(b"means", b"MEANS"))
    assert not learnt.check().is_well
