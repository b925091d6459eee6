"""The model of a chaos run: it answers by what it is asked, so any process may ask again.

A subtask takes two file-writing steps of its own kind: `write_file`, which may be repeated, and
lines appended by the shell, which must not be. Each line carries a number that no other reply
carries, so a line that is there twice was run twice. A call whose effect is unknown makes this
model look first and append only what is missing, as a careful model would.
"""

from __future__ import annotations

import json
import re
from itertools import count
from typing import Any

from tests.fake_script import call, calls, think

THOUGHT = "First the file, then two lines in the log; what is there already stays as it is. "
UNKNOWN = "Interrupted before it reported back."
LINES = ("a", "b")
UNDONE = 997  # the number of the goal whose plan is undone, and brought back, again and again
BULK = 40  # files of each of its subtasks, so that putting them back takes a while
PACE: dict[str, Any] = {"chunk": 12, "delay": 0.02}

numbers = count(1)


def goal(number: int) -> str:
    """What a person asks for; its token is found again in everything that follows."""
    return f"/plan carry out c{number:03}"


def size_of(token: str) -> int:
    """How many subtasks the plan of this token has: 4, 5 or 6."""
    return 4 + int(token[1:]) % 3


def steps_of(name: str) -> list[str]:
    """What has to have happened once, and once only, when the subtask `name` is done."""
    return ["write_file", *(f"line {name}.{line}" for line in LINES), "finish_subtask"]


def answer(request: dict[str, Any]) -> dict[str, Any]:
    messages = request.get("messages") or []
    tools = {tool["function"]["name"] for tool in request.get("tools") or []}
    last_user = max(n for n, message in enumerate(messages) if message["role"] == "user")
    asked = str(messages[last_user]["content"])
    if subtask := re.match(r"Your subtask is s\d+: (\S+)", asked):
        return {**work(subtask[1], messages[last_user + 1 :]), **PACE}
    token = re.findall(r"c\d{3}", json.dumps(messages))[-1]
    if tools == {"create_plan"}:
        names = [drafted(f"{token}-{n}") for n in range(1, size_of(token) + 1)]
        return call("create_plan", title=f"Plan {token}", subtasks=names)
    if tools == {"finish_plan"}:
        return call("finish_plan", state="done", outcome=f"end of {token} #{next(numbers)}")
    return think("It waits for the person now.", "Here is the plan.", **PACE)


def drafted(name: str) -> dict[str, Any]:
    """What it has to have written is checked; by a command as well where none has to be allowed.

    Each run of the command leaves a line outside of what is recorded.
    """
    checks = [{"kind": "file", "path": f"{name}.txt", "contains": name}]
    if int(name[1:4]) % 3:
        ran = f"test -f {name}.txt && sleep 0.2 && echo {name} >> ../ran.log"
        checks.append({"kind": "command", "command": ran})
    return {"name": name, "checks": checks}


def work(name: str, own: list[dict[str, Any]]) -> dict[str, Any]:
    """The next reply on a subtask, from what the calls of this attempt have come to."""
    made = made_calls(own)
    if not any(tool == "write_file" and is_known(result) for tool, _, result in made):
        content = f"{name} #{next(numbers)}"
        return told(call("write_file", path=f"{name}.txt", content=content))
    missing, unsure = log_of(name, made)
    if unsure:
        return told(call("read_file", path=log_name(name)))
    if missing:
        return told(*(append(name, line) for line in missing))
    return told(call("finish_subtask", outcome=f"{name} came out #{next(numbers)}"))


def told(*each: dict[str, Any]) -> dict[str, Any]:
    return {**calls(*each, text="Now the next step."), "reasoning": THOUGHT}


def append(name: str, line: str) -> dict[str, Any]:
    """Slow enough to be hit before and after the line is written."""
    text = f"{name}.{line} #{next(numbers)}"
    command = f"sleep 0.05; echo '{text}' >> {log_name(name)}; sleep 0.1"
    if name.startswith(f"c{UNDONE}-"):
        bulk = f"for n in $(seq {BULK}); do printf {name} > bulk/{name}.$n; done"
        command = f"mkdir -p bulk; {bulk}; {command}"
    return call("shell", command=command)


def log_name(name: str) -> str:
    return f"log-{name.partition('-')[0]}.txt"


def log_of(name: str, made: list[tuple[str, str, str]]) -> tuple[list[str], bool]:
    """Which lines still have to be appended, and whether only a look at the log can tell."""
    known: set[str] = set()
    unsure = False
    for tool, arguments, result in made:
        if tool == "shell" and is_known(result):
            known |= {line for line in LINES if f"{name}.{line} #" in arguments}
        elif tool == "shell":
            unsure = True
        elif tool == "read_file" and is_known(result):
            known |= {line for line in LINES if f"{name}.{line} #" in result}
            unsure = False
    return [line for line in LINES if line not in known], unsure


def is_known(result: str) -> bool:
    return not result.startswith(UNKNOWN)


def made_calls(own: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Tool, arguments and result of each call of this attempt, in order."""
    results = {m["tool_call_id"]: str(m["content"]) for m in own if m["role"] == "tool"}
    return [
        (made["function"]["name"], made["function"]["arguments"], results.get(made["id"], ""))
        for message in own
        for made in message.get("tool_calls") or []
    ]
