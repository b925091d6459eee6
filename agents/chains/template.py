"""What a task of a chain puts out, and the macros that put it into a chain author's text.

Macros are `{{var:model}}`, `{{now:2006-01-02}}`, `{{.input}}` … They are expanded in one pass over
the author's text. What comes out, and whatever people, models and tools wrote, is never looked at
again: braces in it stay braces.

An output is {"text", …}: `message` is the message that shows the text already, `error` what went
wrong, `facts` what is known of a call besides its data (an HTTP status, an exit code), `data` a
structured result where the text is not the same as JSON. A template reads its text by its name
alone, and its fields behind a dot.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from agents.config.schema import MACRO
from agents.stored_text import gettext

Output = dict[str, object]
MISSING = object()

KINDS = ("var", "now", "toolservice", "chain", "edge_count")

# Go writes a layout as the moment Mon Jan 2 15:04:05 MST 2006. Longer parts come first.
GO_LAYOUT: dict[str, str | Callable[[datetime], str]] = {
    "January": "%B",
    "Monday": "%A",
    "2006": "%Y",
    "-07:00": lambda now: offset_of(now),
    "Z07:00": lambda now: offset_of(now) if now.utcoffset() else "Z",
    "-0700": "%z",
    "Jan": "%b",
    "Mon": "%a",
    "MST": "%Z",
    "PM": "%p",
    "pm": lambda now: f"{now:%p}".lower(),
    ".000000": lambda now: f".{now.microsecond:06}",
    ".000": lambda now: f".{now.microsecond // 1000:03}",
    "01": "%m",
    "02": "%d",
    "03": "%I",
    "04": "%M",
    "05": "%S",
    "06": "%y",
    "15": "%H",
    "_2": lambda now: f"{now.day:2}",
    "1": lambda now: str(now.month),
    "2": lambda now: str(now.day),
    "3": lambda now: str((now.hour - 1) % 12 + 1),
    "4": lambda now: str(now.minute),
    "5": lambda now: str(now.second),
}
GO_PART = re.compile("|".join(re.escape(part) for part in GO_LAYOUT))


@dataclass(frozen=True)
class OutputView:
    """An output as templates name it."""

    output: Mapping[str, object]

    @property
    def text(self) -> str:
        return text_of(self.output)

    def places(self) -> Iterator[object]:
        """Where a field is looked up, in this order: facts come first, then the data."""
        facts, data = self.output.get("facts"), self.output.get("data")
        parsed = parsed_or_text(self.text)
        if isinstance(facts, dict):
            yield {"body": parsed if data is None else data, **facts}
        yield data
        yield parsed
        yield {"text": self.text, "output": self.text, **self.output}


def field_of(place: object, name: str) -> object:
    """A field of an output or an object, or an item of a list; else MISSING."""
    if isinstance(place, OutputView):
        fields = (field_of(each, name) for each in place.places())
        return next((field for field in fields if field is not MISSING), MISSING)
    if isinstance(place, list) and name.isdecimal() and int(name) < len(place):
        return place[int(name)]
    return place.get(name, MISSING) if isinstance(place, dict) else MISSING


def text_of(output: Mapping[str, object]) -> str:
    return str(output.get("text") or "")


def parsed_or_text(text: str) -> object:
    """An object or a list where the text is one in JSON, else the text."""
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value


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


def expand(text: str, values: TemplateValues) -> str:
    """The author's text with each macro replaced, once."""
    return MACRO.sub(lambda match: value_of(match.group(1), values), text)


def value_of(macro: str, values: TemplateValues) -> str:
    if macro.startswith("."):
        return output_at(macro[1:], values)
    kind, _, rest = macro.partition(":")
    if kind == "var":
        name, bar, fallback = (part.strip() for part in rest.partition("|"))
        if not bar and name not in values.variables:
            raise UnknownMacro(
                gettext("There is no variable {name} and no fallback for it.").format(name=name)
            )
        return values.variables.get(name, "") or fallback
    if kind == "now":
        return go_format(values.now, rest) if rest else values.now.isoformat(timespec="seconds")
    if macro == "toolservice:list":
        return ", ".join(values.services)
    if kind == "chain" and rest in values.chain:
        return values.chain[rest]
    if kind == "edge_count":
        return str(values.edges.get("->".join(part.strip() for part in rest.split("->")), 0))
    raise UnknownMacro(gettext("There is no macro {macro}.").format(macro=f"{{{{{macro}}}}}"))


def output_at(path: str, values: TemplateValues) -> str:
    """`.input` or `.task.field`: what was put in, or what an earlier task gave out."""
    first, *rest = path.split(".")
    value = field_of(values.result, first)
    if value is MISSING:
        value = field_of(values.outputs, first)
    for part in rest:
        value = field_of(value, part)
    if value is MISSING:
        raise UnknownMacro(gettext("There is no .{path} to put into the text.").format(path=path))
    if isinstance(value, OutputView):
        return value.text
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def go_format(now: datetime, layout: str) -> str:
    def part(match: re.Match[str]) -> str:
        meaning = GO_LAYOUT[match.group()]
        return now.strftime(meaning) if isinstance(meaning, str) else meaning(now)

    return GO_PART.sub(part, layout)


def offset_of(now: datetime) -> str:
    written = f"{now:%z}"
    return f"{written[:3]}:{written[3:5]}"
