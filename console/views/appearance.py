"""Settings > Appearance: how the pages look for a person, in every browser where they sign in."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.template.loader import render_to_string
from django.views.decorators.http import require_GET

from agents.errors import Invalid
from console.components import alert, replace
from console.htmx import posted
from console.keys import PLACES
from console.preferences import preferences, set_preferences
from console.views.conversations import person

SIZES = {"100": "Normal", "115": "Larger", "130": "Largest"}
THEMES = {"system": "As the system", "light": "Light", "dark": "Dark"}
DENSITIES = {"comfortable": "Comfortable", "compact": "Compact"}


@dataclass(frozen=True)
class Choice:
    """A few values of which one counts, with what each is called."""

    legend: str
    name: str
    words: Mapping[str, str]
    chosen: str


@require_GET
def appearance(request: HttpRequest) -> HttpResponse:
    now = preferences(request)
    context = {
        "page": "appearance",
        "theme": Choice("Theme", "theme", THEMES, now.theme),
        "text_size": Choice("Text size", "text_size", SIZES, str(now.text_size)),
        "density": Choice("Density", "density", DENSITIES, now.density),
    }
    return render(request, "settings/appearance.html", context)


@require_GET
def keys(request: HttpRequest) -> HttpResponse:
    """The list of keys, fetched when it is first asked for (static/js/keys.js)."""
    html = render_to_string("settings/_keys.html", {"places": PLACES})
    return HttpResponse(replace("keys", html))


@posted("appearance-alert")
def choose(request: HttpRequest) -> HttpResponse:
    """The whole form, as its page shows it (static/js/appearance.js)."""
    form = request.POST
    set_preferences(
        person(request),
        theme=one_of(form, "theme", THEMES),
        text_size=int(one_of(form, "text_size", SIZES)),
        density=one_of(form, "density", DENSITIES),
        lists_keys="lists_keys" in form,
    )
    return HttpResponse(alert("appearance-said", "Saved."))


def one_of(form: QueryDict, name: str, choices: Collection[str]) -> str:
    chosen = form.get(name, "")
    if chosen not in choices:
        raise Invalid(f"There is no {name.replace('_', ' ')} {chosen!r}.")
    return chosen
