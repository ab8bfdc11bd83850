"""Words that are answered when somebody types them, and that are offered to nobody.

What people are by skin, hair, age, sex or origin is not for a model to say of strangers, and
numbers, places in the picture and filling words are true of many pictures and worth saying of none:
no description, completion or list of likely words holds such a word, unless captions of the
collection use it.

Words about a picture itself, and about places in it, are said of no picture even then, nor are
those by which a language joins others. Pictures of some kinds hold them more often, a *view* is
mostly a landscape, so that looking at pictures cannot tell them from what is seen. They can be
searched for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from visterm.text.tokens import STOP_WORDS, stem, tokens

_PEOPLE = """
dark-skinned light-skinned dark-haired fair-haired blond blonde bald brunette bearded native natives
indigenous local locals peruvian bolivian american australian korean brazilian chinese japanese
indian african european german english asian mexican spanish french british italian russian arab
austrian turkish hispanic male female man men woman women lady ladies gentleman guy boy boys girl
girls child children kid kids baby toddler infant teenager teenagers teenage adult adults elderly
older younger young old fat thin babies toddlers infants newborn gentlemen teen teens youth youths
senior seniors pensioner pensioners grandmother grandfather grandma grandpa granny lad lass bloke
latino latina caucasian vietnamese thai dutch polish swiss portuguese greek swedish danish canadian
"""
_FILLING = """
one two three four five six seven eight nine ten eleven twelve dozen several single double couple
left right middle centre center top bottom front back side corner edge level line round area space
lot bit part kind type row background foreground next further behind underneath opposite far near
view picture photo image shot scene close-up made taken taking different same various distant
slightly partly directly somewhat very quite almost only even still together second first closed big
large small smaller little long short huge enormous giant full empty main typical similar looking
seen wearing holding having standing surrounded covered leading supports showing getting visible
hanging way place life body country name information formation distinctive salient like shape
natural special bizarre well clear plain deep low thick hard open broken golden spare sponsor gear
safety zone pile thunderous structure waiting setting construction new good nice beautiful modern
ancient traditional human followed splendid going making extremely stuff something larger arranged
third absolutely giving either things pretty changing rest laid upper numerous thousands starting
putting raising return outlines number note control lap check-in check finish step
"""

_TALK = """
photo photograph photography picture image snapshot shot close-up closeup scene setting view viewer
observer overview panorama foreground background left right left-hand right-hand centre center
middle front side area activity focus capture
"""
_CLOSED = """
although amid amidst amongst anybody anyone anything anywhere apart atop because besides beyond
cannot concerning despite either else enough everybody everyone everything everywhere except hence
however instead less like might must myself neither nevertheless nobody none nothing nowhere ought
ours ourselves per perhaps regarding several shall since somebody somehow someone something
somewhere though throughout till together unless unlike various versus via whatever whenever whereas
wherever whether whichever whoever why yet yours yourself
"""
_BESIDE, _LEAST = 2 / 3, 5
"""A word is about pictures if it stands beside such a word so often, of so many times at least."""

PEOPLE = frozenset(_PEOPLE.split())
FILLING = frozenset(_FILLING.split())
UNOFFERED = PEOPLE | FILLING
PICTURE_TALK = frozenset(_TALK.split())
CLOSED_CLASSES = frozenset(_CLOSED.split())
"""English prepositions, determiners, pronouns, conjunctions and auxiliaries that are no stop words:
what joins other words cannot be seen."""


def is_unoffered(word: str) -> bool:
    """Whether a word, or a name of several words of which the last says what it is, is such a one.

    >>> is_unoffered("man"), is_unoffered("old man"), is_unoffered("old town")
    (True, True, False)
    """
    return word in UNOFFERED or word.rpartition(" ")[2] in PEOPLE


def picture_talk(captions: Iterable[str]) -> frozenset[str]:
    """Stems of the words that are about pictures where somebody writes like this.

    These are `PICTURE_TALK`, `CLOSED_CLASSES`, and words that mostly stand right beside a word of
    `PICTURE_TALK`: a *panoramic view* is a way to take a picture, as is an *aerial* one.

    >>> found = picture_talk(["a panoramic view of a tower", "a tower on the left side"] * 5)
    >>> stem("panoramic") in found, stem("tower") in found
    (True, False)
    """
    known = {stem(word) for word in PICTURE_TALK}
    times, beside = Counter[str](), Counter[str]()
    for caption in captions:
        words = [stem(token) for token in tokens(caption)]
        for place, word in enumerate(words):
            times[word] += 1
            beside[word] += not known.isdisjoint(words[max(place - 1, 0) : place + 2])
    company = {
        word
        for word, count in times.items()
        if count >= _LEAST and beside[word] > _BESIDE * count and word not in STOP_WORDS
    }
    return frozenset(known | company | {stem(word) for word in CLOSED_CLASSES})
