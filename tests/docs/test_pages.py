"""Every block of code in README and docs that needs no data, network or extra works as written."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from pages import EMPTY, PAGES, ROOT, Reader, blocks, indented_commands, make_tools

pytestmark = pytest.mark.skipif(os.name == "nt", reason="pages are written for a POSIX shell")

TEXTS = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in PAGES}
RUN = [name for name, text in TEXTS.items() if any(one.not_run is None for one in blocks(text))]


@pytest.fixture(scope="session")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection with the files that pages speak of: one for all processes of a test run."""
    import fcntl

    base = tmp_path_factory.getbasetemp()
    shared = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    folder = shared / "pages" / "Pictures"
    folder.parent.mkdir(exist_ok=True)
    with open(folder.parent / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder.parent / "done").exists():
            make_collection(folder)
            (folder.parent / "done").touch()
    return folder


def make_collection(folder: Path) -> None:
    """Draw, caption and train."""
    from visterm import Collection
    from visterm.datasets import draw_scenes

    scenes = draw_scenes(folder, 40, size=(96, 64))
    names = ["IMG_0042.jpg", "IMG_0043.jpg", "beach.jpg", "garden.jpg", "elsewhere/a.jpg"]
    names += [f"alps/{number}.jpg" for number in range(8)]
    (folder / "alps").mkdir()
    (folder / "elsewhere").mkdir()
    lines = ["path,text"]
    for number, (path, words) in enumerate(scenes):
        name = names[number] if number < len(names) else path.name
        path.rename(folder / name)
        if number % 4:
            lines.append(f"{name},{' '.join(words)}")
    (folder / "captions.tsv").unlink()
    (folder / "captions.csv").write_text("\n".join(lines) + "\n")
    with Collection.open(folder) as collection:
        collection.add()
        collection.caption_from(folder / "captions.csv")
        collection.train()


def draw_photographs(folder: Path) -> None:
    """Drawn pictures under the names of photographs, so that pages run without a network."""
    from PIL import Image

    from visterm.datasets.photographs import photographs
    from visterm.datasets.scenes import draw_scene

    names = [one.name for one in photographs()]
    named = set(re.findall(r"\w+/[\w-]+\.webp", TEXTS["docs/tutorial/first-minutes.md"]))
    assert named <= set(names), "a page names a photograph that there is not"
    for number, name in enumerate(sorted(named) + sorted(set(names) - named)[:30]):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(draw_scene(0, number, (96, 64)).pixels).save(folder / name)


def reader(name: str, drawn: Path, tmp_path: Path) -> Reader:
    folder = tmp_path / "Pictures"
    if EMPTY in TEXTS[name]:
        folder = tmp_path / "empty"
        draw_photographs(folder / "photographs")
    else:
        shutil.copytree(drawn, folder)
    return Reader(ROOT / name, folder, make_tools(tmp_path / "bin"))


@pytest.mark.parametrize("name", RUN)
def test_the_blocks_of_a_page_run_as_written(name: str, drawn: Path, tmp_path: Path):
    somebody = reader(name, drawn, tmp_path)
    for block in blocks(TEXTS[name]):
        if block.not_run is None:
            somebody.run(block)
    printed = "\n".join(somebody.printed)
    if name == "README.md":
        assert re.search(r"scene-\d+\.jpg", printed)
    if name == "docs/tutorial/first-minutes.md":
        assert "indexing" in printed
        assert "'ocean' is taken for sea" in printed
        found = next(one for one in somebody.printed if "indexing" in one)
        last = found.rpartition("pictures:\n")[2]  # a first answer may come from some of them
        assert len(re.findall(r"^ *[\d<> ]+ %  \w+/", last, re.MULTILINE)) == 5
        assert re.search(r"^model +ridge\b", printed, re.MULTILINE)


def test_most_pages_with_code_are_run():
    assert {"README.md", "docs/tutorial/first-minutes.md", "docs/how-to/python.md"} <= set(RUN)
    assert len(RUN) >= 8


def test_every_command_stands_in_a_fence_where_it_is_run():
    for name, text in TEXTS.items():
        assert indented_commands(text) == [], name


def test_pages_speak_of_the_software_only():
    words = r"\.\./shared|\bissue\b|\bsession\b|\bbusy machine\b|\btaught\b|\bchances?\b"
    for name, text in TEXTS.items():
        prose = re.sub(r"`[^`]*`", "", text)  # names of tables and files stay what they are
        assert re.findall(words, prose, re.IGNORECASE) == [], name


def test_doctests_become_code_on_the_site():
    pytest.importorskip("griffe", reason="the extra docs brings it")
    sys.path.insert(0, str(ROOT / "docs"))
    from docstrings import fenced

    assert fenced("Adds.\n>>> 1 + 1\n2\n\nEnd.") == "Adds.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nEnd."
    assert fenced("Examples\n--------\n>>> 1\n1") == "Examples\n--------\n```pycon\n>>> 1\n1\n```"


def test_links_to_files_lead_somewhere():
    for name, text in TEXTS.items():
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[\w-]*)?\)", text):
            if not re.match(r"\w+:", target):
                assert ((ROOT / name).parent / target).exists(), (name, target)


def test_benchmarks_and_tables_that_a_page_names_exist():
    from visterm.experiments.tables import entries

    every = "\n".join(TEXTS.values())
    for benchmark in re.findall(r"python -m benchmarks\.(\w+)", every):
        files = (f"{benchmark}.py", f"{benchmark}/__main__.py")
        exists = any((ROOT / "benchmarks" / file).exists() for file in files)
        assert benchmark == "NAME" or exists, benchmark
    for tables in re.findall(r"visterm reproduce((?: [a-z]+-[\w-]+)+)", every):
        assert set(tables.split()) <= set(entries()), tables


def test_the_page_of_speed_shows_every_headline_as_it_was_measured():
    sys.path.insert(0, str(ROOT / "docs"))
    from hooks import on_page_markdown

    shown = on_page_markdown(TEXTS["docs/results/speed.md"])
    measured = json.loads((ROOT / "benchmarks/headlines.json").read_text())["headlines"]
    assert len(measured) > 10
    for name, value in measured.items():
        (row,) = re.findall(rf"^\| `[^|]*\b{name}\b[^|]*` \|.*$", shown, re.MULTILINE)
        assert f"{value:.3g}" in row


def test_tables_of_few_captions_are_made_from_what_the_benchmarks_printed():
    sys.path.insert(0, str(ROOT / "docs"))
    from hooks import FEW_CAPTIONS, MEASURED, on_page_markdown

    text = TEXTS["docs/results/few-captions.md"]
    known = json.loads(FEW_CAPTIONS.read_text(encoding="utf-8"))
    assert MEASURED.findall(text) == list(known)
    shown = on_page_markdown(text)
    assert "<!-- measured" not in shown
    own = known["few_captions"]["own_vectors"]["corel5k"]["30"]
    assert (
        f"| {own['visterm']:.1f} | {own['logistic']:.1f} | {own['mean_difference']:.1f} |" in shown
    )
    assert f"| {known['honest_answers']['starter']['ece']:.1f} |" in shown


def test_the_table_of_review_is_made_from_what_the_benchmark_printed():
    sys.path.insert(0, str(ROOT / "docs"))
    from hooks import REVIEW, on_page_markdown

    known = json.loads(REVIEW.read_text(encoding="utf-8"))["review"]["corel5k"]
    shown = on_page_markdown(TEXTS["docs/results/library.md"])
    assert f"| both kinds | {100 * known['precision_at_50'][0]:.1f} ± " in shown


def test_files_of_the_code_that_a_page_names_exist():
    """A page that sends a reader to a file that was renamed is worse than none."""
    rooms = "|".join(one.name for one in (ROOT / "src/visterm").iterdir() if one.is_dir())
    code = rf"`((?:src/visterm/)?(?:{rooms}|tests)/[\w/]+\.py)`"
    for path in re.findall(code, "\n".join(TEXTS.values())):
        if "yours" in path:
            continue  # the file that a contributor would write
        own = path.removeprefix("src/visterm/")
        places = (ROOT / own, ROOT / "src/visterm" / own)
        assert any(place.exists() for place in places), path


def test_the_site_has_the_colours_of_the_page():
    """Light and dark: the variables of the page's style sheet, with the same values."""

    def palettes(path: Path) -> list[dict[str, str]]:
        rules = re.findall(r"\{([^{}]*--paper:[^{}]*)\}", path.read_text(encoding="utf-8"))
        return [dict(re.findall(r"(--[\w-]+): (#\w+);", rule)) for rule in rules]

    site, page = palettes(ROOT / "docs/site.css"), palettes(ROOT / "src/visterm/web/page/style.css")
    assert len(site) == len(page) == 2
    assert all(len(one) > 7 for one in site)
    assert site == page


def test_the_start_page_leads_to_every_page():
    linked = set(re.findall(r"\]\(([\w/-]+\.md)", TEXTS["docs/index.md"]))
    pages = {name.removeprefix("docs/") for name in TEXTS if name.startswith("docs/")}
    assert linked == pages - {"index.md"}
