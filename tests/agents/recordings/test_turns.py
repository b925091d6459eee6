"""What a turn changed in its folder: recorded before it writes, and as it ends."""

import asyncio
import os
from pathlib import Path

import pytest
from asgiref.sync import async_to_sync
from django.utils import timezone

from agents.db import in_db
from agents.errors import TurnLost
from agents.models import Observation, Recording, ToolCall, Turn, Undo
from plans import actions
from tests.fake_model import call, say
from tests.inner import AUTHORSHIP_TICK as CLOCK
from tests.inner import (
    Scope,
    Store,
    claim,
    handle_message,
    handler_of,
    loop,
    put_back_orphans,
    read_changes,
    record_all_ended,
    recordings,
    request_stop,
    retention,
    retry_reply,
    run_chain,
)
from tests.patience import until_files_are_older
from tests.world import (
    ALL_FILE_TOOLS,
    conversation,
    done,
    drive,
    eventually,
    files_of,
    happening,
    person,
    plan_of,
    proposed,
    scripted,
    tell,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_home")]

WITH_SHELL = {**ALL_FILE_TOOLS, "shell": "allow"}


def damaging(c, last):
    """A model that writes a file, and then what is recorded is as a failing disk leaves it."""

    def model(request):
        if request["messages"][-1]["role"] != "tool":
            return call("write_file", path="a.txt", content="its\n")
        for pack in (Store.of(files_of(c).resolve()).folder / "pack").glob("*.pack"):
            content = pack.read_bytes()
            pack.write_bytes(content[:20] + bytes(len(content) - 40) + content[-20:])
        return last

    return model


def admin(name="alice"):
    user = person(name)
    user.is_superuser = True
    user.save()
    return user


def changes_of(recording):
    with Store.of(Path(recording.root)) as store:
        return {each.path: each for each in read_changes(store, recording.changes)}


def origins(recording):
    return {path: each.origin for path, each in changes_of(recording).items()}


def shell(command):
    return call("shell", command=command)


def linked(folder, owner="alice", **values):
    """A conversation with an agent that works in a folder of the person's own."""
    admin(owner)
    folder.mkdir(exist_ok=True)
    values = {"tools": WITH_SHELL, **values}
    return conversation(owner, workspace=str(folder), plan={"enabled": False}, **values)


@pytest.fixture
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("linked")


class TestAChatTurn:
    def test_one_that_writes_nothing_records_nothing(self):
        c = conversation(plan={"enabled": False})
        (files_of(c) / "a.txt").write_text("one")
        scripted(call("read_file", path="a.txt"), say("read"))
        tell(c, "read")
        assert not Recording.objects.exists()

    def test_what_it_wrote_is_told_with_lines(self):
        c = conversation(plan={"enabled": False})
        (files_of(c) / "a.txt").write_text("one\ntwo\nthree\n")
        edit = call("edit_file", path="a.txt", old="two", new="2\nand a half")
        scripted(edit, call("write_file", path="docs/b.md", content="new\n"), say("ok"))
        tell(c, "write")
        [recording] = Recording.objects.all()
        assert (recording.files, recording.added, recording.removed) == (2, 3, 1)
        found = changes_of(recording)
        assert {path: each.kind for path, each in found.items()} == {
            "a.txt": "modified",
            "docs/b.md": "added",
        }
        assert recording.ended_at
        assert (recording.outside, recording.unsure, recording.stopped) == (0, 0, "")

    def test_a_command_may_move_remove_and_link(self):
        admin()
        c = conversation(plan={"enabled": False}, tools=WITH_SHELL)
        for name in ("old.txt", "gone.txt"):
            (files_of(c) / name).write_text(f"{name}\nwith text\n")
        scripted(
            shell("mv old.txt new.txt; rm gone.txt; ln -s new.txt link; chmod 600 new.txt"),
            say("ok"),
        )
        tell(c, "write")
        found = changes_of(Recording.objects.get())
        assert {(each.kind, each.path, each.was) for each in found.values()} == {
            ("renamed", "new.txt", "old.txt"),
            ("deleted", "gone.txt", ""),
            ("added", "link", ""),
        }

    def test_a_folder_that_was_moved_is_its_own_change_though_its_files_have_old_times(self):
        admin()
        c = conversation(plan={"enabled": False}, tools=WITH_SHELL)
        (files_of(c) / "docs" / "deep").mkdir(parents=True)
        (files_of(c) / "docs" / "deep" / "a.md").write_text("a text\n")
        until_files_are_older(CLOCK)
        scripted(shell("mv docs papers"), say("ok"))
        tell(c, "move")
        [change] = changes_of(Recording.objects.get()).values()
        assert (change.kind, change.path, change.was) == (
            "renamed",
            "papers/deep/a.md",
            "docs/deep/a.md",
        )

    def test_a_turn_that_failed_or_was_stopped_has_left_what_it_wrote(self):
        c = conversation(plan={"enabled": False})
        writes = call("write_file", path="a.txt", content="its\n")
        scripted(writes, {"status": 401, "body": "no"})
        tell(c, "write")
        assert Turn.objects.get().state == "failed"
        assert Recording.objects.get().files == 1

    def test_of_a_waiting_turn_that_is_stopped_it_is_recorded_by_whoever_comes_next(self):
        c = conversation(plan={"enabled": False}, tools={**ALL_FILE_TOOLS, "edit_file": "ask"})
        scripted(
            call("write_file", path="a.txt", content="its\n"),
            call("edit_file", path="a.txt", old="its", new="other"),
        )
        tell(c, "write")
        turn = Turn.objects.get()
        assert turn.waiting_for == "approval"
        request_stop(turn, "alice")
        assert not Recording.objects.get().ended_at
        async_to_sync(record_all_ended)()
        assert Recording.objects.get().files == 1

    def test_too_much_is_said_and_the_turn_goes_on(self, monkeypatch):
        monkeypatch.setattr("agents.changes.scan.MOST_FILES", 1)
        c = conversation(plan={"enabled": False})
        for name in "ab":
            (files_of(c) / name).write_text("")
        scripted(call("write_file", path="c.txt", content="its\n"), say("ok"))
        tell(c, "write")
        recording = Recording.objects.get()
        assert (recording.stopped, recording.files) == ("files", 0)
        assert Turn.objects.get().state == "done"

    def test_a_damaged_recording_is_no_reason_to_fail(self):
        c = conversation(plan={"enabled": False})
        (files_of(c) / "a.txt").write_text("mine\n" * 1000)
        scripted(damaging(c, say("ok")))
        tell(c, "write")
        assert Recording.objects.get().stopped == "failed"
        assert Turn.objects.get().state == "done"

    def test_a_damaged_recording_keeps_none_of_other_folders_from_its_end(self):
        asks = {"plan": {"enabled": False}, "tools": {**ALL_FILE_TOOLS, "edit_file": "ask"}}
        for title in ("damaged", "whole"):
            c = conversation(**asks)
            (files_of(c) / "a.txt").write_text("mine\n" * 1000)
            edit = call("edit_file", path="a.txt", old="its", new="other")
            if title == "damaged":
                scripted(damaging(c, edit))
            else:
                scripted(call("write_file", path="a.txt", content="its\n"), edit)
            tell(c, "write")
        for turn in Turn.objects.all():
            request_stop(turn, "alice")
        async_to_sync(record_all_ended)()
        rows = Recording.objects.order_by("pk").values_list("stopped", "files")
        assert list(rows) == [("failed", 0), ("", 1)]

    def test_a_folder_that_cannot_be_recorded_is_no_reason_to_fail(self, monkeypatch):
        def fail(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(recordings, "record", fail)
        c = conversation(plan={"enabled": False})
        scripted(call("write_file", path="c.txt", content="its\n"), say("ok"))
        tell(c, "write")
        assert Recording.objects.get().stopped == "failed"
        assert Turn.objects.get().state == "done"


class TestAnAttempt:
    def test_each_subtask_has_its_own_changes(self):
        c = proposed("One", "Two", plan={"enabled": True, "auto_run": False})
        (files_of(c) / "a.txt").write_text("one\n")
        scripted(
            call("write_file", path="a.txt", content="two\n"),
            done(),
            call("write_file", path="b.txt", content="x\ny\n"),
            done(),
            say("all done"),
        )
        actions.approve_plan(plan_of(c), 1, "alice", run="all")
        drive()
        rows = Recording.objects.order_by("pk").values_list("files", "added", "removed")
        assert list(rows) == [(1, 1, 1), (1, 2, 0)]

    def test_one_without_a_tool_that_writes_records_nothing(self):
        c = proposed("One", tools={"read_file": "allow"})
        scripted(done(), say("all done"))
        actions.approve_plan(plan_of(c), 1, "alice", run="all")
        drive()
        assert not Recording.objects.exists()


class TestAfterAKill:
    def killed_after(self, c, calls):
        """Take the turn through its chain until this many calls have ended, and no further."""
        [turn] = claim(1)
        work = handler_of(turn).prepare(turn)

        async def story():
            seen = 0
            async for event in run_chain(turn, work):
                if type(event).__name__ == "ToolCallChanged":
                    seen += 1
                    if seen == 2 * calls:
                        return

        async_to_sync(story)()

    def test_what_was_before_stays_what_was_before_the_first_try(self):
        c = conversation(plan={"enabled": False})
        (files_of(c) / "a.txt").write_text("mine\n")
        scripted(
            call("write_file", path="a.txt", content="first\n"),
            call("write_file", path="b.txt", content="second\n"),
            say("ok"),
        )
        handle_message(c, "write", "alice", None)
        self.killed_after(c, 1)
        put_back_orphans(all_of_them=True)
        drive()
        recording = Recording.objects.get()
        assert (recording.files, recording.removed) == (2, 1)

    def test_one_that_lost_its_turn_writes_no_recording(self):
        c = conversation(plan={"enabled": False})
        scripted(call("write_file", path="a.txt", content="first\n"), say("ok"))
        handle_message(c, "write", "alice", None)
        self.killed_after(c, 1)
        turn = Turn.objects.get()
        before = Recording.objects.get().before
        Turn.objects.update(epoch=turn.epoch + 1)
        with pytest.raises(TurnLost):
            async_to_sync(recordings.record_after)(turn)
        assert not Recording.objects.get().ended_at
        assert Recording.objects.get().before == before

    def test_killed_between_its_recording_and_its_end_more_is_recorded(self, monkeypatch):
        c = conversation(plan={"enabled": False})
        scripted(
            call("write_file", path="a.txt", content="first\n"),
            say("ok"),
            call("write_file", path="b.txt", content="second\n"),
            say("ok"),
        )
        with monkeypatch.context() as dying:
            dying.setattr(loop, "conclude", lost)
            tell(c, "write")
        assert Recording.objects.get().ended_at
        put_back_orphans(all_of_them=True)
        drive()
        assert Turn.objects.get().state == "done"
        recording = Recording.objects.get()
        assert recording.ended_at
        assert origins(recording) == {"a.txt": "own", "b.txt": "own"}
        assert recording.files == 2


def lost(*_):
    raise TurnLost


class TestATryAgain:
    def failed(self):
        c = conversation(plan={"enabled": False})
        (files_of(c) / "mine.txt").write_text("mine\n")
        scripted(call("write_file", path="a.txt", content="its\n"), {"status": 401, "body": "no"})
        tell(c, "write")
        assert Recording.objects.get().files == 1
        scripted(call("write_file", path="b.txt", content="its\n"), say("ok"))
        return c

    def test_what_it_writes_is_recorded_besides_what_the_reply_had_written_before(self):
        c = self.failed()
        retry_reply(c, "alice")
        drive()
        recording = Recording.objects.get()
        assert origins(recording) == {"a.txt": "own", "b.txt": "own"}
        assert recording.ended_at
        actions.undo_changes(Scope(recording.turn), "alice")
        assert [each.name for each in files_of(c).iterdir()] == ["mine.txt"]

    def test_what_was_before_is_not_made_up_where_it_is_not_kept_any_more(self):
        c = self.failed()
        retention.forget(Recording.objects.all(), Undo.objects.none())
        retry_reply(c, "alice")
        drive()
        recording = Recording.objects.get()
        assert (recording.stopped, recording.files, recording.changes) == ("failed", 0, "")
        assert recording.ended_at

    def test_a_folder_that_could_not_be_recorded_at_the_failure_is_recorded_later(
        self, monkeypatch
    ):
        with monkeypatch.context() as full:
            full.setattr("agents.changes.scan.MOST_FILES", 1)
            c = conversation(plan={"enabled": False})
            scripted(*(call("write_file", path=p, content="x") for p in "ab"), {"status": 401})
            tell(c, "write")
        assert Recording.objects.get().stopped == "files"
        scripted(say("ok"))
        retry_reply(c, "alice")
        drive()
        recording = Recording.objects.get()
        assert (recording.stopped, recording.files) == ("", 2)

    def test_the_recording_of_the_stop_comes_too_late_then(self):
        c = self.failed()
        Recording.objects.update(ended_at=None)
        recording = Recording.objects.select_related("turn").get()
        retry_reply(c, "alice")
        recordings.save_ended(recording)
        assert not Recording.objects.get().ended_at


class TestWhoseItIs:
    def test_what_a_person_changed_meanwhile_is_outside(self, folder):
        c = linked(folder)
        for name in ("hers.txt", "gone.txt", "its.txt"):
            (folder / name).write_text("text\n")

        def model(request):
            turns = [m for m in request["messages"] if m["role"] == "tool"]
            if not turns:
                return shell("echo more >> its.txt")
            until_files_are_older(CLOCK)
            (folder / "hers.txt").write_text("hers\n")
            (folder / "new.txt").write_text("hers\n")
            return say("ok")

        scripted(model)
        tell(c, "write")
        recording = Recording.objects.get()
        assert origins(recording) == {
            "hers.txt": "outside",
            "new.txt": "outside",
            "its.txt": "own",
        }
        assert (recording.files, recording.outside) == (1, 2)

    def test_what_was_written_over_since_is_of_both(self, folder):
        c = linked(folder)

        def model(request):
            if request["messages"][-1]["role"] != "tool":
                return call("write_file", path="a.txt", content="its\n")
            until_files_are_older(CLOCK)
            (folder / "a.txt").write_text("hers\n")
            return say("ok")

        scripted(model)
        tell(c, "write")
        assert origins(Recording.objects.get()) == {"a.txt": "both"}

    def test_a_call_that_failed_has_written_nothing(self, folder):
        c = linked(folder)
        (folder / "a.md").write_text("of before\n")

        def hers():
            (folder / "a.md").write_text("hers\n")
            return say("ok")

        fails = call("edit_file", path="a.md", old="not there", new="its")
        scripted(self.apart(call("write_file", path="c.md", content="text\n"), fails, hers))
        tell(c, "write")
        assert origins(Recording.objects.get()) == {"c.md": "own", "a.md": "outside"}

    @pytest.mark.parametrize("is_there", [True, False])
    def test_what_others_wrote_in_place_and_the_turn_then_edited_is_of_both(self, folder, is_there):
        c = linked(folder)
        if is_there:
            (folder / "a.md").write_text("of before\n")

        def hers():
            (folder / "a.md").write_text("hers\n")
            until_files_are_older(CLOCK)
            return call("edit_file", path="a.md", old="hers", new="its")

        scripted(self.apart(call("write_file", path="c.md", content="text\n"), hers))
        tell(c, "write")
        assert origins(Recording.objects.get()) == {"c.md": "own", "a.md": "both"}

    def test_a_file_that_was_written_through_a_link_is_known_by_where_that_led_then(self, folder):
        c = linked(folder)
        for name in "de":
            (folder / name).mkdir()
            (folder / name / "x").write_text("of before\n")
        (folder / "link").symlink_to("d")
        write = call("write_file", path="link/x", content="its\n")

        def hers():
            (folder / "link").unlink()
            (folder / "link").symlink_to("e")
            return say("ok")

        scripted(self.apart(write, hers))
        tell(c, "write")
        assert origins(Recording.objects.get()) == {"d/x": "own", "link": "outside"}

    def test_a_file_that_a_turn_edits_time_and_again_is_its_own(self, folder):
        c = linked(folder)
        edits = [call("edit_file", path="a.md", old=str(i), new=str(i + 1)) for i in range(4)]
        scripted(self.apart(call("write_file", path="a.md", content="0\n"), *edits))
        tell(c, "write")
        assert origins(Recording.objects.get()) == {"a.md": "own"}

    def test_of_two_calls_between_which_nothing_happens_to_their_files_nothing_is_noted(
        self, folder
    ):
        c = linked(folder)
        (folder / "docs").mkdir()
        calls = [call("write_file", path=f"docs/{i}.md", content="text\n") for i in range(3)]

        def hers():
            (folder / "hers.md").write_text("hers\n")
            return calls[2]

        scripted(self.apart(*calls[:2], hers))
        tell(c, "write")
        assert not Observation.objects.filter(call=None).exists()
        assert origins(Recording.objects.get())["hers.md"] == "outside"

    @pytest.mark.parametrize(
        ("command", "whose"),
        [
            ("echo its >> a.md", {"a.md": "both"}),
            ("rm a.md", {"a.md": "both"}),
            ("mv a.md b.md", {"a.md": "both", "b.md": "both"}),
            ("echo its > b.md", {"a.md": "outside", "b.md": "own"}),
        ],
    )
    @pytest.mark.parametrize("is_replaced", [True, False])
    @pytest.mark.parametrize("is_restarted", [True, False])
    def test_what_others_saved_between_two_commands_is_not_forgotten(
        self, folder, command, whose, is_replaced, is_restarted
    ):
        c = linked(folder)
        (folder / "a.md").write_text("of before\n")

        def hers():
            saved = folder / (".new" if is_replaced else "a.md")
            saved.write_text("hers\n")
            saved.replace(folder / "a.md")
            until_files_are_older(CLOCK)
            if is_restarted:
                recordings.watches.clear()
            return shell(command)

        scripted(self.apart(shell("echo > c.md"), hers))
        tell(c, "write")
        assert origins(Recording.objects.get()) == {"c.md": "own", **whose}

    def test_what_others_took_while_nobody_looked_is_not_forgotten(self, folder):
        c = linked(folder)
        for name in ("a.md", "b.md", "d/c.md"):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text("of before\n")

        def hers():
            (folder / "a.md").unlink()
            (folder / "d").rename(folder / "e")
            until_files_are_older(CLOCK)
            recordings.watches.clear()
            return shell("echo its > a.md; rm b.md e/c.md")

        scripted(self.apart(shell("echo > c.md"), hers))
        tell(c, "write")
        assert origins(Recording.objects.get()) == {
            "a.md": "both",
            "b.md": "own",
            "c.md": "own",
            "d/c.md": "outside",
        }

    def test_what_others_brought_and_the_turn_moved_is_asked_about(self, folder):
        c = linked(folder)
        (folder / "docs").mkdir()

        def hers():
            (folder / "new").mkdir()
            for path in ("report.pdf", "new/x"):
                (folder / path).write_text("hers\n")
                os.utime(folder / path, (1, 1))
            until_files_are_older(CLOCK)
            return shell("mv report.pdf new docs/")

        scripted(self.apart(shell("echo > c.md"), hers))
        tell(c, "write")
        assert origins(Recording.objects.get()) == {
            "c.md": "own",
            "docs/report.pdf": "both",
            "docs/new/x": "both",
        }

    def test_what_happened_since_a_call_began_whose_process_died_is_asked_about(self, folder):
        c = linked(folder, tools={"write_file": "allow", "shell": "ask"})
        scripted(self.apart(call("write_file", path="c.md", content="text\n"), shell("sleep 9")))
        tell(c, "write")
        cut_off = ToolCall.objects.filter(tool="shell")
        cut_off.update(state="running", decision="allow_once", started_at=timezone.now())
        Turn.objects.update(state="queued", waiting_for="")
        until_files_are_older(CLOCK)
        (folder / "hers.md").write_text("hers\n")
        until_files_are_older(CLOCK)
        drive()
        assert cut_off.get().state == "interrupted"
        assert origins(Recording.objects.get()) == {"c.md": "own", "hers.md": "unsure"}

    def test_what_the_turn_removed_and_others_made_anew_is_of_both(self, folder):
        c = linked(folder)
        (folder / "a.md").write_text("of before\n")

        def hers():
            (folder / "a.md").write_text("hers\n")
            return say("ok")

        scripted(self.apart(shell("echo > c.md"), shell("rm a.md"), hers))
        tell(c, "write")
        assert origins(Recording.objects.get()) == {"c.md": "own", "a.md": "both"}

    def test_what_is_in_a_folder_that_the_turn_made_anew_is_its_own(self, folder):
        c = linked(folder)
        (folder / "d").mkdir()
        (folder / "d" / "a.md").write_text("of before\n")
        anew = 'r="$PWD"; cd ..; rm -r "$r"; mkdir -p "$r/d"; echo > "$r/d/b.md"; echo > "$r/c.md"'
        scripted(self.apart(shell(anew), shell(f"echo > {folder}/e.md")))
        tell(c, "write")
        own = dict.fromkeys(("d/a.md", "d/b.md", "c.md", "e.md"), "own")
        assert origins(Recording.objects.get()) == own

    def apart(self, *replies):
        """One call after the other, with some time in between."""

        def model(request):
            until_files_are_older(CLOCK)
            results = sum(message["role"] == "tool" for message in request["messages"])
            reply = [*replies, say("ok")][results]
            return reply() if callable(reply) else reply

        return model

    def test_a_file_in_a_new_folder_is_its_own_whatever_comes_into_that_later(self, folder):
        c = linked(folder)

        def hers():
            (folder / "out" / "hers.md").write_text("hers\n")
            return say("ok")

        write = [call("write_file", path=f"out/{name}.md", content="text\n") for name in "ab"]
        make = shell("mkdir out; echo > out/shell.md")
        scripted(self.apart(make, *write, hers))
        tell(c, "write")
        assert origins(Recording.objects.get()) == {
            "out/a.md": "own",
            "out/b.md": "own",
            "out/shell.md": "own",
            "out/hers.md": "outside",
        }

    def test_what_was_moved_and_removed_is_its_own_though_it_wrote_beside_it_later(self, folder):
        c = linked(folder)
        for name in ("old.md", "gone.md"):
            (folder / name).write_text(f"{name}\n")
        (folder / "docs").mkdir()
        (folder / "docs" / "a.md").write_text("a\n")
        write = call("write_file", path="c.md", content="text\n")
        scripted(self.apart(shell("mv old.md new.md; rm -r gone.md docs"), write))
        tell(c, "write")
        recording = Recording.objects.get()
        found = changes_of(recording)
        assert {(each.kind, each.path, each.was) for each in found.values()} == {
            ("renamed", "new.md", "old.md"),
            ("deleted", "gone.md", ""),
            ("deleted", "docs/a.md", ""),
            ("added", "c.md", ""),
        }
        assert set(origins(recording).values()) == {"own"}

    def test_what_is_gone_where_somebody_else_was_later_is_its_own(self, folder):
        c = linked(folder)
        for name in ("old.md", "gone.md", "hers.md"):
            (folder / name).write_text(f"{name}\n")

        def hers():
            (folder / "hers.md").rename(folder / "hers-too.md")
            return say("ok")

        scripted(self.apart(shell("mv old.md new.md; rm gone.md"), hers))
        tell(c, "write")
        found = changes_of(Recording.objects.get())
        assert {(each.path, each.was, each.origin) for each in found.values()} == {
            ("new.md", "old.md", "own"),
            ("gone.md", "", "own"),
            ("hers-too.md", "hers.md", "outside"),
        }

    def test_what_a_person_takes_from_a_folder_that_no_call_changed_is_theirs(self, folder):
        c = linked(folder)
        for name in ("docs/hers.txt", "docs/moved/x.txt", "its/own.txt"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(f"{name}\n")

        def model(request):
            if request["messages"][-1]["role"] != "tool":
                return call("shell", command="rm its/own.txt; sleep .02")
            (folder / "docs/hers.txt").unlink()
            (folder / "docs/moved").rename(folder / "elsewhere")
            return say("ok")

        scripted(model)
        tell(c, "work")
        recording = Recording.objects.get()
        assert origins(recording) == {
            "its/own.txt": "own",
            "docs/hers.txt": "outside",
            "elsewhere/x.txt": "outside",
        }

    def test_what_went_before_any_command_ran_is_outside(self, folder):
        c = linked(folder)
        (folder / "gone.md").write_text("text\n")

        def hers():
            (folder / "gone.md").unlink()
            until_files_are_older(CLOCK)
            return shell("true")

        scripted(self.apart(call("write_file", path="c.md", content="text\n"), hers))
        tell(c, "write")
        assert origins(Recording.objects.get())["gone.md"] == "outside"

    @pytest.mark.parametrize("waits_for", ["bob-shell", "bob.txt"])
    def test_two_agents_in_one_folder_see_their_own_as_far_as_tools_tell(self, folder, waits_for):
        alice, bob = linked(folder), linked(folder, "bob")
        meet = (
            "touch {0}-began; until [ -e alice-began -a -e bob-began ]; do sleep 0.02; done; "
            "echo > {0}-shell; until [ -e alice-shell -a -e {1} ]; do sleep 0.02; done"
        )

        def model(request):
            mine = "alice" if "for alice" in str(request["messages"]) else "bob"
            results = sum(message["role"] == "tool" for message in request["messages"])
            write = call("write_file", path=f"{mine}.txt", content="text\n")
            other = waits_for if mine == "alice" else "bob-shell"
            return [shell(meet.format(mine, other)), write, say("ok")][results]

        scripted(model)
        handle_message(alice, "for alice", "alice", None)
        handle_message(bob, "for bob", "bob", None)
        drive()
        first, second = Recording.objects.order_by("pk")
        assert origins(first)["alice.txt"] == "own"
        assert origins(first).get("bob.txt", "outside") == "outside"
        assert origins(second)["bob.txt"] == "own"
        assert origins(first)["alice-shell"] == origins(first)["bob-shell"] == "unsure"
        assert origins(second)["bob-shell"] == "unsure"

    def test_a_file_that_git_left_out_until_now_is_not_taken_for_new(self, folder):
        c = linked(folder)
        (folder / ".gitignore").write_text(".env\n")
        (folder / ".env").write_text("KEY=1\n")
        scripted(shell("rm .gitignore; echo more >> .env"), say("ok"))
        tell(c, "write")
        assert set(changes_of(Recording.objects.get())) == {".gitignore"}

    def test_a_large_file_that_shrinks_was_not_recorded_before(self, folder, monkeypatch):
        monkeypatch.setattr("agents.changes.scan.LARGEST", 1000)
        c = linked(folder)
        (folder / "big").write_bytes(b"x" * 2000)
        (folder / "grows").write_bytes(b"x")
        scripted(shell("echo small > big; head -c 2000 /dev/zero > grows"), say("ok"))
        tell(c, "write")
        found = changes_of(Recording.objects.get())
        assert {(p, each.kind, each.why) for p, each in found.items()} == {
            ("big", "not_recorded", "too_large"),
            ("grows", "not_recorded", "too_large"),
        }


class TestWhileSomebodyElseHoldsTheFolder:
    """For longer than a turn waits for the lock at once."""

    @pytest.fixture
    def c(self, monkeypatch):
        monkeypatch.setattr("agents.changes.store.LOCK_TIMEOUT", 0.02)
        monkeypatch.setattr(recordings, "AGAIN", 0.02, raising=False)
        scripted(call("write_file", path="a.txt", content="its\n"), say("ok"))
        return conversation(plan={"enabled": False})

    def test_a_turn_writes_nothing_before_a_long_undo_is_over(self, c):
        root = files_of(c).resolve()

        async def story(worker):
            undos = Undo.objects.filter(root=str(root))
            with Store.of(root) as store, store.locked():
                await in_db(lambda: Undo.objects.create(conversation=c, root=str(root)))
                await in_db(handle_message, c, "write", "alice", None)
                await eventually(lambda: Turn.objects.get().state == "running")
                await asyncio.sleep(0.2)
                assert not (root / "a.txt").exists()
                await in_db(lambda: undos.update(finished_at=timezone.now()))
            await eventually(lambda: Turn.objects.get().state == "done")

        happening(story, at_once=True)
        recording = Recording.objects.get()
        assert (recording.stopped, recording.files) == ("", 1)

    def test_a_turn_goes_on_without_a_recording_where_it_is_no_undo(self, c):
        root = files_of(c).resolve()

        async def story(worker):
            with Store.of(root) as store, store.locked():
                await in_db(handle_message, c, "write", "alice", None)
                await eventually(lambda: Turn.objects.get().state == "done")

        happening(story, at_once=True)
        assert Recording.objects.get().stopped == "failed"


def test_a_stop_does_not_wait_for_the_recording():
    c = conversation(plan={"enabled": False})

    def model(request):
        if request["messages"][-1]["role"] != "tool":
            return call("write_file", path="a.txt", content="its\n")
        return {"hang": True, **say("never")}

    scripted(model)

    async def story(worker):
        await in_db(handle_message, c, "write", "alice", None)
        await eventually(lambda: (files_of(c) / "a.txt").exists())
        await in_db(lambda: request_stop(Turn.objects.get(), "alice"))
        await eventually(lambda: Turn.objects.get().state == "stopped")
        await eventually(lambda: Recording.objects.filter(files=1).exists())

    happening(story, at_once=True)
