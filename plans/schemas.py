"""What people and models may say about a plan's text, and the limits of it."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    model_validator,
)

from agents.errors import Invalid
from agents.hidden_characters import MOST_BOXES, count_boxes
from agents.stored_text import gettext, gettext_lazy
from plans.check_text import Checks

MOST_SUBTASKS = 500
LONGEST_NAME = 500
LONGEST_TITLE = 200
LONGEST_TEXT = 20_000
LONGEST_CONTENT = 200_000
LARGEST_METADATA = 64 * 1024  # bytes
LONGEST_PLAN = 400_000  # characters of all its texts: each version keeps them, each page draws them

NOTHING = gettext_lazy("A plan needs content or at least one subtask.")


def why_too_few(left: int) -> str:
    """Why no subtask goes from a list in which so many would be left; empty where one may. A plan
    may be made without subtasks; one that has some keeps one."""
    return "" if left else gettext("A plan needs at least one subtask.")


def why_too_many(count: int) -> str:
    """Why a plan is not made with so many subtasks; empty where it may."""
    if count <= MOST_SUBTASKS:
        return ""
    words = gettext("A plan has at most {most} subtasks; this one would have {count:,}.")
    return words.format(most=MOST_SUBTASKS, count=count)


def one_line(text: str) -> str:
    """A name on one line, without control characters; every script and direction is welcome."""
    visible = "".join(" " if unicodedata.category(c) == "Cc" else c for c in text)
    return " ".join(visible.split())


def plain(text: str) -> str:
    return "".join(c for c in text if c in "\n\t" or unicodedata.category(c) != "Cc").strip()


def cleaner(clean: Callable[[str], str]) -> BeforeValidator:
    """Before its length is looked at, so that a refusal speaks of the characters that count."""
    return BeforeValidator(lambda value: clean(value) if isinstance(value, str) else value)


Name = Annotated[str, Field(max_length=LONGEST_NAME), cleaner(one_line)]
Title = Annotated[str, Field(max_length=LONGEST_TITLE), cleaner(one_line)]
Text = Annotated[str, Field(max_length=LONGEST_TEXT), cleaner(plain)]
Content = Annotated[str, Field(max_length=LONGEST_CONTENT), cleaner(plain)]
# Something besides spaces and control characters; for readers of the API's document.
VISIBLE = r"[^\s\x00-\x1f\x7f-\x9f]"
# The cleaner stands last: behind it pydantic speaks of items, not of characters.
GIVEN = {"min_length": 1, "json_schema_extra": {"pattern": VISIBLE}}
GivenName = Annotated[str, Field(max_length=LONGEST_NAME, **GIVEN), cleaner(one_line)]
GivenTitle = Annotated[str, Field(max_length=LONGEST_TITLE, **GIVEN), cleaner(one_line)]


def few_enough(value: object) -> object:
    """Before they are looked at one by one."""
    if isinstance(value, list) and (why := why_too_many(len(value))):
        raise Invalid(why)
    return value


def demand_small(metadata: JsonValue) -> JsonValue:
    if len(json.dumps(metadata, ensure_ascii=False).encode()) > LARGEST_METADATA:
        raise Invalid(gettext("The metadata of a plan may have 64 kB at most."))
    return metadata


FEW = BeforeValidator(few_enough)
Metadata = Annotated[dict[str, JsonValue], AfterValidator(demand_small)]


def demand_readable(document: object) -> None:
    """Nobody can say yes to what cannot be shown whole: each character that cannot be seen is drawn
    as a box, in every text of the plan and in what was asked."""
    if sum(map(count_boxes, texts_in(document))) > MOST_BOXES:
        sentence = gettext(
            "A plan with all its subtasks and what was asked has at most {most} places with "
            "characters that cannot be seen; this one has more."
        )
        raise Invalid(sentence.format(most=MOST_BOXES))


def texts_in(document: object) -> Iterator[str]:
    if isinstance(document, str):
        yield document
    elif isinstance(document, dict | list):
        for part in document.values() if isinstance(document, dict) else document:
            yield from texts_in(part)


class Shape(BaseModel):
    model_config = ConfigDict(extra="ignore", populate_by_name=True)


class InWords(Shape):
    """What a model or a script writes: a plain string is the name of a subtask."""

    @model_validator(mode="before")
    @classmethod
    def from_string(cls, value: object) -> object:
        return {"name": value} if isinstance(value, str) else value


class SubtaskText(Shape):
    """The text of a subtask, whole; the fields of SUBTASK_FIELDS."""

    name: GivenName
    description: Text = ""
    expected_outcome: Text = ""
    checks: Checks = Field(default_factory=list)


class SubtaskTextChange(Shape):
    """Another text for some of its fields: None leaves one as it is."""

    name: GivenName | None = None
    description: Text | None = None
    expected_outcome: Text | None = None
    checks: Checks | None = None


class SubtaskDraft(SubtaskText, InWords):
    """A subtask that does not exist yet; a plain string is its name."""

    name: Name = Field(validation_alias=AliasChoices("name", "title"), min_length=1)


class PlanDraft(Shape):
    """A plan that does not exist yet."""

    title: Title = Field(validation_alias=AliasChoices("title", "name"), min_length=1)
    content: Content = Field("", validation_alias=AliasChoices("content", "description"))
    expected_outcome: Text = ""
    subtasks: Annotated[list[SubtaskDraft], FEW] = Field(default_factory=list)


class WithKey(Shape):
    key: str | None = None


class SubtaskChange(SubtaskTextChange, WithKey):
    """A change of the subtask with this key; without a key a new one, which needs a name."""


class PlanChange(Shape):
    """A person's change of a plan: None leaves a field as it is.

    `subtasks` is the whole list of those not started: in this order, missing ones are removed.
    """

    title: GivenTitle | None = None
    content: Content | None = None
    expected_outcome: Text | None = None
    metadata: Metadata | None = None
    subtasks: Sequence[SubtaskChange] | None = None


class SubtaskEdit(SubtaskChange, InWords):
    """A change of one subtask, from a form or from Python; without a key a new one."""

    name: Name | None = Field(None, validation_alias=AliasChoices("name", "title"))


class PlanEdit(PlanChange):
    """A person's change of a plan, from a form or from Python."""

    subtasks: Annotated[list[SubtaskEdit], FEW] | None = None


class SubtaskRevision(SubtaskEdit):
    """A model's word on one subtask: with a key a change or a removal, without one an addition."""

    remove: bool = False


class Revision(Shape):
    """A model's revision is a patch: what it does not mention keeps its place."""

    title: Title | None = None
    content: Content | None = None
    expected_outcome: Text | None = None
    subtasks: Annotated[list[SubtaskRevision], FEW] = Field(default_factory=list)
    explanation: Text = ""

    @property
    def answered(self) -> list[CommentAnswer]:
        """What it says about comments; only a reply to some is asked for that."""
        return []


class CommentAnswer(Shape):
    """What a model says it did about the comment on a subtask."""

    key: str
    answer: Text
