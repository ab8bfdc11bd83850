"""IPTC IIM: the keywords and captions that press photographers have written since 1991.

A block is a row of datasets: the byte 0x1C, a record number, a dataset number, a length, the bytes.
In JPEG and Photoshop's TIFFs the block lies inside Photoshop's image resources ("8BIM").
"""

from __future__ import annotations

from collections.abc import Iterator

from visterm.pictures.metadata.texts import decoded, old_windows, values

MAX_DATASETS = 10_000
_IPTC_RESOURCE = 0x0404
_CHARSET = (1, 90)
_FIELDS = {
    (2, 5): "title",
    (2, 25): "keywords",
    (2, 105): "headline",
    (2, 120): "caption",
    **{(2, number): "place" for number in (90, 92, 95, 101)},  # city, quarter, province, country
}


def read_iptc(block: bytes) -> dict[str, list[str]]:
    """The title, keywords, headline, caption and place of a block; what is broken ends it.

    >>> read_iptc(b"\\x1c\\x02\\x19\\0\\3sea" + b"\\x1c\\x02\\x19\\0\\4boat")
    {'keywords': ['sea', 'boat']}
    """
    texts: dict[str, list[bytes]] = {}
    charset = b""
    for dataset, data in _datasets(block):
        if dataset == _CHARSET:
            charset = data
        elif dataset in _FIELDS:
            texts.setdefault(_FIELDS[dataset], []).append(data)
    found = {
        field: values(_characters(data, charset) for data in raw) for field, raw in texts.items()
    }
    return {field: kept for field, kept in found.items() if kept}


def _datasets(block: bytes) -> Iterator[tuple[tuple[int, int], bytes]]:
    at = 0
    for _ in range(MAX_DATASETS):
        head = block[at : at + 5]
        if len(head) < 5 or head[0] != 0x1C:
            return
        length, at = int.from_bytes(head[3:], "big"), at + 5
        if length & 0x8000:  # a long dataset: these bits say how many bytes its length takes
            size = length & 0x7FFF
            if size > 4:
                return
            length, at = int.from_bytes(block[at : at + size], "big"), at + size
        if at + length > len(block):
            return
        yield (head[1], head[2]), block[at : at + length]
        at += length


def _characters(data: bytes, charset: bytes) -> str:
    """ISO 2022's escapes name the encoding; most programs know one, and many name none."""
    if charset.startswith(b"\x1b%"):
        return data.decode("utf-8", "replace")
    if charset in (b"\x1b.A", b"\x1b-A"):
        return old_windows(data)
    return decoded(data)


def iptc_of_photoshop(resources: bytes) -> bytes:
    """The IPTC blocks among Photoshop's image resources, one after the other."""
    at, blocks = 0, []
    for _ in range(MAX_DATASETS):
        if resources[at : at + 4] not in (b"8BIM", b"MeSa", b"AgHg", b"PHUT", b"DCSR"):
            break
        kind = int.from_bytes(resources[at + 4 : at + 6], "big")
        name = resources[at + 6 : at + 7]
        at += 6 + (len(name) + sum(name) + 1) // 2 * 2
        length = int.from_bytes(resources[at : at + 4], "big")
        data = resources[at + 4 : at + 4 + length]
        if kind == _IPTC_RESOURCE:
            blocks.append(data)
        at += 4 + length
        # Resources begin at even places, which a few writers forget.
        at += length % 2 if resources[at : at + 4] != b"8BIM" else 0
    return b"".join(blocks)


def iptc_of_tiff(data: bytes) -> bytes:
    """IPTC from a TIFF's tag; old programs kept it as 32-bit numbers, turning every four bytes."""
    if data[:1] != b"\x1c" and data[3:4] == b"\x1c":
        usable = len(data) // 4 * 4
        return b"".join(data[at : at + 4][::-1] for at in range(0, usable, 4))
    return data
