"""The tools of the tests have the timeouts that tests/patience.py gives them."""

import os

import httpx
import pytest
from channels.testing import WebsocketCommunicator

from tests import patience
from tests.patience import SECONDS, at_most


def test_a_request_that_names_no_timeout_waits_a_minute():
    with httpx.Client() as browser:
        assert browser.timeout == httpx.Timeout(SECONDS)


@pytest.mark.parametrize("name", ["wait", "receive_output", "connect", "receive_from"])
def test_a_socket_that_names_no_timeout_waits_a_minute(name):
    assert getattr(WebsocketCommunicator, name).__defaults__ == (SECONDS,)


def test_a_socket_is_given_a_minute_to_end():
    assert WebsocketCommunicator.disconnect.__defaults__ == (1000, SECONDS)


@pytest.mark.parametrize(("load", "seconds"), [("0.10", 2), ("8.00", 8)])
def test_a_bound_grows_with_what_others_want_of_the_machine(tmp_path, monkeypatch, load, seconds):
    (tmp_path / "loadavg").write_text(f"{load} 3.00 2.00 1/345 6789\n")
    monkeypatch.setattr(patience, "LOAD", tmp_path / "loadavg")
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert at_most(2) == seconds


def test_where_the_system_keeps_no_such_file_the_load_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(patience, "LOAD", tmp_path / "none")
    monkeypatch.setattr(os, "getloadavg", lambda: (6.0, 0.0, 0.0))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert at_most(2) == 6
