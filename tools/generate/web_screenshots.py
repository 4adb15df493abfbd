"""Makes the pictures of the page in docs/images: views of a real browser, with the embedded network.

    python tools/generate/web_screenshots.py                      # all views
    python tools/generate/web_screenshots.py --out /tmp/pictures analyse phone
    python tools/generate/web_screenshots.py --run tiny           # the page of a learning run, in learn-tiny.png

Needs the extras web and dev, Chromium and a Japanese font (on Debian: chromium, fonts-ipafont-gothic). A few minutes
on one core; most goes into the report.
"""

import argparse
import io
import json
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from fukayomi.loop.report.page import write_report
from fukayomi.web import WebServer, WebSettings

ROOT = Path(__file__).resolve().parents[2]
GAME = ROOT / "examples" / "game.csa"
PLY, WORTH_PLY = 42, 84
"""Where the board stands: before a mistake, and in the middle of the fight."""
PATIENCE_MS = 600_000
WIDE = {"viewport": {"width": 1280, "height": 800}}
PHONE = {"viewport": {"width": 390, "height": 664}, "device_scale_factor": 2, "has_touch": True, "is_mobile": True}
COLORS = 128
"""Colours of a picture; it has few, and is a quarter of the size."""


def go(page: Page, ply: int) -> None:
    """Put a ply of the game on the board."""
    page.locator(f'.moves [data-node="{ply}"]').click()


def analyse(page: Page) -> None:
    """The live analysis with a line played through."""
    go(page, PLY)
    page.locator('.live-state[data-state="limit"]').wait_for()
    page.locator(".candidates .step").nth(2).click()
    page.locator(".trial").wait_for()


def report(page: Page) -> None:
    """The report of the game."""
    page.locator('[data-action="analyse-game"]').click()
    page.locator('[data-action="quiz"]').wait_for(timeout=PATIENCE_MS)
    page.locator(".mistakes .link").first.click()
    page.locator(".graph circle.cursor").wait_for()


def play(page: Page) -> None:
    """A game against the engine after the first moves."""
    page.locator('[data-action="begin"]').click()
    for usi in ("7g7f", "2g2f"):
        page.locator('.play-game[data-phase="reader"]').wait_for()
        page.locator("#typed-move").fill(usi)
        page.locator("#typed-move").press("Enter")
        page.locator(".moves .name", has_text=f"P-{usi[2:]}").wait_for()
    page.locator('.play-game[data-phase="reader"]').wait_for()


def worth(page: Page) -> None:
    """What each piece is worth."""
    go(page, WORTH_PLY)
    page.locator("#panel table").first.wait_for()


def phone(page: Page) -> None:
    """The live analysis on a narrow screen, in the dark."""
    go(page, PLY)
    page.locator('.live-state[data-state="limit"]').wait_for()
    page.evaluate("scrollTo(0, 0)")


VIEWS: dict[str, tuple[str, Callable[[Page], None], dict[str, Any]]] = {
    "analyse": ("analyse", analyse, WIDE),
    "analyse-ja": ("analyse", analyse, WIDE | {"locale": "ja-JP"}),
    "report": ("game", report, WIDE),
    "play": ("play", play, WIDE),
    "worth": ("worth", worth, WIDE),
    "phone": ("analyse", phone, PHONE | {"color_scheme": "dark"}),
}
"""Tab, what is done there, and the screen, by the name of the picture."""


def picture(browser: Browser, server: WebServer, name: str) -> bytes:
    """A view as PNG."""
    tab, prepare, screen = VIEWS[name]
    settings = {"limit": 1000, "lines": 3, "report-nodes": 60, "play.nodes": 10}
    stored = [{"name": f"fukayomi.{key}", "value": json.dumps(value)} for key, value in settings.items()]
    state: Any = {"cookies": [], "origins": [{"origin": server.origin, "localStorage": stored}]}
    browser_settings: dict[str, Any] = {"locale": "en-US", "storage_state": state} | screen
    context = browser.new_context(**browser_settings)
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto(f"{server.address}#{tab}")
    page.locator("html[data-ready]").wait_for(state="attached")
    prepare(page)
    shot = page.screenshot()
    context.close()
    return reduced(shot)


def run_picture(browser: Browser, folder: Path) -> bytes:
    """The page of a learning run as PNG: its curves, and its table of generations."""
    page = browser.new_page(locale="en-US", **WIDE)
    page.goto(write_report(folder).absolute().as_uri())
    end = page.locator("h2", has_text="Ratings").bounding_box()
    assert end is not None
    shot = page.screenshot(
        full_page=True, clip={"x": 0, "y": 0, "width": WIDE["viewport"]["width"], "height": end["y"]}
    )
    page.close()
    return reduced(shot)


def reduced(png: bytes) -> bytes:
    """A picture with few colours."""
    written = io.BytesIO()
    shot = Image.open(io.BytesIO(png)).convert("RGB")
    shot.quantize(COLORS, dither=Image.Dither.NONE).save(written, "PNG", optimize=True)
    return written.getvalue()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("views", nargs="*", help=f"views, of {', '.join(VIEWS)}; all by default")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images", help="folder of the pictures")
    parser.add_argument("--run", type=Path, action="append", default=[], help="folder of a learning run; no other view")
    options = parser.parse_args()
    if unknown := set(options.views) - VIEWS.keys():
        parser.error(f"no view {', '.join(sorted(unknown))}")
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("Chromium is missing (on Debian: apt-get install chromium)")
    options.out.mkdir(parents=True, exist_ok=True)
    with WebServer(WebSettings(files=(GAME,), port=0)) as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium)
        made = {f"learn-{folder.name}": partial(run_picture, browser, folder) for folder in options.run}
        for name in options.views or ([] if options.run else VIEWS):
            made[f"web-{name}"] = partial(picture, browser, server, name)
        for name, make in made.items():
            path = options.out / f"{name}.png"
            path.write_bytes(make())
            print(f"{path}: {path.stat().st_size / 1024:.0f} KiB", flush=True)
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
