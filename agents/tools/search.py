"""Large offers: what of many operations a model is offered at once, and a search for the others.

Requests stay small and what every server takes: a service is offered whole or not at all, and of
one that is left out the model finds the operations it needs by their words. The order never depends
on anything but the query and the operations.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache

from pydantic import BaseModel, Field

from agents.tools.base import BETWEEN, SEARCH_TOOLS, Tool, ToolResult, typed_tool

# OpenAI refuses a request with more than 128 tools; 28 are for those that are built in:
# https://platform.openai.com/docs/api-reference/chat/create#chat-create-tools
MOST_OFFERED = 100
SHARE = 5  # of the context window: one token in so many
MOST_FOUND = 8
LONGEST_LINE = 160
NAME_WEIGHT = 3  # a word of the name counts as much as so many of the description

WORD = re.compile(r"[a-z0-9]+|[^\W\d_a-z]+")
HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True)
class Selection:
    """`offered` at once, and `left_out`, which a search unlocks."""

    offered: list[Tool]
    left_out: list[Tool]


def select(operations: list[Tool], named: Collection[str], window: int) -> Selection:
    """What fits into MOST_OFFERED and into the window's share for operations.

    All of it if that fits. Else those that the agent's file names, then whole services, the
    smallest first, in half of the room that is left: the rest is for what is found. It does not
    depend on the moment of a turn, so that requests begin alike.
    """
    count, tokens = MOST_OFFERED, window // SHARE
    if len(operations) <= count and tokens_of(operations) <= tokens:
        return Selection(operations, [])
    chosen = within([tool for tool in operations if tool.name in named], count, tokens)
    count, tokens = (count - len(chosen)) // 2, (tokens - tokens_of(chosen)) // 2
    names = {tool.name for tool in chosen}
    for tools in sorted(by_service(operations).values(), key=len):
        rest = [tool for tool in tools if tool.name not in names]
        if len(rest) <= count and tokens_of(rest) <= tokens:
            names |= {tool.name for tool in rest}
            count, tokens = count - len(rest), tokens - tokens_of(rest)
    offered = [tool for tool in operations if tool.name in names]
    return Selection(offered, [tool for tool in operations if tool.name not in names])


def newest_found(selection: Selection, unlocked: list[Tool], window: int) -> list[Tool]:
    """What still fits beside the offer: the newest, in the order in which they were found."""
    count = MOST_OFFERED - len(selection.offered)
    tokens = window // SHARE - tokens_of(selection.offered)
    return [*reversed(within([*reversed(unlocked)], count, tokens, at_least=1))]


def within(tools: list[Tool], count: int, tokens: int, at_least: int = 0) -> list[Tool]:
    """The first of them, as far as they fit."""
    taken: list[Tool] = []
    for tool in tools:
        count, tokens = count - 1, tokens - tool.tokens
        if (count < 0 or tokens < 0) and len(taken) >= at_least:
            break
        taken.append(tool)
    return taken


def tokens_of(tools: Iterable[Tool]) -> int:
    return sum(tool.tokens for tool in tools)


def by_service(operations: Iterable[Tool]) -> dict[str, list[Tool]]:
    found: dict[str, list[Tool]] = defaultdict(list)
    for tool in operations:
        found[service_of(tool)].append(tool)
    return found


def service_of(tool: Tool) -> str:
    return tool.name.partition(BETWEEN)[0]


# The tool


class Search(BaseModel):
    """Find tools that are not listed, by words that say what they are to do, and unlock them."""

    query: str = Field(max_length=500, description='Such as "list issues of a repository".')


def search_tool(operations: list[Tool], left_out: list[Tool]) -> Tool:
    """`search_tools`: the best matches among the operations can be called from then on."""
    counts = [f"{name} ({len(tools):,})" for name, tools in by_service(left_out).items()]
    locked = {tool.name for tool in left_out}

    async def run(args: Search) -> ToolResult:
        found = best(args.query, operations)
        if not found:
            text = (
                f"No tool is about that. There are those of {', '.join(counts)}; use other words."
            )
            return ToolResult(text)
        lines = [f"{tool.name}: {first_line(tool.description)}" for tool in found]
        unlocks = tuple(tool.name for tool in found if tool.name in locked)
        return ToolResult("You can call these now:\n" + "\n".join(lines), unlocks=unlocks)

    tool = typed_tool(SEARCH_TOOLS, Search, run, read_only=True)
    described = f"{tool.description}\n\nServices with such tools: {', '.join(counts)}."
    return Tool(tool.name, described, tool.parameters, tool.run, read_only=True)


def first_line(text: str) -> str:
    line = (text.strip().splitlines() or [""])[0]
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"


def best(query: str, operations: list[Tool]) -> list[Tool]:
    """The operations that share most with the query, rare words counting more; at most MOST_FOUND.

    Of equals the earlier one goes first. A name that is written out is found whatever else is said.
    """
    wanted = dict.fromkeys(words_in(query))
    entries = [(tool, words_of(tool.name, tool.description)) for tool in operations]
    holders = Counter(word for _, words in entries for word in wanted if word in words)
    rarity = {word: math.log(1 + len(entries) / count) for word, count in holders.items()}
    written_out = set(query.split())
    scores: list[tuple[float, int]] = []
    for place, (tool, words) in enumerate(entries):
        score = sum(weight * words[word] for word, weight in rarity.items() if word in words)
        if tool.name in written_out or tool.name.partition(BETWEEN)[2] in written_out:
            score += 1_000
        if score:
            scores.append((-score, place))
    scores.sort()
    return [operations[place] for _, place in scores[:MOST_FOUND]]


@lru_cache(maxsize=10_000)
def words_of(name: str, description: str) -> dict[str, float]:
    """What each word counts for: in the name most, at the end of a long description least."""
    named, told = words_in(name), words_in(description)
    weights = {word: 1 / (1 + math.log(1 + place)) for place, word in reversed([*enumerate(told)])}
    for word in named:
        weights[word] = weights.get(word, 0.0) + NAME_WEIGHT / math.log(2 + len(named))
    return weights


def words_in(text: str) -> list[str]:
    """Small letters, without the ending of plurals: `listIssues` is list, issue."""
    return [stem(word) for word in WORD.findall(HUMP.sub(" ", text).lower())]


def stem(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
