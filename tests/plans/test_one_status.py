"""Every door says the same of a plan: status, word, mark, count, and what of it needs a person."""

from importlib import import_module

import pytest
from django.db.models import Q

from agents.models import Conversation, Lane, TurnState
from plans.models import ActivePlan, Plan
from tests.builders import known_by
from tests.inner import (
    BEING_WRITTEN,
    STATUSES,
    WAITS_FOR_ANSWER,
    Group,
    Status,
    local_owner,
)
from tests.plans.outer_doors import NEEDS, Reader
from tests.plans.random_plans import RandomPlans
from tests.world import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

SEED, FEW = 27, 12  # plans that are of many kinds; all homes: tests/nightly/test_one_status.py
URGENT = ("failed", "regressed", "question", "waiting")
ASKING = (("waiting", "Waiting for you"), ("question", "Waiting for your answer"))
ALL_STATUSES = (*STATUSES.values(), BEING_WRITTEN, WAITS_FOR_ANSWER)
ASKED_FOR = (("in_progress", "Writing a plan"), ("waiting", "Waits for your answer"))


def read(seed, plans):
    owner = local_owner()
    made = RandomPlans(seed, owner)
    made.fill(plans)
    return read_made(owner, made)


def read_made(owner, made):
    every = Plan.objects.order_by("pk").values_list("pk", flat=True)
    return Reader(signed_in(owner), every, [each.pk for each in made.conversations]).read()


def faults_of(home):
    """A sentence for each thing that two doors say differently."""
    found = [
        f"plan {plan}: {field} is {a!r} in {one} and {b!r} in {two}"
        for one, two, plan, field, a, b in home.differences()
    ]
    for check in (of_filters, of_needs, of_numbers, of_marks, of_own_rows):
        found += check(home)
    return found


def of_filters(home):
    """The list's filters and numbers go by the status."""
    told, listed = home.plans["API, one"], home.plans["API, list"].keys()
    states = dict(Plan.objects.values_list("pk", "state"))
    needs_me = {pk for pk in listed if told[pk].attention != "none"}
    done = {pk for pk in listed if told[pk].word in ("Finished", "In force")}
    abandoned = {pk for pk in listed if states[pk] == "abandoned"}
    wanted = {
        "all": set(listed),
        "needs-me": needs_me,
        "API, needs-me": needs_me,
        "failed": {pk for pk in listed if told[pk].attention == "failed"},
        "done": done,
        "abandoned": abandoned,
        "open": listed - done - abandoned,
    }
    for name, rows in wanted.items():
        found = home.rows.get(name, set())
        yield from (f"plan {pk}: the filter {name} has it wrongly" for pk in found - rows)
        yield from (f"plan {pk}: the filter {name} leaves it out" for pk in rows - found)
        if home.tabs.get(name, len(rows)) != len(rows):
            yield f"the filter {name} holds {len(rows)} plans, and says {home.tabs[name]}"


def of_needs(home):
    """Needs you has each plan in view once for what its status says, and each call that asks."""
    needs = home.plans.get("Needs you, API", {})
    in_view = Plan.objects.filter(conversation__parent_call=None).exclude(
        Q(conversation__archived_at__isnull=False, run="idle")
        | Q(pk__in=ActivePlan.objects.exclude(asked_goal="").values("plan"))
        | Q(card__hidden=True)
    )
    questions = {
        home.calls[int(key.partition("-")[2])]
        for key in home.needs["API"]
        if key.startswith("question-")
    }
    for plan in in_view:
        attention = home.plans["API, one"][plan.pk].attention
        need = needs[plan.pk].need if plan.pk in needs else None
        if need != NEEDS.get(attention):
            yield f"plan {plan.pk}: {attention} in the API, and {need} in Needs you"
        if attention == "approval" and not home.asks[plan.pk]:
            yield f"plan {plan.pk}: waits for no call"
        if attention == "question" and plan.conversation_id not in questions:
            yield f"plan {plan.pk}: its question is not in Needs you"
    for pk, calls in home.asks.items():
        yield from (f"plan {pk}: {c} is not in Needs you" for c in calls if c not in home.calls)


def of_numbers(home):
    """As many wait in the title of every page, beside it, and in Needs you."""
    keys = home.needs["API"]
    for door, number in home.counts.items():
        if number != len(keys):
            yield f"{len(keys)} things wait, and {door} says {number}"
    for door, found in home.needs.items():
        if found != keys[: len(found)]:
            yield f"other things wait in {door}"


def of_marks(home):
    """In the list beside: the mark of the most pressing of the plan in the drawer, or the one that
    is asked for, and the open ones beside it, unless a call asks that is more pressing."""
    marks = home.marks["sidebar, elsewhere"]
    shown = Conversation.objects.filter(parent_call=None, archived_at=None)
    assert marks.keys() == set(shown.values_list("pk", flat=True))
    asked_for = set(ActivePlan.objects.exclude(asked_goal="").values_list("pk", flat=True))
    told = {pk: (said.mark, said.word) for pk, said in home.plans["page of the plan"].items()}
    for conversation, mark in marks.items():
        active = home.active.get(conversation)
        every = Plan.objects.filter(conversation=conversation, state__in=("todo", "in_progress"))
        beside = [told[pk] for pk in every.values_list("pk", flat=True) if pk != active]
        beside = [each for each in beside if each[1] != "In another alternative"]
        own = ASKED_FOR if conversation in asked_for else (told.get(active, ("", "")),)
        wanted = {min([each, *beside], key=pressing) for each in own}
        if conversation in home.calls.values():
            wanted = {each for each in wanted if each[0] in URGENT} or set(ASKING)
        wanted = {("", "") if each[0] == "abandoned" else each for each in wanted}
        if mark not in wanted:
            yield f"conversation {conversation}: {mark} in the list beside, and not {wanted}"


def pressing(told):
    """The place of the word's group among those that lists tell apart, and its own in that."""
    words = {each.word: (list(Group).index(each.group), n) for n, each in enumerate(ALL_STATUSES)}
    return words.get(told[1], (len(Group), 0))


def of_own_rows(home):
    """In the list beside a conversation is marked as it is on other pages, there from the start and
    by what the page is told later; a plan that was given up is named beside itself alone."""
    for conversation, mark in home.marks["sidebar, elsewhere"].items():
        for door in ("sidebar, here", "sidebar, live"):
            own = home.marks[door][conversation]
            if own != mark and (own[0] != "abandoned" or mark[0]):
                yield f"conversation {conversation}: {own} in {door}, and {mark} elsewhere"


def test_every_door_says_the_same_of_random_plans():
    faults = faults_of(read(SEED, FEW))
    assert not faults, "\n".join(faults)


ASIDE = {
    "a reply asks while its plan waits to be started": ("todo", True, "reply"),
    "a plan beside asks while the drawer is empty": ("todo", False, "beside"),
    "a plan beside asks while the one in the drawer was given up": ("abandoned", True, "beside"),
    "a plan beside asks while another is asked for": ("asked", True, "beside"),
}


@pytest.mark.parametrize("case", ASIDE)
def test_a_row_says_what_asks_on_its_own_page_as_on_others(case):
    state, in_drawer, asks = ASIDE[case]
    owner = local_owner()
    made = RandomPlans(SEED, owner, is_alone=True)
    c = made.conversation()
    made.conversations.append(c)
    shown = Plan.objects.create(conversation=c, title="shown", card=made.message(c, "plan"))
    shown.subtasks.create(key="s1", name="Read", position=1)
    pointer = ActivePlan(conversation=c, plan=shown if in_drawer else None)
    if state == "abandoned":
        Plan.objects.filter(pk=shown.pk).update(state=state, reason="cancelled: no")
    if state == "asked":
        pointer.asked_goal, pointer.asked_message = "another", made.message(c)
    pointer.save()
    if asks == "reply":
        made.reply_that_waits(c)
    else:
        beside = made.plan(c, works=True)
        turn = made.turn(c, Lane.RUN, TurnState.WAITING, beside, "approval")
        made.attempt_of(beside, turn)
        beside.run, beside.pause_reason = "paused", "approval"
        beside.save()
        made.wait(turn, "approval")
    faults = faults_of(read_made(owner, made))
    assert not faults, "\n".join(faults)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("reader", "doors"),
    [
        ("plans.search.status_of", ["list", "plans of the conversation", "command, list"]),
        ("plans.needs.statuses_of", ["Needs you"]),
        ("console.sidebar.statuses_of", ["the list beside"]),
        (
            "plans.snapshot_reading.status_of",
            ["drawer", "page of the plan", "API, one", "command, show"],
        ),
        ("plans.snapshot_reading.progress", ["drawer", "export of the plan", "command, show"]),
        ("console.needs.needs_of", ["tab of", "entry of"]),
    ],
)
def test_it_is_seen_when_one_reader_says_something_else(reader, doors, monkeypatch):
    path, _, name = reader.rpartition(".")
    right = getattr(import_module(path), name)
    monkeypatch.setattr(reader, lambda *given: wrong(right(*given)))
    faults = faults_of(read(SEED, FEW))
    assert all(any(door in fault for fault in faults) for door in doors), faults


def wrong(said):
    """Something near to it: a run that has stopped, one subtask more, nothing that waits."""
    if isinstance(said, dict):
        return {plan: wrong(status) for plan, status in said.items()}
    if isinstance(said, list):
        return []
    if isinstance(said, Status):
        return STATUSES["stopped"]
    return said.model_copy(update={"done": said.done + 1})


def test_no_door_calls_an_open_plan_finished_where_something_is_not_true_any_more():
    owner = local_owner()
    made = RandomPlans(SEED, owner, is_alone=True)
    c = made.conversation()
    plan = Plan.objects.create(
        conversation=c, title="open", approved_version=1, state="in_progress"
    )
    known_by(plan.subtasks.create(key="s1", name="Read", position=1), "regressed")
    plan.subtasks.create(key="s2", name="Write", position=2)
    ActivePlan.objects.create(conversation=c, plan=plan)
    client = signed_in(owner)
    for door in (f"/c/{c.pk}/", f"/c/{c.pk}/plans", f"/plans/{plan.pk}/", "/plans/", "/needs/"):
        page = client.get(door).content.decode()
        assert "o longer true" in page, door
        assert "Finished, no longer true" not in page, door
