"""Each script of the page fails, or comes late."""

import pytest

from tests.browser.test_scripts import KINDS, MODULES, late_but_live, sends_although_it_fails


@pytest.mark.parametrize("name", sorted({*MODULES} - {*KINDS}))
def test_each_module_that_fails_is_said_and_the_page_still_sends(site, open_tab, name):
    sends_although_it_fails(site, open_tab(), name)


def test_the_page_has_its_socket_though_its_own_scripts_come_late(site, open_tab, clock):
    late_but_live(site, open_tab(), clock, "requests.*.js")
