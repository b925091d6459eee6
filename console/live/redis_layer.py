"""Redis as the channel layer: it only announces that there is something to read in the rows."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

from channels_redis import pubsub
from redis.exceptions import RedisError

from agents.db import Outage

SEND_SECONDS = 0.5  # for one message; a Redis that hangs must not hold up who writes
PAUSE = 2.0  # seconds without a try after one that failed

outage = Outage("Redis, which carries the live updates,")


class RedisLayer(pubsub.RedisPubSubChannelLayer):  # type: ignore[misc]
    """While Redis is away nothing is announced, and nothing breaks: pages find it in the rows."""

    silent_until = 0.0

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        if time.monotonic() < self.silent_until:
            return
        try:
            await self.send_or_raise(group, message)
        except (RedisError, OSError) as error:  # a TimeoutError is an OSError
            self.silent_until = time.monotonic() + PAUSE
            outage.began(error)
        else:
            outage.over()

    async def send_or_raise(self, group: str, message: dict[str, Any]) -> None:
        """Raises RedisError or OSError when it cannot be sent; the health check asks this way."""
        async with asyncio.timeout(SEND_SECONDS):
            await self._get_layer().group_send(group, message)


def is_no_outage(record: logging.LogRecord) -> bool:
    """The layer's receiver tries again each second, and logs a traceback for each try."""
    error = record.exc_info[1] if record.exc_info else None
    if not isinstance(error, RedisError | OSError):
        return True
    outage.began(error)
    return False


pubsub.logger.addFilter(is_no_outage)
