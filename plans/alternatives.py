"""What is not edited or asked for again: words that an approved plan came out of, or that no reply
answers. Buttons are drawn by this, and what was pressed all the same is refused by it."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q, QuerySet

from agents.engine.alternatives import chat_turns
from agents.models import Lane, Message
from agents.statements import prepared
from agents.stored_text import gettext_lazy
from plans.models import Plan

NO_REPLY = gettext_lazy("No reply answers this message: it stays as it is.")
COMMENTED = gettext_lazy("Comments on a plan are not edited: comment on the plan again.")
REPLANNED = gettext_lazy("Press Replan in the plan to ask for this again.")


@dataclass(frozen=True)
class Fixed:
    """Up to this chat turn nothing is edited or asked for again, because of the plan of this title;
    0 where no plan was approved."""

    turn: int = 0
    title: str = ""


@prepared
def approved_plans(
    conversation: int,
) -> QuerySet[Plan, tuple[int, int | None, str, int | None, int | None]]:
    """With the turns that their cards stand in, or behind."""
    rows = Plan.objects.filter(conversation=conversation, approved_version__isnull=False)
    return rows.values_list("pk", "approved_version", "title", "card__turn", "card__after")


def fixed_in(conversation: int) -> Fixed:
    """The last turn in view in which a plan was made, or changed into what was approved."""
    plans = approved_plans.rows(conversation=conversation)
    if not plans:
        return Fixed()
    cards = [turn for *_, stands_in, behind in plans for turn in (stands_in, behind) if turn]
    shown = chat_turns(conversation).filter(hidden=False)
    turns = shown.filter(Q(pk__in=cards) | Q(checkpoint__has_key="versions")).order_by("-pk")
    for turn, checkpoint in turns.values_list("pk", "checkpoint"):
        for pk, approved, title, *card in plans:
            made = (checkpoint.get("versions") or {}).get(str(pk), [])
            if turn in card or any(version <= (approved or 0) for version in made):
                return Fixed(turn, title)
    return Fixed()


def why_it_stays(message: Message) -> str:
    """Why a person's message is never sent anew, whatever else is there; empty for one that may."""
    turn = message.turn
    if turn is None or turn.lane != Lane.CHAT:
        return str(NO_REPLY)
    return str(REPLANNED) if message.meta.get("command") == "replan" else ""


def why_not_edited(message: Message) -> str:
    """Why another text never takes its place; of comments the system has written the text, which
    is drawn as a card, from what was said of each subtask."""
    return why_it_stays(message) or (str(COMMENTED) if message.meta.get("commented") else "")
