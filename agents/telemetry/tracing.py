"""Spans of OpenTelemetry. They go nowhere until console/ops/tracing.py names a collector."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from django.conf import settings
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, StatusCode, get_tracer, use_span

from agents.telemetry import log_context

Value = str | int | float | bool | list[str]
Facts = Mapping[str, Value | None]

tracer = get_tracer("planside")


def captures_content() -> bool:
    """Whether spans may carry what people, models and tools wrote: only if the operator says so."""
    return bool(settings.OTEL_CAPTURE_CONTENT)


@contextmanager
def span(
    name: str, facts: Facts, *, is_root: bool = False, is_client: bool = False
) -> Iterator[Span]:
    """A span whose error is the exception that leaves it.

    `is_client` is for a request to another server: no span nests in it, so that a generator may
    pause within.
    """
    opened = tracer.start_span(
        name,
        context=Context() if is_root else None,
        kind=SpanKind.CLIENT if is_client else SpanKind.INTERNAL,
        attributes={**log_context.as_attributes(), **without_nulls(facts)},
    )
    try:
        if is_client:
            yield opened
        else:
            with use_span(opened, record_exception=False, set_status_on_exception=False):
                yield opened
    except Exception as error:
        if error_type := error_type_of(error):
            fail(opened, error_type)
        raise
    finally:
        opened.end()


def note(span: Span, facts: Facts) -> None:
    span.set_attributes(without_nulls(facts))


def fail(span: Span, error_type: str) -> None:
    """Only the class of the error: its message may hold what people have written."""
    span.set_attribute("error.type", error_type)
    span.set_status(StatusCode.ERROR, error_type)


def error_type_of(error: Exception) -> str:
    """One of few names: the error's own kind, else its class. A stop or a wait is no error."""
    own = getattr(error, "error_class", None) or getattr(error, "kind", None)
    if own:
        return str(own)
    return "" if getattr(error, "is_no_failure", False) else type(error).__name__


def without_nulls(facts: Facts) -> dict[str, Value]:
    """OpenTelemetry knows no null."""
    return {name: value for name, value in facts.items() if value is not None}
