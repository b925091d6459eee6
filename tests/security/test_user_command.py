"""`manage.py user`: how an admin lets people in, and out."""

import json

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.inner import create_token

pytestmark = pytest.mark.django_db(transaction=True)

GOOD = "correct horse"


@pytest.fixture
def run(cli):
    """Runs `manage.py user`, with this password in the pipe."""

    def with_password(*words, typed=GOOD):
        return cli("user", *words, stdin=f"{typed}\n")

    return with_password


@pytest.fixture
def done(run):
    """What it prints where it has to work."""

    def printed(*words, **given):
        code, out, err = run(*words, **given)
        assert (code, err) == (0, "")
        return out

    return printed


def sentence(ended):
    """Why it was refused."""
    assert (ended.code, ended.out, ended.err.count("\n")) == (1, "", 1)
    return ended.err


def signs_in(name, password=GOOD):
    answer = Client().post("/signin/", {"username": name, "password": password})
    return answer.status_code == 302


def test_a_person_is_added_and_signs_in(done):
    done("add", "bob")
    assert signs_in("bob")
    assert not User.objects.get(username="bob").is_superuser


def test_an_admin_is_added_as_one(done):
    done("add", "alice", "--admin")
    assert User.objects.get(username="alice").is_superuser


def test_no_name_is_given_twice(run, done):
    done("add", "bob")
    assert "already a person" in sentence(run("add", "Bob"))


@pytest.mark.parametrize("name", ["", "a b", "a\0b", "x" * 151])
def test_a_name_that_cannot_be_is_refused(run, name):
    assert sentence(run("add", name))


@pytest.mark.parametrize("password", ["", "short", "password123"])
def test_a_weak_password_is_refused_and_nobody_is_added(run, password):
    assert "password" in sentence(run("add", "bob", typed=password)).lower()
    assert not User.objects.filter(username="bob").exists()


def test_another_password_ends_the_sessions(done):
    done("add", "bob")
    client = Client()
    client.force_login(User.objects.get(username="bob"))
    done("password", "bob", typed="battery staple")
    assert client.get("/plans/").status_code == 302
    assert signs_in("bob", "battery staple")
    assert not signs_in("bob")


def test_who_is_deactivated_gets_in_no_more_until_activated(done):
    done("add", "bob")
    bob = User.objects.get(username="bob")
    script = Client(headers={"Authorization": f"Bearer {create_token(bob, 'script')}"})
    done("deactivate", "bob")
    assert not signs_in("bob")
    assert script.get("/api/plans").status_code == 401
    done("activate", "bob")
    assert signs_in("bob")
    assert script.get("/api/plans").status_code == 200


@pytest.mark.parametrize("verb", ["password", "activate", "deactivate"])
def test_nobody_of_that_name_is_a_sentence(run, verb):
    assert "no person named" in sentence(run(verb, "nobody"))


def test_people_are_listed_without_their_passwords(done):
    done("add", "bob")
    done("add", "alice", "--admin")
    done("deactivate", "bob")
    assert done("list") == "alice  (admin)\nbob  (deactivated)\n"
    listed = json.loads(done("list", "--json"))
    keys = {"name", "admin", "active", "last_sign_in"}
    assert [set(each) for each in listed] == [keys, keys]
