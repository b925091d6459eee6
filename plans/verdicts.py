"""Reading a reviewer's answer: a typed verdict in one of three forms, or none.

A call of the tool, a JSON object that ends the answer, or a last line `VERDICT: yes|no`. Another
verdict beside it that says otherwise leaves none, in whatever form. Nor is a yes believed that the
material holds word for word: whoever wrote the material could speak by an echo of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from agents.llm.reply import Reply, as_text
from agents.normalization import normalized
from agents.stored_text import gettext
from plans.check_probes import Finding, shortened

WORDS = ("yes", "no")
ANSWER_BY = "end with one last line, VERDICT: yes or VERDICT: no"
TOOL: dict[str, object] = {
    "type": "function",
    "function": {
        "name": "verdict",
        "description": "Your verdict on the question. Call it once, when you have judged.",
        "parameters": {
            "type": "object",
            "properties": {
                "verdict": {"type": "string", "enum": [*WORDS]},
                "reason": {"type": "string", "description": "at most three sentences"},
            },
            "required": ["verdict", "reason"],
        },
    },
}
CUT = ("length", "content_filter")  # an answer that ended so has no end
LONGEST_JSON = 20_000  # characters at the end of an answer
THOUGHT = re.compile(r"<think(?:ing)?>.*?(</think(?:ing)?>|\Z)", re.IGNORECASE | re.DOTALL)
TAG = re.compile(r"</?[a-z][^<>\n]*>", re.IGNORECASE)
FENCE_END = re.compile(r"[`~\s]+\Z")
LINE = re.compile(r"[ \t*_#`]*verdict[ \t*_`]*:[ \t*_`]*(yes|no)[ \t*_`.!。]*", re.IGNORECASE)
# What says a verdict, wherever it stands and whatever stands between, unless in quotation marks; a
# letter of another script may be meant for any.
NAME = r"[^\w\n]?".join(rf"(?:{letter}|[^\W\x00-\x7f])" for letter in "verdict")
BEGINS = r"""(?:^[^\w\n]*|(?<![^\W_])(?<!["'`“„«‘])|"(?=verdict"\s*:))"""
GAP, WIDE_GAP = r"(?:[^\w\n]|_){0,20}", r"(?:[^\w,.]|_){0,20}"
SAID = re.compile(
    rf"{BEGINS}({NAME})(?:{GAP}:{GAP}([^\W_]+)|{WIDE_GAP}(?:is\b{WIDE_GAP})?(yes|no)\b)",
    re.IGNORECASE | re.MULTILINE,
)
FORM = re.compile(
    r"verdict\W{1,9}yes\b\W{0,9}(?:[|/]|\bor\b)\W{0,9}(?:verdict\W{1,9})?no\b", re.IGNORECASE
)


def finding_of(reply: Reply, material: str) -> Finding:
    """Whether the reviewer said yes or no, and its reason; passed is None for anything else."""
    spoken = THOUGHT.sub(lambda found: "" if found[1] else "<think", reply.text)
    text = normalized(spoken, "NFKC").strip()
    calls = [typed(call.arguments) for call in reply.calls if call.name == "verdict"]
    is_whole = reply.finish_reason not in CUT and "<think" not in text.lower()
    word, reason = calls[-1] if calls else at_end(text) if is_whole else ("", "")
    read = said_in(text)
    word = word if calls or word in read else ""  # what has to be decoded is not said
    others = ({each for each, _ in calls} | read) - {word}
    if word == "no":  # what it has read from the material aloud takes nothing from that
        others = {each for each in others if not holds(material, each)}
    if word not in WORDS or others:
        said = gettext("The reviewer gave no verdict, yes or no: {text}")
        return Finding(None, said.format(text=shortened(reply.text or reply.refusal)))
    if word == "yes" and not calls and holds(material, word):
        sentence = gettext("The material itself says “verdict: yes”: nobody can tell whose it is.")
        return Finding(None, sentence)
    return Finding(word == "yes", shortened(reason) or word)


def typed(answer: dict[str, Any]) -> tuple[str, str]:
    word, reason = (as_text(answer.get(name)) for name in ("verdict", "reason"))
    return word.strip(" \n.!*_`").lower(), reason


def at_end(text: str) -> tuple[str, str]:
    """The verdict in which the answer ends, and its reason, which stands before a line."""
    text = FENCE_END.sub("", text)
    if text.endswith("}"):
        return json_at_end(text)
    before, _, last = text.rpartition("\n")
    found = LINE.fullmatch(last.strip())
    return (found[1].lower(), FENCE_END.sub("", before)) if found else ("", "")


def json_at_end(text: str) -> tuple[str, str]:
    """Of an object on lines of its own."""
    text = text[-LONGEST_JSON:]
    for start in re.finditer(r"^[ \t]*(?={)", text, re.MULTILINE):
        try:
            answer = json.loads(text[start.end() :], object_pairs_hook=once, strict=False)
        except (ValueError, RecursionError):
            continue
        return typed(answer)
    return "", ""


def once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Raises ValueError for a name that stands there twice, in whatever letters."""
    found = {name.lower(): value for name, value in pairs}
    if len(found) < len(pairs):
        raise ValueError("a name stands there twice")
    return found


def said_in(text: str) -> set[str]:
    """The words that are said to be a verdict; the form itself, `yes|no`, says none."""
    found = SAID.findall(FORM.sub("", TAG.sub("", text)))
    words = ((name, (any or word).lower()) for name, any, word in found)
    return {word for name, word in words if word in WORDS or re.search("[a-z]", name, re.I)}


def holds(material: str, word: str) -> bool:
    """Whether the material says this verdict."""
    gap = r"(?:\\[nrt]|[\W_]){1,200}"  # in JSON the end of a line is written out
    said = rf"verdict{gap}{re.escape(word)}(?![^\W_])"
    return bool(re.search(said, FORM.sub("", normalized(material, "NFKC")), re.IGNORECASE))
