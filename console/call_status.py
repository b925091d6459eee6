"""How a tool call went, as its row in the conversation says it."""

from __future__ import annotations

from dataclasses import dataclass

from agents.models import ToolCall

State = ToolCall.State


@dataclass(frozen=True)
class CallStatus:
    """`words` are empty where a duration stands in their place; `spoken` is said in addition to
    those who do not see the icon."""

    words: str
    icon: str
    status: str = ""
    spoken: str = ""


DENIED = CallStatus("Denied by you", "x")
NOT_RUN_YET = CallStatus("Not run yet", "clock")  # it has no state before it is its turn
BY_STATE: dict[str, CallStatus] = {
    State.DONE: CallStatus("", "check", spoken="Succeeded"),
    State.RUNNING: CallStatus("", "spin", "running", spoken="Running"),
    State.ASKED: CallStatus("Going on", "clock"),
    State.DENIED: DENIED,
    State.REFUSED: CallStatus("Not allowed", "x", "failed"),
    State.FAILED: CallStatus("Failed", "warn", "failed"),
    State.INTERRUPTED: CallStatus("Interrupted", "x"),
}


def call_status(call: ToolCall) -> CallStatus:
    if call.state == State.ASKED and call.decision == "deny":
        return DENIED
    if call.state == State.INTERRUPTED and call.started_at is None:
        return CallStatus("Not run", "x")
    return BY_STATE.get(call.state, NOT_RUN_YET)
