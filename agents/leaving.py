"""An agent or a person leaves: what is at work for them stops, or is in the way."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db.models import QuerySet

from agents.config.ownership import disown
from agents.config.store import delete_agent as delete_file
from agents.config.store import read_agent
from agents.engine.lifecycle import request_stop
from agents.errors import Conflict
from agents.models import Turn
from agents.sentences import commas
from agents.stored_text import gettext, ngettext

MOST_NAMED = 3  # conversations in one sentence


def delete_agent(agent_id: str, by: User) -> None:
    """Its folder goes to the trash, its conversations stay. Refused while it is at work.

    Only the person's own conversations are named.
    """
    name = read_agent(agent_id).file.name
    open_now = Turn.objects.filter(state__in=Turn.OPEN_STATES)
    if at_work := open_now.filter(conversation__agent_id=agent_id):
        raise Conflict(
            gettext("{name} is at work on {at_work}: stop that first.").format(
                name=name, at_work=named(at_work, by)
            )
        )
    delete_file(agent_id)
    disown(agent_id)


def named(turns: QuerySet[Turn], by: User) -> str:
    """“Tidy up”, “Weekly numbers” and 2 more."""
    own = turns.filter(conversation__owner=by).order_by("pk")
    titles = list(own.values_list("conversation__title", flat=True))
    titled = list(dict.fromkeys(title or gettext("New chat") for title in titles))[:MOST_NAMED]
    more = turns.values("conversation").distinct().count() - len(titled)
    quoted = commas([f"“{title}”" for title in titled])
    if not quoted:
        return ngettext("something for another person", "{n} conversations", more).format(n=more)
    if more <= 0:
        return quoted
    return ngettext("{titles} and {n} more", "{titles} and {n} more", more).format(
        titles=quoted, n=more
    )


def stop_work_of(user: User) -> int:
    """Nothing goes on for a person who may not come back to see it; gives the number of turns."""
    turns = Turn.objects.filter(conversation__owner=user, state__in=Turn.OPEN_STATES).order_by("pk")
    for turn in turns:
        request_stop(turn, "")
    return len(turns)
