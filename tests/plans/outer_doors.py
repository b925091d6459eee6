"""What each outer door says of a plan: pages, API, commands and exports, read as they are given.

Nothing of the product is imported here, so that the same is read of another version of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from html import unescape
from io import StringIO
from itertools import count

from django.core.management import call_command
from django.test import Client

WORDS = (
    *("Failed", "Waiting for you", "Waiting for your answer", "A check could not be run"),
    *("No longer true", "Budget used up", "Waiting for you to start it"),
    *("Waiting for you to approve it", "Waiting for you to go on", "Held", "Running", "Pausing"),
    *("Stopping", "Paused", "In another alternative", "Ready to start", "Stopped", "Finished"),
    *("In force", "Out of force"),
    *("Cancelled", "Replaced", "Cleared", "Abandoned", "Writing a plan", "Waits for your answer"),
)
LONGEST_FIRST = sorted(WORDS, key=len, reverse=True)
# What of a plan's need a status says; a call that asks is a need of its own.
NEEDS = {"confirm": "start"} | {
    name: name for name in ("failed", "regressed", "budget", "check", "halted")
}
TABS = ("all", "open", "done", "abandoned", "failed", "needs-me")


@dataclass(frozen=True)
class Said:
    """Of a plan at one door; None is what that door leaves out. `count` is settled/total, `need`
    the kind that Needs you has, or "none"."""

    word: str | None = None
    mark: str | None = None
    count: str | None = None
    need: str | None = None
    attention: str | None = None

    def differs(self, other: Said) -> list[str]:
        """The names of what both say, and not the same."""
        pairs = ((each.name, getattr(self, each.name), getattr(other, each.name)) for each in ALL)
        return [name for name, one, two in pairs if None not in (one, two) and one != two]


ALL = fields(Said)


@dataclass
class Home:
    """All that was read: by door and plan; marks (shape, word) by door and conversation."""

    plans: dict[str, dict[int, Said]] = field(default_factory=dict)
    marks: dict[str, dict[int, tuple[str, str]]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    tabs: dict[str, int] = field(default_factory=dict)
    rows: dict[str, set[int]] = field(default_factory=dict)  # of the list, by tab
    needs: dict[str, list[str]] = field(default_factory=dict)  # their keys
    calls: dict[int, int] = field(default_factory=dict)  # that ask: their conversation
    asks: dict[int, list[int]] = field(default_factory=dict)  # by plan: its approvals, in the API
    active: dict[int, int] = field(default_factory=dict)  # by conversation: the plan in its drawer
    asked_for: set[int] = field(default_factory=set)  # conversations in which another plan is

    def says(self, door: str, plan: int, said: Said) -> None:
        self.plans.setdefault(door, {})[plan] = said

    def differences(self) -> list[tuple[str, str, int, str, object, object]]:
        """Two doors, the plan, the field, and what each says of it; the API's word comes first."""
        found = []
        doors = list(self.plans)
        for place, one in enumerate(doors):
            for two in doors[place + 1 :]:
                for plan in self.plans[one].keys() & self.plans[two].keys():
                    a, b = self.plans[one][plan], self.plans[two][plan]
                    found += [
                        (one, two, plan, name, getattr(a, name), getattr(b, name))
                        for name in a.differs(b)
                    ]
        return found


def word_in(text: str) -> str:
    """The word that a text begins with, whatever follows it there; empty for none of them."""
    words = " ".join(text.split())
    if re.match(r"\d+ no longer true", words) or words.startswith("Finished, no longer true"):
        return "No longer true"
    if words.startswith("Undone"):  # by whom and when, of what is finished
        return "Finished"
    return next((each for each in LONGEST_FIRST if words.startswith(each)), "")


def text_of(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


def mark_in(html: str) -> tuple[str, str]:
    """Shape and name of the first mark in it; a ring is that of work, named by the words beside."""
    if ring := re.search(r'<svg class="ring".*?</svg>(.*)', html, re.DOTALL):
        return "in_progress", text_of(ring[1])
    found = re.search(r'<svg\s+class="mark[^"]*"(.*?)>', html, re.DOTALL)
    if found is None:
        return "", ""
    shape = re.search(r'data-status="(\w*)"', found[1])
    name = re.search(r'aria-label="([^"]*)"', found[1])
    assert shape and name, found[0]
    return shape[1], unescape(name[1])


def between(html: str, start: str, end: str) -> str:
    """From the element that has this in it to the next `end`; empty where there is none."""
    found = re.search(f"{start}(.*?){end}", html, re.DOTALL)
    return found[1] if found else ""


class Reader:
    """Reads everything for one person who is signed in; the commands are the home's owner's."""

    def __init__(self, client: Client, plans: Iterable[int], conversations: Iterable[int]) -> None:
        self.client, self.home = client, Home()
        self.plans, self.conversations = list(plans), list(conversations)

    def get(self, address: str) -> str:
        response = self.client.get(address)
        assert response.status_code == 200, (address, response.status_code)
        return str(response.content.decode())

    def read(self) -> Home:
        self.api()
        self.needs()
        self.needs_page()
        self.list_of_plans()
        for plan in self.plans:
            self.plan_page(plan)
            self.export(plan)
        for conversation in self.conversations:
            self.conversation(conversation)
        self.commands()
        return self.home

    # The API

    def api(self) -> None:
        for plan in self.plans:
            self.document("API, one", json.loads(self.get(f"/api/plans/{plan}")))
        for item in self.items("/api/plans?"):
            self.document("API, list", item)
        for item in self.items("/api/plans?attention=needs-me&"):
            self.home.rows.setdefault("API, needs-me", set()).add(item["id"])

    def document(self, door: str, plan: dict[str, object]) -> None:
        progress, attention = plan["progress"], str(plan["attention"])
        assert isinstance(progress, dict)
        settled = progress["done"] + progress["abandoned"]
        said = Said(
            word=str(plan["standing"]),
            count=f"{settled}/{progress['total']}",
            attention=attention,
        )
        self.home.says(door, int(str(plan["id"])), said)
        approvals = plan["approvals"]
        assert isinstance(approvals, list)
        self.home.asks[int(str(plan["id"]))] = [each["id"] for each in approvals]

    def items(self, address: str) -> Iterator[dict[str, object]]:
        seen = 0
        for number in count(1):
            page = json.loads(self.get(f"{address}page={number}"))
            yield from page["items"]
            seen += len(page["items"])
            if seen >= page["count"] or not page["items"]:
                return

    # Needs you, and what every page has of it

    def needs(self) -> None:
        home, listed = self.home, json.loads(self.get("/api/needs"))
        home.needs["API"] = [each["key"] for each in listed["items"]]
        home.counts["API, needs"] = listed["count"]
        for each in listed["items"]:
            if each["plan"] and not each["call"]:
                home.says("Needs you, API", each["plan"], Said(need=each["kind"]))
            if each["call"]:
                home.calls[each["call"]["id"]] = each["conversation"]

    def needs_page(self) -> None:
        home, page = self.home, self.get("/needs/")
        home.needs["page"] = re.findall(r'data-need="([^"]*)"', page)
        self.tab("Needs you", page)
        further = re.search(r"(\d+) more come as these are answered", page)
        home.counts["Needs you, cards"] = len(home.needs["page"]) + int(
            further[1] if further else 0
        )
        head = re.match(r"\d+", text_of(between(page, 'id="needs-head">', "</span>")))
        home.counts["Needs you, head"] = int(head[0]) if head else 0
        for card in re.findall(r'<article\s+class="card need-card".*?</article>', page, re.DOTALL):
            if plan := re.search(r'data-plan-id="(\d+)"', card):
                shape, name = mark_in(card)
                words = text_of(between(card, 'class="need-words"[^>]*>', "</p>"))
                assert name and words.startswith(name), (name, words)
                said = Said(word=word_in(words), mark=shape)
                home.says("Needs you, page", int(plan[1]), said)

    def tab(self, door: str, page: str) -> None:
        """The number in the tab's title, the keys behind it, and the entry in the list beside."""
        tag = between(page, '<div\\s+id="needs-count"', ">")
        number = re.search(r'data-count="(\d+)"', tag)
        keys = between(tag, 'data-keys="', '"').split()
        assert number, door
        assert "data-in-title" in tag
        self.home.counts[f"tab of {door}"] = int(number[1])
        self.home.needs[door] = [each for each in keys if not each.startswith(("done-", "reply-"))]
        entry = between(page, 'class="needs-number">', "<")
        self.home.counts[f"entry of {door}"] = int(entry or 0)

    # The list

    def list_of_plans(self) -> None:
        for tab in TABS:
            query = {"all": "", "needs-me": "attention=needs-me&"}.get(tab, f"state={tab}&")
            self.home.rows[tab] = set()
            for number in count(1):
                page = self.get(f"/plans/?{query}page={number}")
                rows = re.findall(r"<tr\b.*?</tr>", between(page, "<tbody>", "</tbody>"), re.DOTALL)
                for row in rows:
                    self.home.rows[tab].add(self.row(row))
                if 'rel="next"' not in page:
                    break
        self.home.tabs = {
            name: int(number)
            for name, number in re.findall(r'id="count-([\w-]+)">(\d+)<', self.get("/plans/"))
        }
        page = self.get("/plans/")
        self.tab("the list", page)
        self.sidebar("sidebar, elsewhere", page)

    def row(self, row: str) -> int:
        plan = re.search(r'href="/plans/(\d+)/', row)
        assert plan, row
        shape, name = mark_in(row)
        label = between(row, 'class="status-label"[^>]*>', "</td>")
        counted = re.search(r"(\d+/\d+)", text_of(row.partition("</a>")[2]))
        said = Said(word=word_in(text_of(label)), mark=shape, count=counted and counted[1])
        self.home.says("list", int(plan[1]), said)
        self.home.says("list, name of the mark", int(plan[1]), Said(word=word_in(name)))
        return int(plan[1])

    def sidebar(self, door: str, page: str) -> None:
        """The mark of each conversation, and what it is called."""
        found = self.home.marks.setdefault(door, {})
        for pk, row in re.findall(r'<a\s+id="conversation-(\d+)"(.*?)</a>', page, re.DOTALL):
            shape, name = mark_in(row)
            found[int(pk)] = shape, word_in(name)

    # One plan

    def plan_page(self, plan: int) -> None:
        page = between(self.get(f"/plans/{plan}/"), '<main class="drawer"', "</main>")
        head = between(page, '<div class="plan-head">', "</p>")
        shape, name = mark_in(head)
        words = text_of(between(head, "</svg>", "$"))
        self.home.says("page of the plan", plan, Said(word=word_in(words), mark=shape))
        self.home.says("page of the plan, name of the mark", plan, Said(word=word_in(name)))

    def export(self, plan: int) -> None:
        self.markdown("export of the plan", plan, self.get(f"/plans/{plan}/export.md"))

    def markdown(self, door: str, plan: int, text: str) -> None:
        """`standing. Version …`, and below it `settled of total · …`."""
        said = re.search(r"^(.+?)\. Version \d+, (?:not )?approved.*$", text, re.MULTILINE)
        assert said, text
        counted = re.search(r"^(\d+) of (\d+)\b.*\.$", text, re.MULTILINE)
        number = f"{counted[1]}/{counted[2]}" if counted else "0/0"
        self.home.says(door, plan, Said(word=said[1], count=number))

    # One conversation

    def conversation(self, pk: int) -> None:
        page = self.get(f"/c/{pk}/")
        self.tab(f"conversation {pk}", page)
        self.sidebar(f"sidebar, {pk}", page)
        own = self.home.marks.pop(f"sidebar, {pk}")
        others = self.home.marks["sidebar, elsewhere"]
        for conversation, mark in own.items():
            door = "sidebar, here" if conversation == pk else "sidebar, beside"
            self.home.marks.setdefault(door, {})[conversation] = mark
        assert own.keys() == others.keys()
        self.sidebar("sidebar, live", self.get(f"/c/{pk}/changes?after=0"))
        active = json.loads(self.get(f"/api/conversations/{pk}/plan"))
        if active:
            self.home.active[pk] = active["id"]
            self.document("API, conversation", active)
            self.drawer(pk, active["id"], page)
        for row in re.findall(r"<li\b.*?</li>", self.get(f"/c/{pk}/plans"), re.DOTALL):
            self.plan_here(row)
        exported = json.loads(self.get(f"/c/{pk}/export.json"))
        for plan in exported["plans"]:
            self.document("export of the conversation, JSON", plan)
        texts = self.get(f"/c/{pk}/export.md").split("\n---\n\n")[1:]
        for plan, text in zip(exported["plans"], texts, strict=True):
            self.markdown("export of the conversation", plan["id"], text)

    def drawer(self, conversation: int, plan: int, page: str) -> None:
        drawer = between(page, '<aside\\s+class="drawer"\\s+id="plan"', "</aside>")
        head = between(drawer, 'id="plan-head"', "</p>")
        shape, name = mark_in(head)
        words = text_of(between(head, "</svg>", "$"))
        label = between(head, 'class="status-label"\\s+data-status="', '"')
        assert label == shape, (label, shape)
        bar = between(drawer, 'role="progressbar"', ">")
        now, most = (re.search(rf'aria-value{n}="(\d+)"', bar) for n in ("now", "max"))
        counted = f"{now[1]}/{most[1]}" if now and most else None  # a document counts nothing
        said = Said(word=word_in(words), mark=shape, count=counted)
        self.home.says("drawer", plan, said)
        self.home.says("drawer, name of the mark", plan, Said(word=word_in(name)))
        toggle = between(page, '<span id="drawer-toggle"', "</button>")
        if not toggle or re.search(r'aria-label="\d+ plans, ', toggle):  # it speaks of all of them
            return
        shape, name = mark_in(toggle)
        number = between(toggle, 'class="number">', "<")
        number = None if number[:1] == "v" else number
        brief = re.split(r"settled, |Plan v\d+, ", between(toggle, 'aria-label="', '"'))[-1]
        word = word_in(unescape(brief)[:1].upper() + unescape(brief)[1:])
        if word in ("Writing a plan", "Waits for your answer") or "being written" in brief:
            self.home.asked_for.add(conversation)
            self.home.says("Plan button", plan, Said(count=number))
        else:
            self.home.says("Plan button", plan, Said(word=word, mark=shape, count=number))

    def plan_here(self, row: str) -> None:
        plan = re.search(r'href="/plans/(\d+)/"', row)
        assert plan
        shape, name = mark_in(row)
        words = text_of(between(row, '<p class="muted">', "</p>"))
        counted = re.search(r"· (\d+) of (\d+) ·", words)
        number = f"{counted[1]}/{counted[2]}" if counted else None
        said = Said(word=word_in(words), mark=shape, count=number)
        self.home.says("plans of the conversation", int(plan[1]), said)
        self.home.says("plans of the conversation, mark", int(plan[1]), Said(word=word_in(name)))

    # Commands

    def commands(self) -> None:
        row = re.compile(r"^(\d+)  (.+?)(?:  +(\d+/\d+)| {9,})", re.MULTILINE)
        for line in row.finditer(self.command("list")):
            self.home.says("command, list", int(line[1]), Said(word=line[2], count=line[3]))
        for plan in json.loads(self.command("list", "--json")):
            self.document("command, list as JSON", plan)
        for plan in self.plans:
            self.document("command, show as JSON", json.loads(self.command("show", plan, "--json")))
            shown = self.command("show", plan)
            head = re.match(r".*  \(v\d+, (?:not )?approved, (.+)\)\n", shown)
            counted = re.search(r"^  (\d+) of (\d+)", shown, re.MULTILINE)
            assert head, shown
            number = f"{counted[1]}/{counted[2]}" if counted else None
            self.home.says("command, show", plan, Said(word=head[1], count=number))
            self.markdown("command, export", plan, self.command("export", plan))

    def command(self, *words: object) -> str:
        out = StringIO()
        call_command("plan", *map(str, words), stdout=out, stderr=StringIO())
        return out.getvalue()
