"""Calls of tools that demand to be run as a task: begun, looked after, and fetched when done.

Tasks belong to the protocol's version 2025-11-25.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from mcp import Client, MCPError
from mcp.client.session import ClientSession
from mcp.shared.dispatcher import CallOptions
from mcp_types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    CancelTaskRequest,
    CancelTaskRequestParams,
    CancelTaskResult,
    CreateTaskResult,
    GetTaskPayloadRequest,
    GetTaskPayloadRequestParams,
    GetTaskRequest,
    GetTaskRequestParams,
    GetTaskResult,
    Task,
    TaskMetadata,
)

from agents.tools.base import Arguments
from agents.tools.integrations.mcp.failures import ServerFailed
from agents.tools.integrations.mcp.watch import Watch

SHORTEST_PAUSE = 0.2  # seconds between two looks, where the server names fewer or none
LONGEST_PAUSE = 5.0
LAST_WORD = 2.0  # seconds to tell the server that nobody waits any more


async def call_as_task(
    client: Client, name: str, arguments: Arguments, watch: Watch
) -> CallToolResult:
    """The result of the call. Cancelling cancels the task. Raises MCPError, ServerFailed."""
    session = client.session
    task = await begin(session, name, arguments, watch)
    id, is_over = task.task_id, False
    try:
        while task.status == "working":
            pause = (task.poll_interval or 1_000) / 1_000
            await asyncio.sleep(min(max(pause, SHORTEST_PAUSE), LONGEST_PAUSE))
            asked = GetTaskRequest(params=GetTaskRequestParams(task_id=id))
            task = await session.send_request(asked, GetTaskResult)
            watch.saw(task.status_message or "")
        if task.status == "input_required":
            raise ServerFailed("it asks the person something in the middle, which is not supported")
        is_over = True
        if task.status in ("failed", "cancelled") and task.status_message:
            raise ServerFailed(f"its task is {task.status}: {task.status_message[:300]}")
        wanted = GetTaskPayloadRequest(params=GetTaskPayloadRequestParams(task_id=id))
        return await session.send_request(wanted, CallToolResult)
    finally:
        if not is_over:
            await cancel(session, id)


async def begin(session: ClientSession, name: str, arguments: Arguments, watch: Watch) -> Task:
    """Sent past the SDK's check, which takes any answer to a call for its result."""
    lifetime = TaskMetadata(ttl=int(watch.longest * 1_000))
    params = CallToolRequestParams(name=name, arguments=arguments, task=lifetime)
    request = CallToolRequest(params=params)
    data = request.model_dump(by_alias=True, mode="json", exclude_none=True)
    options: CallOptions = {"timeout": watch.seconds}
    raw = await session._dispatcher.send_raw_request(data["method"], data["params"], options)
    return CreateTaskResult.model_validate(raw, by_name=False).task


async def cancel(session: ClientSession, id: str) -> None:
    request = CancelTaskRequest(params=CancelTaskRequestParams(task_id=id))
    with suppress(MCPError, TimeoutError, asyncio.CancelledError):
        async with asyncio.timeout(LAST_WORD):
            await session.send_request(request, CancelTaskResult)
