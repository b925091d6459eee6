"""What Python files say about themselves: their options, functions and exit codes."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from textwrap import fill

Sources = dict[str, str]


@dataclass(frozen=True)
class Option:
    """One argument of a command line. `default` is "" where there is none worth telling."""

    name: str
    meaning: str
    default: str = ""

    @property
    def is_flag(self) -> bool:
        return self.name.startswith("-")


def modules(sources: Sources) -> dict[str, ast.Module]:
    """The files that are Python; what cannot be parsed is not spoken of."""
    parsed = {}
    for path, text in sources.items():
        if path.endswith(".py"):
            try:
                parsed[path] = ast.parse(text)
            except SyntaxError:
                continue
    return parsed


def command(sources: Sources) -> tuple[str, list[Option]] | None:
    """The first script with a command line, and its options."""
    for path, module in modules(sources).items():
        found = [option for node in ast.walk(module) if (option := option_of(node))]
        if found:
            return path, found
    return None


def option_of(node: ast.AST) -> Option | None:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    names = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
    if node.func.attr != "add_argument" or not names:
        return None
    named = {keyword.arg: keyword.value for keyword in node.keywords}
    meaning = text_in(named.get("help"))
    if not meaning and text_in(named.get("action")) == "version":
        meaning = "print the version and stop"
    return Option(str(names[-1]), meaning, text_in(named.get("default")))


def text_in(node: ast.expr | None) -> str:
    """A text constant, also one wrapped as in Path("rules.json")."""
    if isinstance(node, ast.Call) and node.args:
        return text_in(node.args[0])
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return str(node.value) if is_text and isinstance(node, ast.Constant) else ""


def function_text(sources: Sources, name: str) -> str:
    """The docstring of a function, as running text in the third person; "" if there is none."""
    for module in modules(sources).values():
        for node in ast.walk(module):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
                return third_person(ast.get_docstring(node) or "")
    return ""


def third_person(docstring: str) -> str:
    """“Move the files and write …” is said of a function as “Moves the files and writes …”."""
    first, dot, rest = docstring.partition(".")
    verb = re.match(r"([A-Z][a-z]+)(?= )", first)
    if verb and not re.fullmatch(r"The|An?|Whether|What|How|\w+s", verb[1]):
        first = with_s(verb[1]) + first[verb.end() :]
        first = re.sub(r"(?<= and )([a-z]+)(?= (the|an?) )", lambda m: with_s(m[1]), first)
    paragraphs = [" ".join(part.split()) for part in (first + dot + rest).split("\n\n")]
    return "\n\n".join(fill(part, 95, break_on_hyphens=False) for part in paragraphs)


def with_s(verb: str) -> str:
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return f"{verb[:-1]}ies"
    return verb + ("es" if verb.endswith(("ch", "sh", "x", "o", "s")) else "s")


def exit_codes(sources: Sources) -> list[tuple[str, str]]:
    """Pairs of code and meaning, from a module's docstring that lists them."""
    for module in modules(sources).values():
        told = re.search(
            r"exit codes?:(.+?)(\n\n|\Z)", ast.get_docstring(module) or "", re.S | re.I
        )
        if told:
            text = " ".join(told[1].split()).rstrip(".")
            return re.findall(r"(\d+) (.+?)(?=,? \d+ |\Z)", text)
    return []
