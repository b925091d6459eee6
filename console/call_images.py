"""Images that the results of tool calls brought: their addresses, and how they are served.

Whoever owns the conversation gets an image as it came, and nobody anything else: a browser is told
one of four types, which the bytes themselves say, and to run nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext

from agents.errors import NotFound
from agents.models import Attachment, ToolCall
from agents.tools.images import NotShown, image_of
from console.language import grouped
from console.visible_text import visible_plain
from plans.documents import as_markdown
from plans.models import Attempt, Plan, Subtask

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, max-age=31536000, immutable",
}


@dataclass(frozen=True)
class CallImage:
    """One image of a call. Those kept before their size was read have none."""

    address: str
    name: str
    media_type: str
    size: int
    width: int | None
    height: int | None


def images_of(call: ToolCall) -> list[CallImage]:
    kept = call.images or []
    return [
        CallImage(
            address=reverse("api:tool_call_image", args=[call.pk, number]),
            name=name_of(call, number, image.get("width"), image.get("height")),
            media_type=image["media_type"],
            size=image["size"],
            width=image.get("width"),
            height=image.get("height"),
        )
        for number, image in enumerate(kept, 1)
    ]


def name_of(call: ToolCall, number: int, width: int | None, height: int | None) -> str:
    """For those who do not see it; what it shows nobody has said."""
    which = {
        "number": number,
        "count": len(call.images or []),
        "tool": visible_plain(call.tool),
    }
    if not width or not height:
        return gettext("Image {number} of {count} from {tool}").format(**which)
    return gettext("Image {number} of {count} from {tool}, {width} × {height} pixels").format(
        **which, width=grouped(width), height=grouped(height)
    )


def image_response(call: ToolCall, number: int) -> HttpResponse:
    """The bytes, if they are an image that is shown. Raises NotFound."""
    kept = (call.images or [])[number - 1 : number] if number > 0 else []
    own = Attachment.objects.filter(conversation=call.turn.conversation_id)
    attachment = own.filter(pk=kept[0]["attachment"]).first() if kept else None
    if attachment is None:
        raise NotFound(
            gettext("Tool call {pk} has no image {number}.").format(pk=call.pk, number=number)
        )
    try:
        image = image_of(bytes(attachment.data))
    except NotShown as reason:
        raise NotFound(not_shown(reason)) from None
    ending = image.media_type.partition("/")[2]
    disposition = f'inline; filename="call-{call.pk}-{number}.{ending}"'
    headers = {**HEADERS, "Content-Disposition": disposition}
    response = HttpResponse(image.data, content_type=image.media_type, headers=headers)
    # Whoever signs in next on this computer gets none of it out of the browser's cache.
    response.headers["Vary"] = "Cookie, Authorization"
    return response


def not_shown(reason: NotShown) -> str:
    return gettext("This is no image that is shown. {reason}").format(reason=reason)


def plan_markdown(plan: Plan, site: str) -> str:
    """The plan as a document, with the addresses of images below their subtasks; who opens one has
    to be signed in."""

    def links(subtask: Subtask) -> str:
        return "\n".join(f"- [{each.name}]({site}{each.address})" for each in images_for(subtask))

    return as_markdown(plan, links)


def images_for(subtask: Subtask) -> Iterator[CallImage]:
    """Those of its last attempt."""
    last = Attempt.objects.filter(subtask=subtask).order_by("-number").values("turn")[:1]
    calls = ToolCall.objects.filter(turn__in=last, images__isnull=False)
    for call in calls.order_by("message_id", "position"):
        yield from images_of(call)
