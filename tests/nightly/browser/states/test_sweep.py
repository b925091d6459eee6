"""Nothing hinders a reader in any state, page, dialog or menu: at a desk and on a phone, light and dark.

`make axe` looks at five widths and at forced colours as well.
"""

import pytest

from tests.browser.conftest import sign_in
from tests.nightly.browser.states import page_states
from tests.nightly.browser.states.compare_pages import running
from tests.nightly.browser.states.sweep import LOOKS, faults_of, new_tab
from tests.nightly.browser.states.test_states import State

WIDTHS = (1440, 390)
LIGHT_AND_DARK = LOOKS[:2]


@pytest.fixture(scope="module")
def home():
    """The product with all agents that the states need, and a session of its owner."""
    with running() as product:
        yield product


@pytest.fixture(scope="module")
def session(home, chromium):
    return sign_in(chromium, home)


@pytest.fixture
def tab(home, chromium, session):
    tab = new_tab(chromium, home, session, "en-GB")
    yield tab
    tab.page.context.close()
    page_states.clean(home)


@pytest.mark.parametrize("look", page_states.LOOKS, ids=lambda look: look.__name__)
def test_nothing_hinders_a_reader(home, tab, look):
    found = [
        f"{place} {where}: {fault}"
        for place in look(State(home, tab))
        if place != "again"  # after a reload it is the same
        for where, fault in faults_of(tab, WIDTHS, LIGHT_AND_DARK)
    ]
    assert found == []
