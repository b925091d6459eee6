"""The plan in the prompt: whole, as a reference to read it by, or in the person's own words."""

from __future__ import annotations

from collections.abc import Callable

from django.utils import timezone

from agents.chains.macros import Meanings, UnknownMacro, expand
from agents.errors import Invalid
from agents.turns.transcript import CHARACTERS_PER_TOKEN
from plans.models import Plan
from plans.prompts import checklist_line, plan_text
from plans.rows import checklist
from plans.snapshot import progress

# "auto", "full", "reference"; any other text is a template, and a function writes it itself.
Context = str | Callable[[Plan], str]

MOST_TOKENS = 1000  # of a plan that "auto" puts into the prompt whole


def plan_context(plan: Plan, wanted: Context = "auto") -> str:
    """What a system message says of the plan; a template with an unknown macro is refused."""
    if callable(wanted):
        return wanted(plan)
    if wanted == "reference":
        return reference(plan)
    if wanted not in ("auto", "full"):
        return filled(wanted, plan)
    whole = plan_text(plan)
    fits = len(whole.encode()) <= MOST_TOKENS * CHARACTERS_PER_TOKEN
    return whole if fits or wanted == "full" else reference(plan)


def reference(plan: Plan) -> str:
    so_far = progress(list(checklist(plan)))
    settled = "{done} done and {abandoned} abandoned of {total} subtasks".format(**so_far)
    return (
        f"Plan: {plan.title} (v{plan.version})\nProgress: {settled}.\n"
        "Its goal, content and subtasks are not shown here: read them with get_plan."
    )


def filled(template: str, plan: Plan) -> str:
    """The author's text, expanded once: braces that a plan brings along stay braces."""
    facts: dict[str, object] = {
        "title": plan.title,
        "version": str(plan.version),
        "content": plan.content,
        "checklist": "\n".join(checklist_line(subtask) for subtask in checklist(plan)),
        "goal": plan.goal,
        "expected_outcome": plan.expected_outcome,
    }
    try:
        return expand(template, Meanings(timezone.localtime(), outputs=facts))
    except UnknownMacro as unknown:
        raise Invalid(str(unknown)) from None
