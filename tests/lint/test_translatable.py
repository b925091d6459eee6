"""Every text can be translated, and is; what pages say in another language is in test_language.py."""

import itertools
import re
from functools import cache
from html.parser import HTMLParser
from io import BytesIO

from babel.messages.mofile import write_mo

from tests import messages
from tests.messages import ROOT

TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
SPOKEN = {"aria-label", "aria-valuetext", "alt", "placeholder", "title"}
NOT_READ = re.compile(r"\{#.*?#\}|\{% comment %\}.*?\{% endcomment %\}", re.DOTALL)
TRANSLATED = re.compile(
    r"""\{% blocktranslate.*?\{% endblocktranslate %\}|\b_\(("[^"]*"|'[^']*')\)""", re.DOTALL
)
TAG = re.compile(r"\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)
IN_QUOTES = re.compile(r""""([^"]*)"|'([^']*)'""")
A_WORD = re.compile(r"[A-Za-z]{2}")

# Names and examples that are the same in every language.
NAMES = re.compile(
    r"[\W\d]*(API|Ctrl|Enter|Esc|MCP|OpenAPI|Planside|agent\.json|\.json|UTC)?([\W\d]*Planside)?[\W\d]*"
    r"|/[a-z-]+|https?://.*|get_\*|MCPOpenAPI|gpt-.*|X-Team: docs|Authorization: Bearer …|light dark"
)
# Arguments of a tag that are no text: what is looked up by them is.
LOOKED_UP = re.compile(r"\|(plural|date|join|cut):|\{% (translate|url|load|static|if|elif) ")


class Texts(HTMLParser):
    """What is read or spoken of a page's markup."""

    def __init__(self, markup):
        super().__init__()
        self.found, self.hidden = [], 0
        self.feed(markup)

    def handle_starttag(self, tag, attributes):
        self.hidden += tag in ("script", "style", "svg")
        for name, value in attributes:
            is_list = name == "data-for"  # of the kinds that a field is for
            is_sentence = name.startswith("data-") and not is_list and " " in (value or "").strip()
            if value and (name in SPOKEN or is_sentence):
                self.found.append(value)

    def handle_endtag(self, tag):
        self.hidden -= tag in ("script", "style", "svg")

    def handle_data(self, text):
        if not self.hidden:
            self.found.append(text)


def untranslated(source):
    """Texts of a template that stand in it in one language only."""
    source = TRANSLATED.sub("", NOT_READ.sub("", source))
    markup = Texts(TAG.sub("", source)).found
    arguments = [
        text
        for tag in TAG.findall(source)
        if not LOOKED_UP.search(tag)
        for pair in IN_QUOTES.findall(tag)
        if " " in (text := "".join(pair)).strip() or text[:1].isupper()
    ]
    texts = (text.strip() for text in markup + arguments)
    return [text for text in texts if A_WORD.search(text) and not NAMES.fullmatch(text)]


def test_every_text_of_the_templates_can_be_translated():
    found = {path.name: untranslated(path.read_text()) for path in TEMPLATES}
    assert {name: texts for name, texts in found.items() if texts} == {}


def test_a_text_in_one_language_only_is_found():
    sources = [
        "<p>Nothing runs.</p>",
        '<button title="Stop the plan"></button>',
        '{% dialog id="a" title="Stop this plan?" %}{% enddialog %}',
        '{{ plan.title|default:"New chat" }}',
        '{% include "plans/_sort.html" with words="State" %}',
        "{% if plan %}{{ plan.title }} waits{% endif %}",
    ]
    assert [source for source in sources if not untranslated(source)] == []


PLACES = re.compile(r"%\(\w+\)[sd]|\{[^{}\s]*\}")


@cache
def catalogs():
    """By folder and domain."""
    known = itertools.product(messages.LANGUAGES, messages.DOMAINS)
    return {each: messages.catalog_of(*each) for each in known}


def test_every_text_is_translated():
    missing = [
        (*which, each.id)
        for which in catalogs()
        for each in messages.untranslated(catalogs()[which])
    ]
    assert missing == [], "run: make messages, then translate them in console/locale"


def test_what_varies_in_a_text_varies_in_its_translation():
    """A place that is misspelt would be an error when the text is shown."""
    wrong = [
        (*which, each.id)
        for which, catalog in catalogs().items()
        for each in catalog
        for form in ([each.string] if isinstance(each.string, str) else each.string)
        if set(PLACES.findall(form))
        != set(PLACES.findall(each.id if isinstance(each.id, str) else each.id[-1]))
    ]
    assert wrong == []


def test_what_is_compiled_is_what_was_translated():
    other = []
    for (folder, domain), catalog in catalogs().items():
        made = BytesIO()
        write_mo(made, catalog)
        compiled = messages.LOCALE / folder / "LC_MESSAGES" / f"{domain}.mo"
        if compiled.read_bytes() != made.getvalue():
            other.append((folder, domain))
    assert other == [], "run: make messages"
