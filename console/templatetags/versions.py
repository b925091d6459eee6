"""What the drawer says of a plan's versions."""

from __future__ import annotations

from functools import lru_cache

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
    return compared(plan["id"], plan["created_at"], plan["version"], plan["approved_version"])


@lru_cache(maxsize=256)  # two versions never change again, and every drawing compares them
def compared(pk: int, created_at: str, version: int, approved: int | None) -> News:
    return news_of(Plan(pk=pk, version=version, approved_version=approved))
