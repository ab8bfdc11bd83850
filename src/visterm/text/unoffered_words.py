"""Words that are answered when somebody types them, and that are offered to nobody.

What people are by skin, hair, age, sex or origin is not for a model to say of strangers, and
numbers, places in the picture and filling words are true of many pictures and worth saying of none:
no description, completion or list of likely words holds such a word, unless captions of the
collection use it.
"""

from __future__ import annotations

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

PEOPLE = frozenset(_PEOPLE.split())
FILLING = frozenset(_FILLING.split())
UNOFFERED = PEOPLE | FILLING


def is_unoffered(word: str) -> bool:
    """Whether a word, or a name of several words of which the last says what it is, is such a one.

    >>> is_unoffered("man"), is_unoffered("old man"), is_unoffered("old town")
    (True, True, False)
    """
    return word in UNOFFERED or word.rpartition(" ")[2] in PEOPLE
