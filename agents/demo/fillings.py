"""Text for an empty section, taken from what the workspace's other files say.

Nothing is made up: each recipe gives a text only when the files hold the facts for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from posixpath import dirname, relpath

from agents.demo import source
from agents.demo.pages import Pages, Section, has_anchor, sections, slug, without_code

STOP_WORDS = {"the", "and", "for", "with", "how", "what", "your", "this", "that", "run", "use"}
SENTENCE = re.compile(r"(?<=[.!])\s+(?=[A-Z`])")
PROSE = re.compile(r"^(?![#|>\s*-]|\d+\.).+", re.MULTILINE)


def filling(page: str, section: Section, texts: Pages) -> str | None:
    """What belongs under the heading, without a line end; None when no file tells."""
    for recipe in RECIPES:
        if text := recipe(page, section, texts):
            return text.strip()
    return None


def of_function(page: str, section: Section, texts: Pages) -> str:
    called = re.match(r"(?:class )?([A-Za-z_]\w*)(?=\(|$)", section.title)
    return source.function_text(texts, called[1]) if called else ""


def of_exit_codes(page: str, section: Section, texts: Pages) -> str:
    codes = (
        source.exit_codes(texts) if re.search(r"exit (code|status)", section.title, re.I) else []
    )
    return table(["code", "meaning"], [list(code) for code in codes]) if codes else ""


def of_usage(page: str, section: Section, texts: Pages) -> str:
    found = source.command(texts)
    if not found or not re.search(r"usage|option|command", section.title, re.I):
        return ""
    script, options = found
    places = " ".join(option.name.upper() for option in options if not option.is_flag)
    rows = [
        [f"`{option.name if option.is_flag else option.name.upper()}`", meaning_of(option)]
        for option in options
        if option.meaning
    ]
    line = f"```\npython3 {script} {places} [options]\n```"
    return f"{line}\n\n{table(['argument', 'meaning'], rows)}"


def meaning_of(option: source.Option) -> str:
    return option.meaning + (f"; `{option.default}` if not given" if option.default else "")


def of_undo(page: str, section: Section, texts: Pages) -> str:
    """How to take a run back, where the command has an option for it and keeps a journal."""
    found = source.command(texts)
    if not found or "undo" not in section.title.lower():
        return ""
    script, options = found
    if not any(option.name == "--undo" for option in options):
        return ""
    folder = re.search(rf"{re.escape(script)} (\S+)", texts.get(page, ""))
    place = folder[1] if folder else "FOLDER"
    does = "This takes the last run back."
    if facts(texts, r"files of the last run back"):
        does = "This moves the files of the last run back."
    if facts(texts, r"the next run replaces it"):
        journal = linked("the journal", page, "The journal", texts)
        does += f" Each run replaces {journal},\nso only the last run can be taken back."
    return f"```\npython3 {script} {place} --undo\n```\n\n{does}"


def of_clashes(page: str, section: Section, texts: Pages) -> str:
    """What happens to a file whose name is taken, where the source says `name clash`."""
    known = facts(texts, r'"name clash"', r"return 1 if any\(")
    if "clash" not in section.title.lower() or not known:
        return ""
    return (
        "When a file of that name is already where a rule wants to put one, the file stays where\n"
        "it is and nothing is overwritten. The run prints `name clash` for it and ends with exit\n"
        "code 1."
    )


def of_sentences(page: str, section: Section, texts: Pages) -> str:
    """What other pages say about the heading's words, with a link to where they say it."""
    words = {word[:5] for word in re.findall(r"[a-z]{4,}", section.title.lower())} - STOP_WORDS
    for other, text in texts.items():
        if not other.endswith(".md") or other == page or not words:
            continue
        for place in sections(text):
            told = [
                one for one in sentences(place.body) if all(word in one.lower() for word in words)
            ]
            if told:
                link = linked(place.title, page, place.title, {other: text})
                return f"{' '.join(told[:2])}\nMore is in {link}."
    return ""


def sentences(text: str) -> list[str]:
    prose = " ".join(" ".join(PROSE.findall(without_code(text))).split())
    whole = " ".join(" ".join(PROSE.findall(text)).split())
    # Sentences with links or code are not quoted: they could lead elsewhere from another page.
    return [one for one in SENTENCE.split(whole) if one in prose and "](" not in one]


RECIPES: tuple[Callable[[str, Section, Pages], str], ...] = (
    of_function,
    of_exit_codes,
    of_usage,
    of_undo,
    of_clashes,
    of_sentences,
)


def facts(texts: Pages, *patterns: str) -> bool:
    every = "\n".join(texts.values())
    return all(re.search(pattern, every, re.IGNORECASE) for pattern in patterns)


def linked(words: str, page: str, title: str, texts: Pages) -> str:
    """The words as a link to the section of that title, or just the words where there is none."""
    for other, text in texts.items():
        if other.endswith(".md") and has_anchor(text, slug(title)):
            path = "" if other == page else relpath(other, dirname(page) or ".")
            return f"[{words}]({path}#{slug(title)})"
    return words


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
