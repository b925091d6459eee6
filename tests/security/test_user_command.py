"""`manage.py user`: how an admin lets people in, and out."""

import io
import json
import sys

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from agents.errors import Conflict, Invalid, NotFound
from tests.inner import create_token

pytestmark = pytest.mark.django_db(transaction=True)

GOOD = "correct horse"


@pytest.fixture
def typed(monkeypatch):
    """What comes through the pipe."""

    def pipe(password):
        monkeypatch.setattr(sys, "stdin", io.StringIO(f"{password}\n"))

    pipe(GOOD)
    return pipe


def run(*words):
    call_command("user", *words)


def signs_in(name, password=GOOD):
    answer = Client().post("/signin/", {"username": name, "password": password})
    return answer.status_code == 302


def test_a_person_is_added_and_signs_in(typed):
    run("add", "bob")
    assert signs_in("bob")
    assert not User.objects.get(username="bob").is_superuser


def test_an_admin_is_added_as_one(typed):
    run("add", "alice", "--admin")
    assert User.objects.get(username="alice").is_superuser


def test_no_name_is_given_twice(typed):
    run("add", "bob")
    with pytest.raises(Conflict, match="already a person"):
        typed(GOOD)
        run("add", "Bob")


@pytest.mark.parametrize("name", ["", "a b", "a\0b", "x" * 151])
def test_a_name_that_cannot_be_is_refused(typed, name):
    with pytest.raises(Invalid):
        run("add", name)


@pytest.mark.parametrize("password", ["", "short", "password123"])
def test_a_weak_password_is_refused_and_nobody_is_added(typed, password):
    typed(password)
    with pytest.raises(Invalid):
        run("add", "bob")
    assert not User.objects.filter(username="bob").exists()


def test_another_password_ends_the_sessions(typed):
    run("add", "bob")
    client = Client()
    client.force_login(User.objects.get(username="bob"))
    typed("battery staple")
    run("password", "bob")
    assert client.get("/plans/").status_code == 302
    assert signs_in("bob", "battery staple")
    assert not signs_in("bob")


def test_who_is_deactivated_gets_in_no_more_until_activated(typed):
    run("add", "bob")
    bob = User.objects.get(username="bob")
    script = Client(headers={"Authorization": f"Bearer {create_token(bob, 'script')}"})
    run("deactivate", "bob")
    assert not signs_in("bob")
    assert script.get("/api/plans").status_code == 401
    run("activate", "bob")
    assert signs_in("bob")
    assert script.get("/api/plans").status_code == 200


@pytest.mark.parametrize("verb", ["password", "activate", "deactivate"])
def test_nobody_of_that_name_is_a_sentence(typed, verb):
    with pytest.raises(NotFound, match="no person named"):
        run(verb, "nobody")


def test_people_are_listed_without_their_passwords(typed, capsys):
    run("add", "bob")
    typed(GOOD)
    run("add", "alice", "--admin")
    run("deactivate", "bob")
    capsys.readouterr()
    run("list")
    assert capsys.readouterr().out == "alice  (admin)\nbob  (deactivated)\n"
    run("list", "--json")
    listed = json.loads(capsys.readouterr().out)
    keys = {"name", "admin", "active", "last_sign_in"}
    assert [set(each) for each in listed] == [keys, keys]
