"""In which language a person reads: the one they chose, else the first of their browser's that we
have. Scripts, which ask the API, read English.

What is drawn is drawn in the language that is active in its thread: in a request by the middleware
here, over a socket in the language of the page it is for. A turn writes its texts for a person in
the language that person read when they asked for it (`Turn.language`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import formats, translation
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext, gettext_noop, ngettext
from django.views.decorators.cache import cache_control
from django.views.i18n import JavaScriptCatalog

from agents.config.schema import AgentFile
from agents.config.store import read_agent
from agents.errors import NotFound
from console.preferences import preferences

P = ParamSpec("P")
R = TypeVar("R")
View = Callable[[HttpRequest], HttpResponse]

YEAR = 60 * 60 * 24 * 365
IN_ENGLISH = ("/api/", "/static/", "/metrics", "/healthz", "/readyz")


def of_browser(get_response: View) -> View:
    """Middleware: the language of the request, as long as nobody knows whose it is."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if request.path.startswith(IN_ENGLISH):
            return get_response(request)
        with translation.override(translation.get_language_from_request(request)):
            response = get_response(request)
        patch_vary_headers(response, ("Accept-Language",))
        return response

    return middleware


def of_person(get_response: View) -> View:
    """Middleware: whoever has signed in and chosen a language gets pages in it.

    What a page asks for afterwards names the page's language (static/js/requests.js: headers).
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        is_page = request.headers.get("Sec-Fetch-Mode", "navigate") == "navigate"
        is_english = request.path.startswith(IN_ENGLISH)
        if is_english or not is_page or not request.user.is_authenticated:
            return get_response(request)
        chosen = known(preferences(request).language)
        with translation.override(chosen or translation.get_language()):
            return get_response(request)

    return middleware


def known(code: str) -> str:
    """The code, if it is one of ours."""
    return code if code in dict(settings.LANGUAGES) else ""


def drawn_in(language: str, draw: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    with translation.override(known(language) or settings.LANGUAGE_CODE):
        return draw(*args, **kwargs)


def cached(most: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """lru_cache for what is drawn, apart for each language."""

    def decorate(draw: Callable[P, R]) -> Callable[P, R]:
        def draw_in(language: str, *args: P.args, **kwargs: P.kwargs) -> R:
            return draw(*args, **kwargs)

        drawn_in_each: Callable[..., R] = lru_cache(most)(draw_in)

        @wraps(draw)
        def drawn(*args: P.args, **kwargs: P.kwargs) -> R:
            return drawn_in_each(translation.get_language(), *args, **kwargs)

        return drawn

    return decorate


def grouped(number: int) -> str:
    """1,234, with what the language writes between thousands."""
    return formats.number_format(number, force_grouping=True)


def format_size(size: int) -> str:
    """38 kB, 12.4 MB; as in static/js/attachments.js."""
    if size < 1_000:
        return ngettext("{n} byte", "{n} bytes", size).format(n=size)
    if size < 999_500:  # from here on kB would be rounded to 1000
        return gettext("{n} kB").format(n=round(size / 1_000))
    words, unit = gettext("{n} MB"), 1_000_000
    if size >= 999_950_000:
        words, unit = gettext("{n} GB"), 1_000_000_000
    return words.format(n=formats.number_format(f"{size / unit:.1f}".removesuffix(".0")))


# What static/js/dom.js asks for; a translation of a text with a number is a list of its forms.
CATALOG = """{{const texts={texts},form=(n)=>Number({plural});
globalThis.django={{gettext:(text)=>texts[text]??text,
ngettext:(one,several,n)=>texts[one]?.[form(n)]??(n===1?one:several)}}}}
"""


class ScriptTexts(JavaScriptCatalog):
    """Django's, without what no script of ours asks for."""

    def render_to_response(self, context: dict[str, Any], **_: object) -> HttpResponse:
        texts = json.dumps(context["catalog"], ensure_ascii=False, separators=(",", ":"))
        script = CATALOG.format(texts=texts, plural=context["plural"] or "n!==1")
        return HttpResponse(script, "text/javascript; charset=utf-8")


@cache_control(max_age=YEAR, immutable=True, private=True)
def script_texts(request: HttpRequest, fingerprint: str, language: str) -> HttpResponse:
    """The texts of the scripts, at an address that changes with every text."""
    with translation.override(known(language)):
        return ScriptTexts(packages=["console"]).get(request)


# What comes with Planside in the reader's language, as long as nobody has changed it.

# As they stand in agents/config/samples and agents/chains/shipped: the model reads these.
SAMPLE = "docs-writer"
SAMPLE_NAME = gettext_noop("Docs writer")
CHAINS = {
    "default-chain": gettext_noop(
        "Ordinary chat: ask the model, run the tools it calls, until it just answers."
    ),
    "default-run-chain": gettext_noop(
        "One question from the command line: ask the model, run the tools it calls, until it "
        "answers."
    ),
    "executor": gettext_noop(
        "Working on one subtask of an approved plan until it is finished or has failed."
    ),
    "planner": gettext_noop(
        "Planning: turn a goal into a checklist, or revise it, and present it."
    ),
    "reviewer": gettext_noop(
        "Judging whether a subtask is done, by what was done and not by what the agent says. "
        "Only its first task counts."
    ),
}


def shown_name(file: AgentFile) -> str:
    """What an agent is called on pages; its form has the name as the file has it."""
    is_ours = file.id == SAMPLE and file.name == SAMPLE_NAME
    return gettext(file.name) if is_ours else file.name


def agent_name(agent_id: str) -> str:
    """As its file has it now; the id stays when the agent was deleted."""
    try:
        return shown_name(read_agent(agent_id).file)
    except NotFound:
        return agent_id


def chain_description(text: str) -> str:
    return gettext(text) if text in CHAINS.values() else text
