"""What a page's form says it is about: the plan and version that were on the screen."""

from __future__ import annotations

from django.http import HttpRequest

from agents.errors import Invalid
from agents.models import Conversation
from plans.expected_version import Expected, demand_active, plan_in
from plans.models import Plan

EVENT = 18  # digits of the largest number of an event or message
UNNAMED = "This page does not say which plan and version it shows: load it again."


def number(text: str | None, digits: int = 9) -> int | None:
    """A number as a request writes it; anything else, or one with more digits, is none."""
    is_one = text and len(text) <= digits and text.isascii() and text.isdecimal()
    return int(text) if text and is_one else None


def expected(request: HttpRequest, version: str = "version") -> Expected | None:
    """What the form names; None unless it names both. `version` is the name of its field."""
    plan, seen = number(request.POST.get("plan")), number(request.POST.get(version))
    return None if plan is None or seen is None else Expected(plan, seen)


def plan_in_form(request: HttpRequest, conversation: Conversation) -> Plan:
    """For what is never refused for its version: exactly the plan that the form names."""
    plan = number(request.POST.get("plan"))
    if plan is None:
        raise Invalid(UNNAMED)
    return plan_in(conversation, plan)


def plan_on_page(request: HttpRequest, conversation: Conversation) -> tuple[Plan, int]:
    """For what starts or changes something: the plan in the drawer, and the version on the page.

    The verb compares the version, within its own transaction.
    """
    seen = expected(request)
    if seen is None:
        raise Invalid(UNNAMED)
    plan = plan_in(conversation, seen.plan_id)
    demand_active(plan)
    return plan, seen.version
