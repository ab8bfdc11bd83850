"""Errors: what catches what, and what they keep on their way between processes."""

from __future__ import annotations

import pickle

import pytest

from visterm.errors import BadInput, MissingExtra, NotFitted, UnreadablePicture, VistermError


@pytest.mark.parametrize("error", [BadInput, MissingExtra, NotFitted, UnreadablePicture])
def test_whatever_visterm_can_explain_is_caught_by_one_name(error):
    assert issubclass(error, VistermError)


def test_bad_input_is_a_value_error_to_those_who_know_only_python():
    with pytest.raises(ValueError, match="3 picture vectors"):
        raise BadInput("3 picture vectors but 2 captions")


def test_an_unreadable_picture_says_where_and_why():
    error = UnreadablePicture("holiday/IMG_1.jpg", "the file ends in the middle")
    assert (error.where, error.reason) == ("holiday/IMG_1.jpg", "the file ends in the middle")
    assert str(error) == "holiday/IMG_1.jpg: the file ends in the middle"


def test_an_unreadable_picture_crosses_to_another_process_whole():
    again = pickle.loads(pickle.dumps(UnreadablePicture("a.png", "empty")))
    assert type(again) is UnreadablePicture
    assert (again.where, again.reason, str(again)) == ("a.png", "empty", "a.png: empty")
