"""One number: a picture and a word have the same probability wherever it is shown."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from visterm.collection import Collection
from visterm.web.app import make_app

sys.path.insert(0, str(Path(__file__).parent.parent / "cli"))

from running import visterm  # it lies beside the tests of the command line

API = "/api/v1"
CLOSE = 1e-4
"""Scores are 32-bit numbers."""


@pytest.fixture(scope="module")
def folder(taught_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some pictures with captions, some without; names count, and somebody answered two queries."""
    copied = shutil.copytree(taught_folder, tmp_path_factory.mktemp("answered") / "holidays")
    with Collection.open(copied) as collection:
        collection.add(names="both", n_jobs=1)
        found = collection.search("sea", k=200).results
        for one in found[1:4]:
            collection.judge("sea", one.picture, False)
        collection.judge("alps", found[0].picture, True)
    return Path(copied)


@pytest.fixture(scope="module")
def answered(folder: Path) -> Iterator[tuple[Collection, TestClient]]:
    with (
        Collection.open(folder) as collection,
        TestClient(
            make_app(folder), base_url="http://127.0.0.1:8765", client=("127.0.0.1", 50000)
        ) as client,
    ):
        yield collection, client


def _searched(collection: Collection, word: str) -> dict[int, float | None]:
    return {one.picture: one.probability for one in collection.search(word, k=1000).results}


def test_search_describe_why_and_suggestions_agree_in_python(
    answered: tuple[Collection, TestClient],
) -> None:
    collection, _ = answered
    pictures = [*_searched(collection, "sea")][::23]
    paths = [collection.original(picture) for picture in pictures]
    described = collection.descriptions(paths, words=1000, phrases=0, captions=0)
    said = {
        picture: {one.word: one.probability for one in collection.describe(picture, 1000)}
        for picture in pictures
    }
    assert [{one.word: one.probability for one in about.words} for about in described] == [
        *said.values()
    ]
    words = sorted(said[pictures[0]])
    assert {"sea", "sky", "house"} <= {*words}
    for number, word in enumerate(words):
        searched = _searched(collection, word)
        for picture in pictures:
            assert said[picture][word] == pytest.approx(searched[picture], abs=CLOSE)
        picture = pictures[number % len(pictures)]
        why = collection.explain(picture, word).probability
        assert why == pytest.approx(searched[picture], abs=CLOSE)
    for suggested in collection.suggested_words(20):
        found = _searched(collection, suggested.word)[suggested.picture]
        assert suggested.probability == pytest.approx(found, abs=CLOSE)


def test_captions_names_and_answers_all_count_in_a_description(
    folder: Path, tmp_path: Path
) -> None:
    collection = Collection.open(shutil.copytree(folder, tmp_path / "holidays"))

    def said(picture: int, word: str) -> float:
        found = {one.word: one.probability for one in collection.describe(picture, 1000)}[word]
        assert found is not None
        return found

    results = collection.search("sea captioned:yes", k=1000).results
    held = next(one for one in results if one.evidence and one.evidence.words)
    assert said(held.picture, "sea") > 0.98
    before = said(held.picture, "sea")
    collection.caption(held.picture, "a quiet evening far from everything")
    assert said(held.picture, "sea") < before
    collection.forget_judgements()
    plain = collection.search("sea captioned:no", k=1).results[0]
    assert said(plain.picture, "sea") == pytest.approx(plain.probability, abs=CLOSE)
    collection.close()


def test_a_query_of_several_words_has_one_probability_too(
    answered: tuple[Collection, TestClient],
) -> None:
    collection, client = answered
    for query in ("sea sky", "house -sea"):
        for picture, probability in list(_searched(collection, query).items())[::40]:
            why = collection.explain(picture, query).probability
            assert why == pytest.approx(probability, abs=CLOSE)
            shown = client.get(f"{API}/pictures/{picture}/why", params={"query": query}).json()
            assert shown["probability"] == pytest.approx(probability, abs=CLOSE)


def test_the_server_says_the_same(answered: tuple[Collection, TestClient]) -> None:
    collection, client = answered
    for word in ("sea", "sky"):
        known = _searched(collection, word)
        results = client.get(f"{API}/search", params={"query": word, "k": 40}).json()["results"]
        for one in results[::7]:
            picture, expected = one["picture"], known[one["picture"]]
            assert one["probability"] == pytest.approx(expected, abs=CLOSE)
            words = client.get(f"{API}/pictures/{picture}/words", params={"k": 100}).json()["words"]
            said = {about["word"]: about["probability"] for about in words}
            assert said[word] == pytest.approx(expected, abs=CLOSE)
    for suggested in client.get(f"{API}/suggestions").json()["words"]:
        found = _searched(collection, suggested["word"])[suggested["picture"]["picture"]]
        assert suggested["probability"] == pytest.approx(found, abs=CLOSE)


def test_the_command_line_says_the_same(folder: Path) -> None:
    found = json.loads(visterm("search", "sea", "--json", "-k", 3, cwd=folder).stdout)["results"]
    for one in found:
        described = json.loads(
            visterm("describe", one["path"], "--words", 100, "--json", cwd=folder).stdout
        )
        (about,) = described["pictures"]
        said = {word["word"]: word["probability"] for word in about["words"]}
        why = json.loads(visterm("explain", one["path"], "sea", "--json", cwd=folder).stdout)
        assert said["sea"] == pytest.approx(one["probability"], abs=CLOSE)
        assert why["probability"] == pytest.approx(one["probability"], abs=CLOSE)
