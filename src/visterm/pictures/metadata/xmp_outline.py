"""Where the parts of an XMP packet lie, byte by byte, so that some can change and the rest stay."""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

from visterm.pictures.metadata.texts import tidy
from visterm.pictures.metadata.xmp import MAX_DEPTH, RDF, BrokenXMP, refuse_doctype

_SEPARATOR = "\n"  # no name holds one


@dataclass
class Span:
    """Bytes from ``start`` up to ``stop``."""

    start: int
    stop: int = -1


@dataclass
class Item(Span):
    """One entry of a list, and its text."""

    text: str = ""


@dataclass
class Property(Span):
    """A property of the picture: its name, the entries of its list, and where more may go."""

    name: str = ""
    items: list[Item] = field(default_factory=list)
    list_stop: int = -1
    """Where the closing tag of its list begins; -1 where it has none."""
    prefix: str = ""
    """What stands before the names of its entries, as ``rdf:``."""
    plain: bool = False
    """Whether it holds text and no list."""


@dataclass
class XmpDescription(Span):
    """What one ``rdf:Description`` says about the picture itself."""

    about: str = ""
    properties: list[Property] = field(default_factory=list)
    attributes: list[str] = field(default_factory=list)
    """Names of the properties written in its tag."""


@dataclass
class Outline:
    """The descriptions of a packet, and where the closing tag of ``rdf:RDF`` begins."""

    descriptions: list[XmpDescription]
    stop: int

    def named(self, name: str) -> list[Property]:
        """The properties of a name, in whichever description they stand."""
        return [one for part in self.descriptions for one in part.properties if one.name == name]


def outline(packet: bytes) -> Outline:
    """Where things lie in a packet of a byte encoding that holds ASCII, such as UTF-8.

    Raises `BrokenXMP` where there is nothing that could be added to.
    """
    reader = _Reader(packet)
    parser = expat.ParserCreate(namespace_separator=_SEPARATOR)
    parser.namespace_prefixes = True
    parser.buffer_text = True
    parser.StartElementHandler = lambda name, found: reader.start(
        name, found, parser.CurrentByteIndex
    )
    parser.EndElementHandler = lambda name: reader.end(name, parser.CurrentByteIndex)
    parser.CharacterDataHandler = reader.characters
    parser.StartDoctypeDeclHandler = refuse_doctype
    parser.EntityDeclHandler = refuse_doctype
    try:
        parser.Parse(packet, True)
    except (expat.ExpatError, ValueError, LookupError) as problem:
        raise BrokenXMP(f"its XMP cannot be read ({problem})") from None
    if reader.stop < 0:
        raise BrokenXMP("its XMP has no rdf:RDF to add to")
    return Outline(reader.descriptions, reader.stop)


class _Reader:
    def __init__(self, packet: bytes) -> None:
        self.packet = packet
        self.descriptions: list[XmpDescription] = []
        self.stop = -1
        self._path: list[str] = []
        self._about = 0  # the depth of the description being read; 0 outside
        self._starts: list[int] = []
        self._text: list[str] = []

    def start(self, full: str, attributes: dict[str, str], at: int) -> None:
        name, prefix = _parted(full)
        self._path.append(name)
        self._starts.append(at)
        depth = len(self._path)
        if depth > MAX_DEPTH:
            raise BrokenXMP("too many levels")
        if name == RDF + "Description" and self._path[-2:-1] == [RDF + "RDF"] and not self._about:
            found = {_parted(key)[0]: value for key, value in attributes.items()}
            about = found.pop(RDF + "about", "")
            self.descriptions.append(XmpDescription(at, about=about, attributes=list(found)))
            self._about = depth
        elif self._about and depth == self._about + 1:
            self.descriptions[-1].properties.append(Property(at, name=name))
            self._text = []
        elif self._about and depth == self._about + 3 and name == RDF + "li":
            self._property.items.append(Item(at))
            self._property.prefix = prefix
            self._text = []
        elif self._about and depth == self._about + 2:
            self._property.prefix = prefix

    def characters(self, text: str) -> None:
        self._text.append(text)

    def end(self, full: str, at: int) -> None:
        name, depth, begun = self._path.pop(), len(self._path) + 1, self._starts.pop()
        opened = self._after_tag(begun)
        empty = self.packet[opened - 2 : opened] == b"/>"  # it has no closing tag to be at
        stop = opened if empty else self._after_tag(at)
        if depth == self._about:
            self.descriptions[-1].stop = stop
            self._about = 0
        elif self._about and depth == self._about + 1:
            found = self._property
            found.stop = stop
            found.plain = not found.items and bool("".join(self._text).strip())
        elif self._about and depth == self._about + 2 and not empty:
            if name in (RDF + "Bag", RDF + "Seq", RDF + "Alt"):
                self._property.list_stop = at
        elif self._about and depth == self._about + 3 and name == RDF + "li":
            item = self._property.items[-1]
            item.stop, item.text = stop, tidy("".join(self._text))
        elif name == RDF + "RDF" and not empty:
            self.stop = at

    @property
    def _property(self) -> Property:
        return self.descriptions[-1].properties[-1]

    def _after_tag(self, at: int) -> int:
        """Where the tag ends that begins here; a ``>`` inside quotes does not end it."""
        quote = 0
        for place in range(at, len(self.packet)):
            byte = self.packet[place]
            if quote:
                quote = 0 if byte == quote else quote
            elif byte in b"\"'":
                quote = byte
            elif byte == ord(">"):
                return place + 1
        return len(self.packet)


def _parted(full: str) -> tuple[str, str]:
    """Expat's "uri name prefix" as the name that `xmp` knows, and "prefix:"."""
    uri, _, rest = full.partition(_SEPARATOR)
    if not rest:
        return uri, ""
    name, _, prefix = rest.partition(_SEPARATOR)
    return f"{uri} {name}", f"{prefix}:" if prefix else ""
