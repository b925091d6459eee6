"""The keys of agent.json that a form edits: how each is read, shown and spoken of."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from django.utils.text import slugify
from pydantic import JsonValue

from agents.config.schema import AgentFile
from agents.errors import Invalid
from console.form_parsing import lines, pairs

Read = Callable[[str], JsonValue]
Show = Callable[[JsonValue], str]
Choices = tuple[tuple[str, str], ...]

NUMBER = re.compile(r"-?(\d{1,15}|\d{1,3}(,\d{3}){1,4})(\.\d{1,9})?")
ESCAPED = re.compile(r"\\[\\n]")
UNESCAPED = {"\\\\": "\\", "\\n": "\n"}


def show(value: JsonValue) -> str:
    """As a field shows it: nothing for null, thousands apart."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def one_line(text: str) -> JsonValue:
    return text.strip()


def whole_text(text: str) -> JsonValue:
    """As typed; browsers send other line ends."""
    return text.replace("\r\n", "\n")


def numeric(text: str) -> float | None:
    """A number with or without marks between its thousands; None for an empty field."""
    if not text.strip():
        return None
    if not NUMBER.fullmatch(text.strip()):
        raise Invalid("This has to be a number, such as 12 or 0.5.")
    number = float(text.replace(",", ""))
    return int(number) if number.is_integer() else number


def needed(text: str) -> JsonValue:
    number = numeric(text)
    if number is None:
        raise Invalid("This has to be a number.")
    return number


def minutes(text: str) -> JsonValue:
    number = numeric(text)
    if number is None:
        return None
    seconds = round(number * 60, 3)
    return int(seconds) if seconds == int(seconds) else seconds


def minutes_needed(text: str) -> JsonValue:
    needed(text)
    return minutes(text)


def show_minutes(value: JsonValue) -> str:
    return show(round(value / 60, 3)) if isinstance(value, int | float) else ""


def listed(text: str) -> JsonValue:
    return [line for _, line in lines(text)]


def show_list(value: JsonValue) -> str:
    return "\n".join(map(str, value)) if isinstance(value, list) else ""


def named(text: str) -> JsonValue:
    """name = text, one a line; a line break within a text is written \\n."""
    found = pairs(text, "=", "this field")
    return {name: ESCAPED.sub(lambda e: UNESCAPED[e[0]], each) for name, each in found.items()}


def show_named(value: JsonValue) -> str:
    if not isinstance(value, dict):
        return ""
    texts = {name: str(each).replace("\\", "\\\\") for name, each in value.items()}
    return "\n".join(f"{name} = {text}".replace("\n", "\\n") for name, text in texts.items())


@dataclass(frozen=True)
class Setting:
    """One key, such as plan.confirm, and the field that edits it.

    `said` has a place for what the field shows; `emptied` is said when nothing stands in it.
    """

    key: str
    label: str
    said: str
    emptied: str = ""
    kind: Literal["line", "number", "text", "choice", "list", "switch"] = "line"
    read: Read = one_line
    show: Show = show
    choices: Choices = ()
    hint: str = ""
    placeholder: str = ""
    rows: int = 1
    is_code: bool = False
    is_servers: bool = False

    @property
    def name(self) -> str:
        """As templates name it."""
        return self.key.replace(".", "_")

    @property
    def slug(self) -> str:
        """As ids have it."""
        return slug_of(self.key)

    def value_in(self, file: AgentFile) -> JsonValue:
        value: JsonValue = file.settings()
        for part in self.key.split("."):
            value = value[part] if isinstance(value, dict) else None
        return value

    def sentence(self, file: AgentFile) -> str:
        """What is said once it is saved."""
        shown = self.show(self.value_in(file))
        words = dict(self.choices).get(shown, shown)
        return self.said.format(words) if shown or not self.emptied else self.emptied


def slug_of(key: str) -> str:
    return slugify(key.replace(".", "-").replace("_", "-"))


def text(key: str, label: str, said: str, emptied: str, **more: object) -> Setting:
    """A field of several lines."""
    values: dict[str, object] = {"kind": "text", "read": whole_text, **more}
    return Setting(key, label, said, emptied, **values)  # type: ignore[arg-type]


def choice(key: str, label: str, said: str, choices: Choices, hint: str) -> Setting:
    return Setting(key, label, said, kind="choice", choices=choices, hint=hint)


def switch(key: str, label: str, said: str, hint: str) -> Setting:
    shown: Choices = (("on", "on"), ("", "off"))
    return Setting(
        key,
        label,
        said,
        kind="switch",
        read=bool,
        show=lambda on: "on" if on else "",
        choices=shown,
        hint=hint,
    )


def chain(role: str, label: str, said: str) -> Setting:
    return Setting(f"chains.{role}", label, said, kind="list")


def number(key: str, label: str, said: str) -> Setting:
    """One that has to be there."""
    return Setting(key, label, said, kind="number", read=needed)


def limit(key: str, label: str, said: str, emptied: str, placeholder: str = "No limit") -> Setting:
    """A number that may be left out."""
    return Setting(key, label, said, emptied, "number", numeric, placeholder=placeholder)


CONFIRM = (("always", "Every version"), ("create", "Not the agent’s"), ("never", "First only"))
CONTEXT = (
    ("auto", "Automatic"),
    ("full", "Whole"),
    ("reference", "By name"),
    ("template", "As written"),
)

ALL = [
    Setting("name", "Name", "The name is {}."),
    Setting("description", "Description", "The description is changed.", "No description."),
    text(
        "instructions", "Instructions", "The instructions are changed.", "No instructions.", rows=9
    ),
    limit(
        "temperature",
        "Temperature",
        "Temperature is {}.",
        "Temperature is the model’s own.",
        "0 to 2",
    ),
    limit(
        "context_window",
        "Tokens it holds",
        "Context is {} tokens.",
        "Context is the model’s own.",
        "The model’s own",
    ),
    switch("plan.enforce", "Plan first on every task", "Plan first is {}.", "Not only on /plan."),
    choice(
        "plan.confirm",
        "Ask for your yes",
        "Your yes is asked for: {}.",
        CONFIRM,
        "The first version always needs it.",
    ),
    number("plan.max_attempts", "Attempts", "Attempts are {}."),
    Setting(
        "plan.attempt_timeout_s",
        "Minutes an attempt",
        "An attempt may take {} minutes.",
        kind="number",
        read=minutes_needed,
        show=show_minutes,
    ),
    text(
        "plan.template",
        "Template, the format that a new plan follows",
        "The template is changed.",
        "No template.",
        rows=3,
        placeholder="## Goal",
    ),
    choice(
        "plan.context",
        "The plan in the prompt",
        "The plan in the prompt: {}.",
        CONTEXT,
        "How much the agent reads of it at each step.",
    ),
    text(
        "plan.context_template",
        "As written, with {{.title}}, {{.version}}, {{.goal}}, {{.content}}, {{.checklist}} and "
        "{{.expected_outcome}}",
        "What is written in the prompt is changed.",
        "Nothing is written in the prompt.",
        rows=2,
    ),
    number("plan.priority", "Priority in the prompt, 0 to 100", "The plan’s priority is {}."),
    switch(
        "plan.inherit",
        "Agents it calls may plan too",
        "Plans of agents it calls: {}.",
        "Such a plan counts for that piece of work alone.",
    ),
    choice(
        "plan.tools",
        "Plan tools in chat",
        "Plan tools in chat: {}.",
        (("all", "All"), ("read", "Reading alone")),
        "With reading alone a chat has get_plan and nothing else.",
    ),
    limit("budget.tokens", "Tokens", "Tokens are {}.", "Tokens have no limit."),
    limit("budget.cost_usd", "US dollars", "US dollars are {}.", "US dollars have no limit."),
    Setting(
        "budget.seconds",
        "Minutes",
        "Minutes are {}.",
        "Minutes have no limit.",
        "number",
        minutes,
        show_minutes,
        placeholder="No limit",
    ),
    limit("budget.model_calls", "Model calls", "Model calls are {}.", "Model calls have no limit."),
    chain("chat", "Chat", "It talks by {}."),
    chain("planner", "Planner", "It plans by {}."),
    chain("executor", "Executor", "It carries subtasks out by {}."),
    Setting(
        "workspace",
        "Folder of this server that it works in",
        "The workspace is {}.",
        "The workspace is its own files.",
        read=lambda typed: typed.strip() or None,
        placeholder="Its own files",
        is_code=True,
        is_servers=True,
    ),
    text(
        "fetch_hosts",
        "Private hosts that it may fetch from, one a line",
        "The private hosts are changed.",
        "No private hosts.",
        read=listed,
        show=show_list,
        placeholder="None",
        is_code=True,
        is_servers=True,
    ),
    text(
        "vars",
        "Variables of its chains, one a line as name = text",
        "The variables are changed.",
        "No variables.",
        read=named,
        show=show_named,
        placeholder="None",
        is_code=True,
    ),
    text(
        "tool_descriptions",
        "What the model reads of a tool instead, one a line as name = text",
        "The descriptions of tools are changed.",
        "The tools describe themselves.",
        read=named,
        show=show_named,
        placeholder="None",
        is_code=True,
    ),
]
SETTINGS = {each.key: each for each in ALL}
