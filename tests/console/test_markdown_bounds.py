"""Nobody's text makes another person wait: what drawing may cost is bounded before it begins."""

import re
import threading

from markdown_it.parser_inline import ParserInline

from tests.hostile_texts import CODE_UNITS, FORMULA_UNITS, MARKDOWN, repeated
from tests.inner import (
    MOST_WEIGHT,
    SizedCache,
    affordable,
    block,
    formulas,
    is_long,
    markdown,
    render,
    rendered,
    weight_of,
)

PROSE = MARKDOWN["prose"](20_000)


def test_no_text_is_parsed_beyond_its_allowance():
    beyond, cut = [], []
    for name, make in MARKDOWN.items():
        for size in (20_000, 200_000):
            text = make(size)
            blocks = list(affordable(text))
            if sum(weight_of(block) for fits, block in blocks if fits) > MOST_WEIGHT:
                beyond.append((name, size))
            if "".join(block for _, block in blocks) != text:
                cut.append((name, size))
    assert (beyond, cut) == ([], [])


def test_brackets_beyond_the_limit_reach_no_parser(monkeypatch):
    parsed = []
    parse = ParserInline.parse

    def watched(self, source, *rest):
        parsed.append(source)
        return parse(self, source, *rest)

    monkeypatch.setattr(ParserInline, "parse", watched)
    for name in ("brackets", "images", "CDATA", "links that close", "nested links"):
        "".join(rendered(MARKDOWN[name](8_000), live=False))
        most = max((text.count("[") + text.count("<") for text in parsed), default=0)
        assert most <= markdown.MOST_OPENERS, name


def test_what_only_looks_like_code_is_weighed_as_text():
    tricks = [
        "``` `\n",  # no fence: its first line holds a backtick
        "- a\n  ```\n",  # ends with its list
        "  ```\n```\n",  # closed by the second
        "```\n```\n",
        "> ```\n",
        "    ```\n",
        "~~~\n~~~ a\n~~~\n",
    ]
    light = [each for each in tricks if weight_of(each + repeated("![")(20_000)) <= MOST_WEIGHT]
    assert light == []


def test_short_rows_of_a_wide_table_weigh_the_cells_they_are_filled_up_with():
    wide = "|a" * 500 + "\n" + "|-" * 500 + "\n"
    assert weight_of(wide + "|\n" * 100) > 100 * 500


def test_weighing_a_line_does_not_go_back_over_it():
    assert weight_of("|" * 100_000 + "x") == 100_002  # a pattern took 2 minutes here


def test_a_reference_that_is_used_often_does_not_multiply():
    text = f"[a]: https://e.com/{'x' * 100_000}\n\n" + "[a] " * 1_000
    assert len(render(text)) < 3 * len(text)


def test_a_long_address_is_not_normalized():
    assert "href" not in render(f"[a](https://{'é' * 50_000}.com)")


def test_a_block_that_costs_too_much_is_shown_as_typed_and_the_rest_is_not():
    html = render("# Before\n\n" + "*a " * 20_000 + "\n\n**after**")
    assert html.count('class="as-typed"') == 1
    assert "Before</h3>" in html
    assert "<strong>after</strong>" in html
    assert html.count("*a ") == 20_000


def test_what_is_shown_as_typed_is_still_only_text():
    html = render("<script>" + "*" * 50_000)
    assert "<script" not in html
    assert 'class="as-typed"' in html


def test_an_ordinary_answer_is_drawn_whole():
    rows = "|a|b|\n|-|-|\n" + "|1|2|\n" * 20
    code = "```python\n" + "x = 1\n" * 40 + "```"
    items = "- **item** `code` [a](https://b.c)\n" * 20
    answer = "\n\n".join(["## Part", PROSE[:2_000], items, rows, code, ""])
    assert "as-typed" not in render(answer * 8)


def test_a_long_paragraph_that_grows_is_not_parsed_with_each_word(monkeypatch):
    monkeypatch.setattr(markdown, "rendered", None)  # nothing may call it
    assert is_long(PROSE)
    html = block(1, 0, PROSE, as_it_is=True)
    assert html.startswith('<div class="block" id="message-1-block-0"><p class="as-typed"')


def test_long_code_and_long_lines_are_not_coloured():
    coloured = [
        (language, name)
        for language in sorted(markdown.LANGUAGES)
        for name, unit in CODE_UNITS.items()
        for code in (repeated(unit)(20_000), unit.strip() * 300)
        if markdown.coloured(code, language)
    ]
    assert coloured == []


def test_a_language_that_was_not_measured_stays_plain():
    unmeasured = ["apacheconf", "make", "csharp", "unheard-of", ""]
    assert [each for each in unmeasured if markdown.coloured("<a>\n", each)] == []


def test_many_blocks_of_code_share_one_allowance():
    html = render('```json\n{"a": [1, 2, 3]}\n```\n\n' * 1_500)
    coloured = html.count('<span class="nt">')
    assert 0 < coloured <= markdown.MOST_COLOURED / 17


def test_the_longest_formula_that_nests_most_fits_a_thread_of_four_megabytes():
    """What overflows the stack ends the process; pytest names the test its worker died in."""
    longest, drawn = formulas.LONGEST_FORMULA, []

    def draw():
        for unit in FORMULA_UNITS.values():
            for end in ("", "a", "a" + "}" * 500):
                formulas.mathml((unit * longest)[: longest - len(end)] + end, is_block=True)
        formulas.mathml(("{" * 300 + "\\sqrt" * longest)[:longest], is_block=True)
        drawn.append(True)

    before = threading.stack_size(4_194_304)
    try:
        thread = threading.Thread(target=draw)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    assert drawn


def test_a_longer_or_deeper_formula_reaches_no_converter(monkeypatch):
    monkeypatch.setattr(formulas, "converter", None)
    assert not formulas.mathml("x" * 2_001, is_block=True)
    assert not formulas.mathml("{" * 301, is_block=True)


def test_a_text_defines_no_commands_that_multiply(monkeypatch):
    monkeypatch.setattr(formulas, "converter", None)
    for word in ("def\\a", "gdef\\a", "let\\a=", "newcommand\\a", "renewcommand{\\a}"):
        assert f"<code>$\\{word}" in render(f"$\\{word}{{xx}}\\a$")


def test_a_formula_over_which_the_converter_breaks_leaves_the_reply_readable(monkeypatch):
    class PanicException(BaseException):  # as Rust's is named, which cannot be imported
        pass

    class Broken:
        def convert_with_local_state(self, latex, *, displaystyle):
            raise PanicException

    monkeypatch.setattr(formulas, "converter", Broken())
    assert "and <code>$x+y$</code>" in render("**bold** and $x+y$")


def test_many_formulas_share_one_allowance():
    html = render(f"${'=' * 100}$ " * 200)
    assert html.count("<math>") == formulas.MOST_FORMULAS / 100
    assert html.count("<code>$==") == 100


def test_a_note_that_does_not_end_is_not_searched_for_its_end(monkeypatch):
    searched = []
    monkeypatch.setattr("console.footnotes.footnote_ref", lambda *args: searched.append(args))
    render(MARKDOWN["notes that do not end"](20_000))
    assert not searched


def test_notes_within_notes_end_somewhere():
    assert len(re.findall("<li", render(MARKDOWN["nested notes"](20_000)))) < 200


def test_drawings_are_remembered_as_far_as_they_fit():
    cache = SizedCache(most_characters=10)
    cache["a"], cache["b"] = "12345", "12345"
    assert cache.get("a") == "12345"
    cache["c"] = "123"
    assert cache.get("b") is None
    assert (cache.get("a"), cache.get("c")) == ("12345", "123")
