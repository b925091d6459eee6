"""Spans of OpenTelemetry, where tracing is switched on; else a hook is one look at a variable.

OpenTelemetry is an optional extra, so it is imported at the first span and never before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Protocol

from agents.telemetry import log_context

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

Value = str | int | float | bool | list[str]
Facts = Mapping[str, Value | None]


class Noted(Protocol):
    """What is written onto a span while it lasts."""

    def note(self, facts: Facts) -> None: ...
    def failed(self, error_type: str) -> None: ...


class Nowhere:
    """The span of a process that does not trace."""

    def note(self, facts: Facts) -> None:
        pass

    def failed(self, error_type: str) -> None:
        pass


class Written:
    """A span; facts that are None are left out, since OpenTelemetry knows no null."""

    def __init__(self, span: Span) -> None:
        self.span = span

    def note(self, facts: Facts) -> None:
        self.span.set_attributes(known(facts))

    def failed(self, error_type: str) -> None:
        """Only the class of the error: its words may hold what people have written."""
        from opentelemetry.trace import StatusCode

        self.span.set_attribute("error.type", error_type)
        self.span.set_status(StatusCode.ERROR, error_type)


NOWHERE = Nowhere()
OFF: AbstractContextManager[Noted] = nullcontext(NOWHERE)

_open: Callable[[], Tracer] | None = None
_tracer: Tracer | None = None


def trace_with(opener: Callable[[], Tracer] | None) -> None:
    """From now on spans go to the tracer that this opens, at the first span; None: nowhere."""
    global _open, _tracer
    _open, _tracer = opener, None


def is_on() -> bool:
    return _open is not None


def tracer() -> Tracer:
    global _tracer
    if _tracer is None:
        assert _open is not None, "nobody traces"
        _tracer = _open()
    return _tracer


@contextmanager
def span(name: str, facts: Facts, *, is_root: bool = False) -> Iterator[Noted]:
    """A span in which others are nested; what it raises is its error."""
    from opentelemetry.context import Context

    attributes = {**log_context.as_attributes(), **known(facts)}
    begun = tracer().start_as_current_span(
        name,
        context=Context() if is_root else None,
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    )
    with begun as under_way:
        written = Written(under_way)
        with errors_of(written):
            yield written


@contextmanager
def lone_span(name: str, facts: Facts) -> Iterator[Noted]:
    """A span to another server with nothing nested in it; a generator may stand still within."""
    from opentelemetry.trace import SpanKind

    attributes = {**log_context.as_attributes(), **known(facts)}
    written = Written(tracer().start_span(name, kind=SpanKind.CLIENT, attributes=attributes))
    try:
        with errors_of(written):
            yield written
    finally:
        written.span.end()


@contextmanager
def errors_of(written: Written) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if error_type := error_type_of(error):
            written.failed(error_type)
        raise


def error_type_of(error: Exception) -> str:
    """A word out of few: the error's own kind, else its class. A stop or a wait is no error."""
    own = getattr(error, "error_class", None) or getattr(error, "kind", None)
    if own:
        return str(own)
    return "" if getattr(error, "is_no_failure", False) else type(error).__name__


def note(facts: Facts) -> None:
    """Onto the span that lasts now."""
    if _open is not None:
        from opentelemetry.trace import get_current_span

        Written(get_current_span()).note(facts)


def known(facts: Facts) -> dict[str, Value]:
    return {name: value for name, value in facts.items() if value is not None}
