"""/api/plans/{id}/…: what became of a plan over time."""

from __future__ import annotations

from typing import Annotated

from django.http import HttpRequest, HttpResponse, JsonResponse
from ninja import Query, Router

from agents.events import MOST_READ
from agents.models import Event
from console.api.auth import plan_of
from console.api.events import event_document
from console.api.plan_shapes import AttemptShape
from console.api.shapes import EventShape, Page, answers
from plans.documents import as_markdown
from plans.models import Attempt

router = Router(tags=["plans"])


@router.get("/{id}/events", response=answers(Page[EventShape], 404))
def events(request: HttpRequest, id: int, after: Annotated[int, Query(ge=0)] = 0) -> HttpResponse:
    """Every change, by whom; the numbers are the conversation's."""
    plan = plan_of(request, id)
    rows = Event.objects.filter(
        conversation=plan.conversation_id, subject=f"plan:{plan.pk}", seq__gt=after
    )
    items = [event_document(row) for row in rows.order_by("seq")[:MOST_READ]]
    return JsonResponse({"items": items, "count": rows.count()})


@router.get("/{id}/attempts", response=answers(Page[AttemptShape], 404))
def attempts(request: HttpRequest, id: int) -> dict[str, object]:
    """Every try at every subtask, in the order they were made."""
    rows = Attempt.objects.filter(subtask__plan=plan_of(request, id))
    items = list(rows.select_related("subtask", "turn").order_by("pk"))
    return {"items": items, "count": len(items)}


@router.get(
    "/{id}/export.md",
    response=answers(None, 404),
    openapi_extra={
        "responses": {200: {"content": {"text/markdown": {"schema": {"type": "string"}}}}}
    },
)
def export(request: HttpRequest, id: int) -> HttpResponse:
    """The plan as a document to keep or to send."""
    text = as_markdown(plan_of(request, id))
    response = HttpResponse(text, content_type="text/markdown; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="plan-{id}.md"'
    return response
