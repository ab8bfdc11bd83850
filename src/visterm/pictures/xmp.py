"""XMP: titles, descriptions and subjects in RDF, inside a picture or in a file beside it.

The XML comes from strangers; defusedxml refuses documents that declare a type (and with it
entities), so nothing is ever expanded or fetched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from visterm.pictures.texts import values

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

PADDING = b"\0 \t\r\n"
"""What writers fill their packets up with."""

DC = "{http://purl.org/dc/elements/1.1/}"
RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
VISTERM = "{urn:visterm:1.0:}"
OURS = VISTERM + "words"
"""Names the keywords of a packet that visterm wrote: they are no words of a person."""
NO_TYPES = "it declares a document type"
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_EXIF = "{http://ns.adobe.com/exif/1.0/}"
_PHOTOSHOP = "{http://ns.adobe.com/photoshop/1.0/}"
_FIELDS = {
    **{DC + field: field for field in ("title", "description", "subject")},
    OURS: OURS,
    _EXIF + "DateTimeOriginal": "taken",
    _PHOTOSHOP + "DateCreated": "created",
    "{http://ns.adobe.com/xap/1.0/}CreateDate": "created",
    _EXIF + "GPSLatitude": "latitude",
    _EXIF + "GPSLongitude": "longitude",
    "{http://iptc.org/std/Iptc4xmpCore/1.0/xmlns/}Location": "place",
    **{_PHOTOSHOP + field: "place" for field in ("City", "State", "Country")},
}
CAPTURE = ("taken", "created", "latitude", "longitude")
"""The fields that say when and where; they are no captions."""


class BrokenXMP(ValueError):
    """The packet is not XMP that can be read; the message says why."""


def read_xmp(packet: bytes) -> dict[str, list[str]]:
    """The values of ``dc:title``, ``dc:description`` and ``dc:subject`` of a packet, names of
    places as ``place``, and when and where the picture was taken (`CAPTURE`).

    Of texts in several languages the default comes first; all distinct ones are kept. Subjects that
    visterm wrote itself (`visterm.pictures.sidecar_writer`) are left out. XMP may describe other
    documents, too, deeper down; theirs are not captions of this one.

    >>> read_xmp(b'''<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
    ... <r:Description xmlns:dc="http://purl.org/dc/elements/1.1/" dc:title="Sea"/></r:RDF>''')
    {'title': ['Sea']}
    """
    texts: dict[str, list[tuple[bool, str]]] = {}
    for rdf in _parsed(packet).iter(RDF + "RDF"):
        for description in rdf.findall(RDF + "Description"):
            for name, text in description.attrib.items():
                if name in _FIELDS:
                    texts.setdefault(_FIELDS[name], []).append((False, text))
            for property_ in description:
                if property_.tag in _FIELDS:
                    texts.setdefault(_FIELDS[property_.tag], []).extend(_texts(property_))
    kept = {}
    for field, entries in texts.items():
        if ordered := values(text for _, text in sorted(entries, key=lambda pair: not pair[0])):
            kept[field] = ordered
    ours = set(kept.pop(OURS, []))
    if "subject" in kept:
        kept["subject"] = [text for text in kept["subject"] if text not in ours]
    return {field: entries for field, entries in kept.items() if entries}


def _parsed(packet: bytes) -> Element:
    from xml.etree.ElementTree import ParseError

    from defusedxml import DefusedXmlException, ElementTree

    try:
        data = packet if is_wide(packet) else packet.strip(PADDING)
        return ElementTree.fromstring(data, forbid_dtd=True)
    except DefusedXmlException:
        raise BrokenXMP(NO_TYPES) from None
    except (ParseError, ValueError, LookupError) as problem:
        raise BrokenXMP(f"its XMP cannot be read ({problem})") from None


def _texts(said: Element) -> list[tuple[bool, str]]:
    """The entries of a property's list, or its text, each with whether it is the default."""
    entries = list(said.iter(RDF + "li"))
    return [
        (entry.get(_LANGUAGE) == "x-default", "".join(entry.itertext()))
        for entry in entries or [said]
    ]


def is_wide(packet: bytes) -> bool:
    """Whether it is UTF-16 or wider, where zeros belong to the text and are no padding."""
    return packet.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in packet[:4]
