"""The keys of agent.json that a form edits: how each is read, shown and spoken of."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy
from pydantic import JsonValue

from agents.config.json_text import display_json
from agents.config.schema import AgentFile
from agents.normalization import slug
from agents.tools.confinement import TRASH
from agents.workspace.trash import lies_elsewhere
from console.setting_values import (
    listed,
    minutes,
    minutes_needed,
    named,
    needed,
    numeric,
    one_line,
    show,
    show_list,
    show_minutes,
    show_named,
    whole_text,
)

Read = Callable[[str], JsonValue]
Show = Callable[[JsonValue], str]
Words = str | Promise
Choices = tuple[tuple[str, Words], ...]


@dataclass(frozen=True)
class Setting:
    """One key, such as plan.confirm, and the field that edits it.

    `said` has a place for what the field shows; `emptied` is said when nothing stands in it.
    """

    key: str
    label: Words
    said: Words
    emptied: Words = ""
    kind: Literal["line", "number", "text", "choice", "list", "switch"] = "line"
    read: Read = one_line
    show: Show = show
    choices: Choices = ()
    hint: Words = ""
    placeholder: Words = ""
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

    @property
    def short(self) -> str:
        """Its label without what explains it."""
        return re.split("[,，]", str(self.label))[0]

    def in_words(self, value: JsonValue) -> str:
        """A value inside a sentence, as the field shows it."""
        return self.show(value) if isinstance(value, int | float) else display_json(value)

    def value_in(self, file: AgentFile) -> JsonValue:
        value: JsonValue = file.settings()
        for part in self.key.split("."):
            value = value[part] if isinstance(value, dict) else None
        return value

    def sentence(self, file: AgentFile) -> str:
        """What is said once it is saved."""
        shown = self.show(self.value_in(file))
        words = dict(self.choices).get(shown, shown)
        if self.emptied and not shown:
            return str(self.emptied)
        said = str(self.said).format(words)
        if self.key == "workspace" and lies_elsewhere(shown):
            said += " " + gettext(
                "It is on another disk: what is deleted there is kept in its {folder} for a day."
            ).format(folder=TRASH)
        return said


NO_LIMIT = gettext_lazy("No limit")


def slug_of(key: str) -> str:
    return slug(key.replace(".", "-").replace("_", "-"))


def text(key: str, label: Words, said: Words, emptied: Words, **more: object) -> Setting:
    """A field of several lines."""
    values: dict[str, object] = {"kind": "text", "read": whole_text, **more}
    return Setting(key, label, said, emptied, **values)  # type: ignore[arg-type]


def choice(key: str, label: Words, said: Words, choices: Choices, hint: Words) -> Setting:
    return Setting(key, label, said, kind="choice", choices=choices, hint=hint)


def switch(key: str, label: Words, said: Words, hint: Words) -> Setting:
    shown: Choices = (("on", gettext_lazy("on")), ("", gettext_lazy("off")))
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


def chain(role: str, label: Words, said: Words) -> Setting:
    return Setting(f"chains.{role}", label, said, kind="list")


def number(key: str, label: Words, said: Words) -> Setting:
    """One that has to be there."""
    return Setting(key, label, said, kind="number", read=needed)


def limit(
    key: str,
    label: Words,
    said: Words,
    emptied: Words,
    placeholder: Words = NO_LIMIT,
) -> Setting:
    """A number that may be left out."""
    return Setting(key, label, said, emptied, "number", numeric, placeholder=placeholder)


CONFIRM = (
    ("always", gettext_lazy("Every version")),
    ("create", gettext_lazy("Not the agent’s")),
    ("never", gettext_lazy("First only")),
)
CONTEXT = (
    ("auto", gettext_lazy("Automatic")),
    ("full", gettext_lazy("Whole")),
    ("reference", gettext_lazy("By name")),
    ("template", gettext_lazy("As written")),
)

ALL = [
    Setting("name", gettext_lazy("Name"), gettext_lazy("The name is {}.")),
    Setting(
        "description",
        gettext_lazy("Description"),
        gettext_lazy("The description is changed."),
        gettext_lazy("No description."),
    ),
    text(
        "instructions",
        gettext_lazy("Instructions"),
        gettext_lazy("The instructions are changed."),
        gettext_lazy("No instructions."),
        rows=9,
    ),
    limit(
        "temperature",
        gettext_lazy("Temperature"),
        gettext_lazy("Temperature is {}."),
        gettext_lazy("Temperature is the model’s own."),
        gettext_lazy("0 to 2"),
    ),
    limit(
        "context_window",
        gettext_lazy("Tokens it holds"),
        gettext_lazy("Context is {} tokens."),
        gettext_lazy("Context is the model’s own."),
        gettext_lazy("The model’s own"),
    ),
    switch(
        "plan.enforce",
        gettext_lazy("Plan first on every task"),
        gettext_lazy("Plan first is {}."),
        gettext_lazy("Not only on /plan."),
    ),
    choice(
        "plan.confirm",
        gettext_lazy("Ask for your yes"),
        gettext_lazy("Your yes is asked for: {}."),
        CONFIRM,
        gettext_lazy("The first version always needs it."),
    ),
    number("plan.max_attempts", gettext_lazy("Attempts"), gettext_lazy("Attempts are {}.")),
    choice(
        "plan.checks",
        gettext_lazy("Checks of subtasks"),
        gettext_lazy("Checks of subtasks: {}."),
        (("optional", gettext_lazy("As the agent likes")), ("required", gettext_lazy("Wanted"))),
        gettext_lazy("With wanted, the agent is asked once for what says that a subtask is done."),
    ),
    number(
        "plan.max_check_failures",
        gettext_lazy("Finishes its checks may refuse"),
        gettext_lazy("Finishes that checks may refuse are {}."),
    ),
    Setting(
        "plan.attempt_timeout_s",
        gettext_lazy("Minutes an attempt"),
        gettext_lazy("An attempt may take {} minutes."),
        kind="number",
        read=minutes_needed,
        show=show_minutes,
    ),
    text(
        "plan.template",
        gettext_lazy("Template, the format that a new plan follows"),
        gettext_lazy("The template is changed."),
        gettext_lazy("No template."),
        rows=3,
        placeholder=gettext_lazy("## Goal"),
    ),
    choice(
        "plan.context",
        gettext_lazy("The plan in the prompt"),
        gettext_lazy("The plan in the prompt: {}."),
        CONTEXT,
        gettext_lazy("How much the agent reads of it at each step."),
    ),
    text(
        "plan.context_template",
        gettext_lazy(
            "As written, with {{.title}}, {{.version}}, {{.goal}}, {{.content}}, {{.checklist}} "
            "and {{.expected_outcome}}"
        ),
        gettext_lazy("What is written in the prompt is changed."),
        gettext_lazy("Nothing is written in the prompt."),
        rows=2,
    ),
    number(
        "plan.priority",
        gettext_lazy("Priority in the prompt, 0 to 100"),
        gettext_lazy("The plan’s priority is {}."),
    ),
    switch(
        "plan.inherit",
        gettext_lazy("Agents it calls may plan too"),
        gettext_lazy("Plans of agents it calls: {}."),
        gettext_lazy("Such a plan counts for that piece of work alone."),
    ),
    choice(
        "plan.tools",
        gettext_lazy("Plan tools in chat"),
        gettext_lazy("Plan tools in chat: {}."),
        (("all", gettext_lazy("All")), ("read", gettext_lazy("Reading alone"))),
        gettext_lazy("With reading alone a chat has get_plan and nothing else."),
    ),
    limit(
        "budget.tokens",
        gettext_lazy("Tokens"),
        gettext_lazy("Tokens are {}."),
        gettext_lazy("Tokens have no limit."),
    ),
    limit(
        "budget.cost_usd",
        gettext_lazy("US dollars"),
        gettext_lazy("US dollars are {}."),
        gettext_lazy("US dollars have no limit."),
    ),
    Setting(
        "budget.seconds",
        gettext_lazy("Minutes"),
        gettext_lazy("Minutes are {}."),
        gettext_lazy("Minutes have no limit."),
        "number",
        minutes,
        show_minutes,
        placeholder=NO_LIMIT,
    ),
    limit(
        "budget.model_calls",
        gettext_lazy("Model calls"),
        gettext_lazy("Model calls are {}."),
        gettext_lazy("Model calls have no limit."),
    ),
    chain("chat", gettext_lazy("Chat"), gettext_lazy("It talks by {}.")),
    chain("planner", gettext_lazy("Planner"), gettext_lazy("It plans by {}.")),
    chain("executor", gettext_lazy("Executor"), gettext_lazy("It carries subtasks out by {}.")),
    chain("reviewer", gettext_lazy("Reviewer"), gettext_lazy("Its work is judged by {}.")),
    Setting(
        "workspace",
        gettext_lazy("Folder of this server that it works in"),
        gettext_lazy("The workspace is {}."),
        gettext_lazy("The workspace is its own files."),
        read=lambda typed: typed.strip() or None,
        placeholder=gettext_lazy("Its own files"),
        is_code=True,
        is_servers=True,
    ),
    text(
        "fetch_hosts",
        gettext_lazy("Private hosts that it may fetch from, one a line"),
        gettext_lazy("The private hosts are changed."),
        gettext_lazy("No private hosts."),
        read=listed,
        show=show_list,
        placeholder=gettext_lazy("None"),
        is_code=True,
        is_servers=True,
    ),
    text(
        "vars",
        gettext_lazy("Variables of its chains, one a line as name = text"),
        gettext_lazy("The variables are changed."),
        gettext_lazy("No variables."),
        read=named,
        show=show_named,
        placeholder=gettext_lazy("None"),
        is_code=True,
    ),
    text(
        "tool_descriptions",
        gettext_lazy("What the model reads of a tool instead, one a line as name = text"),
        gettext_lazy("The descriptions of tools are changed."),
        gettext_lazy("The tools describe themselves."),
        read=named,
        show=show_named,
        placeholder=gettext_lazy("None"),
        is_code=True,
    ),
]
SETTINGS = {each.key: each for each in ALL}
# Keys that have a control of their own.
ELSEWHERE = {
    "provider": gettext_lazy("Provider"),
    "model": gettext_lazy("Name of the model"),
    "tools": gettext_lazy("Tools"),
}
