"""Every door names plan and version: another plan or version, and nothing happens."""

import json

import pytest

from agents.actors import AGENT
from agents.models import Message
from plans import actions
from plans.models import Attempt, Plan, Run, State, Subtask
from plans.schemas import PlanDraft, PlanEdit, SubtaskDraft
from tests.builders import document_in_force, taken
from tests.fake_model import call, fails, say
from tests.inner import Check, Expected
from tests.inner import handle_message as person_says
from tests.world import HTMX, conversation, news, on_page, plan_of, scripted, tell, texts

pytestmark = pytest.mark.django_db


CHECK = {"kind": "file", "path": "a.txt", "exists": True}
A_CHECK = {"kind": "file", "path": "a.txt", "form": "exists"}


def waiting():
    c = conversation()
    actions.create_plan(c, PlanDraft(title="Tidy", subtasks=["Read", "Write", "Check"]), AGENT)
    return c


def at_rest():
    c = waiting()
    actions.approve_plan(plan_of(c), 1, "alice", run="no")
    return c


def running():
    c = waiting()
    actions.approve_plan(plan_of(c), 1, "alice")
    return c


def paused():
    c = running()
    actions.pause_plan(plan_of(c), "alice")
    return c


def commented():
    c = waiting()
    actions.keep_comment(plan_of(c), "s1", "Shorter.", "alice")
    return c


def done_by_word():
    c = at_rest()
    Subtask.objects.filter(key="s1").update(state=State.DONE)
    return c


def looked_at():
    c = done_by_word()
    actions.look_at(plan_of(c), "s1", "alice")
    return c


def spoilt():
    c = waiting()
    actions.save_check(
        plan_of(c), "s1", Check(**CHECK | {"exists": None, "unchanged": True}), "alice"
    )
    actions.approve_plan(plan_of(c), 2, "alice")
    actions.begin_attempt(taken(c))
    Plan.objects.filter(conversation=c).update(run=Run.IDLE)
    return c


def next_version():
    """Of a document in force."""
    c = document_in_force()
    actions.edit_plan(plan_of(c), PlanEdit(content="Say task."), "alice", 1)
    return c


def checked():
    c = waiting()
    actions.save_check(plan_of(c), "s1", Check(**CHECK), "alice", 1)
    return c


# The table of plans/expected_version.py: the address, what else the form sends, and where it is possible.
NEEDS_VERSION = [
    ("approve", {}, waiting),
    ("approve", {"plan_title": "Mine", "plan_content": "", "plan_expected_outcome": ""}, waiting),
    ("again", {}, at_rest),
    ("resume", {}, paused),
    ("subtasks/s1/retry", {}, at_rest),
    ("raise", {"tokens": "5000"}, at_rest),
    ("edit", {"title": "Other"}, waiting),
    ("edit", {"content": "Say task."}, document_in_force),
    ("take-out-of-force", {}, document_in_force),
    ("approve", {}, next_version),
    ("subtasks", {"name": "More"}, waiting),
    ("subtasks/s1/edit", {"name": "Other"}, waiting),
    ("subtasks/s1/move", {"to": "2"}, waiting),
    ("subtasks/s1/remove", {}, waiting),
    ("go-back", {"to": "1"}, waiting),
    ("subtasks/s1/skip", {}, at_rest),
    ("replan", {}, at_rest),
    ("subtasks/s2/replan", {}, at_rest),
    ("subtasks/s1/checks", A_CHECK, waiting),
    ("subtasks/s1/checks/remove", {"check": "c1"}, checked),
    ("subtasks/s1/looked", {}, done_by_word),
    ("subtasks/s1/take-back", {}, looked_at),
    ("subtasks/s1/checks/c1/take", {}, spoilt),
    ("comments/send", {}, commented),
    ("revise", {"text": "Shorter, please"}, waiting),
]
NEEDS_PLAN = [("stop", {}, running), ("pause", {}, running), ("cancel", {}, waiting)]
NEEDS_PLAN += [("cancel", {}, next_version)]
ELSEWHERE = ("go-back", "raise", "looked", "take-back", "take")  # is seen in other rows
ALL = NEEDS_VERSION + NEEDS_PLAN
door = pytest.mark.parametrize(("path", "values", "where"), NEEDS_VERSION)
control = pytest.mark.parametrize(("path", "values", "where"), NEEDS_PLAN)
both = pytest.mark.parametrize(("path", "values", "where"), ALL)


def post(client, c, path, values, shown):
    return client.post(f"/c/{c.pk}/plan/{path}", {**values, **shown}, headers=HTMX)


def rows():
    plans = Plan.objects.order_by("pk").values("pk", "title", "version", "approved_version", "run")
    subtasks = Subtask.objects.order_by("pk").values("name", "position", "state")
    return list(plans), list(subtasks), Attempt.objects.count()


def revised(c):
    if plan_of(c).subtasks.exists():
        actions.add_subtask(plan_of(c), SubtaskDraft(name="Added elsewhere"), AGENT)
    else:
        actions.edit_plan(plan_of(c), PlanEdit(content="Changed elsewhere"), AGENT, None)


def replaced(c):
    """Another plan is in the drawer; the one shown before is still open."""
    Plan.objects.filter(conversation=c).update(run=Run.IDLE)
    draft = PlanDraft(title="Another", subtasks=["One", "Two", "Three"])
    return actions.create_plan(c, draft, AGENT, beside=True)


@both
def test_the_plan_and_version_on_the_screen_are_acted_on(alice, path, values, where):
    c = where()
    before = rows(), Message.objects.count()
    assert post(alice, c, path, values, on_page(c)).status_code == 200
    assert (rows(), Message.objects.count()) != before or path.endswith(ELSEWHERE)


@door
@pytest.mark.parametrize(
    ("happens", "told"),
    [
        (revised, "The plan is now v"),
        (replaced, "“Another” (v1) is in the drawer now."),
    ],
    ids=["another version", "another plan"],
)
def test_what_is_no_longer_there_is_refused_and_what_is_there_said(
    alice, path, values, where, happens, told
):
    c = where()
    shown = on_page(c)
    happens(c)
    before = rows()
    answer = post(alice, c, path, values, shown)
    assert answer.status_code == 409
    assert told in answer.content.decode()
    assert rows() == before


@control
def test_control_is_never_refused_for_its_version(alice, path, values, where):
    c = where()
    shown = on_page(c)
    revised(c)
    before = rows()
    plan_of(c)
    Plan.objects.filter(run=Run.PAUSING).update(run=Run.RUNNING)
    assert post(alice, c, path, values, shown).status_code == 200
    assert rows() != before


@control
def test_control_is_about_the_plan_on_the_screen_alone(alice, path, values, where):
    c = where()
    shown = on_page(c)
    other = replaced(c)
    before = Plan.objects.filter(pk=other.pk).values().get()
    post(alice, c, path, values, shown)
    assert Plan.objects.filter(pk=other.pk).values().get() == before
    if path == "cancel":
        assert not Plan.objects.get(pk=shown["plan"]).is_open


@both
def test_a_plan_of_another_conversation_is_not_there(alice, path, values, where):
    c = where()
    for owner in ("alice", "bob"):
        draft = PlanDraft(title="Elsewhere", subtasks=["X"])
        plan = actions.create_plan(conversation(owner), draft, AGENT)
        before = rows()
        shown = {"plan": plan.pk, "version": 1}
        assert post(alice, c, path, values, shown).status_code == 404
        assert rows() == before


@both
def test_a_plan_deleted_meanwhile_is_said_to_be_gone_and_leaves_the_page(
    alice, path, values, where
):
    c = where()
    shown = on_page(c)
    Plan.objects.filter(conversation=c).update(run=Run.IDLE)
    actions.delete_plan(plan_of(c), "alice")
    answer = post(alice, c, path, values, shown)
    assert answer.status_code == 404
    assert "That plan is gone. Nothing was changed." in answer.content.decode()
    assert "No plan here yet." in news(alice, c)


@pytest.mark.parametrize("path", ["activate", "delete", "use-again"])
def test_a_listed_plan_that_was_deleted_is_said_to_be_gone(alice, path):
    c = waiting()
    gone = plan_of(c).pk
    actions.delete_plan(plan_of(c), "alice")
    answer = alice.post(f"/c/{c.pk}/plans/{gone}/{path}", headers=HTMX)
    assert answer.status_code == 404
    assert "That plan is gone." in answer.content.decode()


@both
@pytest.mark.parametrize("missing", ["plan", "version"])
def test_a_form_that_names_too_little_does_nothing(alice, path, values, where, missing):
    if missing == "version" and (path, values, where) in NEEDS_PLAN:
        pytest.skip("control needs the plan alone")
    c = where()
    before = rows()
    assert post(alice, c, path, values, {**on_page(c), missing: ""}).status_code == 422
    assert rows() == before


# Words


@pytest.mark.parametrize("seen", ["none", "other plan", "other version"])
@pytest.mark.parametrize("word", ["ok", "Go ahead!", "👍"])
def test_words_approve_only_what_their_sender_saw(seen, word):
    c = waiting()
    plan = plan_of(c)
    shown = {"none": None, "other version": Expected(plan.pk, 1)}.get(seen, Expected(plan.pk, 1))
    if seen == "other plan":
        replaced(c)
    elif seen == "other version":
        revised(c)
    said = person_says(c, word, "alice", shown)
    assert said.refused is not None
    assert said.turn is None
    assert not Plan.objects.filter(approved_version__isnull=False).exists()
    assert "Nothing was started" in texts(c, "notice", "system")[-1]


def gone():
    c = waiting()
    actions.delete_plan(plan_of(c), "alice")
    return c


def ended(end):
    def conversation_of():
        c = waiting()
        end(c, plan_of(c))
        return c

    return conversation_of


CLOSED = {
    "cancelled": ended(lambda c, plan: actions.cancel_plan(plan, "alice")),
    "cleared": ended(lambda c, plan: actions.clear(c, "alice")),
    "finished": ended(lambda c, plan: Plan.objects.filter(pk=plan.pk).update(state=State.DONE)),
    "replaced": ended(lambda c, plan: replaced(c)),
    "deleted": gone,
}


@pytest.mark.parametrize("word", ["yes", "Continue.", "yes, do it please", "cancel", "取消"])
@pytest.mark.parametrize("how", CLOSED)
def test_a_word_about_a_plan_that_is_over_never_reaches_the_model(how, word):
    c = CLOSED[how]()
    old = Plan.objects.filter(conversation=c).order_by("pk").first()
    seen = Expected(old.pk if old else 987654, 1)
    said = person_says(c, word, "alice", seen)
    assert said.turn is None
    assert said.refused is not None
    assert not c.turns.filter(kind="chat").exists()
    assert texts(c, "notice", "system")[-1].endswith(("was started.", "was cancelled."))


def test_a_yes_to_a_cancelled_plan_says_that_it_is_cancelled(alice):
    c = CLOSED["cancelled"]()
    body = {"text": "yes", "plan": plan_of(c).pk, "plan_version": 1}
    answer = api(alice, "post", f"/conversations/{c.pk}/messages", body)
    assert answer.status_code == 409
    assert answer.json() == {
        "detail": "This plan is cancelled. Nothing was started.",
        "plan": plan_of(c).pk,
        "current_version": 1,
    }
    assert not c.turns.exists()


def test_a_second_yes_to_a_plan_that_runs_is_no_message():
    c = running()
    said = person_says(c, "yes", "alice", Expected(plan_of(c).pk, 1))
    assert said.turn is None
    assert "approved already" in texts(c, "notice", "system")[-1]


def test_a_yes_on_a_page_that_shows_a_finished_plan_answers_the_model(alice):
    c = CLOSED["finished"]()
    page = alice.get(f"/c/{c.pk}/").content.decode()
    assert 'name="plan_version"' not in page
    assert person_says(c, "yes", "alice", None).turn is not None


def test_words_that_cancel_mean_the_plan_their_sender_saw():
    c = waiting()
    shown = Expected(plan_of(c).pk, 1)
    other = replaced(c)
    assert person_says(c, "cancel", "alice", shown).refused
    assert Plan.objects.get(pk=other.pk).is_open
    seen_before = Expected(other.pk, 1)
    actions.add_subtask(other, SubtaskDraft(name="More"), AGENT)
    assert not person_says(c, "cancel", "alice", seen_before).refused, "whatever its version"
    assert not Plan.objects.get(pk=other.pk).is_open


def test_a_yes_beside_an_unsaved_edit_starts_nothing(alice):
    c = waiting()
    shown = on_page(c)
    words = {"text": "ok", "plan": shown["plan"], "plan_version": 1, "unsaved": "1"}
    alice.post(f"/c/{c.pk}/say", words, headers=HTMX)
    assert "Press Start with my edits" in news(alice, c)
    assert plan_of(c).approved_version is None


@pytest.mark.django_db(transaction=True)
def test_an_answer_goes_to_the_question_that_was_on_the_screen():
    c = waiting()
    old = plan_of(c)
    scripted(call("ask_user", question="Which one?"))
    tell(c, "go")
    other = Expected(old.pk + 1000, 1)
    scripted(say("Noted."))
    tell(c, "the blue one", seen=other)
    assert plan_of(c).question == "Which one?"


# The API


def api(client, method, path, body=None, **headers):
    send = getattr(client, method)
    return send(f"/api{path}", json.dumps(body or {}), "application/json", headers=headers)


def test_the_api_says_which_plan_and_version_are_there_now(alice):
    c = waiting()
    plan = plan_of(c)
    revised(c)
    answer = api(alice, "post", f"/plans/{plan.pk}/approve", {"version": 1})
    assert answer.status_code == 409
    assert answer.json() == {
        "detail": "The plan is now v2, not v1. Nothing was started.",
        "plan": plan.pk,
        "current_version": 2,
    }
    other = replaced(c)
    answer = api(alice, "post", f"/plans/{plan.pk}/approve", {"version": 2})
    found = answer.json()
    assert (answer.status_code, found["plan"], found["current_version"]) == (409, other.pk, 1)
    assert not Plan.objects.filter(approved_version__isnull=False).exists()


def test_a_word_by_the_api_needs_both_and_is_not_kept_when_it_is_about_another(alice):
    c = waiting()
    plan = plan_of(c)
    path = f"/conversations/{c.pk}/messages"
    for body in ({}, {"plan_version": 1}, {"plan": plan.pk}):
        assert api(alice, "post", path, {"text": "ok", **body}).status_code == 202
        assert plan_of(c).approved_version is None
    revised(c)
    kept = Message.objects.count()
    answer = api(alice, "post", path, {"text": "ok", "plan": plan.pk, "plan_version": 1})
    assert (answer.status_code, answer.json()["current_version"]) == (409, 2)
    assert Message.objects.count() == kept
    answer = api(alice, "post", path, {"text": "ok", "plan": plan.pk, "plan_version": 2})
    assert (answer.status_code, plan_of(c).approved_version) == (202, 2)


IF_MATCH = [
    ("post", "/run", {}, at_rest),
    ("post", "/resume", {}, paused),
    ("post", "/replan", {}, at_rest),
    ("post", "/budget", {"tokens": 5000}, at_rest),
    ("post", "/subtasks/s1/retry", {}, at_rest),
    ("post", "/subtasks/s1/skip", {}, at_rest),
    ("post", "/subtasks", {"name": "More"}, waiting),
    ("patch", "/subtasks/s1", {"name": "More"}, waiting),
    ("delete", "/subtasks/s1", {}, waiting),
    ("patch", "", {"title": "More"}, waiting),
    ("post", "/go-back", {"version": 1}, waiting),
    ("post", "/take-out-of-force", {}, document_in_force),
    ("patch", "", {"content": "Say task."}, document_in_force),
    ("post", "/comments/send", {}, commented),
    ("post", "/revise", {"feedback": "Shorter, please"}, waiting),
    ("post", "/subtasks/s1/checks", {"check": CHECK}, waiting),
    ("put", "/subtasks/s1/checks/c1", {"check": CHECK}, checked),
    ("delete", "/subtasks/s1/checks/c1", {}, checked),
]


@pytest.mark.parametrize(("method", "path", "body", "where"), IF_MATCH)
def test_the_api_refuses_an_older_version_wherever_one_is_named(alice, method, path, body, where):
    c = where()
    plan = plan_of(c)
    before = rows()
    address = f"/plans/{plan.pk}{path}"
    assert api(alice, method, address, body, **{"If-Match": '"7"'}).status_code == 412
    assert rows() == before
    now = f'"{plan.version}"'
    assert api(alice, method, address, body, **{"If-Match": now}).status_code < 300


@pytest.mark.parametrize(
    ("verb", "where"), [("take-out-of-force", document_in_force), ("resume", paused)]
)
def test_a_version_in_a_body_counts_beside_that_of_a_header(alice, verb, where):
    c = where()
    address = f"/plans/{plan_of(c).pk}/{verb}"
    before = rows()
    stale = api(alice, "post", address, {"version": 7}, **{"If-Match": '"1"'})
    assert (stale.status_code, stale.json()["current_version"]) == (409, 1)
    assert api(alice, "post", address, {"versoin": 1}).status_code == 422
    assert rows() == before
    assert api(alice, "post", address, {"version": 1}).status_code == 200


def test_a_proposal_beside_another_leaves_it_alone(alice):
    c = waiting()
    old = plan_of(c)
    body = {"conversation": c.pk, "title": "B", "subtasks": [{"name": "One"}]}
    made = api(alice, "post", "/plans", body).json()
    assert (made["active"], Plan.objects.get(pk=old.pk).is_open) == (True, True)
    found = alice.get(f"/api/plans/{old.pk}").json()
    assert found["active"] is False
    api(alice, "post", "/plans", {**body, "beside": False})
    assert Plan.objects.get(pk=made["id"]).reason == "superseded"


# Which reply


@pytest.mark.django_db(transaction=True)
def test_only_the_reply_that_was_seen_to_fail_is_tried_again(alice):
    c = conversation()
    for word in ("one", "two"):
        scripted(*[fails(401)] * 3)
        tell(c, word)
    first, second = [m.turn_id for m in Message.objects.filter(kind="error").order_by("seq")]
    answer = alice.post(f"/c/{c.pk}/retry?turn={first}", headers=HTMX)
    assert answer.status_code == 409
    assert alice.post(f"/c/{c.pk}/retry?turn={second}", headers=HTMX).status_code == 200


LONG = "9" * 5_000


@pytest.mark.parametrize("typed", [LONG, "²", "٣", "-1", "", "1" * 19])
def test_what_is_no_number_is_no_fault_of_the_server(alice, typed):
    c = waiting()
    form = {"to": typed, **on_page(c)}
    assert alice.post(f"/c/{c.pk}/plan/subtasks/s1/move", form, headers=HTMX).status_code == 404
    assert alice.get(f"/c/{c.pk}/earlier", {"before": typed}).status_code == 404
    assert alice.get(f"/c/{c.pk}/", {"after": typed}).status_code == 200
    assert alice.get("/sidebar", {"current": typed}).status_code in (200, 204)
    assert post(alice, c, "again", {}, {"plan": typed, "version": typed}).status_code == 422
