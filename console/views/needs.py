"""The page "Needs you": all that waits for a person, answered where it is listed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, replace

from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.template.loader import render_to_string
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_GET

from agents import actions as talk
from agents.changes.preview import FileChanged
from agents.errors import Invalid
from agents.events import lock_conversation
from agents.models import Conversation, ToolCall
from console import chat_commands, components, plan_requests
from console.form_parsing import expected, plan_in_form
from console.htmx import person, unless_known, verb
from console.need_cards import MOST_CARDS, cards_of
from console.needs import Waiting, running_plans, waiting_now
from console.notices import notices_of
from console.preferences import preferences
from console.settled_needs import settled
from console.sidebar import sidebar_context
from console.throttling import count_message
from console.views.plans import raise_limits
from plans import actions
from plans.expected_version import Expected
from plans.models import Plan, Run
from plans.needs import Need, NeedKind, needs_of
from plans.queries import checklist, has_work_left

OWN_WORDS = {
    "retry": gettext_lazy("Tried again"),
    "skip": gettext_lazy("Skipped"),
    "replan": gettext_lazy("Asked for other subtasks"),
    "change": gettext_lazy("Asked for changes"),
    "give-up": gettext_lazy("Cancelled"),
}
MOST_SHOWN = 100  # keys that a page may ask about


@require_GET
def page(request: HttpRequest) -> HttpResponse:
    waiting = waiting_now(request)
    context = {"waiting": waiting, "cards": cards_of(waiting.needs), **rest_of(request, waiting)}
    return render(request, "needs/page.html", context | sidebar_context(request, None))


def rest_of(request: HttpRequest, waiting: Waiting) -> dict[str, object]:
    """What stands below the cards: those that do not fit, or that nothing waits."""
    running = [] if waiting.needs else running_plans(person(request).pk)
    return {"further": max(0, waiting.count - MOST_CARDS), "running": running}


@require_GET
def changes(request: HttpRequest) -> HttpResponse:
    """How much waits, for every page; for "Needs you" also the cards it does not show, and what
    became of those it `shows`."""
    waiting = waiting_now(request)
    shown = request.GET.getlist("shows")[:MOST_SHOWN] if "page" in request.GET else None
    return unless_known(
        request, f'"{waiting.tag}"', lambda: "".join(pieces(request, waiting, shown))
    )


def pieces(
    request: HttpRequest,
    waiting: Waiting,
    shown: list[str] | None,
    own: tuple[str, str] | None = None,
) -> Iterable[str]:
    """`own` is what was settled by this very request, and by which verb."""
    context = {"waiting": waiting, "here": "" if shown is None else "needs"}
    for name in ("entry", "count", *(() if shown is None else ("head",))):
        html = render_to_string(f"needs/_{name}.html", context)
        yield components.replace(f"needs-{name}", html)
    if shown is None:
        return
    keys = {need.key for need in waiting.needs}
    for key in shown:
        if key not in keys and (line := settled(person(request).pk, key)):
            is_own = own is not None and key == own[0]
            if own and is_own and own[1] in OWN_WORDS:
                line = replace(line, words=str(OWN_WORDS[own[1]]), is_gone=False)
            html = render_to_string("needs/_settled.html", {"line": line, "is_own": is_own})
            yield components.replace(f"need-{key}", html)
    new = [need for need in waiting.needs[:MOST_CARDS] if need.key not in shown]
    for card in cards_of(new):
        # What has failed comes first, as when the page is opened.
        put = components.prepend if card.need.kind == NeedKind.FAILED else components.append
        yield put("needs-list", render_to_string("needs/_card.html", {"card": card}))
    rest = render_to_string("needs/_rest.html", context | rest_of(request, waiting))
    yield components.replace("needs-rest", rest)


@require_GET
def notices(request: HttpRequest) -> HttpResponse:
    """What a notification says of each of these, as far as the person wants to be told."""
    keys = request.GET.getlist("key")[:MOST_SHOWN]
    told = notices_of(person(request), preferences(request), keys)
    return JsonResponse({"notices": [asdict(notice) for notice in told]})


# What a person answers below a card


@verb(alert="need-{need}-alert")
def act(
    request: HttpRequest, conversation: Conversation, by: str, need: str, action: str
) -> str | HttpResponse:
    """One of the verbs of a card; where it was answered meanwhile, that is all that is said."""
    do = ACTIONS.get(action)
    owner = person(request).pk
    if do is None or settled(owner, need) is None:
        raise Http404
    waits = next((each for each in needs_of(owner) if each.key == need), None)
    is_here = waits is not None and waits.conversation == conversation.pk
    if waits is not None and not is_here:
        raise Http404
    if waits is not None:
        try:
            with transaction.atomic():
                do(request, conversation, by, waits)
        except FileChanged as refusal:
            return shown_again(waits, refusal)
    shown = request.POST.getlist("shows")[:MOST_SHOWN]
    own = (need, action) if is_here else None
    return "".join(pieces(request, waiting_now(request), shown, own))


def shown_again(need: Need, refusal: FileChanged) -> HttpResponse:
    """The card with the change as it would be now, and why nothing was allowed."""
    [card] = cards_of([need])
    html = components.replace(
        f"need-{need.key}", render_to_string("needs/_card.html", {"card": card})
    )
    alert = components.alert(f"need-{need.key}-alert", str(refusal))
    return HttpResponse(html + alert, status=refusal.status)


Action = Callable[[HttpRequest, Conversation, str, Need], object]


def decide(request: HttpRequest, conversation: Conversation, by: str, need: Need) -> None:
    call = get_object_or_404(ToolCall, pk=need.call)
    decision, reason = request.POST.get("decision", ""), request.POST.get("reason", "")
    talk.decide_call(call, decision, by, reason, request.POST.get("against", ""))


def answer(request: HttpRequest, conversation: Conversation, by: str, need: Need) -> None:
    """Below its question an answer is nothing else, whatever its words are.

    The plan that asks may be one of an agent that works for this one.
    """
    text = request.POST.get("text", "").strip()
    if not text:
        raise Invalid(gettext("Write an answer first."))
    talk.check_text(text)
    count_message(conversation.owner_id)
    asking = get_object_or_404(Plan, subtasks__attempts__turn__tool_calls=need.call)
    lock_conversation(conversation.pk)
    plan_requests.typed(conversation, text, by, "answer", stays=True)
    actions.answer_question(asking, text, by)


def say(request: HttpRequest, conversation: Conversation, by: str, need: Need) -> None:
    """With what is said the plan that was asked for is made."""
    text = request.POST.get("text", "").strip()
    if not text:
        raise Invalid(gettext("Write an answer first."))
    chat_commands.handle_message(conversation, text, by, asking=need.asking, question=0)


def give_up(request: HttpRequest, conversation: Conversation, by: str, need: Need) -> None:
    actions.cancel_request(conversation, by, need.asking)


def plan_shown(request: HttpRequest, conversation: Conversation, by: str) -> tuple[Plan, int]:
    """The plan and version on the card; one beside the drawer's comes into the drawer."""
    seen = expected(request)
    plan = actions.activate_plan(plan_in_form(request, conversation), by)
    return plan, seen.version if seen else 0


def start(request: HttpRequest, conversation: Conversation, by: str, need: Need) -> None:
    plan, version = plan_shown(request, conversation, by)
    actions.approve_plan(plan, version, by)  # the card has none of its comments


def change(request: HttpRequest, conversation: Conversation, by: str, need: Need) -> None:
    text = request.POST.get("text", "").strip()
    if not text:
        raise Invalid(gettext("Say what should be different."))
    plan, version = plan_shown(request, conversation, by)
    chat_commands.handle_message(conversation, text, by, Expected(plan.pk, version), question=0)


def cancel(request: HttpRequest, conversation: Conversation, by: str, need: Need) -> None:
    actions.cancel_plan(plan_in_form(request, conversation), by)


def retry(request: HttpRequest, conversation: Conversation, by: str, need: Need) -> None:
    plan, version = plan_shown(request, conversation, by)
    again = actions.retry_clean if request.POST.get("clean") else actions.retry_subtask
    again(plan, key_of(request, plan), by, version)


def skip(request: HttpRequest, conversation: Conversation, by: str, need: Need) -> None:
    """The rest goes on: there is nothing else here that would make it."""
    plan, version = plan_shown(request, conversation, by)
    reason = request.POST.get("reason", "")
    plan = actions.skip_subtask(plan, key_of(request, plan), by, reason, version)
    if plan.run == Run.IDLE and has_work_left(plan):
        actions.run_plan(plan, by, version=version)


def replan(request: HttpRequest, conversation: Conversation, by: str, need: Need) -> None:
    plan, version = plan_shown(request, conversation, by)
    hint = request.POST.get("hint", "").strip()
    actions.replan_rest(plan, by, key_of(request, plan), hint, version)


def key_of(request: HttpRequest, plan: Plan) -> str:
    """The subtask on the card."""
    return get_object_or_404(checklist(plan), key=request.POST.get("subtask", "")).key


def go_on(request: HttpRequest, conversation: Conversation, by: str, need: Need) -> None:
    plan, version = plan_shown(request, conversation, by)
    actions.run_plan(plan, by, version=version)


def look(request: HttpRequest, conversation: Conversation, by: str, need: Need) -> None:
    plan, version = plan_shown(request, conversation, by)
    actions.look_at(plan, key_of(request, plan), by, version, request.POST.get("check", ""))


def check(request: HttpRequest, conversation: Conversation, by: str, need: Need) -> None:
    plan = plan_in_form(request, conversation)
    actions.check_plan(plan, by, key_of(request, plan))


def raise_budget(request: HttpRequest, conversation: Conversation, by: str, need: Need) -> None:
    raise_limits(request, *plan_shown(request, conversation, by), by)


ACTIONS: dict[str, Action] = {
    "decide": decide,
    "answer": answer,
    "say": say,
    "give-up": give_up,
    "start": start,
    "change": change,
    "cancel": cancel,
    "retry": retry,
    "skip": skip,
    "replan": replan,
    "raise": raise_budget,
    "go-on": go_on,
    "look": look,
    "check": check,
}
