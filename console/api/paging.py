"""Lists in pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeVar

from django.db.models import Model, QuerySet
from ninja import Query

PER_PAGE = 50
Row = TypeVar("Row", bound=Model)
PageNumber = Annotated[int, Query(ge=1, le=1_000_000)]


def page_of(
    rows: QuerySet[Row], page: int, shape: Callable[[Row], dict[str, object]]
) -> dict[str, object]:
    """One page, and how many there are on all of them."""
    start = (page - 1) * PER_PAGE
    return {
        "items": [shape(row) for row in rows[start : start + PER_PAGE]],
        "count": rows.count(),
    }
