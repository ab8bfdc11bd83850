"""The page in a real browser: what a person does, and what they then see.

Debian's chromium is driven by Playwright; where either is missing, the tests are skipped with a
line that says which. A test that fails leaves screenshots in ``artefacts/``.
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
from functools import partial
from importlib import resources
from itertools import chain
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

    failed = request.session.testsfailed
    yield opened
    name = re.sub(r"\W+", "-", request.node.name)
    for number, context in enumerate(contexts):
        for page in context.pages if request.session.testsfailed > failed else ():
            page.screenshot(path=ARTEFACTS / f"{name}{'-' + str(number) if number else ''}.png")
        context.close()
    assert not complaints


def order(page: Page, count: int = 60) -> list[str]:
    """The numbers of the pictures, as they stand on the page."""
    expect(page.locator("#results")).to_have_attribute("aria-busy", "false")
    return page.locator(".tile").evaluate_all("tiles => tiles.map(one => one.dataset.picture)")[
        :count
    ]


def expect_order(page: Page, wanted: list[str]) -> None:
    """Marks appear before the answer that moves pictures: wait for it."""
    for _ in range(100):
        if order(page) == wanted:
            return
        page.wait_for_timeout(100)
    assert order(page) == wanted


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
    newest = order(page)
    found = ask(page, "sea boat")
    assert found != newest
    assert len(found) == 60
    good = page.request.get(f"{served.url}/api/v1/search?query=sea+boat&k=1").json()["cutoff"]
    assert good, "or the line means nothing"
    expect(page.locator("#summary")).to_contain_text(f"{good} good match")
    first = page.locator(".line").first
    above = first.evaluate("line => [...line.parentNode.children].indexOf(line)")
    assert above == good
    assert page.title() == "sea boat · visterm"
    assert page.url.endswith("/?q=sea+boat")
    page.go_back()
    expect(page.locator("#heading")).to_have_text("Newest pictures")
    expect_order(page, newest)


def test_words_are_completed_also_after_a_minus(served: Server, visit: Opener) -> None:
    page = visit(served.url)
    page.locator("#query").press_sequentially("sea -mou")
    option = page.locator("#completions [role=option]").first
    expect(option).to_contain_text("-mountain")
    page.keyboard.press("ArrowDown")
    expect(option).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")  # what is chosen is searched
    expect(page.locator("#heading")).to_have_text("sea -mountain")
    assert order(page)
    page.locator("#query").fill("")
    page.locator("#query").press_sequentially("mou")
    option.click()
    expect(page.locator("#heading")).to_have_text("mountain")


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
    expect(page.locator("#said")).to_contain_text("The order has changed")
    liked = order(page)
    assert liked.index(before[45]) < 45
    top = page.locator(f".tile[data-picture='{liked[0]}']")
    top.locator(".open").focus()
    page.keyboard.press("n")
    expect(top).to_have_class(re.compile("said-no"))
    page.keyboard.press("u")
    expect(page.locator(".toast")).to_contain_text("Undone: answer to “sea boat”")
    expect(top).not_to_have_class(re.compile("said-no"))
    expect_order(page, liked)
    tile.hover()
    tile.locator(".yes").click()  # a second yes takes the first back
    expect(tile).not_to_have_class(re.compile("said-yes"))
    expect_order(page, before)
    page.reload()
    expect_order(page, before)


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
        message.get_by_role("button", name="Look for pictures").click()
        expect(page.locator(".toast")).to_contain_text("No new pictures", timeout=60_000)
        page.fill("#query", "sea")
        page.press("#query", "Enter")
        expect(message).to_contain_text("No pictures yet")
    finally:
        server.stop()


def test_words_nobody_taught_come_with_words_that_were(served: Server, visit: Opener) -> None:
    page = visit(f"{served.url}/?q=moutain")
    expect(page.locator("#said")).to_contain_text("is searched as “mountain”")
    page.goto(f"{served.url}/?q=boast")  # an English word is no slip
    expect(page.locator("#summary")).to_contain_text("does not know “boast” yet")
    page.locator("#chips .chip", has_text="boat").click()
    expect(page.locator("#heading")).to_have_text("boat")
    assert len(order(page)) == 60
    page.goto(f"{served.url}/?q=%22open")
    expect(page.locator("#message")).to_contain_text("quote is not closed")


def test_a_word_nobody_knows_is_created_by_saying_yes_to_a_picture(
    changed: Server, visit: Opener
) -> None:
    page = visit(f"{changed.url}/?q=zorblax")
    expect(page.locator("#summary")).to_contain_text("Say yes (✓) to a picture")
    expect(page.locator("#teach")).to_be_hidden()
    tiles = page.locator(".tile.there")
    picture = tiles.nth(2).get_attribute("data-picture")
    expect(tiles.nth(2).locator(".no")).to_be_hidden()
    tiles.nth(2).locator(".yes").click()
    expect(page.locator("#summary")).to_contain_text("Learnt from 1 picture you said yes to")
    expect(page.locator(".tile").first).to_have_attribute("data-picture", str(picture))
    expect(page.locator("#teach")).to_be_visible()
    page.locator(".toast button", has_text="Undo").click()
    expect(page.locator("#summary")).to_contain_text("does not know “zorblax” yet")
    expect(page.locator("#teach")).to_be_hidden()


def fulfilled(answer: str, route: sync_api.Route) -> None:
    """Answer a request in place of the server."""
    route.fulfill(status=201, body=answer, content_type="application/json")


def test_an_answer_that_contradicts_captions_says_that_it_counts_less(
    served: Server, visit: Opener
) -> None:
    page = visit(f"{served.url}/?q=sea")
    order(page)
    for weight, said in ((0, "the ranking stays"), (0.25, "It counts less")):
        made = {"id": 1, "query": "sea", "picture": 1, "relevant": True, "time": 0}
        answer = json.dumps(made | {"weight": weight})
        page.unroute_all()
        page.route("**/api/v1/feedback", partial(fulfilled, answer))
        page.locator(".tile .open").nth(3).focus()
        page.keyboard.press("y")
        expect(page.locator(".toast")).to_contain_text(said)


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


def test_a_server_that_is_restarted_is_found_again_and_no_picture_is_called_lost(
    changed: Server, visit: Opener
) -> None:
    page, other = (visit(f"{changed.url}/?q=sea") for _ in range(2))
    before = order(page)
    order(other)
    other.locator(".tile .open").first.click()
    other.locator("#view .strip").wait_for()
    changed.stop()
    page.fill("#query", "boat")
    page.press("#query", "Enter")
    expect(page.locator("#trouble")).to_contain_text("visterm has stopped")
    for _ in range(9):  # the next ones may be there already
        other.keyboard.press("ArrowRight")
    gone = other.locator("#view .gone-text")
    expect(gone).to_contain_text("visterm has stopped")
    changed.start()
    expect(page.locator("#trouble")).to_be_hidden(timeout=20_000)
    page.locator(".tile.there").first.wait_for()
    expect(page.locator("#heading")).to_have_text("boat")
    assert len(order(page)) == 60
    page.go_back()
    expect_order(page, before)
    expect(gone).to_be_hidden()
    expect(other.locator("#view .mount img")).to_be_visible()


def test_everything_can_be_done_with_the_keyboard_alone(served: Server, visit: Opener) -> None:
    page = visit(served.url)
    page.locator(".tile.there").first.wait_for()
    page.keyboard.press("/")
    expect(page.locator("#query")).to_be_focused()
    page.keyboard.type("sea")
    page.keyboard.press("Enter")
    expect(page.locator("#heading")).to_have_text("sea")
    found = order(page)
    first = page.locator(f".tile[data-picture='{found[0]}'] .open")
    expect(first).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.locator(f".tile[data-picture='{found[0]}'] .yes")).to_be_focused()
    page.keyboard.press("Shift+Tab")
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
    assert "result 1" in (page.locator(".tile .open").first.get_attribute("aria-label") or "")
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
    page.locator(".tile .open").first.tap()
    view = page.locator("#view")
    expect(view).to_be_visible()
    expect(view.locator(".strip li").first).to_be_visible()
    assert page.evaluate(wide) <= 360
    assert view.locator(".mount").bounding_box()["width"] <= 360
    view.get_by_role("button", name="Close", exact=True).tap()
    expect(view).to_be_hidden()
    expect_order(page, found)


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
        assert "its folder has alps" in tile.locator(".open").get_attribute("aria-label")
        tile.locator(".open").click()
        expect(page.locator("#view .why .written")).to_have_text("Its folder has “alps”.")
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
    page.locator("#filters .chip.folder", has_text="alps").click()
    expect(page.locator("#heading")).to_have_text("in:alps")
    expect(page.locator("#summary")).to_contain_text("Only pictures in the folder alps")
    assert len(order(page)) == 20
    page.locator("#filters [aria-pressed=true]").click()
    expect(page.locator("#heading")).to_have_text("Newest pictures")
    best = ask(page, "sea")
    page.locator("#order").select_option("time")
    expect(page).to_have_url(re.compile("sort=time"))
    page.locator(".line").first.wait_for(state="detached")
    assert set(order(page)) <= set(best)
    expect(page.locator("#summary")).to_have_text(re.compile(r"good match(es)?, latest first$"))


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
    expect(page.locator("#toasts")).to_contain_text("Undone:", timeout=20_000)
    expect(page.locator(".said-no")).to_have_count(0, timeout=20_000)
    expect_order(page, before)


def test_teaching_shows_the_first_pictures_before_and_after(changed: Server, visit: Opener) -> None:
    page = visit(changed.url)
    ask(page, "boat")
    page.click("#teach")
    expect(page.locator(".question")).to_have_count(10)
    for place in range(10):
        page.locator(".question").nth(place).locator(".yes" if place % 2 else ".no").click()
    page.get_by_role("button", name="Learn from 10 answers").click()
    rows = page.locator(".before-after .ranking")
    expect(rows).to_have_count(2)
    boxes = [rows.nth(number).bounding_box() for number in (0, 1)]
    assert boxes[0]["y"] == boxes[1]["y"], "side by side"
    expect(rows.nth(1).locator("img")).to_have_count(6)
    expect(page.locator(".ranking", has_text="Still uncertain").locator("img")).to_have_count(4)
    expect(page.locator("#sheet p").first).to_contain_text("before")
    page.request.delete(f"{changed.url}/api/v1/feedback")


def test_doubtful_captions_are_corrected_and_taken_back_as_one(
    changed: Server, visit: Opener
) -> None:
    page = visit(f"{changed.url}/?q=sea")
    wrong = order(page)[-1]
    page.evaluate(
        """picture => fetch(`/api/v1/pictures/${picture}/captions`, {method: 'PUT', headers:
        {'Content-Type': 'application/json'}, body: '{"text": "sea and stones"}'})""",
        int(wrong),
    )
    page.get_by_role("button", name="Review", exact=True).click()
    sheet = page.locator("#sheet")
    doubt = sheet.locator(".question", has_text="sea and stones")
    expect(doubt).to_contain_text("shows it:")
    page.screenshot(path=ARTEFACTS / "review.png")
    doubt.get_by_role("button", name="Yes").click()
    doubt.get_by_role("button", name="Yes").click()
    expect(sheet.get_by_role("button", name="Correct the captions")).to_be_disabled()
    doubt.get_by_role("button", name="No").click()
    sheet.get_by_role("button", name="Save 1 answer").click()
    expect(page.locator(".toast")).to_contain_text("1 caption changed")
    expect(sheet.locator(".question", has_text="and stones")).to_have_count(0)
    page.locator(".toast button").click()
    expect(page.locator(".toast")).to_contain_text("Undone")
    caption = page.evaluate(
        "picture => fetch(`/api/v1/pictures/${picture}/captions`).then(one => one.json())",
        int(wrong),
    )
    assert caption["caption"] == "sea and stones"


def test_review_waits_for_a_job_and_is_not_offered_without_captions(
    served: Server, visit: Opener
) -> None:
    page = visit(f"{served.url}/?q=sea")
    page.get_by_role("button", name="Review", exact=True).click()
    page.route(
        "**/api/v1/review",
        lambda route: route.fulfill(status=202, json={"queued": True, "changed": 0}),
    )
    sheet = page.locator("#sheet")
    sheet.locator(".question .yes").first.click()
    sheet.get_by_role("button", name="Save 1 answer").click()
    expect(sheet).to_contain_text("it counts when the background job is done")
    expect(sheet.locator(".question")).to_have_count(0)
    page.route(
        "**/api/v1/status",
        lambda route: route.fulfill(json={**route.fetch().json(), "captioned": 0}),
    )
    page.goto(f"{served.url}/?q=sea")
    expect(page.locator("#teach")).to_be_visible()
    expect(page.get_by_role("button", name="Review", exact=True)).to_be_hidden()


def test_a_detail_is_framed_with_the_mouse_and_with_keys(served: Server, visit: Opener) -> None:
    page = visit(f"{served.url}/?q=sea")
    shown = order(page)[0]
    page.locator(".tile .open").first.click()
    page.get_by_role("button", name="Search by a detail").click()
    box = page.locator(".mount").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.1 * box["width"], box["y"] + 0.2 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.7 * box["height"], steps=4)
    page.mouse.up()
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowLeft")
    expect(page.get_by_role("button", name="Find pictures like this part")).to_be_focused()
    page.screenshot(path=ARTEFACTS / "detail.png")
    expect(page.locator("#view")).to_be_visible()  # it neither turned the page nor left it
    page.get_by_role("button", name="Find pictures like this part").click()
    expect(page.locator("#heading")).to_have_text("Similar to a part of this picture")
    found = re.search(rf"like={shown}&region=([\d.]+)%2C([\d.]+)%2C([\d.]+)%2C([\d.]+)$", page.url)
    assert found is not None
    assert [round(float(one), 1) for one in found.groups()] == [0.1, 0.2, 0.5, 0.7]
    expect(page.locator("#like")).to_contain_text("part of")
    by_part = order(page)
    page.go_back()
    expect(page.locator("#view")).to_be_visible()
    page.keyboard.press("d")
    expect(page.locator(".detail-bar")).to_be_visible()
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Escape")
    expect(page.locator(".detail-bar")).to_be_hidden()
    page.keyboard.press("d")
    expect(page.locator(".detail-bar")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"region=0\.300%2C0\.300%2C0\.700%2C0\.700"))
    expect(page.locator("#results")).to_have_attribute("aria-busy", "false")
    assert order(page) != by_part


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
def test_no_view_has_a_finding_of_axe(served: Server, visit: Opener, axe: str, scheme: str) -> None:
    page = visit(served.url, color_scheme=scheme, bypass_csp=True)
    ask(page, "sea")
    rules = {"runOnly": ["color-contrast"]} if scheme == "dark" else {}  # what else may differ

    def check(view: str) -> None:
        if page.evaluate("!window.axe"):
            page.evaluate(axe)
        found = page.evaluate(
            "rules => axe.run({ resultTypes: ['violations'], ...rules }).then(f => f.violations)",
            rules,
        )
        named = [(one["id"], [node["html"][:120] for node in one["nodes"]][:3]) for one in found]
        assert not named, view

    for view in chain(views(page), other_views(page)):
        check(view)


def views(page: Page) -> Iterator[str]:
    """Open all views, one after the other, from what a search for one word found."""
    yield "results"
    page.locator(".tile .open").first.click(modifiers=["Shift"])
    expect(page.locator("#selection")).to_be_visible()
    page.locator(".menu summary").click()
    yield "selection"
    page.get_by_role("button", name="Caption").click()
    yield "captions of many"
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(page.locator("#selection")).to_be_hidden()
    page.click("#teach")
    page.locator(".question").first.wait_for()
    yield "teaching"
    page.get_by_role("button", name="About this word").click()
    page.locator("#sheet .cards img").first.wait_for()
    yield "word"
    page.keyboard.press("Escape")
    page.click("#status")
    expect(page.locator("#panel")).to_be_visible()
    yield "status"
    page.get_by_role("button", name="Near-duplicates").click()
    page.locator("#sheet .groups").wait_for(state="attached")
    yield "duplicates"
    page.keyboard.press("Escape")
    page.locator(".tile .open").first.click()
    page.locator("#view .strip").wait_for()
    yield "picture"
    page.keyboard.press("w")
    page.keyboard.press("f")
    yield "picture alone"
    page.keyboard.press("f")
    page.keyboard.press("Escape")
    expect(page.locator("#view")).to_be_hidden()


def other_views(page: Page) -> Iterator[str]:
    """Those that show nothing of what others have written."""
    page.click("#help-button")
    yield "help"
    page.keyboard.press("Escape")
    page.fill("#query", "")
    page.locator("#completions li").first.wait_for()
    yield "completions"
    page.click("#home")
    page.locator(".beginning").first.wait_for()
    yield "start"
    page.locator(".tile").first.hover()
    page.locator(".tile .similar").first.click()
    expect(page.locator("#like")).to_be_visible()
    yield "similar"
    page.goto(f"{page.url.split('?')[0]}?q=boast")
    page.locator(".only-yes .tile").first.wait_for()
    yield "new word"
    page.goto(f"{page.url.split('?')[0]}?q=%22open")
    page.locator("#message").wait_for()
    yield "message"


def test_enter_leaves_the_box_so_that_keys_judge_pictures(changed: Server, visit: Opener) -> None:
    page = visit(changed.url)
    found = ask(page, "sea")
    first = page.locator(f".tile[data-picture='{found[0]}']")
    expect(first.locator(".open")).to_be_focused()
    page.keyboard.press("n")
    expect(first).to_have_class(re.compile("said-no"))
    expect(page.locator("#query")).to_have_value("sea")
    expect(page.locator("#said")).to_contain_text("The order has changed")
    expect(first.locator(".open")).to_be_focused()
    page.keyboard.press("n")  # a second no takes the first back, wherever the picture is now
    expect(page.locator("#said")).to_contain_text("Answer taken back")
    expect_order(page, found)


def test_old_pictures_are_dimmed_until_the_new_answer_is_there(
    served: Server, visit: Opener
) -> None:
    page = visit(served.url)
    found = ask(page, "sea")
    held: list[sync_api.Route] = []
    page.route("**/api/v1/search?*", lambda route: held.append(route))
    page.fill("#query", "boat")
    page.press("#query", "Enter")
    while not held:
        page.wait_for_timeout(10)
    expect(page.locator("#results")).to_have_css("opacity", "0.3")
    expect(page.locator("#heading")).to_have_text("sea")
    assert page.locator(".tile").first.get_attribute("data-picture") == found[0]
    for route in held:
        route.continue_()
    expect(page.locator("#heading")).to_have_text("boat")
    expect(page.locator("#results")).to_have_css("opacity", "1")


DROP = """async names => {
    const blob = await (await fetch(document.querySelector('.tile img').src)).blob()
    const data = new DataTransfer()
    data.items.add(new File([blob], 'from elsewhere.jpg', { type: 'image/jpeg' }))
    const given = { dataTransfer: data, bubbles: true, cancelable: true }
    for (const name of names) document.body.dispatchEvent(new DragEvent(name, given))
}"""


def test_a_picture_that_is_dropped_replaces_the_query(
    served: Server, visit: Opener, tmp_path: Path
) -> None:
    page = visit(served.url)
    ask(page, "sea")
    page.evaluate(DROP, ["dragenter"])
    expect(page.locator("#drop")).to_contain_text("Drop a picture")
    page.evaluate(DROP, ["drop"])
    expect(page.locator("#drop")).to_be_hidden()
    expect(page.locator("#heading")).to_have_text("Similar to from elsewhere.jpg")
    expect(page.locator("#query")).to_have_value("")
    expect(page.locator("#like")).to_contain_text("from elsewhere.jpg")
    assert "q=" not in page.url
    similar = order(page)
    page.reload()
    expect(page.locator("#heading")).to_have_text("Similar to from elsewhere.jpg")
    expect_order(page, similar)
    Image.new("RGB", (40, 30), "teal").save(tmp_path / "chosen.png")
    with page.expect_file_chooser() as chooser:
        page.click("#pick")
    chooser.value.set_files(tmp_path / "chosen.png")
    expect(page.locator("#heading")).to_have_text("Similar to chosen.png")
    page.go_back()
    page.go_back()
    expect(page.locator("#heading")).to_have_text("sea")
    expect(page.locator("#query")).to_have_value("sea")
    expect(page.locator("#like")).to_be_hidden()


def test_a_picture_has_one_probability_that_agrees_with_the_lines(
    served: Server, visit: Opener
) -> None:
    page = visit(f"{served.url}/?q=sea")
    order(page)
    said = page.locator("#results > li").evaluate_all(
        """items => items.map(one => one.className === 'line' ? one.innerText
            : (/^(<|>)? ?\\d+ %/.exec(one.querySelector('.open').ariaLabel) || [''])[0])"""
    )
    most, least = 100, 50
    for text in said:
        if "matches" in text:
            most, least = (49, 10) if text == "Possible matches" else (9, 0)
        elif text[0] not in "<>":
            assert least <= int(text.split()[0]) <= most, said
    page.locator(".tile .open").nth(1).click()
    view = page.locator("#view")
    expect(view.locator("#question .probability")).to_have_text(
        re.compile(re.escape([text for text in said if "matches" not in text][1]))
    )
    expect(view.locator(".why")).to_be_visible()
    assert not re.search(r"\d", view.locator(".why").inner_text())
    expect(view.locator(".says")).to_be_visible()
    assert "sea" not in view.locator(".says .share span:first-child").all_inner_texts()


def test_the_lit_places_of_a_picture_have_no_seams(served: Server, visit: Opener) -> None:
    page = visit(served.url)
    steepest = page.evaluate(
        """async () => {
            const { shade } = await import('/page/why.js')
            const canvas = document.createElement('canvas')
            shade(canvas, [[1, -1, 1], [0, 1, -1], [1, 0, 1]], [0.2, 0, 0.8, 1], 1.5)
            const { width, height } = canvas
            const pixels = canvas.getContext('2d').getImageData(0, 0, width, height).data
            let most = 0
            for (let n = 4; n < pixels.length; n += 4) {
                if ((n / 4) % width) most = Math.max(most, Math.abs(pixels[n + 3] - pixels[n - 1]))
            }
            return most
        }"""
    )
    assert 0 < steepest <= 16


@pytest.fixture(scope="module")
def dated(taught_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Pictures some of which say when and where they were taken."""
    from visterm.collection import Collection

    own = Path(shutil.copytree(taught_folder, tmp_path_factory.mktemp("dated") / "holidays"))
    for number, path in enumerate(sorted(own.glob("scene-*.jpg"))[:6]):
        exif = Image.Exif()
        exif[0x0132] = exif.get_ifd(0x8769)[0x9003] = f"2019:{number + 3:02d}:11 12:00:00"
        exif.get_ifd(0x8825).update(
            {1: "N", 2: (46.0, 30.0, 0.0), 3: "E", 4: (7.0 + number % 2, 0.0, 0.0)}
        )
        with Image.open(path) as picture:
            picture.save(path, exif=exif)
    with Collection.open(own) as collection:
        collection.add()
    server = Server(own)
    yield server
    server.stop()


def test_the_first_page_shows_the_newest_and_words_to_begin_with(
    dated: Server, visit: Opener
) -> None:
    page = visit(dated.url)
    expect(page.locator("#summary")).to_have_text("By the time they were taken")
    first = order(page)[:6]
    taken = [page.request.get(f"{dated.url}/api/v1/pictures/{n}").json()["taken"] for n in first]
    assert taken == [f"2019-{month:02d}-11T12:00:00" for month in (8, 7, 6, 5, 4, 3)]
    beginning = page.locator(".beginning").first
    beginning.locator("img").wait_for()
    word = beginning.inner_text()
    page.locator("#query").focus()
    options = page.locator("#completions [role=option]")
    expect(options).to_have_count(3)  # examples of the query language
    expect(options.nth(0)).to_contain_text(f"{word} ")
    expect(options.nth(1)).to_contain_text(f"{word} -")
    expect(options.nth(2)).to_contain_text(f"{word} 2019")
    beginning.click()
    expect(page.locator("#heading")).to_have_text(word)
    cutoff = page.request.get(f"{dated.url}/api/v1/search?query={word}&k=1").json()
    assert cutoff["cutoff"] or cutoff["possible"], "the word is really there"
    page.click("#home")
    expect(page.locator("#heading")).to_have_text("Newest pictures")
    page.locator("#query").focus()
    expect(options.nth(0)).to_contain_text("searched before")
    options.nth(0).click()
    expect(page.locator("#heading")).to_have_text(word)


def test_months_and_places_narrow_by_a_click(dated: Server, visit: Opener) -> None:
    page = visit(dated.url, width=1280)
    months = page.locator("#aside .month")
    expect(months.filter(has_text="Aug")).to_contain_text("1")
    months.filter(has_text="Aug").click()
    expect(page.locator("#heading")).to_have_text("2019-08")
    assert len(order(page)) == 1
    page.go_back()
    place = months.filter(has_text="46.5° N, 7.0° E")
    expect(place).to_contain_text("3")
    place.click()
    expect(page.locator("#summary")).to_contain_text("within 10 km")
    assert len(order(page)) == 3
    phone = visit(dated.url, width=390, height=844, has_touch=True, is_mobile=True)
    expect(phone.locator("#aside")).to_be_hidden()
    phone.locator("#when").tap()
    expect(phone.locator("#aside .month").first).to_be_in_viewport()


def test_one_thing_or_another_is_searched_but_not_judged(served: Server, visit: Opener) -> None:
    page = visit(f"{served.url}/?q=sea+OR+snow")
    order(page)
    expect(page.locator("#summary")).to_contain_text("good match")
    expect(page.locator("#order")).to_be_visible()
    expect(page.locator("#teach")).to_be_hidden()
    assert not page.locator(".verdicts:not([hidden])").count()
    page.keyboard.press("y")
    expect(page.locator("#toasts")).to_be_empty()
    ask(page, "sea")
    expect(page.locator("#teach")).to_be_visible()


def test_both_answers_fit_into_a_narrow_picture(served: Server, visit: Opener) -> None:
    page = visit(f"{served.url}/?q=sea", width=390, height=844, has_touch=True, is_mobile=True)
    order(page)
    tile = page.locator(".tile").first
    tile.evaluate("tile => { tile.style.width = '42px' }")
    outer, inner = tile.bounding_box(), tile.locator(".yes").bounding_box()
    assert outer["x"] <= inner["x"]
    assert tile.locator(".no").bounding_box()["y"] > inner["y"]


def test_a_mark_is_there_at_once_and_goes_where_the_server_refuses(
    changed: Server, visit: Opener
) -> None:
    page = visit(changed.url)
    found = ask(page, "sea")
    held: list[sync_api.Route] = []
    page.route("**/api/v1/feedback", lambda route: held.append(route))
    tile = page.locator(f".tile[data-picture='{found[1]}']")
    tile.hover()
    tile.locator(".yes").click()
    expect(tile).to_have_class(re.compile("said-yes"))
    while not held:
        page.wait_for_timeout(10)
    held[0].fulfill(status=503, json={"error": "no room on the disk", "kind": "failed"})
    expect(page.locator(".toast")).to_contain_text("no room on the disk")
    expect(tile).not_to_have_class(re.compile("said-yes"))


def test_pictures_are_selected_by_ticks_and_dragging_and_exported(
    changed: Server, visit: Opener
) -> None:
    page = visit(changed.url)
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog of the browser: {dialog.message}"))
    ask(page, "sea")
    boxes = [page.locator(".tile").nth(number).bounding_box() for number in (1, 3)]
    page.mouse.move(boxes[0]["x"] + 30, boxes[0]["y"] + 60)
    page.mouse.down()
    page.mouse.move(boxes[1]["x"] + 30, boxes[1]["y"] + 60, steps=6)
    page.mouse.up()
    expect(page.locator(".tile.chosen")).to_have_count(3)
    expect(page.locator("#view")).to_be_hidden()
    tile = page.locator(".tile").nth(5)
    tile.hover()
    tile.locator(".tick").click()
    expect(page.locator("#selection")).to_contain_text("4 selected")
    page.locator(".menu summary").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="List of paths").click()
    assert len(Path(download.value.path()).read_text().split("\n")) >= 4
    page.get_by_role("button", name="Caption").click()
    page.get_by_label("Words to add to the captions").fill("regatta")
    page.keyboard.press("Enter")
    expect(page.locator("#toasts")).to_contain_text("4 pictures captioned")
    page.locator("#toasts button").click()
    expect(page.locator("#toasts")).to_contain_text("Undone:")


Points = list[tuple[float, float]]


def fingers(page: Page) -> Callable[[str, Points], None]:
    """Touches of several fingers, which Playwright has no words for."""
    session = page.context.new_cdp_session(page)

    def touch(kind: str, points: Points) -> None:
        session.send(
            "Input.dispatchTouchEvent",
            {
                "type": kind,
                "touchPoints": [{"x": x, "y": y, "id": n} for n, (x, y) in enumerate(points)],
            },
        )

    return touch


def test_a_phone_selects_by_a_long_press_and_a_drag(served: Server, visit: Opener) -> None:
    page = visit(f"{served.url}/?q=sea", width=390, height=844, has_touch=True, is_mobile=True)
    order(page)
    touch = fingers(page)
    first, third = (page.locator(".tile").nth(number).bounding_box() for number in (0, 2))
    touch("touchStart", [(first["x"] + 20, first["y"] + 20)])
    page.locator(".tile.chosen").wait_for()
    touch("touchMove", [(first["x"] + 40, first["y"] + 22)])
    touch("touchMove", [(third["x"] + 20, third["y"] + 20)])
    touch("touchEnd", [])
    expect(page.locator(".tile.chosen")).to_have_count(3)
    expect(page.locator("#view")).to_be_hidden()
    expect(page.locator("#selection")).to_be_in_viewport()
    page.locator(".tile .open").nth(4).tap()
    expect(page.locator(".tile.chosen")).to_have_count(4)


def test_a_finger_lifted_right_after_a_long_press_keeps_the_selection(
    served: Server, visit: Opener
) -> None:
    page = visit(f"{served.url}/?q=sea", width=390, height=844, has_touch=True, is_mobile=True)
    order(page)
    touch = fingers(page)
    box = page.locator(".tile").first.bounding_box()
    touch("touchStart", [(box["x"] + 20, box["y"] + 20)])
    page.locator(".tile.chosen").wait_for()
    touch("touchEnd", [])  # so soon that the browser takes it for a click
    page.wait_for_timeout(200)
    expect(page.locator(".tile.chosen")).to_have_count(1)
    page.locator(".tile .open").nth(1).tap()
    expect(page.locator(".tile.chosen")).to_have_count(2)


def test_a_phone_reaches_order_filters_help_and_teaching(served: Server, visit: Opener) -> None:
    page = visit(
        f"{served.url}/?q=sea+in:alps", width=390, height=844, has_touch=True, is_mobile=True
    )
    order(page)
    for name in ("#order", "#clear", "#teach", "#help-button", "#filters [aria-pressed=true]"):
        box = page.locator(name).bounding_box()
        assert 0 <= box["x"] <= 390 - box["width"], name
        assert min(box["width"], box["height"]) >= 28, name
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator("#help-button").tap()
    expect(page.locator("#help h3:visible").first).to_have_text("Touch")
    expect(page.locator("#help .for-keys")).to_be_hidden()
    page.locator("#help").get_by_role("button", name="Close").tap()
    page.locator("#teach").tap()
    card = page.locator(".question .card").first
    expect(card).to_be_visible()
    assert card.bounding_box()["width"] > 340


def test_two_tab_stops_stand_before_the_first_picture(served: Server, visit: Opener) -> None:
    page = visit(f"{served.url}/?q=sea")
    order(page)
    page.locator("#filters .chip.folder").first.wait_for()
    stops = []
    while not (stops and stops[-1] == "open"):
        page.keyboard.press("Tab")
        stops.append(page.evaluate("document.activeElement.id || document.activeElement.className"))
        assert len(stops) < 20
    assert len(stops) == 3, stops
    assert "query" in stops
    page.locator("#home").focus()
    reached = set()
    for _ in range(12):
        page.keyboard.press("ArrowRight")
        reached.add(page.evaluate("document.activeElement.id"))
    assert {"teach", "order", "status", "help-button", "pick", "clear"} <= reached


def test_the_large_picture_is_zoomed_copied_opened_and_kept(served: Server, visit: Opener) -> None:
    page = visit(f"{served.url}/?q=sea", permissions=["clipboard-read", "clipboard-write"])
    found = order(page)
    page.locator(".tile .open").first.click()
    view = page.locator("#view")
    expect(view.locator(".path code")).not_to_be_empty()
    zoomed = "mount => new DOMMatrix(getComputedStyle(mount).transform).a"
    page.keyboard.press("+")
    assert view.locator(".mount").evaluate(zoomed) == pytest.approx(1.6)
    page.keyboard.press("0")
    box = view.locator(".stage").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.wheel(0, -300)
    page.wait_for_timeout(100)
    assert view.locator(".mount").evaluate(zoomed) > 1.5
    page.keyboard.press("0")
    view.get_by_role("button", name="Copy path").click()
    expect(view.locator(".path button")).to_have_text("Copied ✓")
    path = view.locator(".path code").inner_text()
    assert page.evaluate("navigator.clipboard.readText()") == path
    with page.expect_download() as download:
        view.get_by_role("link", name="Download the original file").click()
    assert Path(download.value.path()).read_bytes() == Path(path).read_bytes()
    with page.context.expect_page() as opened:
        view.get_by_role("link", name="Open the original file").click()
    expect(opened.value).to_have_url(re.compile(f"/pictures/{found[0]}/original$"))
    opened.value.close()
    view.get_by_role("button", name="Full screen").click()
    expect(view.locator(".side")).to_be_hidden()
    page.keyboard.press("f")
    expect(view.locator(".side")).to_be_visible()
    view.get_by_role("button", name="Find similar pictures").click()
    expect(view).to_be_hidden()
    assert f"like={found[0]}" in page.url
    expect(page.locator("#like img")).to_be_visible()
    tile = page.locator(".tile").nth(2)
    number = order(page)[2]
    tile.hover()
    tile.locator(".similar").click()
    expect(page).to_have_url(re.compile(f"like={number}$"))


def test_two_fingers_zoom_and_one_turns_the_page(served: Server, visit: Opener) -> None:
    page = visit(f"{served.url}/?q=sea", width=390, height=844, has_touch=True, is_mobile=True)
    second = order(page)[1]
    page.locator(".tile .open").first.tap()
    expect(page.locator("#view .strip li").first).to_be_visible()
    touch = fingers(page)
    box = page.locator(".stage").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    touch("touchStart", [(x - 30, y), (x + 30, y)])
    touch("touchMove", [(x - 60, y), (x + 60, y)])
    touch("touchEnd", [])
    expect(page.locator(".stage")).to_have_class(re.compile("zoomed"))
    page.locator("#view").get_by_role("button", name="Zoom out").tap()
    page.locator("#view").get_by_role("button", name="Zoom out").tap()
    expect(page.locator(".stage")).not_to_have_class(re.compile("zoomed"))
    touch("touchStart", [(x + 100, y)])
    touch("touchMove", [(x, y)])
    touch("touchMove", [(x - 100, y)])
    touch("touchEnd", [])
    expect(page).to_have_url(re.compile(f"picture={second}$"))


def test_pictures_appear_while_a_folder_is_being_read(tmp_path: Path, visit: Opener) -> None:
    from visterm.datasets.scenes import draw_scenes

    folder = tmp_path / "many"
    draw_scenes(folder, 150, size=(240, 160))
    server = Server(folder)
    try:
        page = visit(server.url)
        seen: list[tuple[bool, int]] = []
        page.locator("#message").get_by_role("button", name="Look for pictures").click()
        for _ in range(600):
            is_running = page.locator("#job-bar").is_visible()
            seen.append((is_running, page.locator(".tile").count()))
            if seen[-1][1] and not is_running:
                break
            page.wait_for_timeout(50)
        assert any(is_running and count for is_running, count in seen)
        expect(page.locator("#status-text")).to_have_text("150 pictures")
    finally:
        server.stop()
