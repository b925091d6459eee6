"""The demo in conversation: about a plan that waits, about one that runs, and otherwise."""

from __future__ import annotations

import re

from agents.demo.feedback import understood
from agents.demo.heard import Answer, Call, Heard, Json, Step
from agents.demo.planner import (
    EXAMPLE,
    is_refused,
    is_understood,
    presented,
    starts_over,
)

CONNECT = (
    "To work with a real model, start Ollama or LM Studio, or set OPENAI_API_KEY and start again; "
    "then choose the model in Settings > Models."
)
ABLE = (
    "I understand “drop step 2”, “rename step 3 to …”, “add a step …”, “swap steps 2 and 3”, "
    "“move step 4 up” and “start over”."
)


def about_plan(heard: Heard) -> Answer:
    """Answer while a plan is open: changes where they are understood, else the truth about it."""
    last = heard.last_result()
    if last and last[0] != "get_plan":
        return after(heard, *last)
    steps = heard.plan()
    if not steps and not last and "get_plan" in heard.offered:
        return Answer("", [Call("get_plan", {})])
    if starts_over(heard.person) and "finish_plan" in heard.offered and is_waiting(heard):
        outcome = "Thrown away to start over, as you asked."
        return Answer("", [Call("finish_plan", {"state": "abandoned", "outcome": outcome})])
    return wished(heard, steps)


def is_waiting(heard: Heard) -> bool:
    """Only a plan that waits for its yes is replaced on a word in chat."""
    return "add_subtask" not in heard.offered


def wished(heard: Heard, steps: list[Step]) -> Answer:
    wish = understood(heard.person, steps)
    if wish.done:
        changes = f"{', '.join(wish.done).capitalize()}."
        revision: Json = {"subtasks": wish.subtasks(), "explanation": changes}
        return Answer(
            " ".join(wish.trouble + wish.unclear), [Call("revise_current_plan", revision)]
        )
    if wish.trouble:
        return Answer(" ".join(wish.trouble))
    if not is_waiting(heard):
        return Answer(how_far(steps))
    return Answer(
        f"I am the demo model and do not understand that as a change. {ABLE} You can also edit "
        "the plan in the drawer. It waits for you to start it."
    )


def how_far(steps: list[Step]) -> str:
    settled = [step for step in steps if step.state in ("done", "abandoned")]
    now = next((step.name for step in steps if step.state == "in_progress"), "")
    running = f" Now: {now}." if now else ""
    return f"{len(settled)} of {len(steps)} steps are settled.{running} {ABLE}"


def after(heard: Heard, tool: str, result: str) -> Answer:
    """A word on what a call has brought."""
    if tool == "create_plan":
        return presented(heard, result)
    if is_refused(result):
        return Answer(f"That was not possible: {result}")
    if tool == "revise_current_plan":
        made = next(call for _, call in heard.calls() if call.tool == tool)
        changes = made.arguments.get("explanation") or "The plan is changed."
        return Answer(f"{changes} The new version waits for your yes.")
    if tool == "finish_plan":
        return Answer("The plan is closed.")
    return Answer(f"{tool} answered: {result}")


def chat(heard: Heard) -> Answer:
    if last := heard.last_result():
        return after(heard, *last)
    if is_understood(heard.person):
        return Answer(
            "I have a script for that. Put /plan in front of it, so that you see and approve each "
            f"step before anything is touched:\n\n```\n{EXAMPLE}\n```{plan_mode_hint(heard)}"
        )
    return Answer(
        "Hello, I am the scripted demo model: I run offline and answer by rules, not by thinking. "
        "What I can do for real, with real files, is tidy up a project's documents by a plan you "
        f"approve. Try\n\n```\n{EXAMPLE}\n```{plan_mode_hint(heard)}\n\n{CONNECT}"
    )


def plan_mode_hint(heard: Heard) -> str:
    is_off = "create_plan" not in heard.offered and not heard.plan_title()
    return "\n\nPlan Mode is off for this agent; turn it on in Settings > Agents." if is_off else ""


def closing(heard: Heard) -> Answer:
    """Say what came of the plan, from the outcomes in its lines."""
    last = heard.last_result()
    if last:
        return Answer(
            f"The plan could not be closed: {last[1]}" if is_refused(last[1]) else told(heard)
        )
    return Answer("", [Call("finish_plan", {"state": "done", "outcome": told(heard)})])


def told(heard: Heard) -> str:
    steps = heard.plan()
    done = [step for step in steps if step.state == "done"]
    skipped = [step.name for step in steps if step.state == "abandoned"]
    parts = [f"{len(done)} of {len(steps)} subtasks done."] if steps else ["The plan is done."]
    parts += [first_sentence(step) for step in done]
    if skipped:
        parts.append(f"Not done: {', '.join(skipped)}.")
    return " ".join(filter(None, parts))


def first_sentence(step: Step) -> str:
    """An outcome up to its first full stop that ends a sentence, without its long lists."""
    sentence = re.split(r"(?<=\.)\s+(?=[A-Z])", step.outcome)[0]
    short = sentence if len(sentence) <= 160 else f"{sentence.split(':')[0]}."
    return short if short.endswith((".", "")) else f"{short}."


__all__ = ["about_plan", "chat", "closing"]
