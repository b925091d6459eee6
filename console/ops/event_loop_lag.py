"""How late the event loop is: what every page, socket and stream of this process waits for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from time import monotonic

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from agents.telemetry.metrics import REGISTRY

LONGEST = 2.0  # seconds; a loop that is later than that counts as that late


class Lag(Collector):
    """Measured when it is asked for, from a thread beside the loop."""

    loop: asyncio.AbstractEventLoop | None = None

    def collect(self) -> Iterable[Metric]:
        if self.loop is None or self.loop.is_closed():
            return []
        began, reached = monotonic(), threading.Event()
        self.loop.call_soon_threadsafe(reached.set)
        reached.wait(LONGEST)
        words = "From handing something to the event loop until it ran, just now."
        return [GaugeMetricFamily("planside_loop_lag_seconds", words, value=monotonic() - began)]


lag = Lag()
REGISTRY.register(lag)


def watch_this_loop() -> None:
    lag.loop = asyncio.get_running_loop()
