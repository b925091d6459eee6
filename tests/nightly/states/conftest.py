"""The server, the browser and the tabs of tests/browser, for looking at every state by night."""

from pathlib import Path

import pytest

from tests.browser.conftest import careful, chromium, contexts, model, open_tab, product

__all__ = ["careful", "chromium", "contexts", "model", "open_tab", "product"]

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.browser)
