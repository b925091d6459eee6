"""Comments on subtasks before the yes: those that are kept, and those that a planner was sent."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection

from django.db.models import QuerySet

from agents.errors import Conflict
from agents.models import Turn
from agents.statements import prepared
from agents.stored_text import gettext, ngettext
from plans.models import Plan, State, SubtaskComment

MOST_CHARACTERS = 4000


@prepared
def kept_of_plan(plan: int) -> QuerySet[SubtaskComment, tuple[int, str]]:
    """By subtask; two where one was taken back with its message and another one kept meanwhile."""
    rows = SubtaskComment.objects.filter(
        subtask__plan=plan,
        subtask__position__isnull=False,
        subtask__state=State.TODO,
        message__isnull=True,
    )
    return rows.order_by("pk").values_list("subtask_id", "text")


def takes_comments(plan: Plan) -> bool:
    """Whether its present version waits for a yes."""
    return plan.is_open and not plan.is_confirmed


def kept_comments(plan: Plan) -> dict[int, str]:
    """What is said about each subtask and has not gone out; nothing once the plan is approved."""
    texts: defaultdict[int, list[str]] = defaultdict(list)
    if takes_comments(plan):
        for subtask, text in kept_of_plan.rows(plan=plan.pk):
            texts[subtask].append(text)
    return {subtask: "\n\n".join(each) for subtask, each in texts.items()}


def digest_of(key: str, text: str) -> str:
    """Names one comment: which subtask it is on, and what it says."""
    return hashlib.sha256(f"{key}\n{text}".encode()).hexdigest()[:16]


def demand_none_unseen(plan: Plan, seen: Collection[str] | None) -> None:
    """Nobody starts without a comment that they have not seen, such as another tab's. `seen` has
    the digests of those that are left behind knowingly; None is any."""
    kept = kept_comments(plan) if seen is not None else {}
    keys = dict(plan.subtasks.filter(pk__in=kept).values_list("pk", "key"))
    if any(digest_of(keys[subtask], text) not in (seen or ()) for subtask, text in kept.items()):
        sentence = gettext(
            "The agent has not got {comments} on this plan. Ask for changes, or say that it starts "
            "without. Nothing was started."
        )
        raise Conflict(sentence.format(comments=count_words(len(kept))), plan.version)


def sent_with(turn: Turn) -> list[SubtaskComment]:
    """The comments that the turn's message brings."""
    if not turn.checkpoint.get("comments"):
        return []
    rows = SubtaskComment.objects.filter(message__turn=turn).select_related(
        "subtask__plan__conversation"
    )
    return list(rows.order_by("pk"))


def answered_between(plan: Plan, old: int, new: int) -> dict[str, list[SubtaskComment]]:
    """By subtask: the comments that a version behind `old`, up to `new`, came out of."""
    rows = SubtaskComment.objects.filter(
        subtask__plan=plan, answered_in__gt=old, answered_in__lte=new
    )
    found: defaultdict[str, list[SubtaskComment]] = defaultdict(list)
    for comment in rows.select_related("subtask").order_by("pk"):
        found[comment.subtask.key].append(comment)
    return dict(found)


def count_words(count: int) -> str:
    """1 comment, 2 comments."""
    return ngettext("{n} comment", "{n} comments", count).format(n=count)
