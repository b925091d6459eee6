"""Secrets are planted everywhere, everything that can fail fails, and nobody hears of them."""

import contextlib
import ctypes
import logging
import os
import subprocess
import sys
from itertools import chain

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db.models import Model
from django.test import Client

from agents import models as tables
from agents.errors import Refused
from agents.models import Conversation, Provider, SigninToken, ToolSource
from plans import models as plan_tables
from tests.console.serving import ROOT
from tests.fake_model import call, say
from tests.inner import ProviderKey, create_token, make_undumpable, ownership, signin_path
from tests.inner import integrations_actions as actions
from tests.inner import tokens_digest_of as digest_of
from tests.security.addresses import operations, pages
from tests.world import calls_of, conversation, person, scripted, tell

pytestmark = pytest.mark.django_db(transaction=True)

KEY = "canary-key-4711-abcdef"
OPENAI = "canary-openai-4711-abcdef"
HEADER = "canary-header-4711-abcdef"
IN_URL = "canary-url-4711-abcdef"
VARIABLE = "canary-variable-4711-abcdef"
PLANTED = (KEY, OPENAI, HEADER, IN_URL, VARIABLE)


@pytest.fixture
def planted(tmp_path, settings, caplog):
    """A provider, services and settings with secrets, and alice, an admin who may see all."""
    caplog.set_level(logging.DEBUG)
    settings.PLANSIDE_HOME = tmp_path
    settings.PROVIDER_KEYS = {"openai": ProviderKey("OPENAI_API_KEY", OPENAI)}
    Provider.objects.create(
        name="hosted", base_url="http://127.0.0.1:9/v1", key=KEY, headers={"X-Team": HEADER}
    )
    echo = {"name": "echo", "description": "e", "parameters": {"type": "object"}}
    ToolSource.objects.create(
        name="crm",
        kind="openapi",
        url=f"http://user:{IN_URL}@127.0.0.1:9/?token={IN_URL}",
        headers={"Authorization": f"Bearer {HEADER}"},
        inject={"tenant": VARIABLE},
    )
    ToolSource.objects.create(
        name="local",
        kind="mcp",
        command=f"{sys.executable} -c \"import os, sys; sys.exit(os.environ['CRM_KEY'])\"",
        headers={"CRM_KEY": VARIABLE},
        tools=[{**echo, "remote": "echo", "read_only": False, "idempotent": False}],
    )
    alice = person("alice")
    User.objects.filter(pk=alice.pk).update(is_superuser=True)
    alice.refresh_from_db()
    return alice


def talk(alice, provider, *replies, tools=None):
    c = conversation(provider=provider, tools=tools or {"*": "allow"})
    ownership.set_owner(alice, c.agent_id)
    scripted(*replies)
    tell(c, "hello")
    return c


def echoing(status, key):
    """A server whose error repeats what it was sent."""
    told = f"bad key {key} of team {HEADER if key is KEY else 'x'}, Bearer {key}"
    return {"status": status, "raw": f'{{"error": {{"message": "{told}"}}}}'}


def everything_fails(alice):
    """The conversations in which all this went wrong."""
    for status in (400, 401, 404, 500):
        talk(alice, "hosted", *[echoing(status, KEY)] * 6)
        talk(alice, "openai", *[echoing(status, OPENAI)] * 6)
    failing = talk(alice, "hosted", call("local__echo"), say("It failed."))
    assert calls_of(failing)[0].state == "failed"
    shell = call("shell", command="env; cat /proc/self/environ; cat /proc/$PPID/environ")
    talk(alice, "hosted", shell, say("That was all."))
    for name in ("crm", "local"):
        refreshed = async_to_sync(actions.refresh_source)(ToolSource.objects.get(name=name))
        assert refreshed.error
    with pytest.raises(Refused):
        async_to_sync(actions.register)(
            actions.add_source(
                "third", kind="mcp", command="sh -c 'echo $X >&2; exit 3'",
                headers={"X": VARIABLE}, by="alice",
            ),
            "alice",
        )  # fmt: skip


SECRET_COLUMNS = {
    "Provider": {"key", "headers"},
    "ToolSource": {"headers", "inject", "url"},
}


def stored():
    """All rows as text, without the columns that are there to hold secrets."""
    for model in chain(vars(tables).values(), vars(plan_tables).values()):
        if isinstance(model, type) and issubclass(model, Model) and not model._meta.abstract:
            hidden = SECRET_COLUMNS.get(model.__name__, set())
            for row in model.objects.values():
                yield model.__name__, str({k: v for k, v in row.items() if k not in hidden})


def shown_to(client, conversations):
    ids = {"name": ("hosted", "crm", "local", "openai"), "id": conversations, "pk": conversations}
    for page in pages():
        if len(page.names) <= 1 and "signout" not in page.route:
            for value in ids.get(page.names[0], ("none",)) if page.names else ("",):
                path = page.at(dict.fromkeys(page.names, value))
                yield path, client.get(path, headers={"HX-Request": "true"})
    for operation in operations():
        if operation.method == "GET" and operation.path.count("{") <= 1:
            noun = operation.path.split("/")[2]
            values = ids["name"] if noun in ("tools", "providers") else conversations
            for value in values:
                path = operation.path.partition("{")[0]
                path += (
                    f"{value}{operation.path.partition('}')[2]}" if "{" in operation.path else ""
                )
                yield path, client.get(path)


def test_no_secret_is_in_a_row_a_page_an_answer_or_the_log(planted, caplog):
    everything_fails(planted)
    client = Client(raise_request_exception=False)
    client.force_login(planted)
    found = list(stored())
    found += [(r.name, f"{r.getMessage()} {r.exc_text} {r.args}") for r in caplog.records]
    ids = list(Conversation.objects.values_list("pk", flat=True))
    assert len(ids) == 10
    for path, answer in shown_to(client, ids):
        found.append((path, b"".join(answer).decode() + str(answer.headers)))
    assert len(found) > 300
    for where, text in found:
        for secret in PLANTED:
            assert secret not in text, f"{secret} in {where}: {text[:300]}"


def test_a_page_or_call_that_breaks_says_nothing_of_why(planted, monkeypatch, caplog):
    def broken(*args):
        raise RuntimeError(f"the key is {KEY}")

    monkeypatch.setattr("console.views.plan_list.list_context", broken)
    monkeypatch.setattr("console.api.agents.agents_of", broken)
    client = Client(raise_request_exception=False)
    client.force_login(planted)
    for path in ("/plans/", "/api/agents"):
        answer = client.get(path)
        assert answer.status_code == 500
        assert KEY not in answer.content.decode() + str(answer.headers)


def test_signing_in_leaves_no_secret_behind(planted, caplog, settings):
    link = signin_path(planted)
    secret = link.rpartition("=")[2]
    token = create_token(planted, "script")
    client = Client()
    client.get(link)
    Client(headers={"Authorization": f"Bearer {token}"}).get("/api/plans")
    Client(headers={"Authorization": f"Bearer {token}x"}).get("/api/plans")
    said = " ".join(record.getMessage() for record in caplog.records)
    for each in (secret, token, settings.SECRET_KEY):
        assert each not in said
        assert not [where for where, text in stored() if each in text]
    assert SigninToken.objects.get(user=planted).digest == digest_of(secret)


def test_commands_list_no_secret(planted, capsys):
    everything_fails(planted)
    for words in (("tools", "list"), ("tools", "list", "--json"), ("token", "list"), ("doctor",)):
        with contextlib.suppress(SystemExit, Refused):
            call_command(*words)
    out, err = capsys.readouterr()
    assert not [secret for secret in PLANTED if secret in out + err]


# What a command that an agent runs can learn of the server.

PEEK = """
import ctypes, os, sys
if os.getuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
if sys.argv[1] == "hidden":
    sys.path.insert(0, sys.argv[2])
    from console.serving.process import make_undumpable
    make_undumpable()
child = os.fork()
if child == 0:
    os.execv(sys.executable, [sys.executable, "-c", (
        "import os, sys\\n"
        "try: print(b'canary' in open(f'/proc/{os.getppid()}/environ', 'rb').read())\\n"
        "except OSError: print('refused')")])
os.waitpid(child, 0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc elsewhere")
@pytest.mark.parametrize(("how", "told"), [("hidden", "refused"), ("open", "True")])
@pytest.mark.process
def test_a_command_of_the_same_user_reads_no_environment_of_the_server(how, told, tmp_path):
    package = tmp_path / "console" / "serving"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    source = (ROOT / "console" / "serving" / "process.py").read_text()
    (package / "process.py").write_text(source)
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(0o755)
    peek = subprocess.run(
        ["/usr/bin/env", "python3", "-c", PEEK, how, str(tmp_path)],
        env={"OPENAI_API_KEY": OPENAI, "PATH": os.defpath},
        capture_output=True,
        text=True,
        check=False,
    )
    assert peek.stdout.strip() == told, peek.stderr


def test_this_process_was_not_hidden_by_the_tests():
    assert callable(make_undumpable)
    if sys.platform == "linux":
        assert ctypes.CDLL(None).prctl(3, 0, 0, 0, 0) == 1
