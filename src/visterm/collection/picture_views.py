"""What a collection says about single pictures; nothing here changes anything."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from visterm.collection.media import captions, records
from visterm.collection.media.records import PictureRecord
from visterm.collection.open_collection import OpenCollection
from visterm.errors import BadInput
from visterm.progress import Progress, silent

if TYPE_CHECKING:
    from visterm.collection.media.thumbnails import Thumbnails
    from visterm.collection.media.word_counts import CountedWord
    from visterm.collection.prediction.descriptions import Description
    from visterm.collection.prediction.explanations import Explanation, Likely


class PictureViews(OpenCollection):
    """Pictures by number or file: records, thumbnails, captions, words and explanations."""

    def record(self, picture: int) -> PictureRecord:
        """A picture's files and the hash of its content; `UnknownPicture` where it has gone."""
        return records.record(self.catalogue, picture)

    def records(self, pictures: Iterable[int]) -> dict[int, PictureRecord]:
        """The records of those of the pictures that are there, by number."""
        return records.records(self.catalogue, pictures)

    def newest(self, k: int, offset: int = 0) -> list[int]:
        """Numbers of pictures, those that came last first."""
        return records.newest(self.catalogue, k, offset=offset)

    @cached_property
    def thumbnails(self) -> Thumbnails:
        """Small pictures of the pictures."""
        from visterm.collection.media.thumbnails import Thumbnails

        return Thumbnails(self.root, self.store)

    def captions(self, picture: int | str | os.PathLike[str]) -> dict[str, str]:
        """All captions of a picture by their source."""
        return captions.of_picture(self.catalogue, self._number(picture))

    def effective_captions(self, pictures: Sequence[int]) -> dict[int, str]:
        """What is learnt from, for those of the pictures that have captions."""
        return captions.effective_captions(self.catalogue, pictures)

    def close(self) -> None:
        if "thumbnails" in self.__dict__:
            self.thumbnails.close()
        super().close()

    def complete(self, start: str, k: int = 10) -> list[CountedWord]:
        """Words of the captions and of the model that begin like this, the most frequent first."""
        return self._shared.word_counts.starting(self.catalogue, start, k)

    def explain(self, picture: int | str | os.PathLike[str], query: str) -> Explanation:
        """What each place of a picture contributes to its score for a query, word by word."""
        from visterm.collection.prediction.explanations import explain

        return explain(self.catalogue, self.root, self._number(picture), query)

    def describe(self, picture: int | str | os.PathLike[str], k: int = 10) -> list[Likely]:
        """The ``k`` words that a picture most likely shows."""
        from visterm.collection.prediction.explanations import describe

        if k < 1:
            raise BadInput(f"ask for 1 or more words, not {k}")
        return describe(self.catalogue, self._number(picture), k)

    def descriptions(
        self,
        pictures: Sequence[str | os.PathLike[str]],
        *,
        words: int = 10,
        phrases: int = 5,
        captions: int = 3,
        progress: Progress = silent,
    ) -> Iterator[Description]:
        """What pictures show, in order, also such as are not in the collection.

        Up to so many likely ``words``; ``phrases`` that captions of the pictures most alike share
        (they need the extra ``phrases``); and ``captions`` of the pictures most alike.
        """
        from visterm.collection.prediction.descriptions import Wanted, descriptions

        if min(words, phrases, captions) < 0:
            raise BadInput("ask for 0 or more words, phrases and captions")
        wanted = Wanted(words, phrases, captions)
        return descriptions(self.catalogue, self.root, pictures, wanted, progress=progress)
