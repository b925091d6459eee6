"""Changing a registered service: its grants stay, and no secret goes where it was not meant for."""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from django.db import transaction

from agents.db import in_db
from agents.errors import Conflict, Invalid, about
from agents.models import OAuthLogin, ToolSource
from agents.normalization import split_url
from agents.stored_text import gettext
from agents.telemetry.redaction import redacted_url
from agents.tools.integrations import mcp
from agents.tools.integrations.actions import answer_of, check, source_named
from agents.tools.integrations.sign_in import stop
from agents.tools.integrations.tools import check_inject, server_of, store

log = logging.getLogger(__name__)

MOST_PATTERNS = 200
CONNECTING = ("url", "command", "spec", "headers", "client_id", "client_secret")


@dataclass(frozen=True)
class SourceEdit:
    """What is to change; None leaves it as it is. Empty headers, fixed arguments, or an empty
    client secret take them away.

    `where` is an address, or for an MCP server a command instead. `spec` is the address of the
    OpenAPI document or the document; an empty one is where it is looked for without a word.
    `allowed` are the operations that may be used here, with * for any characters; an empty list
    means all of them.
    """

    where: str | None = None
    spec: object = None
    headers: Mapping[str, str] | None = field(default=None, repr=False)
    inject: Mapping[str, object] | None = field(default=None, repr=False)
    timeout_s: int | None = None
    trusts_hints: bool | None = None
    allowed: Sequence[str] | None = None
    client_id: str | None = None
    client_secret: str | None = field(default=None, repr=False)


async def change_source(name: str, edit: SourceEdit, by: str) -> ToolSource:
    """Where the change is about how it is asked, it is asked at once, and only if it answers
    anything is changed. Raises Refused.
    """
    before = await in_db(source_named, name)
    after = changed(before, edit)
    answer: dict[str, object] = {}
    if any(getattr(before, each) != getattr(after, each) for each in CONNECTING):
        answer = await answer_of(after)
        if answer["error"] and "sign_in" not in answer:
            raise Conflict(str(answer["error"]), field="where")
    tools = answer.get("tools", after.tools)
    assert isinstance(tools, list)
    if tools:
        check_tools(after, tools)
    forgets_login = loses_login(before, after)
    if forgets_login and before.sign_in == ToolSource.SignIn.CONNECTED:
        await mcp.sign_out(server_of(before))
    source = await in_db(keep, before, after, answer, forgets_login=forgets_login)
    if forgets_login:
        stop(name)
    if server_of(before) != server_of(source):
        mcp.forget(name)
    log.debug("service %s changed by %s", name, by)
    return source


def changed(before: ToolSource, edit: SourceEdit) -> ToolSource:
    """The row as it would be; nothing is stored. Raises Invalid."""
    after = copy.copy(before)
    if edit.where is not None and edit.where != redacted_url(before.url):
        is_url = before.kind == ToolSource.Kind.OPENAPI or edit.where.startswith(
            ("http://", "https://")
        )
        after.url, after.command = (edit.where, "") if is_url else ("", edit.where)
    if edit.spec is not None:
        after.spec = edit.spec or None
    for name in ("headers", "inject"):
        if (values := getattr(edit, name)) is not None:
            setattr(after, name, dict(values))
    for name in ("timeout_s", "trusts_hints", "client_id", "client_secret"):
        if (value := getattr(edit, name)) is not None:
            setattr(after, name, value)
    if edit.allowed is not None:
        after.allowed = list(dict.fromkeys(edit.allowed)) or None
    if after.client_id != before.client_id and edit.client_secret is None:
        after.client_secret = ""
    if len(after.allowed or ()) > MOST_PATTERNS:
        raise Invalid(
            gettext("Up to {most_patterns:,} operations can be named.").format(
                most_patterns=MOST_PATTERNS
            ),
            field="allowed",
        )
    check_fits(after, edit)
    check(after)
    check_secrets_stay(before, after, edit)
    if loses_login(before, after):
        after.sign_in = ""
    if (after.url, after.command) != (before.url, before.command):
        after.tools, after.skipped, after.error = [], [], ""
    return after


def check_fits(after: ToolSource, edit: SourceEdit) -> None:
    """Raises Conflict for what a service of another kind could have."""
    is_mcp = after.kind == ToolSource.Kind.MCP
    if after.command and not is_mcp:
        raise Conflict(
            gettext("{name} is an OpenAPI service, which has an address.").format(name=after.name),
            field="where",
        )
    if edit.spec is not None and is_mcp:
        raise Conflict(
            gettext("{name} is an MCP server, which has no document.").format(name=after.name),
            field="spec",
        )
    if (after.client_id or after.client_secret) and not (is_mcp and after.url):
        raise Conflict(gettext("A client ID is for MCP servers at an address."), field="client_id")
    if after.client_secret and not after.client_id:
        raise Conflict(gettext("A client secret goes with a client ID."), field="client_id")


@about("where")
def check_secrets_stay(before: ToolSource, after: ToolSource, edit: SourceEdit) -> None:
    """What was entered for one server goes to no other. Raises Conflict, and names no value."""
    if place_of(before) == place_of(after):
        return
    headers = gettext("environment variables") if before.command else gettext("headers")
    secrets = (
        (headers, before.headers, edit.headers),
        (gettext("fixed arguments"), before.inject, edit.inject),
        (gettext("the client secret"), after.client_secret, edit.client_secret),
    )
    kept = [words for words, secret, entered in secrets if secret and entered is None]
    if kept:
        raise Conflict(
            gettext(
                "This is another server than the secrets were entered for: enter {kept} again, or "
                "take them away."
            ).format(kept=", ".join(kept))
        )


def place_of(source: ToolSource) -> tuple[str, str]:
    """The command, or the origin of the address: on the way to it a path may be corrected."""
    parts = split_url(source.url)
    return source.command, f"{parts.scheme}://{parts.netloc}".lower()


def loses_login(before: ToolSource, after: ToolSource) -> bool:
    """Tokens are for one address, and for whom somebody registered there."""
    names = ("url", "command", "client_id", "client_secret")
    return any(getattr(before, name) != getattr(after, name) for name in names)


def check_tools(source: ToolSource, tools: list[dict[str, object]]) -> None:
    """A name that is misspelt would fix or allow less than was meant. Raises Conflict."""
    try:
        check_inject(source, tools)
    except Invalid as refusal:
        raise Conflict(str(refusal), field="inject") from None
    names = [str(tool["name"]) for tool in tools]
    for pattern in source.allowed or ():
        if not any(fnmatchcase(name, pattern) for name in names):
            raise Conflict(
                gettext("No operation of {name} is called {pattern!r}.").format(
                    name=source.name, pattern=pattern[:100]
                ),
                field="allowed",
            )


@transaction.atomic
def keep(
    before: ToolSource, after: ToolSource, answer: Mapping[str, object], *, forgets_login: bool
) -> ToolSource:
    """Raises Conflict where somebody else has changed or removed it meanwhile."""
    rows = ToolSource.objects.select_for_update().filter(pk=before.pk)
    now = rows.first()
    same = ("url", "command", "headers", "inject", "client_id", "client_secret")
    if now is None or any(getattr(now, each) != getattr(before, each) for each in same):
        raise Conflict(
            gettext("{name} was changed meanwhile: look at it again.").format(name=before.name)
        )
    if forgets_login:
        OAuthLogin.objects.filter(source=now).delete()
    if not answer:  # it may have said meanwhile that it offers something else
        after.tools, after.skipped, after.error = now.tools, now.skipped, now.error
    fields = ("url", "command", "spec", "headers", "inject", "timeout_s", "trusts_hints", "allowed")
    changes = {name: getattr(after, name) for name in (*fields, "client_id", "client_secret")}
    state = {name: getattr(after, name) for name in ("tools", "skipped", "error", "sign_in")}
    return store(now, {**changes, **state, **answer})
