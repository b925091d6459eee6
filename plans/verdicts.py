"""Reading a reviewer's answer: a typed verdict in one of three forms, or none.

A call of the tool, a JSON object that ends the answer, or a last line `VERDICT: yes|no`. Another
verdict beside it that says otherwise leaves none. Nor is a yes believed that the material holds
word for word: whoever wrote the material could speak by an echo of it.
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
LONGEST_JSON = 20_000  # characters at the end of an answer
THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.IGNORECASE | re.DOTALL)
FENCE_END = re.compile(r"[`~\s]+\Z")
LINE = re.compile(r"[ \t*_#`]*verdict[ \t*_`]*:[ \t*_`]*(yes|no)[ \t*_`.!。]*", re.IGNORECASE)
# What says a verdict, whichever: a line that begins so and quotes nobody, or a field of JSON.
GAP = r"(?:[^\w\n]|_){0,20}"
IS = rf"(?::|(?:[=|–—-]|is\b)(?={GAP}(?:yes|no)\b))"
BEGINS = r"^(?:[^\w\n>]|[\d_])*(?:(?:my|the|final|overall)[^\w\n]+){0,2}"
SAID = re.compile(
    rf'(?:{BEGINS}verdict{GAP}?{IS}|"verdict"\s*:){GAP}([^\W_]+)', re.IGNORECASE | re.MULTILINE
)


def finding_of(reply: Reply, material: str) -> Finding:
    """Whether the reviewer said yes or no, and its reason; passed is None for anything else."""
    text = normalized(THOUGHT.sub("", reply.text), "NFKC").strip()
    calls = [typed(call.arguments) for call in reply.calls if call.name == "verdict"]
    is_whole = reply.finish_reason != "length"
    word, reason = calls[-1] if calls else at_end(text) if is_whole else ("", "")
    read = {each.lower() for each in SAID.findall(text)}
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


def holds(material: str, word: str) -> bool:
    """Whether the material says this verdict; the form itself, `yes|no`, says none."""
    gap = r"(?:\\[nrt]|[\W_]){1,200}"  # in JSON the end of a line is written out
    said = rf"verdict{gap}{re.escape(word)}(?![^\W_])(?!\s*(?:[|/]|or\b))"
    return bool(re.search(said, normalized(material, "NFKC"), re.IGNORECASE))
