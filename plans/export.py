"""A plan as a markdown document, to keep or to send."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import indent

from plans.attempts import attempts_of, times_of_plan
from plans.models import Plan, Subtask
from plans.queries import checklist
from plans.standing import standings_of

BOXES = {"todo": "[ ]", "in_progress": "[ ]", "done": "[x]", "abandoned": "[-]"}
STATES = {"todo": "to do", "in_progress": "in progress"}


def as_markdown(plan: Plan) -> str:
    return "\n\n".join(part for part in parts(plan) if part) + "\n"


def parts(plan: Plan) -> Iterator[str]:
    yield f"# {plan.title}"
    yield indent(plan.goal, "> ", lambda line: True) if plan.goal else ""
    yield f"{standings_of([plan.pk])[plan.pk].word}. {approval(plan)}"
    times = times_of_plan(plan, attempts_of(plan))
    yield f"{times.words.capitalize()}." if times.worked else ""
    yield labelled("Expected outcome", plan.expected_outcome)
    yield plan.content
    yield "## Subtasks"
    yield "\n".join(item(subtask) for subtask in checklist(plan))
    yield f"## Outcome\n\n{plan.outcome}" if plan.outcome else ""


def approval(plan: Plan) -> str:
    """Which version this is, and whether a person said yes to it."""
    if plan.is_confirmed and plan.approved_at:
        day = plan.approved_at.date().isoformat()
        return f"Version {plan.version}, approved by {plan.approved_by} on {day}."
    return f"Version {plan.version}, not approved."


def item(subtask: Subtask) -> str:
    """A line with a box, and below it, indented, what there is to say."""
    state = "" if subtask.state == "done" else f" ({said(subtask.state, subtask.reason)})"
    notes = [
        subtask.description,
        labelled("Expected", subtask.expected_outcome),
        labelled("Outcome", subtask.outcome),
    ]
    below = "".join(f"\n\n{indent(note, '  ')}" for note in notes if note)
    return f"- {BOXES[subtask.state]} **{subtask.name}**{state}{below}"


def said(state: str, reason: str) -> str:
    word = STATES.get(state, state)
    return f"{word}: {reason}" if reason else word


def labelled(label: str, text: str) -> str:
    return f"*{label}:* {text}" if text else ""
