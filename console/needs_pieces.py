"""The pieces in which "Needs you" is drawn anew, and what it gets for a press on a card."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext_lazy

from agents.changes.preview import FileChanged
from agents.models import Conversation
from console import components
from console.need_cards import MOST_CARDS, cards_of
from console.needs import Waiting, running_plans, waiting_now
from console.settled_needs import settled
from plans.needs import Need, NeedKind, needs_of

# What a press is called where what it settled does not say, by the name of its address.
OWN_WORDS = {
    "subtask-retry": gettext_lazy("Tried again"),
    "subtask-skip": gettext_lazy("Skipped"),
    "subtask-replan": gettext_lazy("Asked for other subtasks"),
    "plan-revise": gettext_lazy("Asked for changes"),
    "plan-cancel-asking": gettext_lazy("Cancelled"),
}
MOST_SHOWN = 100  # keys that a page may ask about


def rest_of(waiting: Waiting) -> dict[str, object]:
    """What stands below the cards: those that do not fit, or that nothing waits."""
    running = [] if waiting.needs else running_plans(waiting.owner)
    return {"further": max(0, waiting.count - MOST_CARDS), "running": running}


def pieces(
    waiting: Waiting, shown: list[str] | None, own: tuple[str, str] | None = None
) -> Iterable[str]:
    """`own` is what was settled by this very request, and the name of its address."""
    context = {"waiting": waiting, "here": "" if shown is None else "needs"}
    for name in ("entry", "count", *(() if shown is None else ("head",))):
        html = render_to_string(f"needs/_{name}.html", context)
        yield components.replace(f"needs-{name}", html)
    if shown is None:
        return
    keys = {need.key for need in waiting.needs}
    for key in shown:
        if key not in keys and (line := settled(waiting.owner, key)):
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
    rest = render_to_string("needs/_rest.html", context | rest_of(waiting))
    yield components.replace("needs-rest", rest)


def press_card(
    request: HttpRequest, conversation: Conversation, act: Callable[[], object]
) -> str | HttpResponse:
    """What the page gets for a press on the card that the form names as `need`.

    Where it was answered meanwhile nothing is done, and that is all that is said. Raises Http404
    for what never waited for this person, or waits in another conversation.
    """
    owner, key = conversation.owner_id, request.POST["need"]
    if settled(owner, key) is None:
        raise Http404
    need = next((each for each in needs_of(owner) if each.key == key), None)
    own = None
    if need is not None:
        if need.conversation != conversation.pk:
            raise Http404
        try:
            with transaction.atomic():
                act()
        except FileChanged as refusal:
            return shown_again(need, refusal)
        match = request.resolver_match
        own = (key, (match and match.url_name) or "")
    shown = request.POST.getlist("shows")[:MOST_SHOWN]
    return "".join(pieces(waiting_now(request), shown, own))


def shown_again(need: Need, refusal: FileChanged) -> HttpResponse:
    """The card with the change as it would be now, and why nothing was allowed."""
    [card] = cards_of([need])
    html = components.replace(
        f"need-{need.key}", render_to_string("needs/_card.html", {"card": card})
    )
    alert = components.alert(f"need-{need.key}-alert", str(refusal))
    return HttpResponse(html + alert, status=refusal.status)
