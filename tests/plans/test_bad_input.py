"""What makes no sense at a plan's doors is refused in one sentence, and nothing of the plan is lost."""

import re
from html import unescape
from io import StringIO
from itertools import count

import pytest
from django.core.management import call_command
from django.db import connection, transaction

from agents.errors import Refused
from plans.models import ActivePlan, Plan, PlanVersion, Subtask
from tests.builders import done_plan, failed_plan, proposed_plan
from tests.fake_model import call, say
from tests.inner import BY_ID, create_plan, local_owner, update_plan
from tests.security.addresses import operations, pages
from tests.world import (
    HTMX,
    calls_of,
    conversation,
    on_page,
    plan_of,
    scripted,
    signed_in,
    tell,
)

pytestmark = pytest.mark.django_db(transaction=True)

LONG = "x" * 100_000
IDS = ("0", str(2**63 - 1), str(2**63), "9" * 40, "-1", "x")
OF_PLANS = [each for each in pages() if "plan" in each.route and "settings" not in each.route]
CALLS = [each for each in operations() if "/plans/{id}" in each.path]


def kept():
    """All that is stored of plans."""
    return [list(model.objects.order_by("pk").values()) for model in (Plan, PlanVersion, Subtask)]


def is_sentence(text):
    return bool(re.fullmatch(r"[^\n]+[.?]", text)) and "Traceback" not in text


def refused(client, method, path, body):
    """The sentence of a refusal of the API."""
    answer = getattr(client, method)(path, body, "application/json")
    assert 400 <= answer.status_code < 500, (path, answer.status_code)
    told = answer.json()["detail"]
    assert is_sentence(told), told
    return told


# Numbers of what is not there


@pytest.mark.sampled(12)
@pytest.mark.parametrize("page", OF_PLANS, ids=str)
def test_no_number_in_the_address_of_a_page_breaks_it(page):
    c = proposed_plan("Read", "Write")
    client, before = signed_in(c.owner), kept()
    own = {"pk": c.pk, "plan": plan_of(c).pk, "key": "s1", "check": "c1", "attempt_id": 1, "n": 1}
    if page.route.startswith("plans/"):
        own["pk"] = plan_of(c).pk
    for name in page.names:
        for id in IDS:
            for ask in (client.get, client.post):
                answer = ask(page.at(own | {name: id}), on_page(c), headers=HTMX)
                assert 400 <= answer.status_code < 500, (page, name, id, answer.status_code)
    assert kept() == before


@pytest.mark.sampled(12)
@pytest.mark.parametrize("operation", CALLS, ids=str)
def test_no_number_in_the_address_of_a_call_breaks_it(operation):
    c = proposed_plan("Read", "Write")
    client, before = signed_in(c.owner), kept()
    for id in IDS:
        path = operation.path.replace("{id}", id)
        path = re.sub(r"{\w+}", "s1", path)
        refused(client, operation.method.lower(), path, {})
    own = operation.path.replace("{id}", str(plan_of(c).pk))
    for name in re.findall(r"{\w+}", own):
        for id in IDS:
            path = re.sub(r"{\w+}", "s1", own.replace(name, id))
            refused(client, operation.method.lower(), path, {})
    assert kept() == before


@pytest.mark.sampled(6)
@pytest.mark.parametrize("verb", sorted(BY_ID))
def test_no_number_after_a_command_breaks_it(cli, verb):
    before = kept()
    of_one = {"take": ["s1", "c1"], "comment": ["s1", "Shorter"]}
    words = of_one.get(verb, ["s1"] if verb in ("skip", "retry", "look", "take-back") else [])
    for id in IDS:
        ended = cli("plan", verb, *words, "--", id)
        said = ended.err.strip().splitlines()
        assert ended.code, (verb, id, ended)
        assert (said and is_sentence(said[-1])) or "invalid" in said[-1], ended.err
    assert kept() == before


# Fields that nobody knows, at any depth

UNKNOWN = [
    {"titel": "Tidy"},
    {"subtasks": [{"name": "Read", "expected_outcom": "Read"}]},
    {"subtasks": [{"name": "Read", "checks": [{"kind": "file", "path": "a", "exist": True}]}]},
    {"subtasks": [{"name": "Read", "checks": [{"kind": "telepathy"}]}]},
    {"subtasks": [{"name": "Read", "checks": [{"kind": ["file"]}]}]},
    {"subtasks": [{"name": "Read", "checks": ["file"]}]},
    {"subtasks": [["Read"]]},
]


@pytest.mark.parametrize("more", UNKNOWN, ids=str)
def test_no_door_makes_or_changes_a_plan_with_what_is_not_known(more):
    c = proposed_plan("Read", "Write")
    client, plan, before = signed_in(c.owner), plan_of(c), kept()
    whole = {"title": "Tidy", "subtasks": ["Read"]} | more
    refused(client, "post", "/api/plans", {"conversation": c.pk} | whole)
    refused_with_version = client.patch(
        f"/api/plans/{plan.pk}", whole, "application/json", headers={"If-Match": '"1"'}
    )
    assert refused_with_version.status_code == 422
    if "titel" not in more:
        for door in (lambda: create_plan(c, **whole), lambda: update_plan(plan.pk, **whole)):
            with pytest.raises(Refused) as refusal:
                door()
            assert is_sentence(str(refusal.value)), refusal.value
    assert kept() == before


@pytest.mark.parametrize("more", UNKNOWN, ids=str)
@pytest.mark.parametrize("tool", ["create_plan", "revise_current_plan"])
@pytest.mark.sampled(7)
def test_no_tool_takes_what_is_not_known(tool, more):
    c = proposed_plan("Read", "Write")
    before = kept()
    whole = {"title": "Tidy", "subtasks": [{"name": "Read"}]} | more
    scripted(call(tool, **whole), say("Sorry."))
    tell(c, "/plan tidy it up" if tool == "create_plan" else "Shorter, please.")
    [asked] = [each for each in calls_of(c, tool) if "Sorry" not in each.result][-1:]
    assert asked.state == "failed", asked.result
    assert is_sentence(asked.result), asked.result
    assert kept() == before


# A plan that goes while it is read


READERS = {
    "conversation": "/c/{c}/",
    "drawer": "/c/{c}/drawer",
    "changes": "/c/{c}/changes?after=0",
    "plans here": "/c/{c}/plans",
    "versions": "/c/{c}/plan/versions?plan={plan}",
    "sidebar": "/sidebar?current={c}",
    "needs": "/needs/",
    "list": "/plans/",
    "page": "/plans/{plan}/",
    "version": "/plans/{plan}/versions/1/",
    "export": "/plans/{plan}/export.md",
    "conversation as JSON": "/c/{c}/export.json",
    "conversation as text": "/c/{c}/export.md",
    "API list": "/api/plans",
    "API plan": "/api/plans/{plan}",
    "API in its conversation": "/api/conversations/{c}/plan",
    "API needs": "/api/needs",
    "API diff": "/api/plans/{plan}/diff",
    "API versions": "/api/plans/{plan}/versions",
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("door", READERS)
def test_a_plan_that_is_deleted_while_it_is_read_breaks_nothing(door):
    c = failed_plan()
    client, plan = signed_in(c.owner), plan_of(c)
    address = READERS[door].format(c=c.pk, plan=plan.pk)
    place, answers = 0, []
    while place == len(answers):
        place += 1
        with transaction.atomic():
            answers += gone_after(place, plan, lambda: client.get(address, headers=HTMX))
            transaction.set_rollback(True)
    assert len(answers) > 2
    there = {200, 204, 304} | ({404} if "{plan}" in READERS[door] else set())
    assert {each.status_code for each in answers} <= there


def gone_after(place, plan, read):
    """Its answer, where the plan went behind the statement at this place; none for fewer of them."""
    seen = count(1)

    def wrapper(execute, *given):
        done = execute(*given)
        if next(seen) == place:
            Plan.objects.filter(pk=plan.pk).delete()
        return done

    with connection.execute_wrapper(wrapper):
        answer = read()
    return [answer] if next(seen) > place + 1 else []


ROWS = {
    "a check of a kind that does not exist": lambda plan: plan.subtasks.update(
        checks=[{"key": "c1", "kind": "telepathy", "path": "a"}]
    ),
    "no version": lambda plan: PlanVersion.objects.filter(plan=plan).delete(),
    "no subtasks": lambda plan: plan.subtasks.all().delete(),
    "no pointer": lambda plan: ActivePlan.objects.all().delete(),
    "no card": lambda plan: plan.card.delete(),
}


@pytest.mark.parametrize("row", ROWS)
def test_every_door_opens_where_a_row_is_gone_or_of_another_version(row):
    for make in (failed_plan, proposed_plan, done_plan):
        c = make()
        plan = plan_of(c)
        ROWS[row](plan)
        for address in READERS.values():
            answer = signed_in(c.owner).get(address.format(c=c.pk, plan=plan.pk), headers=HTMX)
            is_version = "version" in address or "diff" in address
            there = (200, 304, 404) if is_version else (200, 304)
            assert answer.status_code in there, (make, address)


# What a form, the API or a command says of a plan that is there


def alert(answer):
    """The sentence that a form's refusal puts on the page."""
    html = answer.content.decode()
    return unescape(re.sub(r"<[^>]*>", "", html)).strip()


GONE = 99  # a version, or a place, that is not there
FORMS = {
    "no version to go back to": ("go-back", {"to": GONE}),
    "no number to go back to": ("go-back", {"to": "x"}),
    "version 0 to go back to": ("go-back", {"to": 0}),
    "a huge version to go back to": ("go-back", {"to": 2**63}),
    "a yes to another version": ("approve", {"version": GONE}),
    "a yes to version 0": ("approve", {"version": 0}),
    "a yes to a text": ("approve", {"version": "one"}),
    "a yes to a huge version": ("approve", {"version": 2**63}),
    "a yes to no plan": ("approve", {"plan": ""}),
    "a yes to plan 0": ("approve", {"plan": 0}),
    "a yes to a huge plan": ("approve", {"plan": 2**63}),
    "a place that is a text": ("subtasks/s1/move", {"to": "top"}),
    "a huge place": ("subtasks/s1/move", {"to": 2**63}),
    "a subtask that is not there": ("subtasks/s9/edit", {"name": "Read"}),
    "a subtask behind none": ("subtasks", {"name": "Sweep", "after": "s9"}),
    "a subtask without a name": ("subtasks", {"name": " "}),
    "one to restore that never was": ("subtasks", {"restores": "s9"}),
    "a check of no kind": ("subtasks/s1/checks", {"kind": "telepathy"}),
    "a check without a kind": ("subtasks/s1/checks", {"kind": ""}),
    "a check that is not there": ("subtasks/s1/checks/remove", {"check": "c9"}),
    "a check of what is not there": ("subtasks/s1/checks", {"kind": "file", "check": "c9"}),
    "limits that are no numbers": ("raise", {"tokens": "many"}),
    "a comment on nothing": ("subtasks/s9/comment", {"text": "Shorter"}),
    "a long title": ("edit", {"title": LONG}),
    "a long outcome": ("edit", {"title": "Tidy", "expected_outcome": LONG}),
    "a long name": ("subtasks/s1/edit", {"name": LONG}),
    "a long description": ("subtasks", {"name": "Sweep", "description": LONG}),
    "a long comment": ("subtasks/s1/comment", {"text": LONG}),
    "a long check": ("subtasks/s1/checks", {"kind": "file", "path": LONG}),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_form_that_makes_no_sense_changes_nothing(form):
    c = proposed_plan("Read", "Write")
    client, before = signed_in(c.owner), kept()
    address, fields = FORMS[form]
    answer = client.post(f"/c/{c.pk}/plan/{address}", on_page(c) | fields, headers=HTMX)
    assert 400 <= answer.status_code < 500, answer.content.decode()
    assert LONG not in answer.content.decode()
    if answer.status_code != 404:
        assert is_sentence(alert(answer)), alert(answer)
    assert kept() == before


CALLED = {
    "version 0": ("post", "approve", {"version": 0}),
    "a version that is gone": ("post", "approve", {"version": GONE}),
    "a huge version": ("post", "approve", {"version": 2**63}),
    "a version that is a text": ("post", "approve", {"version": "one"}),
    "back to a version that is gone": ("post", "restore", {"version": GONE}),
    "back to a huge version": ("post", "restore", {"version": 2**63}),
    "a version to read": ("get", "versions/99", {}),
    "a huge version to read": ("get", f"versions/{2**63}", {}),
    "versions to compare": ("get", "diff", {"from": 7, "to": GONE}),
    "huge versions to compare": ("get", "diff", {"from": 2**63, "to": 2**63}),
    "a subtask behind none": ("post", "subtasks", {"name": "Sweep", "after": "s9"}),
    "place 0": ("patch", "subtasks/s1", {"position": 0}),
    "a budget below nothing": ("post", "budget", {"tokens": -1}),
    "a chain that is not there": ("post", "run", {"executor": "no-such-chain"}),
    "another way to run": ("post", "run", {"mode": "sideways"}),
    "a long title": ("patch", "", {"title": LONG}),
    "a long content": ("patch", "", {"content": LONG * 3}),
    "a long outcome": ("patch", "", {"expected_outcome": LONG}),
    "large metadata": ("patch", "", {"metadata": {"notes": LONG}}),
    "a long name": ("post", "subtasks", {"name": LONG}),
    "a long description": ("patch", "subtasks/s1", {"description": LONG}),
    "long feedback": ("post", "revise", {"feedback": LONG * 3}),
    "a long hint": ("post", "replan", {"hint": LONG * 3}),
    "a comment on nothing": ("put", "subtasks/s9/comment", {"text": "Shorter"}),
    "a long comment": ("put", "subtasks/s1/comment", {"text": LONG}),
    "501 subtasks": ("patch", "", {"subtasks": [{"name": "Read"}] * 501}),
}


@pytest.mark.parametrize("called", CALLED)
def test_a_call_that_makes_no_sense_changes_nothing(called):
    c = proposed_plan("Read", "Write")
    client, before = signed_in(c.owner), kept()
    method, address, body = CALLED[called]
    path = f"/api/plans/{plan_of(c).pk}/{address}".rstrip("/")
    if method == "get":
        answer = client.get(path, body)
    else:
        read = {"If-Match": '"1"'}
        answer = getattr(client, method)(path, body, "application/json", headers=read)
    assert 400 <= answer.status_code < 500, answer.content.decode()[:500]
    told = answer.json()["detail"]
    assert is_sentence(told) and len(told) < 1_000, told
    assert kept() == before


COMMANDS = {
    "a version that is gone": ("approve", "--version", GONE),
    "a huge version": ("approve", "--version", 2**63),
    "version 0": ("approve", "--version", 0),
    "a version that is a text": ("approve", "--version", "one"),
    "a subtask that is not there": ("skip", "s9"),
    "a subtask that is a number": ("skip", 2**63),
    "a chain that is not there": ("run", "--version", 1, "--executor", "no-such-chain"),
    "a comment on nothing": ("comment", "s9", "Shorter"),
    "a long comment": ("comment", "s1", LONG),
    "a long hint": ("replan", "--hint", LONG),
}


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_that_makes_no_sense_changes_nothing(cli, words):
    c = proposed_plan("Read", "Write", owner=local_owner().username)
    verb, *rest = COMMANDS[words]
    before = kept()
    ended = cli("plan", verb, *rest)
    said = ended.err.strip().splitlines()
    assert ended.code and not ended.out, ended
    assert is_sentence(said[-1]) or "invalid int" in said[-1], ended.err
    assert LONG not in ended.err
    assert kept() == before, c


def test_no_form_of_a_page_works_on_a_plan_that_is_gone():
    c = proposed_plan("Read", "Write")
    client, shown = signed_in(c.owner), on_page(c)
    plan_of(c).delete()
    before = kept()
    for address, fields in FORMS.values():
        answer = client.post(f"/c/{c.pk}/plan/{address}", shown | fields, headers=HTMX)
        assert 400 <= answer.status_code < 500, (address, answer.status_code)
    assert kept() == before


def test_a_plan_of_as_many_subtasks_as_may_be_is_shown_whole_at_every_door():
    c = conversation(owner=local_owner().username)
    client = signed_in(c.owner)
    names = [f"Read page {n}" for n in range(1, 501)]
    answer = client.post(
        "/api/plans",
        {"conversation": c.pk, "title": "Read", "subtasks": names},
        "application/json",
    )
    assert answer.status_code == 201
    plan, before = answer.json()["id"], kept()
    more = {"name": "One more"}
    assert "at most 500" in refused(client, "post", f"/api/plans/{plan}/subtasks", more)
    form = on_page(c) | more
    answer = client.post(f"/c/{c.pk}/plan/subtasks", form, headers=HTMX)
    assert "at most 500" in alert(answer) and answer.status_code == 422
    with pytest.raises(Refused, match="at most 500"):
        update_plan(plan, subtasks=[*names, "One more"])
    assert kept() == before
    doors = (f"/c/{c.pk}/", f"/plans/{plan}/", f"/plans/{plan}/export.md", f"/api/plans/{plan}")
    for door in (*doors, f"/c/{c.pk}/export.json", f"/c/{c.pk}/plan/versions?plan={plan}"):
        text = client.get(door).content.decode()
        assert all(name in text for name in (names[0], names[249], names[499])), door
    out = StringIO()
    call_command("plan", "show", str(plan), stdout=out)
    assert all(name in out.getvalue() for name in names)
