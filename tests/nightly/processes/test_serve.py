"""The real command, as somebody starts it: an empty home, any free port."""

import os
import re
import signal
import socket
import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import httpx
import pytest

from tests.console.serving import (
    DEADLINE,
    Script,
    Started,
    first_page,
    launch,
    new_database,
    refused,
    run,
)
from tests.console.sockets import Page, close_code
from tests.inner import RESTARTS
from tests.patience import at_most


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def test_the_first_start_makes_a_home_for_its_owner_alone(start, home):
    start(is_first=True)
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert stat.S_IMODE((home / "secret.key").stat().st_mode) == 0o600
    assert (home / "workspaces" / "docs-writer" / "agent.json").exists()


def test_the_printed_link_signs_in_once(start):
    server = start()
    with httpx.Client(base_url=server.address) as browser, httpx.Client() as other:
        assert first_page(browser, server) == "/signin/"
        assert browser.get(server.link).headers["Location"] == "/"
        assert first_page(browser, server).startswith("/c/")
        assert other.get(server.link).status_code == 403


def test_a_new_link_is_printed_beside_the_running_server(start, home):
    server = start()
    told = run(home, "signin-link")
    assert told.startswith(f"{server.address}/signin/?token=")
    with httpx.Client() as browser:
        assert browser.get(server.link).status_code == 403  # not used, but another was printed
        assert browser.get(told).headers["Location"] == "/"


def test_the_session_outlives_a_restart_and_the_old_link_does_not(start):
    server = start()
    unused = server.link
    with httpx.Client() as browser:
        browser.get(server.link)
        server.end()
        again = start()
        assert again.link != unused
        assert first_page(browser, again).startswith("/c/")
    assert (
        httpx.get(again.address + "/signin/" + unused.partition("/signin/")[2]).status_code == 403
    )


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_within_two_seconds_and_says_nothing_more(start, how):
    server = start()
    httpx.get(f"{server.address}/healthz")
    seconds, code, out, err = server.end(how)
    assert (code, out, err) == (0, "", "")
    assert seconds < at_most(2)


def test_an_open_stream_does_not_delay_the_end(start, home):
    server = start()
    with httpx.Client(base_url=server.address) as browser:
        browser.get(server.link)
        csrf = {"X-CSRFToken": csrf_token(browser)}
        made = browser.post("/api/conversations", json={"agent": "docs-writer"}, headers=csrf)
        stream = {"Accept": "text/event-stream"}
        with browser.stream(
            "GET", f"/api/conversations/{made.json()['id']}/events", headers=stream
        ):
            seconds, code, _, err = server.end()
    assert (code, err) == (0, "")
    assert seconds < at_most(1.5)


def csrf_token(browser):
    browser.get("/", follow_redirects=True)
    return browser.cookies["csrftoken"]


def test_a_second_process_on_the_same_home_is_refused_in_one_sentence(start, home):
    start()
    assert str(home) in refused(home)


def test_a_used_port_is_refused_in_one_sentence(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        sentence = refused(tmp_path / "home", PLANSIDE_PORT=str(port))
    assert str(port) in sentence and "PLANSIDE_PORT" in sentence


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PLANSIDE_PORT", "eighty"),
        ("PLANSIDE_PORT", "70000"),
        ("PLANSIDE_HOST", "0.0.0.0"),
        ("PLANSIDE_WORKERS", "some"),
        ("DATABASE_URL", "mysql://x/y"),
        ("REDIS_URL", "localhost"),
    ],
)
def test_a_wrong_setting_is_refused_in_one_sentence(home, name, value):
    assert name in refused(home, **{name: value})


def test_a_home_that_cannot_be_made_is_refused_in_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    assert "PLANSIDE_HOME" in refused(tmp_path / "file" / "home")


def test_on_a_server_the_line_has_no_link_that_signs_in(home):
    process = launch(home, PLANSIDE_HOST="0.0.0.0", PLANSIDE_ALLOWED_HOSTS="planside.example")
    try:
        line = process.stdout.readline().strip()
        assert line == "Planside is ready: https://planside.example/signin/"
    finally:
        process.terminate()
        process.communicate(timeout=DEADLINE)


def test_it_listens_on_the_ipv6_loopback_too(home):
    process = launch(home, PLANSIDE_HOST="::1")
    try:
        line = process.stdout.readline().strip()
        address = line.removeprefix("Planside is ready: ").partition("/signin/")[0]
        assert address.startswith("http://[::1]:")
        assert httpx.get(f"{address}/healthz").status_code == 200
    finally:
        process.terminate()
        process.communicate(timeout=DEADLINE)


def test_with_external_workers_the_home_stays_free_for_one(start, home):
    start(PLANSIDE_WORKERS="external")
    start(PLANSIDE_WORKERS="external")


def test_an_open_page_does_not_delay_the_end(start, home):
    server = start()
    chat = Script(home).post(server, "/conversations", {"agent": "docs-writer"})["id"]
    with Page(server).open(chat) as page:
        seconds, code, _, err = server.end()
        assert close_code(page) == RESTARTS
    assert (code, err) == (0, "")
    assert seconds < at_most(1.5)


GOAL = "Tidy up the project README and API docs — fill in missing sections and fix broken links"


@pytest.mark.parametrize(("how", "code"), [(signal.SIGTERM, 0), (signal.SIGKILL, -9)])
def test_a_run_cut_off_in_its_middle_goes_on_after_the_next_start(start, home, how, code):
    server = start(PLANSIDE_DEMO_PACE="0.2")
    script = Script(home)
    chat = script.post(server, "/plans", {"agent": "docs-writer", "goal": GOAL})["conversation"]
    plan = script.wait_until(server, f"/conversations/{chat}/plan", bool)
    path = f"/plans/{plan['id']}"
    script.post(server, f"{path}/approve", {"version": 1})
    before = script.wait_until(
        server, path, lambda plan: plan["progress"]["done"] == 1 and plan["activity"]
    )

    seconds, returned, _, err = server.end(how)
    assert (returned, err) == (code, "")
    assert seconds < at_most(2)

    # A terminated server hands its turns back; a killed one leaves that to the next.
    left = "queued" if how == signal.SIGTERM else "running"
    assert run_turns(home)[-1] == left

    again = start(PLANSIDE_DEMO_PACE="0")
    after = script.wait_until(again, path, lambda plan: plan["state"] != "in_progress")
    assert after["state"] == "done"
    assert after["subtasks"][0] == before["subtasks"][0]
    seqs = [row["seq"] for row in script.get(again, f"/conversations/{chat}/events")["items"]]
    assert seqs == list(range(1, len(seqs) + 1))


def run_turns(home):
    """The states of a plan's turns, as they stand in the file."""
    with closing(sqlite3.connect(home / "planside.sqlite3")) as database:
        rows = database.execute("SELECT state FROM agents_turn WHERE lane = 'run' ORDER BY id")
        return [state for (state,) in rows]


def test_the_files_of_a_page_are_compressed_and_kept_for_ever(start):
    server = start()
    with httpx.Client(base_url=server.address, headers={"Accept-Encoding": "gzip"}) as browser:
        asked = re.findall(r'(?:src|href)="(/static/[^"]+)"', browser.get("/signin/").text)
        assert len(asked) >= 4
        for path in asked:
            answer = browser.get(path)
            assert answer.status_code == 200, path
            assert answer.headers["Cache-Control"] == "max-age=31536000, public, immutable"
            is_font = path.endswith(".woff2")
            assert (answer.headers.get("Content-Encoding") == "gzip") != is_font, path


DATABASE = os.environ.get("TEST_DATABASE_URL", "")
REDIS = os.environ.get("TEST_REDIS_URL", "")


@pytest.fixture
def database():
    with new_database(DATABASE) as url:
        yield url


@pytest.mark.skipif(not DATABASE, reason="TEST_DATABASE_URL is not set")
def test_several_servers_start_at_once_on_one_empty_database(tmp_path, database):
    def start_one(n):
        return Started(tmp_path / str(n), DATABASE_URL=database)

    with ThreadPoolExecutor() as threads:
        servers = list(threads.map(start_one, range(2)))
    for server in servers:
        assert httpx.get(f"{server.address}/readyz").status_code == 200
    for server in servers:
        seconds, code, _, err = server.end()
        assert code == 0
        waits = "another process brings the database up to date"
        assert all(waits in line for line in err.splitlines())
        assert seconds < at_most(2)


@pytest.mark.skipif(not REDIS, reason="TEST_REDIS_URL is not set")
def test_with_redis_a_server_is_ready_and_ends_as_fast(tmp_path):
    server = Started(tmp_path / "home", REDIS_URL=REDIS)
    assert httpx.get(f"{server.address}/readyz").status_code == 200
    seconds, code, _, err = server.end()
    assert (code, err) == (0, "")
    assert seconds < at_most(2)
