"""Search results in a notebook: pictures that need no file, and what should be said about them."""

from __future__ import annotations

import re

from visterm.collection import Collection, SearchResponse, SearchResult


def test_a_notebook_shows_the_pictures_found(learnt: Collection):
    response = learnt.search("sky", k=3)
    shown = response._repr_html_()
    assert len(re.findall(r'<img src="data:image/jpeg;base64,', shown)) == 3
    for result in response.results:
        assert f"{result.path.name}<br>{result.score:.2f}" in shown


def test_a_notebook_says_what_was_replaced_and_what_is_unknown(tmp_path):
    gone = SearchResult(1, 0.5, tmp_path / "<gone>.jpg", probability=0.25)
    shown = SearchResponse([gone], unknown={"xyzzy": []}, replaced={"ocean": ["sea"]})._repr_html_()
    assert "&#x27;ocean&#x27; is taken for sea" in shown
    assert "&#x27;xyzzy&#x27; is not known" in shown
    assert "&lt;gone&gt;.jpg<br>0.50, 25 %" in shown
    assert "<img" not in shown


def test_a_notebook_says_that_nothing_was_found():
    assert SearchResponse([])._repr_html_() == "<p>no picture was found</p>"
