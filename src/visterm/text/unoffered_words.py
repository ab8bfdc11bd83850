"""Words that are answered when somebody types them, and that are offered to nobody.

What people are by skin, hair, age, sex or origin is not for a model to say of strangers: no
description, completion or list of likely words holds such a word, unless captions of the collection
use it.
"""

from __future__ import annotations

_WORDS = """
dark-skinned light-skinned dark-haired fair-haired blond blonde bald brunette bearded native natives
indigenous local locals peruvian bolivian american australian korean brazilian chinese japanese
indian african european german english asian mexican spanish french british italian russian arab
hispanic male female man men woman women lady ladies gentleman guy boy boys girl girls child
children kid kids baby toddler infant teenager teenagers teenage adult adults elderly older younger
young old fat thin
"""

UNOFFERED = frozenset(_WORDS.split())
