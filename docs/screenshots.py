"""Makes every screenshot of README and docs from the demo's photographs: python -m docs.screenshots

Debian's chromium (``apt-get install chromium``) is driven by Playwright (``pip install
playwright``). The photographers are named in ``src/visterm/datasets/photographs.tsv``.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
DEMO = Path(tempfile.gettempdir()) / "visterm-screenshots"
CHROMIUM = os.environ.get("VISTERM_CHROMIUM") or shutil.which("chromium")
QUALITY = 82

DESKTOP: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}}
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 780},
    "device_scale_factor": 2,
    "is_mobile": True,
    "has_touch": True,
}
DARK = {"color_scheme": "dark"}


def as_found(page: Page) -> None:
    """What a search shows, and nothing more."""


def teaching(page: Page) -> None:
    """Questions about a word."""
    page.locator("#teach").click()
    page.locator("#sheet img").first.wait_for()


def known_word(page: Page) -> None:
    """What is known of a word."""
    page.locator("#teach").click()
    page.get_by_role("button", name="About this word").click()
    page.locator("#sheet img").first.wait_for()


def selection(page: Page) -> None:
    """A range of pictures, chosen by two keys."""
    tiles = page.locator(".tile .open")
    tiles.nth(1).focus()
    page.keyboard.press("x")
    tiles.nth(5).focus()
    page.keyboard.press("Shift+X")
    page.locator("#selection").wait_for()


def why(page: Page) -> None:
    """A picture, opened, with the places that speak for the word."""
    page.locator(".tile .open").first.click()
    page.locator("#view .says").wait_for()
    page.keyboard.press("w")
    page.locator("#view canvas").wait_for()


SHOTS: dict[str, tuple[str, dict[str, Any], Callable[[Page], None]]] = {
    "page": ("/?q=monkey", DESKTOP, as_found),
    "page-own-word": ("/?q=windmill", DESKTOP, as_found),
    "page-new-word": ("/?q=multimeter", DESKTOP, as_found),
    "page-filters": ("/?q=arch+in%3Aplaces", DESKTOP, as_found),
    "page-teaching": ("/?q=castle", DESKTOP, teaching),
    "page-word": ("/?q=windmill", DESKTOP, known_word),
    "page-selection": ("/?q=windmill", DESKTOP, selection),
    "why": ("/?q=monkey", DESKTOP, why),
    "page-dark": ("/?q=dome", DESKTOP | DARK, as_found),
    "page-phone": ("/?q=mountain", PHONE, as_found),
    "page-phone-dark": ("/?q=horse", PHONE | DARK, as_found),
}
"""By the name of a screenshot: the address, the window, and what is done before it is taken."""


@contextmanager
def served() -> Iterator[str]:
    """The address of the page over the demo's photographs, with its word taught."""
    command = [sys.executable, "-m", "visterm"]
    photographs = DEMO / "photographs"
    shutil.rmtree(photographs / ".visterm", ignore_errors=True)  # of an earlier version, perhaps
    subprocess.run([*command, "demo", "--no-serve", "--folder", DEMO], check=True)
    if not photographs.is_dir():
        raise SystemExit("screenshots need the photographs, which could not be fetched")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    options = ["--port", str(port), "--no-browser", "--as-is"]
    with subprocess.Popen([*command, "serve", photographs, *options]) as server:
        try:
            _await(f"{url}/page/icon.svg", server)
            yield url
        finally:
            server.terminate()


def _await(url: str, server: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        if server.poll() is not None:
            raise SystemExit("visterm serve ended before the page was there")
        try:
            urlopen(url).close()
            return
        except (URLError, OSError):
            time.sleep(0.1)
    raise SystemExit("visterm serve does not answer")


def main(names: list[str]) -> None:
    """Take the named screenshots, or all of them."""
    if CHROMIUM is None:
        raise SystemExit("chromium is not installed: apt-get install chromium")
    if unknown := set(names) - set(SHOTS):
        raise SystemExit(f"no screenshot is called {min(unknown)}; there are {', '.join(SHOTS)}")
    arguments = ["--no-sandbox", "--disable-dev-shm-usage", "--force-color-profile=srgb"]
    with served() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        for name in names or SHOTS:
            address, window, prepare = SHOTS[name]
            context = browser.new_context(reduced_motion="reduce", **window)
            page = context.new_page()
            page.goto(url + address)
            page.locator("#results[aria-busy=false] .tile.there").first.wait_for()
            prepare(page)
            page.wait_for_load_state("networkidle")
            target = IMAGES / f"{name}.jpg"
            page.screenshot(path=target, type="jpeg", quality=QUALITY)
            print(f"{target.relative_to(ROOT)}  {target.stat().st_size // 1000} kB")
            context.close()
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
