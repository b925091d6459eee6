"""The script as data: its conditions, templates and expressions. script.toml explains them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from django.template import Context, Engine
from django.template.base import VariableNode

Facts = Mapping[str, object]
SCRIPT: dict[str, Any] = tomllib.loads(Path(__file__).with_name("script.toml").read_text("utf-8"))
ENGINE = Engine(loaders=[("django.template.loaders.locmem.Loader", SCRIPT["templates"])])
template = cache(ENGINE.from_string)


class Wording(str):
    """What somebody wrote; `says` tells which of the script's words are in it."""

    @cached_property
    def says(self) -> dict[str, bool]:
        return {k: bool(regex(text, "words").search(self)) for k, text in SCRIPT["words"].items()}


@cache
def regex(text: str, table: str) -> re.Pattern[str]:
    """An expression in which `{{ name }}` stands for another one of that table of the script."""
    return re.compile(filled(text, SCRIPT[table]), re.IGNORECASE | re.MULTILINE)


def reads(name: str) -> re.Pattern[str]:
    return regex(SCRIPT["reads"][name], "reads")


def filled(text: str, facts: Facts) -> Any:
    """The template with its facts; a variable that is all of it keeps its type."""
    made, context = template(text), Context(facts, autoescape=False)
    if len(made.nodelist) == 1 and isinstance(made.nodelist[0], VariableNode):
        return made.nodelist[0].filter_expression.resolve(context, ignore_failures=True)
    return made.render(context)


def first(rules: Iterable[Any], facts: Facts) -> Any:
    return next((rule for rule in rules if fits(rule, facts)), None)


def fits(rule: Mapping[str, Any], facts: Facts) -> bool:
    condition = " ".join(rule.get("when", "True").split())
    return bool(filled(f"{{% if {condition} %}}yes{{% endif %}}", facts))


def rendered(value: Any, facts: Facts) -> Any:
    if isinstance(value, list):
        return [made for each in value for made in laid_out(each, facts)]
    if isinstance(value, dict):
        kept = [key for key in value if key not in ("when", "loop")]
        return {key: rendered(value[key], facts) for key in kept}
    return filled(value, facts) if isinstance(value, str) else value


def laid_out(value: Any, facts: Facts) -> list[Any]:
    """What one thing in a list becomes there: none, one, or several."""
    if not isinstance(value, dict):
        made = rendered(value, facts)
        return made if isinstance(made, list) else [made]
    items = filled(f"{{{{ {value['loop']} }}}}", facts) if "loop" in value else [None]
    return [rendered(value, {**facts, "item": one}) for one in items if fits(value, facts)]
