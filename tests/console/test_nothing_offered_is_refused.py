"""What can be pressed is possible: in each state, no button of a page is refused when it is pressed.

Button and verb are decided in different places; here every one that is drawn is pressed.
"""

import pytest
from django.db import transaction

from plans import actions
from plans.models import ActivePlan, Plan
from plans.schemas import MOST_SUBTASKS
from tests.builders import approved_plan, proposed_plan
from tests.checked import begun, worked
from tests.console.test_drawer_verbs import failed, halted, held_between_attempts
from tests.fake_model import call, say
from tests.inner import STATUSES, Scope, change_agent, claim, statuses_of
from tests.plans.random_plans import RandomPlans
from tests.plans.test_gate_of_alternatives import changed_by_words
from tests.pressing import Page, refusals
from tests.world import (
    agent,
    conversation,
    done,
    drive,
    files_of,
    person,
    plan_of,
    proposal,
    scripted,
    tell,
)

pytestmark = pytest.mark.django_db(transaction=True)

WRITE = call("write_file", path="a.txt", content="a")


def at_work():
    """Its first subtask is being worked on."""
    c = approved_plan("Read", "Write", run="all")
    [turn] = claim(5)
    actions.begin_attempt(turn)
    return c


def changed_by_words_and_approved():
    c, _ = changed_by_words()
    actions.approve_plan(plan_of(c), 2, "alice", run="no")
    return c


def after(begin, act):
    def state():
        c = begin()
        act(plan_of(c))
        return c

    return state


def a_reply_of_several():
    c = conversation()
    scripted(say("One."), say("Two."))
    tell(c, "first")
    tell(c, "second")
    return c


def talked_before_an_approved_plan():
    c = a_reply_of_several()
    scripted(proposal("Read"), say("Here."))
    tell(c, "/plan tidy up")
    actions.approve_plan(plan_of(c), 1, "alice", run="no")
    scripted(say("Three."))
    tell(c, "third")
    return c


def asks(question):
    c = proposed_plan("Read", "Write", tools={"write_file": "ask"})
    scripted(question)
    tell(c, "go")
    return c


def plan_mode_is_off():
    """A plan was asked for while it was on."""
    c = asked_in_vain()
    actions.cancel_request(c, "alice")
    change_agent(c.agent_id, {"plan": {"enabled": False}})
    return c


def a_yes_before_a_plan():
    """It was the answer to a question of the agent's, and now a plan waits for one."""
    c = conversation(plan={"enabled": True})
    scripted(say("Glad to hear it."), proposal("Read"), say("Here."))
    tell(c, "yes")
    tell(c, "/plan tidy up")
    return c


def as_long_as_can_be():
    return proposed_plan(*(f"Step {number}" for number in range(MOST_SUBTASKS)))


def replanned():
    c = failed()
    scripted(call("revise_current_plan", subtasks=[{"name": "More"}]), say("v2."))
    actions.replan_rest(plan_of(c), "alice", None, "other words")
    drive()
    return c


def asked_in_vain():
    c = conversation()
    scripted(say("Which folder?"))
    tell(c, "/plan tidy up")
    return c


def after_one():
    c = proposed_plan("Read", "Write")
    scripted(done())
    actions.approve_plan(plan_of(c), 1, "alice", run="next")
    drive()
    return c


def finished():
    c = proposed_plan("Read")
    scripted(done(), say("All read."))
    tell(c, "go")
    return c


def revised_at_work():
    c = at_work()
    actions.update_subtask(plan_of(c), "s2", {"name": "Write more"}, "alice")
    return c


def stopped_and_changed():
    """The card of its end is still there."""
    c = approved_plan("Read", "Write", run="all")
    actions.stop_plan(plan_of(c), "alice")
    drive()
    actions.update_subtask(plan_of(c), "s2", {"name": "Write more"}, "alice")
    return c


EXISTS = {"kind": "file", "path": "a.txt", "exists": True}


def checked():
    """Done and checked, and it has changed a file."""
    c = begun(EXISTS)
    worked(c, WRITE, done(), say("All is well."))
    return c


def checked_again(what_then):
    def state():
        c = checked()
        what_then(c)
        actions.check_plan(plan_of(c), "alice")
        return c

    return state


def no_longer_true():
    c = checked_again(lambda c: (files_of(c) / "a.txt").unlink())()
    drive()
    return c


def a_check_could_not_be_run():
    c = begun({"kind": "review", "question": "Is it good?"})
    worked(c, done(), say("Hello."), say("Hello."))
    return c


STATES = {
    "done and checked, with changed files": checked,
    "being checked again": checked_again(lambda c: None),
    "no longer true": no_longer_true,
    "a check could not be run": a_check_could_not_be_run,
    "undone": after(checked, lambda plan: actions.undo_changes(Scope.named(plan, "s1"), "alice")),
    "a chat": a_reply_of_several,
    "a plan asked for in vain": asked_in_vain,
    "plan mode is off": plan_mode_is_off,
    "a yes before a plan": a_yes_before_a_plan,
    "proposed": lambda: proposed_plan("Read", "Write"),
    "changed by words": lambda: changed_by_words()[0],
    "changed by words, then approved": changed_by_words_and_approved,
    "approved, not started": lambda: approved_plan("Read", "Write"),
    "words before and behind an approved plan": talked_before_an_approved_plan,
    "queued": lambda: approved_plan("Read", "Write", run="all"),
    "at work": at_work,
    "to be paused": after(at_work, lambda plan: actions.pause_plan(plan, "alice")),
    "paused": after(
        lambda: approved_plan("Read", "Write", run="all"), lambda p: actions.pause_plan(p, "alice")
    ),
    "being stopped": after(at_work, lambda plan: actions.stop_plan(plan, "alice")),
    "a new version at work": revised_at_work,
    "stopped, then changed": stopped_and_changed,
    "a call asks": lambda: asks(WRITE),
    "a question": lambda: asks(call("ask_user", question="Which?")),
    "failed": failed,
    "failed and skipped": after(failed, lambda p: actions.skip_subtask(p, "s2", "alice")),
    "replanned": replanned,
    "a limit reached": lambda: halted({"tokens": 1000, "model_calls": 50}),
    "after one subtask": after_one,
    "finished": finished,
    "cancelled": after(
        lambda: proposed_plan("Read"), lambda plan: actions.cancel_plan(plan, "alice")
    ),
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.sampled(6)
def test_what_a_conversation_offers_is_possible(alice, state):
    c = STATES[state]()
    assert refusals(alice, f"/c/{c.pk}/") == []


def test_no_subtask_is_offered_beyond_the_most_there_may_be(alice):
    page = Page(alice.get(f"/c/{as_long_as_can_be().pk}/").content.decode())
    button = page.ids["add-subtask"].given
    assert button["aria-disabled"] == "true"
    assert button["title"] == "A plan has at most 500 subtasks; this one would have 501."


def test_what_is_offered_between_two_attempts_is_possible(alice, settings):
    c = held_between_attempts(settings)
    assert refusals(alice, f"/c/{c.pk}/") == []


WAITING = ("proposed", "a plan asked for in vain", "a call asks", "a question", "failed")
WAITING += ("replanned", "a limit reached", "after one subtask")


@pytest.mark.parametrize("state", WAITING)
@pytest.mark.sampled(3)
def test_what_needs_you_offers_is_possible(alice, state):
    STATES[state]()
    assert refusals(alice, "/needs/") == []


@pytest.mark.parametrize("state", ["proposed", "finished"])
def test_what_a_plans_page_offers_is_possible(alice, state):
    plan = plan_of(STATES[state]())
    assert refusals(alice, f"/plans/{plan.pk}/") == []


# Plans as they may be, by their rows: all of their buttons, in every status.


def pages_of(plans):
    """Where they are drawn: their conversations with the drawer, their own pages, and what waits."""
    own = [plan for plan in plans if plan.conversation.parent_call_id is None]
    talks = {plan.conversation_id: f"/c/{plan.conversation_id}/" for plan in own}
    return [*talks.values(), *(f"/plans/{plan.pk}/" for plan in own), "/needs/"]


def random_plans(seed, count):
    agent(id="planner", plan={"enabled": True})
    return RandomPlans(seed, person("alice"), is_alone=seed % 2 == 0).fill(count)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.sampled(2)
def test_what_random_plans_offer_is_possible(seed, alice):
    assert refusals(alice, *pages_of(random_plans(seed, 8)), least=20) == []


@pytest.mark.parametrize("name", STATUSES)
@pytest.mark.sampled(4)
def test_what_a_plan_of_each_status_offers_is_possible(name, alice):
    """In the drawer, on its page, on the card of its end and on that of what it waits for."""
    plan, seed = None, 0
    while plan is None:
        with transaction.atomic():
            statuses = statuses_of(each.pk for each in random_plans(seed, 5))
            found = [pk for pk, status in statuses.items() if status.name == name]
            plan = Plan.objects.filter(pk__in=found, conversation__parent_call=None).first()
            transaction.set_rollback(plan is None)
        seed += 1
    ActivePlan.objects.filter(conversation=plan.conversation_id).update(
        plan=plan, asked_goal="", asked_message=None
    )
    assert refusals(alice, *pages_of([plan]), least=4) == []
