"""The plan in the drawer: each verb of plans.actions, its versions, and the plans beside it."""

from __future__ import annotations

from math import isfinite

from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from agents.engine.usage import NAMES
from agents.errors import Conflict, Invalid
from agents.events import lock_conversation
from agents.models import Conversation
from console import chat_commands, components, plan_requests
from console.components import replace, replace_content
from console.form_parsing import UNNAMED, number, plan_in_form, plan_on_page, text_in
from console.htmx import own_conversation, person, verb
from console.plan_versions import versions as versions_of
from console.status_labels import label_of_status
from console.views.plan_checks import save_open
from console.views.plan_comments import keep_open, seen_on_page
from plans import actions, search
from plans.attempts import why_over
from plans.expected_version import Expected, demand_version, plan_in
from plans.models import PLAN_TEXT, SUBTASK_TEXT, ActivePlan, Plan, Run
from plans.queries import checklist, has_work_left, requested_by
from plans.schemas import PlanEdit, SubtaskDraft

MOST_LISTED = 200  # plans of a conversation


@verb(alert="plan-alert")
def approve(request: HttpRequest, conversation: Conversation, by: str) -> None:
    """Start the version that is shown, with the text of open editors saved into it first.

    Each open editor is a change of its own; the first one names the version that was seen.
    """
    fields = ("key", *SUBTASK_TEXT)
    columns = [request.POST.getlist(f"subtask_{field}") for field in fields]
    if len({len(values) for values in columns}) > 1:
        raise Invalid(gettext("The page is not whole: load it again, then approve."))
    editors = [dict(zip(fields, values, strict=True)) for values in zip(*columns, strict=True)]
    with transaction.atomic():
        plan, version = plan_on_page(request, conversation)
        edited = keep_open(request, plan, by)
        for text in editors:
            key, draft = text.pop("key"), SubtaskDraft.model_validate(text)
            if key:
                text = draft.model_dump(exclude_unset=True)
                edited = actions.update_subtask(edited, key, text, by, version)
            else:
                edited = actions.add_subtask(edited, draft, by, version)
            version = edited.version
        edited = save_open(request, edited, by, version)
        version = edited.version if "open_check" in request.POST else version
        if "plan_title" in request.POST:
            version = actions.edit_plan(edited, edit_of(request, "plan_"), by, version).version
        actions.approve_plan(plan, version, by, without_comments=seen_on_page(request))


def edit_of(request: HttpRequest, prefix: str = "") -> PlanEdit:
    return PlanEdit.model_validate(
        {field: request.POST.get(f"{prefix}{field}") for field in PLAN_TEXT}
    )


@verb(alert="plan-alert")
def cancel(request: HttpRequest, conversation: Conversation, by: str) -> None:
    actions.cancel_plan(plan_in_form(request, conversation), by)


@verb(alert="beside-alert")
def beside(request: HttpRequest, conversation: Conversation, by: str) -> None:
    """Ask for another plan; the one that is shown stays open."""
    plan_requests.ask_beside(conversation, request.POST.get("goal", ""), by)


@verb(alert="say-alert")
def cancel_asking(request: HttpRequest, conversation: Conversation, by: str) -> None:
    asking = number(request.POST.get("asking"))
    if asking is None:
        raise Invalid(str(UNNAMED))
    actions.cancel_request(conversation, by, asking)


@verb(alert="say-alert")
def answer_asking(request: HttpRequest, conversation: Conversation, by: str) -> None:
    """What the agent wanted to know before it makes the plan that was asked for.

    The draft in the message box stays, which `say` would take.
    """
    text = text_in(request, gettext("Write an answer first."))
    asking = number(request.POST.get("asking"))
    with transaction.atomic():
        lock_conversation(conversation.pk)
        if asking is None or asking != requested_by(conversation.pk):
            raise Conflict(gettext("The plan has no open question."))
        chat_commands.handle_message(conversation, text, by, asking=asking, question=0)


@verb(alert="plan-alert")
def revise(request: HttpRequest, conversation: Conversation, by: str) -> None:
    """Say what should be different, for the agent; the draft in the message box stays."""
    text = text_in(request, gettext("Say what should be different."))
    plan, version = plan_on_page(request, conversation)
    demand_version(plan, version)
    seen = Expected(plan.pk, version)
    chat_commands.handle_message(conversation, text, by, seen, question=0)


@verb(alert="plan-alert")
def pause(request: HttpRequest, conversation: Conversation, by: str) -> None:
    actions.pause_plan(plan_in_form(request, conversation), by)


@verb(alert="plan-alert")
def resume(request: HttpRequest, conversation: Conversation, by: str) -> None:
    plan, version = plan_on_page(request, conversation)
    actions.resume_plan(plan, by, version)


@verb(alert="plan-alert")
def stop(request: HttpRequest, conversation: Conversation, by: str) -> None:
    actions.stop_plan(plan_in_form(request, conversation), by)


@verb(alert="plan-alert")
def again(request: HttpRequest, conversation: Conversation, by: str) -> None:
    """Go on with what failed or was stopped."""
    plan, version = plan_on_page(request, conversation)
    actions.run_plan(plan, by, version=version)


@verb(alert="plan-alert")
def edit(request: HttpRequest, conversation: Conversation, by: str) -> None:
    plan, version = plan_on_page(request, conversation)
    actions.edit_plan(plan, edit_of(request), by, version)


@verb(alert="plan-alert")
def take_out_of_force(request: HttpRequest, conversation: Conversation, by: str) -> None:
    plan, version = plan_on_page(request, conversation)
    actions.take_out_of_force(plan, by, version)


@verb(alert="plan-alert")
def add(request: HttpRequest, conversation: Conversation, by: str) -> None:
    """A new subtask, or the removed one that the toast `restores`."""
    after = request.POST.get("after") or None
    plan, version = plan_on_page(request, conversation)
    if restores := request.POST.get("restores"):
        actions.restore_subtask(plan, restores, by, version)
    else:
        actions.add_subtask(plan, draft_from_form(request), by, version, after)


def draft_from_form(request: HttpRequest) -> SubtaskDraft:
    return SubtaskDraft.model_validate(
        {field: request.POST.get(field, "") for field in SUBTASK_TEXT}
    )


@verb(alert="plan-alert")
def update(request: HttpRequest, conversation: Conversation, by: str, key: str) -> None:
    changes: dict[str, object] = draft_from_form(request).model_dump(exclude_unset=True)
    plan, version = plan_on_page(request, conversation)
    actions.update_subtask(plan, key, changes, by, version)


@verb(alert="plan-alert")
def move(request: HttpRequest, conversation: Conversation, by: str, key: str) -> None:
    place = number(request.POST.get("to"))
    if place is None:
        raise Http404
    plan, version = plan_on_page(request, conversation)
    actions.move_subtask(plan, key, place, by, version)


@verb(alert="plan-alert")
def remove(request: HttpRequest, conversation: Conversation, by: str, key: str) -> str:
    """Without asking first: the answer is a toast that offers to put it back where it was."""
    plan, version = plan_on_page(request, conversation)
    gone = checklist(plan).filter(key=key).first()
    plan = actions.remove_subtask(plan, key, by, version)
    if gone is None:
        return ""
    context = {"conversation": conversation, "plan": plan, "gone": gone}
    return replace_content("toast", render_to_string("plans/_removed.html", context))


@verb(alert="plan-alert")
def retry(request: HttpRequest, conversation: Conversation, by: str, key: str) -> None:
    """From here, or with `clean` from how its files were before it began."""
    plan, version = plan_on_page(request, conversation)
    again = actions.retry_clean if request.POST.get("clean") else actions.retry_subtask
    again(plan, key, by, version)


@verb(alert="skip-alert")
def skip(request: HttpRequest, conversation: Conversation, by: str, key: str) -> None:
    """From a card of "Needs you", where nothing else would make the rest go on, it does."""
    plan, version = plan_on_page(request, conversation)
    reason = request.POST.get("reason", "")
    plan = actions.skip_subtask(plan, key, by, reason, version)
    if "need" in request.POST and plan.run == Run.IDLE and has_work_left(plan):
        actions.run_plan(plan, by, version=version)


@verb(alert="replan-alert")
def replan(
    request: HttpRequest, conversation: Conversation, by: str, key: str | None = None
) -> None:
    """Plan the rest anew, from this subtask on or from the next one."""
    plan, version = plan_on_page(request, conversation)
    hint = request.POST.get("hint", "").strip()
    actions.replan_rest(plan, by, key, hint, version)


@verb(alert="budget-alert")
def raise_budget(request: HttpRequest, conversation: Conversation, by: str) -> None:
    """Raise the limits that halted the run to what was typed, and go on.

    Limits that still halt it are not kept.
    """
    typed = {name: request.POST[name] for name in NAMES if request.POST.get(name)}
    limits: dict[str, object] = {name: number_in(text) for name, text in typed.items()}
    with transaction.atomic():
        plan, version = plan_on_page(request, conversation)
        plan = actions.raise_budget(plan, by, limits, version)
        if still := why_over(plan):
            raise Invalid(gettext("That is not enough: {still}.").format(still=still))


def number_in(text: str) -> float | str:
    """A number as it was typed; what is none goes on as it is, to be refused in words."""
    try:
        number = float(text)
    except ValueError:
        return text
    if not isfinite(number):
        return text
    return int(number) if number.is_integer() else number


# Versions: the drawer's second face


@require_GET
def versions(request: HttpRequest, pk: int) -> HttpResponse:
    """The list and the comparison of two of them, and the button that goes back."""
    conversation = own_conversation(request, pk)
    to, since = number(request.GET.get("to")), number(request.GET.get("from"))
    wanted = number(request.GET.get("plan")) or 0
    plan = Plan.objects.filter(pk=wanted, conversation=conversation).first()
    compared = versions_of(plan, person(request).username, to, since) if plan else None
    if compared is None:
        raise Http404
    context = {"versions": compared, "conversation": conversation}
    return HttpResponse(
        replace_content("versions", render_to_string("plans/_versions.html", context))
        + replace_content("go-back", render_to_string("plans/_go_back.html", context))
    )


@verb(alert="plan-alert")
def go_back(request: HttpRequest, conversation: Conversation, by: str) -> None:
    """Without asking: it makes one more version."""
    wanted = number(request.POST.get("to"))
    if wanted is None:
        raise Http404
    plan, version = plan_on_page(request, conversation)
    actions.restore_version(plan, wanted, by, version)


# The plans of one conversation


@require_GET
def listed(request: HttpRequest, pk: int) -> HttpResponse:
    return HttpResponse(draw_list(own_conversation(request, pk)))


def draw_list(conversation: Conversation) -> str:
    """The newest first; what came out of words that are not there is not offered for the drawer."""
    newest = Plan.objects.filter(conversation=conversation).order_by("-pk")
    ids = list(newest.values_list("pk", flat=True)[:MOST_LISTED])
    rows = sorted(search.rows_of(ids), key=lambda row: -row.id)
    active = ActivePlan.objects.filter(conversation=conversation).first()
    context = {
        "rows": [(row, label_of_status(row.status)) for row in rows],
        "in_drawer": active.plan_id if active else None,
        "out_of_view": set(newest.filter(card__hidden=True).values_list("pk", flat=True)),
        "conversation": conversation,
    }
    html = render_to_string("plans/_conversation_plans.html", context)
    return replace("plans-here-list", html)


@verb(alert="plans-here-alert")
def activate(request: HttpRequest, conversation: Conversation, by: str, plan: int) -> str:
    actions.activate_plan(plan_in(conversation, plan), by)
    return draw_list(conversation)


@verb(alert="plans-here-alert")
def delete(request: HttpRequest, conversation: Conversation, by: str, plan: int) -> str:
    """Its card leaves the conversation with it."""
    gone = plan_in(conversation, plan)
    card = gone.card_id
    actions.delete_plan(gone, by)
    return draw_list(conversation) + (components.remove(f"message-{card}") if card else "")


@verb(alert="plan-alert")
def use_again(request: HttpRequest, conversation: Conversation, by: str, plan: int) -> None:
    actions.use_again(plan_in(conversation, plan), by)
