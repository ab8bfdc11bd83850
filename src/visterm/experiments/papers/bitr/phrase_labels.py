"""Phrases of captions, each a label by itself."""

from __future__ import annotations

from typing import Any

from visterm.experiments.runner.figure_cache import kept_figures
from visterm.progress import Progress
from visterm.text import Vocabulary

_LEAST_CAPTIONS = 10  # captions that hold a phrase for it to count as one


def phrase_documents(captions: list[str], progress: Progress) -> list[str]:
    """The phrases of each caption, each written as one word; those of few captions are left out."""
    from visterm.text.phrases import phrases

    def read() -> dict[str, Any]:
        read = []
        for done, caption in enumerate(captions):
            if done % 500 == 0:
                progress("finding phrases", done, len(captions))
            read.append(["-".join("-".join(one.words).split()) for one in phrases(caption)])
        progress("finding phrases", len(captions), len(captions))
        return {"phrases": read}

    found = kept_figures("phrases", str(captions), read)["phrases"]
    known = Vocabulary.from_captions(
        (" ".join(one) for one in found), min_captions=_LEAST_CAPTIONS, language=None
    )
    return [" ".join(word for word in one if word in known) for one in found]
