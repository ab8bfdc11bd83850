from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from slow_scores import assert_ranked, slow_scores

from visterm.collection import Collection, SearchRequest
from visterm.collection.search.likeness import ALIKE_OTHERWISE
from visterm.errors import BadInput, VistermError
from visterm.text.meaning import glove


def names(collection: Collection, query: str, k: int = 100) -> list[str]:
    return [one.path.name for one in collection.search(query, k).results]


def test_the_ranking_is_that_of_all_scores_sorted(learnt: Collection) -> None:
    text = "tree snow:2 -sea"
    with learnt.catalogue.writing("forgetting"), learnt.catalogue.transaction() as db:
        db.execute("DELETE FROM captions WHERE picture % 3 = 0")
    learnt.judge("tree", 7, True)
    learnt.judge("snow", 9, False)
    found = learnt.search(text, 60).results
    assert len(found) == 60
    assert_ranked(found, slow_scores(learnt, text), text)
    for k in (1, 7, 59):
        assert learnt.search(text, k).results == found[:k]
    assert {one.evidence is not None and "tree" in one.evidence.words for one in found} == {
        True,
        False,
    }


def test_words_are_read_as_people_type_them(
    learnt: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def loads_something() -> None:
        raise AssertionError("a search by words waits for no encoder and no word vectors")

    monkeypatch.setattr("visterm.text.spaces.sentences.open_sentence_encoder", loads_something)
    monkeypatch.setattr("visterm.text.meaning._near", lambda *_: loads_something())
    glove.cache_clear()  # vectors that another test has loaded may be used
    tree = learnt.search("tree", 5)
    for typed in ("a tree with the", "-of tree", "TREE in"):
        answer = learnt.search(typed, 5)
        assert (answer.results, answer.unknown, answer.replaced) == (tree.results, {}, {})
    answer = learnt.search("moutnain", 5)
    assert answer.replaced == {"moutnain": ["mountain"]}
    assert answer.results == learnt.search("mountain", 5).results
    answer = learnt.search("tree miner Rosalinde", 5)
    assert answer.results == tree.results
    assert answer.unknown.keys() == {"miner", "rosalinde"}
    with pytest.raises(BadInput, match=r"not known yet: 'boast' \(close to boat"):
        learnt.search("boast")  # an English word is no slip
    with pytest.raises(BadInput, match="add what the pictures should show"):
        learnt.search("a the")


def test_wrong_queries_are_refused_with_what_to_do(learnt: Collection) -> None:
    with pytest.raises(BadInput, match="an empty query"):
        learnt.search(" ")
    with pytest.raises(BadInput, match="1 or more pictures"):
        learnt.search("tree", 0)


def test_before_anything_is_learnt_it_says_what_to_do(collection: Collection) -> None:
    with pytest.raises(VistermError, match=r"nothing has been learnt yet.*visterm train"):
        collection.search("tree")


def test_folders_and_captions_narrow_the_pictures(learnt: Collection) -> None:
    root = learnt.root
    (root / "Alps" / "2019").mkdir(parents=True)
    (root / "Alpsee").mkdir()
    for name, to in (("scene-0001", "Alps"), ("scene-0002", "Alps/2019"), ("scene-0003", "Alpsee")):
        (root / f"{name}.jpg").rename(root / to / f"{name}.jpg")
    Image.new("RGB", (40, 30), "red").save(root / "Alps" / "red.png")
    learnt.add()
    assert set(names(learnt, "in:alps")) == {"scene-0001.jpg", "scene-0002.jpg", "red.png"}
    assert names(learnt, "tree in:2019") == ["scene-0002.jpg"]
    assert names(learnt, "in:Alps/2019") == ["scene-0002.jpg"]
    assert set(names(learnt, "in:2019 in:Alpsee")) == {"scene-0002.jpg", "scene-0003.jpg"}
    assert names(learnt, "tree captioned:no") == ["red.png"]
    assert len(names(learnt, "captioned:yes")) == 60
    assert names(learnt, "in:Alpsee captioned:no") == []
    with pytest.raises(BadInput, match="no folder 'alpse'; did you mean in:Alps"):
        learnt.search("tree in:alpse")


def test_percent_signs_and_underscores_in_folders_mean_themselves(learnt: Collection) -> None:
    for folder in ("100%", "1000", "a_b", "axb"):
        (learnt.root / folder).mkdir()
        shutil.copy(learnt.root / "scene-0001.jpg", learnt.root / folder / f"{folder}.jpg")
    learnt.add()
    for folder in ("100%", "a_b"):
        (found,) = learnt.search(f"in:{folder}").results
        assert found.path.name == f"{folder}.jpg", "the copy in that folder is the one shown"


def test_copies_are_one_result_with_all_their_places(learnt: Collection) -> None:
    shutil.copy(learnt.root / "scene-0001.jpg", learnt.root / "copy.jpg")
    learnt.add()
    found = learnt.search("sky", 100).results
    assert len(found) == 60
    (both,) = (one for one in found if one.also)
    assert [path.name for path in (both.path, *both.also)] == ["copy.jpg", "scene-0001.jpg"]


def test_near_duplicates_are_folded_into_the_better_one(learnt: Collection) -> None:
    for number in (1, 2):
        picture = Image.open(learnt.root / f"scene-000{number}.jpg")
        picture.resize((40, 27)).save(learnt.root / f"small-{number}.png")
    learnt.add()
    from thumbnails import Thumbnails

    plain = names(learnt, "sky", 62)
    folded = [one.path.name for one in learnt.search("sky", 62, fold=True).results]
    assert len(plain) == 62
    vectors = dict(
        zip(plain, Thumbnails().fit().transform([learnt.root / one for one in plain]), strict=True)
    )
    expected: list[str] = []
    for name in plain:  # the better one is the first
        if all(vectors[name] @ vectors[kept] < ALIKE_OTHERWISE for kept in expected):
            expected.append(name)
    assert folded == expected
    assert 1 < len(folded) < 61


def test_pictures_like_a_picture_are_ranked_by_cosine(learnt: Collection, tmp_path: Path) -> None:
    from thumbnails import Thumbnails

    paths = sorted(learnt.root.glob("*.jpg"))
    vectors = Thumbnails().fit().transform(paths)
    cosines = vectors @ vectors[6]
    expected = [paths[at].name for at in np.argsort(-cosines, kind="stable") if at != 6]
    found = learnt.search(SearchRequest(like=paths[6], k=10))
    assert [one.path.name for one in found.results] == expected[:10]
    outside = tmp_path / "outside.png"
    Image.open(paths[6]).save(outside)
    best = learnt.search(SearchRequest(like=outside, k=1)).results[0]
    assert best.path == paths[6]
    assert best.score == pytest.approx(1.0, abs=1e-3)
    with pytest.raises(BadInput, match="there is no picture"):
        learnt.search(SearchRequest(like=tmp_path / "none.jpg"))


def test_a_picture_that_has_just_vanished_gives_way_to_the_next(learnt: Collection) -> None:
    plain = names(learnt, "sky", 10)
    with learnt.catalogue.writing("trying"), learnt.catalogue.transaction() as db:
        for name in plain[:4]:
            db.execute("UPDATE places SET vanished = 1 WHERE name = ?", (name,))
    assert names(learnt, "sky", 6) == plain[4:10]


def test_a_search_loads_neither_scipy_nor_any_other_heavy_library() -> None:
    import subprocess
    import sys

    program = (
        "import sys, visterm.collection, visterm.text.query\n"
        "heavy = {'scipy', 'sklearn', 'numba', 'PIL', 'rich', 'faiss', 'joblib', 'platformdirs'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.stdout == "[]\n", ran.stderr
