"""Versions of a plan in templates: who wrote one, and what is new in it."""

from __future__ import annotations

from functools import lru_cache

from django import template

from agents.actors import actor_of
from agents.sentences import commas
from console.plan_versions import VersionNews, news_of
from console.status_labels import name_for
from console.templatetags.languages import plural
from plans.diff import less_words
from plans.models import Plan, PlanVersion
from plans.snapshot import PlanSnapshot

register = template.Library()


@register.simple_tag
def news(plan: PlanSnapshot) -> VersionNews | None:
    """How much changed since you approved, or since the version before; None for the first."""
    if plan.version == 1:
        return None
    return compared(plan.id, plan.created_at, plan.version, plan.approved_version)


@lru_cache(maxsize=256)  # two versions never change again, and every drawing compares them
def compared(pk: int, created_at: str, version: int, approved: int | None) -> VersionNews:
    return news_of(Plan(pk=pk, version=version, approved_version=approved))


@register.filter
def news_words(news: VersionNews) -> str:
    """2 changes, 1 check removed: that less is asked for stands beside the button that says yes."""
    return commas([plural(news.changes, "change"), *less_words(*news.lost_checks)])


@register.filter
def author(version: PlanVersion, viewer: str) -> str:
    return name_for(actor_of(version.author_kind, version.author), viewer)
