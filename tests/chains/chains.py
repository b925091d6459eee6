"""Chains on disk and services behind them, for tests of the interpreter."""

import json
from pathlib import Path

import httpx
from django.conf import settings

from agents.models import ToolSource
from tests.inner import http, operations_of
from tests.world import agent, conversation

SHOP = {
    "openapi": "3.0.0",
    "info": {"title": "Shop", "version": "1"},
    "paths": {
        "/orders": {
            "get": {
                "operationId": "orders",
                "parameters": [{"name": "q", "in": "query", "schema": {"type": "string"}}],
                "responses": {"200": {"description": "all"}},
            }
        }
    },
}


def written(*tasks, id="mine", **more):
    """Write a chain into the home folder; gives its id."""
    folder = Path(settings.PLANSIDE_HOME) / "chains"
    folder.mkdir(exist_ok=True)
    (folder / f"{id}.json").write_text(json.dumps({"id": id, "tasks": list(tasks), **more}))
    return id


def task(id, handler, *ways, **more):
    """A task; a way is (operator, when, goto) or a goto."""
    rows = [way if isinstance(way, tuple) else ("default", "", way) for way in ways]
    branches = [{"operator": o, "when": w, "goto": g} for o, w, g in rows]
    transition = {"branches": branches, **more.pop("transition", {})}
    return {"id": id, "handler": handler, "transition": transition, **more}


def chatting(*tasks, token_limit=0, **more):
    """A conversation whose agent answers by this chain."""
    return conversation(chains={"chat": written(*tasks, token_limit=token_limit)}, **more)


def shop(answer):
    """A registered service that gives this answer, or what it returns; a `with` ends it."""
    url = "http://shop.test"
    operations = operations_of(SHOP, url, f"{url}/openapi.json", 58).operations
    ToolSource.objects.create(name="shop", kind="openapi", url=url, tools=operations)
    give = answer if callable(answer) else lambda: answer
    return http.use(httpx.MockTransport(lambda request: give()))


__all__ = ["agent", "chatting", "shop", "task", "written"]
