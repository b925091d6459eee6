"""The server, the browser and the tabs of tests/browser, for what is tried in them by night."""

from pathlib import Path

from tests.browser.conftest import (
    _rows_may_be_read,
    careful,
    chromium,
    clock,
    contexts,
    mark,
    open_tab,
    site,
    whole_site,
    window,
    windows,
    working,
)

__all__ = [
    "_rows_may_be_read",
    "careful",
    "chromium",
    "clock",
    "contexts",
    "open_tab",
    "site",
    "whole_site",
    "window",
    "windows",
    "working",
]

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    mark(items, HERE)
