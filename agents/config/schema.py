"""The schema of agent.json, and the sentences that refuse anything else."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from django.conf import settings
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator
from pydantic_core import ErrorDetails

from agents.config.json_text import BadFile, Lines, display_json, line_at, parse
from agents.stored_text import gettext, gettext_lazy

LARGEST_FILE = 1_000_000  # bytes

Show = Callable[[JsonValue], str]

# "read" is for the one name "plan.tools": chat turns then have those that only read.
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
    reviewer: str = "reviewer"


class PlanSettings(Shape):
    enabled: bool = False
    enforce: bool = False
    confirm: Literal["always", "create", "never"] = "always"
    max_attempts: int = Field(default=3, ge=1, le=20)
    checks: Literal["optional", "required"] = "optional"
    max_check_failures: int = Field(default=3, ge=1, le=20)
    attempt_timeout_s: int | float = Field(default=600, gt=0)
    template: str = ""
    context: Literal["auto", "full", "reference", "template"] = "auto"
    context_template: str = ""
    priority: int = Field(default=80, ge=0, le=100)
    inherit: bool = True
    tools: Literal["all", "read"] = "all"

    @property
    def is_enforced(self) -> bool:
        """Whether every task is planned first, not only those of /plan."""
        return self.enabled and self.enforce

    @field_validator("context_template")
    @classmethod
    def says_what_a_plan_has(cls, template: str) -> str:
        if wrong := [macro for macro in macros_in(template) if macro not in PLAN_MACROS]:
            known = ", ".join(f"{{{{{macro}}}}}" for macro in PLAN_MACROS)
            wrong_one = f"{{{{{wrong[0]}}}}}"
            sentence = gettext("{key} cannot say {macro}: a plan has {known}")
            raise ValueError(sentence.format(key="{key}", macro=wrong_one, known=known))
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
            raise ValueError(gettext("{key} must not be blank"))
        if not seen.isprintable():
            raise ValueError(
                gettext("{key} must not have characters that cannot be seen, such as a tab")
            )
        return name

    @field_validator("tools")
    @classmethod
    def only_plan_tools_are_read(cls, tools: dict[str, Grant]) -> dict[str, Grant]:
        if wrong := [name for name, grant in tools.items() if (grant == "read") > (name == PLAN)]:
            sentence = gettext('{key} cannot set {tool} to "read": only {plan} can be')
            raise ValueError(sentence.format(key="{key}", tool=wrong[0], plan=PLAN))
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
                return gettext(
                    'tools: {name} cannot be "{grant}": create_plan, finish_subtask, fail_subtask '
                    "and finish_plan are always on, since no plan could be made or ended without "
                    "them."
                ).format(name=name, grant=grant)
        grant = self.tools.get(PLAN)
        if grant in ("off", "ask"):
            sentence = gettext('tools: {name} cannot be "{grant}", only "read".')
            return sentence.format(name=PLAN, grant=grant)
        return ""

    @property
    def chat_may_only_read_plans(self) -> bool:
        return "read" in (self.plan.tools, self.tools.get(PLAN))


def parse_agent_file(text: str, agent_id: str) -> AgentFile:
    """The agent that a text describes; BadFile says what is wrong and on which line."""
    try:  # what no disk or database would take
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise BadFile(gettext("half a character stands here"), line_at(text, error.start)) from None
    if size > LARGEST_FILE:
        raise BadFile(gettext("the file is larger than {size:,} bytes").format(size=LARGEST_FILE))
    if nul := NUL.search(text):
        raise BadFile(gettext("\\u0000 stands for no character"), line_at(text, nul.start()))
    value = parse(text)
    if not isinstance(value, dict):
        raise BadFile(gettext("an agent is an object, written in braces"), 1)
    if (named := value.get("id", agent_id)) != agent_id:
        reason = gettext('id is {id}, but the folder is named "{folder}"')
        reason = reason.format(id=display_json(named), folder=agent_id)
        raise BadFile(reason, Lines(text).line_of(["id"]))
    try:
        return AgentFile.model_validate({"name": agent_id} | value | {"id": agent_id})
    except ValidationError as error:
        # The mistake that stands first in the text, its key written as in always_allow[0].tool.
        lines = Lines(text)
        found = [(lines.line_of(e["loc"]), e) for e in error.errors(include_url=False)]
        line, first = min(found, key=lambda pair: pair[0])
        steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in first["loc"]]
        key = "".join(steps).removeprefix(".")
        raise WrongValue(key, line, first) from None
    except RecursionError:
        raise BadFile(gettext("it is nested too deeply")) from None


class WrongValue(BadFile):
    """A key whose value is refused: the sentence can be put in another name's words."""

    def __init__(self, key: str, line: int | None, error: ErrorDetails) -> None:
        super().__init__(complaint(key, error), line, key)
        self.error = error

    def said_of(self, name: str, show: Show) -> str:
        """The reason with a name in the place of the key, and values as somebody entered them."""
        return complaint(name, self.error, show)


def complaint(key: str, error: ErrorDetails, show: Show = display_json) -> str:
    kind, given = error["type"], error["input"]
    if kind == "value_error":
        return error["msg"].removeprefix("Value error, ").replace("{key}", key, 1)
    if kind == "missing":
        return gettext("{key} is missing").format(key=key)
    if kind == "string_too_short":
        return gettext("{key} must not be empty").format(key=key)
    if kind == "string_too_long":
        most = (error.get("ctx") or {}).get("max_length")
        return gettext("{key} must have at most {most} characters").format(key=key, most=most)
    context = (error.get("ctx") or {}).items()
    bounds = {name: show(whole(bound)) for name, bound in context if isinstance(bound, int | float)}
    wish = str(WISHES.get(kind) or error["msg"].removeprefix("Input should be ")).format_map(bounds)
    if isinstance(given, str | int | float | None):
        sentence = gettext("{key} must be {wish}, not {given}")
        return sentence.format(key=key, wish=wish, given=show(given))
    return gettext("{key} must be {wish}").format(key=key, wish=wish)


def whole(number: float) -> float:
    """2 for 2.0: as it stands in a file."""
    return int(number) if number == int(number) else number


WISHES = {
    "bool_type": gettext_lazy("true or false"),
    "dict_type": gettext_lazy("an object, written in braces"),
    "float_type": gettext_lazy("a number"),
    "greater_than": gettext_lazy("greater than {gt}"),
    "greater_than_equal": gettext_lazy("greater than or equal to {ge}"),
    "int_type": gettext_lazy("a whole number"),
    "int_from_float": gettext_lazy("a whole number"),
    "less_than": gettext_lazy("less than {lt}"),
    "less_than_equal": gettext_lazy("less than or equal to {le}"),
    "list_type": gettext_lazy("a list, written in brackets"),
    "model_type": gettext_lazy("an object, written in braces"),
    "string_type": gettext_lazy("text in quotation marks"),
    "string_unicode": gettext_lazy("text without half characters"),
}


# The syntax of macros in texts that people configure: `{{var:model}}`, `{{.title}}` …

# Linear: what a macro says begins and ends with no space.
MACRO = re.compile(r"\{\{\s*([^{}\s](?:[^{}]*[^{}\s])?)\s*\}\}")


def macros_in(text: str) -> list[str]:
    return [match.group(1) for match in MACRO.finditer(text)]
