"""What a person wants changed in a plan, as far as a few patterns can tell."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from agents.demo.heard import Json, Step

VERBS = r"(?:drop|remove|skip|delete|leave|omit|rename|reword|call|change|add|insert|swap|move|put)"
CLAUSES = re.compile(
    rf"[.;!](?:\s+|$)|\n+|,?\s+(?:and|then|but|also)\s+(?={VERBS}\b)|,\s*(?={VERBS}\b)", re.I
)
STEP = r"(?:(?:the )?(?:sub-?tasks?|steps?|items?|number|no\.?|#) ?)?#?s?(\d+)\b"
MORE = re.compile(r"\d+")
ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7,
}  # fmt: skip
ORDINAL = re.compile(
    rf"\b(?:the )?({'|'.join(ORDINALS)}|last|final) (?:sub-?task|step|one|item)\b", re.I
)


@dataclass
class Wish:
    """The open steps as they are wished to be, and what was done to get there."""

    steps: list[Step]
    order: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    trouble: list[str] = field(default_factory=list)
    unclear: list[str] = field(default_factory=list)

    @property
    def open_keys(self) -> list[str]:
        return [step.key for step in self.steps if step.state == "todo"]

    def step(self, number: str) -> str | None:
        """The key of an open step by its place; None, with a word of why, where there is none."""
        place = int(number)
        if not 1 <= place <= len(self.steps):
            self.trouble.append(f"There is no step {place}; the plan has {len(self.steps)}.")
            return None
        step = self.steps[place - 1]
        if step.key not in self.order:
            self.trouble.append(f"Step {place} has started or is gone, so it stays as it is.")
            return None
        return step.key

    def subtasks(self) -> list[Json]:
        """For revise_current_plan: removals, then the changed ones, all of them if they moved."""
        kept = [key for key in self.open_keys if key not in self.gone]
        moved = [key for key in self.order if key in kept] != kept
        placed = any(key not in kept for key in self.order[:-1])
        shown = [
            entry(key, self.names, key in kept)
            for key in self.order
            if moved or placed or key in self.names
        ]
        return [{"key": key, "remove": True} for key in self.gone] + shown


def entry(key: str, names: dict[str, str], is_known: bool) -> Json:
    named: Json = {"name": names[key]} if key in names else {}
    return {"key": key, **named} if is_known else named


def understood(text: str, steps: list[Step]) -> Wish:
    wish = Wish(steps)
    wish.order = wish.open_keys
    for clause in CLAUSES.split(with_numbers(text, len(steps))):
        clause = re.sub(
            r"^\s*(ok(ay)?|yes|please|but|and|then|,|\s)+\b", "", clause or "", flags=re.I
        )
        for pattern, act in ACTS:
            if match := pattern.search(clause.strip()):
                act(wish, match)
                break
        else:
            if len(clause.split()) > 2:
                wish.unclear.append(f"I did not understand “{clause.strip()}”.")
    return wish


def with_numbers(text: str, count: int) -> str:
    """“the second step” as “step 2”, “the last step” as the number of the last."""
    return ORDINAL.sub(lambda m: f"step {ORDINALS.get(m[1].lower(), count)}", text)


def drop(wish: Wish, match: re.Match[str]) -> None:
    for number in MORE.findall(match[1]):
        if key := wish.step(number):
            wish.order.remove(key)
            wish.gone.append(key)
            wish.done.append(f"dropped step {number}")


def drop_named(wish: Wish, match: re.Match[str]) -> None:
    words = {word[:5] for word in re.findall(r"\w{4,}", match[1].lower())}
    found = [
        n for n, s in enumerate(wish.steps, 1) if words and all(w in s.name.lower() for w in words)
    ]
    if len(found) == 1 and (key := wish.step(str(found[0]))):
        wish.order.remove(key)
        wish.gone.append(key)
        wish.done.append(f"dropped step {found[0]}")
    elif len(found) != 1:
        wish.trouble.append(f"I do not know which step “{match[1]}” is; name it by its number.")


def rename(wish: Wish, match: re.Match[str]) -> None:
    name = unquoted(match[2])
    if name and (key := wish.step(match[1])):
        wish.names[key] = name
        wish.done.append(f"renamed step {match[1]} to “{name}”")


def add(wish: Wish, match: re.Match[str]) -> None:
    where = re.search(rf"[,\s]+(after|before) {STEP}\s*$", match[1], re.I)
    end = re.sub(r"[,\s]+(at|to) the end\s*$", "", match[1], flags=re.I)
    name = unquoted(match[1][: where.start()] if where else end)
    if not name:
        return
    place = len(wish.order)
    if where and (key := wish.step(where[2])):
        place = wish.order.index(key) + (where[1].lower() == "after")
    new = f"new {len(wish.names)}"
    wish.order.insert(place, new)
    wish.names[new] = name
    wish.done.append(f"added “{name}”")


def swap(wish: Wish, match: re.Match[str]) -> None:
    one, other = wish.step(match[1]), wish.step(match[2])
    if one and other:
        i, j = wish.order.index(one), wish.order.index(other)
        wish.order[i], wish.order[j] = other, one
        wish.done.append(f"swapped steps {match[1]} and {match[2]}")


def move(wish: Wish, match: re.Match[str]) -> None:
    key = wish.step(match[1])
    if key is None:
        return
    before = wish.order.index(key)
    place = place_of(wish, match[2].lower(), key)
    if place is None:
        return
    wish.order.remove(key)
    wish.order.insert(place, key)
    if wish.order.index(key) != before:
        wish.done.append(f"moved step {match[1]}")


def place_of(wish: Wish, where: str, key: str) -> int | None:
    """The place among the others that “to the top”, “up”, “after step 4” or “to 2” means."""
    others = [other for other in wish.order if other != key]
    at = wish.order.index(key)
    simple = {"top": 0, "start": 0, "beginning": 0, "end": len(others), "bottom": len(others)}
    simple |= {"up": max(0, at - 1), "down": min(len(others), at + 1)}
    for word, place in simple.items():
        if re.search(rf"\b{word}\b", where):
            return place
    number = MORE.search(where)
    target = wish.step(number[0]) if number else None
    if target is None or target == key:
        return None
    if "before" in where:
        return others.index(target)
    return others.index(target) + 1 if "after" in where else wish.order.index(target)


def unquoted(text: str) -> str:
    bare = text.strip().strip("“”\"'`:").strip()
    return bare[:1].upper() + bare[1:]


Act = Callable[[Wish, "re.Match[str]"], None]
RENAME = r"(?:rename|reword|call|change)"
DROP = r"(?:drop|remove|skip|delete|leave out|omit)"
ACTS: list[tuple[re.Pattern[str], Act]] = [
    (re.compile(rf"^{DROP} ({STEP}(?:(?:,| and|,? &)+ ?{STEP})*)", re.I), drop),
    (re.compile(rf"^{RENAME} {STEP} ?(?:to|into|as|:)?\s+(.+)$", re.I), rename),
    (re.compile(rf"^swap {STEP} (?:and|with|for) {STEP}", re.I), swap),
    (re.compile(rf"^(?:move|put) {STEP} (.+)$", re.I), move),
    (
        re.compile(
            r"^(?:add|insert) (?:(?:a|another|one more) )?(?:new |further )?(?:sub-?task|step)\s*"
            r"(?:(?:to|that|which|for|called|named|:)\s*)*(.+)$",
            re.I,
        ),
        add,
    ),
    (re.compile(rf"^{DROP} (?:the )?(.+?)(?: (?:sub-?task|step|part))?$", re.I), drop_named),
]  # fmt: skip
