"""`Collection`, the API of a folder of pictures: add, caption, train, search, judge, check."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from visterm.collection.ingest.scopes import changed_scopes, scopes
from visterm.collection.media import captions
from visterm.collection.search import SearchRequest, SearchResponse
from visterm.collection.search.searcher import MakeResult, Response, search, search_as
from visterm.collection.store import location
from visterm.collection.store.versions import SENTENCE_SPACES, caption_changes
from visterm.collection.supervision import Supervision
from visterm.compute import running_on
from visterm.errors import BadInput
from visterm.progress import Progress, silent

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from visterm.collection.checks import Checked
    from visterm.collection.ingest.batches import Added
    from visterm.collection.ingest.survey import OnSkip
    from visterm.collection.status import Status
    from visterm.collection.training.trainer import Trained
    from visterm.features.own_features import Embedder


def _ignore(path: str, reason: str) -> None:
    """For a library call to which nobody listens."""


class Collection(Supervision):
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

    def add(
        self,
        paths: Iterable[str | os.PathLike[str]] = (),
        *,
        features: str | Embedder | None = None,
        vectors: ArrayLike | None = None,
        names: str | None = None,
        folders: bool | None = None,
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
        from visterm.collection.feedback.offsets import relearn
        from visterm.collection.ingest.batches import Added
        from visterm.collection.ingest.extractors import choose, named_features
        from visterm.collection.ingest.pipeline import ingest
        from visterm.collection.ingest.scopes import free_rows, welcome
        from visterm.collection.store.feature_rows import Rows
        from visterm.collection.training.first_answers import FirstAnswers
        from visterm.collection.training.pretrained import begin

        inside = [self._inside(path) for path in paths]
        named, files = sorted(set(inside)), [self.root / path for path in inside]
        with (
            named_features(files, features, vectors) as chosen,
            self._writing("adding pictures", wait),
            running_on(ray),
        ):
            welcome(self.catalogue, named)
            captions.let_count(self.catalogue, names, folders)
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
                on_batch=FirstAnswers(self.catalogue, on_first) if self.is_empty else None,
            )
            begin(self.catalogue)
            relearn(self.catalogue)
            free_rows(self.catalogue)
            for (extractor,) in self.catalogue.db.execute("SELECT extractor FROM feature_files"):
                Rows(self.catalogue, extractor).compact()
            self._learn_completeness()
        return report

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
        from visterm.collection.training.text_spaces import is_stale, train_space
        from visterm.collection.training.trainer import train

        held = None if validation is None else [self._number(picture) for picture in validation]
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
            self._learn_completeness()
            with self.catalogue.transaction():
                self.catalogue.set("trained_changes", str(caption_changes(self.catalogue)))
                in_vain = trained.kept == "previous"
                self.catalogue.set(
                    "untrained", captions.fingerprint(self.catalogue) if in_vain else None
                )
            return trained

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
                "the starter goes on answering" if self.has_model else "captions alone answer"
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
        self._mend()
        return search(self.catalogue, self.root, request, self._shared.replicas)

    def search_as(
        self, response: type[Response], result: MakeResult, request: SearchRequest
    ) -> Response:
        """As `search`, in a front end's own form: what a result is made of, `MakeResult` says."""
        self._mend()
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

    def use_starter(
        self, path: str | os.PathLike[str] | None, *, progress: Progress = silent
    ) -> dict[str, Any]:
        """Begin with a starter that was exported elsewhere; with visterm's own for None."""
        from visterm.collection.training.shared_starter import use_starter

        with self._writing("taking a starter"):
            given = None if path is None else Path(path)
            return use_starter(self.catalogue, given)

    def status(self) -> Status:
        """How much there is of everything."""
        from visterm.collection.status import status

        return status(self.catalogue, self.root)

    def check(
        self, *, repair: bool = False, progress: Progress = silent, on_skip: OnSkip = _ignore
    ) -> Checked:
        """Verify every file and number; ``repair`` rebuilds what can be rebuilt."""
        from visterm.collection.checks import check
        from visterm.collection.repair import mend

        with self.catalogue.writing("checking"):
            found = check(self.catalogue)
            if repair and found.problems:
                return mend(self, found, progress=progress, on_skip=on_skip)
            return found

    def forget_everything(self) -> None:
        """Delete the whole store: captions, feedback and models with it; pictures stay."""
        with self.catalogue.writing("removing the collection"):
            pass  # whoever is writing finishes first
        self.close()
        location.forget(self.store)


def _processes() -> int:
    """Processes that decode pictures: one a core, but no more than memory is good for."""
    return min(4, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2)
