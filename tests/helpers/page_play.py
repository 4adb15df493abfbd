"""Games against the engine on the web page."""

from playwright.sync_api import Page, expect


def begin(page: Page, **choices: str) -> None:
    """Choose and begin: ``begin(page, nodes="10", color="white")``."""
    for name, value in ({"nodes": "10"} | choices).items():
        page.locator(f'select[name="play.{name}"]').select_option(value)
    page.locator('[data-action="begin"]').click()
    expect(page.locator(".play-game")).to_be_visible()


def expect_phase(page: Page, phase: str) -> None:
    """Wait until it is somebody's turn, or the game is over."""
    expect(page.locator(f'.play-game[data-phase="{phase}"]')).to_be_visible()


def expect_moves(page: Page, count: int) -> None:
    """Wait until the record has so many moves."""
    expect(page.locator('.record [data-node]:not([data-node="0"])')).to_have_count(count)
