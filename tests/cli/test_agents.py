"""visterm mcp, asked by the protocol's own client: agents read, and change only what is allowed."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from visterm.collection import Collection
from visterm.datasets.scenes import draw_scenes

pytest.importorskip("mcp.server.mcpserver", reason="the extra mcp is not installed")

from mcp import Client, StdioServerParameters

READING = {"search", "similar", "describe", "status"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("Pictures")
    draw_scenes(folder, 60, size=(48, 32))
    with Collection.open(folder) as collection:
        collection.add(features="blocks")
        collection.caption_from(folder / "captions.tsv")
        collection.train()
    return folder


def server(folder: Path, *options: str) -> StdioServerParameters:
    words = ["-m", "visterm", "mcp", "-C", str(folder), *options]
    return StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ))


def asked(parameters: StdioServerParameters, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """The names of the tools, then what each call is answered."""

    async def session() -> list[Any]:
        async with Client(parameters) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            return [tools, *[await client.call_tool(name, values) for name, values in calls]]

    return asyncio.run(asyncio.wait_for(session(), 120))


def test_an_agent_searches_looks_and_asks(folder: Path) -> None:
    first = str(folder / "scene-0001.jpg")
    tools, found, like, described, status = asked(
        server(folder),
        ("search", {"query": "sky", "k": 5}),
        ("similar", {"picture": first, "k": 3}),
        ("describe", {"picture": first, "words": 4}),
        ("status", {}),
    )
    assert tools == READING
    with Collection.open(folder) as collection:
        expected = [str(one.path) for one in collection.search("sky", 5).results]
        captions = collection.captions(first)
    assert [one["path"] for one in found.structured_content["results"]] == expected
    assert len(like.structured_content["results"]) == 3
    assert described.structured_content["captions"] == captions
    assert len(described.structured_content["words"]) == 4
    assert status.structured_content["pictures"] == 60


def test_nothing_but_pictures_of_the_collection_is_read_and_errors_are_sentences(
    folder: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.jpg"
    secret.write_bytes((folder / "scene-0001.jpg").read_bytes())
    _, *answers = asked(
        server(folder),
        ("describe", {"picture": str(secret)}),
        ("similar", {"picture": str(secret)}),
        ("search", {"query": "in:nowhere"}),
        ("search", {"query": "sky", "k": 0}),
    )
    assert all(answer.is_error for answer in answers)
    assert "is not in the collection" in answers[0].content[0].text
    assert "no folder 'nowhere'" in answers[2].content[0].text


def test_changes_are_made_only_where_they_are_allowed_and_can_be_undone(folder: Path) -> None:
    second = str(folder / "scene-0002.jpg")
    calls = (
        ("judge", {"query": "sky", "picture": second, "relevant": True}),
        ("caption", {"picture": second, "text": "a lighthouse"}),
    )
    with suppress(Exception):  # the client may refuse to call a tool that was not listed
        _, *refused = asked(server(folder), *calls)
        assert all(answer.is_error for answer in refused)
    with Collection.open(folder) as collection:
        assert collection.judgements() == []
        assert "person" not in collection.captions(second)
    tools, judged, captioned = asked(server(folder, "--allow-changes"), *calls)
    assert tools == READING | {"judge", "caption"}
    assert judged.structured_content["relevant"] is True
    assert captioned.structured_content["captions"]["person"] == "a lighthouse"
    with Collection.open(folder) as collection:
        assert len(collection.judgements()) == 1
        assert collection.undo_last().what == "caption"
        collection.undo_last()
        assert collection.judgements() == []
