"""Rows become the messages of the chat-completions API."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from json import dumps
from typing import Any, NamedTuple

from django.db.models import QuerySet

from agents.engine.handlers import Instruction, Offer
from agents.engine.images import images_in, with_files, with_images
from agents.llm.catalog import window_for
from agents.llm.images import IMAGE_TOKENS
from agents.llm.request import ChatMessage
from agents.models import Attachment, Lane, Message, ToolCall, Turn, attachments_of
from agents.statements import one_of, prepared
from agents.text.tokens import BYTES_PER_TOKEN, estimate_tokens

NO_RESULT = "Interrupted before it reported back. Its effect is unknown: look before you repeat it."
NOT_RUN = "Interrupted before it began: it was not run."
BROKE_OFF = "(My reply broke off here.)"
STEPS = 8  # in which the beginning of a long conversation is left out, of a window's size
NEVER_DROPPED = 95  # instructions of this priority and more
EARLIER_TURNS = 100  # that are read at once at most; 20 are enough for most windows


@prepared
def earlier_turns(conversation: int, before: int) -> QuerySet[Turn, tuple[int]]:
    """Of the shown path alone: a turn is begun on it, and it stays while the turn is open."""
    turns = Turn.objects.filter(
        conversation=conversation, lane=Lane.CHAT, hidden=False, pk__lt=before
    )
    return turns.order_by("-pk").values_list("pk")[:EARLIER_TURNS]


@prepared
def texts(turns: list[int]) -> QuerySet[Message, tuple[int, int, str, str, Any, Any, bool]]:
    """Turn by turn, in the order in which they were added."""
    rows = Message.objects.filter(one_of("turn_id", turns), kind=Message.Kind.TEXT)
    fields = ("pk", "seq", "role", "text", "meta", "wanted_back", "has_files")
    return rows.order_by("turn_id", "seq").values_list(*fields)


@prepared
def calls_of_messages(messages: list[int]) -> QuerySet[ToolCall]:
    return ToolCall.objects.filter(one_of("message_id", messages)).order_by("position")


def system_parts(turn: Turn, author: str, offer: Offer) -> list[Instruction]:
    """What the system message is made of: the chain's words, the agent's, and the moment's."""
    agent = str(turn.config.get("instructions") or "")
    return [Instruction(100, author), Instruction(95, agent), *offer.instructions]


def within_window(
    parts: list[Instruction],
    opening: list[ChatMessage],
    own: list[ChatMessage],
    reminder: list[ChatMessage],
    limit: int,
) -> list[ChatMessage]:
    """A request of at most `limit` tokens, as far as dropping allows.

    What goes first: the oldest earlier messages, then the oldest rounds of this turn, then
    instructions by priority. A call and its results go together; what was said last, the newest
    round and instructions of priority 95 and more stay.
    """
    *earlier, last = opening or [{}]
    rounds = rounds_of(own)
    fixed = sum(tokens(each) for each in ([last], reminder))
    room = limit - fixed - estimate_tokens(*(part.text for part in parts))
    newest, room = newest_that_fit(rounds, room, limit // STEPS, at_least=1)
    before, room = newest_that_fit(rounds_of(earlier), room, limit // STEPS)
    for part in sorted(parts, key=lambda part: part.priority):
        if room >= 0 or part.priority >= NEVER_DROPPED:
            break
        parts = [each for each in parts if each is not part]
        room += estimate_tokens(part.text)
    first = system_message([part for part in parts if not part.changes])
    moment = system_message([part for part in parts if part.changes])
    said = [*before, *moment, *([last] if last else []), *newest, *reminder]
    return [*first, *answered(said)]


def system_message(parts: list[Instruction]) -> list[ChatMessage]:
    texts = [part.text.strip() for part in parts if part.text.strip()]
    return [{"role": "system", "content": "\n\n".join(texts)}] if texts else []


def answered(messages: list[ChatMessage]) -> list[ChatMessage]:
    """With a word of the assistant behind results that it never got to see.

    A turn that failed or was stopped leaves them; Mistral refuses a person's words right behind.
    """
    whole: list[ChatMessage] = []
    for message in messages:
        if whole and whole[-1]["role"] == "tool" and message["role"] in ("user", "system"):
            whole.append({"role": "assistant", "content": BROKE_OFF})
        whole.append(message)
    return whole


def rounds_of(messages: list[ChatMessage]) -> list[list[ChatMessage]]:
    """Messages that only make sense together: calls with their results."""
    rounds: list[list[ChatMessage]] = []
    for message in messages:
        if rounds and message["role"] == "tool":
            rounds[-1].append(message)
        else:
            rounds.append([message])
    return rounds


def newest_that_fit(
    rounds: list[list[ChatMessage]], room: int, step: int, at_least: int = 0
) -> tuple[list[ChatMessage], int]:
    """Where not all fit, more is left out than needs be, in steps of so many tokens.

    So the beginning stays what it is for some requests, instead of moving on with each of them.
    """
    sizes = [tokens(each) for each in rounds]
    excess = sum(sizes) - room
    to_drop = -(-excess // max(1, step)) * max(1, step) if excess > 0 else 0
    first = 0
    while to_drop > 0 and first < len(rounds) - at_least:
        to_drop -= sizes[first]
        first += 1
    return [message for each in rounds[first:] for message in each], room - sum(sizes[first:])


def tokens(messages: list[ChatMessage]) -> int:
    """Estimated."""
    return estimate_tokens(*map(str, messages)) + IMAGE_TOKENS * len(images_in(messages))


def own_messages(turn: Turn, after: int = 0, until: int | None = None) -> list[ChatMessage]:
    """What the model said and did in this turn so far, or between two of its messages' ids."""
    return to_messages(
        reply
        for reply in replies_of(turn)
        if after < reply.pk and (until is None or reply.pk <= until)
    )


def last_reply_id(turn: Turn) -> int:
    """The id of the last message the model has finished in this turn; 0 without one."""
    return max((each.pk for each in replies_of(turn)), default=0)


def replies_of(turn: Turn) -> list[StoredMessage]:
    if turn.epoch <= 1 and not turn.checkpoint.get("steps"):
        return []  # its first step, for the first time
    return [
        each
        for each in messages_of([turn.pk])
        if each.role == "assistant" and not each.meta.get("unfinished")
    ]


def history(before: Turn) -> list[ChatMessage]:
    """The chat lane up to this turn, turn by turn as it is shown, from after the last /clear.

    Read from its end, and no further than a context window can hold.
    """
    earlier: list[StoredMessage] = []
    oldest, count, length, room = before.pk, 20, 0, 1
    while length < room:
        rows = earlier_turns.rows(conversation=before.conversation_id, before=oldest)
        turns = [pk for (pk,) in rows[:count]]
        if not turns:
            break
        read = messages_of(turns)
        visible = [each for each in read if each.seq > before.conversation.cleared_seq]
        length += sum(len(each.text) for each in visible)
        earlier = [*visible, *earlier]
        # There is no more, or it was said before the last /clear.
        if len(turns) < count or len(visible) < len(read):
            break
        oldest, count = turns[-1], EARLIER_TURNS
        room = window_for(before.config) * BYTES_PER_TOKEN
    return to_messages(earlier)


def opening_of_chat(turn: Turn) -> list[ChatMessage]:
    """Earlier turns, then the person's own text as the last user message."""
    asked = [each for each in messages_of([turn.pk]) if each.role == "user"]
    return [*history(turn), *to_messages(asked[-1:])]


class StoredMessage(NamedTuple):
    """What the wire needs of a message."""

    pk: int
    seq: int
    role: str
    text: str
    meta: dict[str, object]
    wanted_back: dict[str, object] | None
    has_files: bool


def messages_of(turns: list[int]) -> list[StoredMessage]:
    return [StoredMessage(*row) for row in texts.rows(turns=turns)]


def to_messages(messages: Iterable[StoredMessage]) -> list[ChatMessage]:
    """As the API wants them: every call has an answer, or servers refuse the request."""
    stored = list(messages)
    replies = [each.pk for each in stored if each.role == "assistant"]
    calls_of: dict[int, list[ToolCall]] = defaultdict(list)
    for call in calls_of_messages.models(messages=replies) if replies else ():
        calls_of[call.message_id].append(call)
    with_some = [each.pk for each in stored if each.has_files]
    files = attachments_of(with_some) if with_some else {}
    wire: list[ChatMessage] = []
    for message in stored:
        calls = calls_of.get(message.pk, []) if message.role == "assistant" else []
        sent = files.get(message.pk, [])
        wire += [*chat_messages(message, calls, sent), *map(result_of, calls)]
    return wire


def chat_messages(
    message: StoredMessage, calls: list[ToolCall], files: list[Attachment]
) -> list[ChatMessage]:
    """The message itself; nothing where there is nothing in it."""
    text = str(message.meta.get("wire", message.text))
    if message.role == "user":
        return [{"role": "user", "content": with_files(text, files)}]
    entry: ChatMessage = {"role": "assistant", "content": text or None}
    if calls:
        entry["tool_calls"] = [function_call(call) for call in calls]
    if message.wanted_back:
        entry["wanted_back"] = message.wanted_back
    return [entry] if text or calls else []


def function_call(call: ToolCall) -> dict[str, object]:
    arguments = dumps(call.arguments, ensure_ascii=False)
    function = {"name": call.tool, "arguments": arguments}
    return {"id": call.call_id, "type": "function", "function": function}


def result_of(call: ToolCall) -> ChatMessage:
    nothing = "(nothing)" if call.state == ToolCall.State.DONE else NO_RESULT
    content = with_images(
        call.result or nothing, [each["attachment"] for each in call.images or []]
    )
    return {"role": "tool", "tool_call_id": call.call_id, "content": content}
