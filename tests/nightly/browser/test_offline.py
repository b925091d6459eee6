"""A server that is there and says nothing, beside an open drawer."""

from tests.browser.test_offline import shows_beside_a_hung_socket


def test_what_others_do_is_shown_beside_a_hung_socket_and_an_open_drawer(site, open_tab, clock):
    shows_beside_a_hung_socket(site, open_tab(), clock, is_closed=False)
