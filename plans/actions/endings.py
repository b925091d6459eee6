"""What the conversation says where a run ends before its plan does: stopped by a person, or failed.

The message stays; once the plan goes on it is history (`over` in its meta). The plan's run_options
name it for as long as it tells how the plan stands, so that it is drawn anew with the plan.
"""

from __future__ import annotations

from agents.actions import add_message
from agents.actors import PERSON
from agents.models import Event, Message
from agents.stored_text import gettext
from plans.models import Attempt, Plan, State, Subtask
from plans.queries import checklist

STOPPED, FAILED = "stopped", "failed"


def tell_end(plan: Plan, ended: str) -> None:
    """Once for each end; an agent that works for another one tells nobody."""
    if plan.conversation.parent_call_id is not None:
        return
    rows = list(checklist(plan))
    row = next((each for each in rows if each.state == State.TODO), None)
    meta: dict[str, object] = {"closing": plan.pk, "ended": ended, "total": len(rows)}
    if row is not None:
        meta |= {"number": rows.index(row) + 1, "subtask": row.key, "name": row.name}
    by = stopped_by(plan) if ended == STOPPED else ""
    error = error_of(row) if ended == FAILED and row else ""
    text = words_of(meta, by, error)
    message = add_message(
        plan.conversation, Message.Kind.NOTICE, text, meta=meta | {"by": by}, stays=True
    )
    plan.run_options = {**plan.run_options, "ended": message.pk}
    plan.save(update_fields=["run_options"])


def words_of(meta: dict[str, object], by: str, error: str) -> str:
    """For readers that draw no card."""
    if meta["ended"] == STOPPED:
        return stop_words("number" in meta, by).format(**meta | {"by": by})
    if "number" not in meta:
        return gettext("Failed: {error}").format(error=error) if error else gettext("Failed.")
    sentence = gettext("Failed at subtask {number} of {total}, {name}.")
    if error:
        sentence = gettext("Failed at subtask {number} of {total}, {name}: {error}")
    return sentence.format(**meta | {"error": error})


def stop_words(at_subtask: bool, by: str) -> str:
    if at_subtask and by:
        return gettext("Stopped by {by} at subtask {number} of {total}.")
    if at_subtask:
        return gettext("Stopped at subtask {number} of {total}.")
    return gettext("Stopped by {by}.") if by else gettext("Stopped.")


def stopped_by(plan: Plan) -> str:
    """The person who asked for it; empty where nobody did."""
    asked = Event.objects.filter(subject=f"plan:{plan.pk}", conversation=plan.conversation_id)
    last = asked.filter(type__in=("run.stopping", "run.stopped")).order_by("-seq").first()
    return last.actor if last is not None and last.actor_kind == PERSON else ""


def error_of(subtask: Subtask) -> str:
    last = Attempt.objects.filter(subtask=subtask).order_by("number").last()
    return last.error if last else ""


def goes_on(ended: object, seq: int) -> None:
    """What was said of its last end is history from this event on."""
    message = Message.objects.filter(pk=ended).first() if isinstance(ended, int) else None
    if message is not None:
        message.meta, message.changed_seq = {**message.meta, "over": True}, seq
        message.save(update_fields=["meta", "changed_seq"])
