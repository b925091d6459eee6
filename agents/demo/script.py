"""The script as data, and what a request to the demo says: messages, plan, changes to it.

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
from django.template.base import VariableNode

Facts = Mapping[str, object]
SCRIPT: dict[str, Any] = tomllib.loads(Path(__file__).with_name("script.toml").read_text("utf-8"))
WORDS = SCRIPT["changes"]
NEW = "new "  # begins the key of a subtask that is not there yet
ENGINE = Engine(loaders=[("django.template.loaders.locmem.Loader", SCRIPT["templates"])])
template = cache(ENGINE.from_string)


class Wording(str):
    """What somebody wrote; `says` tells which of the script's words are in it."""

    @cached_property
    def says(self) -> dict[str, bool]:
        return {k: bool(regex(text, "words").search(self)) for k, text in SCRIPT["words"].items()}


@cache
def regex(text: str, table: str) -> re.Pattern[str]:
    """An expression in which `{{ name }}` stands for another one of that table of the script."""
    return re.compile(filled(text, SCRIPT[table]), re.IGNORECASE | re.MULTILINE)


def reads(name: str) -> re.Pattern[str]:
    return regex(SCRIPT["reads"][name], "reads")


def filled(text: str, facts: Facts) -> Any:
    """The template with its facts; a variable that is all of it keeps its type."""
    made, context = template(text), Context(facts, autoescape=False)
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


def about_subtask(comment: re.Match[str]) -> str:
    """A comment as if it were said in the message box: “drop this” names its subtask."""
    place = f"subtask {comment['number']}"
    said = reads("this_subtask").sub(
        lambda found: f"{found[0].split()[0]} {place}", comment["said"]
    )
    return f"{said}\n"


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


class Changes:
    """The subtasks that have not started as they are wished to be, and what leads there."""

    def __init__(self, text: str, plan: Plan) -> None:
        self.plan = plan
        self.keys = [step["key"] for step in plan.steps]
        first = self.keys.index(plan.replan_from) if plan.replan_from in self.keys else 0
        self.before = [step["key"] for step in plan.steps[first:] if step["state"] == "todo"]
        self.order = [*self.before]
        self.names: dict[str, str] = {}
        self.done: list[str] = []
        self.trouble: list[str] = []
        self.unclear: list[str] = []
        text = reads("comment").sub(about_subtask, reads("replan_words").sub("", text))
        for word, number in {**WORDS["ordinals"], "last": len(self.keys)}.items():
            ordinal = rf"\b(?:the )?{word} (?:sub-?task|step|one|item)\b"
            text = re.sub(ordinal, f"step {number}", text, flags=re.IGNORECASE)
        for part in regex(WORDS["clauses"], "changes").split(text):
            clause = regex(WORDS["courtesy"], "changes").sub("", part).strip()
            for kind in WORDS["kinds"]:
                if found := regex(kind["pattern"], "changes").search(clause):
                    before = [*self.order], {**self.names}
                    facts = self.change(**found.groupdict(""))
                    if before != (self.order, self.names):
                        self.done.append(filled(kind["done"], facts))
                    break
            else:
                if len(clause.split()) > 2:
                    self.unclear.append(filled(WORDS["unclear"], {"words": clause}))

    def change(self, which: str = "", other: str = "", name: str = "", where: str = "") -> Facts:
        """Do what the clause says; the facts for its `done`."""
        found = (self.find(which) if which else []) + (self.find(other) if other else [])
        keys = [key for _, key in found]
        name = name.strip(" “”\"'`:")
        name = name[:1].upper() + name[1:]
        if name and not which:
            keys = [f"{NEW}{len(self.names)}"]
            self.order += keys
        if name:
            self.names |= dict.fromkeys(keys[:1], name)
        if where and keys:
            self.put(keys[0], where)
        elif len(keys) == 2 and other:
            places = dict(zip(keys, keys[::-1], strict=True))
            self.order = [places.get(key, key) for key in self.order]
        elif not name and not other:
            self.order = [key for key in self.order if key not in keys]
        return {"numbers": [str(number) for number, _ in found], "name": name}

    def put(self, key: str, where: str) -> None:
        """Among the others: “to the top”, “up”, “after step 4” or “to 2”."""
        at, others = self.order.index(key), [other for other in self.order if other != key]
        side, _, target = where.lower().partition(" ")
        end = WORDS["ends"].get(where.lower().split()[-1], "")
        place = {"first": 0, "last": len(others), "up": max(0, at - 1), "down": at + 1}.get(end, at)
        for other in [] if end else [other for _, other in self.find(target) if other != key][:1]:
            place = (self.order if side == "to" else others).index(other) + (side == "after")
        self.order = [*others[:place], key, *others[place:]]

    def find(self, words: str) -> list[tuple[int, str]]:
        """Number and key of open subtasks, named by number or by words of the name."""
        numbers = [int(number) for number in re.findall(r"\d+", words)]
        if not regex(WORDS["numbers"], "changes").fullmatch(words):
            named = [w[:5] for w in re.findall(r"\w{4,}", words.lower()) if w not in WORDS["nouns"]]
            names = enumerate((step["name"].lower() for step in self.plan.steps), 1)
            numbers = [number for number, name in names if all(word in name for word in named)]
            numbers = numbers if named and len(numbers) == 1 else []
        open_ones = [(n, key) for n, key in enumerate(self.keys, 1) if key in self.order]
        found = [(number, key) for number, key in open_ones if number in numbers]
        if len(found) < max(1, len(numbers)):
            facts = {"words": words, "numbers": [*map(str, numbers)], "count": len(self.keys)}
            self.trouble.append(filled(WORDS["not_there"], facts))
        return found

    @property
    def subtasks(self) -> list[Facts]:
        """For revise_current_plan: removals, then what is new or changed; all if places changed."""
        gone = [key for key in self.before if key not in self.order]
        added = [key for key in self.order if key.startswith(NEW)]
        stay = [key for key in self.before if key in self.order] + added == self.order
        sent = [key for key in self.order if self.plan.replan_from or not stay or key in self.names]
        named = {key: {"name": self.names[key]} if key in self.names else {} for key in sent}
        listed = [named[key] if key in added else {"key": key, **named[key]} for key in sent]
        return [*({"key": key, "remove": True} for key in gone), *listed]
