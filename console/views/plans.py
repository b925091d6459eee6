"""What a person does to the plan in the drawer: each view is one verb of plans.actions."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from django.db import transaction
from django.http import Http404, HttpRequest
from django.template.loader import render_to_string

from agents.errors import Invalid
from agents.models import Conversation
from agents.turns.budget import NAMES
from console.answers import replace_text, verb
from console.views.conversations import person
from plans import actions
from plans.actions.budgets import why_over
from plans.models import ActivePlan, Plan, Subtask
from plans.rows import checklist
from plans.shapes import PlanEdit, SubtaskDraft


def active(conversation: Conversation) -> Plan:
    pointer = ActivePlan.objects.filter(conversation=conversation).select_related("plan").first()
    if pointer is None or pointer.plan is None:
        raise Http404
    return pointer.plan


def seen_version(request: HttpRequest) -> int | None:
    """The version the page shows; it comes with everything that depends on having read it."""
    text = request.POST.get("version", "")
    return int(text) if text.isdecimal() else None


@verb(alert="plan-alert")
def approve(request: HttpRequest, conversation: Conversation) -> None:
    """Start the version that is shown, with the text of open editors saved into it first."""
    by, version = person(request).username, seen_version(request) or 0
    plan = active(conversation)
    with transaction.atomic():
        actions.approve(plan, save_edits(request, plan, by, version), by)


def save_edits(request: HttpRequest, plan: Plan, by: str, version: int) -> int:
    """Each open editor is a change of its own; the first one names the version that was seen."""
    for key, draft in open_editors(request):
        if key:
            plan = actions.update_subtask(plan, key, draft.model_dump(), by, version)
        else:
            plan = actions.add_subtask(plan, draft, by, version)
        version = plan.version
    if "edit_title" in request.POST:
        version = actions.edit_plan(plan, edit_of(request, "edit_"), by, version).version
    return version


def open_editors(request: HttpRequest) -> Iterator[tuple[str, SubtaskDraft]]:
    names = ("edit_key", "edit_name", "edit_description", "edit_outcome")
    fields = [request.POST.getlist(name) for name in names]
    for key, name, description, outcome in zip(*fields, strict=False):
        draft = SubtaskDraft(name=name, description=description, expected_outcome=outcome)
        yield key, draft


def edit_of(request: HttpRequest, prefix: str = "") -> PlanEdit:
    return PlanEdit(
        title=request.POST.get(f"{prefix}title"),
        content=request.POST.get(f"{prefix}content"),
        expected_outcome=request.POST.get(f"{prefix}expected_outcome"),
    )


@verb(alert="plan-alert")
def cancel(request: HttpRequest, conversation: Conversation) -> None:
    actions.cancel_plan(active(conversation), person(request).username)


@verb(alert="say-alert")
def cancel_asking(request: HttpRequest, conversation: Conversation) -> None:
    actions.cancel_asking(conversation, person(request).username)


@verb(alert="plan-alert")
def pause(request: HttpRequest, conversation: Conversation) -> None:
    actions.pause_plan(active(conversation), person(request).username)


@verb(alert="plan-alert")
def resume(request: HttpRequest, conversation: Conversation) -> None:
    actions.resume_plan(active(conversation), person(request).username)


@verb(alert="plan-alert")
def stop(request: HttpRequest, conversation: Conversation) -> None:
    actions.stop_plan(active(conversation), person(request).username)


@verb(alert="plan-alert")
def again(request: HttpRequest, conversation: Conversation) -> None:
    """Go on with what failed or was stopped."""
    actions.run_plan(active(conversation), person(request).username)


@verb(alert="plan-alert")
def edit(request: HttpRequest, conversation: Conversation) -> None:
    by = person(request).username
    actions.edit_plan(active(conversation), edit_of(request), by, seen_version(request))


@verb(alert="plan-alert")
def add(request: HttpRequest, conversation: Conversation) -> None:
    by, after = person(request).username, request.POST.get("after") or None
    fields = draft_of(request)
    actions.add_subtask(active(conversation), fields, by, seen_version(request), after)


def draft_of(request: HttpRequest) -> SubtaskDraft:
    return SubtaskDraft(
        name=request.POST.get("name", ""),
        description=request.POST.get("description", ""),
        expected_outcome=request.POST.get("expected_outcome", ""),
    )


@verb(alert="plan-alert")
def update(request: HttpRequest, conversation: Conversation, key: str) -> None:
    changes: dict[str, object] = draft_of(request).model_dump()
    by = person(request).username
    actions.update_subtask(active(conversation), key, changes, by, seen_version(request))


@verb(alert="plan-alert")
def move(request: HttpRequest, conversation: Conversation, key: str) -> None:
    place = request.POST.get("to", "")
    if not place.isdecimal():
        raise Http404
    by = person(request).username
    actions.move_subtask(active(conversation), key, int(place), by, seen_version(request))


@verb(alert="plan-alert")
def remove(request: HttpRequest, conversation: Conversation, key: str) -> str:
    """Without asking first: the answer offers to put it back."""
    plan = active(conversation)
    gone = checklist(plan).filter(key=key).first()
    plan = actions.remove_subtask(plan, key, person(request).username, seen_version(request))
    return removed(conversation, plan, gone) if gone else ""


def removed(conversation: Conversation, plan: Plan, gone: Subtask) -> str:
    """The toast with Undo, which adds it again behind the subtask it stood behind."""
    place = (gone.position or 1) - 1
    before = checklist(plan).filter(position=place).values_list("key", flat=True).first()
    toast = {"conversation": conversation, "plan": plan, "gone": gone, "after": before or ""}
    html = render_to_string("plans/_removed.html", toast)
    return replace_text("toast", html)


@verb(alert="plan-alert")
def retry(request: HttpRequest, conversation: Conversation, key: str) -> None:
    actions.retry_subtask(active(conversation), key, person(request).username)


@verb(alert="skip-alert")
def skip(request: HttpRequest, conversation: Conversation, key: str) -> None:
    reason = request.POST.get("reason", "")
    actions.skip_subtask(active(conversation), key, person(request).username, reason)


@verb(alert="replan-alert")
def replan(request: HttpRequest, conversation: Conversation, key: str | None = None) -> None:
    """Plan the rest anew, from this subtask on or from the next one."""
    hint = request.POST.get("hint", "").strip()
    actions.replan(active(conversation), person(request).username, key, hint)


@verb(alert="budget-alert")
def raise_budget(request: HttpRequest, conversation: Conversation) -> None:
    """Raise the limits that halted the run, and go on; limits that still halt it are not kept."""
    limits: dict[str, object] = {
        name: number_of(text) for name in NAMES if (text := request.POST.get(name, ""))
    }
    with transaction.atomic():
        plan = actions.raise_budget(active(conversation), person(request).username, limits)
        if still := why_over(plan):
            raise Invalid(f"That is not enough: {still}.")


def number_of(text: str) -> float | str:
    """A number as it was typed; what is none goes on as it is, to be refused in words."""
    try:
        number = float(text)
    except ValueError:
        return text
    if not isfinite(number):
        return text
    return int(number) if number.is_integer() else number
