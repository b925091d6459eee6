"""Which buttons stand on the card of a plan that has ended."""

from __future__ import annotations

from dataclasses import replace

from django.urls import reverse
from django.utils.translation import gettext_lazy

from agents.models import Message
from console.changes.changed_files import address_of
from console.endings import Ending
from console.plan_buttons import PlanButton, PlanButtons
from console.visible_text import visible_plain
from plans.snapshot import PlanSnapshot

RETRY = PlanButton(
    "closing-retry",
    gettext_lazy("Retry"),
    "retry",
    posts_once=True,
    name=gettext_lazy("Retry: {title}"),
)
AGAIN = PlanButton(
    "closing-again",
    gettext_lazy("Start again"),
    "retry",
    "go",
    posts_once=True,
    name=gettext_lazy("Start again: {title}"),
)
CHANGES = PlanButton(
    "closing-changes",
    gettext_lazy("View changes"),
    "diff",
    name=gettext_lazy("View changes: {title}"),
)
TIMELINE = PlanButton(
    "closing-timeline",
    gettext_lazy("View timeline"),
    "runs",
    name=gettext_lazy("View timeline: {title}"),
)
USE_AGAIN = PlanButton(
    "closing-use-again",
    gettext_lazy("Use as a new plan"),
    "copy",
    "quiet",
    posts_once=True,
    name=gettext_lazy("Use as a new plan: {title}"),
)
UNDO = PlanButton(
    "closing-undo",
    gettext_lazy("Undo changes"),
    "undo",
    "quiet",
    name=gettext_lazy("Undo changes: {title}"),
)


def closing_buttons(
    message: Message,
    plan: PlanSnapshot,
    end: Ending,
    *,
    is_shown: bool,
    is_cleared: bool,
) -> PlanButtons:
    """`is_shown` says that the drawer has this plan, which may go on then. Of what was cleared away
    only the timeline is left."""
    talk = message.conversation_id
    title = visible_plain(plan.title)

    def button(each: PlanButton, *, to: str) -> PlanButton:
        id, name = f"{each.id}-{message.pk}", str(each.name).format(title=title)
        leads = not each.posts_once
        return replace(
            each, id=id, name=name, posts_to="" if leads else to, leads_to=to if leads else ""
        )

    timeline = button(TIMELINE, to=reverse("plan", args=[plan.id]))
    if is_cleared:
        return PlanButtons(steering=(timeline,))
    goes_on, undo = [], None
    if is_shown and end.retry:
        goes_on = [button(RETRY, to=reverse("subtask-retry", args=[talk, end.retry]))]
    elif is_shown and end.starts_again:
        goes_on = [button(AGAIN, to=reverse("plan-again", args=[talk]))]
    if plan.changes and plan.changes.is_left:
        changed = address_of(talk, plan=plan.id)
        goes_on.append(button(CHANGES, to=changed))
        undo = button(UNDO, to=f"{changed}&undo")
    use_again = button(USE_AGAIN, to=reverse("plan-use-again", args=[talk, plan.id]))
    return PlanButtons(steering=(*goes_on, timeline, use_again), ending=undo)
