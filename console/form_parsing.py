"""What is typed on several lines of a form, read; a line that cannot be read is named by number.

Values may be secrets: no sentence repeats one.
"""

from __future__ import annotations

from collections.abc import Iterator

from agents.errors import Invalid


def lines(text: str) -> Iterator[tuple[int, str]]:
    """Each line with something on it, and its number from 1."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            yield number, line.strip()


def pairs(text: str, signs: str, what: str) -> dict[str, str]:
    """`name: value` or `name=value`, one a line, cut at the first of the signs."""
    found: dict[str, str] = {}
    for number, line in lines(text):
        places = [line.index(sign) for sign in signs if sign in line]
        if not places or not line[: min(places)].strip():
            raise Invalid(f"Line {number} of {what} is not written as name{signs[0]} value.")
        found[line[: min(places)].strip()] = line[min(places) + 1 :].strip()
    return found


def prices(text: str) -> dict[str, dict[str, float]]:
    """`model input output` on each line: US dollars per million tokens."""
    found: dict[str, dict[str, float]] = {}
    for number, line in lines(text):
        parts = line.replace("$", "").rsplit(None, 2)
        try:
            model, paid_in, paid_out = parts
            found[model] = {"input": float(paid_in), "output": float(paid_out)}
        except ValueError:
            raise Invalid(
                f"Line {number} of the prices is not written as in: gpt-4.1-mini 0.40 1.60"
            ) from None
    return found


def price_lines(known: dict[str, dict[str, float]]) -> str:
    return "\n".join(f"{m} {each['input']:g} {each['output']:g}" for m, each in known.items())
