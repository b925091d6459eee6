"""The demo model as the product asks it: over the sample workspace, with the real file tools and the
real client."""

from __future__ import annotations

import json
import shutil
from contextlib import aclosing
from pathlib import Path
from typing import Any

from agents import http
from tests.inner import (
    DEMO_URL,
    Endpoint,
    ModelRequest,
    Reply,
    Tool,
    ToolFailed,
    broken_links,
    file_tools,
    gaps,
    stream,
)

SAMPLE = Path(__file__).parents[2] / "agents/config/samples/docs-writer/files"
DEMO = Endpoint("demo", DEMO_URL)
IN_ATTEMPT = ["get_plan", "get_changes", "report_progress", "finish_subtask", "fail_subtask", "ask_user",
              "add_subtask", "update_subtask", "delete_subtask", "revise_current_plan"]  # fmt: skip
WAITING = ["get_plan", "revise_current_plan", "finish_plan"]
CHAT = ["create_plan", "list_files", "read_file", "edit_file"]
PLAN = """You keep documents.

Plan: Tidy up the README and the docs (v1)
- [todo] s1 Take stock of the README and the docs
- [todo] s2 Fill in the missing sections of the README
- [todo] s3 Fill in the missing sections of the API docs
- [todo] s4 Fix the broken links
- [todo] s5 Check the result"""


def sample(folder: Path) -> Path:
    return Path(shutil.copytree(SAMPLE, folder / "files"))


def function(name: str) -> dict[str, object]:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}


def system(text: str) -> dict[str, object]:
    return {"role": "system", "content": text}


def user(text: str) -> dict[str, object]:
    return {"role": "user", "content": text}


async def ask(messages: list[dict[str, object]], tools: list[str]) -> Reply:
    request = ModelRequest(DEMO, "docs", messages, [function(name) for name in tools])
    try:
        async with aclosing(stream(request)) as parts:
            return [part async for part in parts][-1]  # type: ignore[return-value]
    finally:
        await http.aclose_all()


def asked(reply: Reply) -> dict[str, object]:
    calls = [
        {"id": call.id, "type": "function",
         "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}
        for call in reply.calls
    ]  # fmt: skip
    return {"role": "assistant", "content": reply.text or None, "tool_calls": calls}


def answered(call_id: str, text: str) -> dict[str, object]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


class Attempt:
    """A subtask worked on as the product does it: ask, run the calls, ask again."""

    def __init__(self, files: Path, name: str, *, description: str = "", expected: str = "",
                 without: tuple[str, ...] = (), refuse: tuple[str, ...] = ()) -> None:  # fmt: skip
        self.tools = {tool.name: tool for tool in file_tools(files) if tool.name not in without}
        self.refuse = refuse
        lines = [f"Your subtask is s2: {name}"]
        lines += [f"Description: {description}"] if description else []
        lines += [f"Expected outcome: {expected}"] if expected else []
        lines += ["Finish with finish_subtask, or with fail_subtask if it cannot be done."]
        self.messages = [system(PLAN), user("Earlier words"), user("\n".join(lines))]
        self.used: list[str] = []
        self.progress: list[str] = []

    async def run(self) -> tuple[str, str]:
        for _ in range(80):
            reply = await ask(self.messages, [*self.tools, *IN_ATTEMPT])
            if not reply.calls:
                return "said", reply.text
            self.messages.append(asked(reply))
            for call in reply.calls:
                self.used.append(call.name)
                if call.name in ("finish_subtask", "fail_subtask"):
                    return call.name, str(next(iter(call.arguments.values())))
                self.messages.append(answered(call.id, await self.result(call)))
        raise AssertionError("It went on and on.")

    async def result(self, call: Any) -> str:
        if call.name in self.refuse:
            return f"{call.name} was not carried out. It is not granted."
        if call.name == "report_progress":
            self.progress.append(call.arguments["text"])
            return "Noted."
        tool: Tool = self.tools[call.name]
        try:
            return (await tool.run(call.arguments)).text
        except ToolFailed as error:
            return str(error)


async def work(files: Path, name: str, **more: Any) -> tuple[str, str]:
    return await Attempt(files, name, **more).run()


def pages(files: Path) -> dict[str, str]:
    return {str(p.relative_to(files)): p.read_text() for p in files.rglob("*.md")}


def everything(files: Path) -> list[str]:
    return [str(path.relative_to(files)) for path in files.rglob("*") if path.is_file()]


def left(files: Path) -> tuple[int, int]:
    """Empty sections and broken links."""
    empty = sum(len(gaps(text)) for text in pages(files).values())
    return empty, len(broken_links(pages(files), everything(files)))


async def planned(goal: str) -> list[dict[str, str]]:
    reply = await ask([user(goal)], ["create_plan"])
    assert [call.name for call in reply.calls] == ["create_plan"]
    return reply.calls[0].arguments["subtasks"]  # type: ignore[return-value]


async def asked_in_chat(files: Path, words: str) -> tuple[str, list[str]]:
    """What is said to a question in the end, and the tools that were used on the way."""
    tools = {tool.name: tool for tool in file_tools(files)}
    messages, used = [user(words)], []
    for _ in range(10):
        reply = await ask(messages, CHAT)
        if not reply.calls:
            return reply.text, used
        messages.append(asked(reply))
        for call in reply.calls:
            used.append(call.name)
            result = await tools[call.name].run(call.arguments)
            messages.append(answered(call.id, result.text))
    raise AssertionError("It went on and on.")
