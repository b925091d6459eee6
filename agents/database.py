"""The one place where async code meets the database."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from asgiref.sync import sync_to_async

P = ParamSpec("P")
R = TypeVar("R")


async def in_db(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a sync function of the domain on the process's one database thread."""
    return await sync_to_async(function, thread_sensitive=True)(*args, **kwargs)
