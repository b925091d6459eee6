"""The real commands, as somebody starts them: the one place in make test with servers of ours."""

import os
import signal
import socket
import stat
from contextlib import suppress

import httpx
import pytest

from tests.console.serving import (
    DEADLINE,
    Script,
    command,
    first_page,
    is_done,
    new_database,
    refused,
    worker,
)
from tests.console.sockets import Page, close_code
from tests.fake_model import FakeModelServer, call, rule, say, silent
from tests.inner import GOES_AWAY, RESTARTS

pytestmark = pytest.mark.process

DATABASE = os.environ.get("TEST_DATABASE_URL", "")
REDIS = os.environ.get("TEST_REDIS_URL", "")


def named(model):
    """The settings by which every agent asks this model."""
    key = {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "k"}
    return key | {"PLANSIDE_MODEL": "openai/scripted"}


def test_a_wrong_setting_is_one_sentence_of_a_command(tmp_path):
    done = command(tmp_path / "home", "plan", "list", PLANSIDE_PORT="eighty")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "PLANSIDE_PORT" in done.stderr


RULES = [
    rule(call("create_plan", title="Two files", subtasks=["Read", "Write"]), only="create_plan"),
    rule(silent("Half a sentence that nobody will fi"), times=1, user="is s2", results=1),
    *(
        rule(call("write_file", path=f"{key}.txt", content=key), user=f"is {key}", results=0)
        for key in ("s1", "s2")
    ),
    *(
        rule(call("finish_subtask", outcome=f"wrote {key}"), user=f"is {key}", results=1)
        for key in ("s1", "s2")
    ),
    rule(call("finish_plan", state="done", outcome="Two files."), only="finish_plan"),
]


def is_half_said(messages):
    return any("Half a sentence" in message["text"] for message in messages["items"])


def test_a_server_from_its_first_start_over_a_kill_to_ctrl_c(start, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o755)  # it was there before, as with: mkdir ~/.planside
    with FakeModelServer({"rules": RULES}) as model:
        server = start(is_first=True, **named(model))
        its_home_is_made_and_its_link_signs_in_once(home, server)
        who_starts_beside_it_is_refused_in_one_sentence(home, server, tmp_path / "other")
        alice = Script(home)
        chat = killed_in_the_middle_of_a_plan(server, alice)
        again = start(**named(model))
        it_goes_on_at_the_step_it_had_reached(again, alice, chat)
        with Page(again).open(int(chat.rpartition("/")[2])) as page:
            _, code, out, err = again.end(signal.SIGINT)
            assert close_code(page) == GOES_AWAY, "nobody presses Ctrl-C to start again"
    assert (code, out, err) == (0, "", ""), "it says nothing more"


def its_home_is_made_and_its_link_signs_in_once(home, server):
    assert stat.S_IMODE((home / "secret.key").stat().st_mode) == 0o600
    assert (home / "workspaces" / "docs-writer" / "agent.json").exists()
    with httpx.Client(base_url=server.address) as browser, httpx.Client() as other:
        assert first_page(browser, server) == "/signin/"
        assert browser.get(server.link).headers["Location"] == "/"
        assert first_page(browser, server).startswith("/c/")
        assert other.get(server.link).status_code == 403
    made = [path for path in home.rglob("*") if not path.is_symlink()]
    open_to_others = [path for path in made if stat.S_IMODE(path.stat().st_mode) & 0o077]
    assert len(made) > 5 and open_to_others == []


def who_starts_beside_it_is_refused_in_one_sentence(home, server, other):
    home.chmod(0o700)
    assert str(home) in refused(home)
    port = server.address.rpartition(":")[2]
    sentence = refused(other, PLANSIDE_PORT=port)
    assert port in sentence and "PLANSIDE_PORT" in sentence


def killed_in_the_middle_of_a_plan(server, alice):
    """The conversation of that plan."""
    said = alice.talk(server, "/plan make two files")
    chat = said.removesuffix("/messages")
    plan = alice.wait_until(server, f"{chat}/plan", bool)
    alice.post(server, f"/plans/{plan['id']}/approve", {"version": 1})
    alice.wait_until(server, said, is_half_said)
    server.process.kill()
    server.process.communicate()
    return chat


def it_goes_on_at_the_step_it_had_reached(server, alice, chat):
    plan = alice.wait_until(server, f"{chat}/plan", is_done)
    assert [(s["outcome"], s["attempts"]) for s in plan["subtasks"]] == [
        ("wrote s1", 1),
        ("wrote s2", 1),
    ]
    messages = alice.get(server, f"{chat}/messages")["items"]
    tools = [made["tool"] for message in messages for made in message["tool_calls"]]
    assert tools.count("write_file") == 2, "nothing that was finished is done again"


@pytest.mark.skipif(not (DATABASE and REDIS), reason="TEST_DATABASE_URL and TEST_REDIS_URL not set")
def test_a_worker_beside_a_server_on_postgresql_and_redis_answers_and_leaves_when_told(
    start, tmp_path
):
    home = tmp_path / "home"
    with FakeModelServer([say("From the worker.")]) as model, new_database(DATABASE) as url:
        elsewhere = {"DATABASE_URL": url, "REDIS_URL": REDIS, "PLANSIDE_WORKERS": "external"}
        settings = named(model) | elsewhere
        server = start(**settings)
        alice = Script(home, **settings)
        said = alice.talk(server, "hello")
        with worker(home, **settings) as running:
            found = alice.wait_until(
                server, said, lambda found: found["items"][-1]["text"] == "From the worker."
            )
            running.send_signal(signal.SIGTERM)
            _, complaints = running.communicate(timeout=60)
        with Page(server).open(int(said.split("/")[2])) as page:
            server.end(signal.SIGTERM)
            assert close_code(page) == RESTARTS
    assert len(found["items"]) == 2
    assert (running.returncode, complaints) == (0, "")


def test_a_body_that_is_too_long_is_refused_by_its_length_or_as_it_comes(start):
    server = start()
    file = b"/c/1/attachments?name=a.bin"
    for path, head, body, words in (
        (b"/signin/", b"Content-Length: 4194305", b"", b"4 MB"),
        (b"/api/plans", b"Content-Length: 1000000000000", b"", b'{"detail": "A request may'),
        (b"/signin/", b"Transfer-Encoding: chunked", CHUNK * 5, b"4 MB"),
        (file, b"Content-Length: 20000001", b"", b"20 MB"),
        (file, b"Transfer-Encoding: chunked", CHUNK * 20, b"20 MB"),
    ):
        said = answer(server, path, head, body)
        assert said.startswith(b"HTTP/1.1 413 ") and words in said, (path, head, said)
    short_enough = answer(server, file, b"Transfer-Encoding: chunked", CHUNK * 19 + b"0\r\n\r\n")
    assert short_enough.startswith(b"HTTP/1.1 302 "), "it has to sign in first"


def test_a_head_that_is_too_long_or_no_head_is_answered(start):
    server = start()
    long = b"a" * 20_000
    for path, head, status, words in (
        (b"/" + long, b"X: y", b"414", b"This address is too long"),
        (b"/api/plans?" + long, b"X: y", b"414", b"This address is too long"),
        (b"/signin/", b"Cookie: " + long, b"431", b"Cookies of other programs"),
        (b"/api/plans", b"Cookie: " + long, b"431", b'{"detail": "The head'),
        (b"/signin/", b"\r\n".join([b"X: " + b"y" * 100] * 200), b"431", b"The head"),
        (b"/signin/", b"\r\n".join([b"X: y"] * 501), b"431", b"The head"),
        (b"/signin/", b"no header", b"400", b"no request that can be read"),
    ):
        said = answer(server, path, head, b"")
        assert said.startswith(b"HTTP/1.1 " + status) and words in said, (path[:20], said)
    assert answer(server, b"/signin/", b"X: " + b"y" * 8_000, b"").startswith(b"HTTP/1.1 403 ")


def test_who_sends_all_of_a_refused_body_before_reading_reads_why(start):
    """As a proxy does, which would say 502 if the connection were cut."""
    server = start()
    host, port = server.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=DEADLINE) as opened:
        length = 30 * 1024**2
        head = b"POST /signin/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
        opened.sendall(head % length)
        for _ in range(30):
            opened.sendall(b"x" * 1024**2)
        said = b""
        while piece := opened.recv(65_536):
            said += piece
    assert said.startswith(b"HTTP/1.1 413 ") and b"4 MB" in said


CHUNK = b"%x\r\n%s\r\n" % (1024**2, b"x" * 1024**2)


def answer(server, path, head, body):
    """What the server says until it hangs up, or for a second."""
    host, port = server.address.removeprefix("http://").split(":")
    said = b""
    with socket.create_connection((host, int(port)), timeout=DEADLINE) as opened, suppress(OSError):
        opened.sendall(b"POST %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n" % (path, head))
        with suppress(OSError):  # it hangs up while we still talk
            opened.sendall(body)
        while b"\r\n\r\n" not in said or said.endswith(b"\r\n\r\n"):
            said += opened.recv(65536) or b"\r\n\r\n."
    return said
