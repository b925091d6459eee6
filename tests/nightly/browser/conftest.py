"""The server, the browser and the tabs of tests/browser, for what is tried in them by night."""

from pathlib import Path

import pytest

from tests.browser.conftest import (
    SENT_IN_PIECES,
    _rows_may_be_read,
    careful,
    chromium,
    clock,
    contexts,
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
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.filterwarnings(SENT_IN_PIECES))
