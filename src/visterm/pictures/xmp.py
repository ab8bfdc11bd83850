"""XMP: titles, descriptions and subjects in RDF, inside a picture or in a file beside it.

The XML comes from strangers. Documents that declare a type (and with it entities) are refused as
soon as the declaration begins, so nothing is ever expanded or fetched.
"""

from __future__ import annotations

from xml.parsers import expat

from visterm.pictures.values import values

MAX_DEPTH = 100

_DC = "http://purl.org/dc/elements/1.1/ "
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns# "
_LANGUAGE = "http://www.w3.org/XML/1998/namespace lang"
_FIELDS = {_DC + field: field for field in ("title", "description", "subject")}


class BrokenXMP(ValueError):
    """The packet is not XMP that can be read; the message says why."""


def read_xmp(packet: bytes) -> dict[str, list[str]]:
    """The values of ``dc:title``, ``dc:description`` and ``dc:subject`` of a packet.

    Of texts in several languages the default comes first; all distinct ones are kept.

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
    parser.StartDoctypeDeclHandler = reader.refuse_doctype
    parser.EntityDeclHandler = reader.refuse_doctype
    try:
        parser.Parse(_without_padding(packet), True)
    except (expat.ExpatError, ValueError, LookupError) as problem:
        raise BrokenXMP(f"its XMP cannot be read ({problem})") from None
    return reader.found()


def _without_padding(packet: bytes) -> bytes:
    """Writers fill their packets up with zeros, which in UTF-16 belong to the text."""
    wide = packet.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in packet[:4]
    return packet if wide else packet.strip(b"\0 \t\r\n")


class _Reader:
    """Follows the parser down to the properties that the document says about its own picture."""

    def __init__(self) -> None:
        self._path: list[str] = []
        self._field: str | None = None
        self._language = ""
        self._text: list[str] = []
        self._items = 0
        self._texts: dict[str, list[tuple[bool, str]]] = {}

    def start(self, name: str, attributes: dict[str, str]) -> None:
        # XMP may describe other documents, too, deeper down; theirs are not captions of this one.
        of_this_picture = self._path[-2:] == [_RDF + "RDF", _RDF + "Description"]
        self._path.append(name)
        if len(self._path) > MAX_DEPTH:
            raise BrokenXMP("too many levels")
        if self._path[-2:] == [_RDF + "RDF", _RDF + "Description"]:
            for attribute, text in attributes.items():
                if attribute in _FIELDS:
                    self._keep(_FIELDS[attribute], "", text)
        elif of_this_picture and name in _FIELDS:
            self._field, self._items, self._text = _FIELDS[name], 0, []
        elif self._field and name == _RDF + "li":
            self._language, self._text = attributes.get(_LANGUAGE, ""), []

    def characters(self, text: str) -> None:
        if self._field:
            self._text.append(text)

    def end(self, name: str) -> None:
        self._path.pop()
        if self._field is None:
            return
        if name == _RDF + "li":
            self._keep(self._field, self._language, "".join(self._text))
            self._items += 1
            self._text = []
        elif name == _DC + self._field:
            if not self._items:
                self._keep(self._field, "", "".join(self._text))
            self._field = None

    def refuse_doctype(self, *_: object) -> None:
        raise BrokenXMP("it declares a document type")

    def found(self) -> dict[str, list[str]]:
        kept = {}
        for field, texts in self._texts.items():
            if ordered := values(text for _, text in sorted(texts, key=lambda pair: not pair[0])):
                kept[field] = ordered
        return kept

    def _keep(self, field: str, language: str, text: str) -> None:
        self._texts.setdefault(field, []).append((language == "x-default", text))
