"""XMP: titles, descriptions and subjects in RDF, inside a picture or in a file beside it.

The XML comes from strangers. Documents that declare a type (and with it entities) are refused as
soon as the declaration begins, so nothing is ever expanded or fetched.
"""

from __future__ import annotations

from xml.parsers import expat

from visterm.pictures.metadata.texts import values

MAX_DEPTH = 100
PADDING = b"\0 \t\r\n"
"""What writers fill their packets up with."""

DC = "http://purl.org/dc/elements/1.1/ "
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns# "
VISTERM = "urn:visterm:1.0: "
OURS = VISTERM + "words"
"""Names the keywords of a packet that visterm wrote: they are no words of a person."""
_LANGUAGE = "http://www.w3.org/XML/1998/namespace lang"
_EXIF = "http://ns.adobe.com/exif/1.0/ "
_PHOTOSHOP = "http://ns.adobe.com/photoshop/1.0/ "
_FIELDS = {
    **{DC + field: field for field in ("title", "description", "subject")},
    OURS: OURS,
    _EXIF + "DateTimeOriginal": "taken",
    _PHOTOSHOP + "DateCreated": "created",
    "http://ns.adobe.com/xap/1.0/ CreateDate": "created",
    _EXIF + "GPSLatitude": "latitude",
    _EXIF + "GPSLongitude": "longitude",
    "http://iptc.org/std/Iptc4xmpCore/1.0/xmlns/ Location": "place",
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
    visterm wrote itself (`visterm.pictures.metadata.xmp_writer`) are left out.

    >>> read_xmp(b'''<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
    ... <r:Description xmlns:dc="http://purl.org/dc/elements/1.1/" dc:title="Sea"/></r:RDF>''')
    {'title': ['Sea']}
    """
    reader = _Reader()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.characters
    parser.StartDoctypeDeclHandler = refuse_doctype
    parser.EntityDeclHandler = refuse_doctype
    try:
        parser.Parse(packet if is_wide(packet) else packet.strip(PADDING), True)
    except (expat.ExpatError, ValueError, LookupError) as problem:
        raise BrokenXMP(f"its XMP cannot be read ({problem})") from None
    return reader.found()


def is_wide(packet: bytes) -> bool:
    """Whether it is UTF-16 or wider, where zeros belong to the text and are no padding."""
    return packet.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in packet[:4]


def refuse_doctype(*_: object) -> None:
    """For a parser that meets a document type."""
    raise BrokenXMP("it declares a document type")


class _Reader:
    """Follows the parser down to the properties that the document says about its own picture."""

    def __init__(self) -> None:
        self._path: list[str] = []
        self._field: str | None = None
        self._named = ""
        self._language = ""
        self._text: list[str] = []
        self._items = 0
        self._texts: dict[str, list[tuple[bool, str]]] = {}

    def start(self, name: str, attributes: dict[str, str]) -> None:
        # XMP may describe other documents, too, deeper down; theirs are not captions of this one.
        of_this_picture = self._path[-2:] == [RDF + "RDF", RDF + "Description"]
        self._path.append(name)
        if len(self._path) > MAX_DEPTH:
            raise BrokenXMP("too many levels")
        if self._path[-2:] == [RDF + "RDF", RDF + "Description"]:
            for attribute, text in attributes.items():
                if attribute in _FIELDS:
                    self._keep(_FIELDS[attribute], "", text)
        elif of_this_picture and name in _FIELDS:
            self._field, self._named, self._items, self._text = _FIELDS[name], name, 0, []
        elif self._field and name == RDF + "li":
            self._language, self._text = attributes.get(_LANGUAGE, ""), []

    def characters(self, text: str) -> None:
        if self._field:
            self._text.append(text)

    def end(self, name: str) -> None:
        self._path.pop()
        if self._field is None:
            return
        if name == RDF + "li":
            self._keep(self._field, self._language, "".join(self._text))
            self._items += 1
            self._text = []
        elif name == self._named:
            if not self._items:
                self._keep(self._field, "", "".join(self._text))
            self._field = None

    def found(self) -> dict[str, list[str]]:
        kept = {}
        for field, texts in self._texts.items():
            if ordered := values(text for _, text in sorted(texts, key=lambda pair: not pair[0])):
                kept[field] = ordered
        ours = set(kept.pop(OURS, []))
        if "subject" in kept:
            kept["subject"] = [text for text in kept["subject"] if text not in ours]
        return {field: texts for field, texts in kept.items() if texts}

    def _keep(self, field: str, language: str, text: str) -> None:
        self._texts.setdefault(field, []).append((language == "x-default", text))
