"""What may happen to a conversation. Each verb is one transaction; a refusal is one sentence.

At the end, what becomes of the work under way when an agent or a person leaves.
"""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser, User
from django.db import transaction
from django.db.models.sql import UpdateQuery
from django.utils import timezone
from pydantic import JsonValue

from agents import events, persistence, search
from agents.actors import PERSON, Actor, kind_of
from agents.chains.store import load_chain
from agents.changes.preview import demand_same_file
from agents.config.store import change_agent, read_agent
from agents.conversations import unmoved
from agents.engine import alternatives
from agents.engine.available_tools import is_exactly
from agents.engine.handlers import OPTIONS, with_chosen_model
from agents.engine.known_models import demand_model
from agents.engine.lifecycle import request_stop, requeue
from agents.engine.subagents import show_call_again
from agents.errors import Conflict, Invalid, NotFound
from agents.events import lock_conversation
from agents.llm.providers import resolve
from agents.models import Conversation, Lane, Message, ToolCall, Turn, TurnState
from agents.models.conversation import GivenBack
from agents.models.turn import Checkpoint
from agents.statements import insert, prepared, updating
from agents.stored_text import gettext, gettext_lazy, ngettext
from agents.timestamps import timestamp
from agents.workspace import attachments

LONGEST_MESSAGE = 200_000  # characters
LONGEST_TITLE = 60
LONGEST_MODEL = 200
CALLED = gettext_lazy(
    "This agent works for a call of another one: write in the conversation in which that is at "
    "work."
)


def create_conversation(owner: User | AbstractBaseUser, agent_id: str) -> Conversation:
    """An empty conversation with an agent that exists."""
    agent = read_agent(agent_id)
    conversation = Conversation(owner_id=owner.pk, agent_id=agent.id)
    insert(conversation)
    return conversation


@transaction.atomic
def fresh_conversation(owner: User, agent_id: str) -> Conversation:
    """One in which nothing has happened yet: asking often leaves one behind, not many."""
    own = Conversation.objects.filter(owner=owner, agent_id=agent_id, parent_call=None)
    new = own.filter(seq=0, draft="", deleted_at=None).exclude(pk__in=attachments.boxes())
    untouched = new.order_by("-pk").first()
    if untouched is None:
        return create_conversation(owner, agent_id)
    untouched.save(update_fields=["updated_at"])  # it is the newest of the list
    return untouched


@transaction.atomic
def rename_conversation(conversation: Conversation, title: str, by: Actor = "") -> None:
    title = " ".join(title.split())
    if not title:
        raise Invalid(gettext("Give the conversation a title."))
    with unmoved(conversation.pk):
        Conversation.objects.filter(pk=conversation.pk).update(title=title[:200])
        search.index_title(conversation.pk, title[:200])
        events.record(conversation, "conversation.renamed", actor=by)


def model_named(name: str) -> tuple[str, str]:
    """Provider and model of `provider/model`; both are empty for the agent's own."""
    provider, _, model = name.strip().partition("/")
    if not name.strip():
        return "", ""
    if not provider or not model.strip():
        raise Invalid(gettext("Name the model as provider/model."))
    if not name.strip().isprintable():
        raise Invalid(gettext("The name of a model has no characters that cannot be seen."))
    if len(model) > LONGEST_MODEL:
        raise Invalid(
            gettext("The name of a model has at most {most} characters.").format(most=LONGEST_MODEL)
        )
    try:
        return resolve(provider).provider, model.strip()
    except Invalid as unknown:
        raise NotFound(str(unknown)) from None


@transaction.atomic
def choose_model(conversation: Conversation, name: str, by: Actor = "") -> None:
    """The model that answers here from the next message on; empty for the agent's own."""
    provider, model = model_named(name)
    Conversation.objects.filter(pk=conversation.pk).update(provider=provider, model=model)
    events.record(conversation, "conversation.model", "", by, model=name.strip())


def open_turns(conversation: Conversation, lane: str | None = None) -> list[Turn]:
    turns = Turn.objects.filter(conversation=conversation, state__in=Turn.OPEN_STATES)
    if lane is not None:
        turns = turns.filter(lane=lane)
    return list(turns.select_related("conversation").order_by("pk"))


def check_text(text: str, *, has_files: bool = False) -> None:
    """Files say enough without a word."""
    if not text.strip() and not has_files:
        raise Invalid(gettext("Write a message first."))
    if len(text) > LONGEST_MESSAGE:
        raise Invalid(
            gettext(
                "The message has {count:,} characters; {most:,} is the most. Put long "
                "texts into a file of the workspace."
            ).format(count=len(text), most=LONGEST_MESSAGE)
        )


def demand_no_helper(conversation: Conversation, by: Actor) -> None:
    """An agent that was called by another one takes its orders from that call alone."""
    if conversation.parent_call_id is not None and kind_of(by) == PERSON:
        raise Conflict(str(CALLED))


@transaction.atomic
def start_turn(
    conversation: Conversation,
    text: str,
    by: Actor,
    kind: str = "chat",
    wire: str | None = None,
    meta: dict[str, object] | None = None,
    chain: str = "",
    files: attachments.Files = (),
) -> tuple[Message, Turn]:
    """A person's message and the turn that will answer it, queued behind those before it.

    `wire` is what the model gets to read where that is not the text itself; `chain` is thought
    with instead of the one that agent.json names; `files` are those it brings along.
    """
    check_text(text, has_files=bool(files))
    demand_no_helper(conversation, by)
    turn = queue_turn(conversation, kind, chain=chain)
    if kind_of(by) == PERSON:
        demand_model(turn)
    more: dict[str, object] = {} if wire is None else {"wire": wire}
    message = persistence.add_message(
        turn, "user", Message.Kind.TEXT, text, meta={**(meta or {}), **more}
    )
    attachments.send_with(message, files)
    # The first line of the first message, without a command's name; never a model's invention.
    lines = (text if wire is None else wire).splitlines() + [each.name for each in files]
    name_untitled(conversation, next((line.strip() for line in lines if line.strip()), ""))
    return message, turn


def name_untitled(conversation: Conversation, title: str) -> None:
    """By what was said or made in it first; a title that it has stays."""
    short = shortened(title)
    if first_title.update(conversation=conversation.pk, title=short):
        search.index_title(conversation.pk, short)


def shortened(title: str) -> str:
    """With a sign that something is left out, where it is."""
    return title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1].rstrip()}…"


def queue_turn(
    conversation: Conversation,
    kind: str,
    lane: str = Lane.CHAT,
    chain: str = "",
    checkpoint: Checkpoint | None = None,
    after: Turn | None = None,
    plan: int | None = None,
) -> Turn:
    """Insert a turn with the agent's configuration; in the caller's transaction.

    The model is the one chosen for the conversation, if there is one. A turn that comes `after`
    another is queued in any case: if agent or chain are gone, it says so when it begins, and has
    the configuration of the turn before it.
    """
    if chain and after is None:
        load_chain(chain)
    caller = conversation.parent_call.turn if conversation.parent_call else None
    turn = Turn(conversation=conversation, kind=kind, lane=lane, chain=chain, plan=plan)
    turn.serves = caller.serves if caller else plan
    if lane == Lane.CHAT:
        turn.parent_id = alternatives.last_shown(conversation.pk)
    try:
        settings = dict(read_agent(conversation.agent_id).file.settings())
        turn.config = with_chosen_model(settings, conversation.provider, conversation.model)
    except NotFound:
        if after is None:
            raise
        turn.config = {name: value for name, value in after.config.items() if name != OPTIONS}
    turn.checkpoint = checkpoint or {}
    insert(turn)
    events.record(conversation, "turn.queued", f"turn:{turn.pk}")
    return turn


@prepared
def first_title(conversation: int, title: str) -> UpdateQuery:
    return updating(Conversation.objects.filter(pk=conversation, title=""), title=title)


@transaction.atomic
def add_message(
    conversation: Conversation,
    kind: str,
    text: str,
    role: str = "system",
    turn: Turn | None = None,
    meta: dict[str, object] | None = None,
    by: Actor = "",
    stays: bool = False,
) -> Message:
    """A message that no turn wrote: a notice, a plan card, what a person typed as a command.

    Without a turn it goes with the one that was shown last, unless it `stays` in view whichever
    alternative is shown.
    """
    message = Message(turn=turn, role=role, kind=kind, text=text, meta=meta or {})
    if turn is None and not stays:
        message.after_id = alternatives.last_shown(conversation.pk)
    return persistence.put(message, conversation.pk, by)


def keep_in_view(message: Message) -> None:
    """It has decided about something that stays: it is shown whichever alternative is."""
    message.after_id = None
    message.save(update_fields=["after"])


@transaction.atomic
def stop_reply(conversation: Conversation, by: Actor) -> Turn | None:
    """End the chat lane's turn that is running, waiting or held; queued messages stay unsent."""
    lock_conversation(conversation.pk)
    turns = open_turns(conversation, Lane.CHAT)
    live = next((turn for turn in turns if turn.state != TurnState.QUEUED), None)
    held = next((turn for turn in turns if turn.checkpoint.get("try")), None)
    turn = live or held
    if turn is None:
        return None
    waiting = [each for each in turns if each.pk != turn.pk and each.state == TurnState.QUEUED]
    keep_unsent(conversation, waiting, "stopped")  # nothing starts by itself after a stop
    request_stop(turn, by)
    return turn


def keep_unsent(conversation: Conversation, queued: list[Turn], reason: str) -> None:
    """Queued messages after a stop go back to the composer: all of them, in the order they were
    sent in, and a notice says so. They are kept beside the draft, which pages go on saving without
    having seen them. `reason`: stopped, cancelled (the asking for a plan) or cleared."""
    sent = list(Message.objects.filter(turn__in=queued, role=Message.Role.USER).order_by("seq"))
    attachments.return_to_box(conversation, [file for each in sent for file in each.attachments])
    # Comments go back elsewhere, but for what was said besides.
    typed = [each.meta.get("more", each.text) for each in sent if each.meta.get("more") != ""]
    text = "\n\n".join(text for text in typed if text.strip())
    seq = max((drop_queued(turn, given_back=reason) for turn in queued), default=0)
    if typed:
        words = ngettext(
            "{messages} message was not sent: it is back in the message box.",
            "{messages} messages were not sent: they are back in the message box.",
            len(typed),
        ).format(messages=len(typed))
        meta: dict[str, object] = {"given_back": {"messages": len(typed), "reason": reason}}
        add_message(conversation, Message.Kind.NOTICE, words, meta=meta)
    if not text:
        return
    conversation.refresh_from_db(fields=["given_back"])
    conversation.given_back = [*conversation.given_back, GivenBack(seq=seq, text=text)]
    conversation.save(update_fields=["given_back"])


def drop_queued(turn: Turn, **data: str) -> int:
    """Answers with the number of the event."""
    conversation_id, pk = turn.conversation_id, turn.pk
    alternatives.drop(turn)
    return events.record(conversation_id, "turn.discarded", f"turn:{pk}", **data)


@transaction.atomic
def discard_queued(message: Message, by: Actor, *, keeps_files: bool = False) -> None:
    """Take back a message that has not gone out yet; its files go too, or into the message box."""
    lock_conversation(message.conversation_id)
    turn = message.turn
    if turn is None or not Turn.objects.filter(pk=turn.pk, state=TurnState.QUEUED).exists():
        raise Conflict(gettext("This message has already gone out."))
    files = message.attachments
    drop_queued(turn)
    if keeps_files:
        attachments.return_to_box(message.conversation, files)
    else:
        attachments.delete_unused(files)


@transaction.atomic
def retry_now(turn: Turn, by: Actor) -> None:
    """A turn held back until its next try goes at once."""
    lock_conversation(turn.conversation_id)
    rows = Turn.objects.filter(pk=turn.pk, state=TurnState.QUEUED)
    if not rows.update(not_before=None):
        raise Conflict(gettext("It is not waiting for another try."))
    events.record(turn.conversation, "turn.queued", f"turn:{turn.pk}", by)


@transaction.atomic
def retry_reply(conversation: Conversation, by: Actor, turn_id: int | None = None) -> Turn:
    """Take the last chat turn up again where it failed or was stopped.

    `turn_id` is the one that the person saw fail; another one is left alone.
    """
    lock_conversation(conversation.pk)
    turn = alternatives.chat_turns(conversation.pk).filter(hidden=False).order_by("pk").last()
    if turn is None or turn.state not in (TurnState.FAILED, TurnState.STOPPED):
        raise Conflict(gettext("There is no failed reply to retry."))
    if turn_id is not None and turn.pk != turn_id:
        raise Conflict(
            gettext("This is not the last reply any more: send the message again instead.")
        )
    persistence.resolve_error_cards(turn)
    turn.state, turn.stop_requested, turn.error, turn.error_class = TurnState.QUEUED, False, "", ""
    turn.finished_at = None
    turn.checkpoint.pop("try", None)
    turn.checkpoint.pop("nudge", None)
    turn.save()
    events.record(conversation, "turn.queued", f"turn:{turn.pk}", by)
    return turn


@transaction.atomic
def save_draft(conversation: Conversation, text: str, seen: int | None = None) -> bool:
    """What stands in the message box of a page that has `seen` the events up to this one.

    What stops have given back since is no part of it, and stays beside it. A draft that is older
    than what the stored one holds is refused.
    """
    lock_conversation(conversation.pk)
    row = Conversation.objects.only("seq", "draft", "draft_seq", "given_back").get(
        pk=conversation.pk
    )
    shown = row.seq if seen is None else seen
    if shown < row.draft_seq:
        return False
    held = [each["seq"] for each in row.given_back if each["seq"] <= shown]
    row.draft, row.draft_seq = text, max([row.draft_seq, *held])
    row.given_back = [each for each in row.given_back if each["seq"] > shown]
    row.save(update_fields=["draft", "draft_seq", "given_back"])
    return True


@transaction.atomic
def decide_call(
    call: ToolCall, decision: str, by: str, reason: str = "", against: str = ""
) -> ToolCall:
    """Answer an asked call: allow_once, always or deny. The same answer twice is harmless.
    A yes counts for the file as it was shown, which `against` stands for."""
    if decision not in ("allow_once", "always", "deny"):
        raise Invalid(gettext("The decision is allow_once, always or deny."))
    lock_conversation(call.turn.conversation_id)
    rows = ToolCall.objects.select_for_update(no_key=True, of=("self",))
    call = rows.select_related("turn__conversation").get(pk=call.pk)
    if call.decision == decision:
        return call
    if call.state != ToolCall.State.ASKED or call.decision:
        raise Conflict(gettext("{tool} was decided already.").format(tool=call.tool))
    if decision != "deny":
        demand_same_file(call, against)
    if decision == "always":  # exactly this call goes into the agent's file; it can be taken back
        allow_always(call, by)
    call.decision, call.reason, call.decided_by = decision, reason, by
    call.save(update_fields=["decision", "reason", "decided_by"])
    show_call_again(call, "tool.decided")
    requeue(call.turn)
    return call


def allow_always(call: ToolCall, by: str) -> None:
    """The rule names the tool as it was asked about; one about an earlier tool gives way to it."""
    agent = read_agent(call.turn.conversation.agent_id)
    others: list[JsonValue] = [
        each.model_dump(mode="json", exclude_unset=True)
        for each in agent.file.always_allow
        if not is_exactly(each, call.tool, call.arguments)
    ]
    rule: dict[str, JsonValue] = {"tool": call.tool, "arguments": call.arguments}
    if call.asked_as:
        rule["identity"] = call.asked_as
    rule |= {"by": by, "at": timestamp(timezone.now())}
    change_agent(agent.id, {"always_allow": [*others, rule]})
