"""`manage.py chain run | check | list | delete | default`."""

from __future__ import annotations

import asyncio
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path

from agents import run_once
from agents.chains.schema import Chain, Task, may_be_called
from agents.chains.store import (
    chain_in,
    delete_chain,
    lint,
    list_chains,
    load_chain,
    read_text,
    text_in,
    users_of,
)
from agents.config.ownership import agent_of
from agents.config.schema import PLAN
from agents.config.store import change_agent
from agents.engine.steps import ChainEvent, TextAdded, TextEnded, TextStreamed
from agents.errors import Conflict, Invalid
from agents.llm.providers import default_model
from agents.models import Turn, TurnState
from agents.tools import permissions
from agents.tools.base import PLAN_TOOLS
from agents.tools.permissions import allows
from console.auth.users import local_owner
from console.management.base import PlainCommand
from console.management.wait import release
from plans.policy import plan_tools_by_role


class Command(PlainCommand):
    help = "Run, check and list chains; choose an agent's."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        run = verbs.add_parser("run", help="run a chain for one input; its text goes to stdout")
        run.add_argument("--chain", default="default-run-chain", help="a file, or a chain's id")
        run.add_argument("--agent", default="", help="whose tools and files (default: this folder)")
        run.add_argument("--allow", action="append", default=[], metavar="TOOL")
        run.add_argument("input")
        check = verbs.add_parser("check", help="every fault of a chain, with its place")
        check.add_argument("file", help="a file, or a chain's id")
        listed = verbs.add_parser("list", help="the chains there are, and who uses them")
        for verb in (run, check, listed):
            verb.add_argument("--json", action="store_true", help="print data as JSON")
        delete = verbs.add_parser("delete", help="a shipped chain is then as it was shipped")
        delete.add_argument("id")
        default = verbs.add_parser("default", help="let an agent chat by this chain")
        default.add_argument("agent")
        default.add_argument("chain")

    def handle(self, *, verb: str, **given: object) -> None:
        self.prepare()
        getattr(self, f"{verb}_chain")(**given)

    def run_chain(
        self, *, chain: str, agent: str, allow: list[str], input: str, json: bool, **_: object
    ) -> None:
        path = file_of(chain)
        document = chain_in(path) if path else load_chain(chain)
        if agent:
            record = agent_of(local_owner(), agent)
            now = permissions.of_agent(record)
            lifted = permissions.check_lifted(allow, now, local_owner().pk)
            config = run_once.with_agent(document, record, lifted)
        else:
            permissions.check_known(allow, local_owner().pk)
            config = run_once.in_folder(document, Path.cwd(), allow, default_model())

        async def carry_out(turn: Turn) -> run_once.Outcome:
            try:
                return await run_once.carry_out(turn, *([] if json else [print_text]))
            finally:
                await release()

        with run_once.own_turn(local_owner(), input, config, agent) as turn:
            outcome = asyncio.run(carry_out(turn))
        if not agent:
            turn.conversation.delete()
        if json:
            self.print_json(asdict(outcome))
        if outcome.state == TurnState.WAITING:
            raise Conflict(f"{outcome.error} --allow TOOL gives it beforehand.")
        run_once.demand_done(outcome)

    def check_chain(self, *, file: str, json: bool, **_: object) -> None:
        path = file_of(file)
        faults = lint(text_in(path) if path else read_text(file))
        if json:
            self.print_json([asdict(fault) for fault in faults])
        for fault in [] if json else faults:
            self.stdout.write(str(fault))
        errors = sum(fault.level == "error" for fault in faults)
        if errors:
            raise Invalid(f"{file} has {errors} error{'s' if errors > 1 else ''}.")
        if json:
            return
        if not faults:
            self.stdout.write(f"{file} is in order.")
        for task in (chain := chain_in(path) if path else load_chain(file)).tasks:
            self.stdout.writelines(f"{line}\n" for line in offer_lines(chain, task))

    def list_chain(self, *, json: bool, **_: object) -> None:
        rows = [
            {"id": each.id, "agents": users_of(each.id), "error": each.error}
            for each in list_chains()
        ]
        if json:
            self.print_json(rows)
        for row in [] if json else rows:
            used = f"  ({', '.join(row['agents'])})" if row["agents"] else ""
            wrong = f"  {row['error']}" if row["error"] else ""
            self.stdout.write(f"{row['id']}{used}{wrong}")

    def delete_chain(self, *, id: str, **_: object) -> None:
        delete_chain(id)
        self.stdout.write(f"{id}  (deleted)")

    def default_chain(self, *, agent: str, chain: str, **_: object) -> None:
        load_chain(chain)
        change_agent(agent, {"chains": {"chat": chain}})


def file_of(chain: str) -> Path | None:
    """A file where there is one; None where a chain of the home folder is meant."""
    path = Path(chain).expanduser()
    return path if path.suffix == ".json" or path.exists() else None


def offer_lines(chain: Chain, task: Task) -> list[str]:
    """What a task will be offered, by what an agent thinks with the chain for."""
    if task.tools is not None:
        return [f"{task.id} calls {task.tools.tool}."]
    if task.handler != "chat_completion":
        return []
    runner = chain.runner_of(task)
    if runner is None:
        return [f"{task.id} is offered no tools: it leads to no task that runs calls."]
    words = may_be_called(task, runner)
    roles = plan_tools_by_role(words).items()
    return [
        f"{task.id} is offered",
        *(f"  as {role}, of a plan's tools: {', '.join(names) or 'none'}" for role, names in roles),
        f"  of the agent's own: {own_tools(words)}",
    ]


def own_tools(words: list[str]) -> str:
    listed = [word for word in dict.fromkeys(words) if word.lstrip("!") not in (*PLAN_TOOLS, PLAN)]
    named = [word for word in listed if not word.startswith("!") and allows(words, word)]
    hidden = [word[1:] for word in listed if word.startswith("!")]
    granted = "all that it is granted" if "*" in named else ", ".join(named)
    return f"{granted}{', but never ' if hidden else ''}{', '.join(hidden)}" if granted else "none"


def print_text(event: ChainEvent) -> None:
    """Text as it comes, each message on lines of its own."""
    if isinstance(event, TextStreamed):
        sys.stdout.write(event.text)
    elif isinstance(event, TextEnded):
        sys.stdout.write("\n")
    elif isinstance(event, TextAdded):
        sys.stdout.write(f"{event.text}\n")
    sys.stdout.flush()
