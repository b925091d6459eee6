"""Before the yes a person sees what a call would do to the file as it is now, all of it."""

import re
from html import unescape

import pytest

from tests.fake_model import call, say
from tests.inner import draw_call
from tests.markup import html
from tests.world import (
    HTMX,
    calls_of,
    conversation,
    drive,
    files_of,
    person,
    scripted,
    signed_in,
    tell,
)

pytestmark = pytest.mark.django_db(transaction=True)


def asked(text, tool, **arguments):
    """The call of an agent that asks, about a file of this text."""
    c = conversation(tools={tool: "ask"}, plan={"enabled": False})
    if text is not None:
        (files_of(c) / "a.txt").write_bytes(text.encode())
    scripted(call(tool, path="a.txt", **arguments), say("ok"))
    tell(c, "change it")
    [made] = calls_of(c)
    return c, made


def rows(drawn):
    change = drawn.arguments[-1].drawing
    return [
        (row.sign, row.old_number, row.number, unescape(re.sub("<[^>]+>", "", row.html)))
        for row in change.rows
    ]


def decide(c, made, decision="allow_once"):
    answer = html(signed_in(person()).get(f"/c/{c.pk}/"))
    against = re.search(r'name="against" value="(\w+)"', answer)
    values = {"decision": decision} | ({"against": against[1]} if against else {})
    return lambda: signed_in(person()).post(
        f"/c/{c.pk}/calls/{made.pk}/decide", values, headers=HTMX
    )


def test_a_file_that_is_written_anew_is_compared_with_what_is_there():
    _, made = asked("one\ntwo\nthree\n", "write_file", content="one\n2\nthree\n")
    drawn = draw_call(made)
    assert rows(drawn)[:4] == [
        ("", "1", "1", "one"),
        ("−", "2", "", "two"),
        ("+", "", "2", "2"),
        ("", "3", "3", "three"),
    ]
    assert drawn.is_whole


def test_every_line_of_it_is_shown_however_far_from_a_change():
    text = "\n".join(f"line {n}" for n in range(100))
    _, made = asked(text, "write_file", content=text + "\nlast")
    assert len(rows(draw_call(made))) == 101


def test_an_edit_stands_at_its_place_with_all_of_its_text_and_three_lines_around():
    text = "\n".join(f"line {n}" for n in range(1, 31))
    old = "\n".join(f"line {n}" for n in range(10, 20))
    _, made = asked(text, "edit_file", old=old, new=old.replace("line 10", "LINE 10"))
    found = rows(draw_call(made))
    assert found[0] == ("", "7", "7", "line 7")
    assert found[3:5] == [("−", "10", "", "line 10"), ("+", "", "10", "LINE 10")]
    assert found[-1] == ("", "22", "22", "line 22")


def test_an_edit_in_mid_line_shows_the_line():
    _, made = asked("say hello to her", "edit_file", old="hello", new="goodbye")
    assert [row[3] for row in rows(draw_call(made))] == ["say hello to her", "say goodbye to her"]


def test_windows_line_ends_are_not_drawn_as_boxes():
    _, made = asked("one\r\ntwo\r\n", "edit_file", old="two", new="2\n3")
    drawn = draw_call(made)
    assert drawn.hidden == 0
    assert "U+000D" not in str(rows(drawn))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nothing like it", "As the file is now: old was found 0 times in a.txt."),
        (None, "As the file is now: a.txt does not exist."),
        ("here\0", "As the file is now: a.txt is not a text file."),
    ],
)
def test_an_edit_that_would_fail_says_so_and_shows_its_arguments(text, why):
    c, made = asked(text, "edit_file", old="two", new="2")
    drawn = draw_call(made)
    assert drawn.note.startswith(why)
    assert [row[3] for row in rows(drawn)] == ["two", "2"]
    assert why in html(signed_in(person()).get(f"/c/{c.pk}/"))


def test_what_is_there_and_too_long_is_said_and_the_new_text_is_shown():
    _, made = asked("x\n" * 6_000, "write_file", content="new")
    drawn = draw_call(made)
    assert drawn.note == "What it would replace is too long to be shown beside it."
    assert drawn.is_whole


def test_a_yes_counts_only_for_the_file_that_was_shown():
    c, made = asked("mine\n", "write_file", content="its\n")
    allow = decide(c, made)
    (files_of(c) / "a.txt").write_text("mine, and more\n")
    refused = allow()
    assert refused.status_code == 409
    assert "The file has changed since this was shown. Nothing was allowed." in html(refused)
    made.refresh_from_db()
    assert (made.state, made.decision) == ("asked", "")
    assert "mine, and more" in html(signed_in(person()).get(f"/c/{c.pk}/"))
    assert decide(c, made)().status_code == 200
    drive()
    assert (files_of(c) / "a.txt").read_text() == "its\n"
    made.refresh_from_db()
    assert made.change.old == "mine, and more"


def test_the_list_of_what_waits_shows_the_change_anew_too():
    c, made = asked("mine\n", "write_file", content="its\n")
    page = html(signed_in(person()).get("/needs/"))
    address = re.search(r'hx-post="([^"]*/decide)"', page)[1]
    values = {"decision": "allow_once", "against": re.search(r'"against" value="(\w+)"', page)[1]}
    values["need"] = f"approval-{made.pk}"
    (files_of(c) / "a.txt").write_text("mine, and more\n")
    refused = signed_in(person()).post(address, values, headers=HTMX)
    assert refused.status_code == 409
    assert "mine, and more" in html(refused)
    assert "Nothing was allowed." in html(refused)
    made.refresh_from_db()
    assert made.state == "asked"


def test_a_no_counts_whatever_the_file_is():
    c, made = asked("mine\n", "write_file", content="its\n")
    deny = decide(c, made, "deny")
    (files_of(c) / "a.txt").write_text("mine, and more\n")
    assert deny().status_code == 200


CARRIAGE_RETURNS = {
    "a new file": (None, "ls\r\n# \rrm -rf ~\r\n"),
    "a file of one line": ("ls", "ls\r\nrm -rf ~\r\n"),
    "an empty file": ("", "ls\r\n"),
    "line ends that change to Windows'": ("one\ntwo\n", "one\r\ntwo\r\n"),
    "line ends that change from Windows'": ("one\r\ntwo\r\n", "one\ntwo\n"),
    "one line end that changes": ("one\r\ntwo\r\n", "one\r\ntwo\n"),
    "one in mid line": ("one\r\ntwo\r\n", "one\r\nt\rwo\r\n"),
    "two before a line end": ("one\r\ntwo\r\n", "one\r\ntwo\r\r\n"),
    "one at the end of all": ("one\r\ntwo", "one\r\ntwo\r"),
}


@pytest.mark.parametrize("what", CARRIAGE_RETURNS)
def test_a_carriage_return_that_comes_or_goes_is_drawn_and_a_change(what):
    text, content = CARRIAGE_RETURNS[what]
    _, made = asked(text, "write_file", content=content)
    found = rows(draw_call(made))
    changed = [row for row in found if row[0]]
    assert any("U+000D" in row[3] for row in changed), found
    assert not any("\r" in row[3] for row in found)


@pytest.mark.parametrize("place", range(0, 30, 7))
def test_a_file_with_windows_line_ends_that_keeps_them_is_drawn_without_boxes(place):
    text = "".join(f"line {n}.\r\n" for n in range(30))
    _, made = asked(text, "edit_file", old=f"line {place}.", new="another\nand one more")
    assert draw_call(made).hidden == 0
