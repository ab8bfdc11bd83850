"""Words of English captions that say nothing about what is to be seen."""

from __future__ import annotations

_WORDS = """
a about above across after against all along also am among an and another any are around as at
away be been before behind being below beneath beside between both but by can could did do does
down during each every few for from had has have he her here hers him his how i if in inside
into is it its itself just many me more most much my near no nor not of off on onto or other
our out outside over own s same she should so some such t than that the their them then there
these they this those through to too toward towards under until up upon us very was we were
what when where which while who whom whose will with within without would you your
"""
STOP_WORDS = frozenset(_WORDS.split())

_TALK = """
photo photograph photography picture image snapshot shot close-up closeup scene setting view
overview panorama foreground background left right left-hand right-hand centre center middle front
side area activity focus capture
"""
PICTURE_TALK = frozenset(_TALK.split())
"""Words about a picture itself and about places in it. Pictures of some kinds hold them more often,
a *view* is mostly a landscape, so that looking at pictures cannot tell them from what is seen: they
can be searched for, and are never said of a picture."""
