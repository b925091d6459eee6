"""The server is told to end while everything that can hang, hangs."""

import shlex
import socket
import sys
import time
from pathlib import Path

from tests.console.serving import DEADLINE, Script, Started
from tests.console.sockets import SMALL
from tests.fake_model import FakeModelServer, call, rule, silent
from tests.nightly.faults.processes import below, left_of

STUBBORN = "trap '' TERM; (trap '' TERM; sleep 600 & sleep 600) & setsid sleep 600 & sleep 600"
RULES = [
    rule(silent("Half a sentence"), user="talk"),
    rule(call("shell", command=STUBBORN), user="command"),
    rule(call("deaf__hang"), user="service"),
]
DEAF = Path(__file__).with_name("deaf_mcp_server.py")


def test_whatever_hangs_the_server_ends_in_time_and_leaves_no_process(tmp_path):
    home = tmp_path / "home"
    with FakeModelServer({"rules": RULES}) as model:
        server = Started(
            home, OPENAI_BASE_URL=model.url, OPENAI_API_KEY="k", PLANSIDE_MODEL="openai/m"
        )
        alice = Script(home)
        alice.post(
            server,
            "/tools",
            {"name": "deaf", "kind": "mcp", "command": shlex.join([sys.executable, str(DEAF)])},
        )
        grants = {"shell": "allow", "deaf__hang": "allow"}
        alice.patch(server, "/agents/docs-writer", {"tools": grants})
        talk, command, service = (alice.talk(server, text) for text in TEXTS)
        alice.wait_until(server, talk, lambda found: "Half" in found["items"][-1]["text"])
        for said in (command, service):
            alice.wait_until(server, said, is_calling)
        wait_for(lambda: sleeping(server) == 4)
        with reads_nothing(server, alice, talk):
            started = below(server.process.pid)
            seconds, code, _, complaints = server.end()
    assert (code, complaints) == (0, "")
    assert seconds < 2
    assert any(DEAF.name in each.command for each in started)
    assert left_of(started, seconds=3) == []


TEXTS = ("talk", "command", "service")


def is_calling(found):
    calls = [made["state"] for message in found["items"] for made in message["tool_calls"]]
    return calls == ["running"]


def sleeping(server):
    return sum(each.command == "sleep 600" for each in below(server.process.pid))


def wait_for(is_so):
    end = time.monotonic() + DEADLINE
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


def reads_nothing(server, alice, said):
    """A client that follows the events of a conversation and never reads one."""
    opened = socket.socket()
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
    host, port = server.address.removeprefix("http://").split(":")
    opened.connect((host, int(port)))
    asked = [
        f"GET /api{said.replace('messages', 'events')}?after=0 HTTP/1.1",
        f"Host: {host}:{port}",
        f"Authorization: {alice.headers['Authorization']}",
        "Accept: text/event-stream",
    ]
    opened.sendall("\r\n".join([*asked, "", ""]).encode())
    assert opened.recv(15).startswith(b"HTTP/1.1 200")
    return opened
