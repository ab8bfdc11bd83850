"""`Collection`, the API of a folder of pictures: add, caption, train, search, judge, check.

It holds the catalogue and the log of changes, and calls what does the work; whatever a search does
not need is imported when it is called.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from visterm.collection import change_log
from visterm.collection.change_log import ChangeLog, verb
from visterm.collection.ingest.scopes import changed_scopes, edited, scope_of, scopes, unchanged
from visterm.collection.media import captions, records
from visterm.collection.media import fields as media_fields
from visterm.collection.media.captions import TABLE, read_table
from visterm.collection.media.fields import Fields
from visterm.collection.media.records import PictureRecord
from visterm.collection.search.request import SearchRequest, SearchResponse
from visterm.collection.search.searcher import MakeResult, Response, matches, search, search_as
from visterm.collection.store import location
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.events import Judgement, entries, words_of
from visterm.collection.store.lock import Locked
from visterm.collection.store.snapshot import SharedState, reading, snapshot
from visterm.collection.store.versions import SENTENCE_SPACES, caption_changes, current, sweep
from visterm.compute import running_on
from visterm.errors import BadInput, UnreadablePicture
from visterm.progress import Progress, silent

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from visterm.collection.checks import Checked
    from visterm.collection.feedback.changes import UndoneStep
    from visterm.collection.ingest.batches import Added
    from visterm.collection.ingest.survey import OnSkip
    from visterm.collection.library.backup import Restored
    from visterm.collection.library.descriptions import Description, Likely
    from visterm.collection.library.duplicates import DuplicateGroup
    from visterm.collection.library.explanations import Explanation
    from visterm.collection.library.review import Doubt
    from visterm.collection.library.suggestions import SuggestedWord
    from visterm.collection.library.teaching import RoundReport, WordRecord
    from visterm.collection.library.word_counts import CountedWord
    from visterm.collection.media.captions import Imported
    from visterm.collection.media.records import Picture
    from visterm.collection.media.thumbnails import Thumbnails
    from visterm.collection.search.quick_filters import QuickFilter
    from visterm.collection.status import Status
    from visterm.collection.training.trainer import Trained
    from visterm.collection.upgrade import Upgraded
    from visterm.features.own_features import Embedder

CHECKED_FILES = 5000
"""So many files are looked at one by one before a search: that takes some 30 ms."""
_DUE_CAPTIONS = 20
"""Changed captions, and a tenth of all, from which training again is worth it."""
_COMPILED_FROM = 1 << 16
"""Pictures from which on searches use compiled code."""


def _ignore(path: str, reason: str) -> None:
    """For a library call to which nobody listens."""


class Collection:
    """A folder of pictures, what is known about them, and the model that answers.

    Examples
    --------
    >>> import tempfile
    >>> from visterm.datasets.scenes import draw_scenes
    >>> folder = tempfile.mkdtemp()
    >>> _ = draw_scenes(folder, 30, size=(48, 32))
    >>> with Collection.open(folder) as collection:
    ...     added = collection.add(features="blocks")
    ...     imported = collection.caption_from(f"{folder}/captions.tsv")
    ...     trained = collection.train()
    ...     answer = collection.search("sky -sea", k=3)
    >>> added.new, imported.pictures, len(answer.results)
    (30, 30, 3)
    """

    def __init__(self, root: Path, catalogue: Catalogue, shared: SharedState | None = None) -> None:
        self.root, self.catalogue = root, catalogue
        self.log = ChangeLog(catalogue, root)
        self._shared, self._is_shared = shared or SharedState(), shared is not None
        catalogue.shared = self._shared

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str] = ".",
        *,
        store: str | os.PathLike[str] | None = None,
        create: bool = True,
        shared: SharedState | None = None,
    ) -> Self:
        """The collection that a folder is part of, made if there is none.

        Parameters
        ----------
        folder
            The folder itself, or one inside the collection.
        store
            Where to keep what is known, if not in ``.visterm`` beside the pictures.
        create
            Whether a new collection may be begun; else `BadInput` says that there is none.
        shared
            What several open objects of one collection in a process, one a thread, have in common.
        """
        where = location.locate(folder, store)
        if where.exists:
            if store is None:
                _refuse_store_of_others(where, folder)
        else:
            if not create:
                raise BadInput(
                    f"{where.root} is no collection yet; visterm add {folder} makes it one"
                )
            location.make(where)
        return cls(where.root, Catalogue(where.store), shared)

    @property
    def store(self) -> Path:
        """The folder that holds what is known."""
        return self.catalogue.store

    def close(self) -> None:
        if "thumbnails" in self.__dict__:
            self.thumbnails.close()
        if not self._is_shared:
            self._shared.close()
        self.catalogue.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    @property
    def is_writable(self) -> bool:
        """Whether this process may change what is known."""
        return location.may_write(self.store)

    @property
    def has_news(self) -> bool:
        """Whether pictures came, went or were edited since the folders were last listed.

        Edits in place are looked for in collections of up to `CHECKED_FILES` files; in larger ones
        ``visterm watch`` and ``visterm serve`` notice them.
        """
        return not unchanged(self.catalogue, self.root) or edited(
            self.catalogue, self.root, CHECKED_FILES
        )

    @property
    def is_empty(self) -> bool:
        """Whether there is no picture yet."""
        return self.catalogue.one("SELECT 1 FROM pictures WHERE present > 0 LIMIT 1") is None

    @property
    def has_captions(self) -> bool:
        """Whether a picture that is there has a caption."""
        return captions.any_there(self.catalogue)

    @property
    def awaits_training(self) -> bool:
        """Whether there are captions that nobody has tried to learn from yet."""
        if self.is_trained or not self.has_captions:
            return False
        tried = self.catalogue.get("untrained")
        return tried is None or tried != captions.fingerprint(self.catalogue)

    @property
    def has_model(self) -> bool:
        """Whether words mean something: by what was learnt, or by the starter alone."""
        return current(self.catalogue) is not None

    @property
    def is_trained(self) -> bool:
        """Whether the model that answers was trained on captions."""
        version = current(self.catalogue)
        return version is not None and version.is_trained

    @property
    def is_worth_training(self) -> bool:
        """Whether so many captions have changed since the last training that another is due."""
        if self.awaits_training:
            return True
        version = current(self.catalogue)
        if version is None or not version.is_trained:
            return False
        tried = int(self.catalogue.get("trained_changes") or 0)
        return caption_changes(self.catalogue) - tried >= max(
            _DUE_CAPTIONS, version.captioned // 10
        )

    @property
    def needs_training(self) -> bool:
        """Whether the model cannot rank new pictures, because it learnt from other features."""
        version = current(self.catalogue)
        return version is not None and version.extractor != self.catalogue.get("extractor")

    def __len__(self) -> int:
        """How many different pictures there are."""
        return int(self.catalogue.one("SELECT count(*) FROM pictures WHERE present > 0"))

    def add(
        self,
        paths: Iterable[str | os.PathLike[str]] = (),
        *,
        features: str | Embedder | None = None,
        vectors: ArrayLike | None = None,
        names: str | None = None,
        folders: bool | None = None,
        ocr: bool | None = None,
        n_jobs: int | None = None,
        ray: str | None = None,
        remote: bool = True,
        changed: Iterable[str] | None = None,
        wait: float | None = None,
        progress: Progress = silent,
        on_skip: OnSkip = _ignore,
        on_first: Callable[[int, int], None] | None = None,
    ) -> Added:
        """Find new, changed, moved, vanished and returned pictures, with features of the new ones.

        Parameters
        ----------
        paths
            Folders or files inside the collection; ``.tar`` shards and tables of locations, inside
            or not; URLs of any of these. All that was named before without any.
        features
            The extractor, by name; as before, or else the best there is. Or a Python function of
            your own: a list of decoded pictures in (height × width × 3 bytes), a row for each out.
            Its vectors are kept under its name; new pictures need it again, searches do not.
        vectors
            Vectors of your own, a row for each file in ``paths``; ``features`` names them.
        names
            Whose names count as written about a picture: ``none``, at first, ``files``,
            ``folders`` or ``both``; as before where not given.
        folders
            Whether the names of folders count, and are learnt from as captions are.
        ocr
            Whether text in pictures is read and counts (extra ``ocr``); as before where not given,
            and not at first. ``False`` deletes what was read.
        n_jobs
            Processes that decode pictures and extract features.
        ray
            Do both on a Ray cluster instead: "auto", "local" or its address.
        remote
            Whether, without ``paths``, URLs that were named before are listed again, too.
        changed
            Folders below the collection's, as `Watcher` gives them: of what was named before,
            nothing but these is listed again.
        wait
            Seconds to wait for another writer, ten where not given, before `Locked` names it.
        on_skip
            Called for every file that is skipped, with its path and the reason.
        on_first
            Called with the files done and all there are, once the newest can be searched.
        """
        from visterm.collection.ingest.batches import Added
        from visterm.collection.ingest.extractors import choose, named_features
        from visterm.collection.ingest.pipeline import ingest
        from visterm.collection.ingest.scopes import welcome
        from visterm.collection.training.pretrained import answer_early
        from visterm.pictures.ocr import check_installed

        if ocr:
            check_installed()

        inside = [scope_of(self.root, path) for path in paths]
        named, files = sorted(set(inside)), [self.root / path for path in inside]
        with (
            named_features(files, features, vectors) as chosen,
            self._writing("adding pictures", wait),
            running_on(ray),
        ):
            welcome(self.catalogue, named)
            captions.let_count(self.catalogue, names, folders, ocr)
            if changed is not None:
                named = changed_scopes(self.catalogue, self.root, changed)
                if not named:
                    return Added()
            report = ingest(
                self.catalogue,
                self.root,
                named or self._followed(remote),
                choose(self.catalogue, chosen),
                n_jobs=n_jobs or _processes(),
                progress=progress,
                on_skip=on_skip,
                on_batch=partial(answer_early, self.catalogue, on_first) if self.is_empty else None,
            )
            self._after_adding()
        return report

    def upgrade(
        self,
        features: str,
        *,
        drop: bool = False,
        n_jobs: int | None = None,
        ray: str | None = None,
        progress: Progress = silent,
        on_skip: OnSkip = _ignore,
    ) -> Upgraded:
        """Describe every picture by other features, and let these answer once all have them.

        Until then the features of before answer, and whoever is stopped goes on where it ended.
        Captions and clicks are learnt again; `undo_last` brings the features of before back, unless
        ``drop`` deletes them. Other parameters as in `add`.
        """
        from visterm.collection.training.completeness import learn_completeness
        from visterm.collection.upgrade import upgrade

        self.add(n_jobs=n_jobs, remote=False, progress=progress, on_skip=on_skip)
        with running_on(ray):
            report = upgrade(
                self.catalogue,
                self.root,
                features,
                self._writing,
                drop=drop,
                n_jobs=n_jobs or _processes(),
                progress=progress,
                on_skip=on_skip,
            )
        with self._writing("counting captions"):
            learn_completeness(self.catalogue)
            self._note_training()
        return report

    def _after_adding(self) -> None:
        """Bring to the new pictures what is made from them; the caller holds the lock."""
        from visterm.collection.feedback.offsets import relearn
        from visterm.collection.ingest.scopes import free_rows
        from visterm.collection.store.feature_rows import Rows
        from visterm.collection.training.completeness import learn_completeness
        from visterm.collection.training.pretrained import begin

        begin(self.catalogue)
        relearn(self.catalogue)
        free_rows(self.catalogue)
        for (extractor,) in self.catalogue.db.execute("SELECT extractor FROM feature_files"):
            Rows(self.catalogue, extractor).compact()
        learn_completeness(self.catalogue)

    def _followed(self, remote: bool) -> list[str]:
        """What was named before; the collection's folder where nothing was."""
        every = scopes(self.catalogue)
        return scopes(self.catalogue, remote=remote) if every else [""]

    def train(
        self,
        *,
        model: str | None = None,
        force: bool = False,
        validation: Iterable[int | str | os.PathLike[str]] | None = None,
        ray: str | None = None,
        progress: Progress = silent,
        **parameters: Any,
    ) -> Trained:
        """Learn from all captions; the model that was there stays if the new one is worse.

        ``model`` is "ridge" by default, or "pamir" for features that count. ``force`` takes the
        new one anyway. ``validation`` are pictures to hold out and measure by, a tenth of all by
        default; ``ray`` is the cluster to learn on, as in `add`; ``parameters`` are the model's
        own.
        """
        from visterm.collection.training.completeness import learn_completeness
        from visterm.collection.training.text_spaces import is_stale, train_space
        from visterm.collection.training.trainer import train

        held = None if validation is None else [self.number(picture) for picture in validation]
        with self._writing("training"), running_on(ray):
            trained = train(
                self.catalogue,
                model=model,
                force=force,
                validation=held,
                progress=progress,
                **parameters,
            )
            for space in SENTENCE_SPACES:
                if is_stale(self.catalogue, space):
                    train_space(self.catalogue, space, progress=progress)
            learn_completeness(self.catalogue)
            self._note_training(in_vain=trained.kept == "previous")
            return trained

    def _note_training(self, *, in_vain: bool = False) -> None:
        """Write down which captions there were when they were learnt, or tried in vain."""
        with self.catalogue.transaction():
            self.catalogue.set("trained_changes", str(caption_changes(self.catalogue)))
            tried = captions.fingerprint(self.catalogue) if in_vain else None
            self.catalogue.set("untrained", tried)

    def train_first(self, *, progress: Progress = silent) -> str | None:
        """Learn from captions where only the starter answers; returns why that was in vain.

        Then nothing is changed, and `awaits_training` is false until there are other captions.
        """
        from visterm.collection.training.training_set import TooFewCaptions

        try:
            trained = self.train(progress=progress)
        except TooFewCaptions as error:
            with self.catalogue.writing("training"), self.catalogue.transaction():
                self.catalogue.set("untrained", captions.fingerprint(self.catalogue))
            answering = (
                "searches go on with the words visterm knew before"
                if self.has_model
                else "captions alone answer"
            )
            return f"{error}; {answering}"
        if trained.kept == "previous":
            return (
                "the captions would make searches worse than the starter alone does, which "
                "goes on answering; visterm train --force learns from them all the same"
            )
        return None

    def search(
        self, request: SearchRequest | str, k: int | None = None, **options: Any
    ) -> SearchResponse:
        """The best pictures for a request; a text is short for `SearchRequest` with its options.

        >>> import tempfile
        >>> from visterm.datasets.scenes import draw_scenes
        >>> folder = tempfile.mkdtemp()
        >>> _ = draw_scenes(folder, 30, size=(48, 32))
        >>> with Collection.open(folder) as collection:
        ...     _ = collection.add(features="blocks")
        ...     like = SearchRequest(like=f"{folder}/scene-0001.jpg", k=3)
        ...     response = collection.search(like)
        >>> len(response.results), response.more
        (3, True)
        """
        if isinstance(request, str):
            request = SearchRequest(request, 20 if k is None else k, **options)
        elif k is not None or options:
            raise BadInput("a SearchRequest has its own k and options; give them there")
        self._catch_up_first()
        return search(self.catalogue, self.root, request, self._shared.replicas)

    def search_as(
        self, response: type[Response], result: MakeResult, request: SearchRequest
    ) -> Response:
        """As `search`, in a front end's own form: what a result is made of, `MakeResult` says."""
        self._catch_up_first()
        return search_as(
            response, result, self.catalogue, self.root, request, self._shared.replicas
        )

    def train_space(self, space: str, *, progress: Progress = silent) -> bool:
        """Learn to answer whole sentences in a text space.

        Returns False where that was done before and few captions have changed since; `train`
        brings a space up to date that does not know them all.
        """
        from visterm.collection.training.text_spaces import is_trained, train_space

        if is_trained(self.catalogue, space) or not self.is_writable:
            return False
        with self._writing("training a text space"):
            train_space(self.catalogue, space, progress=progress)
        return True

    def export_starter(self, path: str | os.PathLike[str]) -> dict[str, Any]:
        """Write what answers here as a starter for other collections, and say what it is made of.

        Words, rows, calibration and provenance; no picture and no caption. Words that captions
        hold, names too, are among the words.
        """
        from visterm.collection.training.shared_starter import export_starter

        return export_starter(self.catalogue, Path(path))

    def use_starter(self, path: str | os.PathLike[str] | None) -> dict[str, Any]:
        """Begin with a starter that was exported elsewhere; with visterm's own for None."""
        from visterm.collection.training.shared_starter import use_starter

        with self._writing("taking a starter"):
            given = None if path is None else Path(path)
            return use_starter(self.catalogue, given)

    def submit(self, verb: str, **values: Any) -> Any:
        """Call a change by name; while somebody else writes it waits, and `Queued` says so.

        What waits survives a kill and is done in the order in which it was said, by whoever writes
        or searches next.

        >>> import tempfile
        >>> from visterm.collection import Collection
        >>> from visterm.datasets.scenes import draw_scenes
        >>> folder = tempfile.mkdtemp()
        >>> _ = draw_scenes(folder, 2, size=(48, 32))
        >>> with Collection.open(folder) as one, Collection.open(folder) as other:
        ...     _ = one.add(features="blocks")
        ...     with one.catalogue.writing("something long"):
        ...         said = other.submit("caption", picture=1, text="a boat")
        ...     waiting = other.waiting
        ...     other.apply_waiting()
        ...     type(said).__name__, waiting, other.captions(1)
        ('Queued', 1, {'person': 'a boat'})
        """
        return self.log.submit(verb, **values)

    @property
    def waiting(self) -> int:
        """How many changes wait for whoever is writing."""
        return self.log.waiting

    def apply_waiting(self) -> None:
        """Do what waits, unless somebody else is writing: they will."""
        self.log.apply_waiting()

    def catch_up(self) -> None:
        """Do what waits and what a killed writer left, unless somebody is writing now."""
        self.apply_waiting()
        if not self._is_behind or not self.has_model or not self.is_writable:
            return
        from visterm.collection.feedback.offsets import relearn
        from visterm.collection.training.completeness import learn_completeness

        with (
            contextlib.suppress(Locked),
            self.catalogue.writing("finishing what was interrupted", wait=0),
        ):
            relearn(self.catalogue)
            learn_completeness(self.catalogue)

    def _catch_up_first(self) -> None:
        """Have done what a killed writer left, before something is read."""
        if self._is_behind:
            (self._shared.catch_up_later or self.catch_up)()

    @property
    def _is_behind(self) -> bool:
        """Whether a change waits, or a killed writer left something to be learnt."""
        return snapshot(self.catalogue).is_behind

    @contextlib.contextmanager
    def _writing(self, doing: str, wait: float | None = None) -> Iterator[None]:
        is_outermost = not self.catalogue.is_writing  # within a repair, models may be missing
        with self.catalogue.writing(doing, wait):
            sweep(self.catalogue)  # what a killed writer left
            if is_outermost:
                self.apply_waiting()  # now: should this one be killed, too, nobody waits any longer
            yield
            if is_outermost:
                self.apply_waiting()
            sweep(self.catalogue)  # what this one replaced

    def caption(self, picture: int | str | os.PathLike[str], text: str) -> None:
        """Say what is to be seen in a picture; it wins over words from anywhere else.

        An empty text takes back what was said before.
        """
        self.log.do(change_log.caption, picture=picture, text=text)

    def caption_many(self, pictures: Sequence[int], text: str, *, more: bool = False) -> int:
        """Give many pictures one caption, or ``more`` words; `undo_last` takes it back as one."""
        return self.log.do(change_log.caption_many, pictures=pictures, text=text, more=more)

    def caption_from(self, table: str | os.PathLike[str]) -> Imported:
        """Take captions from a CSV, TSV or JSON-lines table of paths and texts, all or none."""
        imported, texts = read_table(self.catalogue, self.root, Path(table))
        given = [(picture, TABLE, text) for picture, text in texts.items()]
        self.log.do(change_log.bring_in, captions=given)
        return imported

    def backup(self) -> Iterator[str]:
        """All captions and fields that were given, and every yes and no, as JSON lines for
        `restore`."""
        from visterm.collection.library.backup import backup_lines

        return backup_lines(self.catalogue)

    def restore(self, file: str | os.PathLike[str]) -> Restored:
        """Bring back what `backup` wrote; pictures are found by content, or else by path.

        What was said here since about the same picture gives way.
        """
        from visterm.collection.library.backup import read_backup

        report, captions, clicks, described = read_backup(self.catalogue, self.root, Path(file))
        self.log.do(change_log.bring_in, captions=captions, clicks=clicks, described=described)
        return report

    def judge(self, query: str, picture: int | str | os.PathLike[str], relevant: bool) -> Judgement:
        """Say whether a picture answers a query; the ranking learns from it at once.

        A yes makes the picture beat others for the query's words, a no makes it lose. Conditions
        such as ``in:alps`` do not matter. Saying the opposite later takes the first back.

        >>> import tempfile
        >>> from visterm.collection import Collection
        >>> from visterm.datasets.scenes import draw_scenes
        >>> folder = tempfile.mkdtemp()
        >>> _ = draw_scenes(folder, 30, size=(48, 32))
        >>> with Collection.open(folder) as collection:
        ...     _ = collection.add(features="blocks")
        ...     _ = collection.caption_from(f"{folder}/captions.tsv")
        ...     _ = collection.train()
        ...     before = collection.search("sky", k=5)
        ...     said = collection.judge("sky", before.results[-1].picture, True)
        ...     after = collection.search("sky", k=5)
        ...     undone = collection.undo()
        ...     same = collection.search("sky", k=5) == before
        >>> said == undone, after.results[0].score > before.results[-1].score, same
        (True, True, True)
        """
        return self.log.do(change_log.judge, query=query, picture=picture, relevant=relevant)

    def judge_many(
        self, query: str, answers: Mapping[int, bool] | Sequence[tuple[int, bool]]
    ) -> int:
        """Say of many pictures whether they answer a query; `undo_last` takes it back as one.

        Returns for how many that was news.
        """
        return self.log.do(change_log.judge_many, query=query, answers=answers)

    def teach(
        self, query: str, answers: Mapping[int, bool] | Sequence[tuple[int, bool]]
    ) -> RoundReport:
        """Answer a round of `questions`; returns what it brought, and whether that is enough."""
        return self.log.do(change_log.teach, query=query, answers=answers)

    def doubts(self, word: str, count: int = 10) -> list[Doubt]:
        """Captions to look at: they hold a word though their pictures do not look so, or lack it
        though they do; of each, whether such captions are more often wrong than right."""
        from visterm.collection.library.review import doubts

        return doubts(self.catalogue, word, count)

    def review(self, word: str, answers: Mapping[int, bool] | Sequence[tuple[int, bool]]) -> int:
        """Say of pictures whether they show a word: captions get it or lose it, as one step.

        Returns how many captions changed.
        """
        return self.log.do(change_log.review, query=word, answers=answers)

    def add_files(
        self,
        paths: Sequence[str | os.PathLike[str]],
        *,
        vectors: Sequence[Sequence[float]] | None = None,
        fields: Fields | None = None,
        own_id: str | None = None,
    ) -> int:
        """Add files by name, as a change in the log: `add` if another writer is not in the way.

        Parameters
        ----------
        vectors
            Vectors of your own, a row for each file, where these are the collection's features.
        fields, own_id
            Of the picture, where there is one file; as in `set_fields`.

        Returns
        -------
        How many of them are pictures.
        """
        return self.log.do(add_files, paths=paths, vectors=vectors, fields=fields, own_id=own_id)

    def set_fields(
        self,
        picture: int | str | os.PathLike[str],
        fields: Fields | None = None,
        *,
        own_id: str | None = None,
    ) -> None:
        """Keep values with a picture in the place of those of before, for ``field.price:<20``.

        ``fields`` are strings, numbers and booleans by names; ``own_id`` is what you call the
        picture, and `with_id` finds it; what is not given stays. `undo_last` takes it back.
        """
        self.log.do(change_log.set_fields, picture=picture, fields=fields, own_id=own_id)

    def check_given(
        self,
        path: str,
        data: bytes | None,
        vector: Sequence[float] | None,
        fields: Fields | None,
        own_id: str | None,
    ) -> None:
        """Refuse what `add_files` would refuse, before a file is written."""
        from visterm.collection.ingest.extractors import checked_vector

        media_fields.check(fields, own_id)
        if data is not None or vector is not None:
            checked_vector(self.catalogue, vector)
        if data is not None and own_id is not None:
            media_fields.check_other_id(self.catalogue, path, data, own_id)

    def with_id(self, own_id: str) -> int:
        """The number of the picture that was given an id."""
        found = media_fields.with_id(self.catalogue, own_id)
        if found is None:
            raise records.UnknownPicture(f"no picture has the id {own_id!r}")
        return found

    def remove(self, paths: Iterable[str | os.PathLike[str]]) -> int:
        """Take pictures or folders out of the collection; their files stay.

        Returns how many pictures that were. They stay out until ``add`` names them, or `undo_last`
        takes this back; their captions and clicks come back with them.
        """
        return self.log.do(change_log.remove, paths=list(paths))

    def undo_last(self) -> UndoneStep:
        """Take back what was done last: a caption, a yes or no, many of either, or a removal."""
        return self.log.do(change_log.undo_last)

    def undo(self, number: int | None = None) -> Judgement:
        """Take back one yes or no, by its id, or the last: as if it had never been said."""
        return self.log.do(change_log.undo, number=number)

    def forget_judgements(self) -> int:
        """Take back every yes and no; returns how many there were."""
        return self.log.do(change_log.forget_judgements)

    def judgements(self, query: str | None = None) -> list[Judgement]:
        """Every yes and no that counts, or those about one query, oldest first."""
        wanted = ("1",) if query is None else ("query = ?", words_of(query))
        return entries(self.catalogue, *wanted)

    def questions(self, query: str, count: int = 10) -> list[int]:
        """The pictures from whose answers most would be learnt about a word, or a query of words.

        Likely ones and uncertain ones, different from each other, without an answer yet.
        """
        from visterm.collection.library.teaching import questions

        self._catch_up_first()
        return questions(self.catalogue, self.root, query, count)

    def word(self, word: str) -> WordRecord:
        """What is known of a word: examples, how well it is ranked, and the words nearest to it."""
        from visterm.collection.library.teaching import word_record

        self._catch_up_first()
        return word_record(self.catalogue, self.root, word)

    def prepare_searches(self) -> None:
        """Load now what searches need, so that no person has to wait for it."""
        from visterm.text.meaning import load_vectors

        load_vectors()
        with reading(self.catalogue) as now:
            if now.version is not None:
                pictures = now.pictures(now.words.version.extractor)
                if pictures is not None and len(pictures) >= _COMPILED_FROM:
                    from visterm.index import feature_file

                    feature_file.prepare()

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
        return records.pictures(self.catalogue, numbers, frames)

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
        """All captions of a picture by their source; ``ocr`` is the text that is read in it."""
        number = self.number(picture)
        written = captions.of_picture(self.catalogue, number)
        return written | captions.text_in(self.catalogue, number)

    def number(self, picture: int | str | os.PathLike[str]) -> int:
        """The number of a picture, by one of its files."""
        return records.number_of(self.catalogue, self.root, picture)

    def matches(self, query: str, k: int = 1000) -> list[int]:
        """All good matches of a query, or all that its filters let through; best first.

        ``k`` is how many where it is not known which are good.
        """
        return matches(self.catalogue, self.root, SearchRequest(query, k)).tolist()

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

    def export_keywords(
        self, pictures: Sequence[int], to: str | os.PathLike[str] | None = None
    ) -> int:
        """Write keywords and descriptions into XMP sidecars beside the pictures, or below a folder;
        returns how many changed."""
        from visterm.collection.library.export import export_keywords

        where = None if to is None else Path(to)
        return export_keywords(self.catalogue, self.root, pictures, where)

    def near_duplicates(self, *, progress: Progress = silent) -> list[DuplicateGroup]:
        """Groups of pictures that are one picture, with the best one of each proposed.

        They are remembered where the collection can be written, for `kept_duplicates`.
        """
        from visterm.collection.library.duplicates import keep_groups, near_duplicates

        still = self.catalogue.db.execute("SELECT id FROM pictures WHERE kind IS NOT 'video'")
        known = records.records(self.catalogue, [picture for (picture,) in still])
        groups = near_duplicates(self.catalogue, known, self.thumbnails, progress)
        if self.is_writable:
            keep_groups(self.catalogue, groups)
        return groups

    def kept_duplicates(self) -> tuple[list[DuplicateGroup], bool] | None:
        """What `near_duplicates` found last, and whether that is of the files of now."""
        from visterm.collection.library.duplicates import kept_groups

        return kept_groups(self.catalogue)

    def complete(self, start: str, k: int = 10) -> list[CountedWord]:
        """Words of the captions and of the model that begin like this, the most frequent first."""
        from visterm.collection.library.word_counts import words_starting

        return words_starting(self.catalogue, start, k)

    def explain(self, picture: int | str | os.PathLike[str], query: str) -> Explanation:
        """What each place of a picture contributes to its score for a query, word by word."""
        from visterm.collection.library.explanations import explain

        return explain(self.catalogue, self.root, self.number(picture), query)

    def describe(self, picture: int | str | os.PathLike[str], k: int = 10) -> list[Likely]:
        """The ``k`` words that a picture most likely shows."""
        from visterm.collection.library.descriptions import describe

        if k < 1:
            raise BadInput(f"ask for 1 or more words, not {k}")
        return describe(self.catalogue, self.number(picture), k)

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

    def status(self) -> Status:
        """How much there is of everything."""
        from visterm.collection.status import status

        return status(self.catalogue, self.root)

    def check(
        self, *, repair: bool = False, progress: Progress = silent, on_skip: OnSkip = _ignore
    ) -> Checked:
        """Verify every file and number; ``repair`` rebuilds what can be rebuilt."""
        from visterm.collection.checks import check
        from visterm.collection.repair import repaired

        with self.catalogue.writing("checking"):
            checked = check(self.catalogue)
            if repair and checked.problems:
                return repaired(self, checked, progress=progress, on_skip=on_skip)
            return checked

    def forget_everything(self) -> None:
        """Delete the whole store: captions, feedback and models with it; pictures stay."""
        with self.catalogue.writing("removing the collection"):
            pass  # whoever is writing finishes first
        self.close()
        location.forget(self.store)


def _processes() -> int:
    """Processes that decode pictures: one a core, but no more than memory is good for."""
    from visterm.threads import n_threads

    return min(4, n_threads())


@verb("adding pictures")
def add_files(
    catalogue: Catalogue,
    root: Path,
    paths: Sequence[str | os.PathLike[str]],
    vectors: Sequence[Sequence[float]] | None = None,
    fields: Fields | None = None,
    own_id: str | None = None,
) -> int:
    from visterm.collection.feedback import changes
    from visterm.collection.ingest.extractors import let_go_of_vectors

    files = [root / path for path in paths]
    features = None
    if vectors is not None:
        before = [captions.at_path(catalogue, root, file) for file in files]
        features = let_go_of_vectors(catalogue, vectors, before)
    collection = Collection(root, catalogue, catalogue.shared)
    added = collection.add(files, features=features, vectors=vectors, n_jobs=1)
    for path, reason in added.skipped:
        if path in paths:
            raise BadInput(f"{path}: {reason}")
    found = [captions.at_path(catalogue, root, file) for file in files]
    if (fields, own_id) != (None, None) and found[0] is not None:
        given = media_fields.changed(catalogue, found[0], fields, own_id)
        changes.describe(catalogue, found[0], given)
    return sum(picture is not None for picture in found)


def _refuse_store_of_others(where: location.Location, folder: str | os.PathLike[str]) -> None:
    """Refuse a store of another user that was found above a folder and that nobody named.

    It says which files are shown as pictures, so whoever may write to a folder above, such as
    ``/tmp``, could otherwise put one there for everybody below.
    """
    if not hasattr(os, "geteuid") or where.root == Path(os.path.abspath(folder)):
        return
    owners = {os.lstat(where.store).st_uid, os.stat(where.store / location.CATALOGUE).st_uid}
    if owners != {os.geteuid()}:
        raise BadInput(
            f"{where.store}, above {folder}, belongs to another user; if you trust it, name it "
            f"with -C {where.root}, else begin a collection of your own with --store"
        )
