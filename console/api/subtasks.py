"""/api/plans/{id}/subtasks: the subtasks of a plan."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from ninja import Router

from console.api.auth import person, plan_of, subtask_of
from console.api.plan_shapes import NewSubtask, PlanShape, Reason, SubtaskPatch
from console.api.plans import Version, plan_response, version_seen
from console.api.shapes import answers
from plans import actions
from plans.schemas import SubtaskDraft

router = Router(tags=["plans"])


@router.post("/{id}/subtasks", response=answers(PlanShape, 404, 409, 412, status=201))
def add_subtask(
    request: HttpRequest, id: int, body: NewSubtask, if_match: Version = None
) -> HttpResponse:
    plan = plan_of(request, id)
    version = version_seen(plan, if_match)
    draft = SubtaskDraft.model_validate(body.model_dump(exclude={"after"}))
    actions.add_subtask(plan, draft, person(request).username, version, after=body.after)
    return plan_response(plan, status=201)


@router.patch("/{id}/subtasks/{key}", response=answers(PlanShape, 404, 409, 412))
def change_subtask(
    request: HttpRequest, id: int, key: str, body: SubtaskPatch, if_match: Version = None
) -> HttpResponse:
    """Its words, or its place; one that has started keeps both."""
    plan = plan_of(request, id)
    subtask_of(plan, key)
    version, by = version_seen(plan, if_match), person(request).username
    words = body.model_dump(exclude={"position"}, exclude_none=True)
    if words:
        plan = actions.update_subtask(plan, key, words, by, version)
    if body.position is not None:
        actions.move_subtask(plan, key, body.position, by, plan.version)
    return plan_response(plan)


@router.delete("/{id}/subtasks/{key}", response=answers(PlanShape, 404, 409, 412))
def remove_subtask(
    request: HttpRequest, id: int, key: str, if_match: Version = None
) -> HttpResponse:
    plan = plan_of(request, id)
    subtask_of(plan, key)
    actions.remove_subtask(plan, key, person(request).username, version_seen(plan, if_match))
    return plan_response(plan)


@router.post("/{id}/subtasks/{key}/retry", response=answers(PlanShape, 404, 409, 412))
def retry_subtask(
    request: HttpRequest, id: int, key: str, if_match: Version = None
) -> HttpResponse:
    """Count its attempts anew and run on from it; one held back until `retry_at` goes at once."""
    plan = plan_of(request, id)
    subtask_of(plan, key)
    version = version_seen(plan, if_match)
    actions.retry_subtask(plan, key, person(request).username, version)
    return plan_response(plan)


@router.post("/{id}/subtasks/{key}/skip", response=answers(PlanShape, 404, 409, 412))
def skip_subtask(
    request: HttpRequest,
    id: int,
    key: str,
    body: Reason | None = None,
    if_match: Version = None,
) -> HttpResponse:
    """Leave it undone; the plan goes on without it."""
    plan = plan_of(request, id)
    subtask_of(plan, key)
    version, reason = version_seen(plan, if_match), body.reason if body else ""
    actions.skip_subtask(plan, key, person(request).username, reason, version)
    return plan_response(plan)
