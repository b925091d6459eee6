"""The plan in the prompt: whole, as a reference to read it by, or in the person's own words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.utils import timezone

from agents.chains.template import TemplateValues, UnknownMacro, expand
from agents.errors import Invalid
from agents.llm.chat_completions import CHARACTERS_PER_TOKEN
from plans.models import Plan, Subtask
from plans.prompts import lines_of, plan_text
from plans.queries import checklist
from plans.snapshot import progress

# "auto", "full", "reference"; any other text is a template, and a function writes it itself.
Context = str | Callable[[Plan], str]

MOST_TOKENS = 1000  # of a plan that "auto" puts into the prompt whole


def plan_context(
    plan: Plan, wanted: Context = "auto", subtasks: Sequence[Subtask] | None = None
) -> str:
    """What a system message says of the plan; a template with an unknown macro is refused.

    `subtasks` is its checklist where that is not the present one (plans.approved_version).
    """
    if callable(wanted):
        return wanted(plan)
    rows = list(checklist(plan)) if subtasks is None else subtasks
    if wanted == "reference":
        return reference(plan, rows)
    if wanted not in ("auto", "full"):
        return filled(wanted, plan, rows)
    whole = plan_text(plan, rows)
    fits = len(whole.encode()) <= MOST_TOKENS * CHARACTERS_PER_TOKEN
    return whole if fits or wanted == "full" else reference(plan, rows)


def reference(plan: Plan, subtasks: Sequence[Subtask]) -> str:
    so_far = progress(plan, list(subtasks))
    head = f"Plan: {plan.title} (v{plan.version})\n"
    if not so_far["total"]:
        return f"{head}Its goal and content are not shown here: read them with get_plan."
    settled = "{done} done and {abandoned} abandoned of {total} subtasks".format(**so_far)
    return (
        f"{head}Progress: {settled}.\n"
        "Its goal, content and subtasks are not shown here: read them with get_plan."
    )


def filled(template: str, plan: Plan, subtasks: Sequence[Subtask]) -> str:
    """The author's text, expanded once: braces that a plan brings along stay braces."""
    facts: dict[str, object] = {
        "title": plan.title,
        "version": str(plan.version),
        "content": plan.content,
        "checklist": lines_of(subtasks),
        "goal": plan.goal,
        "expected_outcome": plan.expected_outcome,
    }
    try:
        return expand(template, TemplateValues(timezone.localtime(), outputs=facts))
    except UnknownMacro as unknown:
        raise Invalid(str(unknown)) from None
