"""/api/plans/{id}/check, …/subtasks/{key}/checks: how subtasks are known to be done."""

from __future__ import annotations

from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import Field

from console.api.fields import Flag
from console.api.plan_bodies import Seen
from console.api.plans import Version, opened, plan_response
from console.api.shapes import Body, answers
from plans import actions
from plans.check_text import Check
from plans.snapshot import PlanSnapshot

router = Router(tags=["plans"])


class CheckWanted(Body):
    """`check` has a `kind` and the fields of that."""

    check: Check


class ChecksWanted(Body):
    """`deterministic` leaves reviews out."""

    deterministic: Flag = False


class OneCheck(Body):
    """Without `check` all of the subtask's."""

    check: Annotated[str, Field(max_length=12)] = ""


class Looked(Seen):
    """`check` is the one for which the run rests, if it does."""

    check: Annotated[str, Field(max_length=12)] = ""


@router.post("/{id}/check", response=answers(PlanSnapshot, 404, 409, status=202))
def check_all(request: HttpRequest, id: int, body: ChecksWanted | None = None) -> HttpResponse:
    """Run the checks of all that is done again; `checking` of the plan says how far that is."""
    plan, by, _ = opened(request, id)
    actions.check_plan(plan, by, deterministic=bool(body and body.deterministic))
    return plan_response(plan, status=202)


@router.post("/{id}/subtasks/{key}/check", response=answers(PlanSnapshot, 404, 409, status=202))
def check_one(
    request: HttpRequest, id: int, key: str, body: OneCheck | None = None
) -> HttpResponse:
    """Run the checks of a subtask that is done again; what does not hold any more is marked."""
    plan, by, _ = opened(request, id, key=key)
    actions.check_plan(plan, by, key, body.check if body else "")
    return plan_response(plan, status=202)


@router.post("/{id}/subtasks/{key}/look", response=answers(PlanSnapshot, 404, 409))
def look(request: HttpRequest, id: int, key: str, body: Looked | None = None) -> HttpResponse:
    """You have looked at it yourself: it counts as checked, with your name."""
    plan, by, _ = opened(request, id, key=key)
    body = body or Looked()
    return plan_response(actions.look_at(plan, key, by, body.version, body.check))


@router.post("/{id}/subtasks/{key}/take-back", response=answers(PlanSnapshot, 404, 409))
def take_back(request: HttpRequest, id: int, key: str, body: Seen | None = None) -> HttpResponse:
    """You have not looked after all: it is what its checks say, or by the agent's word."""
    plan, by, _ = opened(request, id, key=key)
    return plan_response(actions.take_back(plan, key, by, body.version if body else None))


@router.post("/{id}/subtasks/{key}/checks/{check}/take", response=answers(PlanSnapshot, 404, 409))
def take(
    request: HttpRequest, id: int, key: str, check: str, body: Seen | None = None
) -> HttpResponse:
    """The file that the check wants unchanged is to stay as it is now: it is measured from here."""
    plan, by, _ = opened(request, id, key=key)
    version = body.version if body else None
    return plan_response(actions.take_as_it_is(plan, key, check, by, version))


@router.post(
    "/{id}/subtasks/{key}/checks", response=answers(PlanSnapshot, 404, 409, 412, status=201)
)
def add_check(
    request: HttpRequest, id: int, key: str, body: CheckWanted, if_match: Version = None
) -> HttpResponse:
    """A new check; of a subtask that is done too, which is your yes to it as well."""
    plan, by, version = opened(request, id, if_match, key)
    check = body.check.model_copy(update={"key": None})
    return plan_response(actions.save_check(plan, key, check, by, version), status=201)


@router.put("/{id}/subtasks/{key}/checks/{check}", response=answers(PlanSnapshot, 404, 409, 412))
def change_check(
    request: HttpRequest, id: int, key: str, check: str, body: CheckWanted, if_match: Version = None
) -> HttpResponse:
    """Another check in the place of this one."""
    plan, by, version = opened(request, id, if_match, key)
    wanted = body.check.model_copy(update={"key": check})
    return plan_response(actions.save_check(plan, key, wanted, by, version))


@router.delete("/{id}/subtasks/{key}/checks/{check}", response=answers(PlanSnapshot, 404, 409, 412))
def remove_check(
    request: HttpRequest, id: int, key: str, check: str, if_match: Version = None
) -> HttpResponse:
    plan, by, version = opened(request, id, if_match, key)
    return plan_response(actions.remove_check(plan, key, check, by, version))
