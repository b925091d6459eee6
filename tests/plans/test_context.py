"""The plan in the prompt: whole, a reference, or the person's own template."""

import re

import pytest

from agents.errors import Invalid
from plans import actions
from plans.schemas import PlanEdit
from tests.fake_model import call, say
from tests.fake_script import texts_of
from tests.inner import create_plan, plan_context, text_of
from tests.world import conversation, drive, plan_of, scripted, states, tell

pytestmark = pytest.mark.django_db(transaction=True)

LONG = "A sentence of the plan. " * 800  # about 5,000 tokens
WAYS = ("auto", "full", "reference", "template")


def waiting(subtasks=("Read",), content="", title="Tidy", goal="", settings=(), **values):
    """A conversation whose plan waits, with an agent that shows it as its file says."""
    plan = {"enabled": True, "max_attempts": 1, **dict(settings)}
    c = conversation(plan=plan, **values)
    create_plan(c, title=title, content=content, subtasks=list(subtasks), goal=goal, by="alice")
    return c


def asked(c, text="what is planned?"):
    """What the system messages of the answer to this say."""
    model = scripted(say("This."))
    tell(c, text)
    return texts_of(model.requests[0]["messages"], "system")


def attempted(c):
    """The first request of the run."""
    model = scripted(call("finish_subtask", outcome="done"), call("finish_plan", outcome="all"))
    actions.approve_plan(plan_of(c), 1, "alice", run="next")
    drive()
    return model.requests[0]["messages"]


class TestAuto:
    def test_a_short_plan_is_there_whole(self):
        text = asked(waiting(["Read", "Write"], "## Why\nBecause", goal="Tidy up"))
        assert "Plan: Tidy (v1)\nPlan number " in text
        assert "\nGoal: Tidy up\n## Why\nBecause\n- [todo] s1 Read" in text

    @pytest.mark.parametrize(("characters", "whole"), [(23_000, True), (24_100, False)])
    def test_whole_up_to_about_six_thousand_tokens(self, characters, whole):
        text = asked(waiting(content="x" * characters))
        assert ("x" * characters in text) == whole
        assert ("] content\n" in text) != whole and "- [todo] s1 Read" in text

    def test_tokens_are_counted_in_bytes_as_everywhere(self):
        assert "计" * 9000 not in asked(waiting(content="计" * 9000))

    def test_a_quarter_of_a_narrow_window_is_enough(self):
        text = asked(waiting(["Read", "Write"], content=LONG, context_window=8192))
        assert LONG.strip() not in text and "- [todo] s2 Write" in text

    def test_of_500_subtasks_a_planner_is_told_the_names(self):
        text = asked(waiting([f"Subtask of some length, number {n}" for n in range(500)]))
        assert len([line for line in text.splitlines() if line.startswith("- [todo")]) == 500
        assert (
            '[+n]: n characters of it are not shown here. Read them with get_plan {"keys"' in text
        )

    def test_names_that_are_too_long_beside_other_work_are_counted(self):
        c = waiting([f"Subtask of some length, number {n}" for n in range(200)])
        actions.approve_plan(plan_of(c), 1, "alice", run="no")
        text = asked(c)
        assert "- [todo] s1 Subtask of some length, number 0\n" in text
        assert "length, number 199" not in text
        assert re.search(r"\n… and \d+ more\n\[\+n\]: .* Read them with get_plan", text)

    def test_a_model_that_cannot_read_the_plan_is_shown_it(self):
        assert LONG.strip() in asked(waiting(content=LONG, tools={"get_plan": "off"}))


class TestReference:
    def test_it_has_title_version_and_progress_and_no_text(self):
        c = waiting(["Read", "Write"], "## Why", settings={"context": "reference"})
        actions.skip_subtask(plan_of(c), "s1", "alice")
        text = asked(c)
        assert "Plan: Tidy (v1)\nPlan number " in text
        assert "\nProgress: 0 done and 1 abandoned of 2 subtasks." in text
        assert "## Why" not in text
        assert "s2" not in text

    def test_the_content_comes_through_get_plan(self):
        c = waiting(content="## Why", settings={"context": "reference"})
        model = scripted(call("get_plan"), say("That is why."))
        tell(c, "why?")
        assert "## Why" in model.requests[1]["messages"][-1]["content"]

    def test_the_closing_turn_sees_every_outcome(self):
        c = waiting(settings={"context": "reference"})
        model = scripted(
            call("finish_subtask", outcome="12 pages"), call("finish_plan", outcome=".")
        )
        actions.approve_plan(plan_of(c), 1, "alice")
        drive()
        assert "- [done] s1 Read: 12 pages" in texts_of(model.requests[-1]["messages"], "system")


class TestOwnTemplate:
    def test_it_says_what_it_wants_of_the_plan(self):
        template = (
            "<plan v='{{.version}}'>{{ .title }}|{{.goal}}|{{.content}}\n{{.checklist}}</plan>"
        )
        settings = {"context": "template", "context_template": template}
        text = asked(waiting(["Read", "Write"], "Why", goal="Tidy up", settings=settings))
        shown = "<plan v='1'>Tidy|Tidy up|Why\n- [todo] s1 Read\n- [todo] s2 Write</plan>"
        assert shown in text

    def test_braces_that_a_plan_brings_along_stay_braces(self):
        settings = {"context": "template", "context_template": "{{.title}}: {{.checklist}}"}
        names = ["{{.content}} and {{var:secret}}", "{{.checklist}}", "{{nothing}} {x} %s"]
        text = asked(waiting(names, "hidden", title="{{.goal}}", goal="a goal", settings=settings))
        assert "{{.goal}}: - [todo] s1 {{.content}} and {{var:secret}}" in text
        assert "- [todo] s2 {{.checklist}}\n- [todo] s3 {{nothing}} {x} %s" in text
        assert "hidden" not in text

    def test_without_one_the_plan_is_shown_as_by_itself(self):
        assert "- [todo] s1 Read" in asked(waiting(settings={"context": "template"}))

    def test_a_macro_there_is_not_is_named(self):
        plan = create_plan(conversation(), title="T", content="x")
        with pytest.raises(Invalid, match=r"There is no \.titel"):
            plan_context(text_of(plan), "{{.titel}}")


class TestPriority:
    """The assignment has 95 and more, the reminder 90, the plan 80 unless its agent says else."""

    NARROW = 8192  # room for everything but 5,000 tokens of plan

    def seen(self, **plan):
        c = waiting(content=LONG, settings={"context": "full", **plan}, context_window=self.NARROW)
        messages = attempted(c)
        assert messages[-1]["content"].startswith("Your subtask is s1: Read")
        assert states(c) == ["done"]
        system = texts_of(messages, "system")
        return "A sentence of the plan." in system, "You work on one subtask" in system

    def test_the_plan_goes_before_the_reminder_when_it_does_not_fit(self):
        assert self.seen() == (False, True)

    def test_an_agent_may_hold_its_plan_dearer(self):
        assert self.seen(priority=93) == (False, False)
        assert self.seen(priority=95) == (True, False)

    def test_a_priority_of_0_is_one(self):
        assert self.seen(priority=0) == (False, True)

    def test_with_room_everything_is_there(self):
        c = waiting(content=LONG, settings={"context": "full"})
        system = texts_of(attempted(c), "system")
        assert LONG.strip() in system
        assert "You work on one subtask" in system

    @pytest.mark.parametrize("way", WAYS)
    def test_the_assignment_brings_its_own_facts_whatever_is_shown_of_the_plan(self, way):
        detail = {"name": "Read", "description": "All pages", "expected_outcome": "A list"}
        settings = {"context": way, "context_template": "{{.title}}"}
        c = waiting(["Ask", detail], settings=settings)
        attempted(c)
        model = scripted(call("finish_subtask", outcome="read"))
        actions.run_plan(plan_of(c), "alice", "next")
        drive()
        assignment = model.requests[0]["messages"][-1]["content"]
        for fact in ("s2: Read", "All pages", "A list", "- s1 Ask: done"):
            assert fact in assignment


@pytest.mark.parametrize(("subtasks", "told"), [((), False), (["Read"], True)])
def test_a_reference_speaks_of_subtasks_only_where_there_are_some(subtasks, told):
    c = waiting(subtasks, content=LONG)
    text = plan_context(text_of(plan_of(c)), "reference")
    assert ("subtasks" in text) is told
    assert "read them with get_plan" in text


MODEL_WRITES = {
    "the text": lambda: call("revise_current_plan", content="INJECTED"),
    "the title": lambda: call("revise_current_plan", title="INJECTED"),
    "the outcome": lambda: call("revise_current_plan", expected_outcome="INJECTED"),
    "a new subtask": lambda: call("add_subtask", name="INJECTED"),
    "another subtask": lambda: call("update_subtask", key="s2", name="INJECTED"),
}


def test_an_attempt_reads_no_version_between_two_that_were_approved():
    c = waiting(["Read"], content="The first text")
    actions.approve_plan(plan_of(c), 1, "alice", run="no")
    for n, content in enumerate(["Never approved", "The last text"], 1):
        actions.edit_plan(plan_of(c), PlanEdit(content=content), "alice", n)
    model = scripted(
        *(call("get_plan", version=n) for n in (1, 2, 3)), call("finish_subtask", outcome="done")
    )
    actions.approve_plan(plan_of(c), 3, "alice", run="next")
    drive()
    said = str([request["messages"] for request in model.requests])
    assert "v2 is not approved: you work on v3." in said and "Never approved" not in said
    assert "v1 is not approved" not in said and "v3 is not approved" not in said


@pytest.mark.parametrize("what", MODEL_WRITES)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.sampled(8)
def test_an_attempt_is_never_given_a_version_that_nobody_approved(what, way):
    """R4, R28: what somebody changes meanwhile waits for a yes; it instructs nobody before."""
    settings = {"context": way, "context_template": "{{.title}} {{.content}} {{.checklist}}"}
    c = waiting(["Read", "Write"], content="The approved text", settings=settings)
    model = scripted(
        MODEL_WRITES[what](),
        call("get_plan"),
        call("get_plan", version=2),
        call("finish_subtask", outcome="done"),
    )
    actions.approve_plan(plan_of(c), 1, "alice", run="next")
    drive()
    assert plan_of(c).version == 2 and "INJECTED" in str(plan_of(c).versions.last().snapshot)
    after = [str(request["messages"]) for request in model.requests[1:]]
    own_words = str(model.requests[1]["messages"][-2])  # the call that made the change
    for said in after:
        assert "INJECTED" not in said.replace(own_words[1:-1], "")
    assert "v2 waits for the person's yes. You go on with v1." in after[0]
    assert "v2 is not approved: you work on v1." in after[2]
    assert "The approved text" in after[1]


def test_what_was_approved_meanwhile_is_what_the_attempt_reads():
    c = waiting(["Read", "Write"], content="The first text")
    model = scripted(
        call("revise_current_plan", content="The second text"),
        call("finish_subtask", outcome="done"),
        call("get_plan"),
        call("finish_subtask", outcome="done"),
        say("All done."),
    )
    actions.approve_plan(plan_of(c), 1, "alice")
    drive()
    assert "The second text" not in texts_of(model.requests[1]["messages"], "system")
    actions.approve_plan(plan_of(c), 2, "alice")
    drive()
    assert "The second text" in texts_of(model.requests[2]["messages"], "system")
    assert "The second text" in model.requests[3]["messages"][-1]["content"]
