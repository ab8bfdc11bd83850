"""Which extractor a collection uses, and what it learnt: fitted on first use, then kept."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from visterm.collection.store.catalogue import Catalogue
from visterm.errors import BadInput, VistermError
from visterm.files import make_folder
from visterm.progress import Progress, silent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from visterm.features import Extractor
    from visterm.features.own_features import Embedder

USUAL = "cnn"
"""What describes the pictures of a new collection."""
VECTORS = "vectors"
"""What vectors of one's own are called where no name is given."""
SAMPLE = 2000
"""An extractor that learns, such as a codebook, learns from so many pictures."""
_FILE = "extractor.safetensors"


class NoPictures(VistermError):
    """The collection is still empty."""

    def __init__(self) -> None:
        super().__init__("there are no pictures yet; visterm add finds them")


def choose(catalogue: Catalogue, name: str | None = None) -> str:
    """The name of the extractor to use: as asked, as before, or the usual one."""
    from visterm.features import parse_features

    chosen = name or catalogue.get("features") or USUAL
    parse_features(chosen)  # a wrong name is refused before anything is done
    return chosen


def current_key(catalogue: Catalogue) -> str | None:
    """The key under which the collection's vectors are kept; None before the first picture."""
    return catalogue.get("extractor")


def described_by(catalogue: Catalogue) -> str:
    """The key under which the collection's vectors are kept; an error before the first picture."""
    key = current_key(catalogue)
    if key is None:
        raise NoPictures
    return key


def block_numbers(catalogue: Catalogue) -> int | None:
    """How many numbers describe one block of a picture; None where a picture is one vector."""
    from visterm.features import parse_features

    name = catalogue.get("features")
    return None if name is None else parse_features(name).block_numbers


def kept(catalogue: Catalogue, name: str, n_jobs: int = 1) -> Extractor | None:
    """The extractor as it was fitted for this collection; None if it has not been yet."""
    from visterm.features import parse_features

    named = parse_features(name)
    file = catalogue.one("SELECT file FROM extractors WHERE key = ?", named.key)
    if file is None:
        return None
    path = catalogue.store / file
    stamp = (path, *_stamp(path))
    if catalogue.extractor is None or catalogue.extractor[0] != stamp:  # takes up to a second
        catalogue.extractor = stamp, type(named).load(path)
    extractor = catalogue.extractor[1]
    extractor.n_jobs = n_jobs
    return extractor


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_ino


def current_extractor(catalogue: Catalogue) -> Extractor:
    """The extractor of the collection's vectors; an error before the first picture."""
    extractor = kept(catalogue, catalogue.get("features") or "")
    if extractor is None:
        raise NoPictures
    return extractor


def vectors_of_files(
    catalogue: Catalogue, files: Sequence[str]
) -> tuple[dict[int, NDArray[np.float32]], dict[int, str]]:
    """The vectors of files, which may lie anywhere, by their place in the sequence.

    For those that cannot be read the reason is given instead.
    """
    from visterm.features.picture_batches import over_pictures
    from visterm.models.inputs import dense

    extractor = current_extractor(catalogue)
    vectors: dict[int, NDArray[np.float32]] = {}
    reasons: dict[int, str] = {}
    for batch in over_pictures(extractor.rows, files, max_side=extractor.max_side):
        reasons |= {skipped.number: skipped.reason for skipped in batch.skipped}
        if batch.result is not None:
            vectors |= zip(batch.numbers, dense(batch.result), strict=True)
    return vectors, reasons


def checked_vector(catalogue: Catalogue, vector: Sequence[float] | None) -> str | None:
    """The features that a vector given with a picture is of; None without one.

    It is refused where pictures here are described otherwise, and is missing where only vectors
    can describe them.
    """
    from visterm.features.own_features import OwnFeatures

    own, known = f"{OwnFeatures.name}:", catalogue.get("features")
    is_own = known is None or known.startswith(own)
    if vector is None:
        if known is not None and is_own:
            raise BadInput("pictures here are described by vectors of your own; give one")
        return None
    if not is_own:
        raise BadInput(f"pictures here are described by {known}, not by vectors of your own")
    question = "SELECT width FROM feature_files WHERE extractor = ?"
    width = catalogue.one(question, current_key(catalogue))
    if len(vector) != (width or len(vector)):
        raise BadInput(f"vectors here have {width} numbers, not {len(vector)}")
    return known or f"{own}{VECTORS}"


def let_go_of_vectors(
    catalogue: Catalogue, vectors: Sequence[Sequence[float]], pictures: Sequence[int | None]
) -> str:
    """Forget the vectors of pictures that are to have others; returns the features' name."""
    (features,) = {checked_vector(catalogue, vector) for vector in vectors}
    with catalogue.transaction() as db:
        db.executemany(
            "DELETE FROM rows WHERE extractor = ? AND picture = ?",
            ((current_key(catalogue), picture) for picture in pictures),
        )
    return str(features)


def prepare(
    catalogue: Catalogue,
    name: str,
    sample: Sequence[str],
    *,
    n_jobs: int = 1,
    progress: Progress = silent,
    is_taken: bool = True,
) -> Extractor:
    """The extractor ready for work: as it was kept, or fitted to a sample and kept from now on.

    ``is_taken`` says that its features are the collection's from now on.
    """
    extractor = kept(catalogue, name, n_jobs)
    if extractor is None:
        extractor = _fit(name, sample, n_jobs, progress)
        key = extractor.key
        file = Path("features", key, _FILE)
        make_folder((catalogue.store / file).parent)
        extractor.save(catalogue.store / file)
        digest = hashlib.sha256((catalogue.store / file).read_bytes()).hexdigest()
        with catalogue.transaction() as db:
            db.execute("INSERT INTO extractors VALUES (?, ?, ?)", (key, file.as_posix(), digest))
    if is_taken and (catalogue.get("features"), current_key(catalogue)) != (name, extractor.key):
        with catalogue.transaction():
            take(catalogue, name, extractor.key)
    return extractor


def take(catalogue: Catalogue, name: str, key: str) -> None:
    """Let these features be the collection's from now on, inside a transaction."""
    catalogue.set("features", name)
    catalogue.set("extractor", key)


def _fit(name: str, sample: Sequence[str], n_jobs: int, progress: Progress) -> Extractor:
    import warnings

    from visterm.features import parse_features

    extractor = parse_features(name, n_jobs=n_jobs)
    progress("getting ready", 0, 1)
    with warnings.catch_warnings():
        # Unreadable pictures of the sample are reported one by one when their turn comes.
        warnings.simplefilter("ignore", UserWarning)
        extractor.fit(sample)
    progress("getting ready", 1, 1)
    return extractor


@contextmanager
def named_features(
    files: Sequence[Path], features: str | Embedder | None, vectors: ArrayLike | None
) -> Iterator[str | None]:
    """The name of the features in the notation of all commands; None where none are given.

    A function is known by its name from now on, vectors for as long as the context lasts.
    """
    if vectors is None and (features is None or isinstance(features, str)):
        yield features
        return
    import numpy as np

    from visterm.features.own_features import OwnFeatures, use_function, use_vectors

    if vectors is None:
        yield f"{OwnFeatures.name}:{use_function(features)}"  # type: ignore[arg-type]
        return
    if callable(features):
        raise BadInput("give vectors, with a name as features, or a function, not both")
    rows = np.asarray(vectors, dtype=np.float32)
    if rows.ndim != 2 or len(rows) != len(files) or not np.isfinite(rows).all():
        raise BadInput(
            f"vectors are one row of finite numbers for each of the {len(files)} files named; "
            f"these have shape {rows.shape}"
        )
    folder = next((path for path in files if not path.is_file()), None)
    if folder is not None:
        raise BadInput(f"vectors are of files, and {folder} is none")
    label = (features or VECTORS).removeprefix(f"{OwnFeatures.name}:")
    with use_vectors(label, dict(zip(map(str, files), rows, strict=True))):
        yield f"{OwnFeatures.name}:{label}"
