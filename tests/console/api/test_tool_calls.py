import pytest

from agents.models import Conversation, ToolCall, Turn


@pytest.fixture
def asked(alice):
    """A call that asks alice first, in a turn that waits for her."""
    conversation = Conversation.objects.get(pk=alice.talk())
    turn = Turn.objects.create(conversation=conversation, state="waiting", waiting_for="approval")
    message = conversation.messages.create(turn=turn, seq=1, changed_seq=1, role="assistant")
    return ToolCall.objects.create(
        message=message, turn=turn, call_id="c1", tool="write_file", state="asked"
    ).pk


def test_a_call_is_allowed_and_its_turn_goes_on(alice, asked):
    answer = alice.post(f"/tool-calls/{asked}/decide", {"decision": "allow_once"})
    assert answer.status_code == 200
    assert ToolCall.objects.get().decision == "allow_once"
    assert Turn.objects.get().state == "queued"


def test_the_same_answer_twice_is_harmless_and_another_is_refused(alice, asked, said):
    path = f"/tool-calls/{asked}/decide"
    for _ in range(2):
        assert alice.post(path, {"decision": "deny", "reason": "no"}).status_code == 200
    said(alice.post(path, {"decision": "allow_once"}), 409)
    assert ToolCall.objects.get().reason == "no"


def test_an_answer_there_is_not_decides_nothing(alice, asked, said):
    for body in ({}, {"decision": "yes"}, {"decision": None}):
        said(alice.post(f"/tool-calls/{asked}/decide", body), 422)
    assert ToolCall.objects.get().decision == ""


def test_nobody_decides_for_someone_else(bob, asked, said):
    said(bob.post(f"/tool-calls/{asked}/decide", {"decision": "allow_once"}), 404)
    assert ToolCall.objects.get().decision == ""
