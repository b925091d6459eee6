"""Plans whose subtasks have checks, for tests that tell what becomes of a finish."""

from __future__ import annotations

from typing import Any

from agents.models import Conversation
from plans import actions
from plans.models import CheckResult
from plans.schemas import PlanDraft
from tests.world import ALL_FILE_TOOLS, conversation, drive, files_of, plan_of, scripted, shown

TOOLS = {**ALL_FILE_TOOLS, "shell": "allow", "fetch_url": "allow"}


def begun(
    *checks: dict[str, Any],
    files: dict[str, str] | None = None,
    tools: dict[str, str] | None = None,
    names: tuple[str, ...] = ("Write",),
    plan: dict[str, Any] | None = None,
    **config: Any,
) -> Conversation:
    """A plan whose subtasks have these checks waits for its yes; an admin's agent will run it."""
    settings = {"enabled": True, "max_attempts": 1, **(plan or {})}
    c = conversation(tools=TOOLS if tools is None else tools, plan=settings, **config)
    type(c.owner).objects.update(is_superuser=True)
    write(c, **(files or {}))
    subtasks = [{"name": name, "checks": list(checks)} for name in names]
    draft = PlanDraft.model_validate({"title": "Tidy", "subtasks": subtasks})
    actions.create_plan(c, draft, "alice", goal="Tidy up")
    return c


def write(c: Conversation, **files: str) -> None:
    for path, text in files.items():
        place = files_of(c) / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


def worked(c: Conversation, *replies: Any) -> Any:
    """The plan gets its yes and the model plays these replies; gives the wire."""
    wire = scripted(*replies)
    actions.approve_plan(plan_of(c), 1, "alice")
    drive()
    return wire


def first(c: Conversation) -> dict[str, Any]:
    return dict(shown(c)["subtasks"][0])  # type: ignore[index]


def results(c: Conversation) -> list[tuple[str, bool | None]]:
    rows = CheckResult.objects.filter(subtask__plan__conversation=c).order_by("pk")
    return [(row.key, row.passed) for row in rows]
