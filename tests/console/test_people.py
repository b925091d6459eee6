"""Settings > People: who may come in, and who is an admin. To others it is not there."""

import re

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from agents.errors import Conflict
from agents.models import SigninToken, Turn
from tests.inner import create_token, people, read_agent, set_owner
from tests.world import HTMX, agent, conversation, person, signed_in

pytestmark = pytest.mark.django_db(transaction=True)

VERBS = ["link", "make-admin", "take-back-admin", "deactivate", "activate"]


@pytest.fixture
def alice():
    user = person("alice")
    people.make_admin(user)
    user.refresh_from_db()
    return user


@pytest.fixture
def bob():
    return person("bob")


def do(who, verb, **values):
    return signed_in(who).post(f"/settings/people/{verb}", values, headers=HTMX)


def text(answer):
    return answer.content.decode()


def now(user):
    return User.objects.get(pk=user.pk)


def test_to_others_it_is_not_there_and_not_in_the_menu(alice, bob):
    assert signed_in(bob).get("/settings/people/").status_code == 404
    assert do(bob, "add", name="eve").status_code == 404
    for verb in VERBS:
        assert do(bob, f"{alice.pk}/{verb}").status_code == 404
    assert "/settings/people/" not in text(signed_in(bob).get("/settings/account/"))
    assert "/settings/people/" in text(signed_in(alice).get("/settings/account/"))


def test_a_person_is_added_and_comes_in_by_the_link_once(alice):
    answer = do(alice, "add", name="dora")
    path = re.search(r"/signin/\?token=[\w-]+", text(answer))[0]
    assert path not in text(signed_in(alice).get("/settings/people/"))
    dora = User.objects.get(username="dora")
    assert not dora.is_superuser
    first, second = Client(), Client()
    assert first.get(path).status_code == 302
    assert second.get(path).status_code == 403
    assert first.get("/plans/").status_code == 200


@pytest.mark.parametrize("name", ["", "alice", "a b", "system"])
def test_a_name_that_cannot_be_is_refused(alice, name):
    before = User.objects.count()
    assert do(alice, "add", name=name).status_code in (409, 422)
    assert User.objects.count() == before


def test_no_admin_becomes_somebody_by_a_link(alice, bob):
    """Who has a password or has signed in gets none from here."""
    bob.set_password("correct horse")
    bob.save()
    assert do(alice, f"{bob.pk}/link").status_code == 409
    assert not SigninToken.objects.filter(user=bob).exists()


def test_an_admin_is_made_and_taken_back(alice, bob):
    do(alice, f"{bob.pk}/make-admin")
    assert now(bob).is_superuser
    do(alice, f"{bob.pk}/take-back-admin")
    assert not now(bob).is_superuser


def test_who_is_deactivated_is_out_at_once_and_what_is_theirs_stays(alice, bob):
    client = signed_in(bob)
    client.get("/plans/")
    script = Client(headers={"Authorization": f"Bearer {create_token(bob, 'script')}"})
    own = conversation("bob")
    turn = Turn.objects.create(conversation=own, lane="chat", kind="chat")
    assert do(alice, f"{bob.pk}/deactivate").status_code == 200
    assert client.get("/plans/").status_code == 302
    assert script.get("/api/plans").status_code == 401
    turn.refresh_from_db()
    assert turn.state in ("stopped", "cancelled") or turn.stop_requested
    own.refresh_from_db()
    assert do(alice, f"{bob.pk}/activate").status_code == 200
    assert client.get("/plans/").status_code == 302, "sessions have ended for good"
    assert script.get("/api/plans").status_code == 200


@pytest.mark.parametrize("verb", VERBS)
def test_nobody_does_it_to_themselves(alice, verb):
    assert do(alice, f"{alice.pk}/{verb}").status_code == 409
    assert now(alice).is_superuser
    assert now(alice).is_active


@pytest.mark.parametrize("verb", ["take-back-admin", "deactivate"])
def test_the_last_admin_stays_one(alice, bob, verb):
    with pytest.raises(Conflict, match="alice is the last admin"):
        call_command("user", verb, "alice")
    people.make_admin(bob)
    User.objects.filter(pk=bob.pk).update(is_active=False)
    with pytest.raises(Conflict, match="last admin"):
        call_command("user", verb, "alice")
    people.activate(bob)
    call_command("user", verb, "alice")
    with pytest.raises(Conflict, match="bob is the last admin"):
        call_command("user", verb, "bob")


def test_commands_and_page_do_the_same(alice, bob):
    call_command("user", "make-admin", "bob")
    assert now(bob).is_superuser
    call_command("user", "take-back-admin", "bob")
    assert not now(bob).is_superuser


def test_people_are_searched_by_name(alice, bob):
    client = signed_in(alice)
    assert "bob" in text(client.get("/settings/people/?q=BO"))
    shown = text(client.get("/settings/people/?q=zzz"))
    assert "Nothing matches" in shown
    assert 'id="people-' + str(bob.pk) not in shown


def test_the_search_stays_when_something_is_done_to_one_who_was_found(alice, bob):
    page = signed_in(alice).get("/settings/people/?q=bo").content.decode()
    posts = re.findall(r'<(?:form|button)[^>]*hx-post="[^"]*/people/[^>]*>', page)
    assert posts and all('hx-include="#people-search"' in each for each in posts)
    answer = signed_in(alice).post(
        f"/settings/people/{bob.pk}/make-admin", {"q": "bo"}, headers=HTMX
    )
    assert f'id="people-{bob.pk}"' in answer.content.decode()
    assert f'id="people-{alice.pk}"' not in answer.content.decode()


def test_who_becomes_an_admin_gets_no_shell_by_a_grant_of_all_tools():
    bob = people.add_person("bob", is_admin=False)
    own = agent(tools={"*": "allow", "read_file": "off"})
    set_owner(bob, own)
    people.make_admin(bob)
    assert read_agent(own).file.tools == {"*": "allow", "read_file": "off", "shell": "off"}
    unasked = agent(tools={"list_files": "allow"})
    assert "shell" not in read_agent(unasked).file.tools
