"""How a moment is written wherever a program reads it: API, events, `--json`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, overload

from pydantic import WithJsonSchema

# A moment as `timestamp` writes it.
Moment = Annotated[str, WithJsonSchema({"type": "string", "format": "date-time"})]


@overload
def timestamp(moment: datetime) -> str: ...
@overload
def timestamp(moment: None) -> None: ...
@overload
def timestamp(moment: datetime | None) -> str | None: ...
def timestamp(moment: datetime | None) -> str | None:
    """ISO 8601 in UTC, with milliseconds and a Z: 2026-01-31T09:30:00.125Z."""
    if moment is None:
        return None
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
