"""The server itself: it starts, serves the page and its files, and stops."""

from playwright.sync_api import Page, expect


def test_page_opens_in_a_browser(page: Page) -> None:
    expect(page).to_have_title("fukayomi")
