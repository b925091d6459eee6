"""`manage.py tools add NAME --mcp "COMMAND"|URL | --openapi URL | list | remove | test NAME`."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Awaitable
from pathlib import Path

from asgiref.sync import async_to_sync

from agents.errors import Conflict, Invalid
from agents.models import ToolSource
from agents.tools.integrations import actions, mcp
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
            if verb == "add":
                add_where(arguments)
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
            self.stdout.write(f"  {tool.name}{'  (reads)' if tool.read_only else ''}")
        if row.note:
            self.stdout.write(row.note)


TRUST = {"trust": True, "distrust": False}
VERBS = {
    "add": "register a service and ask it what it offers",
    "list": "the registered services",
    "remove": "take a service and its tools away",
    "test": "ask a service again what it offers",
    "trust": "believe a service which of its tools only read",
    "distrust": "count all of a service's tools as writing, as at first",
}


def add_where(arguments: ArgumentParser) -> None:
    where = arguments.add_mutually_exclusive_group(required=True)
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
    arguments.add_argument("--timeout", type=int, default=60, help="seconds a call may take")
    arguments.add_argument(
        "--trust-hints",
        action="store_true",
        help="believe it which of its tools only read; else all count as writing",
    )


def added(name: str, options: dict[str, object]) -> ToolSource:
    """The service as it was described; `actions.register` keeps it only when it could be asked."""
    where, spec = str(options["mcp"] or options["openapi"]), options["spec"]
    is_command = bool(options["mcp"]) and not where.startswith(WEB)
    if spec and not str(spec).startswith(WEB):  # a file: the document in it
        try:
            spec = document_in(Path(str(spec)).read_bytes(), str(spec))
        except OSError as error:
            raise Invalid(f"{spec} cannot be read: {error.strerror}.") from None
    return actions.add_source(
        name,
        kind=ToolSource.Kind.MCP if options["mcp"] else ToolSource.Kind.OPENAPI,
        url="" if is_command else where,
        command=where if is_command else "",
        spec=spec or None,
        headers=pairs(options["header"], "=:" if is_command else ":", "A header is --header"),
        inject=pairs(options["inject"], "=", "An injected argument is --inject"),
        timeout_s=int(str(options["timeout"])),
        trusts_hints=bool(options["trust_hints"]),
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
