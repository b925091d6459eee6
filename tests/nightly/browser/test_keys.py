"""Every key of the list that ? shows, pressed."""

import pytest

from tests.browser.keys_tried import TRIES


@pytest.mark.parametrize("name", TRIES)
def test_each_key_does_what_the_list_says(site, open_tab, name):
    TRIES[name](site, open_tab())
