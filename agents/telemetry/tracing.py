"""Spans of OpenTelemetry, where tracing is switched on; elsewhere one check of a variable.

OpenTelemetry is an optional extra, so it is imported at the first span and never before.
docs/decisions/0008 gives the figures for not depending on its API instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Protocol

from django.conf import settings

from agents.telemetry import log_context

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

Value = str | int | float | bool | list[str]
Facts = Mapping[str, Value | None]


class SpanWriter(Protocol):
    """What is written onto a span while it lasts."""

    def note(self, facts: Facts) -> None: ...
    def failed(self, error_type: str) -> None: ...


class NoSpan:
    """The span of a process that does not trace."""

    def note(self, facts: Facts) -> None:
        pass

    def failed(self, error_type: str) -> None:
        pass


class OpenSpan:
    def __init__(self, span: Span) -> None:
        self.span = span

    def note(self, facts: Facts) -> None:
        self.span.set_attributes(without_nulls(facts))

    def failed(self, error_type: str) -> None:
        """Only the class of the error: its message may hold what people have written."""
        from opentelemetry.trace import StatusCode

        self.span.set_attribute("error.type", error_type)
        self.span.set_status(StatusCode.ERROR, error_type)


OFF: AbstractContextManager[SpanWriter] = nullcontext(NoSpan())

_open: Callable[[], Tracer] | None = None
_tracer: Tracer | None = None


def trace_with(opener: Callable[[], Tracer] | None) -> None:
    """From now on spans go to the tracer that this opens, at the first span; None: nowhere."""
    global _open, _tracer
    _open, _tracer = opener, None


def is_on() -> bool:
    return _open is not None


def captures_content() -> bool:
    """Whether spans may carry what people, models and tools wrote: only if the operator says so."""
    return is_on() and bool(settings.OTEL_CAPTURE_CONTENT)


def span(
    name: str, facts: Facts, *, is_root: bool = False, is_client: bool = False
) -> AbstractContextManager[SpanWriter]:
    """A span whose error is the exception that leaves it.

    `is_client` is for a request to another server: no span nests in it, so that a generator may
    pause within.
    """
    return open_span(name, facts, is_root, is_client) if is_on() else OFF


@contextmanager
def open_span(name: str, facts: Facts, is_root: bool, is_client: bool) -> Iterator[SpanWriter]:
    from opentelemetry.context import Context
    from opentelemetry.trace import SpanKind, use_span

    global _tracer
    if _tracer is None:
        assert _open is not None, "nobody traces"
        _tracer = _open()
    span = _tracer.start_span(
        name,
        context=Context() if is_root else None,
        kind=SpanKind.CLIENT if is_client else SpanKind.INTERNAL,
        attributes={**log_context.as_attributes(), **without_nulls(facts)},
    )
    writer = OpenSpan(span)
    try:
        if is_client:
            yield writer
        else:
            with use_span(span, record_exception=False, set_status_on_exception=False):
                yield writer
    except Exception as error:
        if error_type := error_type_of(error):
            writer.failed(error_type)
        raise
    finally:
        span.end()


def error_type_of(error: Exception) -> str:
    """One of few names: the error's own kind, else its class. A stop or a wait is no error."""
    own = getattr(error, "error_class", None) or getattr(error, "kind", None)
    if own:
        return str(own)
    return "" if getattr(error, "is_no_failure", False) else type(error).__name__


def note(facts: Facts) -> None:
    """Set attributes of the current span."""
    if is_on():
        from opentelemetry.trace import get_current_span

        OpenSpan(get_current_span()).note(facts)


def without_nulls(facts: Facts) -> dict[str, Value]:
    """OpenTelemetry knows no null."""
    return {name: value for name, value in facts.items() if value is not None}
