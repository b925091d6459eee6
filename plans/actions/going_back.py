"""Going back: the text of an earlier version becomes the newest one."""

from __future__ import annotations

from agents.errors import Missing
from plans.actions.layout import TEXT_FIELDS, lay_out, new_subtasks, rewrite
from plans.actions.versions import changing
from plans.diff import PLAN_FIELDS, PlanText, words_of
from plans.models import Plan, State, Subtask
from plans.operations import operation
from plans.rows import checklist
from plans.shapes import SubtaskDraft


@operation
def go_back(plan: Plan, version: int, by: str, seen: int | None = None) -> Plan:
    """Version n+1 with the text of `version`, as far as what has started allows.

    What was removed since comes back under new keys; what was added since leaves the list.
    """
    with changing(plan, by, seen) as change:
        plan = change.plan
        text = text_at(plan, version)
        for field, value in zip(PLAN_FIELDS, plan_words(text), strict=True):
            setattr(plan, field, value)
        plan.save()
        lay_out(plan, restored(plan, text))
        change.explanation = f"Went back to v{version}"
    return plan


def text_at(plan: Plan, version: int) -> PlanText:
    row = plan.versions.filter(version=version).first()
    if row is None:
        raise Missing(f"The plan has no version {version}.")
    text: PlanText = row.snapshot
    return text


def plan_words(text: PlanText) -> tuple[str, str, str]:
    return text["title"], text["content"], text["expected_outcome"]


def restored(plan: Plan, text: PlanText) -> list[Subtask]:
    """The unstarted subtasks as they were, in the order they had."""
    here = {subtask.key: subtask for subtask in checklist(plan)}
    wanted = [each for each in text["subtasks"] if can_be_had(here.get(each["key"]))]
    spare = spare_ones(here, {each["key"] for each in wanted})
    missing = []
    order: list[Subtask | None] = []
    for words in wanted:
        subtask = here.get(words["key"]) or spare.pop(words_of(words), None)
        order.append(subtask)
        if subtask is None:
            missing.append(SubtaskDraft.model_validate(words))
        else:
            rewrite(subtask, dict(words))
    fresh = iter(new_subtasks(plan, missing))
    return [subtask or next(fresh) for subtask in order]


def can_be_had(subtask: Subtask | None) -> bool:
    """What has started stays as it is; what is not in the list any more can be added again."""
    return subtask is None or subtask.state == State.TODO


def spare_ones(here: dict[str, Subtask], wanted: set[str]) -> dict[tuple[str, ...], Subtask]:
    """Unstarted ones that would leave, by their words: one that came back before needs no copy."""
    spare = (s for s in here.values() if s.key not in wanted and s.state == State.TODO)
    return {tuple(getattr(s, field) for field in TEXT_FIELDS): s for s in spare}
