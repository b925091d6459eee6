"""Settings > Notifications: what a hidden page tells, whether titles count what waits, and what
empty conversations offer."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_GET

from agents.models import Preferences
from console.components import alert, replace
from console.htmx import person, posted
from console.needs import waiting_for
from console.preferences import preferences, set_preferences


@dataclass(frozen=True)
class Kind:
    """One switch: the column it sets, and what it is about."""

    name: str
    title: str | Promise
    hint: str | Promise
    is_on: bool = False


KINDS = (
    Kind(
        "tells_needs",
        gettext_lazy("Something needs me"),
        gettext_lazy("A question, a call that asks, a plan to start."),
    ),
    Kind("tells_failed", gettext_lazy("A plan failed"), gettext_lazy("After its last attempt.")),
    Kind(
        "tells_finished",
        gettext_lazy("A plan is finished"),
        gettext_lazy("Once, with what was left out."),
    ),
    Kind(
        "tells_replies", gettext_lazy("A reply is there"), gettext_lazy("For chats without a plan.")
    ),
)
IN_TITLE = Kind(
    "counts_in_title",
    gettext_lazy("Count in the tab"),
    gettext_lazy("(4) stands before the title while 4 things need you."),
)
SOUND = Kind("sounds", gettext_lazy("A short sound"), gettext_lazy("Only for what needs you."))
OFFERS = Kind(
    "offers_models",
    gettext_lazy("Offer models that were found"),
    gettext_lazy("In the empty conversation of an agent that the demo answers."),
)


@require_GET
def notifications(request: HttpRequest) -> HttpResponse:
    now = preferences(request)
    context = {
        "page": "notifications",
        "kinds": [as_set(each, now) for each in KINDS],
        "in_title": as_set(IN_TITLE, now),
        "sound": as_set(SOUND, now),
        "offers": as_set(OFFERS, now),
    }
    return render(request, "settings/notifications.html", context)


def as_set(kind: Kind, now: Preferences) -> Kind:
    return Kind(kind.name, kind.title, kind.hint, bool(getattr(now, kind.name)))


@posted("notifications-alert")
def choose(request: HttpRequest) -> HttpResponse:
    """The whole form, as its page shows it; the title follows at once."""
    names = [each.name for each in (*KINDS, IN_TITLE, SOUND, OFFERS)]
    now = set_preferences(person(request), **{name: name in request.POST for name in names})
    context = {"waiting": waiting_for(person(request).pk, now)}
    count = replace("needs-count", render_to_string("needs/_count.html", context))
    return HttpResponse(alert("notifications-said", gettext("Saved.")) + count)
