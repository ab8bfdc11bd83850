"""visterm mcp: the collection for agents, by the Model Context Protocol over stdin and stdout.

Answers are what ``--json`` prints. Only pictures of the collection can be asked about, and only
with ``--allow-changes`` can anything be changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from visterm import __version__
from visterm.cli.options import on_collection
from visterm.errors import VistermError, needs_extra
from visterm.json_text import json_text

if TYPE_CHECKING:
    from visterm.collection import Collection

_INSTRUCTIONS = """Search a person's picture collection by words. Words are ranked together, -word
is unwanted; filters: in:FOLDER, 2019-07, after:2019, near:38.7,-9.1,5km, type:video, captioned:no.
Probabilities say how likely a picture answers; pictures beyond the cutoff are no good matches."""


@on_collection
def mcp(
    collection: Collection,
    allow_changes: Annotated[
        bool, typer.Option("--allow-changes", help="Let agents give captions and feedback, too.")
    ] = False,
) -> None:
    """Let agents search a collection, by the Model Context Protocol on stdin and stdout.

    Agents may search, describe pictures, find similar ones, and ask for the status; with
    --allow-changes also caption pictures and say whether one answers a query, each of which
    visterm undo takes back. It needs the extra mcp.

    Example: visterm mcp -C ~/Pictures
    """
    with needs_extra("mcp", "agents are answered by the package mcp"):
        from mcp.server.mcpserver import MCPServer
        from mcp.types import ToolAnnotations

    server = MCPServer("visterm", instructions=_INSTRUCTIONS, version=__version__)
    reads = server.tool(annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False))

    # They are coroutines so that all run on this thread, whose connection to SQLite it is.
    @reads
    async def search(query: str, k: int = 20, offset: int = 0) -> dict[str, Any]:
        """The best pictures for words and filters: paths, scores, probabilities, and a cutoff."""
        return _answer(lambda: collection.search(query, k, offset=offset))

    @reads
    async def similar(picture: str, k: int = 20) -> dict[str, Any]:
        """The pictures that look most like a picture of the collection, given by its path."""
        return _answer(lambda: collection.search("", k, like=collection.number(picture)))

    @reads
    async def describe(picture: str, words: int = 10) -> dict[str, Any]:
        """What is said about a picture, by source, and the words that it most likely shows."""
        return _answer(lambda: _described(collection, collection.number(picture), words))

    @reads
    async def status() -> dict[str, Any]:
        """How many pictures, captions and words there are, and what could be done next."""
        return _answer(collection.status)

    if allow_changes:
        changes = server.tool(
            annotations=ToolAnnotations(destructive_hint=False, open_world_hint=False)
        )

        @changes
        async def judge(query: str, picture: str, relevant: bool) -> dict[str, Any]:
            """Say whether a picture answers a query; the model learns from it."""
            return _answer(lambda: collection.judge(query, picture, relevant))

        @changes
        async def caption(picture: str, text: str) -> dict[str, Any]:
            """Give a picture a caption, in place of its owner's; an empty text takes it away."""
            _answer(lambda: collection.caption(picture, text))
            return _answer(lambda: {"captions": collection.captions(picture)})

    server.run("stdio")


def _described(collection: Collection, picture: int, words: int) -> dict[str, object]:
    likely = collection.describe(picture, words) if collection.has_model else []
    return {"captions": collection.captions(picture), "words": likely}


def _answer(ask: Callable[[], object]) -> Any:
    """An answer as ``--json`` would print it; what is wrong becomes a sentence for the agent."""
    from mcp.server.mcpserver.exceptions import ToolError

    try:
        return json.loads(json_text(ask()))
    except VistermError as error:
        raise ToolError(str(error)) from None
