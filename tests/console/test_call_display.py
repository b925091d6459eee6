"""What the row of a tool call says about how it went; and what is shown for a decision is what will
happen: every line of every argument."""

import re
from html import unescape

import pytest

from agents.models import ToolCall
from tests.inner import CALL_DISPLAY_MOST_CHARACTERS as MOST_CHARACTERS
from tests.inner import CALL_DISPLAY_MOST_LINES as MOST_LINES
from tests.inner import HEAD, MOST_HIDDEN, call_status, draw_call, text_lines, whole_change


def text_of(drawing):
    """What a person reads when all is shown."""
    return "\n".join(unescape(re.sub("<[^>]+>", "", row.html)) for row in drawing.rows)


def call(tool="shell", **arguments):
    return ToolCall(tool=tool, arguments=arguments)


def numbered(count):
    return "\n".join(f"echo {n}" for n in range(1, count + 1))


@pytest.mark.parametrize("count", [1, 8, 11])
def test_a_short_command_is_shown_whole(count):
    drawing = text_lines(numbered(count))
    assert drawing.folded == 0
    assert [row.number for row in drawing.rows] == [str(n) for n in range(1, count + 1)]


def test_of_a_long_one_the_first_8_and_the_last_3_lines_are_shown_at_first():
    drawing = text_lines(numbered(414))
    assert (drawing.lines, drawing.folded) == (414, 403)
    assert [row.number for row in drawing.head] == [str(n) for n in range(1, 9)]
    assert [row.number for row in drawing.tail] == ["412", "413", "414"]
    assert text_of(drawing) == numbered(414)


@pytest.mark.parametrize("blank", ["", "   ", "\t"])
def test_a_run_of_blank_lines_is_counted_and_hides_nothing(blank):
    drawing = text_lines("ls\n" + f"{blank}\n" * 400 + "rm -rf ~")
    assert [unescape(row.html) for row in drawing.rows] == ["ls", "400 blank lines", "rm -rf ~"]
    assert [row.number for row in drawing.rows] == ["1", "", "402"]
    assert (drawing.lines, drawing.folded) == (402, 0)


def test_lines_that_only_look_blank_are_not_folded():
    drawing = text_lines("ls\n" + "\u200b\n" * 5 + "rm -rf ~")
    assert drawing.hidden == 5
    assert text_of(drawing).count("U+200B") == 5


def test_other_line_ends_do_not_begin_a_line():
    drawing = text_lines("echo a\u2028rm -rf ~\rls\x0bid")
    assert drawing.lines == 1
    assert drawing.hidden == 3


@pytest.mark.parametrize(
    "text",
    ["a\n" * (MOST_LINES + 1), "a" * (MOST_CHARACTERS + 1), "a\u200b" * (MOST_HIDDEN + 1)],
    ids=["lines", "characters", "hidden characters"],
)
def test_what_is_too_long_to_be_shown_is_not_called_whole(text):
    drawing = text_lines(text)
    assert drawing.cut
    assert len(text_of(drawing)) < 2 * MOST_CHARACTERS
    assert not draw_call(call(command=text)).is_whole


def test_every_argument_of_a_call_is_drawn():
    drawn = draw_call(
        call("github__merge", number=4, force=True, note="a\nb\u202e", deep={"x": [1]})
    )
    assert [each.name for each in drawn.arguments] == ["number", "force", "note", "deep"]
    assert [text_of(each.drawing) for each in drawn.arguments[:3]] == ["4", "true", "a\nbU+202E"]
    assert (drawn.lines, drawn.hidden) == (9, 1)


def test_a_command_comes_first_and_its_other_arguments_are_not_left_out():
    drawn = draw_call(call(timeout_s=600, command="sleep 1"))
    assert [each.name for each in drawn.arguments] == ["Command", "timeout_s"]


@pytest.mark.parametrize("odd", [{"command": ["rm", "-rf"]}, {"command": None}, {}, [1, 2], "rm"])
def test_arguments_of_another_shape_are_drawn_as_they_are(odd):
    drawn = draw_call(ToolCall(tool="shell", arguments=odd))
    assert not drawn.is_shell
    assert len(drawn.arguments) == (1 if odd else 0)


def test_an_edit_is_a_change_with_both_numbers():
    drawn = draw_call(
        call("edit_file", path="a.py", old="one\ntwo\nthree", new="one\n2\nthree\nfour")
    )
    path, change = drawn.arguments
    assert text_of(path.drawing) == "a.py"
    rows = [(row.sign, row.old_number, row.number, row.html) for row in change.drawing.rows]
    assert rows == [
        ("", "1", "1", "one"),
        ("−", "2", "", "two"),
        ("+", "", "2", "2"),
        ("", "3", "3", "three"),
        ("+", "", "4", "four"),
    ]
    kinds = [row.kind for row in change.drawing.rows]
    assert (kinds.count("new"), kinds.count("gone")) == (2, 1)


def test_a_new_file_is_all_added():
    _, change = draw_call(call("write_file", path="a", content="x\ny")).arguments
    assert [row.sign for row in change.drawing.rows] == ["+", "+"]


@pytest.mark.parametrize("is_short", [False, True])
@pytest.mark.parametrize(
    "empty",
    [
        call("write_file", path="a", content=""),
        call("edit_file", path="a", old="", new=""),
        call("github__comment", id="a", text=""),
    ],
    ids=["file", "edit", "argument"],
)
def test_what_is_empty_is_drawn_as_such(empty, is_short):
    drawing = draw_call(empty, is_short=is_short).arguments[-1].drawing
    assert [(row.html, row.kind) for row in drawing.rows] == [("(empty)", "fold")]
    assert not drawing.cut


def test_a_text_that_says_empty_is_a_line_like_any_other():
    [row] = text_lines("(empty)").rows
    assert (row.number, row.kind) == ("1", "")


def test_an_edit_without_its_texts_is_drawn_as_arguments():
    drawn = draw_call(call("edit_file", path="a", old="x", new=5, extra="y"))
    assert [each.name for each in drawn.arguments] == ["path", "old", "new", "extra"]


def test_a_change_keeps_three_lines_around_once_it_is_decided():
    old = [f"line {n}" for n in range(100)]
    new = [*old[:50], "changed", *old[51:]]
    change = whole_change("\n".join(old), "\n".join(new))
    rows = change.counted().rows
    assert [row.html for row in rows if row.kind == "fold"] == [
        "47 unchanged lines",
        "46 unchanged lines",
    ]
    assert len(rows) == 2 + 3 + 2 + 3
    assert len(change.rows) == 101


def test_a_change_folds_beyond_400_lines():
    assert whole_change("", numbered(400)).folded == 0
    drawing = whole_change("", numbered(812))
    assert (len(drawing.head), drawing.folded, drawing.lines) == (200, 612, 812)


def test_what_is_decided_already_is_drawn_as_far_as_a_page_holds_it():
    drawn = draw_call(call(command="echo\n" * 4_000), is_short=True)
    assert len(drawn.arguments[0].drawing.rows) == HEAD
    assert drawn.arguments[0].drawing.cut == 4_001 - HEAD


def test_of_one_long_line_that_is_decided_already_the_beginning_is_drawn():
    [drawn] = draw_call(call(command="x" * 90_000), is_short=True).arguments
    assert 0 < len(text_of(drawn.drawing)) < 90_000
    assert (drawn.drawing.lines, drawn.drawing.cut) == (1, 1)


# How it went

NOW = "2026-01-01T00:00:00Z"
TABLE = [
    ({"state": "done"}, "", "check", ""),
    ({"state": "running", "started_at": NOW}, "", "spin", "running"),
    ({"state": "asked", "decision": "deny"}, "Denied by you", "x", ""),
    ({"state": "asked", "decision": "allow_once"}, "Going on", "clock", ""),
    ({"state": "denied"}, "Denied by you", "x", ""),
    ({"state": "refused"}, "Not allowed", "x", "failed"),
    ({"state": "failed"}, "Failed", "warn", "failed"),
    ({"state": "interrupted", "started_at": NOW}, "Interrupted", "x", ""),
    ({"state": "interrupted"}, "Not run", "x", ""),
    ({"state": ""}, "Not run yet", "clock", ""),
]


@pytest.mark.parametrize(("call", "words", "icon", "status"), TABLE)
def test_how_a_call_went(call, words, icon, status):
    said = call_status(ToolCall(**call))
    assert (said.words, said.icon, said.status) == (words, icon, status)


def test_every_state_has_its_words():
    for state in ToolCall.State:
        assert call_status(ToolCall(state=state)).icon
