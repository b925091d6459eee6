"""What a tool is: a name, a JSON Schema for its arguments, and one coroutine."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from agents.config.schema import PLAN
from agents.errors import Refused
from agents.text.tokens import estimate_tokens
from agents.tools.images import Image
from agents.tools.parameters import plain_object

ArgumentsModel = TypeVar("ArgumentsModel", bound=BaseModel)

Arguments = dict[str, object]


class ToolFailed(Exception):
    """The tool could not do it. The text is one sentence for the model and the person.

    `facts` and `ends_turn` are those of ToolResult.
    """

    def __init__(
        self, text: str, facts: dict[str, object] | None = None, *, ends_turn: bool = False
    ) -> None:
        super().__init__(text)
        self.facts = facts or {}
        self.ends_turn = ends_turn


@dataclass(frozen=True)
class ToolResult:
    """What a call gave back: `text` is what a model and a person read.

    `ends_turn` is set by tools with which the model declares its work in this turn finished;
    `unlocks` names tools that are on offer from now on, until the turn ends. `images` are for
    models that see; the text names them too. For chains, `body` is the data alone where `text` says
    more around it, `data` a structured result, and `facts` what is known besides: an HTTP status,
    an exit code.
    """

    text: str
    ends_turn: bool = False
    images: tuple[Image, ...] = ()
    unlocks: tuple[str, ...] = ()
    body: str | None = None
    data: object = None
    facts: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Tool:
    """One callable thing on offer to a model.

    `parameters` is a JSON Schema of type object. `read_only` tools may be repeated after a
    crash and are open to a chat while a plan runs; `idempotent` ones may be repeated too. One that
    `sends_files` reads files of the workspace. `origin` is all, as JSON, that makes a tool of a
    service the one it is.
    """

    name: str
    description: str
    parameters: dict[str, object]
    run: Callable[[Arguments], Awaitable[ToolResult]]
    read_only: bool = False
    idempotent: bool = False
    sends_files: bool = False
    origin: object = None

    @property
    def writes(self) -> bool:
        """Whether a call of it may change files of the workspace."""
        return not self.read_only and self.name not in READING_TOOLS

    @property
    def repeatable(self) -> bool:
        return self.read_only or self.idempotent

    @cached_property
    def identity(self) -> str:
        """Another one when the tool is no longer what somebody was asked about; nothing for tools
        that are built in."""
        if self.origin is None:
            return ""
        return hashlib.sha256(json.dumps(self.origin, sort_keys=True).encode()).hexdigest()

    @cached_property
    def tokens(self) -> int:
        """What a request says of it, estimated."""
        return estimate_tokens(json.dumps(self.as_function(), ensure_ascii=False))

    def as_function(self, description: str | None = None) -> dict[str, object]:
        """The tool in the form of the chat-completions API."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": description or self.description,
                "parameters": plain_object(self.parameters),
            },
        }


def typed_tool(
    name: str,
    arguments: type[ArgumentsModel],
    run: Callable[[ArgumentsModel], Awaitable[ToolResult]],
    *,
    read_only: bool = False,
    idempotent: bool = False,
) -> Tool:
    """A tool whose arguments are a pydantic model; the model's docstring describes the tool."""

    async def checked(raw: Arguments) -> ToolResult:
        try:
            parsed = arguments.model_validate(raw, extra="forbid")
        except ValidationError as error:
            raise ToolFailed(validation_sentence(name, error)) from None
        except Refused as refusal:
            raise ToolFailed(str(refusal)) from None
        return await run(parsed)

    description, parameters = described(arguments)
    return Tool(name, description or name, parameters, checked, read_only, idempotent)


@cache  # pydantic takes milliseconds for it, and tools are listed before every model call
def described(arguments: type[BaseModel]) -> tuple[str, dict[str, object]]:
    """What the model's docstring says, and the JSON Schema without it.

    Referenced parts are put in place: not every server follows references.
    """
    schema = arguments.model_json_schema()
    description = str(schema.pop("description", ""))
    parts = schema.pop("$defs", {})

    def inlined(value: object, inside: frozenset[str] = frozenset()) -> object:
        if isinstance(value, list):
            return [inlined(each, inside) for each in value]
        if not isinstance(value, dict):
            return value
        name = str(value.get("$ref", "")).removeprefix("#/$defs/")
        if name in parts and name not in inside:
            return inlined(parts[name], inside | {name})
        return {k: inlined(v, inside) for k, v in value.items() if (k, type(v)) != ("title", str)}

    whole = inlined(schema)
    assert isinstance(whole, dict)
    return description, whole


def validation_sentence(name: str, error: ValidationError) -> str:
    """One sentence out of pydantic's list: the first three places and what is wrong there."""
    faults = [
        f"{'.'.join(str(part) for part in fault['loc']) or 'arguments'}: {fault['msg']}"
        for fault in error.errors()[:3]
    ]
    return f"{name} was called with wrong arguments: {'; '.join(faults)}."


def truncated(text: str, limit: int) -> str:
    """The first `limit` characters, with a line that says how many there were."""
    return text if len(text) <= limit else f"{text[:limit]}\n[cut: {len(text):,} characters in all]"


# The names of tools: those that are built in, and how others are made.

LONGEST = 64
BETWEEN = "__"  # a source's name and its operation's


def safe_name(wanted: str, taken: set[str], longest: int = LONGEST) -> str:
    """`wanted` made of letters, digits, `_` and `-`, and like none that is taken; adds it there."""
    safe = re.sub(r"[^A-Za-z0-9_-]+", "_", wanted).strip("_") or "unnamed"
    name = safe
    if len(safe) > longest:  # two long names rarely differ in their first part
        digest = hashlib.sha256(wanted.encode(errors="replace")).hexdigest()[:8]
        name = f"{safe[: longest - len(digest) - 1]}_{digest}"
    number = 2
    while name in taken:
        ending = f"_{number}"
        name = safe[: longest - len(ending)] + ending
        number += 1
    taken.add(name)
    return name


def longest_for(source: str) -> int:
    """How long an operation's name may be so that the tool's name fits."""
    return LONGEST - len(source) - len(BETWEEN)


SEARCH_TOOLS = "search_tools"  # offered where an agent has more operations than fit
RUN_AGENT = "run_agent:"  # before an agent's id: the grant to call it


class BuiltIn(NamedTuple):
    """What is known of a built-in tool by its name, of a call long past too.

    `group` is what grants and chains call it together with others; `names_file` says that its
    argument `path` is the one file that it writes.
    """

    group: str = ""
    writes: bool = False  # into the workspace, by its own turn
    names_file: bool = False
    reaches_server: bool = False  # acts on the server itself, with its rights


# In the order in which pages list them. Those of plans come from the gate of a plan, as far as the
# chain's task lists them.
BUILT_IN = {
    "list_files": BuiltIn("local_fs"),
    "read_file": BuiltIn("local_fs"),
    "write_file": BuiltIn("local_fs", writes=True, names_file=True),
    "edit_file": BuiltIn("local_fs", writes=True, names_file=True),
    "search_files": BuiltIn("local_fs"),
    "shell": BuiltIn("local_shell", writes=True, reaches_server=True),
    "fetch_url": BuiltIn(),
    "run_agent": BuiltIn(),
    SEARCH_TOOLS: BuiltIn(),
    "create_plan": BuiltIn(PLAN),
    "get_plan": BuiltIn(PLAN),
    "revise_current_plan": BuiltIn(PLAN),
    "add_subtask": BuiltIn(PLAN),
    "update_subtask": BuiltIn(PLAN),
    "delete_subtask": BuiltIn(PLAN),
    "report_progress": BuiltIn(PLAN),
    "finish_subtask": BuiltIn(PLAN),
    "fail_subtask": BuiltIn(PLAN),
    "ask_user": BuiltIn(PLAN),
    "finish_plan": BuiltIn(PLAN),
    "get_changes": BuiltIn(PLAN),
}
PLAN_TOOLS = frozenset(name for name, tool in BUILT_IN.items() if tool.group == PLAN)
SERVER_TOOLS = frozenset(name for name, tool in BUILT_IN.items() if tool.reaches_server)
READING_TOOLS = frozenset(name for name, tool in BUILT_IN.items() if not tool.writes)
FILE_WRITING_TOOLS = frozenset(name for name, tool in BUILT_IN.items() if tool.names_file)
