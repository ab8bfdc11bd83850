"""Keywords added to XMP: what a person wrote stays, byte by byte, and ours can be recognised.

Words go where every program looks, into ``dc:subject``, and once more into ``visterm:words``, the
list by which visterm knows its own: it takes them out before it writes others, and never reads them
back as the words of a person. A word of ours that somebody deleted from ``dc:subject`` is kept in
``visterm:refused`` and not written again. Captions of other pictures that are likely to fit stand
in ``visterm:nearest``, where no program shows them as being about this picture.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape, quoteattr

from visterm.pictures.metadata.texts import values
from visterm.pictures.metadata.xmp import (
    DC,
    OURS,
    PADDING,
    RDF,
    VISTERM,
    BrokenXMP,
    is_wide,
    read_xmp,
)
from visterm.pictures.metadata.xmp_outline import Outline, Property, XmpDescription, outline

_SUBJECT = DC + "subject"
_REFUSED = VISTERM + "refused"
_EMPTY = b"""<?xpacket begin='\xef\xbb\xbf' id='W5M0MpCehiHzreSzNTczkc9d'?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
 </rdf:RDF>
</x:xmpmeta>
<?xpacket end='w'?>
"""

Edit = tuple[int, int, bytes]
"""Bytes from here to there become these."""


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
    found = outline(before)
    ours = _texts(found, OURS)
    subjects = [item.text for one in found.named(_SUBJECT) for item in one.items]
    refused = values([*_texts(found, _REFUSED), *(one for one in ours if one not in subjects)])
    taken = {one.casefold() for one in (*(set(subjects) - set(ours)), *refused)}
    added = [word for word in values(words) if word.casefold() not in taken]
    captions = values(nearest)
    if packet is None and not added and not captions:
        return None
    edits = [
        *_without_ours(before, found, set(ours)),
        *_with_ours(before, found, set(ours), added, captions, refused),
    ]
    after = whole[:head] + _edited(before, edits) + whole[tail:]
    if read_xmp(after) != read_xmp(whole):
        raise BrokenXMP("its XMP cannot be added to without changing what it says")
    return after


def _texts(found: Outline, name: str) -> list[str]:
    return [item.text for one in found.named(name) for item in one.items]


def _without_ours(before: bytes, found: Outline, ours: set[str]) -> Iterable[Edit]:
    """Take out what visterm wrote the last time, with the space before it."""
    for part in found.descriptions:
        if _all_ours(part, ours):
            yield (_space_before(before, part.start), part.stop, b"")
            continue
        for one in part.properties:
            if one.name.startswith(VISTERM):
                yield (_space_before(before, one.start), one.stop, b"")
            elif one.name == _SUBJECT:
                for item in one.items:
                    if item.text in ours:
                        yield (_space_before(before, item.start), item.stop, b"")


def _with_ours(
    before: bytes,
    found: Outline,
    ours: set[str],
    added: list[str],
    captions: list[str],
    refused: list[str],
) -> Iterable[Edit]:
    """Keywords into the list that there is, or with everything else into a description of ours."""
    kept = [part for part in found.descriptions if not _all_ours(part, ours)]
    lists = [one for part in kept for one in part.properties if one.name == _SUBJECT]
    if any(_SUBJECT in part.attributes for part in kept) or any(one.plain for one in lists):
        raise BrokenXMP("its keywords are no list, so none can be added")
    properties = [_list("visterm:words", added), _list("visterm:refused", refused)]
    properties.append(_list("visterm:nearest", captions, ordered=True))
    if lists and added:
        yield _into(before, lists[0], ours, added)
    elif added:
        properties.insert(0, _list("dc:subject", added))
    if any(properties):
        about = found.descriptions[0].about if found.descriptions else ""
        stop = len(before[: found.stop].rstrip(PADDING))
        yield (stop, stop, _description(about, properties))


def _all_ours(part: XmpDescription, ours: set[str]) -> bool:
    """Whether a description says nothing but what visterm wrote."""
    written = [one for one in part.properties if one.name.startswith(VISTERM)]
    others = [one for one in part.properties if not one.name.startswith(VISTERM)]
    return (
        bool(written)
        and not part.attributes
        and all(
            one.name == _SUBJECT and all(item.text in ours for item in one.items) for one in others
        )
    )


def _into(before: bytes, one: Property, ours: set[str], added: list[str]) -> Edit:
    """Entries after the last that stays, spaced as they are."""
    if one.list_stop < 0:  # <dc:subject/> or an empty list in one tag
        names = f'xmlns:dc="{DC.strip()}" xmlns:rdf="{RDF.strip()}"'
        entries = _entries("rdf:", added, "")
        text = f"<dc:subject {names}><rdf:Bag>{entries}</rdf:Bag></dc:subject>"
        return (one.start, one.stop, _ascii(text))
    staying = [item for item in one.items if item.text not in ours]
    space = ""
    if one.items:
        first = one.items[0].start
        space = before[_space_before(before, first) : first].decode("ascii")
    at = staying[-1].stop if staying else _space_before(before, one.list_stop)
    return (at, at, _ascii(_entries(one.prefix, added, space)))


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
    spaces = "".join(f'\n    xmlns:{short}="{name.strip()}"' for short, name in names.items())
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
