"""Keywords written beside a picture, into the sidecar it has or a new ``photo.jpg.xmp``.

What a person wrote stays, byte by byte. Words go where every program looks, into ``dc:subject``,
and once more into ``visterm:words``, the list by which visterm knows its own: it takes them out
before it writes others, and never reads them back as the words of a person. A word of ours that
somebody deleted from ``dc:subject`` is kept in ``visterm:refused`` and not written again. Captions
of other pictures that are likely to fit stand in ``visterm:nearest``, where no program shows them
as being about this picture.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from visterm.errors import VistermError
from visterm.files import write_whole
from visterm.pictures.formats import Refused
from visterm.pictures.metadata import MAX_XMP, bytes_of, sidecars_of
from visterm.pictures.sandbox import captions_of
from visterm.pictures.texts import tidy, values
from visterm.pictures.xmp import (
    DC,
    NO_TYPES,
    OURS,
    PADDING,
    RDF,
    VISTERM,
    BrokenXMP,
    is_wide,
    read_xmp,
)

MAX_DEPTH = 100
_SUBJECT = DC + "subject"
_REFUSED = VISTERM + "refused"
_EMPTY = b"""<?xpacket begin='\xef\xbb\xbf' id='W5M0MpCehiHzreSzNTczkc9d'?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
 </rdf:RDF>
</x:xmpmeta>
<?xpacket end='w'?>
"""

_LISTS = tuple(RDF + kind for kind in ("Bag", "Seq", "Alt"))
_TAG = re.compile(rb"""(?:[^"'>]|"[^"]*"|'[^']*')*>""")
_PREFIX = re.compile(rb"<([^\s/>:]+:)?")

Edit = tuple[int, int, bytes]
"""Bytes from here to there become these."""


@dataclass
class _Element:
    """An element of a packet: its bytes from ``start`` up to ``stop``, and what is in it."""

    name: str
    attributes: dict[str, str]
    start: int
    stop: int = -1
    closing: int = -1
    """Where its closing tag begins; -1 where it has none."""
    children: list[_Element] = field(default_factory=list)
    characters: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return tidy("".join(self.characters))

    @property
    def bag(self) -> _Element | None:
        """The list that a property holds."""
        return next((child for child in self.children if child.name in _LISTS), None)

    @property
    def items(self) -> list[_Element]:
        """The entries of that list."""
        return [] if self.bag is None else [c for c in self.bag.children if c.name == RDF + "li"]


class _Outline:
    """Where the elements of a packet lie, byte by byte: some can change and the rest stay.

    It is of a byte encoding that holds ASCII, such as UTF-8. Raises `BrokenXMP` where there is
    nothing that could be added to.
    """

    def __init__(self, packet: bytes) -> None:
        self._packet, self._open = packet, [_Element("", {}, 0)]
        self._rdf: list[_Element] = []
        self._parser = expat.ParserCreate(namespace_separator="}")
        self._parser.buffer_text = True
        self._parser.StartElementHandler, self._parser.EndElementHandler = self._begin, self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.StartDoctypeDeclHandler = self._parser.EntityDeclHandler = self._refuse
        try:
            self._parser.Parse(packet, True)
        except (expat.ExpatError, ValueError, LookupError) as problem:
            if isinstance(problem, BrokenXMP):
                raise
            raise BrokenXMP(f"its XMP cannot be read ({problem})") from None
        self.stop = max((element.closing for element in self._rdf), default=-1)
        """Where the closing tag of the last ``rdf:RDF`` begins."""
        if self.stop < 0:
            raise BrokenXMP("its XMP has no rdf:RDF to add to")
        inner = [child for rdf in self._rdf for child in rdf.children]
        self.descriptions = [child for child in inner if child.name == RDF + "Description"]

    def named(self, name: str) -> list[_Element]:
        """The properties of a name, in whichever description they stand."""
        inner = [child for part in self.descriptions for child in part.children]
        return [child for child in inner if child.name == name]

    def texts(self, name: str) -> list[str]:
        """The entries of their lists."""
        return [item.text for element in self.named(name) for item in element.items]

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._open) > MAX_DEPTH:
            raise BrokenXMP("too many levels")
        given = {_qualified(key): value for key, value in attributes.items()}
        element = _Element(_qualified(name), given, self._parser.CurrentByteIndex)
        self._open[-1].children.append(element)
        self._open.append(element)
        if element.name == RDF + "RDF":
            self._rdf.append(element)

    def _text(self, characters: str) -> None:
        for element in self._open[1:]:
            element.characters.append(characters)

    def _end(self, _: str) -> None:
        element, at = self._open.pop(), self._parser.CurrentByteIndex
        element.stop = self._after_tag(element.start)
        if self._packet[element.stop - 2 : element.stop] != b"/>":
            element.closing, element.stop = at, self._after_tag(at)

    def _after_tag(self, at: int) -> int:
        """Where the tag ends that begins here; a ``>`` inside quotes does not end it."""
        tag = _TAG.match(self._packet, at)
        return len(self._packet) if tag is None else tag.end()

    def _refuse(self, *_: object) -> None:
        raise BrokenXMP(NO_TYPES)


def _qualified(name: str) -> str:
    """Expat's "uri}name" as the name that `xmp` knows."""
    return "{" + name if "}" in name else name


def with_keywords(
    packet: bytes | None, words: Sequence[str], nearest: Sequence[str] = ()
) -> bytes | None:
    """A packet that says ``words``, as ours; what it said before, ours aside, is kept as it is.

    Parameters
    ----------
    packet
        The XMP there is; None where there is none.
    words
        Keywords. Those that the packet holds already, or that somebody took out, are left out.
    nearest
        Captions of pictures like this one.

    Returns
    -------
    The new packet; None where there was none and nothing is to be said.

    Raises
    ------
    BrokenXMP
        Where nothing can be added without touching what is there.

    >>> once = with_keywords(None, ["sea"])
    >>> b"<rdf:li>sea</rdf:li>" in once, read_xmp(once)
    (True, {})
    """
    if packet is not None and is_wide(packet):
        raise BrokenXMP("its XMP is in UTF-16, which visterm reads but does not change")
    whole = _EMPTY if packet is None else packet
    head = len(whole) - len(whole.lstrip(PADDING))
    tail = len(whole.rstrip(PADDING))
    before = whole[head:tail]
    outline = _Outline(before)
    ours, subjects = outline.texts(OURS), outline.texts(_SUBJECT)
    refused = values([*outline.texts(_REFUSED), *(one for one in ours if one not in subjects)])
    taken = {one.casefold() for one in (*(set(subjects) - set(ours)), *refused)}
    added = [word for word in values(words) if word.casefold() not in taken]
    captions = values(nearest)
    if packet is None and not added and not captions:
        return None
    edits = [
        *_without_ours(before, outline, set(ours)),
        *_with_ours(before, outline, set(ours), added, captions, refused),
    ]
    after = whole[:head] + _edited(before, edits) + whole[tail:]
    if read_xmp(after) != read_xmp(whole):
        raise BrokenXMP("its XMP cannot be added to without changing what it says")
    return after


def _without_ours(before: bytes, outline: _Outline, ours: set[str]) -> Iterator[Edit]:
    """Take out what visterm wrote the last time, with the space before it."""
    for part in outline.descriptions:
        if _all_ours(part, ours):
            yield (_space_before(before, part.start), part.stop, b"")
            continue
        for element in part.children:
            if element.name.startswith(VISTERM):
                yield (_space_before(before, element.start), element.stop, b"")
            elif element.name == _SUBJECT:
                for item in element.items:
                    if item.text in ours:
                        yield (_space_before(before, item.start), item.stop, b"")


def _with_ours(
    before: bytes,
    outline: _Outline,
    ours: set[str],
    added: list[str],
    captions: list[str],
    refused: list[str],
) -> Iterator[Edit]:
    """Keywords into the list that there is, or with everything else into a description of ours."""
    kept = [part for part in outline.descriptions if not _all_ours(part, ours)]
    lists = [element for part in kept for element in part.children if element.name == _SUBJECT]
    is_text = any(element.text and not element.items for element in lists)
    if is_text or any(_SUBJECT in part.attributes for part in kept):
        raise BrokenXMP("its keywords are no list, so none can be added")
    properties = [_list("visterm:words", added), _list("visterm:refused", refused)]
    properties.append(_list("visterm:nearest", captions, ordered=True))
    if lists and added:
        yield _into(before, lists[0], ours, added)
    elif added:
        properties.insert(0, _list("dc:subject", added))
    if any(properties):
        abouts = (part.attributes.get(RDF + "about", "") for part in outline.descriptions)
        stop = len(before[: outline.stop].rstrip(PADDING))
        yield (stop, stop, _description(next(abouts, ""), properties))


def _all_ours(part: _Element, ours: set[str]) -> bool:
    """Whether a description says nothing but what visterm wrote."""
    others = [child for child in part.children if not child.name.startswith(VISTERM)]
    return (
        len(others) < len(part.children)
        and not part.attributes.keys() - {RDF + "about"}
        and all(child.name == _SUBJECT for child in others)
        and all(item.text in ours for child in others for item in child.items)
    )


def _into(before: bytes, subject: _Element, ours: set[str], added: list[str]) -> Edit:
    """Entries after the last that stays, spaced as they are."""
    if subject.bag is None or subject.bag.closing < 0:  # <dc:subject/> or an empty list in one tag
        names = f'xmlns:dc="{DC[1:-1]}" xmlns:rdf="{RDF[1:-1]}"'
        entries = _entries("rdf:", added, "")
        text = f"<dc:subject {names}><rdf:Bag>{entries}</rdf:Bag></dc:subject>"
        return (subject.start, subject.stop, _ascii(text))
    staying = [item for item in subject.items if item.text not in ours]
    space = ""
    if subject.items:
        first = subject.items[0].start
        space = before[_space_before(before, first) : first].decode("ascii")
    at = staying[-1].stop if staying else _space_before(before, subject.bag.closing)
    prefix = _PREFIX.match(before, subject.bag.start)
    name = b"" if prefix is None else prefix[1] or b""
    return (at, at, _ascii(_entries(name.decode("ascii", "ignore"), added, space)))


def _entries(prefix: str, words: list[str], space: str) -> str:
    return "".join(f"{space}<{prefix}li>{escape(word)}</{prefix}li>" for word in words)


def _list(name: str, words: list[str], *, ordered: bool = False) -> str:
    if not words:
        return ""
    kind = "rdf:Seq" if ordered else "rdf:Bag"
    entries = _entries("rdf:", words, "\n     ")
    return f"\n   <{name}>\n    <{kind}>{entries}\n    </{kind}>\n   </{name}>"


def _description(about: str, properties: list[str]) -> bytes:
    names = {"rdf": RDF, "dc": DC, "visterm": VISTERM}
    spaces = "".join(f'\n    xmlns:{short}="{name[1:-1]}"' for short, name in names.items())
    head = f"\n  <rdf:Description rdf:about={quoteattr(about)}{spaces}>"
    return _ascii(f"{head}{''.join(properties)}\n  </rdf:Description>")


def _space_before(data: bytes, at: int) -> int:
    """Where the white space before a place begins."""
    return len(data[:at].rstrip(b" \t\r\n"))


def _ascii(text: str) -> bytes:
    """Characters beyond ASCII as references, which every byte encoding of XML can hold."""
    return text.encode("ascii", "xmlcharrefreplace")


def _edited(data: bytes, edits: Iterable[Edit]) -> bytes:
    # At one place, what is taken out comes first, then what is put in.
    for start, stop, put in sorted(edits, key=lambda edit: (edit[0], edit[1]), reverse=True):
        data = data[:start] + put + data[stop:]
    return data


@dataclass(frozen=True)
class SidecarChange:
    """What a sidecar is and what it would become; nothing is written until `write`."""

    path: str
    before: bytes | None
    after: bytes

    @property
    def changes(self) -> bool:
        return self.before != self.after

    def diff(self) -> str:
        """The difference as a unified diff; empty where nothing changes."""
        old = [] if self.before is None else _lines(self.before)
        name = os.devnull if self.before is None else self.path
        return "".join(difflib.unified_diff(old, _lines(self.after), name, self.path))

    def write(self) -> None:
        """Write the sidecar whole, unless somebody changed it since it was read."""
        if not self.changes:
            return
        target = os.path.realpath(self.path)  # a link stays one
        if _read(target) != self.before:
            raise VistermError(f"{self.path} was changed by somebody else just now; try again")
        mode = None if self.before is None else os.stat(target).st_mode & 0o7777
        write_whole(target, self.after)
        if mode is not None:
            os.chmod(target, mode)


def sidecar_change(
    picture: str | os.PathLike[str], words: Sequence[str], nearest: Sequence[str] = ()
) -> SidecarChange | None:
    """What ``words`` would change in the sidecar of a picture; None where there is nothing to do.

    Words that a person gave the picture as keywords, wherever they are kept, are not written again.

    Raises
    ------
    VistermError
        Where the sidecar there is cannot be read or added to; it stays as it is.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> change = sidecar_change(f"{folder}/boat.jpg", ["sea"])
    >>> change.write()
    >>> os.listdir(folder)
    ['boat.jpg.xmp']
    """
    name = os.fspath(picture)
    path = next(iter(sidecars_of(name, ".xmp")), name + ".xmp")
    given = _keywords(name)
    new = [word for word in words if word.casefold() not in given]
    before = _read(path)
    try:
        after = with_keywords(before, new, nearest)
    except BrokenXMP as problem:
        raise VistermError(f"{path} is left as it is: {problem}") from None
    return None if after is None else SidecarChange(path, before, after)


def _read(path: str) -> bytes | None:
    """The bytes of a sidecar; None where there is no such file."""
    if not os.path.lexists(path):
        return None
    try:
        return bytes_of(path, MAX_XMP)
    except Refused as problem:
        raise VistermError(f"{path} is left as it is: {problem}") from None
    except OSError as problem:
        reason = problem.strerror or "it cannot be read"
        raise VistermError(f"{path} is left as it is: {reason}") from None


def _keywords(picture: str) -> set[str]:
    """Keywords of the picture by a person, in the file and beside it."""
    return {
        line.casefold()
        for caption in captions_of(picture)
        if caption.source.endswith((":subject", ":keywords"))
        for line in caption.text.splitlines()
    }


def _lines(data: bytes) -> list[str]:
    text = data.decode("utf-8", "replace")
    return (text if text.endswith("\n") else text + "\n").splitlines(keepends=True)
