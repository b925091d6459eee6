"""What the drawer says of a plan's versions."""

from __future__ import annotations

from django import template

from console.marks import Snapshot
from console.versions import News, news_of
from plans.models import Plan

register = template.Library()


@register.simple_tag
def news(plan: Snapshot) -> News | None:
    """How much changed since you approved, or since the version before; None for the first."""
    if plan["version"] == 1:
        return None
    approved = plan["approved_version"]
    return news_of(Plan(pk=plan["id"], version=plan["version"], approved_version=approved))
