"""Features of one's own: a function's rows, given vectors, and what is said where both are gone."""

from __future__ import annotations

import numpy as np
import pytest

from visterm.datasets import draw_scene, draw_scenes
from visterm.errors import BadInput, NotFitted
from visterm.features import OwnFeatures, parse_features
from visterm.features.own_features import use_function, use_vectors


def mean_colour(pictures):
    return [pixels.mean(axis=(0, 1)) for pixels in pictures]


@pytest.fixture
def scenes():
    return [draw_scene(0, number, (48, 32)).pixels for number in range(3)]


def test_rows_are_what_the_function_gives(scenes):
    features = OwnFeatures(use_function(mean_colour)).fit(scenes)
    rows = features.transform(scenes)
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows, np.float32(mean_colour(scenes)))
    assert features.width_ == 3


def test_a_label_can_be_written_and_names_the_key():
    features = parse_features("own:mean_colour", n_jobs=4)
    assert features.key == "own-1(label=mean_colour)"
    assert features.n_jobs == 1  # other processes do not know the function


def test_what_was_fitted_is_kept_without_the_function(tmp_path, scenes):
    OwnFeatures(use_function(mean_colour)).fit(scenes).save(tmp_path / "kept")
    kept = OwnFeatures.load(tmp_path / "kept")
    assert (kept.label, kept.width_, kept.ready) == ("mean_colour", 3, True)
    assert not OwnFeatures("never_given").ready


def test_a_later_function_of_the_same_name_takes_its_place(scenes):
    features = OwnFeatures(use_function(mean_colour, "colours")).fit(scenes)
    use_function(lambda pictures: np.ones((len(pictures), 3)), "colours")
    assert features.transform(scenes).tolist() == [[1, 1, 1]] * 3
    use_function(lambda pictures: np.ones((len(pictures), 4)), "colours")
    with pytest.raises(BadInput, match="colours gives 4 numbers a picture, but it gave 3"):
        features.transform(scenes)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda pictures: np.ones(3),
        lambda pictures: np.ones((len(pictures) + 1, 3)),
        lambda pictures: np.full((len(pictures), 3), np.nan),
    ],
    ids=["no rows", "too many", "not a number"],
)
def test_a_function_that_gives_no_rows_is_refused(wrong, scenes):
    with pytest.raises(BadInput, match="must give one row of finite numbers"):
        OwnFeatures(use_function(wrong, "wrong")).fit(scenes)


def test_a_function_without_a_name_is_refused():
    with pytest.raises(BadInput, match="'<lambda>' is no name for features"):
        use_function(lambda pictures: np.ones((len(pictures), 1)))


def test_unreadable_pictures_are_passed_over_in_fitting(tmp_path, scenes):
    (tmp_path / "broken.jpg").write_bytes(b"no picture")
    features = OwnFeatures(use_function(mean_colour))
    assert features.fit([tmp_path / "broken.jpg", *scenes]).width_ == 3
    with pytest.raises(BadInput, match="no picture can be read"):
        OwnFeatures(use_function(mean_colour)).fit([tmp_path / "broken.jpg"])


def test_given_vectors_describe_their_files_unopened(tmp_path):
    paths = [str(tmp_path / f"{number}.jpg") for number in range(3)]  # there are no such files
    with use_vectors("mine", {paths[0]: np.float32([1, 2]), paths[2]: np.float32([3, 4])}):
        features = OwnFeatures("mine").fit()
        first, reason, last = features.given_rows(paths)
    assert features.width_ == 2
    assert (first.tolist(), last.tolist()) == ([1, 2], [3, 4])
    assert "of your own, 'mine'" in reason


def test_without_function_and_vectors_every_file_has_the_reason(tmp_path):
    paths = [str(path) for path, _ in draw_scenes(tmp_path, 2, size=(48, 32))]
    features = OwnFeatures("gone")
    features.width_ = 3
    assert set(features.given_rows(paths)) == {
        "pictures here have features of your own, 'gone'; add new ones in Python, with "
        "add(features=gone) or with vectors=…, features='gone'"
    }
    with pytest.raises(BadInput, match=r"of your own, .gone.; .*add\(features=gone\)"):
        features.extract(paths)


def test_nothing_is_described_before_fitting(scenes):
    with pytest.raises(NotFitted):
        OwnFeatures(use_function(mean_colour)).transform(scenes)
