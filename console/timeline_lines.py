"""One line of the timeline, and those that need nothing but their event."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy

from agents.actors import AGENT, PERSON, Actor, kind_of
from agents.sentences import detailed
from console.status_labels import name_for

Data = Mapping[str, Any]


class Line(NamedTuple):
    """One change. `sign` is a state's mark or `icon` a picture; `number` the subtask's place."""

    words: str | Promise
    sign: str = ""
    icon: str = ""
    number: str = ""
    code: str = ""
    is_head: bool = False
    actor: str = ""
    actor_icon: str = ""
    version: int = 0
    at: datetime | None = None
    seq: int = 0
    kind: str = "plan"
    by_kind: str = ""  # person, agent or system
    key: str = ""  # of the subtask it is about
    error: str = ""  # of the attempt that has failed
    failures: int = 1  # how many attempts it stands for
    parts: tuple[Line, ...] = ()  # the lines of these, with what lies between them

    @property
    def sign_name(self) -> str:
        """What its mark is called: one stands for all ways to be abandoned, told by the words."""
        return str(self.words) if self.sign == "abandoned" else ""

    def by(self, actor: Actor, viewer: str) -> Line:
        """With who did it; a line that has someone already keeps them."""
        if self.actor:
            return self
        icon = "user" if kind_of(actor) == PERSON else "agent" if actor is AGENT else "cube"
        name = name_for(actor, viewer)
        return self._replace(actor=name, actor_icon=icon, by_kind=kind_of(actor))


def updated_line(data: Data) -> Line | None:
    """What changed about a plan, other than a subtask."""
    if data.get("waiting") == "child":
        return Line(gettext("Waits for another agent"), sign="paused")
    if "budget" in data:
        return Line(gettext("Budget raised"), icon="pen")
    if data.get("held"):
        return Line(gettext("Held: the model is not answering"), sign="failed")
    if "version" in data:
        words = gettext("Plan is now v{version}").format(version=data["version"])
        return Line(detailed(words, data.get("explanation")), icon="pen")
    return None


def approved_line(data: Data) -> Line:
    """A yes to a version, or why it needed none."""
    if data.get("because"):
        words = gettext("v{version} needs no new yes ({because})").format(
            version=data["version"], because=data["because"]
        )
        return Line(words, icon="check")
    words = gettext("v{version} approved").format(version=data["version"])
    return Line(words, icon="check", is_head=True)


def plain_line(type: str) -> Line:
    """The line of an event that needs no data; one that is not known yet is named by its type."""
    return PLAIN_LINES.get(type) or Line(type.replace(".", " ").capitalize(), icon="dots")


PLAIN_LINES = {
    "plan.created": Line(gettext_lazy("Plan proposed"), icon="plus", is_head=True),
    "plan.checking": Line(gettext_lazy("What is done is checked again"), icon="retry"),
    "plan.activated": Line(gettext_lazy("Put into the drawer"), icon="undo"),
    "plan.put_aside": Line(
        gettext_lazy("Out of the drawer: another alternative was shown"), icon="undo"
    ),
    "run.failed": Line(gettext_lazy("The run has failed"), sign="failed"),
    "run.halted": Line(gettext_lazy("Halted after one subtask"), sign="paused"),
    "run.repaired": Line(gettext_lazy("Taken up again after an interruption"), icon="retry"),
}
