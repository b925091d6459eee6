"""Which buttons stand below a plan; `plans/_actions.html` only draws them."""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import reverse

from console.status_labels import Snapshot

HALTING = ("pausing", "stopping")


@dataclass(frozen=True)
class PlanButton:
    """One verb. It does one thing: post, open a dialog, or lead to a page.

    The id is the verb's own: drawn anew, a button never becomes another under somebody's finger.
    """

    id: str
    label: str
    icon: str = ""
    kind: str = ""  # "go" for what goes on, "quiet" for what ends the plan
    posts_to: str = ""
    posts_once: bool = False  # a second press is dropped while the first is under way
    opens: str = ""  # a dialog
    answer_to: str = ""  # where the dialog's answer goes
    asks: str = ""  # the dialog's question
    leads_to: str = ""
    blocked: str = ""  # why it cannot be pressed now


@dataclass(frozen=True)
class PlanButtons:
    """`start` is the label of the form that approves the plan, if it waits for that; `ending` ends
    the plan and stands apart."""

    start: str = ""
    steering: tuple[PlanButton, ...] = ()
    ending: PlanButton | None = None


def plan_buttons(plan: Snapshot, conversation: int, *, replanning: bool = False) -> PlanButtons:
    """The buttons for a plan as it is now."""
    run = plan["run"]
    if plan["state"] not in ("todo", "in_progress"):
        return PlanButtons(steering=(view_timeline(plan), use_again(plan, conversation)))
    if plan["version"] != plan["approved_version"] and run not in HALTING:
        return PlanButtons(start=start_label(plan), ending=CANCEL if run == "idle" else STOP)
    replan = replan_button(conversation, replanning)
    if waits_for_person(plan):
        return PlanButtons(steering=(replan,), ending=STOP)
    if run == "paused":
        return PlanButtons(steering=(resume(conversation), replan), ending=STOP)
    if run == "idle":
        return PlanButtons(steering=(start_again(plan, conversation), replan), ending=CANCEL)
    if run == "stopping":
        return PlanButtons(steering=(STOPPING,))
    return PlanButtons(steering=(pause(plan, conversation), replan), ending=STOP)


def waits_for_person(plan: Snapshot) -> bool:
    """Whether an approval, an answer or a higher limit is what makes it go on."""
    asks = plan["question"] and plan["run"] == "paused"
    return bool(plan["approvals"] or asks or plan["attention"] == "budget")


STOP = PlanButton("stop-plan", "Stop plan", "stop", "quiet", opens="stop-dialog")
CANCEL = PlanButton("cancel-plan", "Cancel plan", kind="quiet", opens="cancel-dialog")
STOPPING = PlanButton("stopping", "Stopping…", "stop", blocked="It is being stopped")


def start_label(plan: Snapshot) -> str:
    """A document has nothing to start."""
    verb = "Approve" if not plan["subtasks"] else "Start"
    if plan["version"] > 1:
        return f"{verb} v{plan['version']}"
    return verb if verb == "Approve" else "Start plan"


def replan_button(conversation: int, replanning: bool) -> PlanButton:
    if replanning:
        return PlanButton("replan", "Replan", "route", blocked="It is being replanned")
    return PlanButton(
        *("replan", "Replan", "route"),
        opens="replan-dialog",
        answer_to=reverse("plan-replan", args=[conversation]),
        asks="Replan the rest?",
    )


def resume(conversation: int) -> PlanButton:
    address = reverse("plan-resume", args=[conversation])
    return PlanButton("resume-plan", "Resume", "play", "go", posts_to=address)


def start_again(plan: Snapshot, conversation: int) -> PlanButton:
    label = "Go on" if plan["standing"] == "Waiting for you to go on" else "Start again"
    address = reverse("plan-again", args=[conversation])
    return PlanButton("start-again", label, "retry", "go", posts_to=address)


def pause(plan: Snapshot, conversation: int) -> PlanButton:
    if plan["run"] == "pausing":
        return PlanButton("pause-plan", "Pause", "pause", blocked="It pauses after this step")
    address = reverse("plan-pause", args=[conversation])
    return PlanButton("pause-plan", "Pause", "pause", posts_to=address)


def view_timeline(plan: Snapshot) -> PlanButton:
    address = reverse("plan", args=[plan["id"]])
    return PlanButton("view-timeline", "View timeline", "runs", leads_to=address)


def use_again(plan: Snapshot, conversation: int) -> PlanButton:
    address = reverse("plan-use-again", args=[conversation, plan["id"]])
    return PlanButton("use-again", "Use as a new plan", "copy", posts_to=address, posts_once=True)
