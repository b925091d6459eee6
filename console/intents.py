"""What a message that is no command means: an answer, a yes, a cancelling, or words to pass on."""

from __future__ import annotations

from dataclasses import dataclass

from agents import actions as talk
from agents.config.store import read_agent
from agents.errors import Conflict, Refused
from agents.models import Conversation
from console.chat_results import ChatResult, typed, with_notice, with_refusal
from console.plan_command import ask
from plans import actions, approval_phrases
from plans.actions.create import bind, join
from plans.expected_version import NOT_STARTED, Expected, VersionConflict
from plans.models import Plan, Run
from plans.queries import active_plan_and_goal, asking_plan, closed, question_call, requested_by

NEARLY = "Say yes, or press Start plan. Nothing has started."
NOT_CANCELLED = "Nothing was cancelled."
UNSAVED = """\
Nothing was started: the plan has edits that are not saved. Press Start with my edits, or save \
them first."""


@dataclass(frozen=True)
class SeenOnPage:
    """What the person had before them: the plan and its version; whether an editor was open with
    changes; with which message a plan was being asked for; and which call asked them something
    (0 for none, None where the door does not say)."""

    plan: Expected | None = None
    unsaved: bool = False
    asking: int | None = None
    question: int | None = None

    def is_another(self, plan: Plan) -> bool:
        return self.plan is not None and self.plan.plan_id != plan.pk


def handle_intent(c: Conversation, text: str, by: str, seen: SeenOnPage) -> ChatResult:
    """An open question comes first, whatever the words.

    The gate's words count only as the whole message and only where they fit.
    """
    shown, goal = active_plan_and_goal(c.pk)
    plan, asked = shown if shown and shown.is_open else None, bool(goal)
    if plan and (asking := question_read(plan, seen)):
        return answer(c, text, by, asking)
    if refusal := misplaced(text, seen, shown, asked):
        return with_refusal(c, typed(c, text, by, kind_of_word(text)), refusal)
    if approval_phrases.cancels(text) and (plan or asked):
        return cancel(c, text, by, None if asked else plan, seen)
    if plan and not asked:
        if approval_phrases.approves(text) and not is_under_way(plan):
            return start(c, text, by, plan, seen)
        if not plan.is_confirmed and approval_phrases.nearly_approves(text):
            return with_refusal(c, typed(c, text, by, "nearly"), Conflict(NEARLY))
    if plan is None and not asked and plan_first(c):
        return ask(c, text, text, by, "")
    return pass_on(c, text, by, plan, asked, seen)


def question_read(plan: Plan, seen: SeenOnPage) -> Plan | None:
    """The plan whose open question this answers: the person was looking at it."""
    if seen.is_another(plan) or (asking := asking_plan(plan)) is None:
        return None
    return asking if seen.question in (None, question_call(plan)) else None


def is_under_way(plan: Plan) -> bool:
    return plan.is_confirmed and plan.is_live


def plan_first(c: Conversation) -> bool:
    """Whether this agent plans every task, not only those asked for with /plan."""
    settings = read_agent(c.agent_id).file.plan
    return settings.enabled and settings.enforce


def pass_on(
    c: Conversation, text: str, by: str, plan: Plan | None, asked: bool, seen: SeenOnPage
) -> ChatResult:
    """A message for the agent; its turn is about the plan that the person saw."""
    waits = asked or (plan is not None and not plan.is_confirmed)
    message, turn = talk.start_turn(c, text, by, "plan" if waits else "chat")
    if asked and (request := requested_by(c.pk)) is not None:
        join(turn, request)
    elif seen.plan is not None:
        bind(turn, seen.plan.plan_id)
    elif plan is not None:
        bind(turn, plan.pk)
    return ChatResult(message, turn, c)


def misplaced(
    text: str, seen: SeenOnPage, shown: Plan | None, asked: bool
) -> VersionConflict | None:
    """Why a word about the plan that was seen cannot be meant for what is there now.

    Such a word is never a message: the model would take it for a yes to whatever it likes.
    """
    approves, cancels = approval_phrases.approves(text), approval_phrases.cancels(text)
    if seen.plan is None or not (cancels or approves or approval_phrases.nearly_approves(text)):
        return None
    outcome = NOT_CANCELLED if cancels else NOT_STARTED
    if shown is None or seen.is_another(shown):
        return replaced(shown, outcome)
    if not shown.is_open:
        return VersionConflict(f"{closed(shown)} {outcome}", shown.pk, shown.version)
    if approves and is_under_way(shown) and not asked:
        return VersionConflict(
            f"v{shown.version} is approved already. {outcome}", shown.pk, shown.version
        )
    return None


def replaced(now: Plan | None, outcome: str) -> VersionConflict:
    if now is None:
        return VersionConflict(f"There is no plan here any more. {outcome}", None, None)
    sentence = f"“{now.title}” (v{now.version}) is in the drawer now. {outcome}"
    return VersionConflict(sentence, now.pk, now.version)


def kind_of_word(text: str) -> str:
    return "cancel" if approval_phrases.cancels(text) else "approve"


def cancel(c: Conversation, text: str, by: str, plan: Plan | None, seen: SeenOnPage) -> ChatResult:
    """The plan the person was looking at, at whatever version it is; or the asking for one."""
    message = typed(c, text, by, "cancel")
    try:
        if plan is None:
            actions.cancel_request(c, by, seen.asking)
            return with_notice(c, message, "No plan is being made any more.")
        version_seen(plan, seen, NOT_CANCELLED)
    except Refused as refusal:
        return with_refusal(c, message, refusal)
    actions.cancel_plan(plan, by)
    return with_notice(c, message, "The plan is cancelled. What was done stays done.")


def start(c: Conversation, text: str, by: str, plan: Plan, seen: SeenOnPage) -> ChatResult:
    """A listed phrase starts the plan and version the person was looking at, or nothing.

    What is approved already goes on where it rests.
    """
    message = typed(c, text, by, "continue" if plan.is_confirmed else "approve")
    try:
        version = version_seen(plan, seen, NOT_STARTED)
        if seen.unsaved:
            raise Conflict(UNSAVED)
        if not plan.is_confirmed:
            actions.approve_plan(plan, version, by)
        elif plan.run == Run.PAUSED:
            actions.resume_plan(plan, by, version)
        else:
            actions.run_plan(plan, by, version=version)
    except Refused as refusal:
        return with_refusal(c, message, refusal)
    return ChatResult(message, None, c)


def version_seen(plan: Plan, seen: SeenOnPage, outcome: str) -> int:
    """The version of this plan that was read."""
    if seen.plan is None:
        raise Conflict(
            f"{outcome} A word counts only with the plan and version that were read: use the "
            f"buttons of the plan, or send plan {plan.pk} and plan_version {plan.version} with it."
        )
    if seen.is_another(plan):
        raise replaced(plan, outcome)
    return seen.plan.version


def answer(c: Conversation, text: str, by: str, plan: Plan) -> ChatResult:
    message = typed(c, text, by, "answer")
    actions.answer_question(plan, text, by)
    return ChatResult(message, None, c)
