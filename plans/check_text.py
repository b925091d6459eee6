"""What a check says: how a subtask is known to be done. A part of its text, read before the yes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    JsonValue,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from agents.stored_text import gettext
from agents.tools.patterns import BeyondRe2, NotAPattern, compiled

Kind = Literal["file", "command", "http", "tool", "review"]
CheckJson = Mapping[str, Any]  # as it is stored: its key, its kind and the fields of that

MOST_CHECKS = 10
FIELDS: dict[str, tuple[str, ...]] = {
    "file": ("path", "exists", "absent", "contains", "matches", "unchanged"),
    "command": ("command", "exit_code", "timeout_s"),
    "http": ("url", "status", "contains"),
    "tool": ("tool", "arguments", "path", "value"),
    "review": ("question",),
}
NEEDED = {
    "file": ("path",),
    "command": ("command",),
    "http": ("url",),
    "tool": ("tool", "path", "value"),
    "review": ("question",),
}
DEFAULTS: dict[str, dict[str, object]] = {
    "command": {"exit_code": 0, "timeout_s": 60},
    "http": {"status": 200},
    "tool": {"arguments": {}},
}
FILE_FORMS = ("exists", "absent", "contains", "matches", "unchanged")
FLAGS = ("exists", "absent", "unchanged")
LONGEST_LINE, LONGEST_TEXT, LONGEST_PATTERN = 1_000, 2_000, 500
LONGEST_JSON = 4_000
DETERMINISTIC = ("file", "command", "http", "tool")
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def refused(sentence: str) -> PydanticCustomError:
    """One sentence, which pydantic is not to write anything before."""
    return PydanticCustomError("check", cast(Any, sentence))


def without_control(value: object) -> object:
    if not isinstance(value, str):
        return value
    return CONTROL.sub(" ", value.replace("\r\n", "\n").replace("\r", "\n"))


def one_line(value: object) -> object:
    return " ".join(value.split()) if isinstance(value, str) else value


Line = Annotated[
    str,
    Field(min_length=1, max_length=LONGEST_LINE),
    BeforeValidator(one_line),
    BeforeValidator(without_control),
]
Words = Annotated[
    str, Field(min_length=1, max_length=LONGEST_TEXT), BeforeValidator(without_control)
]


class Check(BaseModel):
    """One check, with the fields of its kind and no others."""

    model_config = ConfigDict(extra="forbid")

    key: str | None = None
    kind: Kind
    path: Line | None = None
    exists: bool | None = None
    absent: bool | None = None
    unchanged: bool | None = None
    contains: Words | None = None
    matches: Annotated[str, Field(min_length=1, max_length=LONGEST_PATTERN)] | None = None
    command: Words | None = None
    exit_code: Annotated[int, Field(ge=0, le=255)] | None = None
    timeout_s: Annotated[int, Field(ge=1, le=600)] | None = None
    url: Line | None = None
    status: Annotated[int, Field(ge=100, le=599)] | None = None
    tool: Annotated[Line, Field(max_length=200)] | None = None
    arguments: dict[str, JsonValue] | None = None
    value: JsonValue = None
    question: Words | None = None

    @model_validator(mode="before")
    @classmethod
    def of_its_kind(cls, given: object) -> object:
        """What models send for nothing is nothing; what belongs to another kind is refused."""
        if not isinstance(given, dict):
            raise refused(gettext("A check is an object with a kind and its fields."))
        kind = given.get("kind")
        if not isinstance(kind, str) or kind not in FIELDS:
            known = ", ".join(FIELDS)
            raise refused(gettext("The kind of a check is one of {kinds}.").format(kinds=known))
        check = {
            name: value
            for name, value in given.items()
            if name != "result"
            and value is not None
            and value != ""
            and not (value is False and name in FLAGS)
        }
        known_names = {"key", "kind", *FIELDS[kind]}
        if stray := [name for name in check if name not in known_names]:
            sentence = gettext("A check of kind {kind} has no {field}.")
            raise refused(sentence.format(kind=kind, field=str(stray[0])[:40]))
        if missing := [name for name in NEEDED[kind] if name not in check]:
            sentence = gettext("A check of kind {kind} needs its {field}.")
            raise refused(sentence.format(kind=kind, field=missing[0]))
        return {**DEFAULTS.get(kind, {}), **check}

    @model_validator(mode="after")
    def makes_sense(self) -> Check:
        if self.kind == "file":
            demand_file(self)
        if self.kind == "http" and not re.match(r"https?://[^/\s]", self.url or "", re.IGNORECASE):
            raise refused(gettext("The url of a check begins with http:// or https://."))
        for part in (self.arguments, self.value):
            if len(as_json(part)) > LONGEST_JSON:
                sentence = gettext("Arguments and value of a check have at most {most} characters.")
                raise refused(sentence.format(most=LONGEST_JSON))
        if isinstance(self.value, dict | list):
            raise refused(gettext("The value of a check is a text, a number, true or false."))
        return self

    @model_serializer
    def document(self) -> dict[str, object]:
        """Its key, if it has one, its kind and the fields of that, as far as they are given."""
        names = ("key", "kind", *FIELDS[self.kind])
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Short: it goes out with every request that may write a plan."""
        kinds = {
            **dict.fromkeys(("exists", "absent", "unchanged"), "boolean"),
            **dict.fromkeys(("exit_code", "timeout_s", "status"), "integer"),
            "arguments": "object",
        }
        names = dict.fromkeys(name for each in FIELDS.values() for name in each)
        properties: dict[str, object] = {
            name: {"type": kinds.get(name, "string")} for name in names
        }
        properties["value"] = {"description": "a text, a number, true or false"}
        return {
            "type": "object",
            "properties": {
                "key": {"type": "string"},
                "kind": {"type": "string", "enum": [*FIELDS]},
                **properties,
            },
            "required": ["kind"],
        }


def as_json(part: object) -> str:
    """As it is stored: JSON has no number that is none, and none without an end."""
    try:
        return json.dumps(part, ensure_ascii=False, allow_nan=False)
    except ValueError:
        raise refused(gettext("NaN and Infinity cannot be stored in a check.")) from None


def demand_file(check: Check) -> None:
    """A path inside the workspace, and one thing that is to be so there."""
    path = check.path or ""
    if path.startswith(("/", "~")) or ".." in path.split("/"):
        raise refused(gettext("The path of a check is relative to the workspace."))
    if sum(getattr(check, form) is not None for form in FILE_FORMS) != 1:
        forms = ", ".join(FILE_FORMS)
        raise refused(gettext("A check of a file has exactly one of {forms}.").format(forms=forms))
    if check.matches is not None:
        try:
            compiled(check.matches)
        except BeyondRe2 as beyond:
            sentence = gettext("The pattern of a check is one of RE2, which has no {part}.")
            raise refused(sentence.format(part=beyond.part)) from None
        except NotAPattern:
            raise refused(gettext("The pattern of a check is no regular expression.")) from None


def few(value: object) -> object:
    if isinstance(value, list) and len(value) > MOST_CHECKS:
        raise refused(gettext("A subtask has at most {most} checks.").format(most=MOST_CHECKS))
    return value


ABOUT = """\
How it is known to be done; at finish_subtask the system runs these, and only if all pass is it \
done. file: path and one of exists, absent, unchanged (true), contains (text), matches (regular \
expression). command: command, exit_code (0), timeout_s (60). http: url, status (200), contains. \
tool: a read-only service tool, arguments, path, value. review: a yes-or-no question. With its key \
one that is there; the list is the whole list."""

Checks = Annotated[
    list[Check],
    Field(description=ABOUT, max_length=MOST_CHECKS),
    BeforeValidator(few),
]


# As they are stored


def with_keys(wanted: Iterable[CheckJson], made: int) -> tuple[list[dict[str, Any]], int]:
    """The checks with a key each, and how many keys were ever given out.

    A key that was given out stays with its check; any other is new. None is used twice.
    """
    kept: set[str] = set()
    checks: list[dict[str, Any]] = []
    for each in wanted:
        key = str(each.get("key") or "")
        is_known = re.fullmatch(r"c[1-9]\d{0,8}", key) and int(key[1:]) <= made
        if not is_known or key in kept:
            made += 1
            key = f"c{made}"
        kept.add(key)
        checks.append({"key": key, **{name: each[name] for name in each if name != "key"}})
    return checks, made


def wording(check: CheckJson) -> str:
    """What it asks for, without its key: two of the same wording check the same."""
    return json.dumps(
        {name: value for name, value in check.items() if name != "key"},
        sort_keys=True,
        ensure_ascii=False,
    )


def weakens(before: Sequence[CheckJson], after: Sequence[CheckJson]) -> bool:
    """Whether a check is gone or another one: nobody can tell by looking that it asks as much."""
    now = {each["key"]: wording(each) for each in after}
    return any(now.get(each["key"]) != wording(each) for each in before)


def looks_at(check: CheckJson) -> str:
    """What it looks at, in the few words that every place shows beside its kind."""
    kind = check["kind"]
    if kind == "command":
        code = check.get("exit_code", 0)
        if code:
            return gettext("{command}, exits {code}").format(command=check["command"], code=code)
        return str(check["command"])
    if kind == "http":
        words = gettext("{url} is {status}").format(url=check["url"], status=check["status"])
        if "contains" in check:
            words = gettext("{url} is {status} and contains {text}").format(
                url=check["url"], status=check["status"], text=check["contains"]
            )
        return words
    if kind == "tool":
        value = check["value"]
        shown = value if isinstance(value, str) else json.dumps(value)
        return gettext("{tool} says {path} = {value}").format(
            tool=check["tool"], path=check["path"], value=shown
        )
    return str(check["question"]) if kind == "review" else looks_at_file(check)


def looks_at_file(check: CheckJson) -> str:
    path = check.get("path", "")
    if check.get("exists"):
        return gettext("{path} exists").format(path=path)
    if check.get("absent"):
        return gettext("{path} is absent").format(path=path)
    if check.get("unchanged"):
        return gettext("{path} is unchanged").format(path=path)
    if "matches" in check:
        return gettext("{path} matches {pattern}").format(path=path, pattern=check["matches"])
    if "contains" in check:
        return gettext("{path} contains {text}").format(path=path, text=check["contains"])
    return str(check["kind"])  # another version's
