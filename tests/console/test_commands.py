"""What all commands have in common, and the link that signs in."""

import json
import os
import subprocess
import sys
from io import StringIO
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from agents.errors import Conflict, NotFound
from tests.console.serving import ROOT, surroundings
from tests.inner import SPENT, address_file, keep_address, local_owner, signin_path

IMPORTING = """
import os, sys
from io import StringIO
os.environ["DJANGO_SETTINGS_MODULE"] = "console.settings"
from django.core.management import load_command_class, get_commands
import django
django.setup()
for name in sys.argv[1:]:
    command = load_command_class("console", name)
    if name not in ("worker", "doctor"):
        command.stdout = StringIO()
        command.run_from_argv(["manage.py", name, *([] if name == "signin-link" else ["list"])])
print(*sorted({module for module in sys.modules}))
"""
OF_THE_SERVER = ("daphne", "twisted.internet", "autobahn", "ninja", "console.urls", "console.views")


def names():
    files = (ROOT / "console" / "management" / "commands").glob("[!_]*.py")
    return sorted(path.stem for path in files if path.stem != "serve")


def test_no_command_but_serve_loads_the_server(tmp_path):
    told = subprocess.run(
        [sys.executable, "-c", IMPORTING, *names()],
        cwd=ROOT, env=surroundings(tmp_path), capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = told.stdout.split("\n")[-2].split()
    assert "plans.models" in loaded
    assert [each for each in loaded if each.startswith(OF_THE_SERVER)] == []


@pytest.mark.parametrize("words", [["plan", "list", "--json"], ["help"]])
def test_a_reader_that_leaves_early_is_no_error(tmp_path, words):
    read, write = os.pipe()
    os.close(read)  # as head does when it has what it wants
    told = subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT, env=surroundings(tmp_path), stdout=write, stderr=subprocess.PIPE, check=False,
    )  # fmt: skip
    os.close(write)
    assert (told.returncode, told.stderr) == (141, b"")


# A link that signs in


@pytest.fixture(autouse=True)
def _no_server_is_known():
    address_file().unlink(missing_ok=True)


def printed(*words):
    out = StringIO()
    call_command("signin-link", *words, stdout=out)
    return out.getvalue().strip()


def followed(link):
    client = Client()
    url = urlsplit(link)
    answer = client.get(f"{url.path}?{url.query}")
    return answer.status_code, client.session.get("_auth_user_id")


@pytest.mark.django_db
def test_an_ipv6_address_stands_in_brackets(settings):
    settings.PLANSIDE_HOST = "::1"
    assert printed().startswith(f"http://[::1]:{settings.PLANSIDE_PORT}/signin/?token=")


@pytest.mark.django_db
def test_a_printed_link_signs_in_once_and_ends_the_one_before():
    first = signin_path(local_owner())
    link = printed()
    assert link.startswith(f"http://127.0.0.1:{settings.PLANSIDE_PORT}/signin/?token=")
    assert followed(first) == (403, None)
    assert followed(link) == (302, str(local_owner().pk))
    assert followed(link) == (403, None)
    assert "manage.py signin-link" in SPENT


@pytest.mark.django_db
def test_a_link_leads_to_where_the_server_listens_and_to_the_named_person():
    alice = User.objects.create_user("alice")
    keep_address("http://127.0.0.1:4711")
    told = json.loads(printed("alice", "--json"))
    assert told["user"] == "alice" and told["link"].startswith("http://127.0.0.1:4711/signin/")
    assert followed(told["link"]) == (302, str(alice.pk))


@pytest.mark.django_db
def test_nobody_is_signed_in_who_may_not_be():
    User.objects.create_user("bob", is_active=False)
    with pytest.raises(NotFound, match="There is no person named 'nobody'"):
        printed("nobody")
    with pytest.raises(Conflict, match="bob is deactivated"):
        printed("bob")


@pytest.mark.django_db
def test_the_settings_lead_to_the_agents(client):
    client.force_login(local_owner())
    assert client.get("/settings/").url == "/settings/agents/"
    assert Client().get("/settings/").url == "/signin/?next=/settings/"
