"""The text of notices, stored as codes with arguments and put into words when they are read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.utils.translation import gettext_lazy, ngettext_lazy

from agents.sentences import sentences

GIVEN_BACK = "message.given_back"
SENTENCES: dict[str, Any] = {  # lazy texts, of which Django's stubs know no methods
    "undone.plan": gettext_lazy("You undid the changes of the plan “{title}”."),
    "undone.subtask": gettext_lazy("You undid the changes of subtask {number}."),
    "undone.reply": gettext_lazy("You undid the changes of a reply."),
    "undone.undo": gettext_lazy("You undid an undo."),
    "undo.restored": ngettext_lazy("{n} file restored.", "{n} files restored.", "n"),
    "undo.removed": ngettext_lazy("{n} file removed.", "{n} files removed.", "n"),
    "undo.changed": ngettext_lazy(
        "{n} file stayed: it was changed meanwhile.",
        "{n} files stayed: they were changed meanwhile.",
        "n",
    ),
    "undo.unsure": ngettext_lazy(
        "{n} file stayed: others may have written it.",
        "{n} files stayed: others may have written them.",
        "n",
    ),
    "undo.full": ngettext_lazy(
        "{n} file stayed: the disk is full.", "{n} files stayed: the disk is full.", "n"
    ),
    "undo.forbidden": ngettext_lazy(
        "{n} file stayed: writing it is not permitted.",
        "{n} files stayed: writing them is not permitted.",
        "n",
    ),
    "undo.not_kept": ngettext_lazy(
        "{n} file stayed: what it was is not kept any more.",
        "{n} files stayed: what they were is not kept any more.",
        "n",
    ),
    "undo.blocked": ngettext_lazy(
        "{n} file stayed: something else stands in its place.",
        "{n} files stayed: something else stands in their place.",
        "n",
    ),
    "undo.failed": ngettext_lazy(
        "{n} file stayed: the disk failed.", "{n} files stayed: the disk failed.", "n"
    ),
    "undo.cut_off": gettext_lazy(
        "It was cut off, and what was left to do is lost: look through the files."
    ),
    "plan.asked_anew": gettext_lazy(
        "“{goal}” is not planned any more: another plan was asked for."
    ),
    "comments.back": ngettext_lazy(
        "No new version came of your comment. It stands at its subtask again.",
        "No new version came of your {n} comments. They stand at their subtasks again.",
        "n",
    ),
    GIVEN_BACK: ngettext_lazy(
        "{messages} message was not sent: it is back in the message box.",
        "{messages} messages were not sent: they are back in the message box.",
        "messages",
    ),
    "as_written": "{text}",  # by a version that stored the words
}

Sentence = dict[str, object]  # "code" and the arguments


def sentence(code: str, **arguments: object) -> Sentence:
    return {"code": code, **arguments}


def text_of(said: Iterable[Sentence]) -> str:
    """In the reader's language. Raises KeyError for a code of another version."""
    return sentences(*(SENTENCES[str(each["code"])].format(**each) for each in said))
