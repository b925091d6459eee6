"""`make messages`: the catalogs under console/locale, brought up to what code, templates and scripts
say; each is compiled beside it, as nothing is compiled where Planside runs.

A new text comes without a translation, one that changed as a guess marked "fuzzy": both are to be
translated in the .po file, and tests/lint/test_translatable.py fails until they are.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import django
from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_file
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.template.base import Node, NodeList
from django.template.loader import get_template
from django.templatetags.i18n import BlockTranslateNode, TranslateNode

ROOT = Path(__file__).parents[1]
LOCALE = ROOT / "console" / "locale"
LANGUAGES = {"zh_Hans": "zh_Hans_CN"}  # folder, and what Babel knows its plurals by
DOMAINS = ("django", "djangojs")
KEYWORDS = {
    "_": None,
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext": (1, 2),
    "ngettext_lazy": (1, 2),
    "ngettext_noop": (1, 2),
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
}
IN_A_TAG = re.compile(r"""\b_\(("[^"]*"|'[^']*')\)""")

# File, line, the text or its two forms, and what tells it from the same text elsewhere.
# What Django says and its catalogs have not in every language of ours.
OF_DJANGO: list[str | tuple[str, str]] = [
    (
        "This password is too short. It must contain at least %d character.",
        "This password is too short. It must contain at least %d characters.",
    )
]

Text = tuple[str, int, str | tuple[str, str], str | None]


def texts_of(domain: str) -> Iterator[Text]:
    """Everything that is to be translated."""
    if domain == "djangojs":
        yield from of_files("javascript", (ROOT / "static" / "js").glob("*.js"))
        return
    for folder in ("agents", "plans", "console"):
        yield from of_files("python", (ROOT / folder).rglob("*.py"))
    for path in sorted((ROOT / "templates").rglob("*.html")):
        yield from of_template(path)
    yield from (("django", 0, text, None) for text in OF_DJANGO)


def of_files(method: str, paths: Iterator[Path]) -> Iterator[Text]:
    for path in sorted(paths):
        for line, message, _, context in extract_from_file(method, path, keywords=KEYWORDS):
            yield str(path.relative_to(ROOT)), line, message, context


def of_template(path: Path) -> Iterator[Text]:
    name = str(path.relative_to(ROOT))
    template = get_template(str(path.relative_to(ROOT / "templates"))).template
    for node in nodes_of(template.nodelist):
        if isinstance(node, TranslateNode | BlockTranslateNode):
            yield name, node.token.lineno, text_of(node), context_of(node)
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for found in IN_A_TAG.finditer(line):
            yield name, number, found[1][1:-1], None


def nodes_of(nodelist: NodeList) -> Iterator[Node]:
    """Every node of a template. Those of simple_block_tag do not name their nodelist as a child."""
    for node in nodelist:
        yield node
        for child in dict.fromkeys((*node.child_nodelists, "nodelist")):
            yield from nodes_of(getattr(node, child, None) or NodeList())


def text_of(node: TranslateNode | BlockTranslateNode) -> str | tuple[str, str]:
    if isinstance(node, TranslateNode):
        return str(node.filter_expression.var.literal)
    one = node.render_token_list(node.singular)[0]
    return (one, node.render_token_list(node.plural)[0]) if node.plural else one


def context_of(node: TranslateNode | BlockTranslateNode) -> str | None:
    return str(node.message_context.var) if node.message_context else None


def catalog_of(folder: str, domain: str) -> Catalog:
    """What is translated, and all that is to be."""
    path = LOCALE / folder / "LC_MESSAGES" / f"{domain}.po"
    known = Catalog(LANGUAGES[folder])
    if path.exists():
        with path.open("rb") as file:
            known = read_po(file, LANGUAGES[folder], domain)
    wanted = Catalog(LANGUAGES[folder], domain)
    for name, _, text, context in texts_of(domain):
        wanted.add(text, locations=[(name, None)], context=context)
    known.update(wanted)
    known.obsolete.clear()
    known.header_comment = f"# What Planside says: {folder}."
    known.project, known.version, known.msgid_bugs_address = "Planside", "", ""
    known.last_translator, known.language_team = "", ""
    known.creation_date = known.revision_date = datetime(2026, 1, 1, tzinfo=UTC)  # no diff by time
    return known


def write(folder: str, domain: str) -> None:
    catalog = catalog_of(folder, domain)
    path = LOCALE / folder / "LC_MESSAGES" / f"{domain}.po"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        write_po(file, catalog, width=100, sort_output=True, omit_header=False)
    with path.with_suffix(".mo").open("wb") as file:
        write_mo(file, catalog)
    missing = untranslated(catalog)
    sys.stdout.write(f"{path.relative_to(ROOT)}: {len(catalog)} texts, {len(missing)} missing\n")


def untranslated(catalog: Catalog) -> list[Message]:
    return [each for each in catalog if each.id and (each.fuzzy or not is_translated(each))]


def is_translated(message: Message) -> bool:
    """In every form that it has."""
    forms = message.string if isinstance(message.string, (tuple, list)) else [message.string]
    return all(forms)


if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    django.setup()
    for folder in LANGUAGES:
        for domain in DOMAINS:
            write(folder, domain)
