"""`manage.py tools add NAME --mcp "COMMAND"|URL | --openapi URL`, change, list, remove, test."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Awaitable
from pathlib import Path

from asgiref.sync import async_to_sync

from agents.errors import Conflict, Invalid
from agents.models import ToolSource
from agents.tools.integrations import actions, mcp
from agents.tools.integrations.changes import SourceEdit, change_source
from agents.tools.integrations.openapi.parser import document_in
from console.auth.users import OWNER
from console.integration_schemas import SourceShape, shape
from console.management.base import PlainCommand

WEB = ("http://", "https://")


class Command(PlainCommand):
    help = "Services whose operations are tools: OpenAPI documents and MCP servers."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        for verb, explanation in VERBS.items():
            arguments = verbs.add_parser(verb, help=explanation)
            if verb != "list":
                arguments.add_argument("name")
            if verb in ("add", "change"):
                add_where(arguments, is_required=verb == "add")
            if verb == "change":
                add_changes(arguments)
            arguments.add_argument("--json", action="store_true", help="print data as JSON")

    def handle(self, *, verb: str, json: bool, name: str = "", **options: object) -> None:
        self.prepare()
        if verb == "list":
            self.list_sources(json)
        elif verb == "remove":
            actions.remove_source(name, OWNER)
        elif verb in TRUST:
            self.show(actions.trust_hints(name, TRUST[verb], OWNER), json)
        else:
            if verb == "add":
                asking = actions.register(added(name, options), OWNER)
            elif verb == "change":
                edit = edit_of(actions.source_named(name), options)
                asking = change_source(name, edit, OWNER)
            else:
                asking = actions.refresh_source(actions.source_named(name))
            self.show(answered(asking), json)

    def list_sources(self, as_json: bool) -> None:
        rows = [shape(source) for source in actions.list_sources()]
        if as_json:
            self.print_json([row.model_dump() for row in rows])
        for row in [] if as_json else rows:
            self.stdout.write(line(row))

    def show(self, source: ToolSource, as_json: bool) -> None:
        """All of one, and its error as the command's own."""
        row = shape(source)
        if row.error:
            raise Conflict(row.error)
        if as_json:
            self.print_json(row.model_dump())
            return
        self.stdout.write(line(row))
        for tool in row.tools:
            marks = {"reads": tool.read_only, "not allowed": not tool.allowed}
            said = "".join(f"  ({words})" for words, is_so in marks.items() if is_so)
            self.stdout.write(f"  {tool.name}{said}")
        if row.note:
            self.stdout.write(row.note)


TRUST = {"trust": True, "distrust": False}
VERBS = {
    "add": "register a service and ask it what it offers",
    "change": "give a service another address, other headers or limits; what is not named stays",
    "list": "the registered services",
    "remove": "take a service and its tools away",
    "test": "ask a service again what it offers",
    "trust": "believe a service which of its tools only read",
    "distrust": "count all of a service's tools as writing, as at first",
}


def add_where(arguments: ArgumentParser, *, is_required: bool) -> None:
    where = arguments.add_mutually_exclusive_group(required=is_required)
    where.add_argument("--mcp", metavar="COMMAND|URL", help="an MCP server: stdio or HTTP")
    where.add_argument("--openapi", metavar="URL", help="a service with <URL>/openapi.json")
    arguments.add_argument("--spec", metavar="FILE|URL", help="its document, if it is elsewhere")
    arguments.add_argument(
        "--header",
        metavar='"K: V"',
        action="append",
        default=[],
        help="a secret sent with every request; for a COMMAND: KEY=VALUE in its environment",
    )
    arguments.add_argument(
        "--inject",
        metavar="name=value",
        action="append",
        default=[],
        help="an argument that is filled in and not shown to the model",
    )
    seconds = 60 if is_required else None
    arguments.add_argument("--timeout", type=int, default=seconds, help="seconds a call may take")
    arguments.add_argument(
        "--client-id", metavar="ID", help="for a sign-in that registers no program by itself"
    )
    arguments.add_argument("--client-secret", metavar="SECRET", help="what came with the ID")
    if is_required:
        arguments.add_argument(
            "--trust-hints",
            action="store_true",
            help="believe it which of its tools only read; else all count as writing",
        )


def add_changes(arguments: ArgumentParser) -> None:
    arguments.add_argument(
        "--allow",
        metavar="OPERATION",
        action="append",
        help="an operation that may be used, with * for any characters; '*' for all of them",
    )
    arguments.add_argument(
        "--forget",
        metavar="WHAT",
        action="append",
        default=[],
        choices=["headers", "inject", "client-secret"],
        help="headers, inject or client-secret: take it away",
    )


def edit_of(source: ToolSource, options: dict[str, object]) -> SourceEdit:
    """What the options name; an option that is missing leaves it as it is."""
    where = str(options["mcp"] or options["openapi"] or "")
    if where and (source.kind == ToolSource.Kind.MCP) != bool(options["mcp"]):
        raise Invalid(f"{source.name} stays of its kind: remove it, and add it as another one.")
    is_command = bool(where or source.command) and not (where or source.url).startswith(WEB)
    forgotten = options["forget"]
    forget = forgotten if isinstance(forgotten, list) else []
    headers = pairs(options["header"], "=:" if is_command else ":", "A header is --header")
    inject = pairs(options["inject"], "=", "An injected argument is --inject")
    secret, seconds, allowed = options["client_secret"], options["timeout"], options["allow"]
    return SourceEdit(
        where=where or None,
        spec=document_of(options["spec"]),
        headers=headers or ({} if "headers" in forget else None),
        inject=inject or ({} if "inject" in forget else None),
        timeout_s=None if seconds is None else int(str(seconds)),
        allowed=None if not isinstance(allowed, list) else [] if allowed == ["*"] else allowed,
        client_id=None if options["client_id"] is None else str(options["client_id"]),
        client_secret=str(secret) if secret else "" if "client-secret" in forget else None,
    )


def document_of(spec: object) -> object:
    """A URL, or the document in a file; None where none is named."""
    if not spec or str(spec).startswith(WEB):
        return spec or None
    try:
        return document_in(Path(str(spec)).read_bytes(), str(spec))
    except OSError as error:
        raise Invalid(f"{spec} cannot be read: {error.strerror}.") from None


def added(name: str, options: dict[str, object]) -> ToolSource:
    """The service as it was described; `actions.register` keeps it only when it could be asked."""
    where = str(options["mcp"] or options["openapi"])
    is_command = bool(options["mcp"]) and not where.startswith(WEB)
    return actions.add_source(
        name,
        kind=ToolSource.Kind.MCP if options["mcp"] else ToolSource.Kind.OPENAPI,
        url="" if is_command else where,
        command=where if is_command else "",
        spec=document_of(options["spec"]),
        headers=pairs(options["header"], "=:" if is_command else ":", "A header is --header"),
        inject=pairs(options["inject"], "=", "An injected argument is --inject"),
        timeout_s=int(str(options["timeout"])),
        trusts_hints=bool(options["trust_hints"]),
        client_id=str(options["client_id"] or ""),
        client_secret=str(options["client_secret"] or ""),
        by=OWNER,
    )


def answered(asking: Awaitable[ToolSource]) -> ToolSource:
    """Ask, and end whatever was started for it."""

    async def ask() -> ToolSource:
        try:
            return await asking
        finally:
            await mcp.aclose_all()

    return async_to_sync(ask)()


def pairs(texts: object, signs: str, what: str) -> dict[str, str]:
    """`name: value` or `name=value`, cut at the first of the signs.

    A value may be a secret: no sentence repeats one.
    """
    found: dict[str, str] = {}
    for text in texts if isinstance(texts, list) else []:
        places = [text.index(sign) for sign in signs if sign in text]
        if not places:
            raise Invalid(f'{what} "name{signs[0]}value".')
        found[text[: min(places)].strip()] = text[min(places) + 1 :].strip()
    return found


def line(row: SourceShape) -> str:
    summary = f"{row.name}  {row.kind}  {row.command or row.url}  {len(row.tools):,} tools"
    return f"{summary}  {row.error}" if row.error else summary
