"""The main job: ask for a plan, approve it, watch it run."""

import pytest

from plans.models import Plan, Run, State
from tests.fake_model import call, say
from tests.world import (
    calls_of,
    conversation,
    files_of,
    plan_of,
    proposal,
    scripted,
    shown,
    states,
    tell,
    texts,
)

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_plan_is_proposed_approved_and_carried_out_to_its_end():
    c = conversation()
    model = scripted(
        proposal("Read", "Write"),
        say("Two steps. Start when you like."),
        call("finish_subtask", outcome="Read three files"),
        call("write_file", path="notes.md", content="hello"),
        call("finish_subtask", outcome="Wrote notes.md"),
        call("finish_plan", state="done", outcome="All tidy."),
    )
    tell(c, "/plan tidy up")
    assert plan_of(c).state == State.TODO
    assert states(c) == ["todo", "todo"]
    assert shown(c)["attention"] == "confirm"

    tell(c, "go ahead")
    plan = plan_of(c)
    assert states(c) == ["done", "done"]
    assert (plan.state, plan.run, plan.outcome) == (State.DONE, Run.IDLE, "All tidy.")
    assert (files_of(c) / "notes.md").read_text() == "hello"
    assert "Two steps. Start when you like." in texts(c)
    assert [tool["function"]["name"] for tool in model.requests[0]["tools"]] == ["create_plan"]
    assert Plan.objects.count() == 1
    assert [call.state for call in calls_of(c)] == ["done"] * 5
