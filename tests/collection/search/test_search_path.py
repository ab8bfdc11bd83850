"""The one search path: whatever is asked, the same filters, folding, pages and words apply."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from visterm.collection import Collection, SearchRequest
from visterm.datasets.scenes import draw_scenes
from visterm.errors import BadInput
from visterm.text.filters import Filters


@pytest.fixture(scope="module")
def trained_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two hundred captioned scenes, enough to know where good matches end."""
    folder = tmp_path_factory.mktemp("path") / "pictures"
    draw_scenes(folder, 200, size=(48, 32))
    with Collection.open(folder) as opened:
        opened.add(features="thumbnails")
        opened.caption_from(folder / "captions.tsv")
        opened.train()
        opened.train_space("lsa")
    return folder


@pytest.fixture
def trained(trained_folder: Path, tmp_path: Path) -> Iterator[Collection]:
    folder = Path(shutil.copytree(trained_folder, tmp_path / "pictures"))
    with Collection.open(folder) as opened:
        yield opened


def numbers(collection: Collection, *request: object, **options: object) -> list[int]:
    found = collection.search(SearchRequest(*request, **options))  # type: ignore[arg-type]
    return [one.picture for one in found.results]


def test_a_request_and_its_short_form_are_answered_alike(trained: Collection) -> None:
    request = SearchRequest("sky -sea", k=7, offset=2, fold=True)
    assert trained.search(request) == trained.search("sky -sea", 7, offset=2, fold=True)
    with pytest.raises(BadInput, match="its own k"):
        trained.search(request, 3)


def test_filters_in_the_text_and_beside_it_are_one(trained: Collection) -> None:
    (trained.root / "summer 2019").mkdir()
    for number in range(1, 30):
        name = f"scene-{number:04d}.jpg"
        (trained.root / name).rename(trained.root / "summer 2019" / name)
    trained.add()
    beside = Filters(("summer 2019",))
    for space in ("words", "lsa"):
        written = numbers(trained, 'sea in:"summer 2019"', 100, space=space)
        assert len(written) == 29
        assert written == numbers(trained, "sea", 100, space=space, filters=beside)
    picture = trained.root / "scene-0100.jpg"
    assert len(numbers(trained, k=100, like=picture, filters=beside)) == 29
    with pytest.raises(BadInput, match="captioned and not captioned"):
        trained.search("sea captioned:no", filters=Filters(captioned=True))


def test_a_time_in_a_sentence_is_no_weight(trained: Collection) -> None:
    plain = numbers(trained, "the sea", 10, space="lsa")
    assert numbers(trained, "the sea at 10:30", 10, space="lsa") == plain


def test_what_likeness_cannot_do_is_refused_and_not_ignored(trained: Collection) -> None:
    picture = trained.root / "scene-0001.jpg"
    with pytest.raises(BadInput, match="not known for likeness"):
        trained.search("", like=picture, good=True)
    with pytest.raises(BadInput, match="a space is for sentences"):
        trained.search("", like=picture, space="lsa")


def test_words_and_a_picture_count_alike_together(trained: Collection) -> None:
    picture = trained.root / "scene-0001.jpg"
    together = trained.search(SearchRequest("sea -tree", 199, like=picture)).results
    words = {one.picture: one.score for one in trained.search("sea -tree", 200).results}
    alike = {one.picture: one.score for one in trained.search("", 199, like=picture).results}
    assert len(together) == 199, "the picture itself is left out"
    known = sorted(alike)

    def standardised(scores: dict[int, float]) -> np.ndarray:
        values = np.array([scores[one] for one in known])
        return (values - values.mean()) / values.std()

    expected = standardised(words) + standardised(alike)
    order = np.lexsort((known, -expected))
    assert [one.picture for one in together] == [known[place] for place in order]
    np.testing.assert_allclose([one.score for one in together], expected[order], atol=1e-4)
    sentence = numbers(trained, "a house by the sea", 10, like=picture, space="lsa")
    assert len(sentence) == 10


def test_folding_fills_the_page_whatever_is_asked(trained: Collection) -> None:
    """Nine copies of each of four pictures: a page of six must not be short of them."""
    for number in (1, 2, 3, 4):
        with Image.open(trained.root / f"scene-{number:04d}.jpg") as picture:
            for copy in range(1, 9):
                picture.resize((48 + copy, 32 + copy)).save(
                    trained.root / f"copy-{number}-{copy}.png"
                )
    trained.add()
    like = trained.root / "scene-0001.jpg"
    for request in (
        SearchRequest(like=like, k=6, fold=True),
        SearchRequest("sea", k=6, fold=True),
        SearchRequest("the sea", k=6, fold=True, space="lsa"),
    ):
        response = trained.search(request)
        assert len(response.results) == 6
        assert response.more
        families = [one.path.stem.split("-")[:2] for one in response.results]
        copies = [family[1] for family in families if family[0] == "copy"]
        assert len(copies) == len(set(copies)), "of nine copies one is shown"


def test_a_no_takes_its_picture_out_of_the_good_matches(trained: Collection) -> None:
    before = trained.search("sea", 200)
    assert before.cutoff is not None
    assert before.cutoff > 3
    refused = before.results[1].picture
    trained.judge("sea", refused, False)
    after = trained.search("sea", 200)
    assert after.cutoff is not None
    place = [one.picture for one in after.results].index(refused)
    assert place >= after.cutoff
    assert after.results[place].judged is False
    assert refused not in numbers(trained, "sea", 200, good=True)
    pages = [numbers(trained, "sea", 10, first) for first in range(0, 200, 10)]
    assert [one for page in pages for one in page] == [one.picture for one in after.results]
    others = trained.search("sea sky", 200)
    assert all(one.judged is None for one in others.results), "it was about that query alone"


def test_a_page_says_whether_there_is_another(trained: Collection) -> None:
    assert trained.search("sea", 199).more
    assert not trained.search("sea", 200).more
    assert not trained.search("sea", 10, offset=190).more
    assert trained.search("", 198, like=trained.root / "scene-0001.jpg").more
    assert not trained.search("", 199, like=trained.root / "scene-0001.jpg").more


def test_replaced_words_are_said(trained: Collection) -> None:
    response = trained.search("ocean", 5)
    assert response.replaced == {"ocean": ["sea"]}
    assert response.results == trained.search("sea", 5).results


def test_nothing_is_said_of_how_likely_a_word_is_that_a_yes_began(trained: Collection) -> None:
    trained.judge("Bruno", trained.root / "scene-0007.jpg", True)
    response = trained.search("Bruno", 5, good=True)
    assert response.results[0].path.name == "scene-0007.jpg"
    assert response.cutoff is None
    assert response.results[0].probability is None
