"""Which plan and version a decision is about: optimistic concurrency for everything people decide.

Each door (page, composer, API, command) carries `Expected`, what its person was shown. A verb does
what was decided about exactly that, or nothing, and says in one sentence what is there now.

| verb                                            | needs            | otherwise             |
| ----------------------------------------------- | ---------------- | --------------------- |
| approve, words that approve                     | plan and version | nothing is started    |
| run, resume, start again, retry, raise a budget | plan and version | nothing is started    |
| edit, add, change, move, remove, go back, undo  | plan and version | nothing is changed    |
| skip, replan                                    | plan and version | nothing is changed    |
| "I have looked", "Take back", "Take as it is"   | plan and version | nothing is changed    |
| take a document out of force                    | plan and version | nothing is changed    |
| ask for changes, send comments                  | plan and version | nothing is sent       |
| stop, pause, cancel, words that cancel          | plan             | never for its version |
| answer to a question                            | plan, question   | it is a plain message |
| comment on a subtask                            | plan             | –                     |
| activate, delete, use again                     | plan             | –                     |

Pages must name both, a form without them is refused. The API and the commands name the plan in
their address; there approving and PATCH need the version too, and the other verbs check it when it
is given: what they start has been approved by someone who was shown it, and what they change waits
for a new yes.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet
from django.utils.functional import Promise

from agents.errors import Conflict, NotFound
from agents.models import Conversation, Turn
from agents.stored_text import gettext, gettext_lazy
from plans.models import ActivePlan, Plan

NOT_CHANGED = gettext_lazy("Nothing was changed.")
NOT_STARTED = gettext_lazy("Nothing was started.")
NOT_SENT = gettext_lazy("Nothing was sent.")


@dataclass(frozen=True)
class Expected:
    """The plan and the version that a person was shown when they decided."""

    plan_id: int
    version: int


class VersionConflict(Conflict):
    """Another plan or version than was expected; `plan` and `current_version` are there now."""

    def __init__(self, sentence: str, plan: int | None, current_version: int | None) -> None:
        super().__init__(sentence, current_version)
        self.plan = plan


def plan_in(conversation: Conversation, plan_id: int) -> Plan:
    """Exactly this plan of the conversation, whatever is in the drawer."""
    plan = Plan.objects.filter(pk=plan_id, conversation=conversation).first()
    if plan is None:
        raise NotFound(gettext("That plan is gone. Nothing was changed."))
    return plan


def demand_active(plan: Plan, outcome: str | Promise = NOT_CHANGED) -> None:
    """Refuse a plan that another one has replaced in the drawer, and say which."""
    pointer = ActivePlan.objects.filter(conversation=plan.conversation_id)
    now = Plan.objects.filter(pk__in=pointer.values("plan")).first()
    if now is None:
        raise VersionConflict(
            gettext("“{title}” is not in the drawer any more. {outcome}").format(
                title=plan.title, outcome=outcome
            ),
            None,
            None,
        )
    if now.pk != plan.pk:
        sentence = gettext("“{title}” (v{version}) is in the drawer now. {outcome}").format(
            title=now.title, version=now.version, outcome=outcome
        )
        raise VersionConflict(sentence, now.pk, now.version)


def demand_version(plan: Plan, version: int | None, outcome: str | Promise = NOT_CHANGED) -> None:
    """Refuse what was decided about another version; None where a door may leave it out."""
    if version is not None and version != plan.version:
        sentence = gettext("The plan is now v{now}; you saw v{seen}. {outcome}")
        if outcome == NOT_STARTED:
            sentence = gettext("The plan is now v{now}, not v{seen}. {outcome}")
        sentence = sentence.format(now=plan.version, seen=version, outcome=outcome)
        raise VersionConflict(sentence, plan.pk, plan.version)


def versions_by(turns: QuerySet[Turn], plan: int) -> list[list[int]]:
    """The versions of a plan that each of these turns has made."""
    rows = turns.filter(checkpoint__has_key="versions").values_list("checkpoint", flat=True)
    return [checkpoint["versions"].get(str(plan), []) for checkpoint in rows]
