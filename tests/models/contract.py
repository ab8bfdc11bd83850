"""The promises every model keeps, as checks that `test_contract.py` runs over all of them.

To put a model under contract, add a `Candidate` there. A new promise is one more function here.
"""

from __future__ import annotations

import json
import os
import struct
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from problems import Problem
from scipy.sparse import csr_array, csr_matrix, issparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from visterm.errors import BadInput, NotFitted, VistermError
from visterm.models import Model, load_model


@dataclass(frozen=True)
class Candidate:
    """A model to be held to the promises.

    Attributes
    ----------
    make : called with changed parameters, returns an unfitted model
    kind : which pictures it takes: "sparse" or "dense" vectors, visterm "counts", or "blocks"
    choices : a parameter and its values that validation pictures choose among, if it can choose
    """

    name: str
    make: Callable[..., Model]
    kind: str
    choices: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def __call__(self, **changes: Any) -> Model:
        return self.make(**changes)


Check = Callable[[Candidate, Problem], None]
PROMISES: list[Check] = []
_FITTED: dict[str, Model] = {}


def fitted(candidate: Candidate, problem: Problem) -> Model:
    """The candidate after one plain fit, shared by all checks that only look at it."""
    if candidate.name not in _FITTED:
        _FITTED[candidate.name] = candidate().fit(problem.X, problem.Y)
    return _FITTED[candidate.name]


def promise(check: Check) -> Check:
    PROMISES.append(check)
    return check


# What comes out


@promise
def check_maps_every_picture_to_a_row_of_the_text_space(make_model, problem):
    rows = fitted(make_model, problem).transform(problem.held_X)
    assert rows.shape == (problem.held_X.shape[0], problem.Y.shape[1])
    assert rows.dtype == np.float32
    assert rows.flags.c_contiguous
    assert np.isfinite(rows).all()


@promise
def check_a_picture_is_mapped_alike_alone_and_in_company(make_model, problem):
    model = fitted(make_model, problem)
    together = model.transform(problem.held_X)
    for picture in (0, 7):
        alone = model.transform(problem.held_X[[picture]])
        np.testing.assert_allclose(alone[0], together[picture], rtol=1e-4, atol=1e-5)


@promise
def check_ranks_pictures_it_has_not_seen_above_chance(make_model, problem):
    model = fitted(make_model, problem)
    reached = problem.quality(model.transform(problem.held_X))
    assert reached > problem.chance + 0.25 * (1 - problem.chance)


# Repeatable


@promise
def check_the_same_seed_gives_the_same_bytes(make_model, problem):
    np.random.seed(99)  # noqa: NPY002 (whoever draws from NumPy's own generator shows it here)
    second = make_model().fit(problem.X, problem.Y).transform(problem.held_X)
    assert fitted(make_model, problem).transform(problem.held_X).tobytes() == second.tobytes()


@promise
def check_another_seed_ranks_as_well(make_model, problem):
    model = make_model()
    if "random_state" not in model.get_params():
        # Nothing is drawn, so there is no luck to have: only rounding may tell orders apart.
        order = np.arange(problem.X.shape[0])[::-1]
        turned = model.fit(problem.X[order], problem.Y[order]).transform(problem.held_X)
        straight = fitted(make_model, problem).transform(problem.held_X)
        apart = np.abs(turned - straight) > 0.02 * np.abs(straight).max()
        assert apart.mean() < 0.01, "more than rounding, and neighbours that are equally near"
        return
    first = fitted(make_model, problem).transform(problem.held_X)
    second = make_model(random_state=1).fit(problem.X, problem.Y).transform(problem.held_X)
    assert problem.quality(second) == pytest.approx(problem.quality(first), abs=0.08)
    for wrong in (-1, 0.5, "luck"):
        with pytest.raises(BadInput, match="random_state must be a whole number"):
            make_model(random_state=wrong).fit(problem.X, problem.Y)


@promise
def check_the_order_of_pictures_matters_only_to_the_drawing(make_model, problem):
    order = np.arange(problem.X.shape[0])[::-1]
    straight = fitted(make_model, problem).transform(problem.held_X)
    turned = make_model().fit(problem.X[order], problem.Y[order]).transform(problem.held_X)
    assert problem.quality(turned) == pytest.approx(problem.quality(straight), abs=0.08)


@promise
def check_fitting_again_forgets_what_was_learnt_before(make_model, problem):
    half = problem.X.shape[0] // 2
    model = make_model().fit(problem.X[:half], problem.Y[:half])
    again = model.fit(problem.X, problem.Y).transform(problem.held_X)
    fresh = fitted(make_model, problem).transform(problem.held_X)
    assert again.tobytes() == fresh.tobytes()


# Manners of scikit-learn


@promise
def check_fit_returns_the_model_and_the_constructor_only_stores(make_model, problem):
    model = make_model()
    assert vars(model) == model.get_params(deep=False)
    assert model.fit(problem.X, problem.Y) is model
    assert make_model().get_params() == model.get_params()


@promise
def check_clones_and_parameters_follow_scikit_learn(make_model, problem):
    model = fitted(make_model, problem)
    copy = clone(model)
    assert type(copy) is type(model)
    assert copy.get_params() == model.get_params()
    with pytest.raises(NotFitted):
        copy.transform(problem.X)
    assert make_model().set_params(**model.get_params()).get_params() == model.get_params()
    twin = copy.fit(problem.X, problem.Y).transform(problem.held_X)
    assert twin.tobytes() == model.transform(problem.held_X).tobytes()
    with pytest.raises(ValueError, match="no_such_parameter"):
        model.set_params(no_such_parameter=1)


@promise
def check_works_in_a_pipeline_after_a_transformer(make_model, problem):
    doubled = FunctionTransformer(_doubled, accept_sparse=True)
    pipeline = Pipeline([("double", doubled), ("model", make_model())])
    rows = pipeline.fit(problem.X, problem.Y).transform(problem.held_X)
    expected = make_model().fit(_doubled(problem.X), problem.Y).transform(_doubled(problem.held_X))
    assert rows.tobytes() == expected.tobytes()
    assert clone(pipeline).fit_transform(problem.X, problem.Y).shape == problem.Y.shape


def _doubled(vectors):
    return vectors * 2


@promise
def check_tells_how_far_it_is(make_model, problem):
    told: list[tuple[str, int, int]] = []
    make_model().fit(
        problem.X, problem.Y, progress=lambda what, done, total: told.append((what, done, total))
    )
    assert told, "a watched fit says nothing"
    assert all(what and 0 <= done <= total for what, done, total in told)
    assert told[-1][1] == told[-1][2], "the last word must be that all is done"
    for (what, done, _), (next_what, next_done, _) in pairwise(told):
        assert next_what != what or next_done >= done


@promise
def check_validation_pictures_choose_and_the_choice_is_told(make_model, problem):
    validation = (problem.other_X, problem.other_Y)
    assert make_model.choices or "max_iter" in make_model().decides, "nothing is ever chosen"
    for parameter, values in make_model.choices.items():
        model = make_model(**{parameter: values}).fit(problem.X, problem.Y, validation=validation)
        assert model.decided()[parameter] in values
        assert problem.chance < model.validation_ <= 1
        with pytest.raises(BadInput, match="validation"):
            make_model(**{parameter: values}).fit(problem.X, problem.Y)
    if not make_model.choices:
        model = make_model().fit(problem.X, problem.Y, validation=validation)
        assert problem.chance < model.validation_ <= 1
    # What was chosen, given to another fit, learns the same.
    again = make_model(**model.decided()).fit(problem.X, problem.Y)
    assert again.decided().keys() == model.decided().keys() == model.decides.keys()
    expected = model.transform(problem.held_X)
    np.testing.assert_allclose(again.transform(problem.held_X), expected, rtol=1e-3, atol=1e-4)


# Files


@promise
def check_saved_and_loaded_ranks_the_same(make_model, problem):
    model = fitted(make_model, problem)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "model")
        model.save(file)
        assert [path.name for path in Path(folder).iterdir()] == ["model"]
        for again in (type(model).load(file), load_model(file), type(model).load(str(file))):
            assert type(again) is type(model)
            assert again.get_params() == model.get_params()
            rows = again.transform(problem.held_X)
            assert rows.tobytes() == model.transform(problem.held_X).tobytes()
        again.save(file)
        once_more = type(model).load(file).transform(problem.held_X)
        assert once_more.tobytes() == rows.tobytes()


@promise
def check_files_hold_a_json_header_and_arrays_and_nothing_that_runs(make_model, problem):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "model")
        fitted(make_model, problem).save(file)
        content = file.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    about = json.loads(header.pop("__metadata__")["visterm"])
    assert about["format"] == 1
    assert all(array["dtype"][0] in "FIUB" for array in header.values())
    ends = sorted(array["data_offsets"] for array in header.values())
    assert ends[-1][1] == len(content) - 8 - length, "bytes that no array owns"
    assert sum(end - start for start, end in ends) == ends[-1][1]


@promise
def check_damaged_and_foreign_files_are_refused_by_name(make_model, problem):
    model = fitted(make_model, problem)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "model")
        model.save(file)
        content = file.read_bytes()
        (length,) = struct.unpack("<Q", content[:8])
        header = content[8 : 8 + length]
        damaged = {
            "empty": b"",
            "text": b"a tree, snow and people\n" * 20,
            "half a header": content[: 8 + length // 2],
            "half the arrays": content[: (8 + length + len(content)) // 2],
            "one byte short": content[:-1],
            "more than it says": content + b"\0",
            "a length without end": b"\xff" * 8 + content[8:],
            "nobody's arrays": _framed(
                b'{"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', b"0"
            ),
            "no name": content[:8]
            + header.replace(b'\\"name\\"', b'\\"eman\\"')
            + content[8 + length :],
            "no arrays": _framed(json.dumps({"__metadata__": json.loads(header)["__metadata__"]})),
        }
        for what, found in damaged.items():
            file.write_bytes(found)
            for load in (type(model).load, load_model):
                with pytest.raises(BadInput) as refused:
                    load(file)
                assert str(file) in str(refused.value), what
        file.write_bytes(_of_format(content, 99))
        with pytest.raises(VistermError, match="newer visterm; upgrade"):
            load_model(file)
        with pytest.raises(BadInput, match="nowhere"):
            load_model(Path(folder, "nowhere"))
        with pytest.raises(BadInput):
            load_model(folder)


def _framed(header: bytes | str, data: bytes = b"") -> bytes:
    header = header.encode() if isinstance(header, str) else header
    return struct.pack("<Q", len(header)) + header + data


def _of_format(content: bytes, number: int) -> bytes:
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    about = json.loads(header["__metadata__"]["visterm"])
    header["__metadata__"]["visterm"] = json.dumps(about | {"format": number})
    return _framed(json.dumps(header), content[8 + length :])


@promise
def check_a_folder_that_cannot_be_written_is_named(make_model, problem):
    model = fitted(make_model, problem)
    with pytest.raises(VistermError, match="nowhere"):
        model.save(os.path.join(tempfile.gettempdir(), "no", "folder", "nowhere"))


# What goes in


@promise
def check_nothing_is_mapped_or_saved_before_fitting(make_model, problem):
    for use in (lambda model: model.transform(problem.X), lambda model: model.save("unfitted")):
        with pytest.raises(NotFitted, match=r"learnt nothing yet; call fit"):
            use(make_model())
    assert not Path("unfitted").exists()


@promise
def check_inputs_stay_as_they_were(make_model, problem):
    given = [problem.X, problem.Y, problem.held_X, problem.other_X, problem.other_Y]
    before = [_bytes(array) for array in given]
    model = make_model().fit(problem.X, problem.Y, validation=(problem.other_X, problem.other_Y))
    model.transform(problem.held_X)
    assert [_bytes(array) for array in given] == before


def _bytes(array) -> tuple[bytes, ...]:
    if not issparse(array):
        return (array.tobytes(),)
    return array.data.tobytes(), array.indices.tobytes(), array.indptr.tobytes()


@promise
def check_layouts_and_number_types_do_not_matter(make_model, problem):
    expected = fitted(make_model, problem).transform(problem.held_X)
    plain = problem.X.toarray() if issparse(problem.X) else problem.X
    frozen = plain.astype(np.float32)
    frozen.setflags(write=False)
    same = {
        "csr_matrix": csr_matrix(problem.X),
        "csr_array": csr_array(problem.X),
        "float64": problem.X.astype(np.float64),
        "lists": plain.tolist(),
        "by column": np.asfortranarray(plain),
        "not to be written": frozen,
        "csc": csr_array(problem.X).tocsc(),
    }
    captions = problem.Y.toarray()
    other = [csr_matrix(problem.Y), captions.astype(bool), captions.tolist()]
    # Pictures and captions are brought to one form apart, so each form of one is tried once.
    for (what, X), Y in zip(same.items(), cycle(other), strict=False):
        rows = make_model().fit(X, Y).transform(problem.held_X)
        np.testing.assert_allclose(rows, expected, rtol=1e-3, atol=1e-3, err_msg=what)
        np.testing.assert_allclose(
            fitted(make_model, problem).transform(X),
            fitted(make_model, problem).transform(problem.X),
            rtol=1e-3,
            atol=1e-3,
            err_msg=what,
        )


@promise
def check_pictures_that_are_no_numbers_are_refused(make_model, problem):
    model = make_model()
    for broken, why in _broken_pictures(problem.X):
        with pytest.raises(BadInput, match=why):
            model.fit(broken, problem.Y)
    with pytest.raises(NotFitted):
        model.transform(problem.X)
    for broken, why in _broken_pictures(problem.X):
        with pytest.raises(BadInput, match=why):
            fitted(make_model, problem).transform(broken)


def _broken_pictures(X):
    for number, why in ((np.nan, "NaN"), (np.inf, "infinite"), (-np.inf, "infinite")):
        broken = X.astype(np.float32)
        values = broken.data if issparse(broken) else broken.reshape(-1)
        values[len(values) // 2] = number
        yield broken, why
    yield X[:0], "no picture vectors"
    yield np.zeros((X.shape[0], 0)), "no picture vectors"
    yield np.zeros(X.shape[0]), "two dimensions"
    yield np.zeros((2, 3, 4)), "two dimensions"
    yield ["a tree", "snow"], "numbers.*extractor"
    yield [["a", "b"], ["c", "d"]], "numbers.*extractor"
    yield [[1.0, 2.0], [3.0]], "numbers.*extractor"
    yield None, "numbers|two dimensions"


@promise
def check_captions_that_do_not_fit_are_refused(make_model, problem):
    n, words = problem.Y.shape
    broken = problem.Y.toarray().astype(float)
    broken[0, 0] = np.nan
    refused = [
        (problem.Y[:-1], f"{n} picture vectors but {n - 1} captions"),
        (broken, "NaN"),
        (np.zeros((n, words)), "every caption is empty"),
        (np.ones((n, words)), "captions that differ"),
        (["a tree"] * n, "captions that differ"),
    ]
    if make_model().targets == "words":  # vectors of other text spaces may point anywhere
        refused.append((-problem.Y, "negative"))
    for captions, why in refused:
        with pytest.raises(BadInput, match=why):
            make_model().fit(problem.X, captions)


@promise
def check_another_width_is_refused_with_both_numbers(make_model, problem):
    model = fitted(make_model, problem)
    width = problem.X.shape[1]
    with pytest.raises(BadInput, match=f"{width} numbers.*{width - 1}.*same extractor"):
        model.transform(problem.X[:, :-1])
    with pytest.raises(BadInput, match=f"{width}.*{width - 1}"):
        make_model().fit(problem.X, problem.Y, validation=(problem.X[:, :-1], problem.Y))


@promise
def check_a_fit_that_fails_leaves_the_model_as_it_was(make_model, problem):
    model = make_model().fit(problem.X, problem.Y)
    before = model.transform(problem.held_X).tobytes()
    with pytest.raises(BadInput):
        model.fit(problem.X[:, :-1], np.ones(problem.Y.shape))
    assert model.transform(problem.held_X).tobytes() == before


@promise
def check_words_nobody_wrote_and_pictures_without_a_caption_are_survived(make_model, problem):
    captions = problem.Y.toarray()
    captions[:, -1] = 0  # a word that no caption holds
    captions[::5] = 0  # pictures that nobody captioned
    model = make_model().fit(problem.X, captions)
    rows = model.transform(problem.held_X)
    assert np.isfinite(rows).all()
    written = np.arange(captions.shape[1] - 1)
    assert problem.quality(rows, words=written) > problem.chance + 0.25 * (1 - problem.chance)


@promise
def check_one_picture_under_several_captions_is_survived(make_model, problem):
    twice = np.concatenate([np.arange(problem.X.shape[0]), np.zeros(20, dtype=int)])
    captions = problem.Y.toarray()[twice]
    captions[-20:] = np.roll(captions[-20:], 3, axis=1)
    rows = make_model().fit(problem.X[twice], captions).transform(problem.held_X)
    assert np.isfinite(rows).all()
    assert problem.quality(rows) > problem.chance + 0.25 * (1 - problem.chance)


@promise
def check_a_picture_of_nothing_is_survived(make_model, problem):
    pictures = problem.X.copy()
    pictures = pictures.toarray() if issparse(pictures) else pictures
    pictures[:3] = 0
    pictures = csr_array(pictures) if issparse(problem.X) else pictures
    rows = make_model().fit(pictures, problem.Y).transform(pictures)
    assert np.isfinite(rows).all()


_FEW = 16
_HUGE, _LARGE, _TINY = 1e20, 1e8, 1e-40
"""Numbers whose squares float32 cannot hold, and numbers that it holds with few digits."""


def _edges(problem: Problem) -> dict[str, tuple[Any, Any]]:
    """Pictures and captions that are allowed, and at the edge of it."""
    X, Y = problem.X[:_FEW], problem.Y[:_FEW]
    everything = csr_array(np.ones(Y.shape))
    return {
        "constant": (X[np.zeros(_FEW, int)], Y),
        "twice": (X[np.arange(_FEW) // 2], Y[np.arange(_FEW) // 2]),
        "huge": (csr_array(X * _HUGE) if issparse(X) else X * _HUGE, Y),
        "large": (csr_array(X * _LARGE) if issparse(X) else X * _LARGE, Y),
        "denormal": (csr_array(X * _TINY) if issparse(X) else X * _TINY, Y),
        "one picture": (X[:1], Y[:1]),
        "one word": (X, Y[:, :1]),
        "all relevant": (X, everything),
        "none relevant": (X, csr_array(0 * everything)),
        "no picture": (X[:0], Y[:0]),
    }


@promise
def check_numbers_at_the_edge_give_finite_rows_or_a_sentence(make_model, problem):
    for name, (X, Y) in _edges(problem).items():
        model = make_model()
        if "max_iter" in model.get_params():
            model = make_model(max_iter=2)
        with np.errstate(all="ignore"):
            try:
                rows = model.fit(X, Y).transform(X)
            except BadInput:
                continue
        assert np.isfinite(rows).all(), f"{name}: {rows.ravel()[:5]}"
        assert name not in ("none relevant", "no picture"), f"{name} teaches nothing"


@promise
def check_a_fitted_model_gives_finite_rows_or_a_sentence_for_numbers_at_the_edge(
    make_model, problem
):
    model = fitted(make_model, problem)
    scaled = {scale: problem.held_X * scale for scale in (_HUGE, _LARGE, _TINY, 0)}
    for name, X in (scaled | {"constant": np.full(problem.held_X.shape, 3)}).items():
        with np.errstate(all="ignore"):
            try:
                rows = model.transform(csr_array(X) if issparse(problem.held_X) else X)
            except BadInput:
                if name in (_HUGE, _LARGE):
                    continue
                raise
        assert rows.shape == (problem.held_X.shape[0], problem.Y.shape[1])
        assert np.isfinite(rows).all(), f"{name}: {rows.ravel()[:5]}"
