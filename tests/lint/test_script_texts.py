"""What scripts say can be said in another language: texts go through gettext, dates through Intl."""

import re
from collections import Counter
from functools import cache

from babel.messages.jslexer import tokenize

from tests import messages

FOLDER = messages.ROOT / "static" / "js"
FILES = sorted(path.name for path in FOLDER.glob("*.js"))
CALLS = ("gettext", "ngettext")
# Where a person reads or hears what stands there, be it a single small word.
SHOWN = {
    *("textContent", "innerText", "innerHTML", "title", "placeholder", "alt", "nodeValue"),
    *("ariaLabel", "ariaDescription", "ariaRoleDescription", "ariaValueText"),
    *("aria-label", "aria-description", "aria-roledescription", "aria-valuetext"),
}
# Keys, headers, errors and types of data as the browser names them, classes, and our name.
NO_TEXTS = {
    *("Enter", "Escape", "Tab", "Delete", "Backspace", "End", "ContextMenu"),
    *("ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home"),
    *("Control", "Meta", "Shift", "Alt"),
    *("Accept-Language", "Content-Type", "If-None-Match"),
    *("Planside-Attachment", "Planside-Field", "Planside-Reload", "Planside-Seen", "Planside-Seq"),
    *("TimeoutError", "Files", "Planside", "${titleNow()} · Planside"),
    *("light dark", "muted truncate", "meta wide", "span span"),
    *("json typed-text", "muted error-text field-refusal"),
}
ELEMENT = "(a|article|aside|button|dialog|form|input|pre|summary|textarea)"
# Selectors, addresses, HTML.
CODE = re.compile(rf"[\[\]#=<>/]|--|^\.|[a-z]\.[a-z]|:\w|^{ELEMENT}(, {ELEMENT})*$")
WORD = re.compile(r"(^|[\s“(…])[A-Za-z’]+[.,:;!?]?(?=$|[\s”)…])")
VALUE = re.compile(r"\$\{([^}]*)(?:\}|$)")


def test_every_text_of_a_script_is_translated():
    found = {name: untranslated((FOLDER / name).read_text()) for name in FILES}
    assert {name: texts for name, texts in found.items() if texts} == {}


def test_what_counts_as_a_text_of_a_script():
    known = [
        ('box.placeholder = "Ask for changes";', ["Ask for changes"]),
        ('const BUSY = "Stop the reply first.";', ["Stop the reply first."]),
        ("say(`${n} files changed`);", ["${n} files changed"]),
        ("say(`v${n} now`);", ["v${n} now"]),
        ("say(`${isToday ? 'Today' : day} ${time}`);", ["Today"]),
        ('button.title = "stop";', ["stop"]),
        ('place.setAttribute("aria-label", "stop");', ["stop"]),
        ('make("b", { textContent: "stop" });', ["stop"]),
        ('label(isOpen ? "Fold" : gettext("Unfold"));', ["Fold"]),
        ('gettext("Remove {name}", { name: "the file" });', ["the file"]),
        ('gettext("Copied"); ngettext("{n} file", "{n} files", { n });', []),
        ('on("click", "#plan a[href]", () => byId("plan").hidden = true);', []),
        ("fetch(`/c/${id}/plan/${verb}?${query}`);", []),
        ('event.key === "Enter" && row.className === "meta";', []),
    ]
    assert [(source, untranslated(source)) for source, _ in known] == known


def test_whoever_translates_gets_every_text_of_a_script():
    """A text that is put together, or named elsewhere, is found by nobody."""
    calls = {
        name: len(re.findall(r"(?<![.\w])n?gettext\(", (FOLDER / name).read_text()))
        for name in FILES
        if name != "dom.js"
    }
    taken = Counter(name for name, _ in all_texts())
    wrong = {name: (calls[name], taken[name]) for name in calls if calls[name] != taken[name]}
    assert wrong == {}, "gettext is called with the text itself"


def test_a_text_of_a_script_is_no_piece_of_a_sentence():
    pieces = [each for each in all_texts() if each[1] != each[1].strip() or "${" in each[1]]
    assert pieces == []


def test_dates_numbers_and_lists_are_in_the_language_of_the_page():
    otherwise = [
        (name, found)
        for name in FILES
        for found in re.findall(
            r"toLocale\w*|\bIntl\.\w+Format\((?!locale[,)])[^,)]*", (FOLDER / name).read_text()
        )
    ]
    assert otherwise == [], "Intl, with the language of the page"


@cache
def all_texts():
    """File and text; of a text with a plural, that."""
    return [
        (path.rpartition("/")[2], text if isinstance(text, str) else text[1])
        for path, _, text, _ in messages.texts_of("djangojs")
    ]


def untranslated(source):
    """What looks like words for a person and is no argument of gettext."""
    tokens = list(tokenize(source, jsx=False, dotted=False))
    found, calls = [], []  # calls: for each open bracket, whether it is one of gettext's
    for index, token in enumerate(tokens):
        before = [each.value for each in tokens[max(0, index - 2) : index]]
        if token.value in ("(", "[", "{"):
            calls.append(token.value == "(" and before[-1:] != [] and before[-1] in CALLS)
        elif token.value in (")", "]", "}"):
            calls.pop()
        elif token.type in ("string", "template_string") and not (calls and calls[-1]):
            text = token.value[1:-1]
            for value in VALUE.findall(text):
                found += untranslated(value)
            if is_text(text) or is_shown(text, before):
                found.append(text)
    return found


def is_text(text):
    """Two words, or one that begins a sentence."""
    said = VALUE.sub("…", text)
    if text in NO_TEXTS or CODE.search(said):
        return False
    words = WORD.findall(said)
    return re.match(r"[A-Z][a-z]", said) or (len(said.split()) > 1 and words != [])


def is_shown(text, before):
    if len(before) < 2 or not re.search("[A-Za-z]", VALUE.sub("", text)) or text in NO_TEXTS:
        return False
    place, sign = before
    return place.strip("\"'") in SHOWN and sign in ("=", ":", ",", "??=")


def test_what_a_page_asks_for_names_its_language_and_last_event():
    """`headers()`; a script of a page without a session asks without them."""
    for path in sorted(FOLDER.glob("*.js")):
        asked = re.findall(r"\bfetch\(((?:[^()]|\([^()]*\))*)\)", path.read_text())
        bare = [each for each in asked if not re.search(r"headers|request\b|sent\b", each)]
        assert not bare or path.name in ("away.js", "signin.js"), (path.name, bare)
