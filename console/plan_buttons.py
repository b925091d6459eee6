"""Which buttons stand below a plan; `plans/_actions.html` only draws them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy

from plans.models import OPEN, Plan
from plans.snapshot import PlanSnapshot

HALTING = ("pausing", "stopping")


@dataclass(frozen=True)
class PlanButton:
    """One verb. It does one thing: post, open a dialog, or lead to a page.

    The id is the verb's own: drawn anew, a button never becomes another under somebody's finger.
    """

    id: str
    label: str | Promise
    icon: str = ""
    kind: str = ""  # "go" for what goes on, "quiet" for what ends the plan
    posts_to: str = ""
    posts_once: bool = False  # a second press is dropped while the first is under way
    opens: str = ""  # a dialog
    answer_to: str = ""  # where the dialog's answer goes
    asks: str = ""  # the dialog's question
    leads_to: str = ""
    blocked: str | Promise = ""  # why it cannot be pressed now
    explains: str = ""  # what will come of it, in a sentence
    name: str | Promise = ""  # what it is called where its label does not say of which plan


@dataclass(frozen=True)
class PlanButtons:
    """`start` is the label of the form that approves the plan, if it waits for that; with
    `comments` that have not gone out, asking for changes comes before it. `ending` ends the plan
    and stands apart."""

    start: str = ""
    comments: int = 0
    steering: tuple[PlanButton, ...] = ()
    ending: PlanButton | None = None


STOP = PlanButton("stop-plan", gettext_lazy("Stop plan"), "stop", "quiet", opens="stop-dialog")
CANCEL = PlanButton("cancel-plan", gettext_lazy("Cancel plan"), kind="quiet", opens="cancel-dialog")
STOPPING = PlanButton(
    "stopping", gettext_lazy("Stopping…"), "stop", blocked=gettext_lazy("It is being stopped")
)
REPLAN = PlanButton("replan", gettext_lazy("Replan"), "route")
RESUME = PlanButton("resume-plan", gettext_lazy("Resume"), "play", "go")
START_AGAIN = PlanButton("start-again", gettext_lazy("Start again"), "retry", "go")
PAUSE = PlanButton("pause-plan", gettext_lazy("Pause"), "pause")
TIMELINE = PlanButton("view-timeline", gettext_lazy("View timeline"), "runs")
USE_AGAIN = PlanButton("use-again", gettext_lazy("Use as a new plan"), "copy", posts_once=True)


def plan_buttons(plan: PlanSnapshot, conversation: int, *, replanning: bool = False) -> PlanButtons:
    """The buttons for a plan as it is now."""

    def to(verb: str, *more: int) -> str:
        return reverse(f"plan-{verb}", args=[conversation, *more])

    run = plan.run
    if not plan.is_open:
        timeline = replace(TIMELINE, leads_to=reverse("plan", args=[plan.id]))
        again = replace(USE_AGAIN, posts_to=to("use-again", plan.id))
        return PlanButtons(steering=(timeline, again))
    if not plan.is_confirmed and run not in HALTING:
        ending = CANCEL if run == "idle" else STOP
        return PlanButtons(start_label(plan), plan.comments, ending=ending)
    replan = replan_button(plan, to("replan"), replanning=replanning)
    pause = replace(PAUSE, posts_to=to("pause"))
    # One that waits for its yes works on to the end of its subtask; a pause rests it before that.
    halts = run == "pausing" and plan.pause_reason != Plan.PauseReason.CONFIRM
    if halts or (run == "paused" and plan.is_pausing):
        pause = replace(PAUSE, blocked=gettext("It pauses next"))
    # An approval, an answer, a higher limit or a word about a check is what makes it go on.
    if plan.attention in ("budget", "check"):
        return PlanButtons(steering=(replan,), ending=STOP)
    if plan.approvals or (plan.question and run == "paused"):
        return PlanButtons(steering=(pause, replan), ending=STOP)
    if run == "paused":
        return PlanButtons(steering=(replace(RESUME, posts_to=to("resume")), replan), ending=STOP)
    if run == "idle":
        again = START_AGAIN
        if plan.attention == "halted":
            again = replace(again, label=gettext("Go on"))
        elif not any(row.attempts for row in plan.subtasks):
            again = replace(again, label=gettext("Start"), icon="play")
        again = replace(again, posts_to=to("again"), explains=what_starts_again(plan))
        if plan.attention == "failed":  # what leads on is at the subtask that failed
            again = replace(again, kind="")
        return PlanButtons(steering=(again, replan), ending=CANCEL)
    if run == "stopping":
        return PlanButtons(steering=(STOPPING,))
    return PlanButtons(steering=(pause, replan), ending=STOP)


def replan_button(plan: PlanSnapshot, answer_to: str, *, replanning: bool) -> PlanButton:
    if plan.current is None:
        nothing_left = gettext("What is done stays as it is: there is nothing left to replan.")
        return replace(REPLAN, blocked=nothing_left)
    if replanning:
        return replace(REPLAN, blocked=gettext("It is being replanned"))
    asks = gettext("Replan the rest?")
    return replace(REPLAN, opens="replan-dialog", answer_to=answer_to, asks=asks)


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
