"""Checks that ask somebody else: a page, and an operation of a service."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from asgiref.sync import async_to_sync

from agents.errors import Invalid
from tests.checked import TOOLS, begun, first, results, worked
from tests.fake_model import say
from tests.inner import Tool, ToolResult, add_source, ask_service, needs_of, refresh_source
from tests.world import done, shown

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.sockets]

OVER = say("All is well.")


def test_an_answer_that_is_nested_without_end_is_a_no():
    nested = []
    for _ in range(5_000):
        nested = [nested]

    async def answer(_):
        return ToolResult("", data={"jobs": nested})

    check = {"kind": "tool", "tool": "s__state", "arguments": {}, "path": "jobs", "value": "ok"}
    tool = Tool("s__state", "", {}, answer)
    found = async_to_sync(ask_service)(check, tool)
    assert (found.passed, found.said) == (False, "What the answer has there is nested too deeply.")


class Service(BaseHTTPRequestHandler):
    """It answers by its path."""

    answers = {
        "/ok": (200, "text/plain", "all is well"),
        "/moved": (301, "text/plain", ""),
        "/broken": (500, "text/plain", "on fire"),
        "/long": (200, "text/plain", "a line of a long page\n" * 5_000 + "the end"),
        "/state": (200, "application/json", json.dumps({"jobs": [{"state": "ok", "left": 0}]})),
        "/spec": (
            200,
            "application/json",
            json.dumps(
                {
                    "openapi": "3.0.0",
                    "info": {"title": "S", "version": "1"},
                    "paths": {
                        "/state": {"get": {"operationId": "state"}},
                        "/reset": {"post": {"operationId": "reset"}},
                    },
                }
            ),
        ),
    }

    def do_GET(self):
        status, kind, body = self.answers.get(self.path, (404, "text/plain", "nothing here"))
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if status == 301:
            self.send_header("Location", "/ok")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def site():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    thread = threading.Thread(target=server.serve_forever, args=[0.01], daemon=True)
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def page(site, path, **more):
    return {"kind": "http", "url": f"http://{site}{path}", **more}


PAGES = [
    ("/ok", {}, True),
    ("/ok", {"contains": "well"}, True),
    ("/ok", {"contains": "fire"}, False),
    ("/ok", {"status": 201}, False),
    ("/long", {"contains": "the end"}, True),
    ("/long", {"contains": "[cut:"}, False),
    ("/broken", {}, False),
    ("/broken", {"status": 500, "contains": "fire"}, True),
    ("/missing", {"status": 404}, True),
    ("/moved", {}, True),
    ("/moved", {"status": 301}, True),
]


@pytest.mark.parametrize("holds", [True, False])
def test_a_page_answers_as_it_should(site, holds):
    checks = [page(site, path, **more) for path, more, each in PAGES if each is holds]
    c = begun(*checks, plan={"max_check_failures": 1}, fetch_hosts=[site])
    worked(c, done("x"), OVER)
    assert first(c)["verified"] is (True if holds else None)
    assert results(c) == [(f"c{n}", holds) for n, _ in enumerate(checks, 1)]


def test_a_page_of_the_servers_own_network_is_not_asked_for(site):
    c = begun(page(site, "/ok"))
    worked(c, done("x"))
    assert (shown(c)["attention"], results(c)) == ("check", [("c1", None)] * 2)
    assert "is not a public address" in first(c)["checks"][0]["result"]["said"]
    assert [need.kind for need in needs_of(c.owner_id)] == ["check"]


@pytest.fixture
def service(site):
    source = add_source(
        "svc", kind="openapi", url=f"http://{site}/spec", trusts_hints=True, by="alice"
    )
    async_to_sync(refresh_source)(source)
    return "svc"


def operation(path, value, tool="svc__state"):
    return {"kind": "tool", "tool": tool, "arguments": {}, "path": path, "value": value}


ANSWERS = [
    ("jobs.0.state", "ok", True),
    ("jobs.0.left", 0, True),
    ("jobs.0.left", "0", True),
    ("jobs.0.left", False, False),
    ("jobs.0.state", "bad", False),
    ("jobs.1.state", "ok", False),
    ("state", "ok", False),
]


def test_an_operation_answers_so(service):
    checks = [operation(path, value) for path, value, _ in ANSWERS]
    tools = {**TOOLS, "svc": "allow"}
    c = begun(*checks, tools=tools, plan={"max_check_failures": 1})
    worked(c, done("x"), OVER)
    assert results(c) == [(f"c{n}", holds) for n, (_, _, holds) in enumerate(ANSWERS, 1)]


def test_an_operation_that_changes_something_is_no_check(service):
    with pytest.raises(Invalid, match="svc__reset may change something"):
        begun(operation("x", "y", "svc__reset"), tools={**TOOLS, "svc": "allow"})
    with pytest.raises(Invalid, match="svc__state is off"):
        begun(operation("x", "y"), tools=TOOLS)
