"""Checks as pages show them: a quiet line each, and the form in which a person changes one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, gettext_lazy
from pydantic import ValidationError

from agents.engine.available_tools import reader_of_files
from agents.errors import Invalid, NotFound
from agents.json_size import why_too_many
from agents.models import Conversation
from agents.tools import permissions
from agents.tools.integrations.tools import source_tools
from agents.tools.permissions import Permissions
from console.visible_text import visible, visible_code
from plans.check_permission import TOOLS, tool_of
from plans.check_text import DEFAULTS, FIELDS, FILE_FORMS, FLAGS, Check, CheckJson, looks_at
from plans.snapshot import SubtaskSnapshot

KINDS = {
    "file": gettext_lazy("file"),
    "command": gettext_lazy("command"),
    "http": gettext_lazy("http"),
    "tool": gettext_lazy("tool"),
    "review": gettext_lazy("review"),
}
# What a person types, in the editor's order; `form` is which of FILE_FORMS.
TYPED: tuple[str, ...] = (
    *("path", "form", "text"),
    *("command", "exit_code", "timeout_s"),
    *("url", "status"),
    *("tool", "arguments", "value"),
    "question",
)
CODE = ("path", "contains", "matches", "command", "url", "tool", "value")
BEGINS, ENDS = "\x02", "\x03"  # around what is code, in a sentence


def kind_word(check: CheckJson) -> str:
    return str(KINDS.get(check["kind"], check["kind"]))


def drawn_check(check: CheckJson) -> SafeString:
    """What it looks at: paths and commands as code, character by character, the rest as prose."""
    marked = dict(check)
    for name in CODE:
        if isinstance(value := check.get(name), str):
            marked[name] = BEGINS + re.sub(f"[{BEGINS}{ENDS}]", " ", value) + ENDS
    pieces = re.split(f"[{BEGINS}{ENDS}]", looks_at(marked))
    drawn = [
        format_html('<span class="mono">{}</span>', visible_code(piece))
        if place % 2
        else visible(piece)
        for place, piece in enumerate(pieces)
    ]
    return mark_safe("".join(drawn))


# What stands beside it


def asking_tools(conversation: Conversation, rows: Sequence[SubtaskSnapshot]) -> frozenset[str]:
    """The tools of these checks that wait for a word before each call."""
    names = {tool_of(check.asked) for row in rows for check in row.checks} - {""}
    if not names:
        return frozenset()
    try:
        now = permissions.of_conversation(conversation)
    except NotFound:
        return frozenset()
    return frozenset(name for name in names if now.grant(name) == "ask")


# Its editor


@dataclass(frozen=True)
class Hint:
    """What is so for all checks of a kind; `is_off`: none can be saved."""

    kind: str
    words: str
    is_off: bool = False


@dataclass(frozen=True)
class Editor:
    """What the form of a check is drawn from."""

    kinds: Mapping[str, str | Promise]
    forms: Mapping[str, str | Promise]
    hints: Sequence[Hint]
    tools: Sequence[str]


FORMS = {
    "exists": gettext_lazy("exists"),
    "absent": gettext_lazy("is absent"),
    "contains": gettext_lazy("contains"),
    "matches": gettext_lazy("matches"),
    "unchanged": gettext_lazy("is unchanged"),
}
TABS = {
    "file": gettext_lazy("File"),
    "command": gettext_lazy("Command"),
    "http": gettext_lazy("HTTP"),
    "tool": gettext_lazy("Tool"),
    "review": gettext_lazy("Review"),
}


def editor(conversation: Conversation, reviewer: str) -> Editor:
    now = permissions.of_conversation(conversation)
    read_only = [tool.name for tool in source_tools(reader_of_files(now)) if tool.read_only]
    usable = [name for name in read_only if now.grant(name) != "off"]
    hints = [hint for kind, tool in TOOLS.items() if (hint := hint_of(kind, tool, now))]
    if not usable:
        words = gettext("No service of {agent} has an operation that only reads.")
        hints.append(Hint("tool", words.format(agent=now.agent.file.name), is_off=True))
    asked = gettext("Asked of {model}, about 2k tokens each time.").format(model=reviewer)
    return Editor(TABS, FORMS, [*hints, Hint("review", asked)], usable)


def hint_of(kind: str, tool: str, now: Permissions) -> Hint | None:
    names = {"tool": tool, "agent": now.agent.file.name}
    match now.grant(tool):
        case "ask":
            words = gettext("{tool} is set to Ask for {agent}, so this check waits for your OK.")
            return Hint(kind, words.format(**names))
        case "off":
            words = gettext("{tool} is off for {agent}, so this check cannot be saved.")
            return Hint(kind, words.format(**names), is_off=True)
    return None


def typed_fields(check: CheckJson | None) -> list[tuple[str, str]]:
    """Each field of the editor with what stands in it, for a check or for a new one."""
    check = check or {"kind": "file", "exists": True}
    values: dict[str, object] = {}
    for kind in FIELDS:
        values |= DEFAULTS.get(kind, {})
    values |= check
    form = next((name for name in FILE_FORMS if check.get(name) is not None), "exists")
    values["form"] = form if check["kind"] == "file" else "exists"
    values["text"] = check.get("contains") or check.get("matches") or ""
    values["arguments"] = as_json(values["arguments"]) if values["arguments"] else ""
    values["value"] = as_typed(check.get("value", ""))
    texts = [(name, str(values.get(name, ""))) for name in TYPED]
    return [("check", str(check.get("key", ""))), ("kind", str(check["kind"])), *texts]


def as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def as_typed(value: object) -> str:
    """A text as it is, unless it would be read as something else."""
    if isinstance(value, str) and is_same(read_value(value), value):
        return value
    return as_json(value)


def is_same(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other


def read_value(text: str) -> object:
    """A number, true, false or a text in quotes; anything else is the text."""
    try:
        value = json.loads(text, parse_constant=no_number)
    except ValueError:
        return text
    return value if isinstance(value, str | bool | int | float) else text


def no_number(name: str) -> object:
    """NaN and Infinity, which only Python takes for JSON."""
    raise ValueError(name)


def check_from(form: QueryDict | Mapping[str, Any]) -> Check:
    """What was typed. Raises Invalid, or ValidationError."""
    kind = str(form.get("kind", ""))
    typed = {name: str(form.get(name, "")).strip() for name in TYPED}
    given: dict[str, object] = {"kind": kind}
    if form.get("check"):
        given["key"] = str(form["check"])
    for name in set(FIELDS.get(kind, ())) & set(TYPED):
        given[name] = READERS.get(name, str)(typed[name])
    if kind == "file":
        which = typed["form"]
        given[which] = True if which in FLAGS else demanded(typed["text"])
    elif kind == "http" and typed["text"]:
        given["contains"] = typed["text"]
    try:
        return Check.model_validate(given)
    except ValidationError as error:
        raise Invalid(fault_words(error)) from None


def fault_words(error: ValidationError) -> str:
    """The first thing that is wrong, in the reader's language."""
    fault = error.errors()[0]
    name = str(fault["loc"][-1]) if fault["loc"] else ""
    if fault["type"] == "check" or name not in FAULTS:
        return str(fault["msg"])
    return str(FAULTS[name])


FAULTS = {
    "exit_code": gettext_lazy("What it exits with is a number from 0 to 255."),
    "timeout_s": gettext_lazy("The seconds are a number from 1 to 600."),
    "status": gettext_lazy("The status is a number from 100 to 599."),
    "path": gettext_lazy("The path has more than 1,000 characters."),
    "matches": gettext_lazy("The pattern has more than 500 characters."),
    "contains": gettext_lazy("The text has more than 2,000 characters."),
    "command": gettext_lazy("The command has more than 2,000 characters."),
    "url": gettext_lazy("The address has more than 1,000 characters."),
    "tool": gettext_lazy("The name of the tool has more than 200 characters."),
    "question": gettext_lazy("The question has more than 2,000 characters."),
}


def demanded(text: str) -> str:
    if not text:
        raise Invalid(gettext("Say which text the file is to have."))
    return text


def read_arguments(text: str) -> object:
    try:
        value = json.loads("" if why_too_many(text) else text or "{}", parse_constant=no_number)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise Invalid(gettext("The arguments of a check are a JSON object."))
    return value


READERS: dict[str, Callable[[str], object]] = {
    "arguments": read_arguments,
    "value": read_value,
}
