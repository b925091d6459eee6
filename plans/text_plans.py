"""A plan that a planner wrote as text, because its chain calls no tools or it chose not to.

A list of steps in JSON counts from every planner: nobody answers a question in it. A numbered list
counts only from a chain that cannot call create_plan; any other planner may well explain something
in one. What comes of it is a plan like every other, and waits for the person's yes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from pydantic import ValidationError

from agents.actions import add_message
from agents.engine.steps import result_of
from agents.errors import Refused
from agents.models import Message, Turn, TurnState
from agents.stored_text import gettext
from plans import actions
from plans.models import SUBTASK_TEXT
from plans.queries import AGENT, lock_active_plan
from plans.schemas import LONGEST_NAME, LONGEST_TITLE, PlanDraft, Revision, SubtaskRevision

LONGEST = 200_000  # characters of an answer that is looked through
LISTS = ("subtasks", "steps", "tasks", "plan")
NAMES = ("name", "title", "step", "task")
OUTCOMES = ("expected_outcome", "expected outcome", "outcome")
ITEM = re.compile(r"(?:step )?(\d{1,3})[.):]\s+(\S.*)", re.IGNORECASE)
Json = dict[str, object]


def accept_text_plan(turn: Turn) -> None:
    """After a planning turn: its answer makes the plan, where it is one and none was made."""
    if turn.state != TurnState.DONE:
        return
    try:
        pointer = lock_active_plan(turn.conversation)
        if from_key := turn.checkpoint.get("replan"):
            plan = pointer.plan
            if plan is None or plan.pk != turn.checkpoint.get("replans", plan.pk):
                return  # another one is in the drawer by now
            if plan.is_open and (draft := draft_from_answer(turn, plan.goal)):
                new = [SubtaskRevision.model_validate(each.model_dump()) for each in draft.subtasks]
                actions.replace_rest(plan, from_key, Revision(subtasks=new), AGENT, turn)
            return
        asked = pointer.asked_message
        is_asked = bool(pointer.asked_goal) and (asked is None or (asked.turn_id or 0) <= turn.pk)
        if is_asked and (draft := draft_from_answer(turn, pointer.asked_goal)):
            actions.create_plan(turn.conversation, draft, AGENT, turn)
    except Refused as refusal:
        add_message(turn.conversation, Message.Kind.NOTICE, str(refusal), turn=turn)


def draft_from_answer(turn: Turn, goal: str) -> PlanDraft | None:
    numbered = bool(turn.checkpoint.get("by_output"))
    written = plan_in_text(result_of(turn), numbered=numbered)
    if written is None:
        return None
    first = next((line.strip() for line in goal.splitlines() if line.strip()), gettext("Plan"))
    title = written.get("title") or written.get("name") or first
    try:
        return PlanDraft.model_validate({**written, "title": str(title)[:LONGEST_TITLE]})
    except ValidationError:
        return None


def plan_in_text(text: str, *, numbered: bool = False) -> Json | None:
    """The plan in a text as {"subtasks", …}, or None where it is an answer like any other."""
    text = text.strip()
    if not text or len(text) > LONGEST:
        return None
    if plan := plan_in_json(text):
        return plan
    fenced = [plan for block in fences(text) if (plan := plan_in_json(block))]
    if fenced:
        return fenced[0] if len(fenced) == 1 else None
    steps = numbered_steps(text) if numbered else []
    return {"subtasks": steps} if steps else None


def plan_in_json(text: str) -> Json | None:
    """A list of steps, or an object that holds one."""
    if text[:1] not in ("[", "{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    whole = value if isinstance(value, dict) else {}
    listed = next((whole[key] for key in LISTS if isinstance(whole.get(key), list)), value)
    steps = [step_of(each) for each in listed] if isinstance(listed, list) else []
    if not steps or None in steps:
        return None
    kept = {key: each for key, each in whole.items() if key not in LISTS and isinstance(each, str)}
    return {**kept, "subtasks": steps}


def step_of(value: object) -> Json | None:
    """One step from its words, or from an object that names or describes it."""
    if isinstance(value, str):
        return named(value) if value.strip() else None
    if not isinstance(value, dict):
        return None
    about = str(value.get("description") or "")
    name = text_at(value, NAMES) or about
    if not name.strip():
        return None
    step = named(name)
    more = "" if about == name else about
    description = "\n".join(filter(None, (str(step["description"]), more)))
    texts = {field: text_at(value, (field,)) for field in SUBTASK_TEXT}
    outcome = text_at(value, OUTCOMES)
    checks = value.get("checks")
    whole = {**texts, **step, "description": description, "expected_outcome": outcome}
    return {**whole, "checks": checks} if isinstance(checks, list) else whole


def text_at(value: Json, keys: tuple[str, ...]) -> str:
    return next((str(value[key]) for key in keys if isinstance(value.get(key), str)), "")


def named(words: str) -> Json:
    """A step's name on one line; what does not fit is its description."""
    words = words.strip()
    first, _, rest = words.partition("\n")
    item = ITEM.fullmatch(first.strip())
    name = (item[2] if item else first).strip().strip("*").strip()
    if len(name) > LONGEST_NAME:
        return {"name": f"{name[: LONGEST_NAME - 1]}…", "description": words}
    return {"name": name, "description": rest.strip()}


def fences(text: str) -> Iterator[str]:
    """What stands between fences of backticks."""
    block: list[str] | None = None
    for line in text.splitlines():
        if line.strip().startswith("```"):
            if block is not None:
                yield "\n".join(block).strip()
            block = [] if block is None else None
        elif block is not None:
            block.append(line)


def numbered_steps(text: str) -> list[Json]:
    """The steps of a text that is a numbered list: nothing but a line or two before it.

    Lines that are indented or bulleted tell more of the step above. Anything else, a gap in the
    numbers or a question makes it an ordinary answer.
    """
    steps: list[list[str]] = []
    before = 0
    for line in text.splitlines():
        stripped = line.strip().strip("*#").strip()
        item = ITEM.fullmatch(stripped) if line[:4].strip() else None
        if item and int(item[1]) == len(steps) + 1:
            steps.append([item[2]])
        elif steps and (line[:1].isspace() or line[:2] in ("- ", "* ") or not stripped):
            steps[-1].append(stripped)
        elif steps or before == 2:
            return []
        else:
            before += bool(stripped)
    if len(steps) < 2 or any("?" in line for line in text.splitlines()[:2]):
        return []
    read = [step_of("\n".join(lines)) for lines in steps]
    return [step for step in read if step]
