"""write_file and edit_file are read as a diff, in place of their arguments and result."""

import re
from html import unescape

import pytest
from django.test import Client

from agents.models import FileChange, ToolCall
from tests.fake_model import call, say
from tests.inner import HEAD, LONG, diff_of, diff_of_files, format_size
from tests.markup import html
from tests.world import calls_of, conversation, files_of, person, scripted, signed_in, tell


def changed(old, new, *, line=1, **more):
    """A call that has put one text in the place of the other."""
    made = ToolCall(tool="edit_file", arguments={"path": "a.md"}, state="done")
    values = {"is_new": False, "left_out": "", "old_size": len(old), "new_size": len(new)}
    FileChange(call=made, line=line, old=old, new=new, **(values | more))
    made.file_change = FileChange(line=line, old=old, new=new, **(values | more))
    return diff_of(made)


def rows(diff):
    return [
        (line.sign, line.old_number, line.number, re.sub("<[^>]+>", "", unescape(line.html)))
        for block in diff.blocks
        for line in block.lines
    ]


def marked(diff):
    """The words of each line that are marked."""
    return [
        [run.text for run in line.runs if run.op != "kept"]
        for block in diff.blocks
        for line in block.lines
    ]


def test_lines_have_both_numbers_and_a_sign():
    diff = changed("a\nb\nc", "a\nB\nc\nd", line=212)
    assert rows(diff) == [
        ("", "212", "212", "a"),
        ("−", "213", "", "b"),
        ("+", "", "213", "B"),
        ("", "214", "214", "c"),
        ("+", "", "215", "d"),
    ]
    assert (diff.sum, diff.signs) == ("2 lines added, 1 removed", "+2 −1")


@pytest.mark.parametrize(
    ("old", "new", "sum", "signs"),
    [
        ("", "a\nb", "2 lines added", "+2"),
        ("a\nb", "a", "1 line removed", "−1"),
    ],
)
def test_a_side_that_is_zero_is_left_out(old, new, sum, signs):
    diff = changed(old, new)
    assert (diff.sum, diff.signs) == (sum, signs)


def test_changed_words_are_marked_and_a_wholly_new_line_is_not():
    diff = changed(
        "`POST /v2/webhooks` returns 201 and the webhook.",
        "`POST /v2/webhooks` returns 202 and the webhook.\nIt is live once it was delivered.",
    )
    assert marked(diff) == [["201"], ["202"], []]


def test_a_line_keeps_its_indentation_and_is_safe():
    [_, line] = changed("    if a < one: b", "    if a < two: b").blocks[0].lines
    drawn = re.sub(r"<span[^>]*>|</span>|\s+(?=>)", "", line.html)
    assert drawn == "    if a &lt; <ins>two</ins>: b"


def test_hidden_characters_among_changed_words_are_drawn_as_boxes():
    [_, line] = changed("one two three four", "one two th\u202eree four").blocks[0].lines
    assert "U+202E" in line.html


def test_what_is_far_from_any_change_folds():
    between = "\n".join(f"line {n}" for n in range(24))
    diff = changed(f"a\n{between}\nz", f"A\n{between}\nZ")
    assert [(block.is_folded, len(block.lines)) for block in diff.blocks] == [
        (False, 5),
        (True, 18),
        (False, 5),
    ]


def test_of_more_than_400_lines_the_page_has_the_first_200():
    text = "\n".join(f"line {n}" for n in range(LONG + 1))
    diff = changed("", text, is_new=True)
    assert (diff.cut, diff.lines, diff.added) == (LONG + 1 - HEAD, LONG + 1, LONG + 1)
    assert len(rows(diff)) == HEAD


def test_of_one_endless_line_the_page_has_the_beginning_at_first():
    diff = changed("", "x" * 90_000, is_new=True)
    [(sign, _, number, text)] = rows(diff)
    assert (sign, number, len(text)) == ("+", "1", 20_000)
    assert (diff.cut, diff.lines) == (1, 1)


def test_line_ends_are_not_drawn_where_all_are_of_the_windows_way():
    diff = changed("a\r\nb\r", "a\r\nc\r")
    assert [row[3] for row in rows(diff)] == ["a", "b", "c"]
    mixed = changed("a\r\nb", "a\nb")
    assert "U+000D" in str(rows(mixed))


def test_line_ends_of_windows_are_no_hidden_characters():
    text = "line\r\n" * 3_000
    assert changed(f"{text}a\r", f"{text}b\r").signs == "+1 −1"


@pytest.mark.parametrize(
    ("left_out", "is_new", "words"),
    [
        ("binary", False, "Binary file, 48 kB, was 31 kB."),
        ("binary", True, "Binary file, 48 kB, new."),
        ("too_long", False, "What changed is too long to be kept line by line: 48 kB, was 31 kB."),
        ("unreadable", False, "What was there before could not be read. The file has 48 kB now."),
    ],
)
def test_what_has_no_lines_is_said(left_out, is_new, words):
    diff = changed("", "", left_out=left_out, is_new=is_new, old_size=31_000, new_size=48_000)
    assert (diff.note, diff.blocks) == (words, ())


def test_writing_what_is_there_already_is_said():
    assert changed("", "").note == "The file was the same already."
    assert changed("", "", is_new=True).note == "A new file, empty."


def test_a_file_of_nothing_but_hidden_characters_is_not_drawn():
    assert "too many hidden characters" in changed("", "\u200b" * 6_000).note


@pytest.mark.parametrize(
    ("size", "words"),
    [
        *((0, "0 bytes"), (999, "999 bytes"), (9_400, "9 kB"), (999_499, "999 kB")),
        *((999_500, "1 MB"), (1.24e6, "1.2 MB"), (999_949_999, "999.9 MB")),
        *((999_950_000, "1 GB"), (1.23e9, "1.2 GB"), (4e12, "4000 GB")),
    ],
)
def test_sizes_are_read_at_a_glance(size, words):
    assert format_size(int(size)) == words


@pytest.mark.django_db(transaction=True)
class TestThePage:
    @pytest.fixture
    def chat(self):
        c = conversation(plan={"enabled": False})
        (files_of(c) / "a.md").write_text("old line\n")
        scripted(
            call("edit_file", path="a.md", old="old line", new="a < b\nline"),
            call("edit_file", path="none.md", old="x", new="y"),
            call("read_file", path="a.md"),
            say("Done."),
        )
        tell(c, "edit")
        return c

    def test_a_diff_stands_in_place_of_arguments_and_result(self, chat):
        made = calls_of(chat)[0]
        page = html(signed_in(person()).get(f"/c/{chat.pk}/"))
        diff = page[page.index(f'id="call-{made.pk}-diff"') :]
        diff = diff[: diff.index("</details>")]
        assert "Changes in a.md, 2 lines added, 1 removed" in diff
        assert "a &lt; b" in diff
        assert "Edited a.md at line 1." not in page
        assert "+2 −1" in page

    def test_a_call_that_failed_shows_arguments_and_why(self, chat):
        page = html(signed_in(person()).get(f"/c/{chat.pk}/"))
        assert "none.md does not exist." in page
        assert f'id="call-{calls_of(chat)[1].pk}-diff"' not in page

    def test_all_of_a_long_one_comes_when_asked_for_and_to_nobody_else(self, chat):
        made = calls_of(chat)[0]
        answer = html(signed_in(person()).get(f"/calls/{made.pk}/diff"))
        assert f'hx-target="#call-{made.pk}-diff"' in answer
        assert "a &lt; b" in answer
        assert signed_in(person("bob")).get(f"/calls/{made.pk}/diff").status_code == 404
        assert Client().get(f"/calls/{made.pk}/diff").status_code == 302
        for other in calls_of(chat)[1:]:
            assert signed_in(person()).get(f"/calls/{other.pk}/diff").status_code == 404

    def test_a_long_result_begins_with_its_first_lines(self, chat):
        made = calls_of(chat)[2]
        made.result = "\n".join(f"row {n};" for n in range(300))
        made.save()
        page = html(signed_in(person()).get(f"/c/{chat.pk}/"))
        assert "Show all 300 lines" in page
        assert "row 11;" in page
        assert "row 12;" not in page
        whole = html(signed_in(person()).get(f"/calls/{made.pk}/result"))
        assert "row 299;" in whole
        assert "Show all" not in whole
        assert signed_in(person("bob")).get(f"/calls/{made.pk}/result").status_code == 404

    def test_scripts_read_it_too(self, chat):
        made = signed_in(person()).get(f"/api/conversations/{chat.pk}/messages").json()
        [first, second, third] = [c for m in made["items"] for c in m["tool_calls"]]
        assert first["change"] == {
            "is_new": False,
            "line": 1,
            "old": "old line",
            "new": "a < b\nline",
            "left_out": "",
            "old_size": 9,
            "new_size": 11,
        }
        assert second["change"] is None
        assert third["change"] is None


# Whole files


def drawn(old, new):
    return rows(diff_of_files(old, new, "The same lines."))


def test_a_file_without_a_newline_at_its_end_is_another_than_one_with():
    diff = diff_of_files("a\nb", "a\nb\n", "")
    assert diff.signs == "+1 −1"
    assert rows(diff) == [
        ("", "1", "1", "a"),
        ("−", "2", "", "bno newline"),
        ("+", "", "2", "b"),
    ]


def test_words_that_changed_are_marked_in_a_last_line_without_a_newline():
    [gone, added] = diff_of_files("one two three", "one 2 three", "").rows
    assert "<del" in gone.html and "no newline" in gone.html
    assert "<ins" in added.html and "no newline" in added.html


def test_line_ends_of_windows_are_not_drawn_where_the_last_line_has_none():
    assert drawn("a\r\nb\r\n", "a\r\nc") == [
        ("", "1", "1", "a"),
        ("−", "2", "", "b"),
        ("+", "", "2", "cno newline"),
    ]


@pytest.mark.parametrize("sign", ["\x0c", "\u2028", "\x85", "\x0b"])
def test_only_a_newline_ends_a_line(sign):
    diff = diff_of_files(f"a{sign}b\n", f"a{sign}c\n", "")
    assert (diff.lines, diff.added, diff.removed) == (2, 1, 1)


def test_as_many_lines_are_drawn_as_are_counted():
    diff = diff_of_files("\n", "", "")
    assert (diff.signs, rows(diff)) == ("−1", [("−", "1", "", "")])
