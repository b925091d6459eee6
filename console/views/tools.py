"""Settings > Tools: registered services. Everybody sees what they offer; admins change them."""

from __future__ import annotations

from urllib.parse import urlencode

from asgiref.sync import sync_to_async
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HttpResponseClientRedirect

from agents.errors import Invalid, NotFound, Refused, about
from agents.models import ToolSource
from agents.tools.integrations import actions, sign_in
from agents.tools.integrations.changes import SourceEdit, change_source
from console.auth.admins import demand_admin, for_admins
from console.components import replace
from console.form_parsing import OF_ARGUMENTS, OF_HEADERS, lines, pairs
from console.htmx import person, refusal_response
from console.integration_schemas import shape

WEB = ("http://", "https://")
KINDS = {"openapi": ToolSource.Kind.OPENAPI, "mcp": ToolSource.Kind.MCP}


@require_GET
def tools(request: HttpRequest) -> HttpResponse:
    return tools_page(request)


def tools_page(request: HttpRequest, sentence: str = "", status: int = 200) -> HttpResponse:
    """`sentence` says what did not work before."""
    is_admin = person(request).is_superuser
    context = {
        "page": "tools",
        "sentence": sentence,
        "sources": [shape(source, for_admin=is_admin) for source in actions.list_sources()],
        "is_admin": is_admin,
        "sign_in_address": request.build_absolute_uri(reverse("tool-signed-in")),
        "opened": request.GET.get("source", ""),
    }
    return render(request, "settings/tools.html", context, status=status)


@require_POST
async def add(request: HttpRequest) -> HttpResponse:
    """Kept only when it could be asked what it offers."""
    try:
        source = await sync_to_async(source_from)(request)
        source = await actions.register(source, demand_admin(await request.auser()))
    except Refused as refusal:
        return refusal_response("source-new-alert", refusal)
    return HttpResponseClientRedirect(place_of(source.name))


def source_from(request: HttpRequest) -> ToolSource:
    """The form as a source that has not been asked yet."""
    form, by = request.POST, demand_admin(request.user)
    kind, where = form.get("kind", ""), form.get("where", "").strip()
    if kind not in KINDS:
        raise Invalid(gettext("A service is an OpenAPI service or an MCP server."), field="kind")
    is_command = kind == "mcp" and not where.startswith(WEB)
    return actions.add_source(
        form.get("name", "").strip(),
        kind=KINDS[kind],
        url="" if is_command else where,
        command=where if is_command else "",
        spec=(form.get("spec", "").strip() or None) if kind == "openapi" else None,
        headers=headers_in(form, is_command=is_command),
        inject=arguments_in(form),
        timeout_s=seconds_in(form),
        trusts_hints="trusts_hints" in form,
        client_id=form.get("client_id", "").strip(),
        client_secret=form.get("client_secret", "").strip(),
        by=by,
    )


@require_POST
async def change(request: HttpRequest, name: str) -> HttpResponse:
    """What was registered, in other words; kept only when it can be asked so."""
    try:
        by = demand_admin(await request.auser())
        edit = edit_of(await sync_to_async(actions.source_named)(name), request.POST)
        await change_source(name, edit, by)
    except NotFound as error:
        raise Http404 from error
    except Refused as refusal:
        return refusal_response(f"source-{name}-change-alert", refusal)
    return HttpResponseClientRedirect(place_of(name))


def edit_of(source: ToolSource, form: QueryDict) -> SourceEdit:
    """An empty secret stays as it is, unless it is to be forgotten."""
    forget = form.getlist("forget")
    where = form.get("where", "").strip()
    is_command = source.kind == ToolSource.Kind.MCP and not where.startswith(WEB)
    headers, inject = headers_in(form, is_command=is_command), arguments_in(form)
    secret = form.get("client_secret", "").strip()
    return SourceEdit(
        where=where or None,
        spec=form.get("spec", "").strip() or None,
        headers=headers or ({} if "headers" in forget else None),
        inject=inject or ({} if "inject" in forget else None),
        timeout_s=seconds_in(form),
        allowed=[line for _, line in lines(form.get("allowed", ""))],
        client_id=form.get("client_id", "").strip(),
        client_secret=secret or ("" if "client_secret" in forget else None),
    )


@about("headers")
def headers_in(form: QueryDict, *, is_command: bool) -> dict[str, str]:
    """Those of an address, or the environment of a command."""
    return pairs(form.get("headers", ""), ":=" if is_command else ":", str(OF_HEADERS))


@about("inject")
def arguments_in(form: QueryDict) -> dict[str, str]:
    return pairs(form.get("inject", ""), "=:", str(OF_ARGUMENTS))


@about("timeout_s")
def seconds_in(form: QueryDict) -> int:
    seconds = form.get("timeout_s", "").strip() or "60"
    if not seconds.isdecimal():
        raise Invalid(gettext("A call may take a whole number of seconds."))
    return int(seconds[:9])


@require_POST
async def refresh(request: HttpRequest, name: str) -> HttpResponse:
    """Ask it again what it offers; what was known stays when it does not answer."""
    try:
        by = demand_admin(await request.auser())
        source = await actions.refresh_source(await sync_to_async(actions.source_named)(name))
    except NotFound as error:
        raise Http404 from error
    except Refused as refusal:
        return refusal_response(f"source-{name}-alert", refusal)
    return HttpResponse(await sync_to_async(draw_card)(request, source, asked=bool(by)))


@require_POST
async def connect(request: HttpRequest, name: str) -> HttpResponse:
    """The browser goes where the server has people sign in, and comes back to `signed_in`."""
    try:
        user = await request.auser()
        by = demand_admin(user)
        back = request.build_absolute_uri(reverse("tool-signed-in"))
        address = await sign_in.connect(name, back, int(user.pk or 0), by)
    except NotFound as error:
        raise Http404 from error
    except Refused as refusal:
        return refusal_response(f"source-{name}-alert", refusal)
    return HttpResponseClientRedirect(address or place_of(name))


@require_GET
async def signed_in(request: HttpRequest) -> HttpResponse:
    """Where a sign-in ends: the browser brings a code, or why there is none."""
    given = {key: request.GET.get(key, "") for key in ("code", "iss", "error")}
    answer = {key: value for key, value in given.items() if value}
    try:
        user = await request.auser()
        demand_admin(user)
        if not answer:
            raise Invalid(str(sign_in.GONE))
        state = request.GET.get("state", "")
        source = await sign_in.bring_answer(state, answer, int(user.pk or 0))
    except Refused as refusal:
        return await sync_to_async(tools_page)(request, str(refusal), refusal.status)
    return redirect(place_of(source.name))


@require_POST
async def disconnect(request: HttpRequest, name: str) -> HttpResponse:
    try:
        source = await sign_in.disconnect(name, demand_admin(await request.auser()))
    except NotFound as error:
        raise Http404 from error
    except Refused as refusal:
        return refusal_response(f"source-{name}-alert", refusal)
    return HttpResponse(await sync_to_async(draw_card)(request, source))


def draw_card(request: HttpRequest, source: ToolSource, *, asked: bool = False) -> str:
    """For an admin, unfolded."""
    context = {
        "source": shape(source),
        "is_admin": True,
        "sign_in_address": request.build_absolute_uri(reverse("tool-signed-in")),
        "opened": source.name,
        "asked": asked,
    }
    return replace(f"source-{source.name}", render_to_string("settings/_source.html", context))


def place_of(name: str) -> str:
    """The page with this service unfolded."""
    return f"{reverse('tools')}?{urlencode({'source': name})}"


@for_admins("source-{name}-alert")
def trust(request: HttpRequest, by: str, name: str) -> HttpResponse:
    """Believe what it says of itself, or no longer."""
    source = actions.trust_hints(name, "trusts_hints" in request.POST, by)
    return HttpResponse(draw_card(request, source))


@for_admins("source-{name}-alert")
def remove(request: HttpRequest, by: str, name: str) -> HttpResponse:
    actions.remove_source(name, by)
    return HttpResponseClientRedirect(reverse("tools"))
