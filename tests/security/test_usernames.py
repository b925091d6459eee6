"""Nobody's name can be taken for another's, nor for what is no person."""

import io
import sys

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from agents.errors import Conflict, Invalid, Refused
from agents.models import Event
from plans import actions
from plans.schemas import SubtaskDraft
from tests.fake_model import call, say
from tests.inner import new_username
from tests.world import drive, person, plan_of, proposed, scripted, tell

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_home")]

GOOD = "correct horse"


def add(name, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{GOOD}\n"))
    call_command("user", "add", name)


def signs_in(name):
    answer = Client().post("/signin/", {"username": name, "password": GOOD})
    return answer.status_code == 302


ALIKE = {
    "capitals": "BOB",
    "full-width": "ｂｏｂ",
    "one Cyrillic letter": "bоb",
    "all Cyrillic": "ьоЬ",
    "mathematical letters": "𝐛𝐨𝐛",
    "a letter without width": "bob\u200b",
    "turned round": "\u202ebob",
    "a mark of its own": "bob\u0336",
    "dots between": "b.o.b",
    "a mark behind": "bob_",
    "a nought": "b0b",
}


@pytest.mark.parametrize("name", ALIKE.values(), ids=ALIKE)
def test_no_second_person_is_called_like_the_first(name, monkeypatch):
    add("bob", monkeypatch)
    with pytest.raises(Refused):
        add(name, monkeypatch)
    assert User.objects.filter(password__gt="").count() == 1


MEANT = [
    "agent",
    "Agent",
    "ａｇｅｎｔ",
    "аgеnt",
    "system",
    "SYSTEM",
    "planside",
    "a.gent",
    "_agent_",
    "0wner",
    "p1anside",
]


@pytest.mark.parametrize("name", [*MEANT, "assistant", "You", "owner"])
def test_nobody_is_called_like_what_is_no_person(name, monkeypatch):
    with pytest.raises(Invalid):
        add(name, monkeypatch)
    assert not User.objects.exists()


@pytest.mark.parametrize(
    "name", ["alice", "Ágnes", "Олег", "田中さん", "김철수", "नमस्ते", "a.b+c@d-e_1"]
)
def test_a_name_of_any_one_alphabet_is_taken(name, monkeypatch):
    add(name, monkeypatch)
    assert signs_in(name)


def test_a_name_is_stored_one_way_and_found_however_it_is_typed(monkeypatch):
    add("ａｌｉｃｅ", monkeypatch)
    assert User.objects.get().username == "alice"
    assert signs_in("ａｌｉｃｅ")
    assert signs_in("Alice")


def test_wrong_passwords_count_for_the_person_however_the_name_is_typed(monkeypatch, settings):
    settings.SIGNIN_FAILURES = 2
    add("alice", monkeypatch)
    typed = ("alice", "ａlice", "ALICE", "ａｌice", "ａｌｉｃｅ", "alicE")
    answers = [
        Client(REMOTE_ADDR=f"10.{n}.0.1").post("/signin/", {"username": name, "password": "wrong"})
        for n, name in enumerate(typed)
    ]
    assert [answer.status_code for answer in answers] == [403] * 4 + [429] * 2


def test_those_who_have_such_names_already_still_come_in():
    for name in ("agent", "bоb", "ｃarol"):
        user = User(username=name)
        user.set_password(GOOD)
        user.save()
    assert signs_in("agent") and signs_in("bоb") and signs_in("ｃarol")
    with pytest.raises(Conflict):
        new_username("bob")


@pytest.mark.parametrize("name", ["agent", "system"])
@pytest.mark.parametrize("confirm", ["create", "always"])
def test_a_person_called_agent_is_still_a_person_at_the_gate(name, confirm):
    """Only the agent's own revisions keep a yes, and only where agent.json says so."""
    c = story(name, confirm)
    plan = plan_of(c)
    actions.add_subtask(plan, SubtaskDraft(name="More"), name)
    plan = plan_of(c)
    assert (plan.version, plan.approved_version) == (2, 1)
    row = plan.versions.get(version=2)
    assert (row.author, row.author_kind) == (name, "person")
    told = Event.objects.filter(conversation=c, type="plan.updated").last()
    assert (told.actor, told.actor_kind) == (name, "person")
    client = Client()
    client.force_login(person(name))
    page = client.get(f"/plans/{plan.pk}/").content.decode()
    assert ">Agent<" not in page.split("version-list")[1].split("</ol>")[0].split("v2")[1]


def story(name, confirm):
    c = proposed("Read", owner=name, plan={"enabled": True, "confirm": confirm})
    plan = plan_of(c)
    actions.approve_plan(plan, plan.version, name, run="no")
    return c


def test_the_agent_itself_keeps_the_yes_where_agent_json_says_so():
    c = story("alice", "create")
    scripted(call("add_subtask", name="More"), say("Added."))
    tell(c, "one more please")
    drive()
    plan = plan_of(c)
    assert (plan.version, plan.approved_version) == (2, 2)
    assert plan.versions.get(version=2).author_kind == "agent"


def test_an_actor_equals_no_text():
    from agents.actors import AGENT, SYSTEM, actor_of, kind_of, name_of

    assert AGENT != "agent" and SYSTEM != "system"
    for by in (AGENT, SYSTEM, "agent", "system", "alice"):
        assert actor_of(kind_of(by), name_of(by)) == by
