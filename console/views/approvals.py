"""Settings > Approvals: the calls that run without asking, of all of a person's agents."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from agents.config.ownership import agents_of
from agents.config.store import change_agent
from agents.errors import Conflict, Refused
from agents.tools.integrations.tools import source_tools
from console.agent_tools import always_allowed, without
from console.components import replace
from console.htmx import person, refusal_response
from console.language import shown_name
from console.views.agents import own_agent


@require_GET
def approvals(request: HttpRequest) -> HttpResponse:
    return render(request, "settings/approvals.html", {"page": "approvals", **rules_of(request)})


@require_GET
def listed(request: HttpRequest) -> HttpResponse:
    """The list as it is now, for a page that is open."""
    return HttpResponse(draw_rules(request))


@require_POST
def revoke(request: HttpRequest, agent_id: str) -> HttpResponse:
    """The call asks again from now on."""
    agent = own_agent(request, agent_id)
    try:
        kept = without(agent, request.POST.get("call", ""))
        if kept is None:
            raise Conflict(gettext("This call is not among those allowed for always any more."))
        change_agent(agent.id, {"always_allow": kept}, agent.digest)
    except Refused as refusal:
        return refusal_response("approvals-alert", refusal)
    return HttpResponse(
        draw_rules(
            request,
            gettext("Revoked. It asks again for {name}.").format(name=shown_name(agent.file)),
        )
    )


def draw_rules(request: HttpRequest, said: str = "") -> str:
    context = rules_of(request) | {"said": said}
    return replace("approvals", render_to_string("settings/_approvals.html", context))


def rules_of(request: HttpRequest) -> dict[str, object]:
    tools = {tool.name: tool for tool in source_tools()}
    rows = [(agent, always_allowed(agent, tools)) for agent in agents_of(person(request))]
    return {"agents": [(agent, rules) for agent, rules in rows if rules], "user": request.user}
