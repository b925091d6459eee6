"""Everything on the screen that can change, as `<hx-partial>` pieces.

One function, `changes`, serves the socket, the polls and the answers to forms. Each piece carries
the number of the event it was read at (`data-seq`), so a browser never goes back; the page itself
is made of the same templates.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from django.db.models import Q, QuerySet
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from agents.events import MOST_READ, read_after
from agents.models import Message, Recording, Undo
from agents.statements import prepared
from console.attachments import files_of
from console.call_progress import running_calls
from console.components import append, partial, remove, replace
from console.conversation_state import ConversationState, read_state
from console.language import agent_name
from console.markdown import block, is_long
from console.sidebar import Row
from console.thread import (
    MESSAGES_PER_PAGE,
    TurnGroup,
    fold_some,
    group_id,
    groups_around,
    groups_of,
    is_within_reach,
    last_groups,
    read_messages,
    with_alternatives,
)
from plans.models import Attempt, Plan
from plans.snapshot import PlanSnapshot
from plans.snapshot_reading import plan_snapshots

# Element id and template of what sums up the present state.
STATE = {
    "plan": "plans/_drawer.html",
    "drawer-toggle": "plans/_drawer_toggle.html",
    "dock": "plans/_dock.html",
    "status": "conversation/_status.html",
    "alarm": "conversation/_alarm.html",
    "agent-note": "conversation/_agent_note.html",
    "attachments": "conversation/_attachments.html",
    "actions": "conversation/_actions.html",
    "heading": "conversation/_heading.html",
    "menu-list": "conversation/_menu_list.html",
    "cursor": "conversation/_cursor.html",
}
DRAWER = ("plan", "drawer-toggle")
MOST_TOUCHED = 200  # turns that are drawn again after an undo
NEAR_END = 30  # turns: of a plan that is over each is a line, and as many may be in view
# What messages of these kinds say follows from what their turn does.
BY_THEIR_TURN = (Message.Kind.APPROVAL, Message.Kind.QUESTION, Message.Kind.ERROR)
AT_A_GLANCE = (*DRAWER, "dock", "status", "alarm")


def messages_between(conversation: int, after: int, until: int) -> QuerySet[Message]:
    rows = Message.objects.filter(conversation=conversation, hidden=False)
    return rows.filter(seq__gt=after, seq__lte=until)


@prepared
def seen_messages(conversation: int, after: int, until: int) -> QuerySet[Message, tuple[int]]:
    return messages_between(conversation, after, until).values_list("pk")[:1]


@prepared
def changed_messages(
    conversation: int, after: int, until: int, changed_after: int, growing: bool
) -> QuerySet[Message, tuple[int, int | None]]:
    """The messages and their turns; those still being written too, if `growing`."""
    is_growing = Q(streaming=True) & Q(streaming=growing)
    rows = messages_between(conversation, after, until)
    rows = rows.filter(Q(changed_seq__gt=changed_after) | is_growing)
    return rows.order_by("seq").values_list("pk", "turn_id")[: MESSAGES_PER_PAGE + 1]


def changes(conversation_id: int, after: int, *, growing: bool = False) -> tuple[int, str]:
    """What is new since an event's number, and the number it is true at.

    Text that is being written has no events; a poll, which has no stream, asks for it (`growing`).
    """
    now = read_state(conversation_id)
    pieces = [*thread_pieces(now, after, growing), *state_pieces(now, STATE), row_piece(now)]
    if growing:
        pieces += [progress(*told) for told in running_calls(conversation_id).items()]
    return now.seq, "".join(pieces)


def plan_first(conversation_id: int) -> tuple[ConversationState, str]:
    """What a change of a plan shows at a glance; `the_rest` follows."""
    now = read_state(conversation_id)
    return now, "".join(state_pieces(now, AT_A_GLANCE))


def the_rest(now: ConversationState, after: int) -> str:
    """With the cursor, which says that the page has everything up to there."""
    others = [name for name in STATE if name not in AT_A_GLANCE]
    return "".join([*thread_pieces(now, after), *state_pieces(now, others), row_piece(now)])


def drawer(conversation_id: int) -> str:
    """The drawer and its button alone, for the poll that runs while it is open."""
    return "".join(state_pieces(read_state(conversation_id), DRAWER))


def state_pieces(now: ConversationState, names: Iterable[str]) -> list[str]:
    return [replace(name, show(STATE[name], now)) for name in names]


def row_piece(now: ConversationState) -> str:
    """The sidebar's row of this conversation."""
    c, (shape, word) = now.conversation, now.row_mark
    row = Row(c.pk, c.title, c.seq, c.updated_at, c.agent_id, shape, word, is_current=True)
    return replace(
        f"conversation-{c.pk}", show("conversation/_row.html", now, row=row, current=True)
    )


def thread_pieces(now: ConversationState, after: int, growing: bool = False) -> Iterator[str]:
    """New messages are appended, changed ones replaced; all is after a clearing, and where another
    alternative is shown."""
    c = now.conversation
    changed = dict(
        changed_messages.rows(
            conversation=c.pk,
            after=c.cleared_seq,
            until=now.seq,
            changed_after=after,
            growing=growing,
        )
    )
    has_some = after > c.cleared_seq and seen_messages.rows(
        conversation=c.pk, after=c.cleared_seq, until=after
    )
    is_much = len(changed) > MESSAGES_PER_PAGE or now.seq - after > MOST_READ
    if not has_some or is_much or after < c.branched_seq:
        if after < c.cleared_seq:
            yield remove("cleared")  # it ends with an earlier /clear
        yield replace("thread", thread(now))
        return
    touched = touched_turns(now, after)
    touched.turns.update(turn for turn in changed.values() if turn)
    wanted = Q(pk__in=changed) | Q(turn__in=touched.turns) | Q(kind=Message.Kind.PLAN)
    if touched.files:
        wanted |= Q(meta__has_key="closing")
    rows = list(read_messages(c).filter(wanted))
    yield from group_pieces(now, rows, changed.keys(), touched, after)


@dataclass
class Touched:
    """Turns whose head or foot may read differently now, the keys of subtasks at which an attempt
    has failed since, and whether other files are known to have changed by now."""

    turns: set[int]
    failed: set[str] = field(default_factory=set)
    files: bool = False


def touched_turns(now: ConversationState, after: int) -> Touched:
    touched = Touched({turn.pk for turn in now.open_turns})
    keys = set()
    for event in read_after(now.conversation.pk, after):
        kind, _, pk = event.subject.partition(":")
        touched.files |= event.type in ("files.undone", "turn.recorded")
        if kind == "turn":
            touched.turns.add(int(pk))
        elif kind == "undo":
            touched.turns.update(turns_of_undo(int(pk)))
        elif kind == "plan" and event.data.get("subtask"):  # settled or changed by hand
            keys.add(key := str(event.data["subtask"]))
            if event.data.get("error"):
                touched.failed.add(key)
    if keys and now.plan is not None:
        attempts = Attempt.objects.filter(subtask__plan=now.plan.id, subtask__key__in=keys)
        touched.turns.update(attempts.values_list("turn", flat=True))
    return touched


def turns_of_undo(pk: int) -> set[int]:
    """Of how many changes are left may read differently after it: the newest that changed files in
    its folder, since others than its own may have changed the same files."""
    row = Undo.objects.filter(pk=pk).first()
    if row is None:
        return set()
    rows = Recording.objects.filter(turn__conversation=row.conversation_id, root=row.root)
    newest = rows.filter(files__gt=0).order_by("-turn").values_list("turn", flat=True)
    return set(newest[:MOST_TOUCHED])


def group_pieces(
    now: ConversationState,
    rows: list[Message],
    changed: Collection[int],
    touched: Touched,
    after: int,
) -> Iterator[str]:
    """A group that began since is appended whole; of another one what is new or reads otherwise."""
    found = groups_of(row for row in rows if row.turn_id in touched.turns)
    groups = {group.id: group for group in with_alternatives(now.conversation, found)}
    folds = fold_some(now.conversation.pk, groups.values())
    folded = {each.id for group in folds for each in group.before}
    thread = Thread(now)
    yield from fold_pieces(now, thread, folds, touched, after)
    appended: set[str] = set()
    for message in rows:
        if message.pk not in changed and not depends_on_others(message, now, touched):
            continue
        group = groups.get(group_id(message)) or groups_of([message])[0]
        if group.id in appended or (group.id in folded and group.first_seq > after):
            continue
        if group.first_seq > after:
            appended.add(group.id)
            yield append("thread", thread.group(group))
        elif message.seq > after:
            yield append(f"{group.id}-body", thread.message(message))
        else:
            yield replace(f"message-{message.pk}", thread.message(message))
    for group in groups.values():
        if group.id not in appended:  # the head of a subtask's group, or the foot of a reply
            name = "head" if group.subtask else "foot"
            html = show(f"conversation/_{name}.html", now, group=group)
            yield replace(f"{group.id}-{name}", html)
    for gone in {f"turn-{pk}" for pk in touched.turns} - groups.keys():
        yield remove(gone)


def fold_pieces(
    now: ConversationState, thread: Thread, folds: list[TurnGroup], touched: Touched, after: int
) -> Iterator[str]:
    """Where an attempt has failed like those before it, these move into its group."""
    for group in folds:
        if group.subtask is None or group.subtask.key not in touched.failed:
            continue
        for each in group.before:
            if each.first_seq <= after:
                yield remove(each.id)
        if group.first_seq <= after:
            yield replace(f"{group.id}-before", thread.attempts_before(group))


def depends_on_others(message: Message, now: ConversationState, touched: Touched) -> bool:
    """Cards show the plan, what a person sent whether it waits, an approval what was decided, a
    question whether it is open, an error when it is tried again, the card of an end which files
    were changed."""
    if touched.files and message.meta.get("closing"):
        return True
    if message.kind == Message.Kind.PLAN:
        return now.plan is not None and message.meta.get("plan") == now.plan.id
    return message.turn_id in touched.turns and (
        message.role == "user" or message.kind in BY_THEIR_TURN
    )


@dataclass
class Thread:
    """Renders groups and messages; plans are read once each.

    What was `cleared` can be read only: it offers nothing to act on, and nothing replaces it.
    """

    now: ConversationState
    cleared: bool = False

    def __post_init__(self) -> None:
        self.plans: dict[int, PlanSnapshot | None] = {}
        if self.now.plan:
            self.plans[self.now.plan.id] = self.now.plan

    def group(self, group: TurnGroup) -> SafeString:
        if self.cleared:
            group.id = f"cleared-{group.id}"
        parts = {
            "messages": [self.message(each) for each in group.messages],
            "before": self.attempts_before(group) if group.subtask else "",
        }
        template = "conversation/_turn_group.html"
        return show(template, self.now, group=group, cleared=self.cleared, **parts)

    def attempts_before(self, group: TurnGroup) -> SafeString:
        """Those that failed like it, folded away."""
        attempts = [self.group(each) for each in group.before]
        return show("conversation/_attempts_before.html", self.now, group=group, attempts=attempts)

    def message(self, message: Message) -> SafeString:
        extra: dict[str, object] = {"message": message, "cleared": self.cleared}
        if message.has_files:
            extra["files"] = files_of(self.now.conversation, message.attachments)
        if plan := message.meta.get("closing") or message.meta.get("plan"):
            extra["card"] = self.plan(int(plan))
        if message.turn_id in self.now.waiting_turns and not self.cleared:
            extra["waiting"] = True
        if message.kind == Message.Kind.QUESTION:
            asker = message.meta.get("agent")  # one that works for the conversation's own
            extra["asker"] = agent_name(asker) if asker else self.now.agent_name
            call = 0 if self.cleared else self.now.open_questions.get(message.pk, 0)
            extra |= {"asks": call, "answer_id": f"question-{message.pk}"}
            extra["plan_title"] = self.now.asking_title(message.turn_id) if call else ""
        return show("conversation/_message.html", self.now, **extra)

    def plan(self, pk: int) -> PlanSnapshot | None:
        if pk not in self.plans:
            rows = Plan.objects.filter(pk=pk, conversation=self.now.conversation)
            self.plans[pk] = next(iter(plan_snapshots(rows)), None)
        return self.plans[pk]


def thread(now: ConversationState, found: Message | None = None) -> SafeString:
    """The newest part of the whole conversation, from what was found on if that is near enough."""
    near = found if found and is_within_reach(now.conversation, found) else None
    groups, before = last_groups(now.conversation, since=near.seq if near else None)
    mark_far(groups[:-NEAR_END])
    thread = Thread(now)
    parts = [thread.group(group) for group in groups]
    return show("conversation/_thread.html", now, groups=parts, before=before)


def mark_far(groups: Iterable[TurnGroup]) -> None:
    for group in groups:
        group.is_far = True


def cleared(now: ConversationState) -> SafeString:
    """The newest part of what was said before the last /clear."""
    groups, before = last_groups(now.conversation, cleared=True)
    thread = Thread(now, cleared=True)
    parts = [thread.group(group) for group in groups]
    return show("conversation/_cleared.html", now, groups=parts, before=before, cleared=True)


def excerpt(now: ConversationState, found: Message, words: str = "") -> SafeString | str:
    """What stands around a message that the thread does not show; nothing if it does.

    `words` are those it was found by.
    """
    if is_within_reach(now.conversation, found):
        return ""
    thread = Thread(now, cleared=True)
    parts = [thread.group(group) for group in groups_around(now.conversation, found)]
    is_cleared = found.seq <= now.conversation.cleared_seq
    context = {"groups": parts, "message": found, "is_cleared": is_cleared, "words": words}
    return show("conversation/_excerpt.html", now, **context)


def earlier(now: ConversationState, before: int, *, cleared: bool = False) -> str:
    """The part before that, put where the button was."""
    groups, rest = last_groups(now.conversation, before, cleared=cleared)
    mark_far(groups)
    thread = Thread(now, cleared)
    button = show("conversation/_earlier.html", now, before=rest, cleared=cleared)
    html = "".join([button, *(thread.group(group) for group in groups)])
    return partial("earlier-cleared" if cleared else "earlier", "outerHTML", mark_safe(html))


def turn_of(now: ConversationState, message: int) -> str:
    """The whole group that a message stands in; nothing if it is not in view."""
    turn = Message.objects.filter(pk=message, turn__isnull=False).values("turn")
    rows = read_messages(now.conversation)
    groups = groups_of(rows.filter(Q(pk=message) | Q(turn__in=turn)))
    return "".join(append("thread", Thread(now).group(group)) for group in groups)


def streamed(message_id: int, blocks: Sequence[tuple[int, str]]) -> str:
    """Blocks of a growing message; the browser replaces those it has and adds the others.

    The last one is still open: once it is long it is not parsed anew with each word.
    """
    last = len(blocks) - 1
    return "".join(
        append(
            f"message-{message_id}-body",
            block(message_id, i, text, as_it_is=place == last and is_long(text)),
        )
        for place, (i, text) in enumerate(blocks)
    )


def progress(call: int, words: str) -> str:
    """How far a call is, in its row and in the drawer's activity line."""
    context = {"call": {"pk": call}, "words": words}
    row = render_to_string("conversation/messages/_progress.html", context)
    line = render_to_string("plans/_activity_progress.html", {"call": call, "words": words})
    return replace(f"progress-{call}", row) + replace(f"activity-progress-{call}", line)


def show(template: str, now: ConversationState, **extra: object) -> SafeString:
    context: dict[str, object] = {"now": now, "conversation": now.conversation, "plan": now.plan}
    return mark_safe(render_to_string(template, context | extra).strip())
