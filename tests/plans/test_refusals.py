"""Which verb is refused for what, in which order: one sentence for each, the same at all doors."""

from itertools import combinations

import pytest
from django.db import transaction

from agents.actors import AGENT
from agents.errors import Interruption, Refused
from agents.models import Conversation, Message, Turn, TurnState
from plans import actions
from plans.models import ActivePlan, Plan, Run, State, Subtask
from plans.schemas import PlanDraft, PlanEdit, Revision, SubtaskDraft
from tests.builders import (
    approved_plan,
    asking_plan,
    chat,
    document_in_force,
    failed_plan,
    known_by,
    paused_plan,
    proposed_plan,
    running_plan,
    says,
    taken,
)
from tests.inner import Check, Scope, handle_message
from tests.world import conversation, plan_of

pytestmark = pytest.mark.django_db

CLOSED = "This plan is cancelled. It cannot change any more."
CHILD = (
    "The plan of an agent that works for a subtask cannot be changed by hand: change the plan it "
    "works for."
)
HELPER = "This agent works for a call of another one: write in the conversation in which that is at work."
UNAWAITED = "The subtask this plan worked for does not wait for it any more."
HIDDEN = "“Tidy the docs” belongs to an alternative that is not shown: walk to it."
UNCONFIRMED = "Nothing runs without your yes: start v1 first."
NOT_STARTED = "The plan is now v1, not v9. Nothing was started."
NOT_CHANGED = "The plan is now v1; you saw v9. Nothing was changed."
NOT_SENT = "The plan is now v1; you saw v9. Nothing was sent."
ELSEWHERE = "“Another” (v1) is in the drawer now. Nothing was {}."
COMMENTED = "v1 is approved: comments are for a plan that waits for its yes."


# What may be so of a plan, whatever else it is.


def closed(plan):
    Plan.objects.filter(pk=plan.pk).update(state=State.ABANDONED, reason="cancelled")


def child(plan):
    """Another agent's turn has called for it, and does not wait for it any more."""
    outer = conversation()
    handle_message(outer, "Do it.", "alice")
    [call] = says(taken(outer), "", ("run_agent", {}))
    of = Conversation.objects.filter(pk=plan.conversation_id)
    of.update(parent_call=call, root=outer, depth=1)


def elsewhere(plan):
    other = Plan.objects.create(conversation=plan.conversation, title="Another")
    ActivePlan.objects.filter(conversation=plan.conversation).update(plan=other)


def hidden(plan):
    Message.objects.filter(pk=plan.card_id).update(hidden=True)


def unconfirmed(plan):
    Plan.objects.filter(pk=plan.pk).update(approved_version=None)


def version(plan):
    """Another one was seen than is there: told to the verb."""


CONDITIONS = (closed, child, elsewhere, hidden, version, unconfirmed)


# What a plan is like where the verb may be used.


def waiting():
    return proposed_plan("Read", "Write", "Check")


def commented():
    c = waiting()
    actions.keep_comment(plan_of(c), "s1", "Shorter.", "alice")
    return c


def checked():
    c = waiting()
    actions.save_check(plan_of(c), "s1", CHECK, "alice")
    return c


def without_one():
    c = waiting()
    actions.remove_subtask(plan_of(c), "s1", "alice")
    return c


def at_rest():
    return approved_plan("Read", "Write", "Check")


def running():
    return running_plan("Read", "Write", "Check")[0]


def paused():
    return paused_plan("Read", "Write", "Check")


def asking():
    return asking_plan("Read", "Write", "Check")


def failed():
    return failed_plan("Read", "Write", "Check")


def skipped():
    """Nothing is left to do."""
    c = at_rest()
    Subtask.objects.update(state=State.DONE)
    return c


def done_and_checked():
    c = checked()
    Subtask.objects.filter(key="s1").update(state=State.DONE)
    return c


def untrue():
    c = at_rest()
    known_by(Subtask.objects.get(key="s1"), "regressed")
    return c


def looked_at():
    c = untrue()
    actions.look_at(plan_of(c), "s1", "alice")
    return c


def spoilt():
    c = waiting()
    actions.save_check(plan_of(c), "s1", Check(kind="file", path="a.txt", unchanged=True), "alice")
    actions.approve_plan(plan_of(c), 2, "alice")
    actions.begin_attempt(taken(c))
    Plan.objects.filter(conversation=c).update(run=Run.IDLE)
    return c


def claimed():
    c = approved_plan("Read", "Write", "Check", run="all")
    taken(c)
    return c


def ended():
    c = running()
    Turn.objects.filter(conversation=c, lane="run").update(state=TurnState.DONE)
    return c


def asked():
    c = conversation()
    handle_message(c, "/plan tidy up", "alice")
    actions.create_plan(c, DRAFT, AGENT)
    return c


def set_aside():
    c = waiting()
    actions.create_plan(c, PlanDraft(title="Another", subtasks=["Read"]), AGENT, beside=True)
    return c


def talked():
    c = chat()
    actions.create_plan(c, DRAFT, AGENT)
    return c


CHECK = Check(kind="file", path="a.txt", exists=True)
DRAFT = PlanDraft(title="Tidy the docs", subtasks=[SubtaskDraft(name="Read")])
REVISION = Revision(subtasks=[{"name": "More"}], explanation="More to do.")
EDIT = PlanEdit(title="Other")


def turn_of(plan):
    return Turn.objects.filter(conversation=plan.conversation_id, lane="run").latest("pk")


def reply_of(plan):
    return Turn.objects.filter(conversation=plan.conversation_id, lane="chat").earliest("pk")


TEXT = {closed: CLOSED, child: CHILD, version: NOT_CHANGED}
BY_MODEL = {closed: CLOSED}
COMMENT = {closed: CLOSED, child: CHILD}
STARTED = {elsewhere: ELSEWHERE.format("started"), child: UNAWAITED}
NEVER = {}

# Each verb: where it may be used, how, and the sentences of what refuses it, the first first.
TABLE = {
    # a person's yes, and the run
    "approve_plan": (
        waiting,
        lambda plan, seen: actions.approve_plan(plan, seen, "alice", "all"),
        {closed: CLOSED, hidden: HIDDEN, version: NOT_STARTED, **STARTED},
    ),
    "run_plan": (
        at_rest,
        lambda plan, seen: actions.run_plan(plan, "alice", version=seen),
        {closed: CLOSED, version: NOT_STARTED, unconfirmed: UNCONFIRMED, **STARTED},
    ),
    "resume_plan": (
        paused,
        lambda plan, seen: actions.resume_plan(plan, "alice", seen),
        {closed: CLOSED, version: NOT_STARTED, unconfirmed: UNCONFIRMED, **STARTED},
    ),
    "pause_plan": (running, lambda plan, _: actions.pause_plan(plan, "alice"), {closed: CLOSED}),
    "stop_plan": (running, lambda plan, _: actions.stop_plan(plan, "alice"), NEVER),
    "skip_subtask": (
        at_rest,
        lambda plan, seen: actions.skip_subtask(plan, "s1", "alice", "", seen),
        {closed: CLOSED, version: NOT_CHANGED},
    ),
    "raise_budget": (
        at_rest,
        lambda plan, seen: actions.raise_budget(plan, "alice", {"tokens": 5}, seen),
        {closed: CLOSED, version: NOT_CHANGED},
    ),
    "retry_subtask": (
        failed,
        lambda plan, seen: actions.retry_subtask(plan, "s1", "alice", seen),
        {version: NOT_STARTED, closed: CLOSED, unconfirmed: UNCONFIRMED, **STARTED},
    ),
    "retry_subtask of what is untrue": (
        untrue,
        lambda plan, seen: actions.retry_subtask(plan, "s1", "alice", seen),
        {
            version: NOT_STARTED,
            closed: CLOSED,
            unconfirmed: UNCONFIRMED,
            **STARTED,
        },
    ),
    "retry_clean": (
        failed,
        lambda plan, seen: actions.retry_clean(plan, "s1", "alice", seen),
        {version: NOT_STARTED, closed: CLOSED, unconfirmed: UNCONFIRMED, **STARTED},
    ),
    # the text
    "edit_plan": (waiting, lambda plan, seen: actions.edit_plan(plan, EDIT, "alice", seen), TEXT),
    "ask_for_changes": (
        waiting,
        lambda plan, seen: actions.ask_for_changes(plan, "Shorter.", "alice", seen),
        {closed: CLOSED, elsewhere: ELSEWHERE.format("sent"), version: NOT_SENT, child: HELPER},
    ),
    "take_out_of_force": (
        lambda: document_in_force(title="Tidy the docs"),
        lambda plan, seen: actions.take_out_of_force(plan, "alice", seen),
        {
            child: CHILD,
            closed: "This is no document in force.",
            unconfirmed: "This is no document in force.",
            version: NOT_CHANGED,
        },
    ),
    "add_subtask": (
        waiting,
        lambda plan, seen: actions.add_subtask(plan, SubtaskDraft(name="More"), "alice", seen),
        TEXT,
    ),
    "add_subtask by the agent": (
        waiting,
        lambda plan, _: actions.add_subtask(plan, SubtaskDraft(name="More"), AGENT),
        BY_MODEL,
    ),
    "update_subtask": (
        waiting,
        lambda plan, seen: actions.update_subtask(plan, "s1", {"name": "New"}, "alice", seen),
        TEXT,
    ),
    "move_subtask": (
        waiting,
        lambda plan, seen: actions.move_subtask(plan, "s1", 2, "alice", seen),
        TEXT,
    ),
    "remove_subtask": (
        waiting,
        lambda plan, seen: actions.remove_subtask(plan, "s1", "alice", seen),
        TEXT,
    ),
    "restore_subtask": (
        without_one,
        lambda plan, seen: actions.restore_subtask(plan, "s1", "alice", seen),
        {**TEXT, version: NOT_CHANGED.replace("v1", "v2")},
    ),
    "restore_version": (
        waiting,
        lambda plan, seen: actions.restore_version(plan, 1, "alice", seen),
        TEXT,
    ),
    "revise_plan": (
        waiting,
        lambda plan, _: actions.revise_plan(plan, REVISION, AGENT),
        BY_MODEL,
    ),
    "replace_rest": (
        waiting,
        lambda plan, _: actions.replace_rest(plan, "s2", REVISION, AGENT),
        BY_MODEL,
    ),
    "replan_rest": (
        at_rest,
        lambda plan, seen: actions.replan_rest(plan, "alice", None, "", seen),
        {
            closed: CLOSED,
            child: CHILD,
            elsewhere: ELSEWHERE.format("changed"),
            version: NOT_CHANGED,
        },
    ),
    # checks and comments
    "save_check": (
        waiting,
        lambda plan, seen: actions.save_check(plan, "s1", CHECK, "alice", seen),
        TEXT,
    ),
    "save_check of what is done": (
        untrue,
        lambda plan, seen: actions.save_check(plan, "s1", CHECK, "alice", seen),
        {child: CHILD, version: NOT_CHANGED},
    ),
    "remove_check": (
        checked,
        lambda plan, seen: actions.remove_check(plan, "s1", "c1", "alice", seen),
        {**TEXT, version: NOT_CHANGED.replace("v1", "v2")},
    ),
    "check_plan": (
        done_and_checked,
        lambda plan, _: actions.check_plan(plan, "alice"),
        {child: CHILD},
    ),
    "look_at": (
        untrue,
        lambda plan, seen: actions.look_at(plan, "s1", "alice", seen),
        {child: CHILD, version: NOT_CHANGED},
    ),
    "take_back": (
        looked_at,
        lambda plan, seen: actions.take_back(plan, "s1", "alice", seen),
        {child: CHILD, version: NOT_CHANGED},
    ),
    "take_as_it_is": (
        spoilt,
        lambda plan, seen: actions.take_as_it_is(plan, "s1", "c1", "alice", seen),
        {child: CHILD, version: NOT_CHANGED.replace("v1", "v2")},
    ),
    "keep_comment": (
        waiting,
        lambda plan, _: actions.keep_comment(plan, "s1", "Shorter.", "alice"),
        COMMENT,
    ),
    "keep_comment on what is approved": (
        at_rest,
        lambda plan, _: actions.keep_comment(plan, "s1", "Shorter.", "alice"),
        {**COMMENT, unconfirmed: "", "else": COMMENTED},
    ),
    "remove_comment": (
        commented,
        lambda plan, _: actions.remove_comment(plan, "s1", "alice"),
        COMMENT,
    ),
    "send_comments": (
        commented,
        lambda plan, seen: actions.send_comments(plan, "alice", seen),
        {**COMMENT, elsewhere: ELSEWHERE.format("sent"), version: NOT_SENT},
    ),
    # which plan there is
    "request_plan": (
        talked,
        lambda plan, _: actions.request_plan(
            plan.conversation, "tidy up", "alice", reply_of(plan).messages.first()
        ),
        NEVER,
    ),
    "create_plan": (
        waiting,
        lambda plan, _: actions.create_plan(plan.conversation, DRAFT, "alice"),
        {child: CHILD},
    ),
    "activate_plan": (
        set_aside,
        lambda plan, _: actions.activate_plan(plan, "alice"),
        {child: CHILD, hidden: HIDDEN},
    ),
    "use_again": (waiting, lambda plan, _: actions.use_again(plan, "alice"), {child: CHILD}),
    "throw_away": (
        asked,
        lambda plan, _: actions.throw_away(plan, reply_of(plan)),
        NEVER,
    ),
    "cancel_plan": (waiting, lambda plan, _: actions.cancel_plan(plan, "alice"), NEVER),
    "finish_plan": (
        skipped,
        lambda plan, _: actions.finish_plan(plan, "Done.", AGENT),
        {closed: CLOSED},
    ),
    "delete_plan": (waiting, lambda plan, _: actions.delete_plan(plan, "alice"), NEVER),
    "clear": (waiting, lambda plan, _: actions.clear(plan.conversation, "alice"), NEVER),
    "end_open_plans": (
        waiting,
        lambda plan, _: actions.end_open_plans(plan.conversation, "alice"),
        NEVER,
    ),
    "cancel_request": (
        waiting,
        lambda plan, _: actions.cancel_request(plan.conversation, "alice"),
        NEVER,
    ),
    "show_alternative": (
        talked,
        lambda plan, _: actions.show_alternative(plan.conversation, reply_of(plan), "alice"),
        NEVER,
    ),
    "leave_alternative": (
        talked,
        lambda plan, _: actions.leave_alternative(plan.conversation, reply_of(plan), "alice"),
        NEVER,
    ),
    # an attempt, and its end
    "begin_attempt": (
        claimed,
        lambda plan, _: actions.begin_attempt(turn_of(plan)),
        dict.fromkeys((closed, unconfirmed, child), "NothingToDo"),
    ),
    "report_progress": (
        running,
        lambda plan, _: actions.report_progress(turn_of(plan), "Half.", AGENT),
        NEVER,
    ),
    "ask_question": (
        running,
        lambda plan, _: actions.ask_question(turn_of(plan), "Which?", AGENT),
        NEVER,
    ),
    "answer_question": (
        asking,
        lambda plan, _: actions.answer_question(plan, "This one.", "alice"),
        NEVER,
    ),
    "settle_subtask": (ended, lambda plan, _: actions.settle_subtask(turn_of(plan)), NEVER),
    "settle_closing": (ended, lambda plan, _: actions.settle_closing(turn_of(plan)), NEVER),
    "interrupt_attempt": (ended, lambda plan, _: actions.interrupt_attempt(turn_of(plan)), NEVER),
    # what was changed in files
    "undo_changes": (
        failed,
        lambda plan, _: actions.undo_changes(Scope(plan), "alice"),
        {"else": "No changes are recorded here."},
    ),
    "preview_changes": (
        failed,
        lambda plan, _: actions.preview_changes(Scope(plan)),
        {"else": "No changes are recorded here."},
    ),
}


def test_each_verb_is_in_the_table():
    verbs = {name for name, value in vars(actions).items() if callable(value)}
    assert {name.partition(" ")[0] for name in TABLE} == verbs


@pytest.mark.parametrize("name", TABLE)
def test_each_verb_is_refused_by_the_first_of_what_is_in_its_way(name):
    where, verb, refused_by = TABLE[name]
    plan = where().plans.get(title="Tidy the docs")
    told = {each: answer(verb, plan, each) for each in situations(refused_by)}
    assert named(told) == named({each: first(refused_by, each) for each in told})


TOLD_BEFORE = {
    "pause_plan": [closed],
    "resume_plan": [closed, unconfirmed],
    "replan_rest": [closed, child, elsewhere],
    "edit_plan": [closed, child],
    "use_again": [child],
}


@pytest.mark.parametrize("name", TOLD_BEFORE)
def test_a_verb_tells_before_it_is_used_what_would_refuse_it(name):
    where, _, refused_by = TABLE[name]
    plan = plan_of(where())
    verb = getattr(actions, name)
    assert verb.why_not(plan, "alice", plan.version) == ""
    for condition in TOLD_BEFORE[name]:
        with transaction.atomic():
            condition(plan)
            assert verb.why_not(Plan.objects.get(pk=plan.pk), "alice") == refused_by[condition]
            transaction.set_rollback(True)
    if version in refused_by:
        assert verb.why_not(plan, "alice", 9) == refused_by[version]


def test_what_is_so_already_is_nothing_that_refuses():
    c = waiting()
    actions.cancel_plan(plan_of(c), "alice")
    assert actions.cancel_plan.why_not(plan_of(c), "alice") == ""
    assert actions.finish_plan.why_not(plan_of(c), "alice") == CLOSED


def test_comments_on_what_is_approved_are_not_sent_whatever_else_is_so():
    plan = plan_of(commented())
    actions.approve_plan(plan, 1, "alice", "no", without_comments=None)
    verb = TABLE["send_comments"][1]
    assert answer(verb, plan, (elsewhere, version)) == COMMENTED
    assert answer(verb, plan, (closed, elsewhere, version)) == CLOSED
    assert answer(verb, plan, (child, elsewhere, version)) == CHILD


def situations(refused_by):
    """Each condition alone, and with each other one that counts: so their order is told."""
    counts = [each for each in CONDITIONS if each in refused_by]
    return [(), *((each,) for each in CONDITIONS), *combinations(counts, 2), CONDITIONS]


def answer(verb, plan, conditions):
    """What the verb says where all of these are so; nothing where it does its work."""
    with transaction.atomic():
        for condition in conditions:
            condition(plan)
        now = Plan.objects.get(pk=plan.pk)
        try:
            verb(now, 9 if version in conditions else now.version)
        except (Refused, Interruption) as refusal:
            return str(refusal) or type(refusal).__name__
        finally:
            transaction.set_rollback(True)
    return ""


def first(refused_by, conditions):
    of = (sentence for condition, sentence in refused_by.items() if condition in conditions)
    return next(of, refused_by.get("else", ""))


def named(answers):
    return {" + ".join(each.__name__ for each in key): said for key, said in answers.items()}
