"""Running one chain for one input, without a page: for the command line and the API."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from agents import persistence, search
from agents.actions import check_text, queue_turn, shortened
from agents.chains.schema import Chain
from agents.chains.store import load_chain
from agents.config.store import AgentRecord, read_agent
from agents.db import in_db
from agents.engine.lifecycle import LONGEST_WAIT
from agents.engine.loop import Watch, ignore_event, run_turn
from agents.engine.steps import result_of
from agents.errors import Conflict
from agents.models import Conversation, Message, ToolCall, Turn, TurnState
from agents.queue.leases import held_by_this_command, stop_left
from agents.tools.permissions import Grant

CHECK_INTERVAL = 0.1  # seconds
OWN_LEASE = timedelta(days=1)  # of a turn that a command runs itself
TAKEN = "This run has come to an end elsewhere."

Config = dict[str, object]


@dataclass(frozen=True)
class Outcome:
    """How it ended: `state` of the turn, its result, and one sentence when it did not work."""

    turn: int
    conversation: int
    state: str
    output: str
    error: str


@transaction.atomic
def queue_chain(owner: User, chain: str, text: str, agent_id: str) -> Turn:
    """A turn of its own conversation with an agent, which any worker may take.

    The conversation is archived from the start: a list of chats is no list of runs.
    """
    check_text(text)
    check_enforced(read_agent(agent_id), load_chain(chain))
    conversation = Conversation.objects.create(
        owner=owner, agent_id=agent_id, title=shortened(text), archived_at=timezone.now()
    )
    search.index_title(conversation.pk, conversation.title)
    turn = queue_turn(conversation, "chat", chain=chain)
    persistence.add_message(turn, "user", Message.Kind.TEXT, text)
    return turn


def check_enforced(agent: AgentRecord, chain: Chain) -> None:
    """Raises Conflict where the agent plans every task, and the chain would act without a plan."""
    handlers = {task.handler for task in chain.tasks}
    if agent.file.plan.is_enforced and handlers & {"execute_tool_calls", "tools"}:
        plans = f"{agent.file.name} plans every task (plan.enforce)"
        raise Conflict(f"{plans}: send it a message, which asks for a plan.")


@contextmanager
def own_turn(
    owner: User, text: str, config: dict[str, object], agent_id: str = ""
) -> Iterator[Turn]:
    """A turn that this process runs itself, claimed and held from its first moment on."""
    check_text(text)
    with ExitStack() as held:
        with transaction.atomic():
            conversation = Conversation.objects.create(
                owner=owner, agent_id=agent_id, title=shortened(text)
            )
            search.index_title(conversation.pk, conversation.title)
            now = timezone.now()
            turn = Turn.objects.create(
                conversation=conversation,
                config=config,
                state=TurnState.RUNNING,
                epoch=1,
                started_at=now,
                counted_at=now,
                lease_until=now + OWN_LEASE,
            )
            persistence.add_message(turn, "user", Message.Kind.TEXT, text)
            held.enter_context(held_by_this_command(turn.pk))
        try:
            yield turn
        finally:
            stop_left(turn.pk)


def with_agent(chain: Chain, agent: AgentRecord, allow: list[str]) -> Config:
    """The configuration of one run by a command: with the agent's tools, and what is lifted."""
    check_enforced(agent, chain)
    options = {"chain": chain.model_dump(mode="json"), "allow": allow}
    return {**agent.file.settings(), "options": options}


def in_folder(chain: Chain, folder: Path, allow: list[str], model: tuple[str, str]) -> Config:
    """The configuration of a run without an agent: the chain's own lists are the grants.

    The shell is granted only by `allow`.
    """
    provider, name = model
    shell: Grant = "allow" if {"shell", "local_shell"} & set(allow) else "off"
    options = {"chain": chain.model_dump(mode="json"), "in_folder": True}
    return {
        "id": "chain-run",
        "name": "Chain run",
        "provider": provider,
        "model": name,
        "workspace": str(folder),
        "tools": {"*": "allow", "shell": shell},
        "options": options,
    }


async def carry_out(turn: Turn, watch: Watch = ignore_event) -> Outcome:
    """Run a turn of one's own to its end; a model that is busy is waited for."""
    while True:
        await run_turn(turn, watch)
        task = asyncio.current_task()
        if task is not None and task.cancelling() > 0:  # the turn wrote that down and said no more
            raise asyncio.CancelledError
        await in_db(read_again, turn)
        if turn.state != TurnState.QUEUED:
            return await in_db(outcome_of, turn)
        pause = (turn.not_before or timezone.now()) - timezone.now()
        await in_db(take_again, turn)
        await asyncio.sleep(min(max(pause.total_seconds(), 0), LONGEST_WAIT))


def read_again(turn: Turn) -> None:
    """How this claim of it ended. Raises Conflict where another claim or a deletion ended it."""
    epoch = turn.epoch
    with suppress(Turn.DoesNotExist):
        turn.refresh_from_db()
        if turn.epoch == epoch and turn.state != TurnState.RUNNING:
            return
    raise Conflict(TAKEN)


def take_again(turn: Turn) -> None:
    """Before the pause: what waits in the queue is everybody's."""
    queued = Turn.objects.filter(pk=turn.pk, epoch=turn.epoch, state=TurnState.QUEUED)
    now = timezone.now()
    if not queued.update(
        state=TurnState.RUNNING,
        epoch=turn.epoch + 1,
        not_before=None,
        lease_until=now + OWN_LEASE,
        counted_at=now,
    ):
        raise Conflict(TAKEN)
    # With its conversation: the next claim starts in the event loop, where nothing is fetched.
    turn.refresh_from_db(from_queryset=Turn.objects.select_related("conversation"))


async def wait_for(turn: Turn, seconds: float) -> Outcome:
    """Until a worker has brought the turn to an end, or to a halt that needs a person."""
    async with asyncio.timeout(seconds):
        while turn.state in (TurnState.QUEUED, TurnState.RUNNING):
            await asyncio.sleep(CHECK_INTERVAL)
            await in_db(turn.refresh_from_db)
    return await in_db(outcome_of, turn)


def outcome_of(turn: Turn) -> Outcome:
    error = turn.error
    if turn.state == TurnState.WAITING:
        asked = turn.tool_calls.filter(state=ToolCall.State.ASKED).first()
        yes_or_no = f"{asked.tool} waits for your yes or no." if asked else ""
        error = yes_or_no or "It waits for an answer."
    return Outcome(turn.pk, turn.conversation_id, turn.state, result_of(turn), error)


def demand_done(outcome: Outcome) -> Outcome:
    if outcome.state != TurnState.DONE:
        raise Conflict(outcome.error or f"The chain was {outcome.state}.")
    return outcome
