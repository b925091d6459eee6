"""Which buttons a plan has by its status, below it, at its subtasks and on the card of its end.

`plan_button` and `plans/_actions.html` only draw them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy

from agents.models import Message
from console.changes.changed_files import address_of
from console.endings import Ending
from console.visible_text import visible_plain
from plans import actions
from plans.actions.run import why_no_lane
from plans.actions.verb import Verb
from plans.models import OPEN, Plan, Run
from plans.snapshot import PlanSnapshot, SubtaskSnapshot

RESTS = (Run.IDLE,)
STARTS = ("plan-approve", "plan-again", "plan-resume", "subtask-retry")  # where these post
AT_WORK = (Run.QUEUED, Run.RUNNING, Run.PAUSING, Run.PAUSED)


@dataclass(frozen=True)
class PlanButton:
    """One verb. It does one thing: post, open a dialog, or lead to a page.

    The id is the verb's own: drawn anew, a button never becomes another under somebody's finger.
    """

    id: str
    label: str | Promise = ""
    icon: str = ""
    kind: str = ""  # "go" for what goes on, "quiet" for what ends the plan
    address: str = ""  # the name of where it, or its dialog, posts to
    verb: Verb[..., Any] | None = None  # not drawn where its demands would refuse a press
    runs: Collection[str] = (*Run.values,)  # how the run stands where it is drawn
    opens: str = ""  # a dialog
    edits: bool = False  # opens the editor of the plan's text
    asks: str | Promise = ""  # the dialog's question
    name: str | Promise = ""  # what it is called where its label does not say of which plan
    sends: tuple[str, str] | None = None  # a field's name and value
    to: str = ""  # where it, or its dialog, posts to
    leads_to: str = ""  # a page
    blocked: str | Promise = ""  # why it cannot be pressed now
    explains: str = ""  # what will come of it, in a sentence

    def at(self, *place: object, **changes: Any) -> PlanButton:
        """With its address, if it posts: `place` is the conversation, and what else that names."""
        to = reverse(self.address, args=place) if self.address else ""
        return replace(self, to=to, **changes)


@dataclass(frozen=True)
class PlanButtons:
    """`start` is the label of the form that approves the plan, if it waits for that; with
    `comments` that have not gone out, asking for changes comes before it. `ending` ends the plan
    and stands apart."""

    start: str = ""
    blocked: str = ""  # why it cannot be started now
    comments: int = 0
    steering: tuple[PlanButton, ...] = ()
    ending: PlanButton | None = None


START = PlanButton(
    "start-button",
    address="plan-approve",
    verb=actions.approve_plan,
    runs=(Run.IDLE, Run.QUEUED, Run.RUNNING, Run.PAUSED),
)
STOP = PlanButton(
    "stop-plan", gettext_lazy("Stop plan"), "stop", "quiet", opens="stop-dialog", runs=AT_WORK
)
CANCEL = PlanButton(
    "cancel-plan", gettext_lazy("Cancel plan"), kind="quiet", opens="cancel-dialog", runs=RESTS
)
STOPPING = PlanButton(
    "stopping",
    gettext_lazy("Stopping…"),
    "stop",
    runs=(Run.STOPPING,),
    blocked=gettext_lazy("It is being stopped"),
)
REPLAN = PlanButton(
    "replan",
    gettext_lazy("Replan"),
    "route",
    address="plan-replan",
    runs=(*RESTS, *AT_WORK),
    opens="replan-dialog",
    asks=gettext_lazy("Replan the rest?"),
)
RESUME = PlanButton(
    "resume-plan", gettext_lazy("Resume"), "play", "go", "plan-resume", actions.resume_plan
)
CHECK_AGAIN = replace(RESUME, id="check-again", label=gettext_lazy("Try again"), icon="retry")
START_AGAIN = PlanButton(
    "start-again",
    gettext_lazy("Start again"),
    "retry",
    "go",
    address="plan-again",
    verb=actions.run_plan,
    runs=RESTS,
)
GO_ON = replace(START_AGAIN, label=gettext_lazy("Go on"))
PAUSE = PlanButton(
    "pause-plan",
    gettext_lazy("Pause"),
    "pause",
    address="plan-pause",
    verb=actions.pause_plan,
    runs=AT_WORK,
)
TIMELINE = PlanButton("view-timeline", gettext_lazy("View timeline"), "runs")
USE_AGAIN = PlanButton(
    "use-again",
    gettext_lazy("Use as a new plan"),
    "copy",
    address="plan-use-again",
)
NEW_VERSION = PlanButton(
    "new-version", gettext_lazy("New version"), "pen", verb=actions.edit_plan, edits=True
)
TAKE_OUT = PlanButton(
    "take-out",
    gettext_lazy("Take out of force"),
    kind="quiet",
    verb=actions.take_out_of_force,
    opens="out-of-force-dialog",
)

# Every status with its buttons in their order; of those of a kind "go" the first stands out. Where
# START is drawn a yes comes first, and nothing but what ends the plan stands beside it.
WORK = (PAUSE, STOPPING, REPLAN, STOP)
REST = (START_AGAIN, REPLAN, CANCEL)
OVER = (TIMELINE, USE_AGAIN)
IN_FORCE = (NEW_VERSION, TAKE_OUT)
ENDING = (STOP, CANCEL, TAKE_OUT)
# A word of the person's makes it go on; the others are by how its run stands beside that.
ASKS = (START, PAUSE, STOPPING, START_AGAIN, REPLAN, STOP, CANCEL, *OVER)
BUTTONS: dict[str, tuple[PlanButton, ...]] = {
    # What leads on is at the subtask that failed.
    "failed": (replace(START_AGAIN, kind=""), REPLAN, CANCEL),
    "halted": (GO_ON, REPLAN, CANCEL),
    **dict.fromkeys(("approval", "question", "regressed", "confirm", "document"), ASKS),
    **dict.fromkeys(("check", "budget"), (START, REPLAN, STOP)),
    **dict.fromkeys(("held", "running", "pausing", "stopping"), WORK),
    "paused": (RESUME, REPLAN, STOP),
    "hidden": (STOP, CANCEL),
    "ready": (replace(START_AGAIN, label=gettext_lazy("Start"), icon="play"), REPLAN, CANCEL),
    "stopped": REST,
    "in_force": IN_FORCE,
    **dict.fromkeys(
        ("done", "cancelled", "superseded", "cleared", "out_of_force", "abandoned"), OVER
    ),
}


def plan_buttons(plan: PlanSnapshot, conversation: int, *, replanning: bool = False) -> PlanButtons:
    """The buttons for a plan as it is now."""
    drawn = [each for each in BUTTONS[plan.status.name] if is_drawn(each, plan)]
    ending = next((each for each in drawn if each in ENDING), None)
    if START in drawn:
        return PlanButtons(start_label(plan), why_blocked(START, plan), plan.comments, (), ending)
    steering = [
        each.at(
            *((conversation, plan.id) if each is USE_AGAIN else (conversation,)),
            leads_to=reverse("plan", args=[plan.id]) if each is TIMELINE else "",
            blocked=each.blocked or why_blocked(each, plan, replanning=replanning),
            explains=what_starts_again(plan) if each.id == START_AGAIN.id else "",
        )
        for each in drawn
        if each is not ending
    ]
    return PlanButtons(steering=tuple(steering), ending=ending)


def is_drawn(button: PlanButton, plan: PlanSnapshot) -> bool:
    if (button in (*OVER, *IN_FORCE)) == plan.is_open or plan.run not in button.runs:
        return False
    if button is START and plan.is_confirmed:
        return False
    return button.verb is None or not button.verb.why_not(plan.row, "")


def why_blocked(button: PlanButton, plan: PlanSnapshot, *, replanning: bool = False) -> str:
    """Why one that is drawn cannot be pressed now: what follows from more than the plan."""
    if button.address in ("plan-replan", "subtask-replan"):
        if plan.current is None:
            return gettext("What is done stays as it is: there is nothing left to replan.")
        return gettext("It is being replanned") if replanning else ""
    # One that waits for its yes works on to the end of its subtask; a pause rests it before that.
    halts = plan.run == Run.PAUSING and plan.pause_reason != Plan.PauseReason.CONFIRM
    if button is PAUSE and (halts or (plan.run == Run.PAUSED and plan.is_pausing)):
        return gettext("It pauses next")
    is_text = button is START and not plan.subtasks  # a yes to it starts nothing
    return why_no_lane(plan.row) if button.address in STARTS and not is_text else ""


def what_starts_again(plan: PlanSnapshot) -> str:
    """What is done stays: the next open subtask comes first, and those behind it follow."""
    if plan.current is None:
        return ""
    if plan.current.failed:
        words = gettext("Tries subtask {number} again and goes on to the end.")
    elif plan.current.attempts:
        words = gettext("Begins subtask {number} again and goes on to the end.")
    else:
        words = gettext("Begins subtask {number} and goes on to the end.")
    return words.format(number=plan.number(*OPEN))


def start_label(plan: PlanSnapshot) -> str:
    """A document has nothing to start."""
    if plan.subtasks:
        if plan.version > 1:
            return gettext("Start v{version}").format(version=plan.version)
        return gettext("Start plan")
    if plan.version > 1:
        return gettext("Approve v{version}").format(version=plan.version)
    return gettext("Approve")


# At a subtask; `name` and `asks` have a place for its number

RETRY = PlanButton(
    "subtask-retry",
    gettext_lazy("Retry"),
    "retry",
    "go",
    "subtask-retry",
    name=gettext_lazy("Retry subtask {number}"),
)
RETRY_CHANGED = replace(RETRY, opens="retry-dialog", asks=gettext_lazy("Retry subtask {number}?"))
RETRY_CLEAN = replace(
    RETRY,
    id="clean",
    label=gettext_lazy("From a clean copy"),
    icon="undo",
    kind="",
    sends=("clean", "1"),
)
RETRY_UNDONE = replace(RETRY, kind="quiet")
RETRY_NOW = replace(
    RETRY, label=gettext_lazy("Retry now"), name=gettext_lazy("Retry now, subtask {number}")
)
SKIP = PlanButton(
    "subtask-skip",
    gettext_lazy("Skip"),
    "skip",
    "quiet",
    "subtask-skip",
    opens="skip-dialog",
    asks=gettext_lazy("Skip subtask {number}?"),
    name=gettext_lazy("Skip subtask {number}"),
)
REPLAN_HERE = PlanButton(
    "subtask-replan",
    gettext_lazy("Replan from here"),
    "route",
    "quiet",
    "subtask-replan",
    opens="replan-dialog",
    asks=gettext_lazy("Replan from subtask {number}?"),
)


CHECK_NOW = PlanButton("check", gettext_lazy("Check now"), "check", address="subtask-check")
LOOKED = PlanButton("look", gettext_lazy("I have looked"), "check", address="subtask-looked")
TAKE = PlanButton("take", icon="check", kind="quiet", address="check-take")


def subtask_buttons(
    plan: PlanSnapshot, row: SubtaskSnapshot, conversation: int, *, replanning: bool = False
) -> list[PlanButton]:
    """What can be done about one that has failed, is gone, or could not be checked."""
    is_held = bool(plan.retry_at) and plan.run == Run.QUEUED and row is plan.current
    drawn: list[PlanButton] = []
    if plan.status.name == "check" and row is plan.current and is_drawn(CHECK_AGAIN, plan):
        drawn.append(CHECK_AGAIN)
    if row.key in plan.takes_retry and row.undone_at:
        drawn.append(RETRY_UNDONE)
    elif row.key in plan.takes_retry:
        drawn.append(RETRY_CHANGED if row.changes and row.changes.is_left else RETRY)
    elif row.failed and is_held:
        drawn.append(RETRY_NOW)
    if row.failed and (plan.takes_edits or is_held):
        drawn.append(SKIP)
    if row.failed and plan.takes_edits:
        drawn.append(REPLAN_HERE)
    number = plan.subtasks.index(row) + 1
    return [
        *takes(plan, row, conversation),
        *(
            each.at(
                *((conversation,) if each is CHECK_AGAIN else (conversation, row.key)),
                id=f"{each.id}-{plan.id}-{row.key}",
                name=str(each.name).format(number=number),
                asks=str(each.asks).format(number=number),
                blocked=why_blocked(each, plan, replanning=replanning),
            )
            for each in drawn
        ),
    ]


def takes(plan: PlanSnapshot, row: SubtaskSnapshot, conversation: int) -> Iterator[PlanButton]:
    """For each file that was to be unchanged, and is not."""
    for check in row.checks if row.key in plan.takes_retry and not row.undone_at else ():
        if check.unchanged and check.state == "failed":
            words = gettext("Take {path} as it is now").format(path=visible_plain(check.path or ""))
            id = f"take-{plan.id}-{row.key}-{check.key}"
            yield TAKE.at(conversation, row.key, check.key, id=id, label=words)


# On the card of a plan that has ended

CHANGES = PlanButton("changes", gettext_lazy("View changes"), "diff")
UNDO = PlanButton("undo", gettext_lazy("Undo changes"), "undo", "quiet")


def closing_buttons(
    message: Message, plan: PlanSnapshot, end: Ending, *, is_shown: bool, is_cleared: bool
) -> PlanButtons:
    """`is_shown` says that the drawer has this plan, which may go on then. Of what was cleared away
    only the timeline is left."""
    talk, title = message.conversation_id, visible_plain(plan.title)

    def button(each: PlanButton, id: str, *more: object, **changes: Any) -> PlanButton:
        """Its name says of which plan, and its id of which card."""
        name = gettext("{label}: {title}").format(label=each.label, title=title)
        changes |= {"id": f"closing-{id}-{message.pk}", "name": name}
        return each.at(talk, *more, **changes)

    timeline = button(TIMELINE, "timeline", leads_to=reverse("plan", args=[plan.id]))
    if is_cleared:
        return PlanButtons(steering=(timeline,))
    goes_on, undo, blocked = [], None, why_blocked(START_AGAIN, plan)
    if is_shown and end.retry in plan.takes_retry:
        goes_on = [button(RETRY, "retry", end.retry, kind="", blocked=blocked)]
    elif is_shown and end.starts_again and is_drawn(START_AGAIN, plan):
        goes_on = [button(START_AGAIN, "again", blocked=blocked)]
    if plan.changes and plan.changes.is_left:
        changed = address_of(talk, plan=plan.id)
        goes_on.append(button(CHANGES, "changes", leads_to=changed))
        undo = button(UNDO, "undo", leads_to=f"{changed}&undo")
    again = button(USE_AGAIN, "use-again", plan.id, kind="quiet")
    return PlanButtons(steering=(*goes_on, timeline, again), ending=undo)
