"""The changes to a plan that a person asks for in words, in any of the demo's languages."""

from __future__ import annotations

import re

from agents.demo.languages import NAME_WORD, pieces
from agents.demo.script import SCRIPT, Facts, Plan, filled, reads, regex

WORDS = SCRIPT["changes"]
NUMERALS: dict[str, int] = WORDS["numerals"]  # from the end: -1 is the last
NUMERAL = re.compile("|".join([r"\d+", *sorted(NUMERALS, key=len, reverse=True)]), re.IGNORECASE)
QUOTES = " “”\"'`「」『』:："
LONGEST_WISH = 500  # characters; a clause that is longer is no change
NEW = "new "  # begins the key of a subtask that is not there yet


def expression(name: str) -> re.Pattern[str]:
    return regex(WORDS[name], "changes")


class Changes:
    """The subtasks that have not started as they are wished to be, and what leads there.

    It is told in `language`, in whichever of them the wishes are.
    """

    def __init__(self, text: str, plan: Plan, language: str) -> None:
        self.plan = plan
        self.language = language
        self.keys = [step["key"] for step in plan.steps]
        first = self.keys.index(plan.replan_from) if plan.replan_from in self.keys else 0
        self.before = [step["key"] for step in plan.steps[first:] if step["state"] == "todo"]
        self.order = [*self.before]
        self.names: dict[str, str] = {}
        self.done: list[str] = []
        self.trouble: list[str] = []
        self.unclear: list[str] = []
        text = reads("comment").sub(about_subtask, reads("replan_words").sub("", text))
        for clause in expression("clauses").split(text):
            wish = expression("courtesy").sub("", clause).strip()
            if len(wish) <= LONGEST_WISH:
                self.read(wish)

    def read(self, clause: str) -> None:
        for kind, patterns in WORDS["kinds"].items():
            for pattern in patterns:
                if found := regex(pattern, "changes").search(clause):
                    before = [*self.order], {**self.names}
                    facts = self.change(**found.groupdict(""))
                    if before != (self.order, self.names):
                        self.done.append(self.told(kind, facts))
                    return
        if len(pieces(clause)) > 2:
            self.unclear.append(self.told("unclear", {"words": clause}))

    def told(self, what: str, facts: Facts) -> str:
        return str(filled(WORDS["told"][what], {**facts, "language": self.language}))

    def change(self, which: str = "", other: str = "", name: str = "", where: str = "") -> Facts:
        """Do what the clause says; the facts for its `done`."""
        found = (self.find(which) if which else []) + (self.find(other) if other else [])
        keys = [key for _, key in found]
        name = name.strip(QUOTES)
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
        ends = {"first": 0, "last": len(others), "up": max(0, at - 1), "down": at + 1}
        places = ((side, regex(text, "changes").search(where)) for side, text in WORDS["where"])
        side, found = next((each for each in places if each[1]), ("", None))
        place = ends.get(side, at)
        target = found.groupdict().get("target") if found else None
        for other in (
            [other for _, other in self.find(target) if other != key][:1] if target else []
        ):
            place = (self.order if side == "to" else others).index(other) + (side == "after")
        self.order = [*others[:place], key, *others[place:]]

    def find(self, words: str) -> list[tuple[int, str]]:
        """Number and key of open subtasks, named by number or by words of the name."""
        if expression("numbers").fullmatch(words):
            numbers = [self.number(numeral) for numeral in NUMERAL.findall(words)]
        else:
            named = NAME_WORD.findall(expression("nouns").sub(" ", words))
            names = enumerate((step["name"].lower() for step in self.plan.steps), 1)
            wanted = [word[:5].lower() for word in named]
            numbers = [number for number, name in names if all(word in name for word in wanted)]
            numbers = numbers if named and len(numbers) == 1 else []
        open_ones = [(n, key) for n, key in enumerate(self.keys, 1) if key in self.order]
        found = [(number, key) for number, key in open_ones if number in numbers]
        if len(found) < max(1, len(numbers)):
            facts = {"words": words, "numbers": [*map(str, numbers)], "count": len(self.keys)}
            self.trouble.append(self.told("not_there", facts))
        return found

    def number(self, numeral: str) -> int:
        number = int(numeral) if numeral.isdecimal() else NUMERALS[numeral.lower()]
        return number if number >= 0 else len(self.keys) + 1 + number

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


def about_subtask(comment: re.Match[str]) -> str:
    """A comment as if it were said in the message box: “drop this” names its subtask."""
    said = comment["said"]
    for pattern, wish in WORDS["this_subtask"]:
        said = regex(pattern, "changes").sub(
            lambda found, wish=wish: filled(
                wish, {**found.groupdict(""), "number": comment["number"]}
            ),
            said,
        )
    return f"{said}\n"
