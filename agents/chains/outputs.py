"""What a task gives out, and how a template reads it: its text by itself, its fields behind a dot.

An output is {"text", …}: `message` is the message that shows the text already, `error` what went
wrong, `facts` what is known of a call besides its data (an HTTP status, an exit code), `data` a
structured result where the text is not the same as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

Output = dict[str, object]


@dataclass(frozen=True)
class OutputView:
    """An output as templates name it."""

    output: Mapping[str, object]

    @property
    def text(self) -> str:
        return text_of(self.output)

    def find(self, name: str) -> tuple[bool, object]:
        """Whether there is such a field, and its value. Facts come first, then the data."""
        for place in self.places():
            found, value = found_in(place, name)
            if found:
                return True, value
        return False, None

    def places(self) -> Iterator[object]:
        facts, data = self.output.get("facts"), self.output.get("data")
        parsed = parsed_or_text(self.text)
        if isinstance(facts, dict):
            yield {"body": parsed if data is None else data, **facts}
        yield data
        yield parsed
        yield {"text": self.text, "output": self.text, **self.output}


def found_in(place: object, name: str) -> tuple[bool, object]:
    if isinstance(place, list) and name.isdecimal() and int(name) < len(place):
        return True, place[int(name)]
    if isinstance(place, dict) and name in place:
        return True, place[name]
    return False, None


def text_of(output: Mapping[str, object]) -> str:
    return str(output.get("text") or "")


def parsed_or_text(text: str) -> object:
    """An object or a list where the text is one in JSON, else the text."""
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value
