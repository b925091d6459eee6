"""Macros in a chain author's text: `{{var:model}}`, `{{now:2006-01-02}}`, `{{.input}}` …

They are expanded in one pass over the author's text. What comes out, and whatever people, models
and tools wrote, is never looked at again: braces in it stay braces.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from agents.chains.outputs import OutputView, found_in
from agents.macros import MACRO

KINDS = ("var", "now", "toolservice", "chain", "edge_count")

# Go writes a layout as the moment Mon Jan 2 15:04:05 MST 2006. Longer parts come first.
GO_LAYOUT = {
    "January": "%B",
    "Monday": "%A",
    "2006": "%Y",
    "-07:00": "offset",
    "Z07:00": "zulu",
    "-0700": "%z",
    "Jan": "%b",
    "Mon": "%a",
    "MST": "%Z",
    "PM": "%p",
    "pm": "lower",
    ".000000": "micro",
    ".000": "milli",
    "01": "%m",
    "02": "%d",
    "03": "%I",
    "04": "%M",
    "05": "%S",
    "06": "%y",
    "15": "%H",
    "_2": "day_space",
    "1": "month",
    "2": "day",
    "3": "hour",
    "4": "minute",
    "5": "second",
}
GO_PART = re.compile("|".join(re.escape(part) for part in GO_LAYOUT))
OWN_PARTS: dict[str, Callable[[datetime], str]] = {
    "offset": lambda now: f"{now:%z}"[:3] + ":" + f"{now:%z}"[3:5],
    "zulu": lambda now: "Z" if not now.utcoffset() else OWN_PARTS["offset"](now),
    "lower": lambda now: f"{now:%p}".lower(),
    "micro": lambda now: f".{now.microsecond:06}",
    "milli": lambda now: f".{now.microsecond // 1000:03}",
    "day_space": lambda now: f"{now.day:2}",
    "month": lambda now: str(now.month),
    "day": lambda now: str(now.day),
    "hour": lambda now: str((now.hour - 1) % 12 + 1),
    "minute": lambda now: str(now.minute),
    "second": lambda now: str(now.second),
}


class UnknownMacro(Exception):
    """The text names something that does not exist; one sentence."""


@dataclass(frozen=True)
class TemplateValues:
    """What macros stand for at this step. The fields of `result`, a call's, come first."""

    now: datetime
    chain: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, object] = field(default_factory=dict)
    services: list[str] = field(default_factory=list)
    edges: dict[str, int] = field(default_factory=dict)
    result: OutputView | None = None


def expand(text: str, meanings: TemplateValues) -> str:
    """The author's text with each macro replaced, once."""
    return MACRO.sub(lambda match: value_of(match.group(1), meanings), text)


def value_of(macro: str, known: TemplateValues) -> str:
    if macro.startswith("."):
        return output_at(macro[1:], known)
    kind, _, rest = macro.partition(":")
    if kind == "var":
        return variable(rest, known.variables)
    if kind == "now":
        return go_format(known.now, rest) if rest else known.now.isoformat(timespec="seconds")
    if macro == "toolservice:list":
        return ", ".join(known.services)
    if kind == "chain" and rest in known.chain:
        return known.chain[rest]
    if kind == "edge_count":
        return str(known.edges.get("->".join(part.strip() for part in rest.split("->")), 0))
    raise UnknownMacro(f"There is no macro {{{{{macro}}}}}.")


def variable(rest: str, variables: dict[str, str]) -> str:
    name, bar, fallback = rest.partition("|")
    value = variables.get(name.strip(), "")
    if value or bar:
        return value or fallback.strip()
    if name.strip() in variables:
        return ""
    raise UnknownMacro(f"There is no variable {name.strip()} and no fallback for it.")


def output_at(path: str, known: TemplateValues) -> str:
    """`.input` or `.task.field`: what was put in, or what an earlier task gave out."""
    first, *rest = path.split(".")
    found, value = known.result.find(first) if known.result else (False, None)
    if not found:
        found, value = found_in(known.outputs, first)
    for part in rest:
        if found:
            found, value = (
                value.find(part) if isinstance(value, OutputView) else found_in(value, part)
            )
    if not found:
        raise UnknownMacro(f"There is no .{path} to put into the text.")
    if isinstance(value, OutputView):
        return value.text
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def go_format(now: datetime, layout: str) -> str:
    def part(match: re.Match[str]) -> str:
        meaning = GO_LAYOUT[match.group()]
        return OWN_PARTS[meaning](now) if meaning in OWN_PARTS else now.strftime(meaning)

    return GO_PART.sub(part, layout)
