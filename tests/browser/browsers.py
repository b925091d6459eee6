"""Where the browsers of the tests are, and how they are started."""

import os
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
FIREFOX = os.environ.get("FIREFOX", "")  # its path, to run tests in Firefox instead
A_MOUSE = {"ui.primaryPointerCapabilities": 6, "ui.allPointerCapabilities": 6}
FLAGS = (
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
    # One process draws all pages: they share what their scripts are compiled to, and none is started
    # in advance.
    *("--process-per-site", "--renderer-process-limit=1"),
)
DESK, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}


def chromium():
    if not Path(CHROMIUM).exists():
        pytest.skip(f"no browser at {CHROMIUM}: install chromium, or set CHROMIUM to its path")
    # Chromium's sandbox cannot be had by root.
    flags = [*FLAGS, "--no-sandbox"] if os.geteuid() == 0 else list(FLAGS)
    with driver() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield browser
        browser.close()


def firefox():
    with driver() as playwright:
        browser = playwright.firefox.launch(
            channel="moz-firefox", executable_path=FIREFOX, firefox_user_prefs=A_MOUSE
        )
        yield browser
        browser.close()


@contextmanager
def driver():
    """Playwright, changed as driver.cjs says."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NODE_OPTIONS", f"--require {HERE / 'driver.cjs'}")
        playwright = sync_playwright().start()
    yield playwright
    playwright.stop()
