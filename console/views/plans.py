"""What a person does to the plan in the drawer: each view is one verb of plans.actions."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from django.db import transaction
from django.http import Http404, HttpRequest
from django.template.loader import render_to_string

from agents.engine.budget import NAMES
from agents.errors import Invalid
from agents.models import Conversation
from console import plan_command
from console.expected_version import UNNAMED, number, plan_in_form, plan_on_page
from console.htmx import replace_text, verb
from console.views.conversations import person
from console.views.messages import keep_typed
from plans import actions
from plans.limits import why_over
from plans.models import Plan, Subtask
from plans.queries import checklist
from plans.schemas import PlanEdit, SubtaskDraft


@verb(alert="plan-alert")
def approve(request: HttpRequest, conversation: Conversation) -> None:
    """Start the version that is shown, with the text of open editors saved into it first."""
    by = person(request).username
    with transaction.atomic():
        plan, version = plan_on_page(request, conversation)
        actions.approve_plan(plan, save_edits(request, plan, by, version), by)


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
    actions.cancel_plan(plan_in_form(request, conversation), person(request).username)


@verb(alert="beside-alert")
def beside(request: HttpRequest, conversation: Conversation) -> None:
    """Ask for another plan; the one that is shown stays open."""
    plan_command.ask_beside(conversation, request.POST.get("goal", ""), person(request).username)


@verb(alert="say-alert")
def cancel_asking(request: HttpRequest, conversation: Conversation) -> None:
    keep_typed(request, conversation)
    asking = number(request.POST.get("asking"))
    if asking is None:
        raise Invalid(UNNAMED)
    actions.cancel_request(conversation, person(request).username, asking)


@verb(alert="plan-alert")
def pause(request: HttpRequest, conversation: Conversation) -> None:
    actions.pause_plan(plan_in_form(request, conversation), person(request).username)


@verb(alert="plan-alert")
def resume(request: HttpRequest, conversation: Conversation) -> None:
    plan, version = plan_on_page(request, conversation)
    actions.resume_plan(plan, person(request).username, version)


@verb(alert="plan-alert")
def stop(request: HttpRequest, conversation: Conversation) -> None:
    actions.stop_plan(plan_in_form(request, conversation), person(request).username)


@verb(alert="plan-alert")
def again(request: HttpRequest, conversation: Conversation) -> None:
    """Go on with what failed or was stopped."""
    plan, version = plan_on_page(request, conversation)
    actions.run_plan(plan, person(request).username, version=version)


@verb(alert="plan-alert")
def edit(request: HttpRequest, conversation: Conversation) -> None:
    plan, version = plan_on_page(request, conversation)
    actions.edit_plan(plan, edit_of(request), person(request).username, version)


@verb(alert="plan-alert")
def add(request: HttpRequest, conversation: Conversation) -> None:
    """A new subtask, or the removed one that the toast `restores`."""
    by, after = person(request).username, request.POST.get("after") or None
    plan, version = plan_on_page(request, conversation)
    if restores := request.POST.get("restores"):
        actions.restore_subtask(plan, restores, by, version)
    else:
        actions.add_subtask(plan, draft_of(request), by, version, after)


def draft_of(request: HttpRequest) -> SubtaskDraft:
    return SubtaskDraft(
        name=request.POST.get("name", ""),
        description=request.POST.get("description", ""),
        expected_outcome=request.POST.get("expected_outcome", ""),
    )


@verb(alert="plan-alert")
def update(request: HttpRequest, conversation: Conversation, key: str) -> None:
    changes: dict[str, object] = draft_of(request).model_dump()
    plan, version = plan_on_page(request, conversation)
    actions.update_subtask(plan, key, changes, person(request).username, version)


@verb(alert="plan-alert")
def move(request: HttpRequest, conversation: Conversation, key: str) -> None:
    place = number(request.POST.get("to"))
    if place is None:
        raise Http404
    plan, version = plan_on_page(request, conversation)
    actions.move_subtask(plan, key, place, person(request).username, version)


@verb(alert="plan-alert")
def remove(request: HttpRequest, conversation: Conversation, key: str) -> str:
    """Without asking first: the answer offers to put it back."""
    plan, version = plan_on_page(request, conversation)
    gone = checklist(plan).filter(key=key).first()
    plan = actions.remove_subtask(plan, key, person(request).username, version)
    return removed(conversation, plan, gone) if gone else ""


def removed(conversation: Conversation, plan: Plan, gone: Subtask) -> str:
    """The toast with Undo, which puts it back where it was."""
    toast = {"conversation": conversation, "plan": plan, "gone": gone}
    return replace_text("toast", render_to_string("plans/_removed.html", toast))


@verb(alert="plan-alert")
def retry(request: HttpRequest, conversation: Conversation, key: str) -> None:
    plan, version = plan_on_page(request, conversation)
    actions.retry_subtask(plan, key, person(request).username, version)


@verb(alert="skip-alert")
def skip(request: HttpRequest, conversation: Conversation, key: str) -> None:
    plan, version = plan_on_page(request, conversation)
    reason = request.POST.get("reason", "")
    actions.skip_subtask(plan, key, person(request).username, reason, version)


@verb(alert="replan-alert")
def replan(request: HttpRequest, conversation: Conversation, key: str | None = None) -> None:
    """Plan the rest anew, from this subtask on or from the next one."""
    plan, version = plan_on_page(request, conversation)
    hint = request.POST.get("hint", "").strip()
    actions.replan_rest(plan, person(request).username, key, hint, version)


@verb(alert="budget-alert")
def raise_budget(request: HttpRequest, conversation: Conversation) -> None:
    """Raise the limits that halted the run, and go on; limits that still halt it are not kept."""
    limits: dict[str, object] = {
        name: number_of(text) for name in NAMES if (text := request.POST.get(name, ""))
    }
    with transaction.atomic():
        plan, version = plan_on_page(request, conversation)
        plan = actions.raise_budget(plan, person(request).username, limits, version)
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
