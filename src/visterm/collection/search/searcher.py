"""From a request to a response: rank, filter, find the cut-off, fold, and page.

This is the way of every search, so it loads NumPy and SQLite only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from visterm.collection.media.records import Picture, file_at, pictures
from visterm.collection.search.filters import allowed
from visterm.collection.search.query_terms import (
    Calibrated,
    IndependentWords,
    LogProbabilities,
    QueryTerms,
    calibration_of,
    query_terms,
    word_calibration,
    written_terms,
)
from visterm.collection.search.ranking import (
    LocalScores,
    QueryRows,
    RankedRows,
    Ranking,
    RowScores,
    Scores,
    least_scores,
    query_rows,
    video_rows,
    word_scores,
)
from visterm.collection.search.request import (
    TIME,
    ScoreParts,
    SearchRequest,
    SearchResponse,
    SearchResult,
)
from visterm.collection.store.catalogue import Catalogue
from visterm.collection.store.events import Judgement, by_query, click_key
from visterm.collection.store.feature_rows import DescribedPictures
from visterm.collection.store.snapshot import NotTrained, Snapshot, reading
from visterm.collection.store.versions import WORDS
from visterm.compute import Replicas
from visterm.errors import BadInput, VistermError
from visterm.index.feature_file import only_ids
from visterm.index.scan import ScoreVector
from visterm.quick_dataclass import dataclass
from visterm.text.filters import Filters
from visterm.text.query import MORE_WORDS, Query, UnknownWords, parse_query, parse_sentence
from visterm.text.tokens import STOP_WORDS

_ANY_SCORE = -float(np.finfo(np.float32).max)
_READ_QUERIES, _READ_BYTES = 2048, 1 << 28
"""Queries that are remembered as a state of the collection reads them, and their bytes."""
Response = TypeVar("Response", bound=SearchResponse)
MakeResult = Callable[[Picture, float, float | None, bool | None, ScoreParts | None, int], object]
_NEAREST = 500
"""Pictures that are put in order of time where it is not known how many are good matches."""


def search(
    catalogue: Catalogue, root: Path, request: SearchRequest, replicas: Replicas | None = None
) -> SearchResponse:
    """Answer a request, from ``replicas`` of shards where there are any."""

    def result(
        picture: Picture,
        score: float,
        probability: float | None,
        judged: bool | None,
        evidence: ScoreParts | None,
        frame: int,
    ) -> SearchResult:
        return SearchResult(
            picture.picture,
            score,
            file_at(root, picture.path),
            tuple(file_at(root, path) for path in picture.also),
            probability,
            judged,
            evidence,
            picture.taken,
            picture.taken_from,
            picture.latitude,
            picture.longitude,
            picture.type,
            picture.id,
            picture.fields,
            frame,
            picture.frame_time,
        )

    return search_as(SearchResponse, result, catalogue, root, request, replicas)


def search_as(
    response: type[Response],
    result: MakeResult,
    catalogue: Catalogue,
    root: Path,
    request: SearchRequest,
    replicas: Replicas | None = None,
) -> Response:
    """As `search`, in a front end's own form: a result is made from a picture, its score,
    probability, judgement and evidence, and the number of the frame that answers best."""
    with reading(catalogue) as now:
        asked = _read_request(request)
        ranking = _ranking(now, root, asked, replicas)
        page = _Page(now, request, asked.filters.folders, result)
        if request.sort == TIME:
            results, more = page.of(_by_time(now, ranking, asked))
        else:
            results, more = page.of(ranking)
        terms = ranking.terms or _NO_TERMS
        return response(
            results,  # type: ignore[arg-type]
            query=request.text,
            offset=request.offset,
            unknown=terms.unknown,
            replaced=terms.replaced,
            cutoff=ranking.cutoff,
            more=more,
            partial=ranking.scores.partial,
            unsure=terms.unsure,
            conditions=asked.filters.said,
            possible=ranking.possible,
        )


def matches(catalogue: Catalogue, root: Path, request: SearchRequest) -> NDArray[np.int64]:
    """All good matches of a request, best first; without words, all that filters let through.

    Where it is not known how many are good, it is as many as are asked for.
    """
    with reading(catalogue) as now:
        asked = _read_request(request)
        ranking = _ranking(now, root, asked, None)
        if asked.is_all or ranking.leasts:
            least = _ANY_SCORE if asked.is_all else ranking.leasts[0]
            return ranking.frames.pictures(ranking.scores.reaching(least).rows)
        return ranking.frames.pictures(ranking.scores.best(request.k).rows)


@dataclass(frozen=True)
class _Asked:
    """A request, read."""

    request: SearchRequest
    query: Query
    sentence: str
    filters: Filters
    beside: tuple[tuple[str, float], ...] = ()
    """Words beside a sentence, wanted or not, with their weights."""

    @property
    def is_all(self) -> bool:
        """Whether nothing but filters is asked for."""
        has_words = self.query.words or any(words for words, _ in self.query.alternatives)
        return not has_words and not self.sentence and self.request.like is None


def _read_request(request: SearchRequest) -> _Asked:
    query, sentence = Query(), ""
    beside: tuple[tuple[str, float], ...] = ()
    if request.space == WORDS:
        query = parse_query(request.text)
        filters = query.filters & request.filters
        if filters and query.words and all(word in STOP_WORDS for word, _ in query.words):
            query = Query((), query.filters)  # as of "in May 1972"
    else:
        sentence, filters, beside = parse_sentence(request.text)
        filters = filters & request.filters
    asked = _Asked(request, query, sentence, filters, beside)
    if query.alternatives and request.like is not None:
        raise BadInput("OR and parentheses are for words and filters; leave the picture out")
    is_useless = not (filters or query.alternatives or request.sort == TIME)
    is_useless = is_useless or request.space != WORDS
    if asked.is_all and is_useless:
        raise BadInput('an empty query; write words, as in visterm search "tree snow"')
    return asked


_NO_TERMS = QueryTerms([], np.empty(0, np.int64), {}, {})


def _ranking(now: Snapshot, root: Path, asked: _Asked, replicas: Replicas | None) -> Ranking:
    """The ranking of a request, settled."""
    request = asked.request
    if request.like is not None:
        pictures, ranking = _likeness(now, root, asked)
    elif asked.query.alternatives:
        pictures, ranking = _any_ranking(now, asked.query)
    elif asked.sentence:
        pictures = _pictures(now, now.space(request.space).version.extractor)
        ranking = Ranking(_given(now, pictures, _sentence(now, pictures, asked)), now.frames)
    elif now.version is None:
        pictures, ranking = _written_ranking(now, asked.query)
    else:
        pictures, ranking = word_ranking(now, asked.query, replicas)
    if asked.filters:
        ranking.allow = allowed(now, pictures, asked.filters)
    ranking.settle()
    return ranking


def _sentence(now: Snapshot, pictures: DescribedPictures, asked: _Asked) -> NDArray[np.float32]:
    """Scores of a sentence, and of words beside it as often as they count."""
    model = now.space(asked.request.space)
    scores = model.scores(pictures.file, asked.sentence)
    for word, weight in asked.beside:
        scores = scores + np.float32(weight) * model.scores(pictures.file, word)
    return scores


def _any_ranking(now: Snapshot, query: Query) -> tuple[DescribedPictures, Ranking]:
    """A ranking by the best of alternatives, in log-probabilities where all have some.

    An alternative of unknown words answers nothing, unless all are such.
    """
    best: NDArray[np.float32] | None = None
    said, is_known = _NO_TERMS, True
    problem: VistermError | None = None
    for words, filters in query.alternatives:
        try:
            part = Query(words, own_words=query.own_words)
            of_part = _written_ranking(now, part) if now.version is None else None
            pictures, ranking = of_part or word_ranking(now, part)
        except (UnknownWords, NotTrained) as error:
            problem = error
            continue
        ranking.allow = allowed(now, pictures, *filters)
        ranking.settle()
        assert isinstance(ranking.scores, LocalScores)
        scores = ranking.scores.scores.vector.scores
        if not words:
            scores = np.where(np.isfinite(scores), np.float32(0), scores)
        elif ranking.calibration is None:
            is_known = False
        else:
            with np.errstate(divide="ignore"):
                likely = np.log(np.array(ranking.probabilities(scores), np.float64))
            scores = np.where(np.isfinite(scores), likely, -np.inf).astype(np.float32)
        best = scores.copy() if best is None else np.maximum(best, scores)
        said = said.joined(ranking.terms or _NO_TERMS)
    if best is None:
        assert problem is not None
        raise problem
    joined = Ranking(_given(now, pictures, best), now.frames, said)
    if is_known:
        joined.calibration = LogProbabilities()
        joined.leasts = least_scores(joined.calibration, said)
    return pictures, joined


@dataclass(frozen=True, eq=False)
class _ReadQuery:
    """Words of a query, read, with all that a state of the collection knows of them."""

    pictures: DescribedPictures
    terms: QueryTerms
    calibration: Calibrated | None
    leasts: tuple[float, ...]
    clicks: Sequence[Judgement]
    rows: QueryRows | None
    """The words over all rows, unless other machines score them."""

    @property
    def nbytes(self) -> int:
        """What is kept of it in memory besides columns."""
        return 0 if self.rows is None else self.rows.scan.nbytes


def word_ranking(
    now: Snapshot, query: Query, replicas: Replicas | None = None
) -> tuple[DescribedPictures, Ranking]:
    """All rows, and the ranking that a query of words gives them, without its filters."""
    is_here = replicas is None or now.words.weights is None
    known, key = now.queries, (query.words, query.own_words, is_here)
    read = known.get(key)
    if read is None:
        kept = tuple(known.values())  # at once: other threads put theirs in meanwhile
        if len(kept) >= _READ_QUERIES or sum(one.nbytes for one in kept) >= _READ_BYTES:
            known.clear()
        read = known[key] = _read(now, query, is_here=is_here)
    scores: Scores
    if read.rows is None:
        from visterm.collection.search.sharded import ShardedScores

        assert replicas is not None
        scores = ShardedScores(now, read.pictures, read.terms, replicas)
    else:
        scores = LocalScores(read.pictures, now.frames, read.rows)
    ranking = Ranking(scores, now.frames, read.terms, read.calibration, leasts=read.leasts)
    if read.clicks:
        ranking.learn(read.clicks)
    return read.pictures, ranking


def word_probability(now: Snapshot, word: int, score: float) -> float | None:
    """How likely a picture shows a word of the model, from its score in a search for that word.

    None where a search does not know it either.
    """
    known: Calibrated | None = word_calibration(now.words, np.array([word]))
    query = parse_query(f'"{now.words.vocabulary.words[word]}"')
    if known is not None and _clicks(now).get(click_key(query)):
        known = word_ranking(now, query)[1].calibration  # which answers have corrected
    return None if known is None else float(known.probabilities([word], [1.0], [score])[0])


def _clicks(now: Snapshot) -> dict[str, list[Judgement]]:
    return now.remembered("clicks", lambda: by_query(now.catalogue), "click_changes")


def _read(now: Snapshot, query: Query, *, is_here: bool) -> _ReadQuery:
    pictures = _pictures(now, now.words.version.extractor)
    terms = query_terms(query, now)
    if query.words and not terms.terms:
        raise UnknownWords(only_unknown(terms.unknown), terms.unknown)
    calibration = calibration_of(now.words, terms)
    return _ReadQuery(
        pictures,
        terms,
        calibration,
        least_scores(calibration, terms),
        _clicks(now).get(click_key(query), ()) if query.words else (),
        query_rows(now, pictures, terms) if is_here else None,
    )


def _written_ranking(now: Snapshot, query: Query) -> tuple[DescribedPictures, Ranking]:
    """A ranking by what is written alone, where no model has been trained yet."""
    terms = written_terms(query, now.written) if query.words else _NO_TERMS
    if query.words and not any(term.weight > 0 for term in terms.terms):
        _ = now.words  # which says what to do
    there = now.catalogue.db.execute("SELECT id FROM pictures WHERE present > 0 ORDER BY id")
    ids = np.fromiter((number for (number,) in there), np.int64)
    pictures = DescribedPictures(only_ids(ids))
    ranking = Ranking(word_scores(now, pictures, terms), now.frames, terms)
    if terms.terms:
        ranking.calibration = IndependentWords()
        ranking.leasts = least_scores(ranking.calibration, terms)
    clicks = by_query(now.catalogue) if query.words else {}
    ranking.learn(clicks.get(click_key(query), ()))
    return pictures, ranking


def _likeness(now: Snapshot, root: Path, asked: _Asked) -> tuple[DescribedPictures, Ranking]:
    """Likeness to a picture by cosine, itself left out; with words or a sentence beside it both
    kinds of scores are standardised over all pictures and added up."""
    from visterm.collection.search.likeness import cosines

    request = asked.request
    assert request.like is not None
    if request.space != WORDS and not asked.sentence:
        raise BadInput("a space is for sentences; write one beside the picture, or leave it out")
    pictures, near = cosines(now, root, request.like, request.region)
    terms = None
    if asked.query.words or asked.sentence:
        if asked.sentence:
            beside = _sentence(now, pictures, asked)
        else:
            terms = query_terms(asked.query, now)
            if not terms.terms:
                raise UnknownWords(only_unknown(terms.unknown), terms.unknown)
            beside = word_scores(now, pictures, terms).scores.vector.scores
        there = np.isfinite(near) & np.isfinite(beside)
        both = np.full(near.size, -np.inf, np.float32)
        both[there] = _standardised(beside[there]) + _standardised(near[there])
        near = both
    return pictures, Ranking(_given(now, pictures, near), now.frames, terms)


def _given(now: Snapshot, pictures: DescribedPictures, scores: NDArray[np.float32]) -> LocalScores:
    """Scores that were computed from rows, without columns."""
    if pictures.is_there is not None:
        scores[~pictures.is_there] = -np.inf
    made = RowScores(pictures.file, ScoreVector(scores), video_rows(now, pictures))
    return LocalScores(pictures, now.frames, None, made)


def _pictures(now: Snapshot, extractor: str) -> DescribedPictures:
    found = now.pictures(extractor)
    return DescribedPictures(only_ids(np.empty(0, np.int64))) if found is None else found


def _standardised(scores: NDArray[np.floating]) -> NDArray[np.float32]:
    deviation = float(scores.std(dtype=np.float64)) or 1.0
    return ((scores - scores.mean(dtype=np.float64)) / deviation).astype(np.float32)


def _by_time(now: Snapshot, ranking: Ranking, asked: _Asked) -> Ranking:
    """The good matches of a ranking in the order of time, those of unknown time last; all pictures
    where no words are asked for."""
    if asked.is_all:
        found = ranking.scores.reaching(_ANY_SCORE)
    elif ranking.leasts:
        found = ranking.scores.reaching(ranking.leasts[0])
    else:
        found = ranking.scores.best(_NEAREST)
    pictures = ranking.frames.pictures(found.rows)
    question = "SELECT id, taken IS NULL, -taken FROM pictures WHERE id IN {numbers}"
    taken = {one: (*rest, -one) for one, *rest in now.catalogue.among(question, pictures.tolist())}
    order = sorted(range(len(pictures)), key=lambda n: taken[int(pictures[n])])
    chosen = np.array(order, np.int64)
    ranking.ordered = RankedRows(found.rows[chosen], found.scores[chosen])
    return ranking


@dataclass(frozen=True)
class _Page:
    """The part of a ranking that is shown: pictures that are there, near-duplicates once."""

    now: Snapshot
    request: SearchRequest
    folders: tuple[str, ...]
    result: MakeResult

    @property
    def needed(self) -> int:
        """How many pictures settle what is shown, and whether there are more."""
        return self.request.offset + self.request.k + 1

    def of(self, ranking: Ranking) -> tuple[list[object], bool]:
        """The results, and whether there are more."""
        limit = ranking.cutoff if self.request.good else None
        wanted = self.needed if limit is None else min(self.needed, limit)
        while True:
            ranked = ranking.best(wanted)
            numbers = ranking.frames.pictures(ranked.rows).tolist()
            frames = dict(zip(numbers, ranked.rows.tolist(), strict=True)) if ranking.frames else {}
            known = pictures(self.now.catalogue, numbers, frames, self.folders)
            # A picture that has just vanished may still have a row; then more are asked for.
            shown = [n for n, number in enumerate(numbers) if number in known]
            if self.request.fold:
                shown = self._folded(numbers, shown)
            if len(shown) >= self.needed or len(numbers) < wanted or wanted == limit:
                break
            wanted = 4 * wanted if limit is None else min(4 * wanted, limit)
        first, last = self.request.offset, self.request.offset + self.request.k
        chosen = shown[first:last]
        scores = ranked.scores[chosen]
        results = [
            self.result(
                known[numbers[n]],
                score,
                probability,
                ranking.judged.get(numbers[n]),
                None if ranked.parts is None else ranked.parts[n],
                frame,
            )
            for n, frame, score, probability in zip(
                chosen,
                ranked.rows[chosen].tolist(),
                scores.tolist(),
                ranking.probabilities(scores),
                strict=True,
            )
        ]
        return results, len(shown) > last

    def _folded(self, pictures: list[int], there: list[int]) -> list[int]:
        from visterm.collection.search.likeness import without_near_duplicates

        kept = without_near_duplicates(self.now, [pictures[n] for n in there], self.needed)
        places = {picture: n for n, picture in reversed(list(enumerate(pictures)))}
        return [places[picture] for picture in kept]


def only_unknown(unknown: dict[str, list[str]]) -> str:
    """What to say where no word of a query is known."""
    if not unknown:
        return "these words are in every caption; add what the pictures should show"
    named = ", ".join(
        f"{word!r}" + (f" (close to {', '.join(close)})" if close else "")
        for word, close in unknown.items()
    )
    return f"not known yet: {named}; {MORE_WORDS}"
