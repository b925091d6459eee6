"""Values of agent.json as a form shows and takes them."""

from __future__ import annotations

import re

from django.utils.translation import gettext
from pydantic import JsonValue

from agents.errors import Invalid
from console.form_parsing import OF_FIELD, lines, pairs

NUMBER = re.compile(r"-?(\d{1,15}|\d{1,3}(,\d{3}){1,4})(\.\d{1,9})?")
ESCAPED = re.compile(r"\\[\\n]")
UNESCAPED = {"\\\\": "\\", "\\n": "\n"}


def show(value: JsonValue) -> str:
    """As a field shows it: nothing for null, thousands apart."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def one_line(text: str) -> JsonValue:
    return text.strip()


def whole_text(text: str) -> JsonValue:
    """As typed; browsers send other line ends."""
    return text.replace("\r\n", "\n")


def numeric(text: str) -> float | None:
    """A number with or without marks between its thousands; None for an empty field."""
    if not text.strip():
        return None
    if not NUMBER.fullmatch(text.strip()):
        raise Invalid(gettext("This has to be a number, such as 12 or 0.5."))
    number = float(text.replace(",", ""))
    return int(number) if number.is_integer() else number


def needed(text: str) -> JsonValue:
    number = numeric(text)
    if number is None:
        raise Invalid(gettext("This has to be a number."))
    return number


def minutes(text: str) -> JsonValue:
    number = numeric(text)
    if number is None:
        return None
    seconds = round(number * 60, 3)
    return int(seconds) if seconds == int(seconds) else seconds


def minutes_needed(text: str) -> JsonValue:
    needed(text)
    return minutes(text)


def show_minutes(value: JsonValue) -> str:
    return show(round(value / 60, 3)) if isinstance(value, int | float) else ""


def listed(text: str) -> JsonValue:
    return [line for _, line in lines(text)]


def show_list(value: JsonValue) -> str:
    return "\n".join(map(str, value)) if isinstance(value, list) else ""


def named(text: str) -> JsonValue:
    """name = text, one a line; a line break within a text is written \\n."""
    found = pairs(text, "=", str(OF_FIELD))
    return {name: ESCAPED.sub(lambda e: UNESCAPED[e[0]], each) for name, each in found.items()}


def show_named(value: JsonValue) -> str:
    if not isinstance(value, dict):
        return ""
    texts = {name: str(each).replace("\\", "\\\\") for name, each in value.items()}
    return "\n".join(f"{name} = {text}".replace("\n", "\\n") for name, text in texts.items())
