"""How far a call is, said by the tool while it runs, to whoever carries out the call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Hear = Callable[[str], None]


def nobody(words: str) -> None:
    pass


_listener: ContextVar[Hear] = ContextVar("listener", default=nobody)


@contextmanager
def listening(hear: Hear) -> Iterator[None]:
    """Calls in here tell `hear` how far they are: from the loop that runs them, at any rate."""
    token = _listener.set(hear)
    try:
        yield
    finally:
        _listener.reset(token)


def listener() -> Hear:
    """For a tool that says how far it is; asked where it is called, as it may hear it elsewhere."""
    return _listener.get()
