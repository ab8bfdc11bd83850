"""Captions beside files that have gone: a picture keeps those that lie beside its other files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from visterm.collection.media import captions
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.urls import is_url


def read_again(catalogue: Catalogue, root: Path, pictures: Iterable[int]) -> None:
    """Read what lies beside the files of pictures that had others, inside a transaction.

    So a catalogue that has followed its folder is one that is made anew. Pictures that also lie in
    shards or elsewhere keep what was read there.
    """
    from visterm.pictures.metadata.caption_sources import captions_of

    question = """SELECT DISTINCT picture FROM captions WHERE picture IN {numbers}
        AND (source = 'txt' OR source LIKE 'xmp-sidecar:%')"""
    for (picture,) in list(catalogue.among(question, sorted(set(pictures)))):
        places = catalogue.db.execute(
            """SELECT folder, name, offset FROM places WHERE picture = ? AND NOT vanished
                ORDER BY folder, name""",
            (picture,),
        ).fetchall()
        if not places or any(is_url(folder) or offset is not None for folder, _, offset in places):
            continue
        found = [one for folder, name, _ in places for one in captions_of(root / folder / name)]
        said = [(one.source, one.text) for one in found]
        captions.keep_read(catalogue, picture, said, all_there_is=True)
