"""A person's plans: the list, to find one again, and each plan's page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from hashlib import sha256
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import mark_safe
from django.utils.translation import gettext, gettext_lazy, pgettext_lazy
from django.views.decorators.http import require_GET

from agents.config.ownership import agents_of
from agents.models import Message
from console.call_images import plan_markdown
from console.check_display import as_typed
from console.components import partial, replace, replace_content
from console.form_parsing import EVENT, number
from console.htmx import is_htmx, person, unless_known
from console.language import shown_name
from console.plan_page import (
    attempts_in,
    draw,
    key_of,
    span_of,
    subtask_timings,
)
from console.plan_texts import drawn_outcomes
from console.plan_timeline import ACTORS, KINDS, page_of_lines, wanted_lines
from console.plan_versions import versions
from console.sidebar import sidebar_context
from console.status_labels import label_of_status
from plans import search
from plans.models import Attempt, Plan
from plans.queries import plans_below
from plans.search import NEEDS_ME, NEWEST, OPEN, ORDERS, Query
from plans.snapshot_reading import plan_snapshot, plan_snapshots
from plans.status import Group

PER_PAGE = 50


@dataclass(frozen=True)
class Tab:
    """One choice of the state filter, and how many plans it holds."""

    value: str
    name: str
    count: int


@require_GET
def plans(request: HttpRequest) -> HttpResponse:
    return page(request, {})


@require_GET
def plan(request: HttpRequest, pk: int) -> HttpResponse:
    """The plan's page stands beside the list it was chosen from.

    It is asked for again while the plan is open; where nothing happened there is nothing to draw.
    """
    chosen = plan_of(request, pk)
    is_part = is_htmx(request) and request.GET.get("part") == "plan"
    seq = chosen.conversation.seq  # read before all else: what is shown is never older
    if is_part and not chosen.is_live and number(request.GET.get("seen"), EVENT) == seq:
        return HttpResponse(status=204)
    works = subtask_timings(chosen)
    span = span_of(works)
    is_shortened = draw(works)
    turns = {a.turn_id: work.subtask.pk for work in works for a in work.attempts}
    below = plans_below(turns)
    nested = plan_snapshots(Plan.objects.filter(pk__in=below.values()))
    rows = {plan.id: plan for plan in nested}
    viewer = person(request).username
    context = {
        "seen": seq,
        "chosen": chosen,
        "plan": (now := plan_snapshot(chosen)),
        "parts": span.parts(now.seconds.times),
        "works": works,
        "attempts": [(work, attempts_in(work)) for work in works if work.attempts],
        # By subtask: how far the plan of the agent that works for it is.
        "subplans": {turns[turn]: rows[pk] for turn, pk in sorted(below.items())},
        "span": span,
        "gantt_key": key_of(works),
        "is_shortened": is_shortened,
        "drawn_outcomes": drawn_outcomes(now),
        "timings": {work.subtask.key: work for work in works},
        "lines": page_of_lines(chosen, viewer, wanted_lines(request.GET)),
        "kinds": KINDS,
        "actors": ACTORS,
        "versions": list(chosen.versions.order_by("-version")),
        "metadata": [(name, as_typed(value)) for name, value in chosen.metadata.items()],
        "root": chosen.conversation.top,
        "viewer": viewer,
    }
    if is_part:
        html = render_to_string("plans/_page.html", context, request)
        return HttpResponse(replace("plan-page", html))
    return page(request, context)


def page(request: HttpRequest, context: dict[str, object]) -> HttpResponse:
    context |= list_context(request)
    if not is_htmx(request):
        return render(request, "plans/list.html", context | sidebar_context(request, None))
    # The table alone, and the numbers beside the filters.
    table = mark_safe(render_to_string("plans/_table.html", context, request))
    pieces = [partial("plans-found", "innerMorph", table)]
    tabs = context["tabs"]
    assert isinstance(tabs, list)
    pieces += [replace_content(f"count-{tab.value or 'all'}", str(tab.count)) for tab in tabs]
    pieces.append(replace_content("count-needs-me", str(context["needs_me"])))
    html = "".join(pieces)
    tag = sha256(html.encode()).hexdigest()[:16]
    return unless_known(request, f'"{tag}"', lambda: html)


def list_context(request: HttpRequest) -> dict[str, object]:
    """As many queries for the list, however many plans there are."""
    wanted = read(request.GET)
    names = {agent.id: shown_name(agent.file) for agent in agents_of(person(request))}
    rows = search.search_plans(person(request).pk, wanted.wanted())
    counts = search.counts(rows)
    standings = {state: read({"state": state}).standings or tuple(Group) for state in STATES}
    count = sum(counts[name] for name in wanted.standings or tuple(Group) if name in counts)
    last = max(1, -(-count // PER_PAGE))
    start = (min(wanted.page, last) - 1) * PER_PAGE
    fitting = search.in_groups(rows, wanted.standings)
    found = search.page(fitting, wanted.sort, start, PER_PAGE)
    return {
        "filter": wanted,
        "tabs": [
            Tab(state, str(name), sum(counts[standing] for standing in standings[state]))
            for state, name in STATES.items()
        ],
        "needs_me": sum(counts[name] for name in search.NEEDS_ME),
        "agent_names": used_agents(request, names),
        "days": DAYS,
        "rows": [
            (row, names.get(row.agent, row.agent), label_of_status(row.status)) for row in found
        ],
        "count": count,
        "first": start + 1,
        "last": start + len(found),
        "heads": [
            (name, wanted.direction(name), wanted.query(sort=wanted.sorted_by(name)))
            for name in COLUMNS
        ],
        "query": wanted.query(page=wanted.page),
        "earlier": wanted.query(page=start // PER_PAGE) if start else None,
        "later": wanted.query(page=start // PER_PAGE + 2) if start + PER_PAGE < count else None,
        "nothing": wanted.nothing(names.get(wanted.agent, wanted.agent)),
    }


def used_agents(request: HttpRequest, names: dict[str, str]) -> list[tuple[str, str]]:
    """The agents that have plans, also those that were deleted since."""
    own = Plan.objects.filter(conversation__owner_id=request.user.pk, conversation__deleted_at=None)
    used = own.order_by().values_list("conversation__agent_id", flat=True).distinct()
    return sorted(((id, names.get(id, id)) for id in used), key=lambda agent: agent[1].casefold())


# One plan


def plan_of(request: HttpRequest, pk: int) -> Plan:
    """The person's own; what is someone else's does not exist."""
    rows = Plan.objects.select_related("conversation__owner")
    return get_object_or_404(
        rows, pk=pk, conversation__owner_id=request.user.pk, conversation__deleted_at=None
    )


@require_GET
def attempt(request: HttpRequest, pk: int, attempt_id: int) -> HttpResponse:
    """What was said and called in one attempt; without script it is read in the conversation."""
    chosen = plan_of(request, pk)
    attempt = get_object_or_404(Attempt, pk=attempt_id, subtask__plan=chosen)
    root = chosen.conversation.top
    if not is_htmx(request):
        return redirect(f"{reverse('conversation', args=[root])}#turn-{attempt.turn_id}")
    rows = Message.objects.filter(turn=attempt.turn_id)
    rows = rows.prefetch_related("tool_calls__file_change")
    messages = [(message, list(message.tool_calls.all())) for message in rows.order_by("seq")]
    context = {"messages": messages, "attempt": attempt, "root": root}
    html = render_to_string("plans/_attempt.html", context)
    return HttpResponse(replace_content(f"attempt-{attempt.pk}", html))


@require_GET
def version(request: HttpRequest, pk: int, n: int) -> HttpResponse:
    """What changed from the version before; of the first one its whole text."""
    chosen = plan_of(request, pk)
    if not chosen.versions.filter(version=n).exists():
        raise Http404
    if not is_htmx(request):
        return redirect("conversation", chosen.conversation.top)
    compared = versions(chosen, person(request).username, n, max(n - 1, 1))
    html = render_to_string("plans/_diff.html", {"versions": compared})
    return HttpResponse(replace_content(f"version-{n}", html))


@require_GET
def export(request: HttpRequest, pk: int) -> HttpResponse:
    """The plan as a document to keep or to send; with ?text its own text alone, to be copied."""
    if "text" in request.GET:
        return HttpResponse(plan_of(request, pk).content, "text/plain; charset=utf-8")
    site = request.build_absolute_uri("/").rstrip("/")
    text = plan_markdown(plan_of(request, pk), site)
    response = HttpResponse(text, "text/markdown; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="plan-{pk}.md"'
    return response


# What a person looks for in the list, as it stands in the address.

STATES = {
    "": gettext_lazy("All"),
    "open": pgettext_lazy("of plans", "Open"),
    "done": gettext_lazy("Finished"),
    "abandoned": gettext_lazy("Cancelled or replaced"),
    "failed": gettext_lazy("Failed"),
}
STANDINGS = {"open": OPEN, "done": ("done",), "abandoned": ("abandoned",), "failed": ("failed",)}
DAYS = {
    "": gettext_lazy("Any time"),
    "1": gettext_lazy("Last day"),
    "7": gettext_lazy("Last 7 days"),
    "30": gettext_lazy("Last 30 days"),
}
# The same as parts of the sentence for an empty list.
IN_STATE = {
    "": gettext_lazy("plans"),
    "open": gettext_lazy("open plans"),
    "done": gettext_lazy("finished plans"),
    "abandoned": gettext_lazy("cancelled or replaced plans"),
    "failed": gettext_lazy("failed plans"),
}
WITHIN = {
    "1": gettext_lazy("{plans} in the last day"),
    "7": gettext_lazy("{plans} in the last 7 days"),
    "30": gettext_lazy("{plans} in the last 30 days"),
}
# Columns that sort, and how at the first press.
COLUMNS = {"state": "", "duration": "-", "tokens": "-", "created": "-"}


@dataclass(frozen=True)
class Filter:
    state: str = ""
    attention: str = ""
    agent: str = ""
    days: str = ""
    q: str = ""
    sort: str = NEWEST
    page: int = 1

    def wanted(self) -> Query:
        since = timezone.now() - timedelta(days=int(self.days)) if self.days else None
        return Query(agent=self.agent, text=self.q, since=since, sort=self.sort)

    @property
    def standings(self) -> tuple[str, ...]:
        """Empty for all."""
        states = STANDINGS.get(self.state, ())
        if not self.attention:
            return tuple(states)
        return tuple(s for s in NEEDS_ME if s in states or not states) or ("none",)

    @property
    def is_plain(self) -> bool:
        return self == Filter(sort=self.sort, page=self.page)

    def query(self, **changes: object) -> str:
        """The address's query for this with changes; what is as usual is left out."""
        values = asdict(self) | {"page": 1} | changes
        usual = asdict(Filter())
        return urlencode({key: value for key, value in values.items() if value != usual[key]})

    def sorted_by(self, column: str) -> str:
        """The order after a press on the column's head: the other way when it is sorted so."""
        first = COLUMNS[column] + column
        if self.sort != first:
            return first
        return column if first.startswith("-") else f"-{column}"

    def direction(self, column: str) -> str:
        """As aria-sort has it; empty for a column that is not the order."""
        if self.sort.removeprefix("-") != column:
            return ""
        return "descending" if self.sort.startswith("-") else "ascending"

    def nothing(self, agent: str) -> str:
        """The sentence for an empty list."""
        if self.q.strip():
            return gettext("Nothing matches “{strip}”.").format(strip=self.q.strip())
        plans = str(IN_STATE[self.state])
        if self.attention:
            plans = gettext("{plans} that need you").format(plans=plans)
        if self.agent:
            plans = gettext("{plans} of {agent}").format(plans=plans, agent=agent)
        if self.days:
            plans = WITHIN[self.days].format(plans=plans)
        return gettext("No {plans}.").format(plans=plans)


def read(query: Mapping[str, str]) -> Filter:
    """From the address; what it cannot mean is left out."""

    def one_of(name: str, known: Mapping[str, object]) -> str:
        return query.get(name, "") if query.get(name, "") in known else ""

    page = query.get("page", "")
    sort = query.get("sort", "")
    return Filter(
        state=one_of("state", STATES),
        attention=one_of("attention", {"needs-me": True}),
        agent=query.get("agent", "")[:64],
        days=one_of("days", DAYS),
        q=query.get("q", "")[:200],
        sort=sort if sort.removeprefix("-") in ORDERS else NEWEST,
        page=max(1, int(page)) if page.isascii() and page.isdecimal() and len(page) < 7 else 1,
    )
