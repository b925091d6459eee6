"""Running the checks of a subtask in a turn: at a finish, or because somebody asked for it.

Each result is written, with what it cost, in one fenced transaction: a crash repeats only checks
without a result, and a worker that lost the turn records nothing. A stop ends what is under way, a
pause rests between two checks.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from django.utils import timezone

from agents import persistence
from agents.actors import PERSON
from agents.changes.scan import listed
from agents.changes.undo import enter_folder
from agents.db import in_db
from agents.engine.available_tools import AvailableTools, available_tools
from agents.engine.steps import nothing
from agents.engine.subagents import add_message_at_top
from agents.errors import Conflict, Refused, TurnWaits
from agents.models import Message, ToolCall, Turn
from agents.pools import FILES
from agents.stored_text import gettext
from agents.tools import permissions
from agents.tools.base import Tool
from agents.tools.confinement import Workspace
from agents.tools.progress import listener
from agents.tools.shell import DEFAULT_SECONDS
from plans import check_probes as probes
from plans.baselines import Known, known_of
from plans.check_permission import tool_of
from plans.check_probes import Finding
from plans.check_results import announce
from plans.check_text import DETERMINISTIC, CheckJson, looks_at, wording
from plans.models import Attempt, CheckResult, Plan, Subtask
from plans.reviews import Material, review

TRIES = 2  # of one that could not be run, before the turn rests
REPEATS = 2  # rounds in which those that hold are asked again, before a tick
NOT_RUN = "check: "  # how the reason begins for which it rests

Results = dict[str, CheckResult]  # by key
Probe = Callable[[], Awaitable[Finding]]
NOT_ASKED = Finding(None, "")


@dataclass(frozen=True)
class Round:
    """Checks that are run together, once each: for a finish, `call`, or without one.

    `claim` is the outcome that is said to have come of it. It `rests` where one cannot be run;
    `again` is when somebody wants to know whether what is done still holds. `changed` has the keys
    of those that changed files when they ran last.
    """

    turn: Turn
    plan: Plan
    subtask: Subtask
    attempt: Attempt | None
    checks: Sequence[CheckJson]
    claim: str
    call: ToolCall | None = None
    rests: bool = True
    again: bool = False
    changed: set[str] = field(default_factory=set)

    def results(self) -> Results:
        """What is known already."""
        rows = CheckResult.objects.filter(subtask=self.subtask, passed__isnull=False)
        if self.call is not None:
            rows = rows.filter(call=self.call)
        else:
            rows = rows.filter(turn=self.turn, call__isnull=True)
        wanted = {check["key"]: wording(check) for check in self.checks}
        return {
            row.key: row for row in rows.order_by("pk") if wanted.get(row.key) == wording(row.asked)
        }


async def run_checks(round: Round) -> list[CheckResult]:
    """The results in the checks' order, as they are at the end: those that need no model are asked
    again then. A review is not reached while another check says no, and is asked once.

    Raises TurnWaits where a person has to say something first, or one could not be run.
    """
    known = await in_db(round.results)
    has_looked = all(check["kind"] == "file" for check in round.checks)
    is_moment = not known and (has_looked or len(round.checks) == 1)
    hard = [check for check in round.checks if check["kind"] in DETERMINISTIC]
    soft = [check for check in round.checks if check["kind"] not in DETERMINISTIC]
    holds = await ask_first(round, hard, known)
    if holds and soft and round.changed:
        holds = await settle(round, hard, known) and await ask_first(round, soft, known)
        # What a reviewer has seen stays as it is.
        rest = [each for each in in_order(round, hard) if each["key"] not in round.changed]
        holds = holds and await ask_again(round, rest, known)
    elif holds and await ask_first(round, soft, known) and (round.changed or not is_moment):
        await settle(round, hard, known)
    return [known[check["key"]] for check in round.checks if check["key"] in known]


async def ask_first(round: Round, checks: Sequence[CheckJson], known: Results) -> bool:
    """Ask those without a result, whatever the others say; whether all hold."""
    for check in checks:
        if check["key"] not in known:
            report_progress(round, len(known) + 1)
            known[check["key"]] = await run_check(round, check)
    return all(result.passed for result in known.values())


async def settle(round: Round, checks: Sequence[CheckJson], known: Results) -> bool:
    """Ask again until none changes files under another that was asked before it, twice at most;
    whether all hold."""
    for _ in range(REPEATS):
        order = in_order(round, checks)
        if not await ask_again(round, order, known):
            return False
        if not any(check["key"] in round.changed for check in order[1:]):
            break
    return True


def in_order(round: Round, checks: Sequence[CheckJson]) -> list[CheckJson]:
    """What has changed files first, what only looks at them last."""
    return sorted(
        checks, key=lambda each: (each["kind"] == "file", each["key"] not in round.changed)
    )


async def ask_again(round: Round, checks: Sequence[CheckJson], known: Results) -> bool:
    """Whether they still hold, but those that a person has looked at in their place."""
    asked = [check for check in checks if not known[check["key"]].by]
    for number, check in enumerate(asked, 1):
        report_progress(round, number)
        known[check["key"]] = await run_check(round, check, known[check["key"]])
    return all(result.passed for result in known.values())


def report_progress(round: Round, number: int) -> None:
    if len(round.checks) > 1:
        words = gettext("check {n} of {count}").format(n=number, count=len(round.checks))
        listener()(words)


async def run_check(
    round: Round, check: CheckJson, before: CheckResult | None = None
) -> CheckResult:
    """Run it until it says yes or no; what cannot be run twice in a row needs a person.

    The result takes the place of the one `before`, of the same round.
    """
    finding, result = NOT_ASKED, CheckResult()
    for _ in range(TRIES):
        ready = await in_db(prepare, round, check)
        began = time.monotonic()
        finding, write, cost = ready.finding, nothing, None
        if ready.material is not None:
            finding, answered = await review(round.turn, check, ready.material)
            if answered is not None:
                write, cost = answered.count, answered.cost
        elif ready.probe is not None:
            finding = await run_probe(round, check, ready.probe, ready.folder)
        said = finding.said
        if before is not None and before.passed and finding.passed is False:
            said = gettext("It held, and did not stay so: {said}").format(said=said)
        result = CheckResult(
            subtask=round.subtask,
            attempt=None if round.again else round.attempt,
            turn=round.turn,
            call=round.call,
            key=check["key"],
            asked=dict(check),
            passed=finding.passed,
            said=said,
            seconds=time.monotonic() - began,
            cost=cost,
        )
        await in_db(record, round, result, write, ready.asked, before)
        if finding.passed is not None:
            return result
        if finding.by_a_person:
            break
    if not round.rests:
        return result
    because = f"{NOT_RUN}{check['key']} {looks_at(check)}: {finding.said}"
    raise TurnWaits(Turn.WaitingFor.PAUSE, because=because[:1_000])


async def run_probe(round: Round, check: CheckJson, probe: Probe, folder: Path) -> Finding:
    """Ask, and note whether files changed meanwhile. A command of what is done already writes
    beside no undo."""
    if check["kind"] == "file":
        return await probe()
    if round.again and check["kind"] == "command":
        try:
            await enter_folder(round.turn)
        except Conflict as why:
            return Finding(None, str(why))
    before = await FILES.run(files_in, folder)
    finding = await probe()
    is_same = before is not None and before == await FILES.run(files_in, folder)
    (round.changed.discard if is_same else round.changed.add)(check["key"])
    return finding


def files_in(folder: Path) -> object:
    """What tells whether a file changed, unread; None where there are too many."""
    found = listed(folder)
    return None if found.stopped else (found.index, found.skipped, {*found.folders})


@dataclass(frozen=True)
class Ready:
    """A check about to be run: its probe, what a reviewer goes by, or the finding without either.

    `asked` is the call by which a person was asked.
    """

    finding: Finding = NOT_ASKED
    material: Material | None = None
    probe: Probe | None = None
    folder: Path = Path()
    asked: ToolCall | None = None


def prepare(round: Round, check: CheckJson) -> Ready:
    """Whether it may run at this very moment, from the rows and the agent's file as they are now.

    Raises TurnWaits to ask a person, and what a stop or a pause raises.
    """
    turn = round.turn
    with persistence.fenced(turn):
        persistence.check_stop_requested(turn)
    if check["kind"] == "review":
        work = round.attempt.turn if round.attempt else None
        return Ready(material=Material(round.plan, round.subtask, round.claim, work))
    try:
        now = permissions.of_turn(turn)
    except Refused as why:
        return Ready(Finding(None, str(why)))
    if check["kind"] == "file":
        known = known_of(round.plan, check["path"]) if check.get("unchanged") else Known(None)
        look = partial(probes.file_finding, check, Workspace(now.folder), known.in_folder)
        return Ready(probe=partial(FILES.run, look))
    offered = available_tools(turn, ["*"])
    name = tool_of(check)
    tool = offered.tools.get(name)
    if tool is None or (check["kind"] == "tool" and not tool.read_only):
        sentence = gettext("{tool} is off for this agent, or is not there any more.")
        return Ready(Finding(None, sentence.format(tool=name)))
    asked = ask_person(round, check, tool, offered)
    if asked is not None and asked.decision == "deny":
        sentence = gettext("It was not allowed to run: {reason}")
        reason = asked.reason or gettext("no reason was given")
        finding = Finding(None, sentence.format(reason=reason), by_a_person=True)
        return Ready(finding, asked=asked)
    if check["kind"] == "command":
        note_command(turn)
        probe = partial(probes.run_command, check, tool)
    elif check["kind"] == "http":
        probe = partial(probes.look_at_page, check, now.private_hosts)
    else:
        probe = partial(probes.ask_service, check, tool)
    return Ready(probe=probe, folder=now.folder, asked=asked)


def note_command(turn: Turn) -> None:
    """What changes in the folder while it runs, the turn has changed."""
    with persistence.fenced(turn):
        earlier = turn.checkpoint.get("commands", [])
        persistence.checkpoint(turn, commands=[*earlier, [time.time_ns(), 0]])


def note_end(turn: Turn) -> None:
    commands = [[begin, end or time.time_ns()] for begin, end in turn.checkpoint["commands"]]
    persistence.checkpoint(turn, commands=commands)


def ask_person(
    round: Round, check: CheckJson, tool: Tool, offered: AvailableTools
) -> ToolCall | None:
    """The call by which a person was asked, decided by now; None where nobody has to be.

    A check whose tool is set to ask is an ordinary approval; so is one that no person has read,
    since the system approved the plan of an agent that works for a subtask. A yes holds for as long
    as the same tool runs the check in the same finish or round.
    """
    turn = round.turn
    calls = ToolCall.objects.filter(turn=turn, message__meta__check=check["key"])
    calls = calls.filter(message__meta__subtask=round.subtask.key)
    if round.call is not None:
        calls = calls.filter(message__meta__finish=round.call.pk)
    asked = calls.filter(state=ToolCall.State.ASKED).order_by("pk").last()
    allowed = calls.filter(state=ToolCall.State.DONE, asked_as=tool.identity)
    if asked is None and allowed.exists():
        return None
    if asked is None:
        asked = ToolCall(turn=turn, tool=tool.name, arguments=probes.arguments_of(check))
        rules = [asked]
        # A call that does not say how long it may take has the shell's own time, and no more.
        if check["kind"] == "command" and check["timeout_s"] <= DEFAULT_SECONDS:
            alone = {"command": check["command"]}
            rules.append(ToolCall(turn=turn, tool=tool.name, arguments=alone))
        was_read = round.plan.approved_kind == PERSON
        if was_read and not all(offered.must_ask(rule) for rule in rules):
            return None
        if any(offered.is_always_allowed(rule) for rule in rules):
            return None
        ask(round, check, asked, tool)
    if asked.decision and asked.asked_as not in ("", tool.identity):
        with persistence.fenced(turn):
            sentence = gettext("It is not the tool any more.")
            persistence.close_call(asked, ToolCall.State.REFUSED, sentence)
        return ask_person(round, check, tool, offered)
    if not asked.decision:
        raise TurnWaits(Turn.WaitingFor.APPROVAL)
    return asked


def ask(round: Round, check: CheckJson, call: ToolCall, tool: Tool) -> None:
    """The question stands in the conversation; the model neither asked it nor reads it."""
    turn = round.turn
    with persistence.fenced(turn):
        meta: dict[str, object] = {"check": check["key"], "subtask": round.subtask.key}
        if round.call is not None:
            meta["finish"] = round.call.pk
        text = gettext("Run this check?")
        message = persistence.add_message(turn, "assistant", Message.Kind.APPROVAL, text, meta=meta)
        call.message, call.call_id = message, f"check_{message.pk}"
        call.state, call.asked_at = ToolCall.State.ASKED, timezone.now()
        call.asked_as = tool.identity
        call.save()
        message.meta = {**meta, "call": call.pk}
        message.save(update_fields=["meta"])
        persistence.touch(message, turn.conversation_id, "tool.asked")
        add_message_at_top(turn, Message.Kind.APPROVAL, text, call=call.pk)


def record(
    round: Round,
    result: CheckResult,
    write: Callable[[], None],
    asked: ToolCall | None,
    before: CheckResult | None,
) -> None:
    """Write down what a check came to, with what it has used and the call it was asked by; it is
    told where that is something else than `before`."""
    with persistence.fenced(round.turn):
        write()
        if before is not None:
            CheckResult.objects.filter(pk=before.pk).delete()
        result.save()
        if any(not end for _, end in round.turn.checkpoint.get("commands", [])):
            note_end(round.turn)
        if asked is not None:
            state = ToolCall.State.DENIED if asked.decision == "deny" else ToolCall.State.DONE
            persistence.close_call(asked, state, result.said)
        if round.call is not None:
            persistence.touch(round.call.message_id, round.turn.conversation_id)
        if before is None or before.passed != result.passed:
            announce(round.plan, result)
