"""The server, the browser and the tabs of tests/browser, for what is tried in them by night.

One browser for both folders: two of Playwright's loops in one process are an error.
"""

from pathlib import Path

import pytest

from tests.browser.conftest import careful, chromium, contexts, model, open_tab, product

__all__ = ["careful", "chromium", "contexts", "model", "open_tab", "product"]

HERE = Path(__file__).parent
IN_A_BROWSER = (HERE / "browser", HERE / "states")


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent in IN_A_BROWSER:
            item.add_marker(pytest.mark.browser)
