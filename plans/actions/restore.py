"""Going back: the text of an earlier version becomes the newest one."""

from __future__ import annotations

from agents.actors import Actor
from agents.errors import NotFound
from plans.actions.ordering import new_subtasks, order_subtasks, rewrite
from plans.actions.versions import changed_text
from plans.diff import PlanText, words_of
from plans.models import PLAN_TEXT, SUBTASK_TEXT, Plan, State, Subtask
from plans.queries import checklist
from plans.schemas import SubtaskDraft
from plans.tracing import operation


@operation("go_back")
def restore_version(plan: Plan, version: int, by: Actor, seen: int | None = None) -> Plan:
    """Version n+1 with the text of `version`, as far as what has started allows.

    What was removed since comes back under new keys; what was added since leaves the list.
    """
    with changed_text(plan, by, seen) as change:
        plan = change.plan
        text = text_at(plan, version)
        for field in PLAN_TEXT:
            setattr(plan, field, text[field])  # type: ignore[literal-required]
        plan.save(update_fields=PLAN_TEXT)
        order_subtasks(plan, restored(plan, text))
        change.explanation = f"Went back to v{version}"
    return plan


def text_at(plan: Plan, version: int) -> PlanText:
    row = plan.versions.filter(version=version).first()
    if row is None:
        raise NotFound(f"The plan has no version {version}.")
    text: PlanText = row.snapshot
    return text


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
    return {tuple(getattr(s, field) for field in SUBTASK_TEXT): s for s in spare}
