"""What a request tells the demo: what was said, the plan, and the changes to it in words."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from agents.demo.script import SCRIPT, Facts, Wording, filled, fits, reads, regex

WORDS = SCRIPT["changes"]
NEW = "new "  # begins the key of a subtask that is not there yet


class Call(NamedTuple):
    name: str
    arguments: dict[str, Any]
    result: Wording


class Request:
    def __init__(self, body: dict[str, Any]) -> None:
        self.messages = body.get("messages") or []
        self.offered = {tool["function"]["name"] for tool in body.get("tools") or []}
        self.said = [Wording(text) for text in self.texts("user")]
        self.person = self.said[-1] if self.said else Wording()
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
        told = [Wording(each) for each in reads("subtask").findall(self.asked) if is_attempt]
        self.subtask = {"name": told[0], "text": Wording("\n".join(told))} if told else None

    def texts(self, *roles: str) -> list[str]:
        return [each.get("content") or "" for each in self.messages if each["role"] in roles]

    @property
    def goal(self) -> Wording | None:
        """What the person asks for; “start over” alone means what was asked for before."""
        earlier = [*self.said[-2::-1], self.plan.title] if self.person.says["start_over"] else []
        said = [self.person, *earlier]
        return next((text for text in said if fits(SCRIPT["goal"], {"says": text.says})), None)


class Plan:
    """As the prompt shows it, else the newest text in which it was read."""

    def __init__(self, prompt: str, texts: list[str]) -> None:
        shown = (list(reads("step").finditer(text)) for text in [prompt, *reversed(texts)])
        self.steps = [step.groupdict("") for step in next(filter(None, shown), [])]
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
        text = reads("replan_words").sub("", text)
        for word, number in {**WORDS["ordinals"], "last": len(self.keys)}.items():
            ordinal = rf"\b(?:the )?{word} (?:sub-?task|step|one|item)\b"
            text = re.sub(ordinal, f"step {number}", text, flags=re.IGNORECASE)
        for clause in regex(WORDS["clauses"], "changes").split(text):
            self.take(regex(WORDS["courtesy"], "changes").sub("", clause).strip())

    def take(self, clause: str) -> None:
        for kind in WORDS["kinds"]:
            if found := regex(kind["pattern"], "changes").search(clause):
                before = [*self.order], {**self.names}
                facts = self.change(**found.groupdict(""))
                if before != (self.order, self.names):
                    self.done.append(filled(kind["done"], facts))
                return
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
        told = [key for key in self.order if self.plan.replan_from or not stay or key in self.names]
        named = {key: {"name": self.names[key]} if key in self.names else {} for key in told}
        shown = [named[key] if key in added else {"key": key, **named[key]} for key in told]
        return [*({"key": key, "remove": True} for key in gone), *shown]
