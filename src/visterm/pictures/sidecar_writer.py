"""Words written beside a picture, into the sidecar it has or a new ``photo.jpg.xmp``.

Whatever else is there stays: every element, attribute, comment and text. Two kinds of words are
written, and each replaces what was written of its kind before:

- what visterm *predicts* goes where every program looks for keywords, into ``dc:subject``, and
  once more into ``visterm:words``, so that visterm never reads it back as the words of a person.
  What a user deleted from ``dc:subject`` is kept in ``visterm:refused`` and not written again;
- what people have *said*: keywords into ``dc:subject``, those of a tree ("Places|Lisbon") into
  Lightroom's and digiKam's lists as well, and a text into ``dc:description``. ``visterm:said``
  lists them; visterm reads them as any other words of a person.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from xml.sax.saxutils import escape, quoteattr

from visterm.errors import VistermError
from visterm.files import write_whole
from visterm.pictures.formats import Refused
from visterm.pictures.metadata import MAX_XMP, bytes_of, sidecars_of
from visterm.pictures.sandbox import captions_of
from visterm.pictures.texts import tidy, values
from visterm.pictures.xmp import NAMESPACES, BrokenXMP, parsed, read_xmp

Element: TypeAlias = Any
"""A node of minidom, whose published types leave the namespaces of nodes out."""
_EMPTY = b"""<?xpacket begin='\xef\xbb\xbf' id='W5M0MpCehiHzreSzNTczkc9d'?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
 </rdf:RDF>
</x:xmpmeta>
<?xpacket end='w'?>
"""
_PREFIXES = ("rdf", "dc", "lr", "digiKam", "visterm")
_LISTS = {
    "dc:subject": "Bag",
    "lr:hierarchicalSubject": "Bag",
    "digiKam:TagsList": "Seq",
    "dc:description": "Alt",
    "visterm:words": "Bag",
    "visterm:refused": "Bag",
    "visterm:said": "Bag",
}
"""The properties that are written, and the kind of list that each is."""
_PREDICTED = ("visterm:words", "visterm:refused")
_SAID = ("visterm:said",)

Texts = Mapping[str, Sequence[str]]
"""Entries by property."""


def with_predictions(packet: bytes | None, words: Sequence[str]) -> bytes | None:
    """A packet with ``words`` as visterm's keywords.

    Words that the packet holds already, or that a user took out, are left out. None where there
    was no packet and nothing is to be said; `BrokenXMP` where nothing can be added.

    >>> once = with_predictions(None, ["sea"])
    >>> b"<rdf:li>sea</rdf:li>" in once, read_xmp(once)
    (True, {})
    """
    outline = _Outline(packet)
    ours, subjects = outline.texts("visterm:words"), outline.texts("dc:subject")
    gone = [word for word in ours if word not in subjects]
    refused = values([*outline.texts("visterm:refused"), *gone])
    taken = {word.casefold() for word in (*(set(subjects) - set(ours)), *refused)}
    added = [word for word in values(words) if word.casefold() not in taken]
    texts: Texts = {"dc:subject": added, "visterm:words": added, "visterm:refused": refused}
    after = outline.rewritten(set(ours), _PREDICTED, texts)
    if packet is not None and after is not None and read_xmp(after) != read_xmp(packet):
        raise BrokenXMP("its XMP cannot be added to without changing what it says")
    return after


def with_captions(
    packet: bytes | None, keywords: Sequence[str], description: str = ""
) -> bytes | None:
    """A packet with what people said of a picture: keywords, and a text about it.

    Keywords with bars are of a tree, and written as such, too. A description from another program
    stays alone.

    >>> read_xmp(with_captions(None, ["sea", "Places|Lisbon"], "A boat"))["description"]
    ['A boat']
    """
    outline = _Outline(packet)
    ours = set(outline.texts("visterm:said"))
    there = {name: set(outline.texts(name)) - ours for name in _LISTS}
    trees = [word for word in values(keywords) if "|" in word]
    flat = values(word.rpartition("|")[2] for word in keywords)
    known = {word.casefold() for word in there["dc:subject"]}
    wanted = {
        "dc:subject": [word for word in flat if word.casefold() not in known],
        "lr:hierarchicalSubject": trees,
        "digiKam:TagsList": [tree.replace("|", "/") for tree in trees],
        "dc:description": [] if there["dc:description"] else values([description]),
    }
    texts = {
        name: [entry for entry in entries if entry not in there[name]]
        for name, entries in wanted.items()
    }
    said = dict.fromkeys(entry for entries in texts.values() for entry in entries)
    return outline.rewritten(ours, _SAID, texts | {"visterm:said": list(said)})


class _Outline:
    """The descriptions of a packet; raises `BrokenXMP` where there is nothing to add to."""

    def __init__(self, packet: bytes | None) -> None:
        from defusedxml import minidom

        self._packet = packet
        self._document: Any = parsed(_EMPTY if packet is None else packet, minidom.parseString)
        self._roots = self._document.getElementsByTagNameNS(NAMESPACES["rdf"], "RDF")
        if not self._roots:
            raise BrokenXMP("its XMP has no rdf:RDF to add to")

    @property
    def _descriptions(self) -> list[Element]:
        return [part for root in self._roots for part in _inside(root, "rdf:Description")]

    def _properties(self, name: str) -> list[Element]:
        return [property_ for part in self._descriptions for property_ in _inside(part, name)]

    def texts(self, name: str) -> list[str]:
        """The entries of a property."""
        return [_text(item) for property_ in self._properties(name) for item in _items(property_)]

    def rewritten(self, ours: set[str], markers: Sequence[str], texts: Texts) -> bytes | None:
        """The packet with other entries in place of those that are ours."""
        texts = {name: entries for name, entries in texts.items() if entries}
        if self._packet is None and not texts:
            return None
        before = self._written()
        for part in self._descriptions:
            _take_out(part, ours, markers)
        new = [_list(name, texts[name]) for name in texts if not self._fill(name, texts[name])]
        if new:
            self._describe(new)
        after = self._written()
        return self._packet if after == before and self._packet is not None else after

    def _fill(self, name: str, entries: Sequence[str]) -> bool:
        """Put entries after the last of a list, spaced as they are; False where there is none."""
        prefix, _, local = name.partition(":")
        lists = self._properties(name)
        is_text = any(_text(property_) and not _bag(property_) for property_ in lists)
        if is_text or any(p.hasAttributeNS(NAMESPACES[prefix], local) for p in self._descriptions):
            raise BrokenXMP(f"its {name} is no list, so nothing can be added")
        bag = next((bag for property_ in lists if (bag := _bag(property_))), None)
        if bag is None:
            return False
        items = _inside(bag, "rdf:li")
        space = items[0].previousSibling if items and _is_space(items[0].previousSibling) else None
        after = items[-1].nextSibling if items else None
        for entry in entries:
            item = self._document.createElementNS(
                NAMESPACES["rdf"], "".join((*bag.tagName.rpartition(":")[:2], "li"))
            )
            item.appendChild(self._document.createTextNode(entry))
            if space is not None:
                bag.insertBefore(space.cloneNode(False), after)
            bag.insertBefore(item, after)
        return True

    def _describe(self, properties: list[str]) -> None:
        """Add a description of ours, about what the others are about."""
        from xml.dom import minidom

        about = next((p.getAttributeNS(NAMESPACES["rdf"], "about") for p in self._descriptions), "")
        spaces = "".join(f'\n    xmlns:{p}="{NAMESPACES[p]}"' for p in _PREFIXES)
        head = f"<rdf:Description rdf:about={quoteattr(about)}{spaces}>"
        text = f"{head}{''.join(properties)}\n  </rdf:Description>"
        description = minidom.parseString(text.encode()).documentElement
        root = self._roots[-1]
        last = root.lastChild if _is_space(root.lastChild) else None
        root.insertBefore(self._document.createTextNode("\n  "), last)
        root.insertBefore(self._document.importNode(description, True), last)

    def _written(self) -> bytes:
        head = ['<?xml version="1.0" encoding="UTF-8"?>'] if self._document.encoding else []
        try:
            parts = [*head, *(node.toxml() for node in self._document.childNodes)]
        except RecursionError:
            raise BrokenXMP("its XMP has too many levels") from None
        return "\n".join([*parts, ""]).encode()


def _take_out(part: Element, ours: set[str], markers: Sequence[str]) -> None:
    """Take out what visterm wrote, and lists and a description of which nothing is left."""
    for name in _LISTS:
        for property_ in _inside(part, name):
            items = _items(property_)
            stale = [item for item in items if name in markers or _text(item) in ours]
            for item in stale:
                _remove(item)
            if len(stale) == len(items) and not _text(property_):
                _remove(property_)
    is_bare = all(name.startswith(("xmlns", "rdf:about")) for name in dict(part.attributes.items()))
    if is_bare and not any(child.nodeType == child.ELEMENT_NODE for child in part.childNodes):
        _remove(part)


def _inside(node: Element, name: str) -> list[Element]:
    """The children of an element that have a name."""
    prefix, _, local = name.partition(":")
    wanted = (NAMESPACES[prefix], local)
    return [child for child in node.childNodes if (child.namespaceURI, child.localName) == wanted]


def _bag(property_: Element) -> Element | None:
    lists = (bag for kind in ("Bag", "Seq", "Alt") for bag in _inside(property_, f"rdf:{kind}"))
    return next(lists, None)


def _items(property_: Element) -> list[Element]:
    bag = _bag(property_)
    return [] if bag is None else _inside(bag, "rdf:li")


def _text(node: Element) -> str:
    """All text in a node."""
    texts, waiting = list[str](), [node]
    while waiting:
        inner = waiting.pop()
        texts.append(
            inner.data if inner.nodeType in (inner.TEXT_NODE, inner.CDATA_SECTION_NODE) else ""
        )
        waiting += reversed(inner.childNodes)
    return tidy("".join(texts))


def _is_space(node: Element | None) -> bool:
    return node is not None and node.nodeType == node.TEXT_NODE and not node.data.strip()


def _remove(node: Element) -> None:
    """Take a node out, with the space before it."""
    parent = node.parentNode
    if _is_space(node.previousSibling):
        parent.removeChild(node.previousSibling)
    parent.removeChild(node)


def _list(name: str, entries: Sequence[str]) -> str:
    kind = _LISTS[name]
    language = ' xml:lang="x-default"' if kind == "Alt" else ""
    items = "".join(f"\n     <rdf:li{language}>{escape(entry)}</rdf:li>" for entry in entries)
    return f"\n   <{name}>\n    <rdf:{kind}>{items}\n    </rdf:{kind}>\n   </{name}>"


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
        """Write the sidecar whole, unless it was changed since it was read."""
        if not self.changes:
            return
        target = os.path.realpath(self.path)  # a link stays one
        if _read(target) != self.before:
            raise VistermError(f"{self.path} was just changed by another program; try again")
        mode = None if self.before is None else os.stat(target).st_mode & 0o7777
        write_whole(target, self.after)
        if mode is not None:
            os.chmod(target, mode)


def sidecar_change(picture: str | os.PathLike[str], words: Sequence[str]) -> SidecarChange | None:
    """What predicted ``words`` would change in the sidecar of a picture; None where nothing.

    Words that a person gave the picture as keywords, wherever they are kept, are not written again.
    Raises `VistermError` where the sidecar cannot be read or added to; it stays as it is.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> change = sidecar_change(f"{folder}/boat.jpg", ["sea"])
    >>> change.write()
    >>> os.listdir(folder)
    ['boat.jpg.xmp']
    """
    given = _keywords(os.fspath(picture))
    path, before = _sidecar(os.fspath(picture))
    new = [word for word in words if word.casefold() not in given]
    return _change(path, before, lambda: with_predictions(before, new))


def caption_change(
    picture: str | os.PathLike[str],
    keywords: Sequence[str],
    description: str,
    to: str | os.PathLike[str] | None = None,
) -> SidecarChange | None:
    """What people's keywords and description would change in a picture's sidecar, or in the file
    ``to``, which begins as a copy of that sidecar; None where there is nothing to do."""
    path, before = _sidecar(os.fspath(picture))
    base = before
    if to is not None:
        path, before = os.fspath(to), _read(os.fspath(to))
        base = base if before is None else before
    change = _change(path, base, lambda: with_captions(base, keywords, description))
    return None if change is None else SidecarChange(path, before, change.after)


def _change(
    path: str, before: bytes | None, rewrite: Callable[[], bytes | None]
) -> SidecarChange | None:
    try:
        after = rewrite()
    except BrokenXMP as problem:
        raise VistermError(f"{path} is left as it is: {problem}") from None
    return None if after is None else SidecarChange(path, before, after)


def _sidecar(picture: str) -> tuple[str, bytes | None]:
    """The path of a picture's sidecar, and its bytes where it is there."""
    path = next(iter(sidecars_of(picture, ".xmp")), picture + ".xmp")
    return path, _read(path)


def _read(path: str) -> bytes | None:
    """The bytes of a sidecar; None where there is no such file."""
    if not os.path.lexists(path):
        return None
    try:
        return bytes_of(path, MAX_XMP)
    except (Refused, OSError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
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
