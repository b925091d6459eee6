"""The schema of agent.json, and the sentences that refuse anything else."""

from __future__ import annotations

import re
from typing import Literal

from django.conf import settings
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator
from pydantic_core import ErrorDetails

from agents.config.json_text import BadFile, display_json, line_at, line_of, parse

LARGEST_FILE = 1_000_000  # bytes

# "read" is for the one name "plan.tools": chat turns then have get_plan and no other plan tool.
Grant = Literal["allow", "ask", "off", "read"]
PLAN = "plan.tools"
PLAN_MACROS = (".title", ".version", ".content", ".checklist", ".goal", ".expected_outcome")
# Without these no plan could be made or come to an end: they cannot be taken away.
REQUIRED_TOOLS = ("create_plan", "finish_subtask", "fail_subtask", "finish_plan")
NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


class Shape(BaseModel):
    """Strict about what it knows, silent about what it does not."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)


class AllowedCall(Shape):
    """A call that needs no asking any more: this tool with exactly these arguments.

    `identity` is that of a service's tool as it was when a person, `by`, allowed it.
    """

    tool: str
    arguments: dict[str, JsonValue] = {}
    identity: str = ""
    by: str = ""
    at: str = ""


class AgentChains(Shape):
    chat: str = "default-chain"
    planner: str = "planner"
    executor: str = "executor"


class PlanSettings(Shape):
    enabled: bool = False
    enforce: bool = False
    confirm: Literal["always", "create", "never"] = "always"
    max_attempts: int = Field(default=3, ge=1, le=20)
    attempt_timeout_s: int | float = Field(default=600, gt=0)
    template: str = ""
    context: Literal["auto", "full", "reference", "template"] = "auto"
    context_template: str = ""
    priority: int = Field(default=80, ge=0, le=100)
    inherit: bool = True
    tools: Literal["all", "read"] = "all"

    @field_validator("context_template")
    @classmethod
    def says_what_a_plan_has(cls, template: str) -> str:
        if wrong := [macro for macro in macros_in(template) if macro not in PLAN_MACROS]:
            known = ", ".join(f"{{{{{macro}}}}}" for macro in PLAN_MACROS)
            raise ValueError(f"cannot say {{{{{wrong[0]}}}}}: a plan has {known}")
        return template


class Budget(Shape):
    """Limits; None is none."""

    tokens: int | None = Field(default=None, gt=0)
    cost_usd: float | None = Field(default=None, gt=0)
    seconds: float | None = Field(default=None, gt=0)
    model_calls: int | None = Field(default=None, gt=0)


# Characters that cannot be seen by themselves and join others, in Persian words and in emoji.
JOINERS = dict.fromkeys((0x200C, 0x200D))


def default_provider() -> str:
    return str(settings.PLANSIDE_MODEL).partition("/")[0]


def default_model() -> str:
    return str(settings.PLANSIDE_MODEL).partition("/")[2]


class AgentFile(Shape):
    """An agent as its agent.json describes it."""

    id: str
    name: str = Field(min_length=1, max_length=100)
    description: str = ""
    workspace: str | None = None
    model: str = Field(default_factory=default_model, min_length=1)
    provider: str = Field(default_factory=default_provider, min_length=1)
    temperature: float | None = Field(default=None, ge=0, le=2)
    context_window: int | None = Field(default=None, ge=512)
    instructions: str = ""
    tools: dict[str, Grant] = {}
    always_allow: list[AllowedCall] = []
    tool_descriptions: dict[str, str] = {}
    fetch_hosts: list[str] = []
    vars: dict[str, str] = {}
    chains: AgentChains = AgentChains()
    plan: PlanSettings = PlanSettings()
    budget: Budget = Budget()

    @field_validator("name", "model")
    @classmethod
    def name_is_visible(cls, name: str) -> str:
        seen = name.translate(JOINERS)
        if not seen.strip():
            raise ValueError("must not be blank")
        if not seen.isprintable():
            raise ValueError("must not have characters that cannot be seen, such as a tab")
        return name

    @field_validator("tools")
    @classmethod
    def only_plan_tools_are_read(cls, tools: dict[str, Grant]) -> dict[str, Grant]:
        if wrong := [name for name, grant in tools.items() if (grant == "read") > (name == PLAN)]:
            raise ValueError(f'cannot set {wrong[0]} to "read": only {PLAN} can be')
        return tools

    @property
    def names_model(self) -> bool:
        """Whether its file says which model answers, or leaves it to the installation."""
        return bool({"provider", "model"} & self.model_fields_set)

    def settings(self) -> dict[str, JsonValue]:
        """What it says under the keys that Planside knows: others never reach a turn."""
        return self.model_dump(mode="json", include=set(AgentFile.model_fields))

    @property
    def required_tools_warning(self) -> str:
        """One sentence about a grant that changes nothing, since plans could not do without."""
        for name in REQUIRED_TOOLS:
            if (grant := self.tools.get(name)) in ("off", "ask"):
                names = f"{', '.join(REQUIRED_TOOLS[:3])} and {REQUIRED_TOOLS[3]}"
                return (
                    f'tools: {name} cannot be "{grant}": {names} are always on, since no plan '
                    "could be made or ended without them."
                )
        grant = self.tools.get(PLAN)
        return f'tools: {PLAN} cannot be "{grant}", only "read".' if grant in ("off", "ask") else ""

    @property
    def chat_may_only_read_plans(self) -> bool:
        return "read" in (self.plan.tools, self.tools.get(PLAN))


def parse_agent_file(text: str, agent_id: str) -> AgentFile:
    """The agent that a text describes; BadFile says what is wrong and on which line."""
    try:  # what no disk or database would take
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise BadFile("half a character stands here", line_at(text, error.start)) from None
    if size > LARGEST_FILE:
        raise BadFile(f"the file is larger than {LARGEST_FILE:,} bytes")
    if nul := NUL.search(text):
        raise BadFile("\\u0000 stands for no character", line_at(text, nul.start()))
    value = parse(text)
    if not isinstance(value, dict):
        raise BadFile("an agent is an object, written in braces", 1)
    if (named := value.get("id", agent_id)) != agent_id:
        line = line_of(text, ["id"])
        raise BadFile(f'id is {display_json(named)}, but the folder is named "{agent_id}"', line)
    try:
        return AgentFile.model_validate({"name": agent_id} | value | {"id": agent_id})
    except ValidationError as error:
        # The mistake that stands first in the text, its key written as in always_allow[0].tool.
        found = [(line_of(text, e["loc"]), e) for e in error.errors(include_url=False)]
        line, first = min(found, key=lambda pair: pair[0])
        steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in first["loc"]]
        raise BadFile(f"{''.join(steps).removeprefix('.')} {complaint(first)}", line) from None
    except RecursionError:
        raise BadFile("it is nested too deeply") from None


def complaint(error: ErrorDetails) -> str:
    kind = error["type"]
    if kind in ("missing", "value_error"):
        return "is missing" if kind == "missing" else error["msg"].removeprefix("Value error, ")
    if kind == "string_too_short":
        return "must not be empty"
    wish = WISHES.get(kind) or error["msg"].removeprefix("Input should be ")
    if kind == "string_too_long":
        return f"must have {wish.removeprefix('String should have ')}"
    given = error["input"]
    if isinstance(given, str | int | float | None):
        return f"must be {wish}, not {display_json(given)}"
    return f"must be {wish}"


WISHES = {
    "bool_type": "true or false",
    "dict_type": "an object, written in braces",
    "float_type": "a number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "list_type": "a list, written in brackets",
    "model_type": "an object, written in braces",
    "string_type": "text in quotation marks",
    "string_unicode": "text without half characters",
}


# The syntax of macros in texts that people configure: `{{var:model}}`, `{{.title}}` …

# Linear: what a macro says begins and ends with no space.
MACRO = re.compile(r"\{\{\s*([^{}\s](?:[^{}]*[^{}\s])?)\s*\}\}")


def macros_in(text: str) -> list[str]:
    return [match.group(1) for match in MACRO.finditer(text)]
