"""What Ctrl K offers: what was found, commands and settings pages, in groups of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy, ngettext

from agents.config.ownership import agents_of
from agents.models import Conversation, ToolSource
from agents.words import Question, question_of
from console import finding
from console.finding import Found, FoundConversation, FoundMessage, FoundPlan
from console.language import shown_name
from console.settings_pages import pages_for
from console.snippets import Piece, marked, spans_of
from plans.needs import needs_of
from plans.search import PlanSummary
from plans.status import MARKS

NEWEST = 5
SHOWN = {"conversations": 5, "messages": 3, "plans": 3, "commands": 5}
KINDS = {
    "conversations": gettext_lazy("Conversations"),
    "messages": gettext_lazy("Messages"),
    "plans": gettext_lazy("Plans"),
}
ALL_OF_A_KIND = {
    "conversations": gettext_lazy("All {n} conversations"),
    "messages": gettext_lazy("All {n} messages"),
    "plans": gettext_lazy("All {n} plans"),
}
ALL = 100  # rows of one kind, where only that is asked for
LONGEST_QUOTED = 40


@dataclass(frozen=True)
class Row:
    """`href` is opened, `command` sent in the conversation here, `presses` is a button of the page,
    `begins` an agent to begin a chat with, `only` a kind of which all is shown."""

    title: list[Piece]
    icon: str = ""
    shape: str = ""
    word: str = ""
    where: str = ""
    snippet: list[Piece] = field(default_factory=list)
    meta: str = ""
    at: datetime | None = None
    href: str = ""
    message: int | None = None
    command: str = ""
    presses: str = ""
    begins: str = ""
    text: str = ""
    only: str = ""

    @property
    def verb(self) -> str:
        return self.command.partition(" ")[0]

    @property
    def wanted(self) -> str:
        """What follows the name of the command."""
        return self.command.partition(" ")[2]

    @property
    def fills(self) -> bool:
        """Whether it only stands in the message box then: what a model reads is sent from there."""
        return self.verb == "/plan"


@dataclass(frozen=True)
class Group:
    title: str
    rows: list[Row]
    note: str = ""


@dataclass(frozen=True)
class Results:
    groups: list[Group]
    found: int = 0
    has_more: bool = False
    nothing: str = ""

    @property
    def status(self) -> str:
        """What is said of it in the foot, to screen readers too."""
        if self.nothing:
            return gettext("Nothing found")
        if not self.found:
            return ""
        count = f"{self.found}{'+' if self.has_more else ''}"
        return ngettext("{n} result", "{n} results", self.found).format(n=count)


def results(user: User, text: str, only: str, here: Conversation | None) -> Results:
    text = " ".join(text.split())
    question = question_of(text)
    if not text:
        return Results(
            [newest(user), Group(gettext("Commands and settings"), offers(user, question, here))]
        )
    kinds: dict[str, Callable[[int], tuple[list[Row], Found[object]]]] = {
        "conversations": lambda most: conversation_rows(user, question, most),
        "messages": lambda most: message_rows(user, question, most, text),
        "plans": lambda most: plan_rows(user, question, most),
    }
    groups: list[Group] = []
    found, has_more = 0, False
    for kind, find in kinds.items():
        if only in ("", kind):
            rows, all_of_them = find(ALL if only else SHOWN[kind])
            found += len(rows)
            has_more = has_more or (bool(only) and all_of_them.count > len(rows))
            groups += group_of(kind, rows, all_of_them, bool(only))
    if not only:
        settings = matching(offers(user, question, here), question)[: SHOWN["commands"]]
        if not groups and not settings:
            return Results([instead(user, text, here)], nothing=shortened(text))
        rows = [*settings, plan_row(user, text, here)]
        groups.append(Group(gettext("Commands and settings"), rows))
        found += len(settings)
    return Results(groups, found, has_more) if groups else Results([], nothing=shortened(text))


def group_of(
    kind: str, rows: list[Row], found: Found[object], is_only_one: bool
) -> Iterator[Group]:
    """With a row that leads to all of them, where some are left out."""
    if not rows:
        return
    count = f"{found.count}{'+' * found.is_more}"
    left_out = found.is_more or found.count > len(rows)
    note = gettext("{n} of {count}").format(n=len(rows), count=count) if left_out else ""
    if left_out and not is_only_one:
        all_of_them = str(ALL_OF_A_KIND[kind]).format(n=count)
        rows = [*rows, Row([Piece(all_of_them, False)], icon="search", only=kind)]
    yield Group(str(KINDS[kind]), rows, note)


# What was found


def newest(user: User) -> Group:
    own = Conversation.objects.filter(owner=user, parent_call=None, deleted_at=None)
    rows = own.filter(archived_at=None).order_by("-updated_at", "-pk")[:NEWEST]
    found = [
        FoundConversation(
            row.pk, row.title, row.agent_id, False, row.updated_at, [Piece(row.title, False)]
        )
        for row in rows
    ]
    return Group(
        gettext("Conversations"), [conversation_row(each, names_of(user)) for each in found]
    )


def names_of(user: User) -> dict[str, str]:
    return {agent.id: shown_name(agent.file) for agent in agents_of(user)}


def conversation_rows(user: User, question: Question, most: int) -> tuple[list[Row], Found[object]]:
    found = finding.find_conversations(user.pk, question, 0, most)
    names = names_of(user)
    return [conversation_row(each, names) for each in found.items], found


def conversation_row(found: FoundConversation, names: dict[str, str]) -> Row:
    name = names.get(found.agent, found.agent)
    return Row(
        found.snippet if found.title else [Piece(gettext("New chat"), False)],
        icon="chat",
        meta=(gettext("{name} · Archived ·") if found.is_archived else "{name} ·").format(
            name=name
        ),
        at=found.updated_at,
        href=reverse("conversation", args=[found.id]),
    )


def message_rows(
    user: User, question: Question, most: int, text: str
) -> tuple[list[Row], Found[object]]:
    found = finding.find_messages(user.pk, question, 0, most)
    return [message_row(each, text) for each in found.items], found


def message_row(found: FoundMessage, text: str) -> Row:
    """It opens at the message, with what was looked for in view."""
    place = urlencode({"at": found.id, "words": text})
    return Row(
        [Piece(found.title or gettext("New chat"), False)],
        icon="user" if found.role == "user" else "agent",
        word=gettext("You") if found.role == "user" else gettext("Agent"),
        snippet=found.snippet,
        at=found.created_at,
        href=f"{reverse('conversation', args=[found.conversation])}?{place}",
        message=found.id,
    )


def plan_rows(user: User, question: Question, most: int) -> tuple[list[Row], Found[object]]:
    found = finding.find_plans(user.pk, question, 0, most)
    return [plan_found_row(each) for each in found.items], found


def plan_found_row(found: FoundPlan) -> Row:
    plan = found.summary
    return Row(
        found.title,
        shape=plan.status.mark,
        word=plan.status.mark_name,
        where=found.where,
        snippet=found.snippet,
        meta=standing_of(plan),
        href=reverse("plan", args=[plan.id]),
    )


def standing_of(plan: PlanSummary) -> str:
    if not plan.total:
        return str(plan.status.word)
    return gettext("{standing}, {settled} of {total}").format(
        standing=plan.status.word, settled=plan.settled, total=plan.total
    )


# Commands and settings


def plan_row(user: User, text: str, here: Conversation | None) -> Row:
    """Where no conversation is open it begins one, and names the agent that is asked."""
    command = f"/plan {text}".strip()
    title, agent = [Piece(command, False)], None if here else next(iter(agents_of(user)), None)
    if agent is None:
        return Row(title, icon="slash", meta=gettext("Ask for a plan"), command=command)
    meta = gettext("Ask {name} for a plan").format(name=shown_name(agent.file))
    return Row(title, icon="slash", meta=meta, begins=agent.id, text=f"/plan {text}")


def instead(user: User, text: str, here: Conversation | None) -> Group:
    """What can be done with words that are nowhere."""
    agent = next(iter(agents_of(user)), None)
    rows = [plan_row(user, text, here)]
    if agent is not None:
        words = gettext("New chat with “{text}”").format(text=shortened(text))
        title = [Piece(words, False)]
        begins = Row(title, icon="plus", meta=shown_name(agent.file), begins=agent.id, text=text)
        rows.insert(0, begins)
    return Group(gettext("Do something with it"), rows)


COMMANDS = (
    ("/plan", gettext_lazy("Ask for a plan")),
    ("/clear", gettext_lazy("Empty this view, delete nothing")),
    ("/new", gettext_lazy("Start a new conversation")),
    ("/help", gettext_lazy("Every command")),
)
# Buttons of a conversation's page.
VERBS = (
    (gettext_lazy("Rename this conversation"), "pen", "menu-rename"),
    (gettext_lazy("Pin or unpin this conversation"), "pin", "menu-pin"),
    (gettext_lazy("Archive this conversation, or put it back"), "archive", "menu-archive"),
    (gettext_lazy("Export this conversation as Markdown"), "download", "menu-export"),
    (gettext_lazy("Export this conversation as JSON"), "download", "menu-export-json"),
    (gettext_lazy("Delete this conversation"), "trash", "menu-delete"),
    (gettext_lazy("Choose the model"), "cube", "menu-model"),
    (gettext_lazy("Open or close the plan"), "runs", "drawer-toggle"),
    (gettext_lazy("Show what was cleared"), "clock", "show-cleared"),
)
# Title, what stands beside it, icon and name of the address.
PAGES = (
    (gettext_lazy("Needs you"), "", "check", "needs"),
    (gettext_lazy("Plans"), "", "runs", "plans"),
    (gettext_lazy("Archived"), gettext_lazy("Conversations"), "archive", "archive"),
)


def offers(user: User, question: Question, here: Conversation | None) -> list[Row]:
    """All that can be done and opened from here."""
    rows: list[Row] = []
    if here is None:
        rows.append(plan_row(user, "", here))
    for command, does in COMMANDS if here else ():
        rows.append(Row([Piece(command, False)], icon="slash", meta=str(does), command=command))
    agents = agents_of(user)
    rows += [
        Row(
            [Piece(gettext("New chat with {name}").format(name=shown_name(agent.file)), False)],
            icon="plus",
            begins=agent.id,
        )
        for agent in agents
    ]
    if here:
        verbs = VERBS if here.cleared_seq else VERBS[:-1]
        rows += [Row([Piece(str(does), False)], icon=icon, presses=id) for does, icon, id in verbs]
    places = list(pages(user))
    # With nothing typed, what is used most comes first: Needs you and Plans.
    rows = [*rows, *places] if question.parts else [*places[:2], *rows, *places[2:]]
    if question.parts:
        rows += settings_rows(user)
        rows += things(agents_named=((agent.id, shown_name(agent.file)) for agent in agents))
    return rows


def pages(user: User) -> Iterator[Row]:
    settings = gettext("Settings")
    in_settings = ((page.title, settings, page.icon, page.name) for page in pages_for(user))
    api = ("API", gettext("Documentation"), "file", "api-docs")
    for title, meta, icon, name in (*PAGES, *in_settings, api):
        row = Row([Piece(str(title), False)], icon=icon, meta=str(meta), href=reverse(name))
        yield waiting_row(row, user) if name == "needs" else row


def waiting_row(row: Row, user: User) -> Row:
    """Needs you with its mark and number, as in the sidebar, while anything waits."""
    count = len(needs_of(user.pk))
    if not count:
        return row
    return replace(row, shape="waiting", word=str(MARKS["waiting"]), meta=str(count))


# What is set on those pages: name of the page, what is set, id of its place there.
SETTINGS = (
    ("appearance", gettext_lazy("Theme: light, dark, or as the system has it"), "setting-theme"),
    ("appearance", gettext_lazy("Text size"), "setting-text-size"),
    ("appearance", gettext_lazy("Density: comfortable or compact"), "setting-density"),
    ("appearance", gettext_lazy("? opens the list of keys"), "appearance-keys"),
    ("appearance", gettext_lazy("Language"), "appearance-language"),
    ("notifications", gettext_lazy("Ask this browser for notifications"), "notifications-browser"),
    ("notifications", gettext_lazy("Something needs me"), "tells_needs"),
    ("notifications", gettext_lazy("A plan failed"), "tells_failed"),
    ("notifications", gettext_lazy("A plan is finished"), "tells_finished"),
    ("notifications", gettext_lazy("A reply is there"), "tells_replies"),
    ("notifications", gettext_lazy("Count in the tab"), "counts_in_title"),
    ("notifications", gettext_lazy("A short sound"), "sounds"),
    ("account", gettext_lazy("Name and password"), "account-you"),
    ("account", gettext_lazy("Make a sign-in link"), "account-link"),
    ("account", gettext_lazy("Browsers that are signed in"), "account-sessions"),
    ("account", gettext_lazy("Access tokens of programs"), "account-tokens"),
)


def settings_rows(user: User) -> Iterator[Row]:
    """What can be set, on the pages that this person has; only what is typed leads to these."""
    titles = {page.name: str(page.title) for page in pages_for(user)}
    for name, title, place in SETTINGS:
        if name in titles:
            meta = f"{gettext('Settings')}, {titles[name]}"
            href = f"{reverse(name)}#{place}"
            yield Row([Piece(str(title), False)], icon="set", meta=meta, href=href)


def things(agents_named: Iterable[tuple[str, str]]) -> Iterator[Row]:
    """Agents and services by their names; only what is typed leads to these."""
    for id, name in agents_named:
        href = f"{reverse('agents')}?agent={id}"
        yield Row([Piece(name, False)], icon="agent", meta=gettext("Settings, Agents"), href=href)
    for source in ToolSource.objects.order_by("name"):
        href = f"{reverse('tools')}?source={source.name}"
        count = len(source.tools or [])
        words = ngettext("{source}, {n} operation", "{source}, {n} operations", count)
        title = words.format(source=source.name, n=count)
        yield Row([Piece(title, False)], icon="tool", meta=gettext("Settings, Tools"), href=href)


def matching(rows: list[Row], question: Question) -> list[Row]:
    """Those in which each part of the question begins a word, with that marked."""
    wanted = [row for row in rows if has_all(words_about(row), question)]
    return [
        replace(row, title=marked("".join(piece.text for piece in row.title), question))
        for row in wanted
    ]


def words_about(row: Row) -> str:
    return f"{''.join(piece.text for piece in row.title)} {row.meta}"


def has_all(text: str, question: Question) -> bool:
    """Whether each part of the question stands there."""
    return bool(question.parts) and all(
        spans_of(text, Question((part,), ())) for part in question.parts
    )


def shortened(text: str) -> str:
    return text if len(text) <= LONGEST_QUOTED else f"{text[: LONGEST_QUOTED - 1]}…"
