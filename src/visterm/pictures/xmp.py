"""XMP: what photo programs keep in RDF, inside a picture or in a file beside it.

Texts, keywords (flat, and in trees as Lightroom and digiKam keep them), the people and pets that
other programs have recognised, when and where, camera, lens and rating. The XML comes from
strangers; defusedxml refuses documents that declare a type (and with it entities), so nothing is
ever expanded or fetched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from visterm.pictures.texts import tidy, values

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

Parsed = TypeVar("Parsed")

PADDING = b"\0 \t\r\n"
"""What writers fill their packets up with."""

NAMESPACES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "dc": "http://purl.org/dc/elements/1.1/",
    "lr": "http://ns.adobe.com/lightroom/1.0/",
    "digiKam": "http://www.digikam.org/ns/1.0/",
    "visterm": "urn:visterm:1.0:",
    "xmp": "http://ns.adobe.com/xap/1.0/",
    "exif": "http://ns.adobe.com/exif/1.0/",
    "exifEX": "http://cipa.jp/exif/1.0/",
    "aux": "http://ns.adobe.com/exif/1.0/aux/",
    "tiff": "http://ns.adobe.com/tiff/1.0/",
    "photoshop": "http://ns.adobe.com/photoshop/1.0/",
    "Iptc4xmpCore": "http://iptc.org/std/Iptc4xmpCore/1.0/xmlns/",
    "Iptc4xmpExt": "http://iptc.org/std/Iptc4xmpExt/2008-02-29/",
    "mwg-rs": "http://www.metadataworkinggroup.com/schemas/regions/",
    "MP": "http://ns.microsoft.com/photo/1.2/",
    "MPReg": "http://ns.microsoft.com/photo/1.2/t/Region#",
}


def _name(short: str) -> str:
    """The full name of a property: "dc:title" is "{http://purl.org/…}title"."""
    prefix, _, local = short.partition(":")
    return f"{{{NAMESPACES[prefix]}}}{local}"


_FIELDS = {
    _name(short): field
    for short, field in {
        "dc:title": "title",
        "dc:description": "description",
        "tiff:ImageDescription": "description",
        "dc:subject": "subject",
        "lr:hierarchicalSubject": "tags",
        "digiKam:TagsList": "tags",
        "Iptc4xmpExt:PersonInImage": "people",
        "mwg-rs:Regions": "people",
        "MP:RegionInfo": "people",
        "Iptc4xmpCore:Location": "place",
        "photoshop:City": "place",
        "photoshop:State": "place",
        "photoshop:Country": "place",
        "exif:DateTimeOriginal": "taken",
        "photoshop:DateCreated": "created",
        "xmp:CreateDate": "created",
        "exif:GPSLatitude": "latitude",
        "exif:GPSLongitude": "longitude",
        "tiff:Make": "make",
        "tiff:Model": "model",
        "exifEX:LensModel": "lens",
        "aux:Lens": "lens",
        "xmp:Rating": "rating",
        "visterm:words": "ours",
    }.items()
}
CAPTURE = ("taken", "created", "latitude", "longitude", "make", "model", "lens", "rating")
"""The fields that say when, where and with what; they are no captions."""
_RDF, _LI = _name("rdf:RDF"), _name("rdf:li")
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_REGIONS = {
    _name("mwg-rs:Regions"): (_name("mwg-rs:Name"), _name("mwg-rs:Type")),
    _name("MP:RegionInfo"): (_name("MPReg:PersonDisplayName"), ""),
}
"""Properties that hold regions: what they call a region's name, and its kind."""
_LIVING = ("", "face", "pet")
_INTERNAL = "_Digikam_Internal_Tags_"
_PEOPLE = "people"
"""Below which digiKam and Lightroom keep the names of people in a tree of keywords."""


class BrokenXMP(ValueError):
    """The packet is not XMP that can be read; the message says why."""


def read_xmp(packet: bytes) -> dict[str, list[str]]:
    """The values of a packet by field: ``title``, ``description``, ``subject`` (keywords), ``tags``
    (keywords in a tree, as "Places|Lisbon"), ``people``, ``place`` and those of `CAPTURE`.

    Of texts in several languages the default comes first; all distinct ones are kept. Subjects that
    visterm predicted (`visterm.pictures.sidecar_writer`) are left out. XMP may describe other
    documents, too, deeper down; theirs are not captions of this one.

    >>> read_xmp(b'''<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
    ... <r:Description xmlns:dc="http://purl.org/dc/elements/1.1/" dc:title="Sea"/></r:RDF>''')
    {'title': ['Sea']}
    """
    from defusedxml import ElementTree

    texts: dict[str, list[tuple[bool, str]]] = {}
    for rdf in parsed(packet, ElementTree.fromstring).iter(_RDF):
        for description in rdf.findall(_name("rdf:Description")):
            for name, text in description.attrib.items():
                if name in _FIELDS:
                    texts.setdefault(_FIELDS[name], []).append((False, text))
            for property_ in description:
                if property_.tag in _FIELDS:
                    texts.setdefault(_FIELDS[property_.tag], []).extend(_texts(property_))
    kept: dict[str, list[str]] = {}
    for field, entries in texts.items():
        ordered = [text for _, text in sorted(entries, key=lambda pair: not pair[0])]
        # "samsung" is no caption, but a camera.
        kept[field] = [*map(tidy, ordered)] if field in CAPTURE else values(ordered)
    ours = set(kept.pop("ours", []))
    kept["subject"] = [text for text in kept.get("subject", []) if text not in ours]
    kept["tags"] = [tag for tag in kept.get("tags", []) if not tag.startswith(_INTERNAL)]
    named = [tag.split("|") for tag in kept["tags"]]
    people = [path[-1] for path in named if len(path) > 1 and path[0].lower() == _PEOPLE]
    kept["people"] = values([*kept.get("people", []), *people])
    return {field: entries for field, entries in kept.items() if any(entries)}


def parsed(packet: bytes, parse: Callable[..., Parsed]) -> Parsed:
    """A packet as a parser of defusedxml gives it."""
    from xml.etree.ElementTree import ParseError
    from xml.parsers.expat import ExpatError

    from defusedxml import DefusedXmlException

    is_wide = packet.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in packet[:4]
    try:  # in UTF-16, zeros belong to the text and are no padding
        return parse(packet if is_wide else packet.strip(PADDING), forbid_dtd=True)
    except DefusedXmlException:
        raise BrokenXMP("it declares a document type") from None
    except (ParseError, ExpatError, ValueError, LookupError, RecursionError) as problem:
        raise BrokenXMP(f"its XMP cannot be read ({problem})") from None


def _texts(property_: Element) -> Iterator[tuple[bool, str]]:
    """The entries of a property's list, or its text, each with whether it is the default."""
    if property_.tag in _REGIONS:
        yield from ((False, name) for name in _region_names(property_, *_REGIONS[property_.tag]))
        return
    for entry in list(property_.iter(_LI)) or [property_]:
        text = "".join(entry.itertext())
        if property_.tag == _name("digiKam:TagsList"):
            text = text.replace("/", "|")
        yield entry.get(_LANGUAGE) == "x-default", text


def _region_names(property_: Element, name: str, kind: str) -> Iterator[str]:
    """Names of the faces and pets that were marked in a picture, written either way of RDF's."""
    for region in property_.iter():
        called = region.get(name) or region.findtext(name)
        what = (region.get(kind) or region.findtext(kind) or "") if kind else ""
        if called and what.lower() in _LIVING:
            yield called
