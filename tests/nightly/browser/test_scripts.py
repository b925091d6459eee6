"""Each script of the page fails, comes late or not at all."""

import pytest

from tests.browser.test_scripts import (
    KINDS,
    MODULES,
    PARTS,
    late_but_live,
    sends_although_it_fails,
    waits_for_its_part,
)


@pytest.mark.parametrize("name", sorted(MODULES - set(KINDS)))
def test_each_module_that_fails_is_said_and_the_page_still_sends(site, open_tab, name):
    sends_although_it_fails(site, open_tab(), name)


@pytest.mark.parametrize("part", sorted(PARTS))
def test_each_part_that_did_not_get_through_comes_the_next_time(site, open_tab, part):
    waits_for_its_part(site, open_tab(), part)


def test_the_page_has_its_socket_though_its_own_script_comes_late(site, open_tab, clock):
    late_but_live(site, open_tab(), clock, "planside.js")
