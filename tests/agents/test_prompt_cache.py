"""How much of each request repeats the one before: what servers find in their caches."""

import json
from itertools import pairwise, takewhile

import pytest

from plans import actions
from tests.fake_model import call, say
from tests.world import conversation, drive, files_of, plan_of, scripted, states, tell

pytestmark = pytest.mark.django_db(transaction=True)
NAMES = ["Read the notes", "Sort them", "Write the list", "Check the list", "File it"]


def written(request):
    """In the order in which servers read it: tools, then messages."""
    return json.dumps(request.get("tools") or []) + json.dumps(request["messages"])[1:-1]


def repeated(before, after):
    """The part of a request that repeats the beginning of the one before it."""
    pairs = zip(written(before), written(after), strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return same / len(written(after))


def messages(request):
    return request["messages"]


def ran():
    """The requests of a plan of five subtasks, each with a call before its end."""
    c = conversation(instructions="Work carefully. " * 60)
    (files_of(c) / "notes.md").write_text("A line of the notes. " * 100)
    scripted(say("Notes are in notes.md."), say("You can sort them by date."))
    tell(c, "Where are the notes?")
    tell(c, "How can they be sorted?")
    scripted(call("create_plan", title="Sort the notes", subtasks=NAMES), say("Here is the plan."))
    tell(c, "/plan Sort the notes")
    steps = [
        each
        for name in NAMES
        for each in (
            call("read_file", path="notes.md"),
            call("finish_subtask", outcome=f"{name}: done, all 100 lines of it."),
        )
    ]
    model = scripted(*steps, call("finish_plan", outcome="All sorted."))
    actions.approve_plan(plan_of(c), 1, "alice")
    drive()
    assert states(c) == ["done"] * 5
    assert len(model.requests) == 11
    return model.requests


def test_most_of_each_request_of_a_plan_repeats_the_one_before(capsys):
    requests = ran()
    shares = [repeated(*pair) for pair in pairwise(requests[:10])]
    with capsys.disabled():
        print("\nshare repeated:", " ".join(f"{share:.0%}" for share in shares))  # noqa: T201
    within, between = shares[::2], shares[1::2]
    assert min(within) > 0.7, "all but the newest result, which is long"
    assert min(between) > 0.9, "of the first request of the next subtask"
    for before, after in zip(requests[0:10:2], requests[1:10:2], strict=True):
        count = len(messages(before))
        assert messages(after)[:count] == messages(before), "a step adds, and changes nothing"


def test_tools_and_the_first_message_are_the_same_throughout_a_run():
    requests = ran()[:10]
    assert len({json.dumps(request["tools"]) for request in requests}) == 1
    first = {json.dumps(messages(request)[0]) for request in requests}
    assert len(first) == 1
    assert "todo" not in first.pop(), "how the plan stands changes, and comes later"
