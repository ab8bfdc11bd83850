"""One hundred words that speak about a picture, and name nothing that could be seen in one.

Written down before any method was tried that decides which words pictures can show, so that none
could be made for the list. Words that may also name things (camera, frame, portrait, landscape,
top, corner) are not in it.
"""

from __future__ import annotations

_WORDS = """
photo photograph unfocused overexposed picture image snapshot shot view scene
show shown seen visible reveal depict convey portray illustrate represent
capture feature display describe description caption title untitled entitled taken
appear apparent evoke emphasize seem highlight suggest example indicate imply
probably possibly perhaps presumably maybe likely obviously evidently unclear unknown
foreground background left right centre center middle front side left-hand
right-hand upper lower position perspective angle viewpoint viewer observer close-up
closeup focus unrecognizable blurred blurry exposure composition panorama panoramic overview
detail invisible zoom distance contrast impression atmosphere mood moment setting
context subject object unidentified noticeable recognizable discernible typical various several
"""
TALK_WORDS = tuple(_WORDS.split())
