"""Words that mean the same to somebody who looks for pictures, and the spellings of one word.

The groups are a short list of everyday English, written for visterm; in each, what people caption
with comes first.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from visterm.text.tokens import one_form

_GROUPS = """
sea ocean
beach seaside seashore sand
coast shore shoreline seashore
harbour harbor port marina haven
boat rowboat rowing-boat dinghy
ship vessel steamer
sailboat yacht sailing-boat
mountain alp peak mount summit
hill hillside hilltop
cliff precipice crag
rock boulder stone
forest wood woods woodland
jungle rainforest
tree trees
bush shrub shrubbery
meadow pasture grassland
lawn grass turf
field farmland cropland
river stream creek brook
waterfall cascade cataract falls
lake pond loch tarn
desert dune wasteland
glacier icefield
snow snowy
ice icy
fog mist haze
cloud clouds overcast
sky heaven heavens
sunset sundown dusk twilight
sunrise dawn sunup daybreak
night nighttime
sun sunshine sunny
road route
street lane avenue alley
highway motorway freeway expressway
path trail footpath track
pavement sidewalk
square plaza piazza
bridge overpass footbridge
building edifice
skyscraper high-rise tower-block
house home cottage villa bungalow
hut cabin shack shed
church chapel
cathedral minster basilica
castle fortress citadel
palace chateau
mosque minaret
temple shrine pagoda
monument memorial
statue sculpture
tower spire steeple
roof rooftop
stairs stair staircase steps
door doorway
window pane
wall walls
fence railing
garden backyard yard
park parkland
shop store
restaurant cafe diner bistro
car automobile auto motorcar
truck lorry
bus coach omnibus
train railway railroad
tram streetcar trolley
bicycle bike pushbike
motorcycle motorbike
airplane aeroplane plane aircraft jet
helicopter chopper
person human
people persons folk folks crowd
man guy gentleman bloke
woman lady
child kid toddler baby infant newborn
boy lad
girl lass
tourist traveller traveler sightseer
cyclist biker
player sportsman athlete
dog puppy hound pup doggy
cat kitten kitty
horse pony mare stallion foal
cow cattle calf
sheep lamb
pig hog piglet swine
hen chicken
rabbit bunny hare
donkey mule ass
elephant tusker
monkey ape
bird birds seagull gull pigeon
flower blossom bloom rose
plant vegetation greenery
leaf foliage
fruit fruits
food meal dish
drink beverage
cup mug
couch sofa settee
bed bunk
table desk
chair seat armchair
lamp light lantern
television tv telly
computer pc
laptop notebook
phone telephone cellphone mobile
photo photograph picture image
painting artwork
trouser trousers pants
sweater jumper pullover jersey
t-shirt tee-shirt tshirt tee
jacket coat anorak
hat cap
shoe footwear
sunglasses shades
backpack rucksack
bag handbag
suitcase luggage baggage
swimming-pool pool
football soccer
race racing
skiing ski skier
surfer surfing surfboard
ladybird ladybug
crocodile alligator
insect bug
taxi cab
fridge refrigerator
rubbish trash garbage
autumn fall
winter wintry
grey gray
movie film
ruin ruins
village hamlet
city town
skyline cityscape
landscape scenery countryside
view panorama vista
"""

_SPELLINGS = (("our", "or"), ("tre", "ter"), ("ise", "ize"), ("yse", "yze"), ("ogue", "og"))
"""Endings that British and American English write differently."""


def same_words(word: str) -> Iterator[str]:
    """Other words to try in the place of one, the likeliest first.

    >>> list(same_words("ocean")), next(same_words("colour"))
    (['sea'], 'color')
    """
    word = one_form(word)
    seen = {word}
    for form in (*_spelt(word), *_groups().get(word, ())):
        if form not in seen:
            seen.add(form)
            yield form


def _spelt(word: str) -> Iterator[str]:
    """The same word without its hyphens, and as the other side of the Atlantic writes it."""
    if "-" in word:
        yield word.replace("-", "")
    for pair in _SPELLINGS:
        for one, other in (pair, pair[::-1]):
            for tail in ("", "s"):
                if len(word) > len(one + tail) + 2 and word.endswith(one + tail):
                    yield word[: len(word) - len(one + tail)] + other + tail


@cache
def _groups() -> dict[str, tuple[str, ...]]:
    """Each word with the others of its groups; the first of a group stands for all others."""
    found: dict[str, tuple[str, ...]] = {}
    for line in _GROUPS.split("\n"):
        group = line.split()
        for word in group:
            others = tuple(other for other in group if other != word)
            found[word] = found.get(word, ()) + others
    return found
