"""Each verb of plans/actions as a span `plan.operation` that carries the plan as it is after it."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from agents.models import Conversation, Turn
from agents.telemetry import tracing
from plans.changes.scope import Scope
from plans.models import Attempt, Plan

P = ParamSpec("P")
R = TypeVar("R")


def operation(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Records a verb under this name, which operators search for.

    Goes above `transaction.atomic`, so that the span ends after the commit.
    """

    def decorate(verb: Callable[P, R]) -> Callable[P, R]:
        @wraps(verb)
        def traced(*args: P.args, **kwargs: P.kwargs) -> R:
            given = [about(each) for each in (*args, *kwargs.values())]
            facts = {"planside.plan.operation": name, **facts_of(given)}
            with tracing.span("plan.operation", facts) as span:
                result = verb(*args, **kwargs)
                if span.is_recording():
                    tracing.note(span, outcome([result, *given]))
                return result

        return traced

    return decorate


def about(thing: object) -> object:
    """What a verb was given; of changes that it is about, whose they are."""
    return thing.plan or thing.about if isinstance(thing, Scope) else thing


def facts_of(given: list[object]) -> dict[str, str | int]:
    facts: dict[str, str | int] = {}
    if plan := next(filter(None, map(plan_id, given)), None):
        facts["planside.plan.id"] = plan
    conversations = (
        thing.pk if isinstance(thing, Conversation) else thing.conversation_id
        for thing in given
        if isinstance(thing, Conversation | Plan | Turn)
    )
    if conversation := next(filter(None, conversations), None):
        facts["gen_ai.conversation.id"] = str(conversation)
    return facts


def outcome(things: list[object]) -> tracing.Facts:
    """The plan as everybody reads it now; of one that was deleted nothing is left to tell.

    A tool's arguments may hold anything: they are told only where content is asked for.
    """
    from plans.snapshot_reading import plan_snapshot

    plan = Plan.objects.filter(pk=next(filter(None, map(plan_id, things)), 0)).first()
    if plan is None:
        return {}
    document = plan_snapshot(plan).document()
    if not tracing.captures_content():
        del document["approvals"], document["activity"]
    return {
        "planside.plan.id": plan.pk,
        "planside.plan.version": plan.version,
        "planside.plan.state": plan.state,
        "planside.plan.run": plan.run,
        "planside.plan": json.dumps(document, ensure_ascii=False, default=str),
    }


def plan_id(thing: object) -> int | None:
    if isinstance(thing, Plan):
        return thing.pk
    if isinstance(thing, Attempt):
        return int(thing.subtask.plan_id)
    return thing.plan if isinstance(thing, Turn) else None
