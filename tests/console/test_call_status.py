"""What the row of a tool call says about how it went."""

import pytest

from agents.models import ToolCall
from console.call_display import call_status

NOW = "2026-01-01T00:00:00Z"
TABLE = [
    ({"state": "done"}, "", "check", ""),
    ({"state": "running", "started_at": NOW}, "", "spin", "running"),
    ({"state": "asked", "decision": "deny"}, "Denied by you", "x", ""),
    ({"state": "asked", "decision": "allow_once"}, "Going on", "clock", ""),
    ({"state": "denied"}, "Denied by you", "x", ""),
    ({"state": "refused"}, "Not allowed", "x", "failed"),
    ({"state": "failed"}, "Failed", "warn", "failed"),
    ({"state": "interrupted", "started_at": NOW}, "Interrupted", "x", ""),
    ({"state": "interrupted"}, "Not run", "x", ""),
    ({"state": ""}, "Not run yet", "clock", ""),
]


@pytest.mark.parametrize(("call", "words", "icon", "status"), TABLE)
def test_how_a_call_went(call, words, icon, status):
    said = call_status(ToolCall(**call))
    assert (said.words, said.icon, said.status) == (words, icon, status)


def test_every_state_has_its_words():
    for state in ToolCall.State:
        assert call_status(ToolCall(state=state)).icon
