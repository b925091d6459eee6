"""What all commands have in common, and the link that signs in."""

import json
import os
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from tests.inner import SPENT, keep_address, local_owner, signin_path


@pytest.mark.parametrize("words", [["plan", "list", "--json"], ["help"]])
def test_a_reader_that_leaves_early_is_no_error(cli, words):
    read, write = os.pipe()
    os.close(read)  # as head does when it has what it wants
    with os.fdopen(write, "w") as pipe:
        assert cli(*words, stdout=pipe) == (141, "", "")


# A link that signs in


@pytest.fixture
def printed(cli):
    """The link, or its JSON."""

    def link(*words):
        code, out, err = cli("signin-link", *words)
        assert (code, err) == (0, "")
        return out.strip()

    return link


def followed(link):
    client = Client()
    url = urlsplit(link)
    answer = client.get(f"{url.path}?{url.query}")
    return answer.status_code, client.session.get("_auth_user_id")


def test_an_ipv6_address_stands_in_brackets(settings, printed):
    settings.PLANSIDE_HOST = "::1"
    assert printed().startswith(f"http://[::1]:{settings.PLANSIDE_PORT}/signin/?token=")


def test_a_printed_link_signs_in_once_and_ends_the_one_before(printed):
    first = signin_path(local_owner())
    link = printed()
    assert link.startswith(f"http://127.0.0.1:{settings.PLANSIDE_PORT}/signin/?token=")
    assert followed(first) == (403, None)
    assert followed(link) == (302, str(local_owner().pk))
    assert followed(link) == (403, None)
    assert "manage.py signin-link" in SPENT


def test_a_link_leads_to_where_the_server_listens_and_to_the_named_person(printed):
    alice = User.objects.create_user("alice")
    keep_address("http://127.0.0.1:4711")
    told = json.loads(printed("alice", "--json"))
    assert told["user"] == "alice" and told["link"].startswith("http://127.0.0.1:4711/signin/")
    assert followed(told["link"]) == (302, str(alice.pk))


def test_nobody_is_signed_in_who_may_not_be(cli):
    User.objects.create_user("bob", is_active=False)
    code, out, err = cli("signin-link", "nobody")
    assert (code, out) == (1, "") and "There is no person named 'nobody'" in err
    code, out, err = cli("signin-link", "bob")
    assert (code, out) == (1, "") and "bob is deactivated" in err


@pytest.mark.django_db
def test_the_settings_lead_to_the_agents(client):
    client.force_login(local_owner())
    assert client.get("/settings/").url == "/settings/agents/"
    assert Client().get("/settings/").url == "/signin/?next=/settings/"


def test_what_is_no_text_is_refused_in_one_sentence(cli):
    code, out, err = cli("tools", "remove", "caf\udce9")
    assert (code, out, err) == (1, "", "What was typed is not text in UTF-8.\n")
