"""`manage.py chain run | check | list | default`."""

from __future__ import annotations

import asyncio
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path

from agents.agent_file.record import change_agent, list_agents, read_agent
from agents.chains import headless
from agents.chains.check import check_text
from agents.chains.library import chain_in, list_chains, load_chain
from agents.chains.schema import Chain
from agents.chains.steps import ChainEvent, TextEnded, TextStreamed
from agents.errors import Invalid, Missing
from agents.grants import known_names
from agents.models import Turn
from agents.providers.known import default_model
from console.following import let_go
from console.management.plain import PlainCommand
from console.people import local_owner


class Command(PlainCommand):
    help = "Run, check and list chains; choose an agent's."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        run = verbs.add_parser("run", help="run a chain for one input; its text goes to stdout")
        run.add_argument("--chain", default="default-run-chain", help="a file, or a chain's id")
        run.add_argument("--agent", default="", help="whose tools and files (default: this folder)")
        run.add_argument("--allow", action="append", default=[], metavar="TOOL")
        run.add_argument("input")
        check = verbs.add_parser("check", help="every fault of a chain file, with its place")
        check.add_argument("file")
        listed = verbs.add_parser("list", help="the chains there are, and who uses them")
        for verb in (run, check, listed):
            verb.add_argument("--json", action="store_true", help="print data as JSON")
        default = verbs.add_parser("default", help="let an agent chat by this chain")
        default.add_argument("agent")
        default.add_argument("chain")

    def handle(self, *, verb: str, **given: object) -> None:
        self.prepare()
        getattr(self, f"{verb}_chain")(**given)

    def run_chain(
        self, *, chain: str, agent: str, allow: list[str], input: str, json: bool, **_: object
    ) -> None:
        document = named(chain)
        if agent:
            config = read_agent(agent).file.model_dump(mode="json")
            config |= {"allow": allow, "chain_document": document.model_dump(mode="json")}
        else:
            config = headless.in_folder(document, Path.cwd(), allow, default_model())
        turn = headless.own_turn(local_owner(), input, config, agent)
        outcome = asyncio.run(carry_out(turn, quiet=json))
        if not agent:
            turn.conversation.delete()
        if json:
            self.print_json(asdict(outcome))
        headless.demand_done(outcome)

    def check_chain(self, *, file: str, json: bool, **_: object) -> None:
        try:
            text = Path(file).read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise Missing(f"{file} cannot be read: {error}.") from None
        faults = check_text(text, known_names())
        if json:
            self.print_json([asdict(fault) for fault in faults])
        for fault in [] if json else faults:
            self.stdout.write(str(fault))
        errors = sum(fault.level == "error" for fault in faults)
        if errors:
            raise Invalid(f"{file} has {errors} error{'s' if errors > 1 else ''}.")
        if not json and not faults:
            self.stdout.write(f"{file} is in order.")

    def list_chain(self, *, json: bool, **_: object) -> None:
        rows = [{"id": id, "agents": users_of(id)} for id in list_chains()]
        if json:
            self.print_json(rows)
        for row in [] if json else rows:
            used = f"  ({', '.join(row['agents'])})" if row["agents"] else ""
            self.stdout.write(f"{row['id']}{used}")

    def default_chain(self, *, agent: str, chain: str, **_: object) -> None:
        load_chain(chain)
        change_agent(agent, {"chains": {"chat": chain}})


def named(chain: str) -> Chain:
    """A file where there is one, else a chain of the home folder."""
    path = Path(chain).expanduser()
    return chain_in(path) if path.suffix == ".json" or path.exists() else load_chain(chain)


def users_of(id: str) -> list[str]:
    return [
        f"{agent.id}: {role}"
        for agent in list_agents()
        for role, chain in agent.file.chains.model_dump().items()
        if chain == id
    ]


async def carry_out(turn: Turn, quiet: bool) -> headless.Outcome:
    try:
        return await headless.carry_out(turn, ignore if quiet else print_text)
    finally:
        await let_go()


def ignore(event: ChainEvent) -> None:
    pass


def print_text(event: ChainEvent) -> None:
    """Text as it comes, each message on lines of its own."""
    if isinstance(event, TextStreamed):
        sys.stdout.write(event.text)
    elif isinstance(event, TextEnded):
        sys.stdout.write("\n")
    sys.stdout.flush()
