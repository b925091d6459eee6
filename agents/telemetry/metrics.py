"""What this process has done, counted for Prometheus. Every process has its own numbers.

Labels are words out of few: what people may write freely (models, agents) is none.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector

REGISTRY = CollectorRegistry()
ProcessCollector(registry=REGISTRY)

LONG = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)

turns = Counter(
    "planside_turns",
    "Turns that left running here, by what became of them.",
    ["kind", "state", "error"],
    registry=REGISTRY,
)
turn_seconds = Histogram(
    "planside_turn_seconds",
    "From a turn's claim until it ended, waited or went back to the queue.",
    ["kind"],
    buckets=LONG,
    registry=REGISTRY,
)
model_seconds = Histogram(
    "planside_model_call_seconds",
    "From a request to a model until its whole reply, or its error.",
    ["provider", "outcome"],
    buckets=LONG,
    registry=REGISTRY,
)
first_piece_seconds = Histogram(
    "planside_model_first_piece_seconds",
    "From a request to a model until the first piece of its reply.",
    ["provider"],
    buckets=LONG,
    registry=REGISTRY,
)
tokens = Counter(
    "planside_tokens",
    "Tokens that models read (in) and wrote (out) for this process.",
    ["provider", "direction"],
    registry=REGISTRY,
)
cached_tokens = Counter(
    "planside_cached_tokens",
    "Of the tokens that models read, those that came from the server's cache.",
    ["provider"],
    registry=REGISTRY,
)
tool_seconds = Histogram(
    "planside_tool_call_seconds",
    "Tool calls; the operations of a service count under its name.",
    ["tool", "state"],
    buckets=LONG,
    registry=REGISTRY,
)
