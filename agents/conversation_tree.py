"""The tree of conversations: below a person's own, those of the agents that were called in it."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Q, QuerySet

from agents.models import Conversation, Turn


def tree(conversation: int) -> QuerySet[Conversation]:
    """A person's conversation, and those of all agents that work for it."""
    return Conversation.objects.filter(Q(pk=conversation) | Q(root=conversation))


def ancestors(conversation: Conversation) -> list[Turn]:
    """The turns that wait for this conversation, the nearest first; the last is a person's."""
    if conversation.depth == 0:
        return []
    above = ["parent_call__turn__conversation"] * conversation.depth
    here = Conversation.objects.select_related("__".join(above)).get(pk=conversation.pk)
    turns: list[Turn] = []
    while here.parent_call is not None:
        turns.append(here.parent_call.turn)
        here = turns[-1].conversation
    return turns


def descendants(turns: Iterable[Turn], among: QuerySet[Turn]) -> list[Turn]:
    """Those `among` the turns of agents that work for these turns, callers before the called.

    What stands in between has to be among them too.
    """
    found, known = list[Turn](), {turn.pk: turn for turn in turns}
    if not known:
        return []
    tops = {turn.conversation.top for turn in known.values()}
    later = among.filter(conversation__root__in=tops, pk__gt=min(known))  # the called come after
    below = later.select_related("conversation__parent_call")
    for turn in below.order_by("conversation__depth", "pk"):
        call = turn.conversation.parent_call
        if call is not None and call.turn_id in known:
            known[turn.pk] = turn
            found.append(turn)
    return found
