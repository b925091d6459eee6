"""What may happen to a conversation. Each verb is one transaction; a refusal is one sentence."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser, User
from django.db import transaction
from pydantic import JsonValue

from agents import events
from agents.agent_file.record import change_agent, read_agent
from agents.chains.library import load_chain
from agents.errors import Invalid, NotNow
from agents.locks import lock_conversation
from agents.models import Conversation, Lane, Message, ToolCall, Turn, TurnState
from agents.queue.wakeup import wake_after_commit
from agents.statements import insert
from agents.turns import journal
from agents.turns.children import ancestors
from agents.turns.endings import go_on, request_stop

LONGEST_MESSAGE = 200_000  # characters
LONGEST_TITLE = 60
OPEN_STATES = (TurnState.QUEUED, TurnState.RUNNING, TurnState.WAITING)


def create_conversation(owner: User | AbstractBaseUser, agent_id: str) -> Conversation:
    """An empty conversation with an agent that exists."""
    agent = read_agent(agent_id)
    return Conversation.objects.create(owner_id=owner.pk, agent_id=agent.id)


@transaction.atomic
def rename_conversation(conversation: Conversation, title: str, by: str = "") -> None:
    title = " ".join(title.split())
    if not title:
        raise Invalid("Give the conversation a title.")
    Conversation.objects.filter(pk=conversation.pk).update(title=title[:200])
    events.record(conversation, "conversation.renamed", actor=by)


@transaction.atomic
def delete_conversation(conversation: Conversation, by: str = "") -> None:
    """Gone with all its messages and plans. What is running is stopped first."""
    lock_conversation(conversation.pk)
    for turn in open_turns(conversation):
        request_stop(turn, by)
    conversation.delete()


def open_turns(conversation: Conversation, lane: str | None = None) -> list[Turn]:
    turns = Turn.objects.filter(conversation=conversation, state__in=OPEN_STATES)
    if lane is not None:
        turns = turns.filter(lane=lane)
    return list(turns.select_related("conversation").order_by("pk"))


def check_text(text: str) -> None:
    if not text.strip():
        raise Invalid("Write a message first.")
    if len(text) > LONGEST_MESSAGE:
        raise Invalid(
            f"The message has {len(text):,} characters; {LONGEST_MESSAGE:,} is the most. "
            "Put long texts into a file of the workspace."
        )


@transaction.atomic
def start_turn(
    conversation: Conversation,
    text: str,
    by: str,
    kind: str = "chat",
    wire: str | None = None,
    meta: dict[str, object] | None = None,
    chain: str = "",
) -> tuple[Message, Turn]:
    """A person's message and the turn that will answer it, queued behind those before it.

    `wire` is what the model gets to read where that is not the text itself; `chain` is thought
    with instead of the one that agent.json names.
    """
    check_text(text)
    turn = queue_turn(conversation, kind, chain=chain)
    more: dict[str, object] = {} if wire is None else {"wire": wire}
    message = journal.add_message(
        turn, "user", Message.Kind.TEXT, text, meta={**(meta or {}), **more}
    )
    title_from(conversation, text if wire is None else wire)
    return message, turn


def queue_turn(
    conversation: Conversation,
    kind: str,
    lane: str = Lane.CHAT,
    chain: str = "",
    checkpoint: dict[str, object] | None = None,
    allow: list[str] | None = None,
) -> Turn:
    """Insert a turn with the agent's configuration as it is now; in the caller's transaction.

    `allow` are tools that a person grants for this turn, whatever agent.json says.
    """
    agent = read_agent(conversation.agent_id)
    if chain:
        load_chain(chain)
    turn = Turn(conversation=conversation, kind=kind, lane=lane, chain=chain)
    turn.config = {**agent.file.model_dump(mode="json"), "allow": allow or []}
    turn.checkpoint = checkpoint or {}
    insert(turn)
    events.record(conversation, "turn.queued", f"turn:{turn.pk}")
    wake_after_commit()
    return turn


def title_from(conversation: Conversation, text: str) -> None:
    """The first line of the first message, without a command's name; never a model's invention."""
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    Conversation.objects.filter(pk=conversation.pk, title="").update(title=first[:LONGEST_TITLE])


@transaction.atomic
def add_message(
    conversation: Conversation,
    kind: str,
    text: str,
    role: str = "system",
    turn: Turn | None = None,
    meta: dict[str, object] | None = None,
    by: str = "",
) -> Message:
    """A message that no turn wrote: a notice, a plan card, what a person typed as a command."""
    message = Message(turn=turn, role=role, kind=kind, text=text, meta=meta or {})
    return journal.put(message, conversation.pk, by)


@transaction.atomic
def stop_reply(conversation: Conversation, by: str) -> Turn | None:
    """End the chat lane's turn that is running, waiting or held; queued messages stay unsent."""
    lock_conversation(conversation.pk)
    turns = open_turns(conversation, Lane.CHAT)
    live = next((turn for turn in turns if turn.state != TurnState.QUEUED), None)
    held = next((turn for turn in turns if turn.checkpoint.get("try")), None)
    turn = live or held
    if turn is None:
        return None
    for queued in turns:  # what waited behind it does not start by itself after a stop
        if queued.pk != turn.pk and queued.state == TurnState.QUEUED:
            keep_unsent(queued)
    request_stop(turn, by)
    return turn


def keep_unsent(turn: Turn) -> None:
    """A queued message after a stop: its text goes back to the composer."""
    message = turn.messages.filter(role="user").first()
    conversation = turn.conversation
    if message is not None:
        draft = "\n\n".join(part for part in (conversation.draft, message.text) if part)
        conversation.draft = draft
        Conversation.objects.filter(pk=conversation.pk).update(draft=draft)
    drop_queued(turn)


def drop_queued(turn: Turn) -> None:
    conversation_id = turn.conversation_id
    pk = turn.pk
    turn.delete()
    events.record(conversation_id, "turn.discarded", f"turn:{pk}")


@transaction.atomic
def discard_queued(message: Message, by: str) -> None:
    """Take back a message that has not gone out yet."""
    lock_conversation(message.conversation_id)
    turn = message.turn
    if turn is None or not Turn.objects.filter(pk=turn.pk, state=TurnState.QUEUED).exists():
        raise NotNow("This message has already gone out.")
    drop_queued(turn)


@transaction.atomic
def try_now(turn: Turn, by: str) -> None:
    """A turn held back until its next try goes at once."""
    lock_conversation(turn.conversation_id)
    rows = Turn.objects.filter(pk=turn.pk, state=TurnState.QUEUED)
    if not rows.update(not_before=None):
        raise NotNow("It is not waiting for another try.")
    events.record(turn.conversation, "turn.queued", f"turn:{turn.pk}", by)
    wake_after_commit()


@transaction.atomic
def retry_reply(conversation: Conversation, by: str) -> Turn:
    """Take the last chat turn up again where it failed or was stopped."""
    lock_conversation(conversation.pk)
    turn = Turn.objects.filter(conversation=conversation, lane=Lane.CHAT).order_by("pk").last()
    if turn is None or turn.state not in (TurnState.FAILED, TurnState.STOPPED):
        raise NotNow("There is no failed reply to retry.")
    journal_resolved(turn)
    turn.state, turn.stop_requested, turn.error, turn.error_class = TurnState.QUEUED, False, "", ""
    turn.finished_at = None
    turn.checkpoint = {k: v for k, v in turn.checkpoint.items() if k not in ("try", "nudge")}
    turn.save()
    events.record(conversation, "turn.queued", f"turn:{turn.pk}", by)
    wake_after_commit()
    return turn


def journal_resolved(turn: Turn) -> None:
    for message in turn.messages.filter(kind=Message.Kind.ERROR, meta__resolved=False):
        message.meta = {**message.meta, "resolved": True}
        message.save(update_fields=["meta"])
        journal.touch(message, turn.conversation_id)


def save_draft(conversation: Conversation, text: str) -> None:
    Conversation.objects.filter(pk=conversation.pk).update(draft=text[:LONGEST_MESSAGE])


@transaction.atomic
def decide_call(call: ToolCall, decision: str, by: str, reason: str = "") -> ToolCall:
    """Answer an asked call: allow_once, always or deny. The same answer twice is harmless."""
    if decision not in ("allow_once", "always", "deny"):
        raise Invalid("The decision is allow_once, always or deny.")
    lock_conversation(call.turn.conversation_id)
    rows = ToolCall.objects.select_for_update(no_key=True, of=("self",))
    call = rows.select_related("turn__conversation").get(pk=call.pk)
    if call.decision == decision:
        return call
    if call.state != ToolCall.State.ASKED or call.decision:
        raise NotNow(f"{call.tool} was decided already.")
    if decision == "always":
        allow_always(call)
    call.decision, call.reason = decision, reason
    call.save(update_fields=["decision", "reason"])
    journal.touch(call.message_id, call.turn.conversation_id, "tool.decided")
    for above in ancestors(call.turn.conversation):
        for card in above.messages.filter(kind=Message.Kind.APPROVAL, meta__call=call.pk):
            journal.touch(card, above.conversation_id, "tool.decided")
    go_on(call.turn)
    return call


def allow_always(call: ToolCall) -> None:
    """Write exactly this call into the agent's file; it can be taken back there."""
    agent = read_agent(call.turn.conversation.agent_id)
    known = [each.model_dump(mode="json") for each in agent.file.always_allow]
    exact: dict[str, JsonValue] = {"tool": call.tool, "arguments": call.arguments}
    if exact not in known:
        change_agent(agent.id, {"always_allow": [*known, exact]})
