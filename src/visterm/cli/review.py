"""visterm review: look at the captions of a word that are likely to be wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from visterm.cli.options import Answer, on_collection
from visterm.cli.output import asked, counted, percent, say, short_path

if TYPE_CHECKING:
    from visterm.collection import Collection, Doubt


@on_collection
def review(
    collection: Collection,
    word: Annotated[str, typer.Argument(help="A word of captions.")],
    count: Annotated[int, typer.Option(min=1, help="How many captions to look at.")] = 10,
    ask: Annotated[bool, typer.Option("--ask", help="Only print the captions in doubt.")] = False,
) -> Answer:
    """Look at captions that may be wrong about a word.

    Some have the word, but their pictures do not look like it; others lack it, but theirs do. Your
    yes adds the word to a caption, your no removes it. Of captions called less sure, fewer than
    half are wrong. All answers are one step, and visterm undo takes them back. Type y, n, s to
    skip, or q to end; a program can write them to stdin.

    Example: visterm review dog
    """
    doubtful = collection.doubts(word, count)
    records = collection.records([doubt.picture for doubt in doubtful])
    doubtful = [doubt for doubt in doubtful if doubt.picture in records]
    paths = {
        doubt.picture: short_path(records[doubt.picture].files[0].at(collection.root))
        for doubt in doubtful
    }
    if ask:
        rows = [{"path": paths[doubt.picture], **vars(doubt)} for doubt in doubtful]
        return {"word": word, "doubts": rows}, [_line(paths[d.picture], word, d) for d in doubtful]
    if not doubtful:
        say(f"no caption is in doubt, neither with {word!r} nor without it")
    answers = asked(
        {d.picture: f"{_line(paths[d.picture], word, d)}; does it show {word}?" for d in doubtful}
    )
    changed = collection.review(word, answers) if answers else 0
    if changed:
        say("visterm undo takes it back; visterm train learns from it")
    answer = {"word": word, "answers": len(answers), "captions": changed}
    return answer, f"{counted(len(answers), 'answer')}, {counted(changed, 'caption')} changed"


def _line(path: str, word: str, doubt: Doubt) -> str:
    about = "has the word" if doubt.holds else "lacks the word"
    sure = "" if doubt.is_likely else ", less sure"
    return f"{path}  {about}, shows {word} with {percent(doubt.probability)}{sure}"
