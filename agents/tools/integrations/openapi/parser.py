"""Parses a document and lists its operations: a program that documents.py runs.

Its input is a Job on one line and then the document; its output is one line with what was left out,
or why the document was refused, and then one line per operation.
"""

from __future__ import annotations

import json
import re
import resource
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass

import yaml

from agents.errors import Invalid
from agents.json_size import has_more_values
from agents.tools.integrations.openapi.operations import operations_of
from agents.tools.integrations.openapi.schemas import Json

MOST_VALUES = 600_000  # JSON values of a document; those of GitHub and Stripe have about half
MOST_MEMORY = 3 * 1024**3  # bytes of addresses: GitHub's document as YAML takes half of them
MOST_SECONDS = 90  # of processor time
# Characters of all operations, which stand in the memory of whoever asked: what is referred to is
# written anew in each place.
MOST_WRITTEN = 256 * 1024**2
DEEPEST = 200


@dataclass(frozen=True)
class Job:
    """`subject` begins a sentence about the document; the others are those of operations_of."""

    subject: str
    url: str
    read_from: str
    longest: int
    is_document: bool = False

    def line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"


def main() -> None:
    with suppress(ValueError, OSError):  # not every system keeps to them
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    job = Job(**json.loads(sys.stdin.buffer.readline()))
    try:
        root = document_in(sys.stdin.buffer.read(), job.subject)
        found = operations_of(root, job.url, job.read_from, job.longest, job.is_document)
        lines = written([{"skipped": found.skipped}, *found.operations], job.subject)
    except Invalid as refusal:
        lines = [json.dumps({"refused": str(refusal)}) + "\n"]
    sys.stdout.writelines(lines)


def written(values: list[Json], subject: str) -> list[str]:
    lines: list[str] = []
    left = MOST_WRITTEN
    for value in values:
        lines.append(json.dumps(value) + "\n")
        left -= len(lines[-1])
        if left < 0:
            raise Invalid(f"{subject} describes operations that are too large with all they need.")
    return lines


def document_in(body: bytes, subject: str) -> Json:
    """A document in JSON or YAML. Raises Invalid where it is not an object."""
    if has_more_values(body, MOST_VALUES) and body.lstrip()[:1] in (b"{", b"["):
        raise too_large(subject)
    try:
        root: object = json.loads(body)
    except RecursionError:
        raise Invalid(f"{subject} is JSON that is nested too deeply.") from None
    except ValueError:
        root = yaml_in(body, subject)
    if not isinstance(root, dict):
        raise Invalid(f"{subject} is not an OpenAPI document but another value.")
    return root


def too_large(subject: str) -> Invalid:
    return Invalid(f"{subject} has more than {MOST_VALUES:,} JSON values.")


# YAML


class Loader(yaml.CSafeLoader):
    """As YAML 1.2 has it, whose values are those of JSON: `no` and 2024-01-01 are texts."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}


for tag, pattern, first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", "~nN"),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("merge", r"<<", "<"),
):
    signs = [*first, ""] if tag == "null" else list(first)
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(rf"(?:{pattern})\Z"), signs)


def whole_number(loader: Loader, node: yaml.ScalarNode) -> int:
    """YAML 1.1 reads 010 as 8."""
    return int(node.value)


Loader.add_constructor("tag:yaml.org,2002:int", whole_number)


def yaml_in(body: bytes, subject: str) -> object:
    try:
        root = yaml.load(body, Loader)
    except (yaml.YAMLError, ValueError, UnicodeError) as error:
        raise Invalid(f"{subject} is neither JSON nor YAML{place_of(error)}.") from None
    except RecursionError:
        raise Invalid(f"{subject} is YAML that is nested too deeply.") from None
    return as_json(root, [MOST_VALUES], subject)


def place_of(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    return f" (line {mark.line + 1} cannot be read)" if mark else ""


def as_json(value: object, left: list[int], subject: str, depth: int = 0) -> object:
    """With texts as keys. What is used in many places is counted in each of them: an alias that

    stands for a list of aliases may mean billions of values.
    """
    left[0] -= 1
    if left[0] < 0 or depth > DEEPEST:
        raise too_large(subject)
    if isinstance(value, dict):
        return {key_of(k): as_json(v, left, subject, depth + 1) for k, v in value.items()}
    if isinstance(value, list):
        return [as_json(each, left, subject, depth + 1) for each in value]
    return value if isinstance(value, str | int | float | None) else str(value)


def key_of(key: object) -> str:
    """`200:` is a text in JSON, and so is `null:`."""
    return key if isinstance(key, str) else json.dumps(key, default=str)


if __name__ == "__main__":
    main()
