"""What is wrong with a file that is edited as text, at its lines."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from django.template.loader import render_to_string
from django.utils.translation import gettext, ngettext

from agents.chains.lint import Fault, Level
from agents.chains.store import lint
from agents.config.json_text import BadFile, Lines, parse
from agents.config.schema import parse_agent_file
from agents.config.store import AgentRecord, check_change
from agents.errors import Refused
from console.components import replace
from console.language import grouped

STEP = re.compile(r"[^.\[\]]+|\[\d{1,9}\]")
MOST_FAULTS = 100  # that are shown


@dataclass(frozen=True)
class LineFault:
    """`line` is counted from 1."""

    line: int
    sentence: str
    level: Level = "error"


def of_chain(text: str, id: str) -> list[LineFault]:
    """What the linter says, in the order of the lines; a text that is no JSON has one fault."""
    try:
        parse(text)
    except BadFile as fault:
        return [of_text(fault)]
    lines = Lines(text)
    found = [at_line(lines.line_of(steps_to(fault.path)), fault) for fault in lint(text, id)]
    found.sort(key=lambda fault: fault.line)
    if len(found) > MOST_FAULTS:
        found = [*found[: MOST_FAULTS - 1], summed_up(found[MOST_FAULTS - 1 :])]
    return found


def of_agent(text: str, agent: AgentRecord) -> list[LineFault]:
    """Why the agent's file would not be saved with this text: the fault that stands first."""
    try:
        after = parse_agent_file(text, agent.id)
    except BadFile as fault:
        return [of_text(fault)]
    try:
        check_change(agent.id, agent.file, after)
    except Refused as refusal:
        return [LineFault(Lines(text).line_of([refusal.field]), str(refusal))]
    return []


def of_text(fault: BadFile) -> LineFault:
    sentence = gettext("{reason}.").format(reason=fault.reason)
    return LineFault(fault.line or 1, sentence if fault.key else begun_large(sentence))


def at_line(line: int, fault: Fault) -> LineFault:
    return LineFault(line, begun_large(fault.sentence), fault.level)


def summed_up(found: list[LineFault]) -> LineFault:
    level: Level = "error" if any(fault.level == "error" for fault in found) else "warning"
    words = ngettext("And {n} more from here on.", "And {n} more from here on.", len(found))
    return LineFault(found[0].line, words.format(n=grouped(len(found))), level)


def steps_to(path: str) -> list[str | int]:
    return [int(step[1:-1]) if step.startswith("[") else step for step in STEP.findall(path)]


def begun_large(sentence: str) -> str:
    """With a capital, but for a name such as tool_call."""
    is_name = "_" in sentence.split(" ", 1)[0]
    return sentence if is_name else sentence[:1].upper() + sentence[1:]


def draw_faults(faults: Iterable[LineFault]) -> str:
    """For the editor: each under its line, and how many there are."""
    parts = {"file-faults": "_typed_faults", "file-faults-said": "_typed_said"}
    return "".join(
        replace(place, render_to_string(f"settings/{name}.html", {"faults": faults}))
        for place, name in parts.items()
    )
