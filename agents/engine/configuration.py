"""What agent.json says to a turn, read again before each request: an edit counts at once."""

from __future__ import annotations

from agents.config.store import read_agent
from agents.errors import NotFound
from agents.models import Turn

# Given to the command of one run, not by the file.
OPTIONS = "options"


def read_again(turn: Turn) -> None:
    """Take over what the agent's file says now.

    Two things stay: what was given to this run alone, and the chain that the turn is in the midst
    of, since its checkpoint names one of the tasks. Where the agent is gone, all stays as it was:
    whoever needs the agent says so.
    """
    options = turn.config.get(OPTIONS) or {}
    if options.get("in_folder"):  # without an agent
        return
    try:
        now: dict[str, object] = dict(read_agent(turn.conversation.agent_id).file.settings())
    except NotFound:
        return
    kept = (OPTIONS, "chains") if turn.checkpoint.get("task") else (OPTIONS,)
    now |= {name: turn.config[name] for name in kept if name in turn.config}
    if now != turn.config:
        turn.config = now
        Turn.objects.filter(pk=turn.pk, epoch=turn.epoch).update(config=now)
