"""An OpenAPI document and what its references mean."""

from __future__ import annotations

from typing import TypeGuard
from urllib.parse import unquote

from agents.errors import Invalid

Json = dict[str, object]
LONGEST_CHAIN = 20


class Document:
    """The parsed document. Only references inside it are followed."""

    def __init__(self, root: Json) -> None:
        self.root = root

    def resolved(self, value: object, place: str) -> Json:
        """The object at this place, through its references. Raises Invalid."""
        for _ in range(LONGEST_CHAIN):
            whole = mapping(value, place)
            if not is_reference(whole):
                return whole
            value = self.target(str(whole["$ref"]))
        raise Invalid(f"{place} of the document refers to itself.")

    def target(self, reference: str) -> object:
        """What a reference like `#/components/schemas/Pet` points to. Raises Invalid."""
        if not reference.startswith("#"):
            raise Invalid(
                f"The document refers to another one ({reference[:200]}); "
                "only references inside it are followed."
            )
        here: object = self.root
        for step in reference.removeprefix("#").split("/")[1:]:
            here = part(here, unquote(step).replace("~1", "/").replace("~0", "~"))
        if here is None or (reference != "#" and not reference.startswith("#/")):
            raise Invalid(f"The document refers to {reference[:200]}, which is not in it.")
        return here


def part(whole: object, step: str) -> object:
    if isinstance(whole, dict):
        return whole.get(step)
    if isinstance(whole, list) and step.isdecimal() and int(step) < len(whole):
        return whole[int(step)]
    return None


def is_reference(value: object) -> TypeGuard[Json]:
    return isinstance(value, dict) and isinstance(value.get("$ref"), str)


def mapping(value: object, place: str) -> Json:
    if not isinstance(value, dict):
        raise Invalid(f"{place} of the document is not an object.")
    return value


def sequence(value: object, place: str) -> list[object]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise Invalid(f"{place} of the document is not a list.")
    return value


def text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
