"""What an agent may do, on its card: grants, a service's operations, calls allowed for always."""

from __future__ import annotations

from typing import cast

from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.decorators.http import require_GET
from pydantic import JsonValue

from agents.config.store import AgentRecord, change_agent, read_agent
from agents.config.tool_names import BETWEEN
from agents.errors import Conflict, Invalid, NotFound
from agents.models import ToolSource
from agents.tools.integrations.actions import source_named
from console.agent_tools import operations_of, without
from console.fragments import replace
from console.views.agents import changing, mine

GRANTS = ("allow", "ask", "off")
AS_ABOVE = "as-above"


@changing
def grant(request: HttpRequest, agent_id: str) -> str:
    """One word of `tools`; an operation may go back to what its service has."""
    name, wanted = request.POST.get("tool", ""), request.POST.get("grant", "")
    if not name or wanted not in (*GRANTS, AS_ABOVE):
        raise Invalid("A tool is allow, ask or off.")
    value = None if wanted == AS_ABOVE else wanted
    change_agent(agent_id, {"tools": {name: value}})
    if value is None:
        return f"{name} follows {name.partition(BETWEEN)[0]}."
    return f"{name} is set to {wanted}."


@require_GET
def operations(request: HttpRequest, agent_id: str, source: str) -> HttpResponse:
    """The operations of a service, when somebody unfolds them."""
    agent = mine(request, agent_id)
    try:
        found = source_named(source)
    except NotFound as error:
        raise Http404 from error
    return HttpResponse(replace(f"operations-{agent.id}-{source}", shown(agent, found)))


def shown(agent: AgentRecord, source: ToolSource) -> str:
    context = {"agent": agent, "source": source, "rows": operations_of(agent, source)}
    return render_to_string("agents/_operations.html", context)


@changing
def take_back(request: HttpRequest, agent_id: str) -> str:
    """One call asks again from now on."""
    kept = without(read_agent(agent_id), request.POST.get("call", ""))
    if kept is None:
        raise Conflict("This call is not among those allowed for always any more.")
    change_agent(agent_id, {"always_allow": cast(JsonValue, kept)})
    return "Taken back: this call asks again."
