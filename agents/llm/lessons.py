"""What servers refused of requests to a model, and what it is sent instead: kept in the database.

So every process knows it, a restart forgets nothing, and one request finds it out for all. It is
kept by provider, address and model for a week, since servers change; whoever edits the provider
begins anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.db.models import QuerySet
from django.utils import timezone

from agents.errors import NotFound
from agents.models import ModelLesson
from agents.statements import prepared
from agents.stored_text import gettext, gettext_lazy

if TYPE_CHECKING:
    from agents.llm.request import Endpoint

KEPT_FOR = timedelta(days=7)
MOST_KEPT = 1000  # of all models; who was found out longest ago is forgotten
LONGEST = 200  # characters of a model's or a parameter's name

Row = tuple[str, str]  # kind and value: the name of a field below, and what is in it

# What is done differently, and what the server refused; `value` is that of the row.
SENTENCES = {
    "without": gettext_lazy("Leaves out {value}: the server refused it"),
    "bare": gettext_lazy("Does not give back {value}: the server refused it"),
    "renames_max_tokens": gettext_lazy(
        "Sends max_tokens as max_completion_tokens: the server refused it"
    ),
    "most_output": gettext_lazy(
        "Asks for at most {value} tokens of output: the server refused more"
    ),
    "wants_reasoning": gettext_lazy(
        "Fills in missing reasoning: the server refused replies without it"
    ),
    "wants_signatures": gettext_lazy(
        "Fills in missing signatures: the server refused calls without them"
    ),
    "calls_without_effort": gettext_lazy(
        "Turns reasoning off where tools are offered: the server refused both together, and takes "
        "them by the protocol OpenAI Responses"
    ),
    "simplifies_schemas": gettext_lazy(
        "Describes tools with simpler schemas: the server refused one"
    ),
    "folds_system": gettext_lazy("Puts system messages first: the server refused them elsewhere"),
    "answers_results": gettext_lazy(
        "Puts a word of the model behind results of tools: the server refused a person's words or "
        "images there"
    ),
    "is_blind": gettext_lazy("Leaves out images: the server refused them"),
}


@dataclass(frozen=True)
class Lessons:
    """`without` are parameters, `bare` keys of messages that are left out.

    What begins with `drops_` is for what this request holds, and not kept: the fault is in an
    image or in old thinking, and the next conversation may have none.
    """

    without: frozenset[str] = frozenset()
    bare: frozenset[str] = frozenset()
    renames_max_tokens: bool = False
    most_output: int | None = None
    wants_reasoning: bool = False
    wants_signatures: bool = False
    calls_without_effort: bool = False
    simplifies_schemas: bool = False
    folds_system: bool = False
    answers_results: bool = False
    is_blind: bool = False  # images are left out
    drops_images: bool = False
    drops_thinking: bool = False

    @property
    def rows(self) -> set[Row]:
        """As they are kept: one for each thing that was refused."""
        rows: set[Row] = set()
        for name in SENTENCES:
            value = getattr(self, name)
            if isinstance(value, frozenset):
                rows |= {(name, each) for each in value}
            elif value:
                rows.add((name, "" if value is True else str(value)))
        return rows


NOTHING_LEARNT = Lessons()


def lessons_in(rows: Iterable[Row]) -> Lessons:
    values: dict[str, Any] = {}
    for kind, value in rows:
        if kind in ("without", "bare"):
            values[kind] = values.get(kind, frozenset()) | {value}
        elif kind == "most_output":
            values[kind] = min(int(value), values.get(kind, int(value)))
        elif kind in SENTENCES:
            values[kind] = True
    return Lessons(**values)


@prepared
def kept(provider: str, address: str, model: str, since: datetime) -> QuerySet[ModelLesson, Row]:
    rows = ModelLesson.objects.filter(provider=provider, address=address, model=model)
    return rows.filter(learnt_at__gt=since).values_list("kind", "value")


def lessons_for(endpoint: Endpoint, model: str) -> Lessons:
    where = {"provider": endpoint.provider, "address": endpoint.base_url, "model": model}
    return lessons_in(kept.rows(**where, since=timezone.now() - KEPT_FOR))


def remember(endpoint: Endpoint, model: str, learnt: Mapping[Row, str]) -> None:
    """Once a request that heeds them was accepted; with the server's words for each."""
    for (kind, value), words in learnt.items():
        if max(len(model), len(value)) > LONGEST or len(endpoint.base_url) > 5 * LONGEST:
            continue
        ModelLesson.objects.update_or_create(
            provider=endpoint.provider,
            address=endpoint.base_url,
            model=model,
            kind=kind,
            value=value,
            defaults={"words": words, "learnt_at": timezone.now()},
        )
    ModelLesson.objects.filter(learnt_at__lte=timezone.now() - KEPT_FOR).delete()
    newest = ModelLesson.objects.order_by("-learnt_at", "-pk").values_list("pk", flat=True)
    if too_many := list(newest[MOST_KEPT : 2 * MOST_KEPT]):
        ModelLesson.objects.filter(pk__in=too_many).delete()


# What people see of it, and can undo.


@dataclass(frozen=True)
class Lesson:
    """One of them, in words; `words` are the server's own."""

    id: int
    model: str
    sentence: str
    words: str
    learnt_at: datetime

    @property
    def expires_at(self) -> datetime:
        return self.learnt_at + KEPT_FOR


def lessons_about(endpoint: Endpoint) -> list[Lesson]:
    """All that hold now for the models of a provider, by model."""
    rows = ModelLesson.objects.filter(provider=endpoint.provider, address=endpoint.base_url)
    rows = rows.filter(learnt_at__gt=timezone.now() - KEPT_FOR)
    return [
        Lesson(row.pk, row.model, sentence(row.kind, row.value), row.words, row.learnt_at)
        for row in rows.order_by("model", "kind", "value")
    ]


def sentence(kind: str, value: str) -> str:
    if kind == "most_output":
        value = f"{int(value):,}"
    known = SENTENCES.get(kind)
    return known.format(value=value) if known else kind


def forget_lesson(provider: str, lesson: int) -> None:
    """The model is asked again as any other is."""
    if not ModelLesson.objects.filter(provider=provider, pk=lesson).delete()[0]:
        raise NotFound(gettext("That is forgotten already."))


def forget_lessons(provider: str) -> None:
    ModelLesson.objects.filter(provider=provider).delete()
