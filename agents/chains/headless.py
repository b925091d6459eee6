"""Running one chain for one input, without a page: for the command line and the API."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from agents.actions import check_text, queue_turn
from agents.agent_file.record import read_agent
from agents.chains.schema import Chain
from agents.database import in_db
from agents.errors import NotNow
from agents.models import Conversation, Message, ToolCall, Turn, TurnState
from agents.turns import journal
from agents.turns.endings import LONGEST_WAIT
from agents.turns.run import Watch, nobody, run_turn

LOOK_AGAIN = 0.1  # seconds
OWN_LEASE = timedelta(days=1)  # of a turn that a command runs itself

Config = dict[str, object]


@dataclass(frozen=True)
class Outcome:
    """How it ended: `state` of the turn, the last text, and one sentence when it did not work."""

    turn: int
    conversation: int
    state: str
    output: str
    error: str


@transaction.atomic
def queue_chain(owner: User, chain: str, text: str, agent_id: str) -> Turn:
    """A turn of its own conversation with an agent, which any worker may take."""
    check_text(text)
    read_agent(agent_id)
    conversation = Conversation.objects.create(owner=owner, agent_id=agent_id, title=text[:60])
    turn = queue_turn(conversation, "chat", chain=chain)
    journal.add_message(turn, "user", Message.Kind.TEXT, text)
    return turn


@transaction.atomic
def own_turn(owner: User, text: str, config: dict[str, object], agent_id: str = "") -> Turn:
    """A turn that this process runs itself, claimed from its first moment on."""
    check_text(text)
    conversation = Conversation.objects.create(owner=owner, agent_id=agent_id, title=text[:60])
    turn = Turn.objects.create(
        conversation=conversation,
        config=config,
        state=TurnState.RUNNING,
        epoch=1,
        started_at=timezone.now(),
        lease_until=timezone.now() + OWN_LEASE,
    )
    journal.add_message(turn, "user", Message.Kind.TEXT, text)
    return turn


def in_folder(chain: Chain, folder: Path, allow: list[str], model: tuple[str, str]) -> Config:
    """The configuration of a run without an agent: the chain's own lists are the grants.

    The shell is granted only by `allow`.
    """
    provider, name = model
    return {
        "id": "chain-run",
        "name": "Chain run",
        "provider": provider,
        "model": name,
        "workspace": str(folder),
        "tools": {"*": "allow", "shell": "off"},
        "allow": ["shell" if each == "local_shell" else each for each in allow],
        "in_folder": True,
        "chain_document": chain.model_dump(mode="json"),
    }


async def carry_out(turn: Turn, watch: Watch = nobody) -> Outcome:
    """Run a turn of one's own to its end; a model that is busy is waited for."""
    while True:
        await run_turn(turn, watch)
        await in_db(turn.refresh_from_db)
        if turn.state != TurnState.QUEUED:
            return await in_db(outcome_of, turn)
        pause = (turn.not_before or timezone.now()) - timezone.now()
        await asyncio.sleep(min(max(pause.total_seconds(), 0), LONGEST_WAIT))
        await in_db(take_again, turn)


def take_again(turn: Turn) -> None:
    turn.state, turn.epoch, turn.not_before = TurnState.RUNNING, turn.epoch + 1, None
    turn.lease_until = timezone.now() + OWN_LEASE
    turn.save(update_fields=["state", "epoch", "not_before", "lease_until"])


async def wait_for(turn: Turn, seconds: float) -> Outcome:
    """Until a worker has brought the turn to an end, or to a halt that needs a person."""
    async with asyncio.timeout(seconds):
        while turn.state in (TurnState.QUEUED, TurnState.RUNNING):
            await asyncio.sleep(LOOK_AGAIN)
            await in_db(turn.refresh_from_db)
    return await in_db(outcome_of, turn)


def outcome_of(turn: Turn) -> Outcome:
    texts = turn.messages.filter(role="assistant", kind=Message.Kind.TEXT).exclude(text="")
    last = texts.order_by("seq").last()
    error = turn.error
    if turn.state == TurnState.WAITING:
        error = waits_for(turn)
    output = last.text if last else ""
    return Outcome(turn.pk, turn.conversation_id, turn.state, output, error)


def waits_for(turn: Turn) -> str:
    asked = turn.tool_calls.filter(state=ToolCall.State.ASKED).first()
    if asked is None:
        return "It waits for an answer."
    return f"{asked.tool} waits for your leave; --allow {asked.tool} gives it beforehand."


def demand_done(outcome: Outcome) -> Outcome:
    if outcome.state != TurnState.DONE:
        raise NotNow(outcome.error or f"The chain was {outcome.state}.")
    return outcome
