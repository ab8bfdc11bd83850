"""Repair of a collection: what is damaged is made again from what is sound.

What cannot be made again is never dropped. What is dropped is written down in the same transaction,
until it was made again: a repair that was interrupted is noticed by the next check, and goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from visterm.collection.checks import Checked, check
from visterm.collection.ingest.extractors import described_by
from visterm.collection.store import caption_words, versions
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.feature_rows import Rows
from visterm.collection.store.urls import is_url, shard_of
from visterm.collection.store.versions import (
    UNFINISHED,
    WORDS,
    Version,
    current,
    every_current,
    sweep,
)
from visterm.collection.training.pretrained import begin, can_begin, starter_of
from visterm.errors import BadInput, MissingExtra, VistermError
from visterm.progress import Progress, silent

if TYPE_CHECKING:
    from visterm.collection.ingest.survey import OnSkip

PICTURES = "pictures"
STARTER = "starter"


class Repairable(Protocol):
    """What a repair needs of a collection."""

    catalogue: Catalogue
    root: Path

    def add(self, *, progress: Progress, on_skip: OnSkip) -> Any: ...

    def train(self, *, progress: Progress) -> Any: ...


def repaired(
    collection: Repairable, checked: Checked, *, progress: Progress = silent, on_skip: OnSkip
) -> Checked:
    """Rebuild what can be rebuilt from what is sound, and check again."""
    catalogue = collection.catalogue
    if checked.bad_catalogue:
        raise VistermError(f"{checked.problems[0]}; {checked.problems[-1]}")
    harmed = _harmed(catalogue, checked)
    work = _work(checked, harmed)
    _check_features(catalogue, checked, work)
    _check_models(catalogue, checked, harmed)
    _check_pictures(collection, checked)
    sweep(catalogue)
    _drop(catalogue, checked, harmed, work)
    made_again = []
    if PICTURES in work:
        report = collection.add(progress=progress, on_skip=on_skip)
        made_again.append(f"{report.extracted} pictures described again")
    if checked.bad_words:
        with catalogue.transaction() as db:
            caption_words.rebuild(db)
        made_again.append("the words of captions listed again")
    again, lost = _models_again(collection, work, progress)
    made_again += again
    for path in checked.bad_columns:
        path.unlink(missing_ok=True)  # it is made again when somebody asks for its word
    if checked.bad_columns:
        made_again.append(f"{len(checked.bad_columns)} columns deleted, to be made again")
    with catalogue.transaction():
        catalogue.set(UNFINISHED, None)
    sweep(catalogue)
    after = check(catalogue)
    return Checked([*after.problems, *lost], made_again, after.files)


def _harmed(catalogue: Catalogue, checked: Checked) -> list[Version]:
    """Versions to make again: vectors of an extractor fitted anew need models trained anew."""
    current = every_current(catalogue)
    return [one for one in current if checked.bad_extractors or one.space in checked.bad_models]


def _work(checked: Checked, harmed: Sequence[Version]) -> list[str]:
    """What is to be made again: pictures' vectors, and models by their text space."""
    work = set(checked.unfinished)
    if checked.bad_extractors or checked.bad_rows:
        work.add(PICTURES)
    work |= {version.space if version.is_trained else STARTER for version in harmed}
    return sorted(work)


def _check_features(catalogue: Catalogue, checked: Checked, work: Sequence[str]) -> None:
    """Refuse to drop vectors that nothing here could give again."""
    from visterm.features import parse_features

    if PICTURES in work and checked.problems:
        features = parse_features(catalogue.get("features") or "")
        if not features.ready:
            raise VistermError(
                f"{checked.problems[0]}; these vectors come from features of your own, which are "
                f"not here. In Python, visterm.features.use_function makes the function of "
                f"{features.key} known (use_vectors does it for vectors); then repair again"
            )


def _check_models(catalogue: Catalogue, checked: Checked, harmed: Sequence[Version]) -> None:
    """Refuse to drop a model or a text space that could not be learnt again."""
    for version in harmed:
        try:
            _check_again(catalogue, checked, version)
        except VistermError as error:
            named = (line for line in checked.problems if str(version.folder) in line)
            problem = checked.problems[0] if checked.bad_extractors else next(named)
            what = "the model" if version.space == WORDS else f"the space {version.space}"
            whose = " of its vectors" if checked.bad_extractors else ""
            raise VistermError(
                f"{problem}; {what}{whose} cannot be learnt again: {error}. Nothing was changed: "
                "fix that, or put a copy of the file back; then repair again"
            ) from error


def _check_again(catalogue: Catalogue, checked: Checked, version: Version) -> None:
    """Raise what keeps a version from being made again.

    The starter stands in for a trained model that is damaged, and for no sound one. Captions of
    pictures whose vectors are damaged count: `_check_pictures` sees that the pictures are there.
    """
    from visterm.collection.training.text_spaces import fit_space
    from visterm.collection.training.training_set import check_captions, read_training_set

    extractor = described_by(catalogue)
    if version.space != WORDS:
        fit_space(catalogue, version.space)
        return
    is_lost = WORDS in checked.bad_models or not version.is_trained
    if is_lost and can_begin(catalogue, extractor):
        return
    if not version.is_trained:
        raise VistermError(
            f"no starter knows vectors of {extractor}; visterm starter use FILE brings one"
        )
    if checked.bad_rows:
        check_captions(catalogue, extractor)
    else:
        read_training_set(catalogue, extractor, starter_of(catalogue, extractor))


def _check_pictures(collection: Repairable, checked: Checked) -> None:
    """Refuse to drop vectors of pictures that are away: nobody could describe them again."""
    lost: dict[str, None] = {}
    for extractor in {*checked.bad_extractors, *checked.bad_rows}:
        places = collection.catalogue.db.execute(
            """SELECT folder, name FROM places JOIN rows ON rows.picture = places.picture
                WHERE NOT vanished AND rows.extractor = ?""",
            (extractor,),
        )
        files = (shard_of(folder) or f"{folder}/{name}" for folder, name in places)
        lost |= dict.fromkeys(file for file in files if not is_url(file))
    away = [file for file in lost if not (collection.root / file.lstrip("/")).exists()]
    if away:
        raise VistermError(
            f"{checked.problems[0]}; it is made again from the pictures, and {away[0].lstrip('/')} "
            "is not there. Bring it back, or let visterm add see that it has gone; then repair "
            "again. Nothing was changed"
        )


def _drop(
    catalogue: Catalogue, checked: Checked, harmed: Sequence[Version], work: Sequence[str]
) -> None:
    """Let go of what is damaged, and write down what that was."""
    if not work:
        return
    with catalogue.transaction() as db:
        for extractor in {*checked.bad_extractors, *checked.bad_rows}:
            Rows(catalogue, extractor).drop()
        for extractor in checked.bad_extractors:
            db.execute("DELETE FROM extractors WHERE key = ?", (extractor,))
        for version in harmed:
            db.execute("DELETE FROM versions WHERE space = ?", (version.space,))
        catalogue.set(UNFINISHED, " ".join(work))


def _models_again(
    collection: Repairable, work: Sequence[str], progress: Progress
) -> tuple[list[str], list[str]]:
    """Models in place of damaged ones, from the captions that they were learnt from.

    Returns what was made again, and what an interrupted repair had dropped and cannot be now.
    """
    from visterm.collection.training.text_spaces import train_space
    from visterm.collection.training.training_set import TooFewCaptions

    catalogue = collection.catalogue
    repaired: list[str] = []
    lost: list[str] = []
    version = current(catalogue)
    if WORDS in work and (version is None or not version.is_trained):  # add brings the starter
        try:
            kept = collection.train(progress=progress).kept
            repaired.append(f"the {'model learnt' if kept == 'new' else 'starter brought'} again")
        except TooFewCaptions as error:
            if begin(catalogue):
                repaired.append("the starter brought again")
            elif version is None:
                lost.append(f"the model is gone until visterm train learns one: {error}")
    if STARTER in work and begin(catalogue):
        repaired.append("the starter brought again")
    for space in versions.SENTENCE_SPACES:
        if space in work and current(catalogue, space) is None:
            try:
                train_space(catalogue, space, progress=progress)
                repaired.append(f"the space {space} learnt again")
            except (BadInput, MissingExtra) as error:
                lost.append(f"the space {space} is gone until a search in it learns it: {error}")
    return repaired, lost
