"""The script as data, and what a request to the demo says: messages, plan, language.

script.toml explains its conditions, templates and expressions.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from django.template import Context, Engine
from django.template.base import Template, VariableNode

from agents.demo.languages import LANGUAGES, USUAL, plain, spoken, understood

Facts = Mapping[str, object]
SCRIPT: dict[str, Any] = tomllib.loads(Path(__file__).with_name("script.toml").read_text("utf-8"))
for name in ("words", "reads", "changes", "pages"):
    SCRIPT[name] = {**understood(name), **SCRIPT.get(name, {})}
ENGINES = {
    name: Engine(
        loaders=[
            (
                "django.template.loaders.locmem.Loader",
                {**SCRIPT["templates"], **language["sentences"]},
            )
        ]
    )
    for name, language in LANGUAGES.items()
}


@cache
def template(text: str, language: str) -> Template:
    return ENGINES[language].from_string(text)


class Wording(str):
    """What somebody wrote; `says` tells which of the script's words are in it."""

    @cached_property
    def says(self) -> dict[str, bool]:
        text = plain(self)
        return {k: bool(regex(words, "words").search(text)) for k, words in SCRIPT["words"].items()}


@cache
def regex(text: str, table: str) -> re.Pattern[str]:
    """An expression in which `{{ name }}` stands for another one of that table of the script."""
    while "{{" in text:
        text = filled(text, SCRIPT[table])
    return re.compile(text, re.IGNORECASE | re.MULTILINE)


def reads(name: str) -> re.Pattern[str]:
    return regex(SCRIPT["reads"][name], "reads")


def filled(text: str, facts: Facts) -> Any:
    """The template with its facts, among them the language of the sentences it includes.

    A variable that is all of it keeps its type.
    """
    made = template(text, str(facts.get("language", USUAL)))
    context = Context(facts, autoescape=False)
    if len(made.nodelist) == 1 and isinstance(made.nodelist[0], VariableNode):
        return made.nodelist[0].filter_expression.resolve(context, ignore_failures=True)
    return made.render(context)


def first(rules: Iterable[Any], facts: Facts) -> Any:
    return next((rule for rule in rules if fits(rule, facts)), None)


def fits(rule: Mapping[str, Any], facts: Facts) -> bool:
    condition = " ".join(rule.get("when", "True").split())
    return bool(filled(f"{{% if {condition} %}}yes{{% endif %}}", facts))


def rendered(value: Any, facts: Facts) -> Any:
    """The value with its texts filled; a table in a list stands for none, one or several."""
    if isinstance(value, dict):
        kept = [key for key in value if key not in ("when", "loop")]
        return {key: rendered(value[key], facts) for key in kept}
    if not isinstance(value, list):
        return filled(value, facts) if isinstance(value, str) else value
    made: list[Any] = []
    for each in value:
        if isinstance(each, dict):
            items = filled(f"{{{{ {each['loop']} }}}}", facts) if "loop" in each else [None]
            scopes = [{**facts, "item": item} for item in items if fits(each, facts)]
            made += [rendered(each, scope) for scope in scopes]
        else:
            one = rendered(each, facts)
            made += one if isinstance(one, list) else [one]
    return made


# What a request says.


class Call(NamedTuple):
    name: str
    arguments: dict[str, Any]
    result: Wording


class Request:
    def __init__(self, body: dict[str, Any]) -> None:
        self.messages = body.get("messages") or []
        self.offered = {tool["function"]["name"] for tool in body.get("tools") or []}
        self.user_texts = [Wording(text) for text in self.texts("user")]
        self.person = self.user_texts[-1] if self.user_texts else Wording()
        self.attached = reads("attached").findall(self.person)
        self.plan = Plan("\n\n".join(self.texts("system")), self.texts("system", "tool"))
        self.asked = ""  # where the present work begins: an assignment, else what was said last
        self.calls: list[Call] = []  # since then
        is_attempt = "finish_subtask" in self.offered
        results = {each.get("tool_call_id"): each["content"] for each in self.messages}
        for message in self.messages:
            begins = not is_attempt or reads("assignment").match(message.get("content") or "")
            if message["role"] == "user" and begins:
                self.asked, self.calls = message["content"], []
            made = [each for each in message.get("tool_calls") or [] if each["id"] in results]
            for function, id in ((each["function"], each["id"]) for each in made):
                arguments = json.loads(function["arguments"])
                self.calls.append(Call(function["name"], arguments, Wording(results[id])))
        # The newest call, if its result is the newest message.
        self.last = self.calls[-1] if self.calls and "tool_call_id" in self.messages[-1] else None
        parts = [Wording(each) for each in reads("subtask").findall(self.asked) if is_attempt]
        self.subtask = {"name": parts[0], "text": Wording("\n".join(parts))} if parts else None
        told = [self.subtask["text"]] if self.subtask else []
        self.shown = [call for call in self.calls if call.arguments.get("path") in self.attached]
        said = [reads("by_product").sub("", text) for text in reversed(self.user_texts)]
        self.language = spoken([*told, *said, self.plan.title])

    def texts(self, *roles: str) -> list[str]:
        return [each.get("content") or "" for each in self.messages if each["role"] in roles]

    @property
    def goal(self) -> Wording | None:
        """What the person asks for; “start over” alone means what was asked for before."""
        earlier = (
            [*self.user_texts[-2::-1], self.plan.title] if self.person.says["start_over"] else []
        )
        texts = [self.person, *earlier]
        return next((text for text in texts if fits(SCRIPT["goal"], {"says": text.says})), None)


class Plan:
    """As the prompt shows it, else as the newest text that holds it does."""

    def __init__(self, prompt: str, texts: list[str]) -> None:
        lists = (list(reads("step").finditer(text)) for text in [prompt, *reversed(texts)])
        self.steps = [step.groupdict("") for step in next(filter(None, lists), [])]
        self.title = Wording((reads("title").findall(prompt) or [""])[-1])
        self.replan_from = found[1] if (found := reads("replan").search(prompt)) else ""
        self.done = [step for step in self.steps if step["state"] == "done"]
        self.skipped = [step for step in self.steps if step["state"] == "abandoned"]
