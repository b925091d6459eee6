"""The timeline: each thing that happened is one line, by whoever did it."""

import pytest
from django.contrib.auth.models import User

from agents.models import Event
from plans import actions
from plans.models import Plan
from tests.builders import approved_plan, proposed_plan
from tests.fake_model import call, fails, say
from tests.inner import Timeline, decide_call, page_of_lines, wanted_lines
from tests.markup import flat
from tests.world import calls_of, drive, plan_of, scripted, tell

pytestmark = pytest.mark.django_db(transaction=True)

DONE = call("finish_subtask", outcome="read")


def lines(plan, viewer="alice"):
    """Oldest first: (words, actor)."""
    return [(line.words, line.actor) for line in reversed(Timeline(plan, viewer).lines())]


def words(plan):
    return [line for line, _ in lines(plan)]


def told(c, *events, by="alice"):
    """The lines of these events, put after what has happened."""
    plan, before = plan_of(c), len(lines(plan_of(c)))
    for type, kind, data in events:
        c.refresh_from_db()
        row = Event(conversation=c, type=type, subject=f"plan:{plan.pk}", data=data)
        row.seq = 1000 + Event.objects.count()
        row.actor, row.actor_kind = (by, kind) if kind == "person" else (kind, kind)
        row.save()
    return lines(plan)[before:]


def test_what_the_system_does_is_said_of_planside_and_a_report_of_the_agent():
    c = proposed_plan("Read", "Write", "Send")
    scripted(DONE, call("fail_subtask", error="No disk."))
    actions.approve_plan(plan_of(c), 1, "alice")
    drive()
    said = lines(plan_of(c))
    assert ("started", "Planside") in said
    assert ("Read: done", "Agent") in said
    assert ("failed: No disk.", "Agent") in said
    assert ("The run has failed", "Planside") in said


def test_a_failure_that_no_agent_reported_is_not_said_of_the_agent():
    c = proposed_plan("Read")
    scripted(fails(401))
    actions.approve_plan(plan_of(c), 1, "alice")
    drive()
    [who] = {actor for line, actor in lines(plan_of(c)) if line.startswith("failed:")}
    assert who == "Planside"


RESUMED = ("run.resumed", "system", {"subtask": "s1"})
STARTED = ("run.started", "person", {"mode": "all"})
PAUSED = ("run.paused", "person", {"reason": "user"})


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([STARTED], [("Plan started", "You")]),
        ([STARTED, PAUSED, STARTED, RESUMED], ["Plan started", "Paused", "Resumed"]),
        (
            [STARTED, PAUSED, ("run.paused", "system", {"reason": "user"}), STARTED],
            ["Plan started", "Paused", "Resumed"],
        ),
        (
            [STARTED, ("run.stopping", "person", {}), ("run.stopped", "system", {}), STARTED],
            [("Plan started", "You"), ("Stopped", "You"), ("Started again", "You")],
        ),
        ([STARTED, ("run.stopped", "system", {})], ["Plan started", ("Stopped", "Planside")]),
        (
            [STARTED, ("run.paused", "system", {"reason": "question"}), RESUMED, RESUMED],
            ["Plan started"],
        ),
        (
            [STARTED, ("run.paused", "system", {"reason": "approval"}), RESUMED],
            ["Plan started"],
        ),
        (
            [STARTED, ("run.failed", "system", {}), STARTED, RESUMED],
            ["Plan started", "The run has failed", "Started again"],
        ),
        (
            [
                ("plan.finished", "person", {"state": "abandoned", "reason": "cleared"}),
                ("plan.cleared", "person", {}),
            ],
            [("Cleared from the conversation", "You")],
        ),
        ([("plan.cleared", "person", {})], [("Cleared from the conversation", "You")]),
    ],
)
def test_one_thing_is_one_line(events, expected):
    said = told(proposed_plan("Read"), *events)
    assert len(said) == len(expected)
    for line, wanted in zip(said, expected, strict=True):
        assert line == wanted or line[0] == wanted


def test_a_question_and_its_answer_are_two_lines_and_no_third():
    c = proposed_plan("Read")
    scripted(call("ask_user", question="Why?"))
    tell(c, "go")
    scripted(DONE, say("All done."))
    tell(c, "Because.")
    said = words(plan_of(c))
    start = said.index("asked: Why?")
    assert said[start : start + 3] == ["asked: Why?", "answered: Because.", "Read: done"]


def test_an_approval_is_said_of_whoever_decided_it():
    c = proposed_plan("Read", tools={"write_file": "ask"})
    scripted(call("write_file", path="notes.md", content="x"))
    tell(c, "go")
    decide_call(calls_of(c, "write_file")[0], "allow_once", "bob")
    scripted(DONE, say("All done."))
    drive()
    said = lines(plan_of(c))
    assert ("Allowed once:", "bob") in said
    assert "Resumed" not in words(plan_of(c))


def test_a_person_who_is_named_like_the_product_is_drawn_as_a_person():
    c = proposed_plan("Read")
    Plan.objects.filter(conversation=c).update(title="T")
    told(c, STARTED, by="Planside")
    [line] = [x for x in Timeline(plan_of(c), "alice").lines() if x.words == "Plan started"]
    assert line.actor_icon == "user"


def shown_lines(plan, **query):
    """Oldest first, as the plan's page has them."""
    return page_of_lines(plan, "alice", wanted_lines(query)).shown[::-1]


def test_attempts_that_failed_alike_are_one_line_with_the_single_ones_inside():
    no_file, no_disk = (call("fail_subtask", error=text) for text in ("No file.", "No disk."))
    c = proposed_plan("Read", plan={"enabled": True, "max_attempts": 4})
    scripted(no_disk, no_file, no_file, no_file)
    actions.approve_plan(plan_of(c), 1, "alice")
    drive()
    every = shown_lines(plan_of(c))
    failures = [(line.words, line.failures) for line in every if line.error]
    assert failures == [("failed: No disk.", 1), ("failed: No file.", 3)]
    [folded] = [line for line in every if line.parts]
    said = [line.words for line in reversed(folded.parts)]
    assert said == ["failed: No file.", *["started", "failed: No file."] * 2]
    by_agent = shown_lines(plan_of(c), actor="agent")
    assert [line.failures for line in by_agent if line.error] == [1, 3]
    page = page_of_lines(plan_of(c), "alice", wanted_lines({}))
    assert page.last == page.count == len(lines(plan_of(c))), "each change counts"


def test_a_person_between_two_attempts_keeps_them_apart():
    c = approved_plan("Read")
    for _ in range(2):
        scripted(call("fail_subtask", error="No file."))
        actions.run_plan(plan_of(c), "alice")
        drive()
    assert [line.failures for line in shown_lines(plan_of(c)) if line.error] == [1, 1]


def test_the_pages_list_of_attempts_folds_those_that_failed_alike(client):
    client.force_login(User.objects.get_or_create(username="alice")[0])
    c = proposed_plan("Read", plan={"enabled": True, "max_attempts": 2})
    scripted(*[call("fail_subtask", error="No file.")] * 2)
    actions.approve_plan(plan_of(c), 1, "alice")
    drive()
    page = flat(client.get(f"/plans/{plan_of(c).pk}/").content.decode())
    listed = page[page.index('id="attempts-heading"') :]
    assert listed.count("<span>2 attempts, the same error each time</span>") == 1
    assert listed.count('id="try-') == 2
