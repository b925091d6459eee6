"""Nothing hinders a reader in any state, page, dialog or menu: at a desk and on a phone, light and dark.

`make axe` looks at five widths and at forced colours as well.
"""

import pytest

from tests.nightly.browser.states import page_states
from tests.nightly.browser.states.sweep import LOOKS, faults_of, new_tab
from tests.nightly.browser.states.test_states import State

WIDTHS = (1440, 390)
LIGHT_AND_DARK = LOOKS[:2]


@pytest.fixture
def tab(live_site, chromium):
    session = {"cookies": [live_site.session()], "origins": []}
    tab = new_tab(chromium, live_site.address, session, "en-GB")
    yield tab
    tab.page.context.close()


@pytest.mark.parametrize("look", page_states.LOOKS, ids=lambda look: look.__name__)
def test_nothing_hinders_a_reader(live_site, tab, look):
    found = [
        f"{place} {where}: {fault}"
        for place in look(State(live_site, tab))
        if place != "again"  # after a reload it is the same
        for where, fault in faults_of(tab, WIDTHS, LIGHT_AND_DARK)
    ]
    assert found == []
