"""Bags of block visterms: what an extractor promises, on drawn scenes."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import load_file, save_file
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from visterm.datasets.scenes import Scene, draw_scene
from visterm.errors import BadInput, NotFitted, VistermError
from visterm.features import EXTRACTORS, Blocks
from visterm.features.blocks.block_descriptor import TEXTURE_BINS
from visterm.features.blocks.block_visterms import DEFAULT_CHANNELS, PARTS

CHANNELS = ((8, "joint", 60), (16, "edges", 30), (16, "colours", 20))


def small(**changes: Any) -> Blocks:
    return Blocks(**{"channels": CHANNELS, "colours": 12} | changes)


@pytest.fixture(scope="module")
def pictures(many: list[Scene]) -> list[np.ndarray]:
    return [scene.pixels for scene in many]


@pytest.fixture(scope="module")
def fitted(pictures: list[np.ndarray]) -> Blocks:
    return small().fit(pictures)


@pytest.fixture(scope="module")
def rows(fitted: Blocks, pictures: list[np.ndarray]) -> csr_array:
    return fitted.transform(pictures)


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    path = tmp_path / "broken.jpg"
    path.write_bytes(b"\xff\xd8\xff no more")
    return path


def the_same(one: csr_array, other: csr_array) -> bool:
    """Equal to the last byte, and stored in the same order."""
    return one.shape == other.shape and all(
        np.array_equal(getattr(one, part), getattr(other, part))
        for part in ("indptr", "indices", "data")
    )


def stored_arrays(blocks: Blocks, folder: Path) -> dict[str, np.ndarray]:
    """What was learnt, as its file shows it to anybody."""
    blocks.save(folder / "learnt")
    return load_file(folder / "learnt")


def test_rows_are_the_formula(
    fitted: Blocks, pictures: list[np.ndarray], rows: csr_array, tmp_path: Path
) -> None:
    centres = stored_arrays(fitted, tmp_path)
    bags = [[_bag(fitted, centres, pixels, c) for c in range(3)] for pixels in pictures]
    for number in (0, 17, 69):
        expected = []
        for channel in range(3):
            showing = sum(bag[channel] > 0 for bag in bags)
            idf = -np.log(np.maximum(showing, 0.5) / len(pictures))
            tf_idf = np.sqrt(bags[number][channel]) * idf
            expected.append(tf_idf / np.linalg.norm(tf_idf))
        found = rows[[number]].toarray()[0]
        assert np.allclose(found, np.concatenate(expected) / math.sqrt(3), atol=1e-5)


def _bag(fitted: Blocks, centres: dict[str, np.ndarray], pixels: np.ndarray, c: int) -> np.ndarray:
    """Counts of the nearest centres of all blocks of one channel."""
    side, part, size = CHANNELS[c]
    histograms = fitted.histograms(pixels)[[8, 16].index(side)][:, PARTS[part]]
    blocks = np.sqrt(histograms.astype(np.float64))
    away = ((blocks[:, None] - centres[f"centres_{c}"].astype(np.float64)) ** 2).sum(axis=2)
    return np.bincount(away.argmin(axis=1), minlength=size)


def test_rows_are_sparse_of_unit_length_and_single_precision(rows: csr_array) -> None:
    assert isinstance(rows, csr_array)
    assert rows.shape == (70, 110)
    assert rows.dtype == np.float32
    assert np.allclose(np.sqrt((rows.toarray() ** 2).sum(axis=1)), 1, atol=1e-6)


def test_fit_transform_equals_fit_and_transform(
    pictures: list[np.ndarray], rows: csr_array
) -> None:
    assert the_same(small().fit_transform(pictures), rows)


def test_the_seed_decides_the_visterms(pictures: list[np.ndarray], rows: csr_array) -> None:
    assert the_same(small(random_state=0).fit_transform(pictures), rows)
    assert not the_same(small(random_state=1).fit_transform(pictures), rows)


def test_results_do_not_depend_on_the_number_of_workers(
    pictures: list[np.ndarray], rows: csr_array
) -> None:
    assert the_same(small(n_jobs=2).fit_transform(pictures), rows)


def test_a_row_does_not_depend_on_the_other_pictures(
    fitted: Blocks, pictures: list[np.ndarray], rows: csr_array
) -> None:
    shuffled = np.random.default_rng(0).permutation(len(pictures))
    assert the_same(fitted.transform([pictures[i] for i in shuffled]), rows[shuffled])
    for number in (0, 31, 32, 69):
        assert the_same(fitted.transform([pictures[number]]), rows[[number]])


def test_files_give_the_rows_of_their_pixels(
    fitted: Blocks, pictures: list[np.ndarray], rows: csr_array, tmp_path: Path
) -> None:
    for number in (0, 1):
        Image.fromarray(pictures[number]).save(tmp_path / f"{number}.png")
    files = [tmp_path / "0.png", str(tmp_path / "1.png")]
    assert the_same(fitted.transform(files), rows[:2])


def test_large_pictures_are_shrunk_to_the_long_side(scenes: list[np.ndarray]) -> None:
    large = [np.repeat(np.repeat(pixels, 2, axis=0), 2, axis=1) for pixels in scenes]
    assert Blocks(max_side=192).max_side == 192
    blocks = small(channels=((16, "joint", 500),), max_side=96, weighting="counts").fit(scenes)
    per_picture = 7 * 11  # a 96 × 64 picture, whatever it was before
    assert blocks.transform(scenes).sum(axis=1).tolist() == [per_picture] * len(scenes)
    assert blocks.transform(large).sum(axis=1).tolist() == [per_picture] * len(scenes)


def test_counts_are_whole_numbers_of_blocks(pictures: list[np.ndarray]) -> None:
    counting = small(weighting="counts")
    counts = counting.fit_transform(pictures)
    assert np.array_equal(counts.data, np.round(counts.data))
    assert the_same(counting.transform(pictures), counts)
    dense = counts.toarray()
    assert (dense[:, :60].sum(axis=1) == 11 * 15).all()
    assert (dense[:, 60:90].sum(axis=1) == 5 * 7).all()
    assert (dense[:, 90:].sum(axis=1) == 5 * 7).all()


def test_the_papers_way_takes_counts_as_they_are(pictures: list[np.ndarray]) -> None:
    plain = small(root=False, channels=((16, "joint", 20),)).fit(pictures)
    counts = small(root=False, channels=((16, "joint", 20),), weighting="counts").fit(pictures)
    weighed = counts.transform(pictures).toarray() * plain.idf_
    weighed /= np.linalg.norm(weighed, axis=1, keepdims=True)
    assert np.allclose(plain.transform(pictures).toarray(), weighed, atol=1e-6)


def test_edges_do_not_see_colours_and_colours_do_not_see_edges(
    scenes: list[np.ndarray], tmp_path: Path
) -> None:
    channels = ((16, "edges", 20), (16, "colours", 20))
    blocks = small(channels=channels, weighting="counts").fit(scenes)
    stored = stored_arrays(blocks, tmp_path)
    assert stored["centres_0"].shape == (20, TEXTURE_BINS)
    assert stored["centres_1"].shape == (20, 12)
    grey = np.repeat(np.clip(scenes[0].mean(axis=2, keepdims=True), 40, 190), 3, axis=2)
    # Adding (60, −30, −3) to a grey keeps its brightness; turning a picture keeps its colours.
    tinted = (grey.astype(np.uint8) + np.array([60, -30, -3])).astype(np.uint8)
    plain, tint = blocks.transform([grey.astype(np.uint8), tinted]).toarray()
    assert np.array_equal(plain[:20], tint[:20])
    assert not np.array_equal(plain[20:], tint[20:])
    upright, turned = blocks.transform([scenes[1], np.rot90(scenes[1])]).toarray()
    assert np.array_equal(upright[20:], turned[20:])
    assert not np.array_equal(upright[:20], turned[:20])


def test_tiny_and_large_pictures_share_a_batch(fitted: Blocks) -> None:
    rng = np.random.default_rng(0)
    shapes = [(1, 1), (3, 200), (500, 2), (300, 400)]
    odd = [rng.integers(0, 256, (*shape, 3), dtype=np.uint8) for shape in shapes]
    found = fitted.transform(odd)
    assert found.shape == (4, 110)
    assert np.isfinite(found.data).all()


def test_few_pictures_give_small_codebooks(scenes: list[np.ndarray]) -> None:
    blocks = Blocks(channels=((32, "joint", 10_000),), colours=5)
    assert blocks.fit_transform(scenes[:2]).shape == (2, 154)
    alone = Blocks(channels=((32, "joint", 10_000),)).fit_transform(scenes[:1])
    assert not alone.toarray().any()  # every visterm is in every picture: no weight, no NaN


def test_flat_pictures_can_be_learnt_from() -> None:
    flat = [np.full((40, 40, 3), c, dtype=np.uint8) for c in (0, 0, 128, 255)]
    found = small().fit_transform(flat)
    assert found.shape[0] == 4
    assert np.isfinite(found.data).all()
    assert the_same(found[[0]], found[[1]])
    assert not the_same(found[[0]], found[[2]])


def test_saved_and_loaded_blocks_give_the_same_rows(
    fitted: Blocks, pictures: list[np.ndarray], rows: csr_array, tmp_path: Path
) -> None:
    fitted.save(tmp_path / "blocks")
    loaded = Blocks.load(tmp_path / "blocks")
    assert loaded.get_params() == fitted.get_params()
    assert the_same(loaded.transform(pictures), rows)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "blocks").read_bytes()


def test_a_damaged_file_is_named(fitted: Blocks, tmp_path: Path) -> None:
    path = tmp_path / "blocks"
    fitted.save(path)
    whole = path.read_bytes()
    for damaged in (b"", whole[:-1], whole[: len(whole) // 2], whole[:5], b"\xff" + whole[1:]):
        path.write_bytes(damaged)
        with pytest.raises(BadInput, match="blocks"):
            Blocks.load(path)


def test_a_file_without_a_codebook_is_refused(fitted: Blocks, tmp_path: Path) -> None:
    path = tmp_path / "blocks"
    fitted.save(path)
    arrays = load_file(path)
    header = json.loads(path.read_bytes()[8 : 8 + int.from_bytes(path.read_bytes()[:8], "little")])
    del arrays["centres_2"]
    save_file(arrays, path, metadata=header["__metadata__"])
    with pytest.raises(BadInput, match=r"damaged, or of another version.*centres_2"):
        Blocks.load(path)


def test_parameters_are_stored_as_given_and_cloned() -> None:
    given = {
        "channels": [(20, "joint", 7)],
        "colours": 3,
        "root": False,
        "weighting": "counts",
        "max_side": 100,
        "n_jobs": 2,
        "random_state": 9,
    }
    blocks = Blocks(**given)
    assert given.items() <= blocks.get_params().items()
    assert blocks.channels is given["channels"]
    assert clone(blocks).get_params() == blocks.get_params()
    nonsense = Blocks(channels="nonsense", colours=-1)  # refused by fit, not here
    assert vars(nonsense) == nonsense.get_params()
    assert Blocks().channels is DEFAULT_CHANNELS
    assert EXTRACTORS["blocks"] is Blocks


def test_counts_by_their_name_are_those_of_the_weighting() -> None:
    named = EXTRACTORS["visterm-counts"](random_state=3)
    plain = Blocks(weighting="counts", random_state=3)
    assert {key: getattr(named, key) for key in plain.get_params()} == plain.get_params()
    assert named.name != plain.name, "a collection keeps vectors by the name"


def test_a_clone_has_learnt_nothing(fitted: Blocks, pictures: list[np.ndarray]) -> None:
    with pytest.raises(NotFitted, match="call fit first"):
        clone(fitted).transform(pictures)
    with pytest.raises(NotFitted):
        clone(fitted).save("nowhere")


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"channels": ()}, "need a list of channels, such as"),
        ({"channels": "joint"}, "need a list of channels"),
        ({"channels": (32, "joint", 10)}, r"a channel is \(side, part, size\), not 32"),
        ({"channels": [(32, "joint")]}, r"a channel is \(side, part, size\)"),
        ({"channels": [(32, "texture", 10)]}, "one of joint, edges, colours, not 'texture'"),
        ({"channels": [(31, "joint", 10)]}, "even number from 4 on, not 31"),
        ({"channels": [(2, "joint", 10)]}, "even number from 4 on"),
        ({"channels": [(32, "joint", 0)]}, "whole number from 1 on, not 0"),
        ({"channels": [(32, "joint", 10.5)]}, "whole number from 1 on"),
        ({"colours": 0}, "from 1 to 256, not 0"),
        ({"colours": 257}, "from 1 to 256"),
        ({"weighting": "bm25"}, "'counts', not 'bm25'"),
        ({"max_side": 0}, "max_side is a whole number from 1 on, not 0"),
        ({"n_jobs": 0}, "n_jobs is a whole number from 1 on"),
        ({"random_state": None}, "random_state is a whole number from 0 on, not None"),
    ],
)
def test_bad_parameters_say_what_would_be_good(
    changes: dict[str, Any], match: str, pictures: list[np.ndarray]
) -> None:
    with pytest.raises(BadInput, match=match):
        small(**changes).fit(pictures)


def test_extract_keeps_the_others_and_says_why(
    fitted: Blocks, pictures: list[np.ndarray], rows: csr_array, broken: Path
) -> None:
    mixed: list[Any] = [*pictures[:20], broken, *pictures[20:50], broken.with_name("gone")]
    heard: list[tuple[str, int, int]] = []
    found = fitted.extract(mixed, progress=lambda *said: heard.append(said))
    assert found.numbers.tolist() == [i for i in range(52) if i not in (20, 51)]
    assert the_same(found.rows, rows[:50])
    assert [(skip.number, skip.picture) for skip in found.skipped] == [
        (20, str(broken)),
        (51, str(broken.with_name("gone"))),
    ]
    assert all(skip.reason for skip in found.skipped)
    assert heard[-1] == ("extracting", 52, 52)


def test_transform_refuses_a_list_with_unreadable_pictures(
    fitted: Blocks, pictures: list[np.ndarray], broken: Path
) -> None:
    with pytest.raises(VistermError, match=r"1 of 3 .*broken\.jpg: .+; use extract to skip"):
        fitted.transform([pictures[0], broken, pictures[1]])


def test_fit_leaves_unreadable_pictures_out_and_warns_once(
    pictures: list[np.ndarray], broken: Path, rows: csr_array
) -> None:
    with pytest.warns(UserWarning, match=r"1 pictures left out.*broken\.jpg") as warned:
        found = small().fit_transform([*pictures, broken])
    assert len(warned) == 1
    assert found.shape[0] == len(pictures)


def test_nothing_readable_is_refused_and_keeps_what_was_learnt(
    pictures: list[np.ndarray], broken: Path
) -> None:
    blocks = small(channels=((16, "joint", 5),)).fit(pictures[:4])
    before = blocks.transform(pictures[:4])
    with pytest.raises(BadInput, match=r"no picture can be read; the first is .*broken\.jpg"):
        blocks.fit([broken, broken])
    with pytest.raises(BadInput, match=r"no picture can be read; the first is .*broken\.jpg"):
        blocks.extract([broken])
    with pytest.raises(BadInput, match="no pictures were given"):
        blocks.fit([])
    with pytest.raises(BadInput, match="no pictures were given"):
        blocks.transform([])
    with pytest.raises(BadInput, match="put a single one in brackets"):
        blocks.fit("tree.jpg")
    assert the_same(blocks.transform(pictures[:4]), before)


def test_an_interrupted_fit_has_learnt_nothing(pictures: list[np.ndarray]) -> None:
    def interrupt(what: str, done: int, total: int) -> None:
        if what == "counting visterms":
            raise KeyboardInterrupt

    blocks = small()
    with pytest.raises(KeyboardInterrupt):
        blocks.fit(pictures, progress=interrupt)
    with pytest.raises(NotFitted):
        blocks.transform(pictures)


def test_progress_of_fit_reaches_every_total(pictures: list[np.ndarray]) -> None:
    heard: dict[str, tuple[int, int]] = {}
    small().fit(pictures, progress=lambda what, done, total: heard.update({what: (done, total)}))
    assert heard == {
        "extracting blocks": (70, 70),
        "learning codebooks": (3, 3),
        "counting visterms": (70, 70),
    }


def test_blocks_work_in_a_pipeline_before_pamir() -> None:
    from visterm.evaluation import mean_average_precision
    from visterm.models import Pamir
    from visterm.text import Vocabulary, relevance_from_captions

    drawn = [draw_scene(2, i, (96, 64)) for i in range(160)]
    words = Vocabulary.from_captions([" ".join(scene.words) for scene in drawn], language=None)
    captions = words.counts([" ".join(scene.words) for scene in drawn])
    pixels = [scene.pixels for scene in drawn]
    channels = ((16, "joint", 200), (16, "colours", 50))
    pipeline = make_pipeline(Blocks(channels=channels), Pamir(max_iter=100_000))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = pipeline.fit(pixels[:120], captions[:120]).transform(pixels[120:])
    assert scores.shape == (40, captions.shape[1])
    asked = relevance_from_captions(captions[120:], words.idf, max_words=1)
    found = mean_average_precision(asked.queries @ scores.T, asked.pictures)
    guess = np.random.default_rng(0).random((40, captions.shape[1]))
    assert found > 1.3 * mean_average_precision(asked.queries @ guess.T, asked.pictures)
