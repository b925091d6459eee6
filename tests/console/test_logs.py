"""Log lines: for a person or a machine, about the work at hand, and without secrets."""

import json
import logging
import re
import sys

import httpx
import pytest
from structlog.contextvars import bound_contextvars

from agents import http
from agents.models import Provider
from tests.fake_model import fails
from tests.inner import formatter, local_owner, redaction, resolve, signin_path
from tests.world import conversation, plan_of, proposed, scripted, tell

KEY = "sk-abcdefghijklmnopqrstuvwx"


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch):
    monkeypatch.setattr(redaction, "_registered", set())


def line(message, *args, as_json=False, error=None, **extra):
    """What the formatter makes of one record."""
    record = logging.getLogger("agents.turns").makeRecord(
        "agents.turns", logging.INFO, "file", 1, message, args, error, extra=extra
    )
    return formatter(as_json).format(record)


def test_a_person_reads_a_line():
    told = line("turn %s", "done", seconds=1.5)
    assert re.match(r"^\d\d:\d\d:\d\d \[info *\] turn done +\[agents.turns\] seconds=1.5$", told), (
        told
    )


def test_a_machine_reads_one_json_object_a_line():
    told = line("turn %s", "done", as_json=True, seconds=1.5)
    assert "\n" not in told
    document = json.loads(told)
    assert document.pop("timestamp").endswith("Z")
    assert document == {
        "message": "turn done",
        "level": "info",
        "logger": "agents.turns",
        "seconds": 1.5,
    }


def test_a_line_says_what_the_work_is_about():
    with bound_contextvars(conversation=3, turn=5, plan=2, subtask="s1"):
        document = json.loads(line("hello", as_json=True))
        assert {name: document[name] for name in ("conversation", "turn", "plan", "subtask")} == {
            "conversation": 3,
            "turn": 5,
            "plan": 2,
            "subtask": "s1",
        }
    assert "turn" not in json.loads(line("hello", as_json=True))


def broken(secret):
    password = secret  # noqa: F841  # a local variable that no traceback may show
    try:
        raise ValueError("it broke")
    except ValueError:
        return sys.exc_info()


@pytest.mark.parametrize("as_json", [True, False])
def test_a_traceback_shows_code_and_no_variables(as_json):
    told = line("oh", as_json=as_json, error=broken("hunter2-hunter2"))
    assert "ValueError: it broke" in told and "raise ValueError" in told
    assert "hunter2" not in told


@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize(
    ("message", "secret"),
    [
        ("it said my-own-secret-word", "my-own-secret-word"),
        ("Authorization: Bearer abc123def", "abc123def"),
        (f"the key {KEY} is wrong", KEY),
        ("GET /signin/?token=abcdef12345 HTTP/1.1", "abcdef12345"),
        ("postgres://user:pass-word@host/db", "pass-word"),
        ("planside_0123456789abcdefXYZ used", "0123456789abcdefXYZ"),
    ],
)
def test_what_is_or_looks_secret_is_blotted_out(message, secret, as_json):
    redaction.register_secrets(["my-own-secret-word"])
    told = line(message, as_json=as_json)
    assert secret not in told
    assert "[hidden]" in told
    assert secret not in line("%s", {"in": message}, as_json=as_json)


@pytest.mark.parametrize(
    "name", ["authorization", "Cookie", "api_key", "client_secret", "password"]
)
def test_what_is_called_a_secret_is_hidden_whatever_it_looks_like(name):
    assert json.loads(line("hello", as_json=True, **{name: "x1"}))[name] == "[hidden]"


@pytest.mark.parametrize(
    "harmless", ["tokens=12 in, 30 out", "turn 5 is no longer ours", "http://127.0.0.1:8000/c/3/"]
)
def test_what_is_no_secret_is_left_as_it_is(harmless):
    assert harmless in line(harmless)
    assert json.loads(line("", as_json=True, tokens=7))["tokens"] == 7


@pytest.mark.django_db
def test_a_key_that_an_admin_has_added_is_known_as_soon_as_it_is_used():
    Provider.objects.create(name="mine", base_url="http://x/v1", key="zebra-crossing")
    resolve("mine")
    assert "zebra" not in line("the server said: zebra-crossing is no key")


@pytest.fixture
def lines(caplog):
    """What is logged at every level, by the processors that the real handler uses, as it happens."""
    written = []

    class Kept(logging.Handler):
        def emit(self, record):
            written.append(json.loads(self.format(record)))

    kept = Kept()
    kept.setFormatter(formatter(True))
    loggers = [logging.getLogger(name) for name in ("agents", "console")]
    for logger in loggers:
        caplog.set_level(logging.DEBUG, logger.name)
        logger.addHandler(kept)
    yield written
    for logger in loggers:
        logger.removeHandler(kept)


@pytest.mark.django_db(transaction=True)
def test_each_line_of_a_turn_says_whose_it_is(lines):
    c = proposed("Read")
    scripted(fails(401))
    tell(c, "go")
    ended = [told for told in lines if told["message"] == "turn failed"]
    assert len(ended) == 1
    expected = {
        "conversation": c.pk,
        "plan": plan_of(c).pk,
        "version": 1,
        "subtask": "s1",
        "attempt": 1,
    }
    assert expected.items() <= ended[0].items()
    assert (ended[0]["level"], ended[0]["kind"], ended[0]["error"]) == ("info", "subtask", "logic")
    planned = next(told for told in lines if told["message"] == "turn done")
    assert "subtask" not in planned and planned["level"] == "debug"


@pytest.mark.django_db
def test_a_request_is_a_line_without_its_query_and_only_at_debug(client, lines):
    link = signin_path(local_owner())
    client.get(link)
    client.get("/plans/?q=what-i-look-for")
    requests = [each for each in lines if each["message"] == "request"]
    asked = next(each for each in requests if each["path"] == "/plans/")
    assert (asked["method"], asked["status"], asked["user"]) == ("GET", 200, local_owner().pk)
    assert asked["ms"] > 0 and asked["level"] == "debug"
    told = json.dumps(lines)
    assert "what-i-look-for" not in told and link.partition("token=")[2] not in told


def refuse(request):
    raise httpx.ConnectError("Nobody listens there.", request=request)


@pytest.mark.django_db(transaction=True)
def test_a_failed_turn_is_one_line_without_the_key(lines):
    Provider.objects.create(name="mine", base_url="http://127.0.0.1:1/v1", key=KEY)
    c = conversation(provider="mine", plan={"enabled": False})
    http.use(httpx.MockTransport(refuse))
    tell(c, "hello")
    [failed] = [each for each in lines if "turn failed" in each["message"]]
    assert (failed["conversation"], failed["error"]) == (c.pk, "transient")
    assert KEY not in json.dumps(lines)
