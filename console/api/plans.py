"""/api/plans: each verb of plans.actions on a plan or a subtask, for scripts."""

from __future__ import annotations

import re
from typing import Annotated, NamedTuple

from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from ninja import Header, Query, Router, Schema
from ninja.responses import Status

from agents.actions import create_conversation, name_untitled
from agents.config.ownership import agent_of
from agents.errors import Conflict, Invalid
from agents.models import Turn
from console import plan_requests
from console.api.auth import conversation_of, person, plan_of, subtask_of
from console.api.errors import StaleVersion, VersionNotNamed
from console.api.plan_bodies import (
    Anew,
    Approval,
    Feedback,
    Limits,
    NewPlan,
    NewSubtask,
    PlanPatch,
    PlansWanted,
    Reason,
    Retrying,
    RunMode,
    Seen,
    SubtaskPatch,
)
from console.api.shapes import Page, PageNumber, TurnShape, answers, page_of
from console.throttling import count_message
from plans import actions, documents, search
from plans.models import Plan
from plans.schemas import PlanDraft
from plans.snapshot import PlanSnapshot
from plans.snapshot_reading import plan_snapshot, plan_snapshots

router = Router(tags=["plans"])
Version = Annotated[str | None, Header(alias="If-Match", description='The version read: "3"')]


class AskedShape(Schema):
    """A plan is being asked for: it appears as the conversation's plan."""

    conversation: int
    turn: int | None


@router.get("", response=answers(Page[PlanSnapshot]))
def list_plans(
    request: HttpRequest, wanted: Annotated[PlansWanted, Query()], page: PageNumber = 1
) -> HttpResponse:
    """A person's plans, the newest first. Plans of sub-agents are listed by their conversation."""
    rows = search.search_plans(person(request).pk, wanted.as_query())
    rows = search.in_groups(rows, wanted.standings)
    rows = rows.filter(state=wanted.state) if wanted.state else rows
    plans, count = page_of(search.ordered(rows, wanted.sort).select_related("conversation"), page)
    items = [plan.document() for plan in plan_snapshots(plans)]
    return JsonResponse({"items": items, "count": count})


@router.post("", response=answers(PlanSnapshot, 404, 409, status=201) | {202: AskedShape})
def create_plan(
    request: HttpRequest, body: NewPlan
) -> HttpResponse | Status[dict[str, int | None]]:
    """With a title: this plan (201). With a goal alone: the agent's planner makes one (202)."""
    with transaction.atomic():  # a refusal leaves no empty conversation behind
        if body.conversation is not None:
            conversation = conversation_of(request, body.conversation)
        else:
            agent = agent_of(person(request), body.agent or "")
            conversation = create_conversation(person(request), agent.id)
        by = person(request).username
        if not body.title:  # as if the person had typed it
            count_message(conversation.owner_id)
            asked = f"/plan {body.goal}", body.goal, by, body.planner or ""
            result = plan_requests.plan_command(conversation, *asked, beside=body.beside)
            if result.turn is None:
                raise Conflict(result.notice)
            return Status(202, {"conversation": conversation.pk, "turn": result.turn.pk})
        plan = documents.create_plan(
            conversation,
            **body.model_dump(include={*PlanDraft.model_fields, "goal", "metadata"}),
            by=by,
            beside=body.beside,
        )
        name_untitled(conversation, plan.title)
        return plan_response(plan, status=201)


@router.get("/{id}", response=answers(PlanSnapshot, 404))
def get_plan(request: HttpRequest, id: int) -> HttpResponse:
    """Its ETag is the version that If-Match wants."""
    return plan_response(plan_of(request, id))


@router.patch("/{id}", response=answers(PlanSnapshot, 404, 409, 412, 428))
def edit_plan(
    request: HttpRequest, id: int, body: PlanPatch, if_match: Version = None
) -> HttpResponse:
    plan, by, version = opened(request, id, if_match, needed=True)
    return plan_response(actions.edit_plan(plan, body, by, version))


@router.delete("/{id}", response=answers(None, 404, 409, status=204))
def delete_plan(request: HttpRequest, id: int) -> Status[None]:
    """For good, with its versions and attempts; what was said in the conversation stays."""
    actions.delete_plan(plan_of(request, id), person(request).username)
    return Status(204, None)


@router.post("/{id}/activate", response=answers(PlanSnapshot, 404, 409))
def activate(request: HttpRequest, id: int) -> HttpResponse:
    """Put it into its conversation's drawer; not while another one runs there."""
    plan, by, _ = opened(request, id)
    return plan_response(actions.activate_plan(plan, by))


@router.post("/{id}/use-again", response=answers(PlanSnapshot, 404, 409, status=201))
def use_again(request: HttpRequest, id: int) -> HttpResponse:
    """A new plan with the same text, which waits for a yes of its own."""
    again = actions.use_again(plan_of(request, id), person(request).username)
    return plan_response(again, status=201)


@router.post("/{id}/approve", response=answers(PlanSnapshot, 404, 409))
def approve(request: HttpRequest, id: int, body: Approval) -> HttpResponse:
    """A yes to exactly this version; 409 with the current one when it is another, and where kept
    comments wait that `without_comments` does not leave behind."""
    plan, by, _ = opened(request, id)
    left = None if body.without_comments else ()
    return plan_response(actions.approve_plan(plan, body.version, by, body.run or "", left))


@router.post("/{id}/revise", response=answers(TurnShape | None, 404, 409, 412, status=202))
def revise(request: HttpRequest, id: int, body: Feedback, if_match: Version = None) -> Status[Turn]:
    """Ask the agent for changes; a new version then waits for a yes."""
    plan, by, version = opened(request, id, if_match)
    count_message(plan.conversation.owner_id)
    with transaction.atomic():
        turn = actions.ask_for_changes(plan, body.feedback, by, version)
    return Status(202, turn)


@router.post("/{id}/cancel", response=answers(PlanSnapshot, 404, 409))
def cancel(request: HttpRequest, id: int, body: Reason | None = None) -> HttpResponse:
    plan, by, _ = opened(request, id)
    reason = body.reason.strip() if body else ""
    return plan_response(actions.cancel_plan(plan, by, comment=reason))


@router.post("/{id}/take-out-of-force", response=answers(PlanSnapshot, 404, 409, 412))
def take_out_of_force(
    request: HttpRequest, id: int, body: Seen | None = None, if_match: Version = None
) -> HttpResponse:
    """A document in force; with a version, here or in If-Match, only if it is at that one."""
    plan, by, version = opened(request, id, if_match, body=body)
    return plan_response(actions.take_out_of_force(plan, by, version))


@router.post("/{id}/run", response=answers(PlanSnapshot, 404, 409, 412))
def run(
    request: HttpRequest, id: int, body: RunMode | None = None, if_match: Version = None
) -> HttpResponse:
    """What was approved; with If-Match only if that is the version which was read."""
    plan, by, version = opened(request, id, if_match)
    body = body or RunMode()
    options: dict[str, object] = {"executor": body.executor, "allow": body.allow}
    return plan_response(actions.run_plan(plan, by, body.mode, options, version))


@router.post("/{id}/pause", response=answers(PlanSnapshot, 404, 409))
def pause(request: HttpRequest, id: int) -> HttpResponse:
    """After the tool call that is running now."""
    plan, by, _ = opened(request, id)
    return plan_response(actions.pause_plan(plan, by))


@router.post("/{id}/resume", response=answers(PlanSnapshot, 404, 409, 412))
def resume(
    request: HttpRequest, id: int, body: Seen | None = None, if_match: Version = None
) -> HttpResponse:
    plan, by, version = opened(request, id, if_match, body=body)
    return plan_response(actions.resume_plan(plan, by, version))


@router.post("/{id}/stop", response=answers(PlanSnapshot, 404, 409))
def stop(request: HttpRequest, id: int) -> HttpResponse:
    """At once, in the middle of a call; the subtask is to do again."""
    plan, by, _ = opened(request, id)
    return plan_response(actions.stop_plan(plan, by))


@router.post(
    "/{id}/replan",
    response=answers(TurnShape, 404, 409, 412, status=202),
    operation_id="console_api_steering_replan",
)
def replan(
    request: HttpRequest, id: int, body: Anew | None = None, if_match: Version = None
) -> Status[Turn]:
    """Ask the planner for another way; done subtasks stay, the new version waits for a yes."""
    plan, by, version = opened(request, id, if_match)
    body = body or Anew()
    return Status(202, actions.replan_rest(plan, by, body.from_key, body.hint, version))


@router.post(
    "/{id}/budget",
    response=answers(PlanSnapshot, 404, 409, 412),
    operation_id="console_api_steering_raise_budget",
)
def raise_budget(
    request: HttpRequest, id: int, body: Limits, if_match: Version = None
) -> HttpResponse:
    """Set limits, and go on if the old ones had halted the run."""
    plan, by, version = opened(request, id, if_match)
    limits = body.model_dump(exclude_unset=True)
    return plan_response(actions.raise_budget(plan, by, limits, version))


def plan_response(plan: Plan, status: int = 200) -> HttpResponse:
    """The plan as it is after what was done to it."""
    now = plan_snapshot(plan)
    response = JsonResponse(now.document(), status=status)
    response.headers["ETag"] = f'"{now.version}"'
    return response


class Opened(NamedTuple):
    """The plan of an address, who asks, and the version that the body or If-Match names."""

    plan: Plan
    by: str
    version: int | None


def opened(
    request: HttpRequest,
    id: int,
    if_match: str | None = None,
    key: str = "",
    *,
    needed: bool = False,
    body: Seen | None = None,
) -> Opened:
    """Raises NotFound for another person's plan, and where it has no subtask of this key."""
    plan = plan_of(request, id)
    if key:
        subtask_of(plan, key)
    version = version_seen(plan, if_match, needed=needed)
    version = body.version if body and body.version is not None else version
    return Opened(plan, person(request).username, version)


def version_seen(plan: Plan, if_match: str | None, *, needed: bool = False) -> int | None:
    """The version in If-Match; 428 without one where it is needed, 412 when it is an older one."""
    if not (if_match or "").strip():
        if needed:
            raise VersionNotNamed('Say which version you have read: If-Match: "<version>".')
        return None
    match = re.fullmatch(r'\s*(?:W/)?"?(\d{1,9})"?\s*', if_match or "")
    if match is None:
        raise Invalid('If-Match must be the version of the plan, like "3".')
    if (version := int(match[1])) != plan.version:
        raise StaleVersion(
            f"The plan is at version {plan.version} now, and you have read version {version}.",
            plan.version,
        )
    return version


@router.post("/{id}/subtasks", response=answers(PlanSnapshot, 404, 409, 412, status=201))
def add_subtask(
    request: HttpRequest, id: int, body: NewSubtask, if_match: Version = None
) -> HttpResponse:
    plan, by, version = opened(request, id, if_match)
    return plan_response(actions.add_subtask(plan, body, by, version, body.after), status=201)


@router.patch("/{id}/subtasks/{key}", response=answers(PlanSnapshot, 404, 409, 412))
def change_subtask(
    request: HttpRequest, id: int, key: str, body: SubtaskPatch, if_match: Version = None
) -> HttpResponse:
    """Its words, or its place; one that has started keeps both."""
    plan, by, version = opened(request, id, if_match, key)
    words = body.model_dump(exclude={"position"}, exclude_none=True)
    if words:
        plan = actions.update_subtask(plan, key, words, by, version)
    if body.position is not None:
        plan = actions.move_subtask(plan, key, body.position, by, plan.version)
    return plan_response(plan)


@router.delete("/{id}/subtasks/{key}", response=answers(PlanSnapshot, 404, 409, 412))
def remove_subtask(
    request: HttpRequest, id: int, key: str, if_match: Version = None
) -> HttpResponse:
    plan, by, version = opened(request, id, if_match, key)
    return plan_response(actions.remove_subtask(plan, key, by, version))


@router.post("/{id}/subtasks/{key}/retry", response=answers(PlanSnapshot, 404, 409, 412))
def retry_subtask(
    request: HttpRequest,
    id: int,
    key: str,
    body: Retrying | None = None,
    if_match: Version = None,
) -> HttpResponse:
    """Count its attempts anew and run on from it; one held back until `retry_at` goes at once. With
    `clean`, what its attempts changed is taken back before."""
    plan, by, version = opened(request, id, if_match, key)
    retry = actions.retry_clean if body and body.clean else actions.retry_subtask
    return plan_response(retry(plan, key, by, version))


@router.post("/{id}/subtasks/{key}/skip", response=answers(PlanSnapshot, 404, 409, 412))
def skip_subtask(
    request: HttpRequest,
    id: int,
    key: str,
    body: Reason | None = None,
    if_match: Version = None,
) -> HttpResponse:
    """Leave it undone; the plan goes on without it."""
    plan, by, version = opened(request, id, if_match, key)
    reason = body.reason if body else ""
    return plan_response(actions.skip_subtask(plan, key, by, reason, version))
