"""Declares at a verb of a plan what refuses it, and answers by the same why it would be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import update_wrapper
from inspect import signature
from typing import Generic, ParamSpec, TypeVar, cast

from django.db import transaction
from django.utils.functional import Promise

from agents.actors import PERSON, Actor, kind_of
from agents.errors import Conflict, Refused
from agents.models import Conversation, Turn
from agents.stored_text import gettext, gettext_lazy, sentences
from plans.expected_version import (
    NOT_CHANGED,
    VersionConflict,
    demand_active,
    demand_version,
    versions_by,
)
from plans.in_force import is_in_force
from plans.models import Plan
from plans.queries import SYSTEM, closed, lock_plan
from plans.tracing import operation

P = ParamSpec("P")
R = TypeVar("R")
NOT_YET = gettext_lazy("Nothing runs without your yes: start v{version} first.")


@dataclass(frozen=True)
class Demands:
    """Which states of a plan a verb refuses, checked in the order of the fields.

    `open` refuses a plan that is done or abandoned, but a document in force where the verb changes
    `text`, `no_child` a person who changes the plan of a
    called agent, `also` what a function of the verb's own refuses, `active` a plan that is not in
    the drawer, `version` another version than the one named, if one is (the sentence ends with this
    text), `confirmed` a version without a person's yes.
    """

    open: bool = False
    no_child: bool = False
    also: Callable[[Plan], None] | None = None
    active: bool = False
    version: Promise | None = None
    confirmed: bool = False
    text: bool = False

    def check(self, plan: Plan, by: Actor, version: int | None = None) -> None:
        """Raises Refused for the first that does not hold."""
        if self.open:
            demand_open(plan, or_in_force=self.text)
        if self.no_child:
            demand_no_child(plan.conversation, by)
        if self.also:
            self.also(plan)
        if self.active:
            demand_active(plan, self.version or NOT_CHANGED)
        if self.version:
            demand_version(plan, version, self.version)
        if self.confirmed:
            demand_confirmed(plan)


class Verb(Generic[P, R]):
    """Calls a function in a span and a transaction, with its plan locked and checked."""

    def __init__(
        self,
        name: str,
        act: Callable[P, R],
        demands: Demands,
        already: Callable[[Plan, int | None], bool] | None,
    ) -> None:
        self.act: Callable[..., R] = act
        self.demands, self.already, self.parameters = demands, already, signature(act)
        update_wrapper(self, act)
        self.run = operation(name)(transaction.atomic(self.refuse_or_act))

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.run(*args, **kwargs)

    def refuse_or_act(self, *args: object, **kwargs: object) -> R:
        given = self.parameters.bind(*args, **kwargs)
        values = given.arguments
        if "plan" in values:  # others are about a turn or a conversation, and lock by themselves
            plan = values["plan"] = lock_plan(values["plan"])
            version = values.get("version")
            if self.already and self.already(plan, version):
                return cast(R, plan)
            self.demands.check(plan, values.get("by", SYSTEM), version)
        return self.act(*given.args, **given.kwargs)

    def why_not(self, plan: Plan, by: Actor, version: int | None = None) -> str:
        """What its demands would refuse it with now, or an empty text; its body may refuse more."""
        if not (self.already and self.already(plan, version)):
            try:
                self.demands.check(plan, by, version)
            except Refused as refusal:
                return str(refusal)
        return ""


def verb(
    name: str,
    *,
    open: bool = False,
    no_child: bool = False,
    also: Callable[[Plan], None] | None = None,
    active: bool = False,
    version: Promise | None = None,
    confirmed: bool = False,
    text: bool = False,
    already: Callable[[Plan, int | None], bool] | None = None,
) -> Callable[[Callable[P, R]], Verb[P, R]]:
    """Makes a function a verb, with a span of this name and the demands that are given.

    Where the plan is `already` as the verb would leave it, it is given back and nothing demanded.
    """
    demands = Demands(open, no_child, also, active, version, confirmed, text)
    return lambda act: Verb(name, act, demands, already)


def text_verb(name: str) -> Callable[[Callable[P, R]], Verb[P, R]]:
    """Makes a function a verb that changes the plan's text."""
    return verb(name, open=True, text=True, no_child=True, version=NOT_CHANGED)


def demand_open(plan: Plan, *, or_in_force: bool = False) -> None:
    if plan.is_open:
        return
    words = gettext("It cannot change any more.")
    if is_in_force(plan):
        if or_in_force:
            return
        words = gettext("It can be given a next version, or be taken out of force.")
    raise VersionConflict(sentences(closed(plan), words), plan.pk, plan.version)


def demand_no_child(conversation: Conversation, by: Actor) -> None:
    """What serves a subtask is the called agent's own: the system says yes to nobody else's."""
    if conversation.parent_call_id is not None and kind_of(by) == PERSON:
        raise Conflict(
            gettext(
                "The plan of an agent that works for a subtask cannot be changed by hand: change "
                "the plan it works for."
            )
        )


def demand_in_view(plan: Plan) -> None:
    """Nobody says yes to what came out of words that are not there."""
    hidden = Turn.objects.filter(conversation=plan.conversation_id, hidden=True)
    revised = any(plan.version in made for made in versions_by(hidden, plan.pk))
    if revised or (plan.card is not None and plan.card.hidden):
        sentence = gettext("“{title}” belongs to an alternative that is not shown: walk to it.")
        raise Conflict(sentence.format(title=plan.title))


def demand_confirmed(plan: Plan) -> None:
    if not plan.is_confirmed:
        raise VersionConflict(NOT_YET.format(version=plan.version), plan.pk, plan.version)
