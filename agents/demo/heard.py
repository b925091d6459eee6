"""What the demo is told: a request as messages, tools on offer, the plan and the assignment."""

from __future__ import annotations

import json
import re
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

Json = dict[str, object]
ASSIGNMENT = re.compile(r"^Your subtask is (\S+?): *(.*)$", re.MULTILINE)
PLAN_LINE = re.compile(r"^\W*\[(\w+)[^\]]*\]\W*(s\d+)\W\s*(.+)$", re.MULTILINE)
PLAN_TITLE = re.compile(r"^\W*Plan: *(.+?)(?: \(v(\d+)\))?\W*$", re.MULTILINE)


@dataclass(frozen=True)
class Call:
    tool: str
    arguments: Json

    @property
    def key(self) -> str:
        return f"{self.tool} {json.dumps(self.arguments, sort_keys=True)}"


@dataclass(frozen=True)
class Answer:
    text: str = ""
    calls: list[Call] = field(default_factory=list)


@dataclass(frozen=True)
class Step:
    """A line of the plan as the prompt shows it."""

    key: str
    state: str
    name: str
    outcome: str = ""


@dataclass(frozen=True)
class Subtask:
    key: str
    name: str
    description: str
    expected_outcome: str

    @property
    def words(self) -> str:
        return f"{self.name}\n{self.description}\n{self.expected_outcome}"


@dataclass(frozen=True)
class Heard:
    messages: list[Json]
    tools: dict[str, Json]

    @property
    def offered(self) -> set[str]:
        return set(self.tools)

    @property
    def system(self) -> str:
        return "\n\n".join(said(m) for m in self.messages if m.get("role") == "system")

    @property
    def person(self) -> str:
        return self.texts("user")[-1] if self.texts("user") else ""

    def texts(self, role: str) -> list[str]:
        return [said(message) for message in self.messages if message.get("role") == role]

    def last_result(self) -> tuple[str, str] | None:
        """Tool and text, when the last message is the result of a call."""
        if not self.messages or self.messages[-1].get("role") != "tool":
            return None
        name = next(
            (c.tool for i, c in self.calls() if i == self.messages[-1].get("tool_call_id")), ""
        )
        return name, said(self.messages[-1])

    def calls(self) -> Iterator[tuple[str, Call]]:
        """Every call so far with its id, the newest first."""
        for message in reversed(self.messages):
            for call in reversed(listed(message.get("tool_calls"))):
                function = mapping(call.get("function"))
                arguments = mapping(as_json(function.get("arguments")))
                yield str(call.get("id")), Call(str(function.get("name")), arguments)

    def plan_title(self) -> str:
        titles = PLAN_TITLE.findall(self.system)
        return str(titles[-1][0]) if titles else ""

    def plan(self) -> list[Step]:
        """The plan's lines, from the system message or from what get_plan returned."""
        shown = [said(m) for m in reversed(self.messages) if m.get("role") in ("system", "tool")]
        # What the system message says is always the plan as it is now.
        for text in [self.system, *shown]:
            if steps := [step_of(*found) for found in PLAN_LINE.findall(text)]:
                return steps
        return []

    def subtask(self) -> Subtask | None:
        for text in reversed(self.texts("user")):
            if match := ASSIGNMENT.search(text):
                return Subtask(
                    match[1], match[2], line(text, "Description"), line(text, "Expected outcome")
                )
        return None

    def assigned_at(self) -> int:
        """Where the attempt begins: the newest assignment, else the newest user message."""
        users = [n for n, message in enumerate(self.messages) if message.get("role") == "user"]
        given = [n for n in users if ASSIGNMENT.search(said(self.messages[n]))]
        return (given or users or [0])[-1]

    def results(self) -> dict[str, deque[str]]:
        """The results of this attempt by call, in order; those of a repeated call line up."""
        here = Heard(self.messages[self.assigned_at() :], self.tools)
        texts = {m.get("tool_call_id"): said(m) for m in here.messages if m.get("role") == "tool"}
        lined: dict[str, deque[str]] = defaultdict(deque)
        for call_id, call in here.calls():
            if call_id in texts:
                lined[call.key].appendleft(texts[call_id])
        return lined


def heard(request: Json) -> Heard:
    functions = [mapping(tool.get("function")) for tool in listed(request.get("tools"))]
    tools = {str(function.get("name")): function for function in functions}
    return Heard(listed(request.get("messages")), tools)


def step_of(state: str, key: str, rest: str) -> Step:
    name, _, outcome = rest.partition(": ") if state in ("done", "abandoned") else (rest, "", "")
    return Step(key, state, name.strip(), outcome.strip())


def line(text: str, label: str) -> str:
    match = re.search(rf"^{label}: *(.+)$", text, re.MULTILINE)
    return match[1].strip() if match else ""


def said(message: Json) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(mapping(part).get("text", "")) for part in content)
    return str(content or "")


def as_json(text: object) -> object:
    try:
        value: object = json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return None
    return value


def mapping(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def listed(value: object) -> list[Json]:
    return [mapping(one) for one in value] if isinstance(value, list) else []
