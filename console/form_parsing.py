"""What a request sends as text, read: numbers, the plan and version on the page, lines of pairs.

Values may be secrets: no sentence repeats one.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.http import HttpRequest
from django.utils.translation import gettext, gettext_lazy

from agents.errors import Invalid, about
from agents.models import Conversation
from plans import actions
from plans.expected_version import Expected, demand_active, plan_in
from plans.models import Plan

EVENT = 18  # digits of the largest number of an event or message
UNNAMED = gettext_lazy("This page does not say which plan and version it shows: load it again.")

# What `pairs` says of a line, by what the field holds.
OF_HEADERS = gettext_lazy("Line {number} of the headers is not written as name{sign} value.")
OF_ARGUMENTS = gettext_lazy(
    "Line {number} of the fixed arguments is not written as name{sign} value."
)
OF_FIELD = gettext_lazy("Line {number} of this field is not written as name{sign} value.")


def number(text: str | None, digits: int = 9) -> int | None:
    """A number as a request writes it; anything else, or one with more digits, is none."""
    is_one = text and len(text) <= digits and text.isascii() and text.isdecimal()
    return int(text) if text and is_one else None


def numbers(text: str) -> list[int]:
    """Numbers with commas between them; what is none is left out."""
    found = (number(part, EVENT) for part in text.split(","))
    return [each for each in found if each is not None]


def expected(request: HttpRequest, version: str = "version") -> Expected | None:
    """What the form names; None unless it names both. `version` is the name of its field."""
    plan, seen = number(request.POST.get("plan")), number(request.POST.get(version))
    return None if plan is None or seen is None else Expected(plan, seen)


def plan_in_form(request: HttpRequest, conversation: Conversation) -> Plan:
    """For what is never refused for its version: exactly the plan that the form names."""
    plan = number(request.POST.get("plan"))
    if plan is None:
        raise Invalid(str(UNNAMED))
    return plan_in(conversation, plan)


def plan_on_page(request: HttpRequest, conversation: Conversation) -> tuple[Plan, int]:
    """For what starts or changes something: the plan in the drawer, and the version on the page.

    From a card of "Needs you" it is the card's plan, which comes into the drawer then. The verb
    compares the version, within its own transaction.
    """
    seen = expected(request)
    if seen is None:
        raise Invalid(str(UNNAMED))
    plan = plan_in(conversation, seen.plan_id)
    if "need" in request.POST:
        plan = actions.activate_plan(plan, request.user.get_username())
    demand_active(plan)
    return plan, seen.version


def text_in(request: HttpRequest, refusal: str) -> str:
    """What the form says as `text`; refused with this sentence where it says nothing."""
    text = request.POST.get("text", "").strip()
    if not text:
        raise Invalid(refusal)
    return text


def lines(text: str) -> Iterator[tuple[int, str]]:
    """Each line of a field with something on it, and its number from 1."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            yield number, line.strip()


def pairs(text: str, signs: str, refusal: str) -> dict[str, str]:
    """`name: value` or `name=value`, one a line, cut at the first of the signs. The refusal has
    places for the number of a line that is not so, and for the sign."""
    found: dict[str, str] = {}
    for number, line in lines(text):
        places = [line.index(sign) for sign in signs if sign in line]
        if not places or not line[: min(places)].strip():
            raise Invalid(refusal.format(number=number, sign=signs[0]))
        found[line[: min(places)].strip()] = line[min(places) + 1 :].strip()
    return found


@about("prices")
def prices(text: str) -> dict[str, dict[str, float]]:
    """`model input output` on each line, `cached` and a price behind it if that is another.

    In US dollars per million tokens.
    """
    found: dict[str, dict[str, float]] = {}
    for number, line in lines(text):
        paid, _, cached = line.replace("$", "").partition(" cached ")
        try:
            model, paid_in, paid_out = paid.rsplit(None, 2)
            found[model] = {"input": float(paid_in), "output": float(paid_out)}
            if cached:
                found[model]["cached_input"] = float(cached)
        except ValueError:
            raise Invalid(
                gettext(
                    "Line {number} of the prices is not written as in: gpt-4.1-mini 0.40 1.60, or "
                    "gpt-4.1-mini 0.40 1.60 cached 0.10"
                ).format(number=number)
            ) from None
    return found


def price_lines(known: dict[str, dict[str, float]]) -> str:
    return "\n".join(price_line(model, price) for model, price in known.items())


def price_line(model: str, price: dict[str, float]) -> str:
    cached = f" cached {price['cached_input']:g}" if "cached_input" in price else ""
    return f"{model} {price['input']:g} {price['output']:g}{cached}"
