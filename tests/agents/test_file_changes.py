"""What a call replaced in a file is kept with the call: bounded, before the file is written."""

import os

import pytest
from asgiref.sync import async_to_sync

from agents.db import in_db
from agents.models import FileChange, ToolCall
from tests.fake_model import call, say
from tests.inner import FILE_CHANGES_MOST_KEPT as MOST_KEPT
from tests.inner import change_of, claim, handle_message, handler_of, put_back_orphans, run_chain
from tests.world import calls_of, conversation, drive, files_of, scripted, tell


def page(*lines):
    return "".join(f"{line}\n" for line in lines).encode()


def test_the_lines_that_differ_are_kept_with_three_around_them():
    old, new = list(range(1, 21)), [*range(1, 10), "ten", *range(11, 21)]
    change = change_of(page(*old), page(*new))
    assert (change.line, change.is_new, change.left_out) == (7, False, "")
    assert change.old == "7\n8\n9\n10\n11\n12\n13"
    assert change.new == "7\n8\n9\nten\n11\n12\n13"


def test_of_a_new_file_all_lines_are_new():
    change = change_of(None, page("a", "b"))
    assert (change.is_new, change.line, change.old, change.new) == (True, 1, "", "a\nb")


def test_a_line_end_that_only_one_side_has_at_its_end_is_a_difference():
    change = change_of(b"a\nb", b"a\nb\n")
    assert (change.old, change.new) == ("a\nb", "a\nb\n")


def test_what_stays_the_same_changes_nothing():
    assert change_of(page("a"), page("a")).changes_nothing
    assert not change_of(None, b"").changes_nothing


@pytest.mark.parametrize("old", [b"\x89PNG\0", b"\xff\xfe"])
def test_of_a_binary_file_only_the_sizes_are_kept(old):
    change = change_of(old, page("a"))
    assert (change.left_out, change.old, change.new) == ("binary", "", "")
    assert (change.old_size, change.new_size) == (len(old), 2)


def test_what_is_long_is_kept_where_little_of_it_changes_and_else_left_out():
    lines = ["x" * 50] * 20_000
    little = change_of(page(*lines), page(*lines, "y"))
    assert not little.left_out
    assert len(little.new) < 300
    much = change_of(page("z" * (MOST_KEPT + 1)), page("a"))
    assert (much.left_out, much.old) == ("too_long", "")


@pytest.mark.parametrize("odd", ["missing/deep/file", ".", "a.txt"])
@pytest.mark.django_db(transaction=True)
def test_what_cannot_be_read_before_may_still_be_written(odd):
    """Root reads everything: so the file is larger than what is read."""
    c = conversation(plan={"enabled": False})
    (files_of(c) / "a.txt").write_bytes(b"")
    os.truncate(files_of(c) / "a.txt", 5_000_000_000)
    scripted(call("write_file", path=odd, content="new"), say("ok"))
    tell(c, "write")
    [made] = calls_of(c)
    if odd == ".":
        assert made.state == "failed"
        assert made.change is None
    else:
        assert (files_of(c) / odd).read_text() == "new"
        assert made.change.left_out == ("unreadable" if odd == "a.txt" else "")


@pytest.mark.django_db(transaction=True)
class TestACall:
    def test_an_edit_keeps_what_it_replaced_and_the_model_is_not_told(self):
        c = conversation(plan={"enabled": False})
        (files_of(c) / "a.txt").write_text("one\ntwo SECRET\nthree\n")
        edit = call("edit_file", path="a.txt", old="three", new="3")
        model = scripted(edit, say("ok"))
        tell(c, "edit")
        [made] = calls_of(c)
        assert made.change.old == "one\ntwo SECRET\nthree"
        assert made.change.new == "one\ntwo SECRET\n3"
        assert "SECRET" not in str(model.requests)

    def test_windows_line_ends_are_kept_as_they_are(self):
        c = conversation(plan={"enabled": False})
        (files_of(c) / "a.txt").write_bytes(b"one\r\ntwo\r\n")
        scripted(call("edit_file", path="a.txt", old="two", new="2\n3"), say("ok"))
        tell(c, "edit")
        assert calls_of(c)[0].change.new == "one\r\n2\r\n3\r"

    def test_a_call_that_failed_changed_nothing(self):
        c = conversation(plan={"enabled": False})
        scripted(call("edit_file", path="none.txt", old="a", new="b"), say("ok"))
        tell(c, "edit")
        assert calls_of(c)[0].change is None
        assert not FileChange.objects.exists()

    def test_a_call_that_is_carried_out_again_after_a_crash_keeps_what_was_there_first(self):
        c = conversation(plan={"enabled": False})
        (files_of(c) / "a.txt").write_text("mine\n")
        scripted(call("write_file", path="a.txt", content="its\n"), say("ok"))
        self.written_and_killed(c)
        assert (files_of(c) / "a.txt").read_text() == "its\n"
        put_back_orphans(all_of_them=True)
        drive()
        [made] = calls_of(c)
        assert made.state == "done"
        assert (made.change.old, made.change.new) == ("mine", "its")

    def test_one_killed_before_it_wrote_keeps_what_it_finds_then(self):
        c = conversation(plan={"enabled": False})
        (files_of(c) / "a.txt").write_text("mine\n")
        scripted(call("write_file", path="a.txt", content="its\n"), say("ok"))
        self.written_and_killed(c)
        (files_of(c) / "a.txt").write_text("changed meanwhile\n")
        put_back_orphans(all_of_them=True)
        drive()
        assert calls_of(c)[0].change.old == "changed meanwhile"

    def written_and_killed(self, c):
        """The process dies when the file is written and the result not yet stored."""
        handle_message(c, "write", "alice", None)
        [turn] = claim(1)

        async def first_half():
            work = await in_db(handler_of(turn).prepare, turn)
            changes = 0
            async for event in run_chain(turn, work):
                changes += type(event).__name__ == "ToolCallChanged"
                if changes == 2:
                    return

        async_to_sync(first_half)()
        ToolCall.objects.update(state="running", result="", finished_at=None)
