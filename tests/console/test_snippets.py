"""What a result shows of a text: one line, with the found words marked."""

import pytest

from tests.inner import BEFORE, snippet
from tests.inner import snippets_marked as marked
from tests.inner import words_question_of as question_of


def shown(pieces):
    return "".join(f"[{piece.text}]" if piece.is_found else piece.text for piece in pieces)


@pytest.mark.parametrize(
    "text, wanted, as_shown",
    [
        ("Why do webhooks arrive twice?", "WEBHOOK", "Why do [webhook]s arrive twice?"),
        ("Die Straße, das Café", "cafe strasse", "Die [Straße], das [Café]"),
        ("我们的数据库很大", "数据库", "我们的[数据库]很大"),
        ("v2接口 说明", "接口", "v2[接口] 说明"),
        ("hook webhook", "hook", "[hook] webhook"),
        ("pay\u200bload", "payload", "[pay\u200bload]"),
        ("<b>bold</b>", "bold", "<b>[bold]</b>"),
        ("nothing here", "absent", "nothing here"),
        ("nothing here", "…", "nothing here"),
    ],
)
def test_found_words_are_marked_as_they_stand_in_the_text(text, wanted, as_shown):
    assert shown(marked(text, question_of(wanted))) == as_shown


def test_the_found_word_stands_in_the_middle_third_of_the_line():
    text = "one two three four five six seven eight nine ten\n\n  webhook " + "after " * 100
    line = shown(snippet(text, question_of("webhook")))
    assert line.startswith("… ") and line.endswith("…") and "\n" not in line
    assert BEFORE - 12 <= line.index("[webhook]") <= BEFORE + 2


def test_the_snippet_is_where_most_words_stand_together():
    text = "red " + "x " * 300 + "red and green"
    assert shown(snippet(text, question_of("red green"))).endswith("[red] and [green]")


def test_a_text_without_spaces_is_cut_near_the_word():
    line = shown(snippet("的" * 500 + "数据库", question_of("数据库")))
    assert line == f"… {'的' * BEFORE}[数据库]"


@pytest.mark.parametrize(
    "text, wanted, as_shown",
    [
        ("```python\nrun()\n```", "run", "python [run]() "),
        ("## Notes\n- **bold** word\n  * `code` here", "bold", "Notes [bold] word code here"),
        ("> said __loud__", "said", "[said] loud"),
        (
            "f(**values) and 2**3 - 1, snake__case",
            "values",
            "f([values]) and 2**3 - 1, snake__case",
        ),
    ],
)
def test_a_snippet_has_no_marks_of_markdown(text, wanted, as_shown):
    assert shown(snippet(text, question_of(wanted))) == as_shown
