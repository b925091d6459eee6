"""Settings > Appearance: how the pages look for a person, in every browser where they sign in."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import get_language, gettext, gettext_lazy
from django.views.decorators.http import require_GET
from django_htmx.http import HttpResponseClientRedirect

from agents.errors import Invalid
from console.components import alert, replace
from console.htmx import person, posted
from console.keys import PLACES
from console.language import known
from console.preferences import preferences, set_preferences

SIZES: dict[str, str | Promise] = {
    "100": gettext_lazy("Normal"),
    "115": gettext_lazy("Larger"),
    "130": gettext_lazy("Largest"),
}
THEMES: dict[str, str | Promise] = {
    "system": gettext_lazy("As the system"),
    "light": gettext_lazy("Light"),
    "dark": gettext_lazy("Dark"),
}
DENSITIES: dict[str, str | Promise] = {
    "comfortable": gettext_lazy("Comfortable"),
    "compact": gettext_lazy("Compact"),
}


@dataclass(frozen=True)
class Choice:
    """A few values of which one counts, with what each is called."""

    legend: str
    name: str
    words: Mapping[str, str | Promise]
    chosen: str


@require_GET
def appearance(request: HttpRequest) -> HttpResponse:
    now = preferences(request)
    context = {
        "page": "appearance",
        "theme": Choice(gettext("Theme"), "theme", THEMES, now.theme),
        "text_size": Choice(gettext("Text size"), "text_size", SIZES, str(now.text_size)),
        "density": Choice(gettext("Density"), "density", DENSITIES, now.density),
        "languages": [("", gettext("As the browser")), *settings.LANGUAGES],
        "language": known(now.language),
        "has_chosen_language": "language" in request.GET,
    }
    return render(request, "settings/appearance.html", context)


@require_GET
def keys(request: HttpRequest) -> HttpResponse:
    """The list of keys, fetched when it is first asked for (static/js/page.js)."""
    html = render_to_string("settings/_keys.html", {"places": PLACES})
    return HttpResponse(replace("keys", html))


@posted("appearance-alert")
def choose(request: HttpRequest) -> HttpResponse:
    """The whole form, as its page shows it (static/js/page.js)."""
    form = request.POST
    set_preferences(
        person(request),
        theme=one_of(form, "theme", THEMES),
        text_size=int(one_of(form, "text_size", SIZES)),
        density=one_of(form, "density", DENSITIES),
        lists_keys="lists_keys" in form,
    )
    return HttpResponse(alert("appearance-said", gettext("Saved.")))


@posted("language-alert")
def choose_language(request: HttpRequest) -> HttpResponse:
    """The page is loaded again in it; what the browser asks for is known only then."""
    chosen = one_of(request.POST, "language", ["", *dict(settings.LANGUAGES)])
    set_preferences(person(request), language=chosen)
    if chosen == get_language():
        return HttpResponse(alert("appearance-said", gettext("Saved.")))
    return HttpResponseClientRedirect(f"{reverse('appearance')}?language")


def one_of(form: QueryDict, name: str, choices: Collection[str]) -> str:
    chosen = form.get(name)
    if chosen is None or chosen not in choices:
        raise Invalid(gettext("{chosen!r} cannot be chosen here.").format(chosen=chosen or ""))
    return chosen
