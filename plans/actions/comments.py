"""A person comments on subtasks before their yes; the comments go to the planner together.

None of this is a change of text or a yes: the version stays, and no executor reads a comment.
"""

from __future__ import annotations

from django.db.models import QuerySet

from agents.actions import add_message, start_turn
from agents.actors import Actor, name_of
from agents.errors import Conflict, Invalid
from agents.models import Message, Turn
from agents.stored_text import gettext, gettext_lazy, ngettext
from plans.actions.create import bind
from plans.actions.verb import verb
from plans.actions.versions import find_unstarted
from plans.comments import MOST_CHARACTERS, kept_comments, sent_with, takes_comments
from plans.expected_version import NOT_SENT
from plans.models import Plan, State, Subtask, SubtaskComment
from plans.queries import SYSTEM, checklist, record_event
from plans.schemas import CommentAnswer, plain

APPROVED = gettext_lazy("v{version} is approved: comments are for a plan that waits for its yes.")


def demand_commentable(plan: Plan) -> None:
    if not takes_comments(plan):
        raise Conflict(APPROVED.format(version=plan.version), plan.version)


@verb("keep_comment", open=True, no_child=True, also=demand_commentable)
def keep_comment(plan: Plan, key: str, text: str, by: Actor) -> Plan:
    """Beside a subtask that has not started, in place of what was said about it before."""
    subtask = find_unstarted(plan, key)
    text = plain(text)
    if not text:
        raise Invalid(gettext("Write the comment first."))
    if len(text) > MOST_CHARACTERS:
        raise Invalid(
            gettext("A comment has at most {most:,} characters; this one has {count:,}.").format(
                most=MOST_CHARACTERS, count=len(text)
            )
        )
    kept_on(subtask).delete()
    SubtaskComment.objects.create(subtask=subtask, text=text, author=name_of(by))
    record_event(plan, "plan.commented", by, subtask=key)
    return plan


@verb("remove_comment", open=True, no_child=True, also=demand_commentable)
def remove_comment(plan: Plan, key: str, by: Actor) -> Plan:
    """Nothing happens where there is none."""
    if kept_on(find_unstarted(plan, key)).delete()[0]:
        record_event(plan, "plan.commented", by, subtask=key)
    return plan


def kept_on(subtask: Subtask) -> QuerySet[SubtaskComment]:
    return SubtaskComment.objects.filter(subtask=subtask, message__isnull=True)


@verb(
    "send_comments",
    open=True,
    no_child=True,
    also=demand_commentable,
    active=True,
    version=NOT_SENT,
)
def send_comments(plan: Plan, by: Actor, version: int | None = None, more: str = "") -> Turn:
    """All that are kept go to the planner in one message, below what is said about the whole."""
    kept = kept_comments(plan)
    if not kept:
        raise Conflict(gettext("There are no comments to send."), plan.version)
    subtasks = list(checklist(plan).filter(pk__in=kept))
    text = letter(subtasks, kept, more)
    meta: dict[str, object] = {
        "comments": len(kept),
        "commented": [
            {"number": each.position, "name": each.name, "text": kept[each.pk]} for each in subtasks
        ],
        "more": more.strip(),
    }
    message, turn = start_turn(plan.conversation, text, by, "plan", meta=meta)
    turn.checkpoint = {**turn.checkpoint, "comments": True}
    bind(turn, plan.pk)
    SubtaskComment.objects.filter(subtask__in=subtasks, message__isnull=True).update(
        message=message
    )
    record_event(plan, "plan.comments_sent", by, count=len(kept))
    return turn


def bring_again(old: Message, message: Message, turn: Turn) -> None:
    """The same comments go out with another message, in the place of one: copies, as what came of
    the first reply stays. In the caller's transaction."""
    sent = list(SubtaskComment.objects.filter(message=old).select_related("subtask"))
    if not sent:
        return
    for comment in sent:
        subtask, author = comment.subtask, comment.author
        kept_on(subtask).filter(text=comment.text).delete()  # no reply had answered it
        SubtaskComment.objects.create(
            subtask=subtask, text=comment.text, author=author, message=message
        )
    drawn = {name: old.meta[name] for name in ("commented", "more") if name in old.meta}
    message.meta = {**message.meta, **drawn, "comments": len(sent)}
    message.save(update_fields=["meta"])
    turn.checkpoint = {**turn.checkpoint, "comments": True}
    turn.save(update_fields=["checkpoint"])


def letter(subtasks: list[Subtask], kept: dict[int, str], more: str = "") -> str:
    """Each comment below the number and name of its subtask."""
    parts = [more.strip()] if more.strip() else []
    head = ngettext("{n} comment on the plan:", "{n} comments on the plan:", len(subtasks))
    parts.append(head.format(n=len(subtasks)))
    parts += [f"> {each.position}. {each.name}\n{kept[each.pk]}" for each in subtasks]
    return "\n\n".join(parts)


def note_answers(plan: Plan, turn: Turn, answers: list[CommentAnswer]) -> None:
    """The version that the reply has made answers the comments of its message; what is said of
    each stands beside what has really changed."""
    said = {answer.key: answer.answer for answer in answers}
    for comment in sent_with(turn):
        if comment.subtask.plan_id != plan.pk:
            continue
        comment.answered_in = plan.version
        comment.answer = said.get(comment.subtask.key, comment.answer)
        comment.save(update_fields=["answered_in", "answer"])


def give_back_comments(turn: Turn) -> None:
    """A reply has ended without a new version: what was said stands at its subtasks again, and the
    conversation says so. What went out stays with its message, to be sent with that again."""
    if turn.is_open:
        return
    waiting = [each for each in sent_with(turn) if each.answered_in is None]
    count = sum(keep_again(comment) for comment in waiting)
    if not count:
        return
    words = ngettext(
        "No new version came of your comment. It stands at its subtask again.",
        "No new version came of your {n} comments. They stand at their subtasks again.",
        count,
    ).format(n=count)
    add_message(turn.conversation, Message.Kind.NOTICE, words, turn=turn)
    record_event(waiting[0].subtask.plan, "plan.commented", SYSTEM, count=count)


def keep_again(comment: SubtaskComment) -> bool:
    """Unless its subtask is gone or under way, or something else was said about it meanwhile."""
    subtask = comment.subtask
    is_there = subtask.position is not None and subtask.state == State.TODO
    if not is_there or not takes_comments(subtask.plan) or kept_on(subtask).exists():
        return False
    SubtaskComment.objects.create(subtask=subtask, text=comment.text, author=comment.author)
    return True


def move_kept(old: Subtask, new: Subtask) -> None:
    """A subtask that came back under a new key has the comments that went with it."""
    kept_on(old).update(subtask=new)
