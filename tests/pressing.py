"""Every button that a page offers, pressed as the page would press it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

from django.db import transaction
from django.http import HttpResponse
from django.test import Client

from tests.world import HTMX

VOID = {
    "input",
    "br",
    "img",
    "hr",
    "meta",
    "link",
    "source",
    "wbr",
    "use",
    "path",
    "circle",
    "rect",
}
# What a person would type.
TYPED = {"text": "Something else", "name": "Another name", "goal": "Sort the files", "title": "T"}
TYPED |= {"comment": "Shorter", "to": "1", "model": ""}


@dataclass
class Element:
    tag: str
    given: dict[str, str]
    parent: Element | None
    children: list[Element] = field(default_factory=list)

    def above(self):
        each = self
        while each is not None:
            yield each
            each = each.parent

    def below(self):
        yield self
        for child in self.children:
            yield from child.below()


class Page(HTMLParser):
    """The elements of a page, and what can be pressed on it."""

    def __init__(self, html):
        super().__init__()
        self.root = self.at = Element("page", {}, None)
        self.feed(html)
        elements = [*self.root.below()]
        self.ids = {each.given["id"]: each for each in reversed(elements) if "id" in each.given}

    def handle_starttag(self, tag, attrs):
        element = Element(tag, {name: value or "" for name, value in attrs}, self.at)
        self.at.children.append(element)
        if tag not in VOID:
            self.at = element

    def handle_startendtag(self, tag, attrs):
        self.at.children.append(Element(tag, {k: v or "" for k, v in attrs}, self.at))

    def handle_endtag(self, tag):
        for each in self.at.above():
            if each.tag == tag and each.parent is not None:
                self.at = each.parent
                return

    def presses(self):
        """Each with its address and the values that go with it."""
        actions = self.ids.get("actions")
        drawn = actions.given if actions else {}
        for element in self.root.below():
            given = element.given
            places = {each.tag for each in element.above()} & {
                "dialog",
                "template",
                "aside",
                "main",
            }
            if places & {"dialog", "template"} or not places or is_off(given, drawn):
                continue
            yield from self.of(element)

    def of(self, element):
        given = element.given
        if "hx-post" in given and can_be_sent(element):
            more = json.loads(given.get("hx-vals", "{}"))
            yield given["hx-post"], named(element) | values_of(element) | more
        if given.get("method") == "post":
            yield given["action"], values_of(element)
        for verb in ("data-edits", "data-again"):
            if verb in given:
                yield given[verb], TYPED
        if dialog := self.ids.get(given.get("data-opens")):
            for form in dialog.below():
                if "hx-post" in form.given or form.given.get("data-answer") is not None:
                    yield given.get("data-to") or form.given["hx-post"], values_of(form)
        yield from edits(element)


def is_off(given, drawn):
    """As static/js/messages.js decides it of what has the number of a turn."""
    if given.get("aria-disabled") == "true" or "disabled" in given:
        return True
    is_fixed = int(given.get("data-at", 0)) <= int(drawn.get("data-fixed", 0))
    lacks = drawn.get(f"data-no-{given.get('data-needs')}", "")
    return "data-at" in given and bool(is_fixed or "data-busy" in drawn or lacks)


def edits(element):
    """What opens an editor in its place (static/js/editor.js, subtasks.js)."""
    given, inside = element.given, [each.given for each in element.above()]
    row = next((each for each in inside if "data-key" in each and "data-state" in each), {})
    key = row.get("data-key", "")
    if "data-edit-plan" in given:
        yield "plan/edit", {**TYPED, "content": "C"}
    if given.get("id") == "add-subtask":
        yield "plan/subtasks", TYPED
    if "data-edit" in given:
        yield f"plan/subtasks/{key}/edit", TYPED
    if "data-move" in given:
        yield f"plan/subtasks/{key}/move", TYPED
    if "data-remove" in given:
        yield f"plan/subtasks/{key}/remove", {}
    if "data-comments" in given:
        yield f"plan/subtasks/{key}/comment", TYPED


def can_be_sent(element):
    """A button, or a form with one that is shown."""
    buttons = [each.given for each in element.below() if each.tag == "button"]
    return any("hidden" not in each and each.get("type") != "button" for each in buttons) or (
        element.tag != "form"
    )


def named(element):
    """The plan and version that it stands with (static/js/requests.js: nameThePlan), and the card of
    "Needs you" (needs.js)."""
    around = (each.given for each in element.above() if "data-plan-id" in each.given)
    plan = next(around, {})
    needs = [each.given["data-need"] for each in element.above() if "data-need" in each.given]
    card = {"need": needs[0]} if needs else {}
    return {"plan": plan.get("data-plan-id", ""), "version": plan.get("data-version", "")} | card


def values_of(element):
    """Of the form; what nobody has filled in yet is typed."""
    form = next((each for each in element.above() if each.tag == "form"), element)
    names = [each.given for each in form.below() if "name" in each.given]
    return {each["name"]: each.get("value") or TYPED.get(each["name"], "") for each in names}


def pressed(client: Client, address: str) -> Iterator[tuple[str, HttpResponse]]:
    """What each button of this page posts, and the answer to it alone, on what is there now."""
    page = Page(client.get(address).content.decode())
    for url, values in page.presses():
        in_drawer = named(drawer) if (drawer := page.ids.get("plan")) else {}
        full = url if url.startswith("/") else f"{address}{url}"
        with transaction.atomic():
            answer = client.post(full, {**in_drawer, **values}, headers=HTMX)
            transaction.set_rollback(True)
        yield f"{full} {values}", answer


def refusals(client: Client, *addresses: str, least: int = 1) -> list[str]:
    """The presses of these pages that are refused; that there are fewer than `least` is one too."""
    answers = [each for address in addresses for each in pressed(client, address)]
    assert len(answers) >= least, "there is something to press"
    return [
        f"{press}: {answer.status_code} {answer.content.decode()[:300]}"
        for press, answer in answers
        if answer.status_code >= 400
    ]
