"""The one door for what a person types: a command, an answer, a yes, a cancelling, or a message.

Commands act at once; anything else is read for what it means here and now.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db import transaction
from django.utils.functional import Promise

from agents import actions as talk
from agents import events
from agents.config.store import read_agent
from agents.errors import Conflict, Refused
from agents.models import Conversation, Message
from agents.sentences import commas
from agents.stored_text import gettext, gettext_lazy
from agents.workspace import attachments
from agents.workspace.attachments import Files
from console.plan_requests import ChatResult, ask, plan_command, typed, with_notice, with_refusal
from console.throttling import count_message
from console.typed_commands import Command, command_in, demand_meant
from plans import actions, approval_phrases
from plans.actions.create import bind, join
from plans.comments import count_words, kept_comments
from plans.expected_version import NOT_STARTED, Expected, VersionConflict
from plans.in_force import documents_in_force
from plans.models import Plan, Run, State
from plans.queries import (
    active_plan_and_goal,
    asking_plan,
    closed,
    question_call,
    requested_by,
)

HELP = gettext_lazy("""\
- `/plan` and what you want to end up with: asks for a plan. Nothing runs until you start it.
- `/plan` alone: shows the plan.
- `/clear`: empties this view and what the model remembers, and ends the open plans here; \
nothing is deleted.
- `/new`: begins a new conversation, and ends the open plans of this one.
- `/help`: this list.""")


NEARLY = {
    "nearly_yes": gettext_lazy("Say yes, or press Start plan. Nothing has started."),
    "nearly_no": gettext_lazy(
        "Nothing has started. To cancel the plan, say cancel or press Cancel plan; to change it, "
        "say what should be different."
    ),
}
NOT_CANCELLED = gettext_lazy("Nothing was cancelled.")
UNSAVED = gettext_lazy(
    "Nothing was started: the plan has edits that are not saved. Press Start with my "
    "edits, or save them first."
)

UNSENT = gettext_lazy(
    "Nothing was started: {comments} on the plan went to nobody. Press Ask for changes, or Start "
    "without."
)


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


def handle_message(
    conversation: Conversation,
    text: str,
    by: str,
    seen: Expected | None = None,
    *,
    unsaved: bool = False,
    asking: int | None = None,
    question: int | None = None,
    attached: Iterable[int] = (),
    sent_as: str = "",
) -> ChatResult:
    """Take in a message. `seen` is the plan and version that the person had before them.

    `unsaved` says that an editor with changes was open there, `asking` with which message a plan
    was being asked for, `question` which call asked the person (0 for none, None where the door
    does not say). Files that are `attached` go with what a model reads; a command, a yes or a no
    leaves them in the message box, which is that of the new conversation after /new. What was
    `sent_as` the same before is taken in already.
    """
    wanted = list(attached)
    talk.check_text(text, has_files=bool(wanted))
    talk.demand_no_helper(conversation, by)
    with transaction.atomic():
        count_message(conversation.owner_id)
        conversation = events.locked_conversation(conversation.pk)
        if sent_as and (known := taken_in(conversation, sent_as)):
            return known
        if wanted:  # what can be refused is refused before anything is begun
            attachments.demand_in_box(conversation, wanted)
        files = attachments.claim(conversation, wanted)
        if command := command_in(text):
            result = run_command(conversation, text, command, by, files)
        else:
            on_page = SeenOnPage(seen, unsaved, asking, question)
            result = handle_intent(conversation, text, by, on_page, files)
        if not result.message.has_files:
            attachments.return_to_box(result.conversation, files)
        if sent_as:
            remember(result, conversation, sent_as)
        return result


def remember(result: ChatResult, c: Conversation, sent_as: str) -> None:
    """So that the same message is not taken in twice; that of a /new is known by what it began."""
    if result.conversation.pk != c.pk:
        Conversation.objects.filter(pk=result.conversation.pk).update(begun_as=sent_as)
    else:
        Message.objects.filter(pk=result.message.pk).update(sent_as=sent_as)


def taken_in(c: Conversation, sent_as: str) -> ChatResult | None:
    """What became of it when it came before; the message of a /new is not there any more."""
    if known := c.messages.filter(sent_as=sent_as).first():
        return ChatResult(known, None, c)
    if begun := Conversation.objects.filter(owner=c.owner_id, begun_as=sent_as).first():
        return ChatResult(Message(conversation=c), None, begun)
    return None


def run_command(c: Conversation, text: str, command: Command, by: str, files: Files) -> ChatResult:
    """Commands act at once, are never queued and never reach the model."""
    demand_meant(command)
    name, rest, _ = command
    if name == "plan":
        return plan_command(c, text, rest, by, files=files)
    message = typed(c, text, by, name)
    if name == "clear":  # the view and the model's memory begin after this; nothing is deleted
        ended = actions.clear(c, by)
        seq = events.record(c, "conversation.cleared", "", by)
        Conversation.objects.filter(pk=c.pk).update(cleared_seq=seq, draft="")
        notice_ended(c, ended, gettext("Show what was cleared brings their texts back."))
        return ChatResult(message, None, c)
    if name == "new":  # the old one keeps what was said and a finished plan, and not the command
        ended = actions.end_open_plans(c, by)
        Message.objects.filter(pk=message.pk).delete()
        fresh = talk.create_conversation(c.owner, c.agent_id)
        Conversation.objects.filter(pk=fresh.pk).update(draft=rest)  # it was no message yet
        notice_ended(fresh, ended, gettext("They stay in the conversation before this one."))
        return ChatResult(message, None, fresh)
    if name == "help":
        return with_notice(c, message, str(HELP), command="help")
    unknown = gettext("There is no command /{name}. /help lists what there is.")
    return with_notice(c, message, unknown.format(name=name[:40]))


def notice_ended(c: Conversation, ended: list[Plan], where: str) -> None:
    """Plans that were not in the drawer have ended too: a notice names them."""
    if len(ended) > 1:
        titles = commas([gettext("“{title}”").format(title=plan.title) for plan in ended])
        notice = gettext("Ended: {titles}. {where}").format(titles=titles, where=where)
        talk.add_message(c, Message.Kind.NOTICE, notice)


def handle_intent(
    c: Conversation, text: str, by: str, seen: SeenOnPage, files: Files
) -> ChatResult:
    """An open question comes first, whatever the words.

    The gate's words count only as the whole message and only where they fit.
    """
    active, goal = active_plan_and_goal(c.pk)
    plan, asked = active if active and active.is_open else None, bool(goal)
    asking = asking_plan(plan) if plan and not seen.is_another(plan) else None
    if plan and asking and seen.question in (None, question_call(plan)):
        message = typed(c, text, by, "answer", stays=True, files=files)
        actions.answer_question(asking, text, by, files)
        return ChatResult(message, None, c)
    meaning = approval_phrases.meaning_of(text)
    if refusal := misplaced(meaning, seen, active, asked):
        message = typed(c, text, by, "cancel" if meaning == "cancel" else "approve")
        return with_refusal(c, message, refusal)
    if meaning == "cancel" and (plan or asked):
        return cancel(c, text, by, None if asked else plan, seen)
    if plan and not asked:
        if meaning == "approve" and not is_under_way(plan):
            return start(c, text, by, plan, seen)
        if not plan.is_confirmed and (sentence := NEARLY.get(meaning)):
            return with_refusal(c, typed(c, text, by, "nearly"), Conflict(str(sentence)))
    return answer(c, text, by, seen, files=files)


def answer(
    c: Conversation, text: str, by: str, seen: SeenOnPage, chain: str = "", files: Files = ()
) -> ChatResult:
    """A message for the agent; its turn is about the plan that the person saw.

    `chain` is thought with in place of the agent's.
    """
    active, goal = active_plan_and_goal(c.pk)
    plan, asked = active if active and active.is_open else None, bool(goal)
    if plan is None and not asked and read_agent(c.agent_id).file.plan.is_enforced:
        return ask(c, text, text, by, chain, files=files)
    waits = asked or (plan is not None and not plan.is_confirmed)
    kind = "plan" if waits else "chat"
    message, turn = talk.start_turn(c, text, by, kind, chain=chain, files=files)
    if asked and (request := requested_by(c.pk)) is not None:
        join(turn, request)
    elif about := seen.plan.plan_id if seen.plan else plan.pk if plan else None:
        bind(turn, about)
    elif active and active in documents_in_force.models(conversation=c.pk):
        bind(turn, active.pk)
    return ChatResult(message, turn, c)


def is_under_way(plan: Plan) -> bool:
    return plan.is_confirmed and plan.is_live


def misplaced(
    meaning: approval_phrases.Meaning, seen: SeenOnPage, active: Plan | None, asked: bool
) -> VersionConflict | None:
    """Why a typed yes or no to the plan that was seen cannot be meant for what is there now.

    It is never a message: the model would take it for a yes to whatever it likes.
    """
    if seen.plan is None or not meaning:
        return None
    outcome = NOT_CANCELLED if meaning == "cancel" else NOT_STARTED
    if active is None or seen.is_another(active):
        return replaced(active, outcome)
    if not active.is_open:
        sentence = gettext("{closed} {outcome}").format(closed=closed(active), outcome=outcome)
        return VersionConflict(sentence, active.pk, active.version)
    if meaning == "approve" and is_under_way(active) and not asked:
        sentence = gettext("v{version} is approved already. {outcome}").format(
            version=active.version, outcome=outcome
        )
        return VersionConflict(sentence, active.pk, active.version)
    return None


def replaced(now: Plan | None, outcome: str | Promise) -> VersionConflict:
    if now is None:
        gone = gettext("There is no plan here any more. {outcome}").format(outcome=outcome)
        return VersionConflict(gone, None, None)
    sentence = gettext("“{title}” (v{version}) is in the drawer now. {outcome}").format(
        title=now.title, version=now.version, outcome=outcome
    )
    return VersionConflict(sentence, now.pk, now.version)


def cancel(c: Conversation, text: str, by: str, plan: Plan | None, seen: SeenOnPage) -> ChatResult:
    """The plan the person was looking at, at whatever version it is; or the asking for one."""
    message = typed(c, text, by, "cancel")
    try:
        if plan is None:
            actions.cancel_request(c, by, seen.asking)
            return with_notice(c, message, gettext("No plan is being made any more."))
        version_seen(plan, seen, NOT_CANCELLED)
    except Refused as refusal:
        return with_refusal(c, message, refusal)
    plan = actions.cancel_plan(plan, by)
    words = gettext("The plan is cancelled. What was done stays done.")
    if plan.state == State.DONE:  # of a document in force only the version that waited is given up
        words = gettext("v{version} stays in force as it is.").format(version=plan.version)
    return with_notice(c, message, words)


def start(c: Conversation, text: str, by: str, plan: Plan, seen: SeenOnPage) -> ChatResult:
    """A listed phrase starts the plan and version the person was looking at, or nothing.

    What is approved already goes on where it rests.
    """
    message = typed(c, text, by, "continue" if plan.is_confirmed else "approve")
    try:
        version = version_seen(plan, seen, NOT_STARTED)
        if seen.unsaved:
            raise Conflict(str(UNSAVED))
        if comments := len(kept_comments(plan)):
            raise Conflict(UNSENT.format(comments=count_words(comments)))
        if not plan.is_confirmed:
            actions.approve_plan(plan, version, by)
        elif plan.run == Run.PAUSED:
            actions.resume_plan(plan, by, version)
        else:
            actions.run_plan(plan, by, version=version)
    except Refused as refusal:
        return with_refusal(c, message, refusal)
    talk.keep_in_view(message)
    return ChatResult(message, None, c)


def version_seen(plan: Plan, seen: SeenOnPage, outcome: str | Promise) -> int:
    """The version of this plan that was read."""
    if seen.plan is None:
        raise Conflict(
            gettext(
                "{outcome} A typed yes or no counts only with the plan and version that were read: "
                "use the plan's buttons, or send plan {plan} and plan_version {version} with it."
            ).format(outcome=outcome, plan=plan.pk, version=plan.version)
        )
    if seen.is_another(plan):
        raise replaced(plan, outcome)
    return seen.plan.version
