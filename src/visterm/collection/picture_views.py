"""What a collection says about single pictures; nothing here changes anything."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from visterm.collection.media import captions, records
from visterm.collection.media.records import PictureRecord
from visterm.collection.open_collection import OpenCollection
from visterm.errors import BadInput, UnreadablePicture
from visterm.progress import Progress, silent

if TYPE_CHECKING:
    from visterm.collection.library.descriptions import Description, Likely
    from visterm.collection.library.duplicates import DuplicateGroup
    from visterm.collection.library.explanations import Explanation
    from visterm.collection.library.suggestions import SuggestedWord
    from visterm.collection.library.word_counts import CountedWord
    from visterm.collection.media.records import Picture
    from visterm.collection.media.thumbnails import Thumbnails
    from visterm.collection.search.quick_filters import QuickFilter


class PictureViews(OpenCollection):
    """Pictures by number or file: records, thumbnails, captions, words and explanations."""

    def record(self, picture: int) -> PictureRecord:
        """A picture's files and the hash of its content; `UnknownPicture` where it has gone."""
        return records.record(self.catalogue, picture)

    def records(self, pictures: Iterable[int]) -> dict[int, PictureRecord]:
        """The records of those of the pictures that are there, by number."""
        return records.records(self.catalogue, pictures)

    def newest(self, k: int, offset: int = 0) -> list[int]:
        """Numbers of pictures, those taken last first."""
        return records.newest(self.catalogue, k, offset=offset)

    def pictures(
        self, numbers: Sequence[int], frames: Mapping[int, int] | None = None
    ) -> dict[int, Picture]:
        """Those of the pictures that are there, as front ends show them.

        ``frames`` are the frames that stand for videos, if others than the most usual ones.
        """
        from visterm.collection.media.records import pictures

        return pictures(self.catalogue, numbers, frames)

    def quick_filters(self, query: str = "") -> list[QuickFilter]:
        """Terms that would narrow a query, and how many pictures each would leave."""
        from visterm.collection.search.quick_filters import quick_filters

        return quick_filters(self.catalogue, self.root, query)

    def original(self, picture: int) -> Path:
        """A picture's file on this machine; `UnreadablePicture` where it cannot be had."""
        from visterm.collection.sources.opening import is_local

        record = self.record(picture)
        for file in record.files:
            path = self.root / file.path
            if is_local(file.path, file.offset) and path.is_file():
                return path
        raise UnreadablePicture(record.files[0].path, "its file is not on this machine now")

    @cached_property
    def thumbnails(self) -> Thumbnails:
        """Small pictures of the pictures."""
        from visterm.collection.media.thumbnails import Thumbnails

        return Thumbnails(self.root, self.store)

    def captions(self, picture: int | str | os.PathLike[str]) -> dict[str, str]:
        """All captions of a picture by their source."""
        return captions.of_picture(self.catalogue, self._number(picture))

    def number(self, picture: int | str | os.PathLike[str]) -> int:
        """The number of a picture, by one of its files."""
        return self._number(picture)

    def matches(self, query: str, k: int = 1000) -> list[int]:
        """All good matches of a query, or all that its filters let through; best first.

        ``k`` is how many where it is not known which are good.
        """
        from visterm.collection.search.request import SearchRequest
        from visterm.collection.search.searcher import matches

        return [int(one) for one in matches(self.catalogue, self.root, SearchRequest(query, k))]

    def suggested_words(self, k: int = 8) -> list[SuggestedWord]:
        """Words that the pictures surely show, each with the picture that shows it best."""
        from visterm.collection.library.suggestions import suggested_words

        return suggested_words(self.catalogue, k)

    def export_text(self, pictures: Sequence[int], kind: str) -> str:
        """Pictures as a ``list`` of paths, or as ``csv`` or ``json`` with what is known of them."""
        from visterm.collection.library.export import export_text

        return export_text(self.catalogue, self.root, pictures, kind)

    def export_folder(
        self, pictures: Sequence[int], to: str | os.PathLike[str], *, copies: bool = False
    ) -> int:
        """A folder of links to pictures, or of copies; returns how many were put there."""
        from visterm.collection.library.export import export_folder

        return export_folder(self.catalogue, self.root, pictures, Path(to), copies=copies)

    def export_keywords(self, pictures: Sequence[int]) -> int:
        """Write captions as keywords into XMP sidecars; returns how many changed."""
        from visterm.collection.library.export import export_keywords

        return export_keywords(self.catalogue, self.root, pictures)

    def near_duplicates(self, *, progress: Progress = silent) -> list[DuplicateGroup]:
        """Groups of pictures that are one picture, with the best one of each proposed.

        They are remembered where the collection can be written, for `kept_duplicates`.
        """
        from visterm.collection.library.duplicates import keep_groups, near_duplicates

        still = self.catalogue.db.execute("SELECT id FROM pictures WHERE kind IS NOT 'video'")
        every = [picture for (picture,) in still]
        known = records.records(self.catalogue, every)
        found = near_duplicates(self.catalogue, known, self.thumbnails, progress)
        if self.is_writable:
            keep_groups(self.catalogue, found)
        return found

    def kept_duplicates(self) -> tuple[list[DuplicateGroup], bool] | None:
        """What `near_duplicates` found last, and whether that is of the files of now."""
        from visterm.collection.library.duplicates import kept_groups

        return kept_groups(self.catalogue)

    def close(self) -> None:
        if "thumbnails" in self.__dict__:
            self.thumbnails.close()
        super().close()

    def complete(self, start: str, k: int = 10) -> list[CountedWord]:
        """Words of the captions and of the model that begin like this, the most frequent first."""
        from visterm.collection.library.word_counts import words_starting

        return words_starting(self.catalogue, start, k)

    def explain(self, picture: int | str | os.PathLike[str], query: str) -> Explanation:
        """What each place of a picture contributes to its score for a query, word by word."""
        from visterm.collection.library.explanations import explain

        return explain(self.catalogue, self.root, self._number(picture), query)

    def describe(self, picture: int | str | os.PathLike[str], k: int = 10) -> list[Likely]:
        """The ``k`` words that a picture most likely shows."""
        from visterm.collection.library.descriptions import describe

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
        from visterm.collection.library.descriptions import Wanted, descriptions

        if min(words, phrases, captions) < 0:
            raise BadInput("ask for 0 or more words, phrases and captions")
        wanted = Wanted(words, phrases, captions)
        return descriptions(self.catalogue, self.root, pictures, wanted, progress=progress)
