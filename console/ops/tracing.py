"""Switching traces on: OpenTelemetry over OTLP/HTTP, configured by its own variables (OTEL_…)."""

from __future__ import annotations

import logging
import os
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from opentelemetry.trace import TracerProvider, set_tracer_provider

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider as SdkProvider
    from opentelemetry.trace import Tracer

log = logging.getLogger(__name__)

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
PROTOCOLS = ("OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
PACKAGES = ("opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http")
# Milliseconds that the last spans may take when the process ends.
FLUSH_TIMEOUT = 300


def endpoint() -> str:
    """Where traces are wanted; empty where nobody asked for them."""
    return next((url for name in ENDPOINTS if (url := os.environ.get(name, "").strip())), "")


def problem() -> str:
    """Why there are no traces although somebody asked for them, in one sentence."""
    if not endpoint():
        return ""
    if any(os.environ.get(name, "http/protobuf") == "grpc" for name in PROTOCOLS):
        return "Traces leave by OTLP over HTTP alone: unset OTEL_EXPORTER_OTLP_PROTOCOL=grpc."
    if not all(map(is_installed, PACKAGES)):
        return "OTEL_EXPORTER_OTLP_ENDPOINT is set, but OpenTelemetry is missing: make telemetry."
    return ""


def is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def start() -> None:
    """Costs nothing yet: the first span opens the exporter."""
    if reason := problem():
        log.warning(reason)
    elif endpoint():
        set_tracer_provider(Exporting())


class Exporting(TracerProvider):
    """Loads what exports spans at the first one, and not in every command."""

    def get_tracer(self, *args: Any, **kwargs: Any) -> Tracer:
        return open_provider().get_tracer(*args, **kwargs)


@cache
def open_provider() -> SdkProvider:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider as SdkProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    name = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": "planside"}
    provider = SdkProvider(resource=Resource.create(name))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def finish() -> None:
    """Send what is left; a collector that is away does not hold up the end."""
    if open_provider.cache_info().currsize:
        open_provider().force_flush(FLUSH_TIMEOUT)
