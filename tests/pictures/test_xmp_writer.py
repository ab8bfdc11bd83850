"""Words go into sidecars and change nothing else there; predictions never come back as captions."""

from __future__ import annotations

import os
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import TreeBuilder, XMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from visterm.errors import VistermError
from visterm.pictures.sandbox import captions_of
from visterm.pictures.sidecar_writer import (
    caption_change,
    sidecar_change,
    with_captions,
    with_predictions,
)
from visterm.pictures.xmp import BrokenXMP, read_xmp

LIGHTROOM = b"""<x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="Adobe XMP Core 7.0">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <rdf:Description rdf:about=""
    xmlns:crs="http://ns.adobe.com/camera-raw-settings/1.0/"
    xmlns:dc="http://purl.org/dc/elements/1.1/"
   crs:Exposure2012="+0.35" crs:Name="a &gt; b">
   <!-- by hand -->
   <dc:subject>
    <rdf:Bag>
     <rdf:li>Holiday</rdf:li>
     <rdf:li>Z\xc3\xbcrich</rdf:li>
    </rdf:Bag>
   </dc:subject>
   <dc:title><rdf:Alt><rdf:li xml:lang="x-default">The sea</rdf:li></rdf:Alt></dc:title>
  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>
"""
DARKTABLE = b"""<?xml version="1.0" encoding="UTF-8"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="uuid:1&amp;2" xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmp:Rating="4"/>
</rdf:RDF></x:xmpmeta>"""
OTHER_PREFIXES = b"""<RDF xmlns="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
 xmlns:d="http://purl.org/dc/elements/1.1/"><Description about=""><d:subject><Bag><li>sea</li></Bag>
</d:subject></Description></RDF>\0\0\0\0"""
CRLF = LIGHTROOM.replace(b"\n", b"\r\n")
LATIN = b'<?xml version="1.0" encoding="iso-8859-1"?>\n' + LIGHTROOM.decode().encode("latin-1")
EMPTY_LIST = DARKTABLE.replace(
    b'xmp:Rating="4"/>',
    b'xmp:Rating="4"><dc:subject xmlns:dc="http://purl.org/dc/elements/1.1/"><rdf:Bag/></dc:subject>'
    b"</rdf:Description>",
)
PACKETS = {
    "lightroom": LIGHTROOM,
    "darktable": DARKTABLE,
    "other prefixes": OTHER_PREFIXES,
    "crlf": CRLF,
    "latin-1": LATIN,
}


def all_subjects(packet: bytes) -> list[str]:
    """What another program, which knows nothing of visterm, shows as keywords."""
    return read_xmp(packet.replace(b"urn:visterm:1.0:", b"urn:nobody:")).get("subject", [])


def canonical(packet: bytes) -> str:
    """All that a packet says, comments and spaces between elements included."""
    tree = ElementTree.fromstring(
        packet.strip(b"\0"), XMLParser(target=TreeBuilder(insert_comments=True))
    )
    return ElementTree.canonicalize(ElementTree.tostring(tree), with_comments=True)


@pytest.mark.parametrize("packet", PACKETS.values(), ids=PACKETS)
def test_other_programs_see_our_keywords_after_theirs_and_visterm_reads_only_theirs(packet):
    after = with_predictions(packet, ["boat", "été & <co>"])
    assert all_subjects(after) == [*all_subjects(packet), "boat", "été & <co>"]
    assert read_xmp(after) == read_xmp(packet)


@pytest.mark.parametrize("packet", PACKETS.values(), ids=PACKETS)
def test_whatever_a_person_wrote_stays_and_taking_ours_back_restores_it(packet):
    assert with_predictions(packet, []) is packet
    after = with_predictions(packet, ["boat", "cliff"])
    assert canonical(with_predictions(after, [])) == canonical(packet)
    assert with_predictions(with_predictions(after, ["tree"]), ["boat", "cliff"]) == after


def test_utf_16_is_written_back_as_utf_8():
    after = with_predictions(LIGHTROOM.decode().encode("utf-16"), ["boat"])
    assert all_subjects(after) == ["Holiday", "Zürich", "boat"]


def test_what_people_said_is_written_as_what_it_is_and_replaced_when_it_changes():
    first = with_captions(LIGHTROOM, ["boat", "Places|Lisbon", "holiday"], "A boat\non the sea")
    assert read_xmp(first) == {
        "subject": ["Holiday", "Zürich", "boat", "Lisbon"],
        "title": ["The sea"],
        "description": ["A boat on the sea"],
        "tags": ["Places|Lisbon"],
    }
    assert with_captions(first, ["boat", "Places|Lisbon", "holiday"], "A boat\non the sea") is first
    second = with_captions(first, ["tree"], "Trees")
    assert read_xmp(second)["subject"] == ["Holiday", "Zürich", "tree"]
    assert read_xmp(second)["description"] == ["Trees"]
    assert canonical(with_captions(second, [], "")) == canonical(LIGHTROOM)


def test_a_description_by_somebody_else_stays_alone():
    theirs = with_captions(LIGHTROOM, [], "Theirs").replace(b"visterm:said", b"visterm:x")
    assert read_xmp(with_captions(theirs, [], "Ours"))["description"] == ["Theirs"]


def test_predictions_and_what_people_said_leave_each_other_alone():
    both = with_captions(with_predictions(LIGHTROOM, ["boat"]), ["Anna"], "A text")
    assert all_subjects(both) == ["Holiday", "Zürich", "boat", "Anna"]
    assert read_xmp(both)["subject"] == ["Holiday", "Zürich", "Anna"]
    said = with_predictions(both, [])
    assert canonical(with_captions(said, [], "")) == canonical(LIGHTROOM)


def test_an_empty_list_in_one_tag_is_filled():
    after = with_predictions(EMPTY_LIST, ["boat"])
    assert all_subjects(after) == ["boat"]
    assert all_subjects(with_predictions(after, ["tree"])) == ["tree"]
    assert read_xmp(after) == {"rating": ["4"]}


def test_words_a_person_has_already_are_not_written_again_whatever_their_case():
    after = with_predictions(LIGHTROOM, ["holiday", "ZÜRICH", "sea"])
    assert all_subjects(after) == ["Holiday", "Zürich", "sea"]


def test_a_keyword_that_somebody_deleted_is_not_written_again():
    first = with_predictions(LIGHTROOM, ["boat", "cliff"])
    edited = first.replace(b"\n     <rdf:li>cliff</rdf:li>", b"", 1)
    assert edited != first
    again = with_predictions(edited, ["boat", "cliff", "tree"])
    assert all_subjects(again) == ["Holiday", "Zürich", "boat", "tree"]
    assert all_subjects(with_predictions(again, ["cliff"])) == ["Holiday", "Zürich"]


def test_what_another_program_wrote_anew_is_still_told_apart():
    """Programs keep foreign properties but move them into one description of their own."""
    body = b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
      <rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"
       xmlns:v="urn:visterm:1.0:" dc:format="image/jpeg"><dc:subject><rdf:Bag><rdf:li>boat</rdf:li>
       <rdf:li>Holiday</rdf:li></rdf:Bag></dc:subject>
       <v:words><rdf:Bag><rdf:li>boat</rdf:li></rdf:Bag></v:words></rdf:Description></rdf:RDF>"""
    assert read_xmp(body) == {"subject": ["Holiday"]}
    after = with_predictions(body, ["tree"])
    assert all_subjects(after) == ["Holiday", "tree"]
    assert read_xmp(after) == {"subject": ["Holiday"]}


@pytest.mark.parametrize(
    ("packet", "reason"),
    [
        (b"<!DOCTYPE x [<!ENTITY a 'b'>]>" + LIGHTROOM, "document type"),
        (LIGHTROOM[:-20], "cannot be read"),
        (b"<x/>", "no rdf:RDF"),
        (b"", "cannot be read"),
        (
            DARKTABLE.replace(
                b"xmp:Rating=", b"xmlns:dc='http://purl.org/dc/elements/1.1/' dc:subject="
            ),
            "no list",
        ),
    ],
    ids=["doctype", "cut off", "no rdf", "empty", "subject in the tag"],
)
def test_what_cannot_be_added_to_is_refused(packet, reason):
    with pytest.raises(BrokenXMP, match=reason):
        with_predictions(packet, ["boat"])


@settings(max_examples=80, deadline=None)
@given(st.lists(st.text(max_size=8), max_size=4), st.sampled_from(sorted(PACKETS)))
def test_whatever_the_words_are_the_packet_stays_readable_and_can_be_restored(words, name):
    packet = PACKETS[name]
    after = with_predictions(packet, words)
    assert read_xmp(after) == read_xmp(packet)
    assert canonical(with_predictions(after, [])) == canonical(packet)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(sorted(PACKETS)),
    st.lists(
        st.tuples(st.integers(0, 2000), st.integers(0, 40), st.binary(max_size=6)), max_size=3
    ),
)
def test_a_damaged_packet_is_refused_or_keeps_what_it_says(name, cuts):
    packet = PACKETS[name]
    for at, length, put in cuts:
        packet = packet[:at] + put + packet[at + length :]
    try:
        after = with_predictions(packet, ["boat"])
    except BrokenXMP:
        return
    assert read_xmp(after) == read_xmp(packet)


def picture(folder: Path, **info: object) -> Path:
    path = folder / "boat.jpg"
    Image.new("RGB", (8, 8)).save(path, **info)
    return path


def test_a_new_sidecar_is_written_whole_and_is_no_caption(tmp_path):
    path = picture(tmp_path)
    change = sidecar_change(path, ["sea", "boat"])
    assert change.diff().startswith("--- /dev/null")
    assert "+     <rdf:li>sea</rdf:li>" in change.diff()
    assert not list(tmp_path.glob("*.xmp")), "a plan writes nothing"
    change.write()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["boat.jpg", "boat.jpg.xmp"]
    assert captions_of(path) == []
    assert sidecar_change(path, ["sea", "boat"]).changes is False


def test_the_sidecar_there_is_is_used_with_its_rights_and_links(tmp_path):
    path, kept = picture(tmp_path), tmp_path / "kept"
    kept.mkdir()
    (kept / "x.xmp").write_bytes(LIGHTROOM)
    os.chmod(kept / "x.xmp", 0o640)
    (tmp_path / "boat.xmp").symlink_to(kept / "x.xmp")
    before = captions_of(path)
    change = sidecar_change(path, ["boat"])
    assert change.path == str(tmp_path / "boat.xmp")
    change.write()
    assert (tmp_path / "boat.xmp").is_symlink()
    assert os.stat(kept / "x.xmp").st_mode & 0o777 == 0o640
    assert captions_of(path) == before
    assert all_subjects((kept / "x.xmp").read_bytes()) == ["Holiday", "Zürich", "boat"]


def test_keywords_inside_the_picture_are_not_written_beside_it(tmp_path):
    path = picture(tmp_path, xmp=LIGHTROOM)
    change = sidecar_change(path, ["holiday"])
    assert change is None
    assert all_subjects(sidecar_change(path, ["holiday", "sea"]).after) == ["sea"]


def test_a_broken_sidecar_is_left_as_it_is(tmp_path):
    path = picture(tmp_path)
    (tmp_path / "boat.xmp").write_bytes(b"<broken")
    with pytest.raises(VistermError, match=r"boat\.xmp is left as it is: its XMP cannot be read"):
        sidecar_change(path, ["sea"])
    assert (tmp_path / "boat.xmp").read_bytes() == b"<broken"


def test_a_sidecar_changed_meanwhile_is_not_overwritten(tmp_path):
    path = picture(tmp_path)
    change = sidecar_change(path, ["sea"])
    (tmp_path / "boat.jpg.xmp").write_bytes(LIGHTROOM)
    with pytest.raises(VistermError, match="changed by another program"):
        change.write()
    assert (tmp_path / "boat.jpg.xmp").read_bytes() == LIGHTROOM


def test_captions_can_be_written_elsewhere_and_begin_with_the_sidecar_there_is(tmp_path):
    path, to = picture(tmp_path), tmp_path / "out" / "boat.jpg.xmp"
    (tmp_path / "boat.xmp").write_bytes(LIGHTROOM)
    to.parent.mkdir()
    caption_change(path, ["sea"], "A boat", to).write()
    assert (tmp_path / "boat.xmp").read_bytes() == LIGHTROOM
    assert read_xmp(to.read_bytes())["subject"] == ["Holiday", "Zürich", "sea"]
    assert caption_change(path, ["sea"], "A boat", to).changes is False
