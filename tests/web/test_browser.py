"""The page in a real browser: what a person does, and what they then see.

Debian's chromium is driven by Playwright; where either is missing, the tests are skipped with a
line that says which. Screenshots are left in ``artefacts/``.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import urlopen
from xml.sax.saxutils import quoteattr

import pytest
from PIL import Image

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: the page is not tried in a browser"
)
CHROMIUM = os.environ.get("VISTERM_CHROMIUM") or shutil.which("chromium")
if CHROMIUM is None:
    pytest.skip(
        "chromium is not installed: the page is not tried in a browser", allow_module_level=True
    )

ARTEFACTS = Path(__file__).parents[2] / "artefacts"
Page = sync_api.Page
expect = sync_api.expect
expect.set_options(timeout=20_000)  # busy machines load a sentence encoder for many seconds
Opener = Callable[..., Page]
VISITS = int(os.environ.get("VISTERM_VISITS", "4"))
"""How often a page is used before its memory is looked at; more of them stand for hours."""


class Server:
    """``visterm serve`` as a process that can be stopped and started again in the same place."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        options = ["--port", str(self.port), "--no-browser", "--as-is"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "visterm", "serve", str(self.folder), *options],
            stdout=subprocess.DEVNULL,
        )
        for _ in range(600):
            with contextlib.suppress(URLError, OSError), urlopen(f"{self.url}/page/icon.svg"):
                return
            assert self.process.poll() is None, "the server ended"
            time.sleep(0.05)
        raise AssertionError("the server does not answer")

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self.process.kill()


@pytest.fixture(scope="module")
def served(taught_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests that leave the collection as they found it."""
    folder = tmp_path_factory.mktemp("browsed") / "holidays"
    server = Server(Path(shutil.copytree(taught_folder, folder)))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def changed(taught_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests that change the collection; each begins with what is there."""
    folder = tmp_path_factory.mktemp("changed") / "holidays"
    server = Server(Path(shutil.copytree(taught_folder, folder)))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    ARTEFACTS.mkdir(exist_ok=True)
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield opened
        opened.close()


@pytest.fixture
def visit(browser: object, request: pytest.FixtureRequest) -> Iterator[Opener]:
    """Open a page; whatever its scripts complain about fails the test."""
    contexts = []
    complaints: list[str] = []

    def opened(url: str, width: int = 1100, height: int = 760, **how: object) -> Page:
        context = browser.new_context(  # type: ignore[attr-defined]
            viewport={"width": width, "height": height}, reduced_motion="reduce", **how
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console",
            lambda said: complaints.append(said.text) if "Content Security" in said.text else None,
        )
        page.goto(url)
        return page

    yield opened
    name = re.sub(r"\W+", "-", request.node.name)
    for number, context in enumerate(contexts):
        for page in context.pages:
            page.screenshot(path=ARTEFACTS / f"{name}{'-' + str(number) if number else ''}.png")
        context.close()
    assert not complaints


def order(page: Page, count: int = 60) -> list[str]:
    """The numbers of the pictures, as they stand on the page."""
    expect(page.locator("#results")).to_have_attribute("aria-busy", "false")
    return page.locator(".tile").evaluate_all("tiles => tiles.map(one => one.dataset.picture)")[
        :count
    ]


def ask(page: Page, query: str) -> list[str]:
    page.fill("#query", query)
    page.press("#query", "Enter")
    expect(page.locator("#heading")).to_have_text(query)
    page.locator(".verdicts:not([hidden])").first.wait_for(state="attached")
    return order(page)


def test_a_search_shows_pictures_a_line_and_a_title(served: Server, visit: Opener) -> None:
    page = visit(served.url)
    page.locator(".tile.there").first.wait_for()
    expect(page.locator("#status-text")).to_have_text("200 pictures")
    assert page.locator("#chips .chip").count() > 5
    newest = order(page)
    found = ask(page, "sea boat")
    assert found != newest
    assert len(found) == 60
    expect(page.locator(".line")).to_have_count(1)
    above = page.locator(".line").evaluate("line => [...line.parentNode.children].indexOf(line)")
    expect(page.locator("#summary")).to_contain_text(f"{above or 'No'} good match")
    assert page.title() == "sea boat · visterm"
    assert page.url.endswith("/?q=sea+boat")
    page.go_back()
    expect(page.locator("#heading")).to_have_text("Newest pictures")
    assert order(page) == newest


def test_words_are_completed_also_after_a_minus(served: Server, visit: Opener) -> None:
    page = visit(served.url)
    page.locator("#query").press_sequentially("sea -mou")
    option = page.locator("#completions [role=option]").first
    expect(option).to_contain_text("-mountain")
    page.keyboard.press("ArrowDown")
    expect(option).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page.locator("#query")).to_have_value("sea -mountain ")
    page.keyboard.press("Enter")
    expect(page.locator("#heading")).to_have_text("sea -mountain")


def test_a_late_answer_leaves_the_completion_that_was_chosen(served: Server, visit: Opener) -> None:
    page = visit(served.url)
    held: list[sync_api.Route] = []
    page.route("**/words?start=mou&*", lambda route: held.append(route))
    page.locator("#query").press_sequentially("mo")
    option = page.locator("#completions [role=option]", has_text="mountain")
    expect(option).to_be_visible()
    page.locator("#query").press_sequentially("u")
    while not held:
        page.wait_for_timeout(10)
    while option.get_attribute("aria-selected") != "true":
        page.keyboard.press("ArrowDown")
    with page.expect_response("**/words?start=mou&*"):
        held[0].continue_()
    page.wait_for_timeout(100)
    expect(option).to_have_attribute("aria-selected", "true")


def test_what_is_typed_while_the_page_loads_stays(served: Server, visit: Opener) -> None:
    page = visit(served.url)
    held: list[sync_api.Route] = []
    page.route("**/main.js*", lambda route: held.append(route))
    page.goto(served.url, wait_until="commit")
    page.locator("#query").press_sequentially("sea")
    while not held:
        page.wait_for_timeout(10)
    held[0].continue_()
    expect(page.locator(".tile").first).to_be_visible()
    expect(page.locator("#query")).to_have_value("sea")


def test_pictures_that_are_being_added_are_shown_as_they_come(
    served: Server, visit: Opener
) -> None:
    page = visit(served.url)
    job = {"id": 7, "kind": "add", "state": "running", "what": "describing", "done": 1, "total": 9}
    event = f"event: job\ndata: {json.dumps({**job, 'result': None, 'error': None})}\n\n"

    def running(route: sync_api.Route) -> None:
        route.fulfill(json={**route.fetch().json(), "job": job})

    page.route("**/api/v1/status", running)
    page.route(
        "**/api/v1/train/events",
        lambda route: route.fulfill(content_type="text/event-stream", body=event),
    )
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url))
    page.goto(f"{served.url}/?q=sea")
    for _ in range(400):
        if sum("/api/v1/search?" in url for url in asked) > 1:  # again, although nobody asked
            break
        page.wait_for_timeout(25)
    else:
        raise AssertionError("the page does not fill up")
    assert order(page)


def test_rows_fill_the_page_and_more_come_with_scrolling(served: Server, visit: Opener) -> None:
    page = visit(f"{served.url}/?q=sky", height=500)
    assert len(order(page)) == 60
    rows: dict[float, list[dict]] = {}
    for box in page.locator(".tile").evaluate_all(
        "tiles => tiles.map(t => t.getBoundingClientRect().toJSON())"
    ):
        rows.setdefault(box["y"], []).append(box)
    widths = {
        round(row[-1]["x"] + row[-1]["width"] - row[0]["x"]) for row in list(rows.values())[:3]
    }
    wide = "list => Math.floor(list.getBoundingClientRect().width)"
    assert widths == {page.locator("#results").evaluate(wide)}
    for _ in range(50):
        page.mouse.wheel(0, 20_000)
        page.wait_for_timeout(200)
        if page.locator(".tile").last.get_attribute("aria-posinset") == "200":
            break
    places = page.locator(".tile").evaluate_all("tiles => tiles.map(one => one.ariaPosInSet)")
    assert places == [str(place) for place in range(200 - len(places) + 1, 201)]
    assert page.locator(".tile").first.get_attribute("aria-setsize") == "200"
    assert len(set(order(page, 999))) == len(places)


def test_a_picture_opens_with_its_words_why_and_neighbours(served: Server, visit: Opener) -> None:
    page = visit(f"{served.url}/?q=sea")
    first, second = order(page)[:2]
    page.locator(".tile .open").first.click()
    view = page.locator("#view")
    expect(view).to_be_visible()
    expect(view.locator("#question")).to_contain_text("Does it fit sea?")
    expect(view.locator(".says .share").first).to_be_visible()
    expect(view.locator(".strip li")).to_have_count(9)
    expect(view.locator("#caption")).not_to_have_value("")
    assert page.url.endswith(f"picture={first}")
    canvas = view.locator("canvas")
    page.keyboard.press("w")
    expect(canvas).to_be_visible()
    page.keyboard.press("w")
    expect(canvas).to_be_hidden()
    view.get_by_role("button", name="Show where", exact=True).click()
    expect(canvas).to_be_visible()
    shades = canvas.evaluate(
        "c => [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data]"
        ".filter((_, n) => n % 4 === 3)"
    )
    assert max(shades) - min(shades) > 60, "some places are lit and some lie in shadow"
    page.screenshot(path=ARTEFACTS / "why.png")
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile(f"picture={second}$"))
    page.go_back()
    expect(view).to_be_hidden()
    page.goto(f"{served.url}/?q=sea&picture={second}")
    expect(view).to_be_visible()
    view.locator(".strip a").first.click()
    expect(page).not_to_have_url(re.compile(f"picture={second}$"))


def test_yes_and_no_change_the_order_and_undo_restores_it(changed: Server, visit: Opener) -> None:
    page = visit(f"{changed.url}/?q=sea+boat")
    before = order(page)
    tile = page.locator(f".tile[data-picture='{before[45]}']")
    tile.hover()
    tile.locator(".yes").click()
    expect(page.locator(".toast")).to_contain_text("Yes, it fits")
    expect(tile).to_have_class(re.compile("said-yes"))
    expect(page.locator("#said")).to_contain_text("learnt anew")
    liked = order(page)
    assert liked.index(before[45]) < 45
    top = page.locator(f".tile[data-picture='{liked[0]}']")
    top.locator(".open").focus()
    page.keyboard.press("n")
    expect(top).to_have_class(re.compile("said-no"))
    page.screenshot(path=ARTEFACTS / "judged.png")
    page.keyboard.press("u")
    expect(page.locator(".toast")).to_contain_text("Taken back: answer to 'sea boat'")
    expect(top).not_to_have_class(re.compile("said-no"))
    assert order(page) == liked
    tile.hover()
    tile.locator(".yes").click()  # a second yes takes the first back
    expect(tile).not_to_have_class(re.compile("said-yes"))
    assert order(page) == before
    page.reload()
    assert order(page) == before


def test_a_caption_survives_a_reload_and_training_shows_its_progress(
    changed: Server, visit: Opener
) -> None:
    page = visit(f"{changed.url}/?q=sea")
    order(page)
    page.locator(".tile .open").nth(2).click()
    field = page.locator("#caption")
    expect(field).not_to_have_value("")
    expect(page.locator("#view .strip li")).to_have_count(9)
    page.keyboard.press("e")
    expect(field).to_be_focused()
    field.fill("sea quokka <b>&amp;</b>")
    field.press("Enter")
    expect(page.locator(".state")).to_contain_text("Saved")
    page.reload()
    expect(page.locator("#caption")).to_have_value("sea quokka <b>&amp;</b>")
    page.keyboard.press("Escape")
    expect(page.locator("#view")).to_be_hidden()
    page.click("#status")
    panel = page.locator("#panel")
    panel.get_by_role("button", name="Learn again").click()
    expect(panel.locator("progress")).to_be_visible()
    expect(page.locator("#status-text")).to_contain_text("Learning")
    expect(page.locator(".toast")).to_contain_text(re.compile("Learnt|no better"), timeout=60_000)
    expect(panel.locator("progress")).to_be_hidden()
    expect(page.locator("#status-text")).to_have_text("200 pictures")


def test_an_empty_collection_says_what_to_do_and_does_it(tmp_path: Path, visit: Opener) -> None:
    folder = tmp_path / "new pictures"
    folder.mkdir()
    server = Server(folder)
    try:
        page = visit(server.url)
        message = page.locator("#message")
        expect(message).to_contain_text("No pictures yet")
        expect(message).to_contain_text("new pictures")
        page.screenshot(path=ARTEFACTS / "empty.png")
        message.get_by_role("button", name="Look for pictures").click()
        expect(page.locator(".toast")).to_contain_text("No new pictures", timeout=60_000)
        page.fill("#query", "sea")
        page.press("#query", "Enter")
        expect(message).to_contain_text("No pictures yet")
    finally:
        server.stop()


def test_words_nobody_taught_come_with_words_that_were(served: Server, visit: Opener) -> None:
    page = visit(f"{served.url}/?q=moutain")
    expect(page.locator("#said")).to_contain_text("is taken for “mountain”")
    page.goto(f"{served.url}/?q=boast")  # an English word is no slip
    expect(page.locator("#message")).to_contain_text("does not know these words yet")
    page.locator("#message .chip", has_text="boat").click()
    expect(page.locator("#heading")).to_have_text("boat")
    assert len(order(page)) == 60
    page.goto(f"{served.url}/?q=%22open")
    expect(page.locator("#message")).to_contain_text("quote is not closed")


def test_an_answer_from_some_of_the_pictures_says_so(served: Server, visit: Opener) -> None:
    page = visit(served.url)

    def searched_partly(route: sync_api.Route) -> None:
        partial = {"searched": 120, "pictures": 200}
        route.fulfill(json={**route.fetch().json(), "partial": partial})

    page.route("**/api/v1/search?*", searched_partly)
    ask(page, "sea")
    expect(page.locator("#summary")).to_contain_text(
        "Only 120 of 200 pictures could be searched just now"
    )


def test_a_server_that_is_restarted_is_found_again(changed: Server, visit: Opener) -> None:
    page = visit(f"{changed.url}/?q=sea")
    before = order(page)
    changed.stop()
    page.fill("#query", "boat")
    page.press("#query", "Enter")
    expect(page.locator("#trouble")).to_contain_text("does not answer")
    page.screenshot(path=ARTEFACTS / "silent.png")
    changed.start()
    expect(page.locator("#trouble")).to_be_hidden(timeout=20_000)
    page.locator(".tile.there").first.wait_for()
    expect(page.locator("#heading")).to_have_text("boat")
    assert len(order(page)) == 60
    page.go_back()
    assert order(page) == before


def test_everything_can_be_done_with_the_keyboard_alone(served: Server, visit: Opener) -> None:
    page = visit(served.url)
    page.locator(".tile.there").first.wait_for()
    page.keyboard.press("/")
    expect(page.locator("#query")).to_be_focused()
    page.keyboard.type("sea")
    page.keyboard.press("Enter")
    expect(page.locator("#heading")).to_have_text("sea")
    found = order(page)
    page.keyboard.press("ArrowDown")
    first = page.locator(f".tile[data-picture='{found[0]}'] .open")
    expect(first).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator(f".tile[data-picture='{found[0]}'] .yes")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    third = page.locator(f".tile[data-picture='{found[2]}'] .open")
    expect(third).to_be_focused()
    page.keyboard.press("ArrowDown")
    below = page.evaluate("document.activeElement.getBoundingClientRect().y")
    assert below > third.bounding_box()["y"]
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page.locator("#view")).to_be_visible()
    expect(page.locator("#view .why")).to_be_visible()
    page.keyboard.press("w")
    expect(page.locator("#view canvas")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#view")).to_be_hidden()
    assert page.evaluate("document.activeElement.closest('.tile') !== null"), "focus comes back"
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()


def test_it_can_be_read_aloud(served: Server, visit: Opener) -> None:
    """Names and roles that a screen reader needs are there."""
    page = visit(f"{served.url}/?q=sea")
    order(page)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll('button, a, input, textarea')]
            .filter(one => one.offsetParent !== null)
            .filter(one => !(one.ariaLabel || one.innerText.trim() || one.labels?.length))
            .map(one => one.outerHTML)"""
    )
    assert nameless == []
    expect(page.get_by_role("search")).to_be_visible()
    expect(page.get_by_role("combobox", name="Search pictures by words")).to_be_visible()
    assert "place 1" in (page.locator(".tile .open").first.get_attribute("aria-label") or "")
    assert page.locator("h1").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(served: Server, visit: Opener, scheme: str) -> None:
    page = visit(f"{served.url}/?q=sea+boat", color_scheme=scheme)
    order(page)
    for place in ("#heading", "#summary", "#status-text", ".line span", "#query"):
        assert page.locator(place).first.evaluate(CONTRAST) >= 4.5, place


CONTRAST = """one => {
  const parse = text => text.match(/[\\d.]+/g).map(Number)
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, n) => sum + v * [0.2126, 0.7152, 0.0722][n], 0)
  const ink = light(parse(getComputedStyle(one).color))
  let at = one
  while (at && parse(getComputedStyle(at).backgroundColor)[3] === 0) at = at.parentElement
  if (!at || at.tagName === 'HEADER') at = document.body
  const paper = light(parse(getComputedStyle(at).backgroundColor))
  return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05)
}"""


def test_a_phone_shows_everything_within_its_width(served: Server, visit: Opener) -> None:
    page = visit(f"{served.url}/?q=sea", width=360, height=740, has_touch=True, is_mobile=True)
    found = order(page)
    wide = "document.documentElement.scrollWidth"
    assert page.evaluate(wide) <= 360
    expect(page.locator(".tile .yes").first).to_be_visible()
    page.screenshot(path=ARTEFACTS / "phone.png")
    page.locator(".tile .open").first.tap()
    view = page.locator("#view")
    expect(view).to_be_visible()
    expect(view.locator(".strip li").first).to_be_visible()
    assert page.evaluate(wide) <= 360
    assert view.locator(".mount").bounding_box()["width"] <= 360
    view.get_by_role("button", name="Close", exact=True).tap()
    expect(view).to_be_hidden()
    assert order(page) == found


def test_a_folder_that_says_so_is_named_in_the_grid_and_in_the_view(
    own: Path, visit: Opener
) -> None:
    from visterm.collection import Collection

    with Collection.open(own) as collection:
        collection.add(names="folders")
    server = Server(own)
    try:
        page = visit(f"{server.url}/?q=alps")
        expect(page.locator("#results")).to_have_attribute("aria-busy", "false")
        tile = page.locator(".tile.written").first
        expect(tile).to_have_attribute("data-says", "folder: alps")
        assert "its folder says alps" in tile.locator(".open").get_attribute("aria-label")
        tile.locator(".open").click()
        expect(page.locator("#view .why .written")).to_have_text("Its folder says “alps”.")
        expect(page.locator("#view .judge .reason")).to_have_text(": its folder says “alps”")
        fits = "card => card.scrollWidth <= card.clientWidth"
        assert page.locator("#view .judge").evaluate(fits), "nothing is cut off"
    finally:
        server.stop()


HARM = (
    "<img src=x onerror=document.body.dataset.harmed=1><svg onload=document.body.dataset.harmed=1>"
)
XMP = """<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><r:Description
    xmlns:dc="http://purl.org/dc/elements/1.1/" dc:title={}/></r:RDF>"""


def test_text_that_means_harm_is_shown_and_never_run(own: Path, visit: Opener) -> None:
    """Scripts in names of folders and files, captions, metadata, sidecars, and what is typed."""
    root = own.rename(own.with_name(HARM))
    planted = plant_harm(root)
    server = Server(root)
    try:
        page = visit(server.url)

        def check(view: str) -> None:
            assert "onerror" in told(page), view
            assert not harmed(page), view

        page.locator("#filters .chip", has_text="onerror").click()
        expect(page.locator("#summary")).to_contain_text("onerror")
        check("filters")
        for query in (HARM, f'"{HARM}"', 'in:"<svg/onload=alert(1)>"'):
            page.goto(f"{server.url}/?q={quote(query)}")
            expect(page.locator("#heading")).to_have_text(query)
            expect(page.locator("#results")).to_have_attribute("aria-busy", "false")
            assert not harmed(page), query
        ask(page, "sea")
        for view in views(page):
            check(view)
        page.goto(f"{server.url}/?q={quote(HARM)}&picture={planted}")
        for place in ("#view-title", "#view .where", "#view .location", "#question"):
            expect(page.locator(place)).to_contain_text("onerror")
        expect(page.locator("#caption")).to_have_value(re.compile("onerror"))
        found = [re.compile(f"^{source}.*: .*onerror") for source in ("exif", "txt", "xmp-sidecar")]
        expect(page.locator("#view .sources li")).to_have_text(found)
        expect(page.locator("#view .strip li").first).to_be_visible()
        check("a planted picture")
        page.keyboard.press("Escape")
        page.fill("#query", "sea <im")
        page.keyboard.type("g")
        assert not harmed(page)
    finally:
        server.stop()


def plant_harm(root: Path) -> int:
    """Write it wherever somebody else's text comes from; returns the number of a new picture."""
    from visterm.collection import Collection

    folder = root / HARM[:60]
    folder.mkdir()
    victim = folder / f"{HARM}.jpg"
    with Image.open(min(root.glob("scene-*.jpg"))) as copied:
        exif = Image.Exif()
        exif[270] = f"sea {HARM}"
        copied.save(victim, exif=exif)
    victim.with_suffix(".txt").write_text(f"sea {HARM}")
    victim.with_suffix(".xmp").write_text(XMP.format(quoteattr(f"sea {HARM}")))
    with Collection.open(root) as collection:
        collection.add(folders=True)
        collection.caption(victim, f"sea sea sea {HARM} javascript:alert(1)")
        collection.judge("sea", victim, True)
        results = collection.search("sea", 500).results
        collection.caption_many([one.picture for one in results], HARM, more=True)
        collection.near_duplicates()
    return next(one.picture for one in results if str(one.path).endswith(f"{HARM}.jpg"))


def told(page: Page) -> str:
    """What the uppermost view says, to those who see it and to those who hear it."""
    return str(
        page.evaluate(
            """() => {
                const top = document.querySelector("dialog[open]") || document.querySelector("main")
                const named = [...top.querySelectorAll("[alt], [aria-label]")]
                return [top.innerText, ...named.map(one => one.alt || one.ariaLabel)].join("\\n")
            }"""
        )
    )


def harmed(page: Page) -> bool:
    """Whether something of the text became a part of the page, or ran."""
    return bool(
        page.evaluate(
            """document.body.dataset.harmed !== undefined
            || document.querySelectorAll("img[src=x], [onload], [onerror]").length > 0"""
        )
    )


def test_years_narrow_by_a_click_and_time_orders(served: Server, visit: Opener) -> None:
    page = visit(served.url)
    page.locator("#filters .chip", has_text="in:alps").click()
    expect(page.locator("#heading")).to_have_text("in:alps")
    expect(page.locator("#summary")).to_contain_text("Only pictures in the folder alps")
    assert len(order(page)) == 20
    page.locator("#filters .order").select_option("time")
    expect(page).to_have_url(re.compile("sort=time"))
    assert len(order(page)) == 20
    page.locator("#filters [aria-pressed=true]").click()
    expect(page.locator("#heading")).to_have_text("Newest pictures")


def test_a_range_is_chosen_answered_and_taken_back_as_one(changed: Server, visit: Opener) -> None:
    page = visit(changed.url)
    before = ask(page, "sea")
    tiles = page.locator(".tile .open")
    tiles.nth(2).click(modifiers=["Shift"])
    tiles.nth(5).click(modifiers=["Shift"])
    expect(page.locator(".tile.chosen")).to_have_count(4)
    page.get_by_role("button", name="No to all").click()
    expect(page.locator("#toasts")).to_contain_text("4 pictures marked no", timeout=20_000)
    expect(page.locator("#selection")).to_be_hidden()
    page.locator("#toasts button").click()
    expect(page.locator("#toasts")).to_contain_text("Taken back for 4 pictures", timeout=20_000)
    expect(page.locator(".said-no")).to_have_count(0, timeout=20_000)
    assert order(page) == before


def test_teaching_asks_ten_questions_and_says_what_they_brought(
    changed: Server, visit: Opener
) -> None:
    page = visit(changed.url)
    ask(page, "boat")
    page.click("#about-word")
    page.get_by_role("button", name="Teach this word").click()
    expect(page.locator(".question")).to_have_count(10)
    for place in range(10):
        page.locator(".question").nth(place).locator(".yes" if place % 2 else ".no").click()
    page.get_by_role("button", name="Learn from 10 answers").click()
    expect(page.locator("#sheet")).to_contain_text("foreseen", timeout=20_000)
    page.request.delete(f"{changed.url}/api/v1/feedback")


def test_fifty_thousand_pictures_are_a_few_hundred_in_the_page(
    served: Server, visit: Opener
) -> None:
    page = visit(served.url)
    order(page)
    counts = page.evaluate(
        """async () => {
            const { Grid } = await import('/page/grid.js')
            const grid = new Grid({ onOpen() {}, onJudge() {}, onChoose() {} })
            const items = Array.from({ length: 50000 }, (_, n) => ({
                picture: n + 1, path: `${n}.jpg`, width: 3, height: 2 + n % 3,
                thumbnail: '/page/icon.svg?v=1', caption: null }))
            grid.show(items)
            const seen = []
            for (const share of [0, 0.5, 1]) {
                scrollTo(0, share * document.documentElement.scrollHeight)
                grid.render()
                seen.push(document.querySelectorAll('.tile').length)
            }
            grid.focus(25000)
            seen.push(document.activeElement.closest('.tile').dataset.picture)
            return seen
        }"""
    )
    *tiles, focused = counts
    assert all(20 < count < 1000 for count in tiles)
    assert focused == "25001"


def test_a_page_that_is_used_for_hours_keeps_its_memory(served: Server, visit: Opener) -> None:
    """Searches, an open picture and a way back, again and again; what is unreachable is let go."""
    page = visit(served.url)
    tab = page.context.new_cdp_session(page)

    def used_for(rounds: int) -> tuple[float, int]:
        for number in range(rounds):
            ask(page, ("sea", "sky -tree", "boat")[number % 3])
            page.locator(".tile .open").first.click()
            expect(page.locator("#view .strip li")).to_have_count(9)
            page.keyboard.press("Escape")
            expect(page.locator("#view")).to_be_hidden()
        page.evaluate("document.activeElement.blur()")
        tab.send("HeapProfiler.collectGarbage")
        heap = tab.send("Runtime.getHeapUsage")["usedSize"]
        return heap, tab.send("Memory.getDOMCounters")["nodes"]

    heap, nodes = used_for(VISITS)
    later_heap, later_nodes = used_for(2 * VISITS)
    # Compiled code and its caches come in steps, which say nothing about what is kept.
    assert later_heap < 1.5 * heap, (heap, later_heap)
    assert later_nodes < 1.1 * nodes, (nodes, later_nodes)


@pytest.fixture(scope="session")
def axe() -> str:
    """axe-core, as axe-playwright-python brings it."""
    package = resources.files(pytest.importorskip("axe_playwright_python"))
    return package.joinpath("axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_view_has_a_serious_finding_of_axe(
    served: Server, visit: Opener, axe: str, scheme: str
) -> None:
    page = visit(served.url, color_scheme=scheme, bypass_csp=True)
    ask(page, "sea")

    def check(view: str) -> None:
        page.evaluate(axe)
        found = page.evaluate(
            "axe.run({ resultTypes: ['violations'] }).then(found => found.violations)"
        )
        serious = [
            (one["id"], [node["html"][:120] for node in one["nodes"]][:3])
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
        assert not serious, view

    for view in views(page):
        check(view)


def views(page: Page) -> Iterator[str]:
    """Open all views, one after the other, from what a search for one word found."""
    yield "results"
    page.locator(".tile .open").first.click(modifiers=["Shift"])
    expect(page.locator("#selection")).to_be_visible()
    yield "selection"
    page.keyboard.press("Escape")
    page.click("#about-word")
    page.locator("#sheet .cards img").first.wait_for()
    yield "word"
    page.get_by_role("button", name="Teach this word").click()
    page.locator(".question").first.wait_for()
    yield "teaching"
    page.keyboard.press("Escape")
    page.click("#status")
    expect(page.locator("#panel")).to_be_visible()
    yield "status"
    page.get_by_role("button", name="Near-duplicates").click()
    page.locator("#sheet .groups").wait_for(state="attached")
    yield "duplicates"
    page.keyboard.press("Escape")
    page.locator(".tile .open").first.click()
    page.locator("#view .says").wait_for()
    yield "picture"
