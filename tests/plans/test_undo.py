"""Taking back what was changed: whole, never over a later change, and through every kill."""

import errno
import json
import os
import re
import stat
import subprocess
from functools import partial
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from asgiref.sync import async_to_sync
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone, translation

from agents.db import in_db
from agents.errors import Conflict, NotFound
from agents.models import Message, Recording, Trashed, Turn, Undo
from plans import actions
from plans.models import Plan
from plans.schemas import PlanDraft
from tests.builders import proposed_plan
from tests.chains.chains import written
from tests.checked import begun, results, worked
from tests.fake_model import call, say
from tests.inner import AUTHORSHIP_TICK as CLOCK
from tests.inner import (
    AgentFiles,
    Check,
    NothingToUndo,
    PreviewChanged,
    Scope,
    Store,
    StoreBroken,
    Timeline,
    Wanted,
    change_agent,
    create_conversation,
    delete_conversation,
    finish_cut_off,
    handle_message,
    plan_snapshot,
    restore,
    retention,
    trash,
    undo_rows,
    unfinished,
)
from tests.inner import undo as engine
from tests.patience import until_files_are_older
from tests.plans.test_any_chain import ANSWERS
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
    scripted,
    shown,
    signed_in,
    tell,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_home")]

WITH_SHELL = {**ALL_FILE_TOOLS, "shell": "allow"}


def shell(command):
    return call("shell", command=command)


def everything(root):
    """Type, permission bits and content of all below a folder, by path."""
    found = {}
    for inside, folders, names in os.walk(os.fsencode(root)):
        for name in (*folders, *names):
            path = inside + b"/" + name
            status = os.lstat(path)
            content = b""
            if stat.S_ISLNK(status.st_mode):
                content = os.fsencode(Path(os.fsdecode(path)).readlink())
            elif stat.S_ISREG(status.st_mode):
                content = Path(os.fsdecode(path)).read_bytes()
            found[os.path.relpath(path, os.fsencode(root))] = (status.st_mode, content)
    return found


@pytest.fixture
def c():
    admin = person("alice")
    admin.is_superuser = True
    admin.save()
    return proposed_plan("One", "Two", tools=WITH_SHELL)


def run(c, *replies):
    scripted(*replies, say("all done"))
    plan = plan_of(c)
    actions.approve_plan(plan, plan.version, "alice", run="all")
    drive()
    plan = Plan.objects.get(pk=plan.pk)
    assert plan.state == "done"
    return plan


def fates(preview):
    return {row.path: str(row.fate) for row in preview.rows}


class TestEachKindOfChange:
    def taken_back(self, c, prepare, command):
        """What a command did is gone after an undo, and there again after that was undone."""
        root = files_of(c)
        prepare(root)
        before = everything(root)
        plan = run(c, shell(command), done(), done())
        after = everything(root)
        assert before != after
        row = actions.undo_changes(Scope.named(plan, "s1"), "alice")
        assert everything(root) == before
        assert not row.kept
        actions.undo_changes(Scope(row), "alice")
        assert everything(root) == after

    def test_a_changed_a_new_and_a_removed_file(self, c):
        def prepare(root):
            (root / "a.txt").write_text("one\n")
            (root / "gone.txt").write_text("two\n")

        self.taken_back(c, prepare, "echo 2 > a.txt; rm gone.txt; mkdir -p x/y; echo > x/y/new")

    def test_a_deleted_folder_with_its_permission_bits(self, c):
        def prepare(root):
            (root / "docs" / "deep").mkdir(parents=True)
            (root / "docs" / "deep" / "a.md").write_text("a")
            (root / "docs" / "b.md").write_text("b")
            (root / "docs" / "deep").chmod(0o750)

        self.taken_back(c, prepare, "rm -r docs")

    def test_a_rename_of_a_file_and_of_a_folder(self, c):
        def prepare(root):
            (root / "docs").mkdir()
            (root / "docs" / "a.md").write_text("text of a\n" * 5)
            (root / "b.md").write_text("text of b\n" * 5)

        self.taken_back(c, prepare, "mv docs papers; mv b.md c.md; echo more >> c.md")

    def test_a_binary_file_of_19_mb(self, c):
        def prepare(root):
            (root / "big.bin").write_bytes(os.urandom(19_000_000))

        self.taken_back(c, prepare, "head -c 19000000 /dev/urandom > big.bin")

    def test_links(self, c):
        def prepare(root):
            (root / "a").symlink_to("/etc/hostname")
            (root / "b").write_text("a file")
            (root / "gone").symlink_to("nowhere")

        self.taken_back(c, prepare, "ln -sf /etc/passwd a; ln -sf a b; rm gone; ln -s .. up")
        assert Path("/etc/hostname").exists()

    def test_permission_bits(self, c):
        def prepare(root):
            for name, mode in (("run.sh", 0o755), ("secret", 0o600), ("plain", 0o644)):
                (root / name).write_text(name)
                (root / name).chmod(mode)

        self.taken_back(
            c, prepare, "chmod 600 run.sh; chmod 777 secret; rm plain; echo x >> secret"
        )

    @pytest.mark.parametrize(
        "name", ["übung 文档.md", "-rf", "a\nb", "'\"$(x)", os.fsdecode(b"\xff\xfe"), "a\\x41", "🗂️"]
    )
    @pytest.mark.sampled(3)
    def test_names_in_any_script(self, c, name):
        def prepare(root):
            (root / name).write_text("one")

        self.taken_back(
            c, prepare, 'for f in * ./-*; do [ -e "$f" ] && echo two > "$f"; done; true'
        )

    def test_a_file_that_became_a_folder_and_the_other_way_round(self, c):
        def prepare(root):
            (root / "a").write_text("file")
            (root / "b").mkdir()
            (root / "b" / "inside").write_text("inside")

        self.taken_back(c, prepare, "rm a; mkdir a; echo > a/x; rm -r b; echo > b")


@pytest.mark.process
def test_of_a_linked_folder_its_git_is_left_byte_by_byte(tmp_path_factory):
    folder = tmp_path_factory.mktemp("linked").resolve()
    git = ["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    (folder / "a.txt").write_text("one\n")
    (folder / "staged.txt").write_text("one\n")
    subprocess.run([*git, "add", "a.txt"], check=True)
    subprocess.run([*git, "commit", "-qm", "First"], check=True)
    subprocess.run([*git, "add", "staged.txt"], check=True)
    admin = person("alice")
    admin.is_superuser = True
    admin.save()
    c = proposed_plan("One", workspace=str(folder), tools=WITH_SHELL)
    before = everything(folder)
    times = {path: path.stat().st_mtime_ns for path in (folder / ".git").rglob("*")}
    plan = run(c, shell("echo 2 > a.txt; rm staged.txt; echo > new.txt"), done())
    actions.undo_changes(Scope(plan), "alice")
    assert everything(folder) == before
    assert times == {path: path.stat().st_mtime_ns for path in (folder / ".git").rglob("*")}


@pytest.fixture
def plan(c):
    """It wrote two files; a person changed one of them since."""
    (files_of(c) / "a.txt").write_text("one\n")
    (files_of(c) / "b.txt").write_text("one\n")
    write = [call("write_file", path=f"{name}.txt", content="its\n") for name in "ab"]
    plan = run(c, *write, done(), done())
    (files_of(c) / "a.txt").write_text("hers\n")
    return plan


class TestAFileThatChangedSince:
    def test_it_stays_unless_it_is_named(self, c, plan):
        preview = actions.preview_changes(Scope.named(plan, "s1"))
        assert fates(preview) == {"a.txt": "changed_since", "b.txt": "goes_back"}
        row = actions.undo_changes(Scope.named(plan, "s1"), "alice")
        assert (files_of(c) / "a.txt").read_text() == "hers\n"
        assert (files_of(c) / "b.txt").read_text() == "one\n"
        assert row.files == 1

    def test_named_it_goes_back_and_that_can_be_undone(self, c, plan):
        row = actions.undo_changes(Scope.named(plan, "s1"), "alice", Wanted(force=("a.txt",)))
        assert (files_of(c) / "a.txt").read_text() == "one\n"
        actions.undo_changes(Scope(row), "alice")
        assert (files_of(c) / "a.txt").read_text() == "hers\n"

    def test_how_files_are_by_now_is_told_only_where_the_agent_still_works(
        self, c, plan, tmp_path_factory
    ):
        undone = actions.undo_changes(Scope.named(plan, "s1"), "alice")
        turn = Recording.objects.order_by("pk").first().turn
        change_agent(c.agent_id, {"workspace": str(tmp_path_factory.mktemp("elsewhere"))})
        for look in (
            lambda: actions.preview_changes(Scope(plan)),
            lambda: actions.preview_changes(Scope(turn)),
            lambda: actions.preview_changes(Scope(undone)),
        ):
            with pytest.raises(Conflict, match="does not work in that folder"):
                look()

    def test_only_what_is_named_is_undone(self, c, plan):
        with pytest.raises(Conflict, match="changed again since"):
            actions.undo_changes(Scope.named(plan, "s1"), "alice", Wanted(paths=("a.txt",)))
        actions.undo_changes(Scope.named(plan, "s1"), "alice", Wanted(paths=("b.txt",)))
        with pytest.raises(Conflict, match="changed again since"):
            actions.undo_changes(Scope.named(plan, "s1"), "alice")

    def test_changed_between_preview_and_yes_nothing_is_written(self, c, plan):
        seen = actions.preview_changes(Scope.named(plan, "s1")).digest
        (files_of(c) / "b.txt").write_text("hers\n")
        with pytest.raises(PreviewChanged):
            actions.undo_changes(Scope.named(plan, "s1"), "alice", Wanted(force=True, seen=seen))
        assert (files_of(c) / "b.txt").read_text() == "hers\n"
        assert not Undo.objects.exists()

    def test_changed_at_the_last_moment_it_stays_and_is_named(self, c, plan, monkeypatch):
        carried_out = engine.carry_out

        def late(*args):
            (files_of(c) / "b.txt").write_text("at the last moment\n")
            return carried_out(*args)

        monkeypatch.setattr(engine, "carry_out", late)
        row = actions.undo_changes(Scope.named(plan, "s1"), "alice")
        assert (files_of(c) / "b.txt").read_text() == "at the last moment\n"
        assert (row.kept, row.files) == (dict.fromkeys(("a.txt", "b.txt"), "changed"), 0)
        assert "2 files stayed: they were changed" in Message.objects.get(meta__undo=row.pk).text

    @pytest.mark.parametrize(
        ("error", "why", "sentence"),
        [
            (errno.ENOSPC, "full", "2 files stayed: the disk is full."),
            (errno.EDQUOT, "full", "2 files stayed: the disk is full."),
            (errno.EROFS, "forbidden", "2 files stayed: writing them is not permitted."),
            (errno.EACCES, "forbidden", "2 files stayed: writing them is not permitted."),
            (errno.EIO, "failed", "2 files stayed: the disk failed."),
        ],
    )
    def test_a_file_that_stays_is_named_with_the_reason(
        self, c, plan, monkeypatch, error, why, sentence
    ):
        def fails(*args, **more):
            raise OSError(error, os.strerror(error))

        monkeypatch.setattr("agents.changes.undo_steps.put", fails)
        row = actions.undo_changes(Scope.named(plan, "s1"), "alice", Wanted(force=True))
        assert row.kept == {"a.txt": why, "b.txt": why} and not row.whole
        assert sentence in Message.objects.get(meta__undo=row.pk).text

    def test_the_notice_is_read_in_the_language_of_its_reader(self, c, plan):
        actions.undo_changes(Scope.named(plan, "s1"), "alice")
        notice = Message.objects.filter(kind="notice").last()
        assert notice.text == (
            "You undid the changes of subtask 1. 1 file restored. "
            "1 file stayed: it was changed meanwhile."
        )
        with translation.override("zh-hans"):
            chinese = Message.objects.get(pk=notice.pk).text
        assert chinese != notice.text and "1" in chinese

    def test_a_link_that_was_put_in_the_way_leads_nowhere(self, c, plan, tmp_path):
        outside = tmp_path / "outside"
        outside.mkdir()
        root = files_of(c)
        (root / "docs").symlink_to(outside)
        steps = [
            restore.Step(
                "docs/x", None, actions.preview_changes(Scope.named(plan, "s1")).rows[1].to
            )
        ]
        with Store.of(root) as store:
            files = partial(AgentFiles.of, c)
            assert restore.carry_out(root, store, steps, "test", files) == {"docs/x": "blocked"}
        assert not list(outside.iterdir())


class TestWhenItIsRefused:
    def test_not_while_the_plan_runs(self, c):
        (files_of(c) / "a.txt").write_text("one\n")
        plan = run(c, call("write_file", path="a.txt", content="its\n"), done(), done())
        Plan.objects.update(run="running")
        with pytest.raises(Conflict, match="Pause or stop it first"):
            actions.undo_changes(Scope.named(plan, "s1"), "alice")

    def test_not_while_another_turn_writes_in_the_folder(self, c):
        plan = run(c, call("write_file", path="a.txt", content="its\n"), done(), done())
        last = Recording.objects.last()
        Recording.objects.filter(pk=last.pk).update(ended_at=None)
        last.turn.__class__.objects.filter(pk=last.turn_id).update(state="running")
        with pytest.raises(Conflict, match="An agent is writing"):
            actions.undo_changes(Scope.named(plan, "s1"), "alice")
        assert not Undo.objects.exists()

    def test_twice_there_is_nothing_left(self, c):
        plan = run(c, call("write_file", path="a.txt", content="its\n"), done(), done())
        row = actions.undo_changes(Scope.named(plan, "s1"), "alice")
        with pytest.raises(Conflict, match="Nothing to undo"):
            actions.undo_changes(Scope.named(plan, "s1"), "alice")
        actions.undo_changes(Scope(row), "alice")
        with pytest.raises(Conflict, match="undone already"):
            actions.undo_changes(Scope(row), "alice")

    def test_of_what_is_not_kept_any_more_it_says_so(self, c):
        plan = run(c, call("write_file", path="a.txt", content="its\n"), done(), done())
        retention.forget(Recording.objects.all(), Undo.objects.none())
        with pytest.raises(Conflict, match="not kept any more"):
            actions.undo_changes(Scope.named(plan, "s1"), "alice")

    def test_where_what_was_recorded_is_damaged_it_says_so(self, c):
        plan = run(c, call("write_file", path="docs/a.txt", content="its\n"), done(), done())
        actions.preview_changes(Scope.named(plan, "s1"))
        for pack in (Store.of(files_of(c).resolve()).folder / "pack").glob("*.pack"):
            pack.write_bytes(b"\0" * pack.stat().st_size)
        with pytest.raises(NotFound, match="not kept any more"):
            actions.undo_changes(Scope.named(plan, "s1"), "alice")
        assert not unfinished()
        for index in (Store.of(files_of(c).resolve()).folder / "pack").glob("*.idx"):
            index.write_bytes(b"")
        with pytest.raises(NotFound, match="not kept any more"):
            actions.undo_changes(Scope.named(plan, "s1"), "alice")

    def test_where_the_agent_works_elsewhere_by_now(self, c):
        plan = run(c, call("write_file", path="a.txt", content="its\n"), done(), done())
        Recording.objects.update(root="/tmp")
        with pytest.raises(Conflict, match="does not work in that folder"):
            actions.undo_changes(Scope.named(plan, "s1"), "alice")


def test_a_reply_is_undone_like_a_subtask():
    c = conversation(plan={"enabled": False})
    (files_of(c) / "a.txt").write_text("one\n")
    scripted(call("write_file", path="a.txt", content="its\n"), say("ok"))
    tell(c, "write")
    turn = Recording.objects.get().turn
    assert fates(actions.preview_changes(Scope(turn))) == {"a.txt": "goes_back"}
    actions.undo_changes(Scope(turn), "alice")
    assert (files_of(c) / "a.txt").read_text() == "one\n"


def test_what_others_changed_meanwhile_is_left_alone(c):
    root = files_of(c)

    def model(request):
        if request["messages"][-1]["role"] != "tool":
            return call("write_file", path="a.txt", content="its\n")
        until_files_are_older(CLOCK)
        (root / "hers.txt").write_text("hers\n")
        return done()

    plan = plan_of(c)
    scripted(model)
    actions.approve_plan(plan, 1, "alice", run="next")
    drive()
    actions.undo_changes(Scope.named(plan, "s1"), "alice")
    assert [path.name for path in root.iterdir()] == ["hers.txt"]


def saved_between(c, first, change, then):
    """A plan whose first subtask calls two commands, and a person changes files between them."""
    root = files_of(c)
    (root / "docs").mkdir()
    (root / "a.md").write_text("of before\n")

    def model(request):
        results = sum(each["role"] == "tool" for each in request["messages"])
        if results != 1:
            return done() if results else shell(first)
        until_files_are_older(CLOCK)
        change(root)
        until_files_are_older(CLOCK)
        return shell(then)

    scripted(model)
    plan = plan_of(c)
    actions.approve_plan(plan, 1, "alice", run="next")
    drive()
    return Scope.named(plan, "s1")


@pytest.mark.parametrize(
    ("first", "change", "then", "path"),
    [
        ("mv a.md docs/", lambda r: (r / "a.md").write_text("hers\n"), "true", "docs/a.md"),
        ("true", lambda r: (r / "a.md").rename(r / "b.md"), "mv b.md docs/", "docs/b.md"),
    ],
)
def test_where_others_moved_it_too_the_only_copy_of_a_file_goes_only_with_a_word(
    c, first, change, then, path
):
    scope, file = saved_between(c, first, change, then), files_of(c) / path
    asked = fates(actions.preview_changes(scope))
    assert asked[path] == "unsure" and {*asked.values()} == {"unsure"}
    with pytest.raises(NothingToUndo):
        actions.undo_changes(scope, "alice")
    assert file.read_text() == "of before\n"
    row = actions.undo_changes(scope, "alice", Wanted(force=tuple(asked)))
    assert row.whole and not file.exists()


def test_where_a_copy_of_it_is_left_what_was_moved_by_others_goes_without_a_word(c):
    scope = saved_between(
        c, "cp a.md docs/", lambda root: (root / "a.md").rename(root / "b.md"), "true"
    )
    assert fates(actions.preview_changes(scope)) == {"docs/a.md": "removed"}
    actions.undo_changes(scope, "alice")
    assert (files_of(c) / "b.md").read_text() == "of before\n"


def test_a_whole_plan_goes_back_to_before_its_first_attempt(c):
    root = files_of(c)
    (root / "a.txt").write_text("one\n")
    before = everything(root)
    plan = run(c, shell("echo 2 > a.txt"), done(), shell("echo 3 > a.txt; echo > b.txt"), done())
    actions.undo_changes(Scope(plan), "alice")
    assert everything(root) == before


def between_two_subtasks(c, hers):
    """Each subtask adds its line to a file; in between a person does something."""
    file = files_of(c) / "a.txt"
    file.write_text("one\n")
    add = shell('echo "line $(wc -l < a.txt)" >> a.txt')
    scripted(add, done())
    actions.approve_plan(plan_of(c), 1, "alice", run="next")
    drive()
    hers(file)
    return run_on(c, add, done())


def run_on(c, *replies):
    scripted(*replies, say("all done"))
    actions.run_plan(plan_of(c), "alice")
    drive()
    return Plan.objects.get(conversation=c)


def test_lines_that_a_person_wrote_between_two_subtasks_go_only_with_a_word(c):
    plan = between_two_subtasks(c, lambda file: file.write_text(f"{file.read_text()}hers\n"))
    file = files_of(c) / "a.txt"
    assert file.read_text() == "one\nline 1\nhers\nline 3\n"
    assert fates(actions.preview_changes(Scope(plan))) == {"a.txt": "unsure"}
    asked = signed_in(person("alice")).get(f"/c/{c.pk}/changed/preview?plan={plan.pk}")
    words = "More than one wrote here. Restoring it takes back the work of all."
    assert words in asked.content.decode()
    with pytest.raises(Conflict):
        actions.undo_changes(Scope(plan), "alice")
    assert "hers" in file.read_text()
    actions.undo_changes(Scope.named(plan, "s2"), "alice")
    assert file.read_text() == "one\nline 1\nhers\n"


def test_where_nobody_wrote_between_two_subtasks_it_needs_no_word(c):
    plan = between_two_subtasks(c, lambda file: None)
    assert fates(actions.preview_changes(Scope(plan))) == {"a.txt": "goes_back"}


def test_a_name_that_was_taken_again_after_a_rename_is_undone_as_one_file(c):
    root = files_of(c)
    (root / "a.txt").write_text("one\n" * 5)
    before = everything(root)
    plan = run(c, shell("mv a.txt b.txt"), done(), shell("echo new > a.txt"), done())
    after = everything(root)
    preview = actions.preview_changes(Scope(plan))
    assert [row.path for row in preview.rows] == ["a.txt", "b.txt"]
    assert fates(preview) == {"a.txt": "goes_back", "b.txt": "removed"}
    row = actions.undo_changes(Scope(plan), "alice", Wanted(force=True))
    assert everything(root) == before
    assert not row.kept
    actions.undo_changes(Scope(row), "alice")
    assert everything(root) == after


# Kills


class Killed(BaseException):
    pass


OPERATIONS = ("open", "fsync", "fchmod", "rename", "unlink", "symlink", "rmdir", "mkdir")


@pytest.fixture
def killed_at(monkeypatch):
    """The process ends before or after its n-th operation on files of the folder."""

    class Counted:
        def __init__(self):
            self.at, self.after, self.count, self.on = 0, False, 0, False

        def __getattr__(self, name):
            real = getattr(os, name)
            if name not in OPERATIONS:
                return real

            def operation(*args, **kwargs):
                if not self.on:
                    return real(*args, **kwargs)
                self.count += 1
                dies = self.count == self.at
                if dies and not self.after:
                    raise Killed
                try:
                    return real(*args, **kwargs)
                finally:
                    if dies:
                        raise Killed

            return operation

    counted = Counted()
    monkeypatch.setattr(restore, "os", counted)
    return counted


def test_killed_at_each_operation_it_is_finished_and_no_file_is_lost_or_half_written(c, killed_at):
    root = files_of(c)
    (root / "docs").mkdir()
    (root / "docs" / "a.md").write_text("one\n" * 1000)
    (root / "link").symlink_to("docs")
    plan = run(
        c, shell("rm -r docs; ln -sf elsewhere link; mkdir x; echo 1 > x/new"), done(), done()
    )
    after = everything(root)
    contents = {
        "docs/a.md": {None, b"one\n" * 1000},
        "x/new": {None, b"1\n"},
    }
    row = actions.undo_changes(Scope.named(plan, "s1"), "alice")
    before = everything(root)
    actions.undo_changes(Scope(row), "alice")
    assert everything(root) == after
    tried = 0
    while undo_killed_at(plan, killed_at, tried):
        for path, may_be in contents.items():
            there = (root / path).read_bytes() if (root / path).exists() else None
            assert there in may_be, (tried, path)
        for pk in unfinished():
            finish_cut_off(pk)
        assert everything(root) == before, tried
        tried += 1
        actions.undo_changes(Scope(Undo.objects.last()), "alice")
        assert everything(root) == after
    assert tried >= 20


def undo_killed_at(plan, killed_at, number):
    """Before or after one of its operations; false where it had fewer."""
    killed_at.at, killed_at.after, killed_at.count, killed_at.on = (
        number // 2 + 1,
        number % 2,
        0,
        True,
    )
    try:
        actions.undo_changes(Scope.named(plan, "s1"), "alice")
    except Killed:
        return True
    finally:
        killed_at.on = False
    return False


def test_where_a_folder_took_the_place_of_a_file_it_stays_and_nothing_is_left_beside_it(c):
    root = files_of(c)
    (root / "a.txt").write_text("one\n")
    plan = run(c, shell("rm a.txt"), done(), done())
    (root / "a.txt").mkdir()
    (root / "a.txt" / "hers").write_text("hers\n")
    before = everything(root)
    assert fates(actions.preview_changes(Scope.named(plan, "s1"))) == {"a.txt": "not_kept"}
    with pytest.raises(NothingToUndo):
        actions.undo_changes(Scope.named(plan, "s1"), "alice")
    assert everything(root) == before


def test_finishing_writes_nothing_through_a_link_in_the_place_of_the_folder(c, killed_at):
    root = files_of(c)
    (root / "a.txt").write_text("one\n")
    plan = run(c, shell("rm a.txt; echo > b.txt"), done(), done())
    killed_at.on, killed_at.at = True, 1
    with pytest.raises(Killed):
        actions.undo_changes(Scope.named(plan, "s1"), "alice")
    killed_at.on = False
    outside = root.with_name("outside")
    root.rename(outside)
    root.symlink_to(outside)
    before = everything(outside)
    for pk in unfinished():
        finish_cut_off(pk)
    assert everything(outside) == before
    assert sorted(Undo.objects.get().kept) == ["a.txt", "b.txt"]


def test_finishing_leaves_what_was_changed_while_nobody_was_there(c, killed_at):
    root = files_of(c)
    for name in "abc":
        (root / f"{name}.txt").write_text("one\n")
    plan = run(c, shell("for f in a b c; do echo 2 > $f.txt; done"), done(), done())
    killed_at.on, killed_at.at = True, 2
    with pytest.raises(Killed):
        actions.undo_changes(Scope.named(plan, "s1"), "alice")
    killed_at.on = False
    (root / "c.txt").write_text("hers\n")
    for pk in unfinished():
        finish_cut_off(pk)
    assert [(root / f"{name}.txt").read_text() for name in "abc"] == ["one\n", "one\n", "hers\n"]
    assert Undo.objects.get().kept == {"c.txt": "changed"}


def cut_off(c, killed_at):
    """An undo of two files, of which one is done."""
    root = files_of(c)
    for name in "ab":
        (root / f"{name}.txt").write_text("one\n")
    plan = run(c, shell("echo 2 > a.txt; echo 2 > b.txt"), done(), done())
    killed_at.on, killed_at.at = True, 8
    with pytest.raises(Killed):
        actions.undo_changes(Scope.named(plan, "s1"), "alice")
    killed_at.on = False
    return Undo.objects.get()


def test_of_one_whose_steps_are_lost_it_is_said_and_nobody_waits_for_it(c, killed_at):
    row = cut_off(c, killed_at)
    for pack in (Store.of(files_of(c).resolve()).folder / "pack").glob("*.pack"):
        pack.write_bytes(b"\0" * pack.stat().st_size)
    before = everything(files_of(c))
    for pk in unfinished():
        finish_cut_off(pk)
    assert not unfinished()
    assert everything(files_of(c)) == before
    row.refresh_from_db()
    assert (row.whole, row.files, row.steps) == (False, 0, "")
    notice = c.messages.filter(kind="notice").last()
    assert "It was cut off, and what was left to do is lost" in notice.text
    assert "undo" not in notice.meta
    assert async_to_sync(engine.finish_undos)(files_of(c).resolve())


def test_one_whose_steps_cannot_be_read_for_now_is_finished_later(c, killed_at, monkeypatch):
    row = cut_off(c, killed_at)

    def closed(*_):
        raise OSError(24, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr(Store, "packs", {"": [SimpleNamespace(get_raw=closed)]})
        finish_cut_off(row.pk)
    assert unfinished() == [row.pk]
    finish_cut_off(row.pk)
    row.refresh_from_db()
    assert (row.whole, row.files) == (True, 2)
    assert {(files_of(c) / f"{name}.txt").read_text() for name in "ab"} == {"one\n"}


def test_an_undo_that_was_undone_is_not_offered_to_be_undone_again(c):
    plan = run(c, shell("echo > a.txt"), done(), done())
    row = actions.undo_changes(Scope.named(plan, "s1"), "alice")
    told = c.messages.get(meta__undo=row.pk)
    back = actions.undo_changes(Scope(row), "alice")
    drive()
    page = signed_in(person("alice")).get(f"/c/{c.pk}/").content.decode()
    offered = re.findall(r'class="undone-notice".*?</div>', page, re.DOTALL)
    assert ["<form" in each for each in offered] == [False, True] and f"/{back.pk}/" in offered[1]
    assert c.messages.get(pk=told.pk).changed_seq > told.changed_seq, "an open page reads it again"


def test_the_preview_leads_to_what_changed_a_file_again(c):
    (files_of(c) / "a.txt").write_text("one\n")
    plan = run(c, shell("echo 2 > a.txt"), done(), shell("echo > b; echo 3 > a.txt"), done())
    alice = signed_in(person("alice"))
    about = f"plan={plan.pk}&subtask="
    asked = alice.get(f"/c/{c.pk}/changed/preview?{about}s1").content.decode()
    link = f"/c/{c.pk}/changed?{about}s2#file-1"
    assert f'href="{link.replace("&", "&amp;")}"' in asked
    later = alice.get(link).content.decode()
    assert 'id="file-1"' in later
    (files_of(c) / "b").write_text("hers")
    asked = alice.get(f"/c/{c.pk}/changed/preview?{about}s2").content.decode()
    assert "See what changed" not in asked, "what was recorded nowhere"
    assert "It was recorded nowhere, so it cannot be shown." in asked


def test_of_many_files_it_leads_to_the_page_that_has_the_one(c, monkeypatch):
    monkeypatch.setattr("console.changes.changed_files.MOST_LISTED", 1)
    plan = run(c, shell("echo 2 > z"), done(), shell("echo > b; echo 3 > z"), done())
    alice = signed_in(person("alice"))
    about = f"plan={plan.pk}&subtask="
    asked = alice.get(f"/c/{c.pk}/changed/preview?{about}s1").content.decode()
    link = re.search(r'href="([^"]+#file-2)"', asked)[1].replace("&amp;", "&")
    assert link == f"/c/{c.pk}/changed?{about}s2&page=2#file-2"
    page = alice.get(link).content.decode()
    assert 'id="file-2"' in page and 'id="file-1"' not in page


def test_changes_of_a_turn_stand_beside_those_of_the_whole_plan(c):
    run(c, shell("echo > a.txt"), done(), done())
    turn = Recording.objects.first().turn_id
    page = signed_in(person("alice")).get(f"/c/{c.pk}/changed?turn={turn}").content.decode()
    assert '<span aria-current="page">This turn</span>' in page
    assert (
        f'href="/c/{c.pk}/changed?plan={plan_of(c).pk}&amp;from_turn={turn}">Whole plan</a>' in page
    )
    whole = f"/c/{c.pk}/changed?plan={plan_of(c).pk}"
    client = signed_in(person("alice"))
    page = client.get(f"{whole}&from_turn={turn}").content.decode()
    assert f'href="/c/{c.pk}/changed?turn={turn}">This turn</a>' in page
    assert f'href="/c/{c.pk}/#turn-{turn}" data-back' in page
    for other in ("", "&from_turn=0", "&from_turn=x", "&from=none"):
        page = client.get(f"{whole}{other}").content.decode()
        assert "This turn" not in page and "Subtask" not in page.split('id="changes"')[0]


def left(c):
    """Whether the drawer says of the subtasks and the plan that no changes are left."""
    now = shown(c)
    found = [each["changes"] for each in (*now["subtasks"], now)]
    return [bool(each and each["undone_at"]) for each in found]


def test_where_all_was_taken_back_no_changes_are_left_until_that_is_undone(c):
    (files_of(c) / "a.txt").write_text("one\n")
    plan = run(c, shell("echo 2 > a.txt; echo > b.txt"), done(), shell("echo > c.txt"), done())
    actions.undo_changes(Scope.named(plan, "s1"), "alice", Wanted(paths=("a.txt",)))
    assert left(c) == [False, False, False], "some of it is left"
    row = actions.undo_changes(Scope.named(plan, "s1"), "alice")
    assert left(c) == [True, False, False]
    back = actions.undo_changes(Scope(row), "alice")
    assert left(c) == [False, False, False]
    actions.undo_changes(Scope(back), "alice")
    assert left(c) == [True, False, False]
    actions.undo_changes(Scope(plan), "alice")
    assert left(c) == [True, True, True]
    page = signed_in(person("alice")).get(f"/c/{c.pk}/").content.decode()
    assert "No changes left, undone by you" in page
    assert "You undid the changes of subtask 1." in page
    assert page.count("Undo the undo") == 3, "of five, two of which were undone"


def test_a_move_is_one_file_and_what_was_new_is_removed(c):
    for name in ("moved", "changed"):
        (files_of(c) / name).write_text(f"{name}\n")
    work = shell("mv moved there; echo 2 > changed; echo > new; echo > new-too")
    plan = run(c, work, done(), done())
    row = actions.undo_changes(Scope(plan), "alice")
    page = signed_in(person("alice")).get(f"/c/{c.pk}/?undone={row.pk}").content.decode()
    assert page.count("2 files restored. 2 files removed.") == 2, "in the notice and the toast"
    [line] = [line for line in Timeline(plan_of(c), "alice").lines() if line.icon == "undo"]
    assert line.words == "undid its changes: 2 files restored, 2 files removed"
    actions.undo_changes(Scope(row), "alice")
    assert Message.objects.last().text == "You undid an undo. 4 files restored."


def test_an_undo_of_an_undo_is_not_offered_to_be_undone_where_its_changes_are_undone_again(c):
    plan = run(c, shell("echo > a.txt"), done(), done())
    row = actions.undo_changes(Scope(plan), "alice")
    actions.undo_changes(Scope(row), "alice")
    again = actions.undo_changes(Scope(plan), "alice")
    page = signed_in(person("alice")).get(f"/c/{c.pk}/").content.decode()
    assert page.count("Undo the undo") == 1
    assert f"/undos/{again.pk}/undo" in page


def test_the_dialog_has_no_spaces_between_chinese_sentences(c):
    (files_of(c) / "a.txt").write_text("one\n")
    plan = run(c, shell("mv a.txt b.txt"), done(), shell("ls; pwd"), done())
    (files_of(c) / "b.txt").write_text("hers\n")
    address = f"/c/{c.pk}/changed/preview?plan={plan.pk}"
    in_chinese = {"Accept-Language": "zh-hans"}
    page = signed_in(person("alice")).get(address, headers=in_chinese).content.decode()
    assert "只能与 b.txt 一起恢复，因为它们之间有移动。" in page
    assert not re.findall(r"[。，：、]\s+(?!</)\S+", page)


def test_what_was_taken_back_stays_so_whatever_else_is_taken_back_and_brought_again(c):
    plan = run(c, shell("echo > a.txt"), done(), shell("echo > c.txt"), done())
    row = actions.undo_changes(Scope(plan), "alice")
    scripted(call("write_file", path="d.txt", content="its\n"), say("ok"))
    tell(c, "write")
    reply = Recording.objects.latest("turn").turn
    actions.undo_changes(Scope(actions.undo_changes(Scope(reply), "alice")), "alice")
    assert (files_of(c) / "d.txt").exists()
    assert left(c) == [True, True, True], "that was a reply's"
    back = actions.undo_changes(Scope(row), "alice")
    assert left(c) == [False, False, False]
    actions.undo_changes(Scope(back), "alice")
    assert left(c) == [True, True, True]


def test_bringing_back_the_rest_of_a_plan_brings_back_nothing_that_was_gone_before(c):
    plan = run(c, shell("echo > a.txt"), done(), shell("echo > c.txt"), done())
    actions.undo_changes(Scope.named(plan, "s1"), "alice")
    rest = actions.undo_changes(Scope(plan), "alice")
    assert left(c) == [True, True, True]
    actions.undo_changes(Scope(rest), "alice")
    assert [path.name for path in files_of(c).iterdir()] == ["c.txt"]
    assert left(c) == [True, False, False]


def test_of_a_plan_that_was_taken_back_a_subtask_can_come_back(c):
    plan = run(c, shell("echo > a.txt"), done(), shell("echo > c.txt"), done())
    part = actions.undo_changes(Scope.named(plan, "s1"), "alice")
    actions.undo_changes(Scope(plan), "alice")
    actions.undo_changes(Scope(part), "alice")
    assert [path.name for path in files_of(c).iterdir()] == ["a.txt"]
    assert (left(c)[0], left(c)[2]) == (False, False)


def test_what_came_back_by_the_undo_of_an_undo_of_an_undo_is_there_again(c):
    plan = run(c, shell("echo > a.txt"), done(), shell("echo > c.txt"), done())
    part = actions.undo_changes(Scope.named(plan, "s1"), "alice")
    gone = actions.undo_changes(Scope(actions.undo_changes(Scope(part), "alice")), "alice")
    actions.undo_changes(Scope(plan), "alice")
    assert left(c) == [True, True, True]
    actions.undo_changes(Scope(gone), "alice")
    assert [path.name for path in files_of(c).iterdir()] == ["a.txt"]
    assert (left(c)[0], left(c)[2]) == (False, False)


def partly(c):
    now = shown(c)
    return [bool(each["changes"] and each["changes"]["partly_undone"]) for each in now["subtasks"]]


def test_where_a_part_was_taken_back_that_is_said_until_it_is_undone(c):
    (files_of(c) / "a.txt").write_text("one\n")
    plan = run(c, shell("echo 2 > a.txt; echo > b.txt"), done(), shell("echo > c.txt"), done())
    row = actions.undo_changes(Scope.named(plan, "s1"), "alice", Wanted(paths=("a.txt",)))
    assert (partly(c), shown(c)["changes"]["partly_undone"]) == ([True, False], True)
    page = signed_in(person("alice")).get(f"/c/{c.pk}/").content.decode()
    assert "2 files, +2 −1, partly undone by you" in page
    back = actions.undo_changes(Scope(row), "alice")
    assert partly(c) == [False, False]
    actions.undo_changes(Scope(plan), "alice", Wanted(paths=("c.txt",)))
    assert (partly(c), shown(c)["changes"]["partly_undone"]) == ([False, False], True)
    actions.undo_changes(Scope(back), "alice")
    assert (partly(c), shown(c)["changes"]["partly_undone"]) == ([True, False], True)
    actions.undo_changes(Scope.named(plan, "s1"), "alice")
    assert (partly(c), left(c)) == ([False, False], [True, True, True]), "c.txt was before"


def test_what_was_taken_back_in_parts_counts_as_taken_back(c):
    plan = run(c, shell("echo > a; echo > b"), done(), shell("echo > c"), done())
    actions.undo_changes(Scope.named(plan, "s1"), "alice", Wanted(paths=("a",)))
    actions.undo_changes(Scope.named(plan, "s1"), "alice", Wanted(paths=("b",)))
    assert (left(c), shown(c)["changes"]["partly_undone"]) == ([True, False, False], True)
    last = actions.undo_changes(Scope.named(plan, "s2"), "alice")
    assert (left(c), shown(c)["changes"]["partly_undone"]) == ([True, True, True], False)
    actions.undo_changes(Scope(last), "alice")
    assert (left(c), shown(c)["changes"]["partly_undone"]) == ([True, False, False], True)


def test_a_file_put_back_by_hand_does_not_count_as_left(c):
    (files_of(c) / "a").write_text("one\n")
    plan = run(c, shell("echo 2 > a; echo > b"), done(), done())
    (files_of(c) / "a").write_text("one\n")
    row = actions.undo_changes(Scope.named(plan, "s1"), "alice")
    assert (row.files, left(c)) == (1, [True, False, False])


def test_taking_back_what_came_first_takes_back_what_was_written_over_it(c):
    (files_of(c) / "a").write_text("one\n")
    plan = run(c, shell("echo 2 > a"), done(), shell("echo 3 > a"), done())
    row = actions.undo_changes(Scope.named(plan, "s1"), "alice", Wanted(force=True))
    assert (files_of(c) / "a").read_text() == "one\n"
    assert left(c) == [True, True, True]
    actions.undo_changes(Scope(row), "alice")
    assert (files_of(c) / "a").read_text() == "3\n"
    assert left(c) == [False, False, False]
    actions.undo_changes(Scope.named(plan, "s2"), "alice")
    assert (left(c), shown(c)["changes"]["partly_undone"]) == ([False, True, False], False)


def test_a_file_that_an_undo_has_brought_back_goes_with_the_undo_of_the_plan(c):
    first = shell("echo > keep; echo > f")
    plan = run(c, first, done(), shell("rm f; echo g > g"), done())
    before = everything(files_of(c))
    one = actions.undo_changes(Scope.named(plan, "s2"), "alice")
    assert fates(actions.preview_changes(Scope(plan))) == {"f": "removed", "keep": "removed"}
    other = actions.undo_changes(Scope(plan), "alice")
    assert list(files_of(c).iterdir()) == []
    assert left(c) == [True, True, True]
    with pytest.raises(Conflict, match="Nothing to undo"):
        actions.undo_changes(Scope.named(plan, "s1"), "alice")
    actions.undo_changes(Scope(other), "alice")
    assert left(c) == [False, True, False]
    actions.undo_changes(Scope(one), "alice")
    assert everything(files_of(c)) == before
    assert (left(c), partly(c)) == ([False, False, False], [False, False])
    assert shown(c)["changes"]["partly_undone"] is False


def test_the_timeline_tells_of_undos_and_who_undid_what(c):
    plan = run(c, shell("echo > a"), done(), shell("echo > c"), done())
    row = actions.undo_changes(Scope.named(plan, "s2"), "alice")
    actions.undo_changes(Scope(row), "alice")
    actions.undo_changes(Scope(plan), "alice")
    lines = [line for line in Timeline(plan_of(c), "alice").lines() if line.icon == "undo"]
    assert [(line.words, line.actor, line.number) for line in lines] == [
        ("undid its changes: 2 files removed", "You", ""),
        ("undid an undo: 1 file restored", "You", "2"),
        ("undid its changes: 1 file removed", "You", "2"),
    ]
    page = signed_in(person("alice")).get(f"/plans/{plan.pk}/").content.decode()
    assert page.count("undid its changes") == 2
    found = signed_in(person("alice")).get(f"/api/plans/{plan.pk}/events").json()["items"]
    undos = [each["subject"] for each in found if each["type"] == "files.undone"]
    assert undos == [f"undo:{each.pk}" for each in Undo.objects.order_by("pk")]


def test_what_an_undo_has_left_is_no_change_of_somebody_else(c):
    (files_of(c) / "a").write_text("one\n")
    plan = run(c, shell("echo 2 > a"), done(), shell("echo 3 > a"), done())
    actions.undo_changes(Scope.named(plan, "s2"), "alice")
    assert fates(actions.preview_changes(Scope(plan))) == {"a": "goes_back"}
    actions.undo_changes(Scope(plan), "alice")
    assert (files_of(c) / "a").read_text() == "one\n"
    assert left(c) == [True, True, True]


def test_what_another_subtask_writes_later_leaves_the_mark_of_the_first(c):
    plan = run(c, shell("echo > a"), done(), shell("echo > c"), done())
    actions.undo_changes(Scope.named(plan, "s1"), "alice")
    scripted(call("write_file", path="a", content="its\n"), say("ok"))
    tell(c, "write")
    assert left(c) == [True, False, False]


def test_of_files_that_are_not_kept_any_more_the_undo_of_all_still_counts(c):
    plan = run(c, shell("echo > a"), done(), shell("echo > c"), done())
    row = actions.undo_changes(Scope(plan), "alice")
    Recording.objects.update(before="", after="", changes="")
    assert left(c) == [True, True, True]
    actions.undo_changes(Scope(row), "alice")
    assert left(c) == [False, False, False]


def test_the_page_reads_the_undos_once_however_many_replies_changed_files(c):
    def queries(client):
        with CaptureQueriesContext(connection) as queries:
            assert client.get(f"/c/{c.pk}/").status_code == 200
        return len([each for each in queries if '"agents_undo"' in each["sql"]])

    alice = signed_in(person("alice"))
    run(c, done(), done())
    for number in range(3):
        scripted(call("write_file", path=f"{number}.txt", content="its\n"), say("ok"))
        tell(c, "write")
    actions.undo_changes(Scope(Recording.objects.latest("turn").turn), "alice")
    assert queries(alice) == 8, "for drawer, thread, list, card of the end, and their marks"
    scripted(call("write_file", path="more.txt", content="its\n"), say("ok"))
    tell(c, "write")
    assert queries(alice) == 8, "for drawer, thread, list, card of the end, and their marks"


@pytest.mark.parametrize("number", [1, 2])
def test_checks_run_again_after_an_undo_that_a_kill_cut_off(c, killed_at, number):
    plan = run(c, call("write_file", path="a.txt", content="1"), done(), done())
    check = Check.model_validate({"kind": "file", "path": "a.txt", "exists": True})
    actions.save_check(plan, "s2", check, "alice")
    actions.check_plan(plan, "alice")
    drive()
    assert plan_snapshot(plan).subtasks[1].verification == "checked"
    assert undo_killed_at(plan, killed_at, number)
    for pk in unfinished():
        finish_cut_off(pk)
    drive()
    assert plan_snapshot(plan).subtasks[1].verification == "regressed"


class TestApi:
    def client(self, owner="alice"):
        return signed_in(person(owner))

    def post(self, path, **body):
        return self.client().post(f"/api{path}", json.dumps(body), "application/json")

    def test_a_preview_then_the_undo_then_its_own_undo(self, c, plan):
        path = f"/plans/{plan.pk}/subtasks/s1/undo"
        seen = self.client().get(f"/api{path}").json()
        assert {each["path"]: each["fate"] for each in seen["files"]} == {
            "a.txt": "changed_since",
            "b.txt": "goes_back",
        }
        made = self.post(path, seen=seen["seen"], force=["a.txt"])
        assert (made.status_code, made.json()["files"]) == (200, 2)
        assert (files_of(c) / "a.txt").read_text() == "one\n"
        back = f"/undos/{made.json()['id']}/undo"
        assert len(self.client().get(f"/api{back}").json()["files"]) == 2
        assert self.post(back).status_code == 200
        assert (files_of(c) / "a.txt").read_text() == "hers\n"
        assert self.post(back).status_code == 409

    def test_a_file_that_changed_since_the_preview_is_a_conflict(self, c, plan):
        seen = self.client().get(f"/api/plans/{plan.pk}/undo").json()["seen"]
        (files_of(c) / "b.txt").write_text("hers\n")
        assert self.post(f"/plans/{plan.pk}/undo", seen=seen, force=True).status_code == 409
        assert self.post(f"/plans/{plan.pk}/undo", force=True).json()["files"] == 2

    @pytest.mark.parametrize("word", ["yes", "1", "on", 1])
    def test_one_word_does_not_stand_for_all_files(self, c, plan, word):
        """It may be the name of a file that somebody forgot to put into a list."""
        assert self.post(f"/plans/{plan.pk}/undo", force=word).status_code == 422
        assert (files_of(c) / "a.txt").read_text() == "hers\n"

    def test_for_others_there_is_nothing_to_undo(self, c, plan):
        turn = Recording.objects.first().turn_id
        row = actions.undo_changes(Scope.named(plan, "s1"), "alice")
        bob = self.client("bob")
        for path in (
            f"plans/{plan.pk}",
            f"plans/{plan.pk}/subtasks/s1",
            f"turns/{turn}",
            f"undos/{row.pk}",
        ):
            assert bob.get(f"/api/{path}/undo").status_code == 404
            assert bob.post(f"/api/{path}/undo", "{}", "application/json").status_code == 404


@pytest.mark.parametrize(
    ("command", "fate"),
    [
        ("yes | head -200 > a.txt", "goes_back"),
        ("rm a.txt; mkfifo a.txt", "changed_since"),  # of pipes nothing is recorded
        ("ln ../agent.json a; mv a a.txt", "goes_back"),
    ],
)
def test_what_cannot_be_recorded_gives_way_to_what_was_there_before_and_comes_back(
    c, monkeypatch, command, fate
):
    for module in ("scan", "undo_steps"):
        monkeypatch.setattr(f"agents.changes.{module}.LARGEST", 100)
    file = files_of(c) / "a.txt"
    file.write_text("one\n")
    plan = run(c, shell(command), done(), done())
    there = file.lstat()
    assert fates(actions.preview_changes(Scope.named(plan, "s1"))) == {"a.txt": fate}
    word = Wanted(force=fate == "changed_since")
    row = actions.undo_changes(Scope.named(plan, "s1"), "alice", word)
    assert row.whole and file.read_text() == "one\n"
    assert actions.undo_changes(Scope(row), "alice").whole
    again = file.lstat()
    assert (again.st_mode, again.st_ino, again.st_size) == (
        there.st_mode,
        there.st_ino,
        there.st_size,
    )
    actions.undo_changes(Scope.named(plan, "s1"), "alice", Wanted(force=True))
    assert file.read_text() == "one\n"


def test_what_was_not_recorded_and_moved_over_another_goes_only_with_a_word(c, monkeypatch):
    for module in ("scan", "undo_steps"):
        monkeypatch.setattr(f"agents.changes.{module}.LARGEST", 100)
    root = files_of(c)
    (root / "a.txt").write_text("one\n")
    (root / "large").write_text("hers\n" * 100)
    plan = run(c, shell("mv large a.txt"), done(), done())
    there = {"a.txt": "unsure", "large": "not_kept"}
    assert fates(actions.preview_changes(Scope.named(plan, "s1"))) == there
    with pytest.raises(NothingToUndo):
        actions.undo_changes(Scope.named(plan, "s1"), "alice")
    assert (root / "a.txt").read_text() == "hers\n" * 100


def test_two_names_of_one_file_that_cannot_be_recorded_both_come_back(c, monkeypatch):
    for module in ("scan", "undo_steps"):
        monkeypatch.setattr(f"agents.changes.{module}.LARGEST", 100)
    files = [files_of(c) / name for name in ("a.txt", "b.txt")]
    for file in files:
        file.write_text(f"{file.name}\n")
    plan = run(c, shell("yes | head -200 > a.txt; ln -f a.txt b.txt"), done(), done())
    row = actions.undo_changes(Scope.named(plan, "s1"), "alice", Wanted(force=True))
    assert row.whole and [file.read_text() for file in files] == ["a.txt\n", "b.txt\n"]
    assert actions.undo_changes(Scope(row), "alice").whole
    assert [file.lstat().st_size for file in files] == [400, 400]
    assert files[0].samefile(files[1])


def test_what_is_not_kept_in_the_trash_any_more_does_not_come_back(c, monkeypatch):
    for module in ("scan", "undo_steps"):
        monkeypatch.setattr(f"agents.changes.{module}.LARGEST", 100)
    file = files_of(c) / "a.txt"
    file.write_text("one\n")
    plan = run(c, shell("yes | head -200 > a.txt"), done(), done())
    row = actions.undo_changes(Scope.named(plan, "s1"), "alice", Wanted(force=True))
    Trashed.objects.update(at=timezone.now() - 2 * trash.RESTORABLE)
    trash.sweep()
    assert fates(actions.preview_changes(Scope(row))) == {"a.txt": "not_kept"}
    with pytest.raises(NothingToUndo):
        actions.undo_changes(Scope(row), "alice")
    assert file.read_text() == "one\n"


def test_what_the_undo_of_a_forced_undo_brought_back_is_asked_about_again(c):
    """Found by use: the next undo took a person's edit for the turn's own, and split a move."""
    (files_of(c) / "src").mkdir()
    (files_of(c) / "src" / "util.py").write_text("util\n" * 9)
    plan = run(c, shell("mv src lib"), done(), done())
    (files_of(c) / "lib" / "util.py").write_text("util\n" * 9 + "# by hand\n")
    before = everything(files_of(c))
    asked = dict.fromkeys(("lib/util.py", "src/util.py"), "changed_since")
    assert fates(actions.preview_changes(Scope.named(plan, "s1"))) == asked
    row = actions.undo_changes(Scope.named(plan, "s1"), "alice", Wanted(force=True))
    actions.undo_changes(Scope(row), "alice")
    assert everything(files_of(c)) == before
    assert fates(actions.preview_changes(Scope.named(plan, "s1"))) == asked
    for paths in (None, ("src/util.py",), ("lib/util.py",)):
        with pytest.raises(NothingToUndo):
            actions.undo_changes(Scope.named(plan, "s1"), "alice", Wanted(paths))
    assert everything(files_of(c)) == before


@pytest.mark.parametrize("can_exchange", [True, False])
@pytest.mark.parametrize(
    ("command", "door"), [("echo 2 > a", "takes_its_place"), ("echo 2 > new", "is_removed")]
)
def test_what_a_person_saves_at_the_very_moment_is_not_overwritten(
    c, monkeypatch, command, door, can_exchange
):
    root = files_of(c)
    (root / "a").write_text("one\n")
    plan = run(c, shell(command), done(), done())
    path, real = root / command.split()[-1], getattr(restore, door)

    def after_a_save(*args):
        half = root / "half"
        half.write_text("hers\n")
        half.rename(path)
        return real(*args)

    if not can_exchange:
        monkeypatch.setattr(restore, "exchange", Mock(return_value=False))
    monkeypatch.setattr(restore, door, after_a_save)
    row = actions.undo_changes(Scope.named(plan, "s1"), "alice")
    assert path.read_text() == "hers\n" and row.kept == {path.name: "changed"}
    assert {each.name for each in root.iterdir()} <= {"a", "new"}


def test_what_was_saved_at_that_moment_outlives_a_disk_that_fails_then(c, monkeypatch):
    (files_of(c) / "a").write_text("one\n")
    plan = run(c, shell("echo 2 > a"), done(), done())
    real = restore.exchange

    def fails_behind(*args):
        (files_of(c) / "a").write_text("hers\n")
        real(*args)
        raise OSError(errno.EIO, "the disk")

    monkeypatch.setattr(restore, "exchange", fails_behind)
    actions.undo_changes(Scope.named(plan, "s1"), "alice")
    assert "hers\n" in [each.read_text() for each in files_of(c).iterdir()]


def test_an_undo_of_an_undo_says_what_it_left(c):
    for name in "ab":
        (files_of(c) / name).write_text("one\n")
    plan = run(c, shell("echo 2 > a; echo 2 > b"), done(), done())
    row = actions.undo_changes(Scope.named(plan, "s1"), "alice")
    (files_of(c) / "a").write_text("hers\n")
    again = actions.undo_changes(Scope(row), "alice")
    assert (again.files, again.kept, again.whole) == (1, {"a": "changed"}, False)
    said = Message.objects.get(meta__undo=again.pk).text
    assert said == ("You undid an undo. 1 file restored. 1 file stayed: it was changed meanwhile.")


def test_what_an_undo_of_an_undo_left_is_offered_again_until_all_is_back(c):
    plan = run(c, shell("echo 1 > a; echo 2 > b"), done(), done())
    row = actions.undo_changes(Scope.named(plan, "s1"), "alice")
    told = c.messages.get(meta__undo=row.pk)
    actions.undo_changes(Scope(row), "alice", Wanted(paths=("a",)))
    assert "reversed" not in c.messages.get(pk=told.pk).meta
    assert [each.path for each in actions.preview_changes(Scope(row)).rows] == ["b"]
    last = actions.undo_changes(Scope(row), "alice")
    assert last.whole and (files_of(c) / "b").read_text() == "2\n"
    assert c.messages.get(pk=told.pk).meta["reversed"]
    with pytest.raises(Conflict, match="undone already"):
        actions.preview_changes(Scope(row))


def test_what_was_in_the_way_of_an_undo_of_an_undo_is_said_and_comes_back_later(c):
    plan = run(c, shell("mkdir d; echo 1 > d/work; echo 2 > b"), done(), done())
    row = actions.undo_changes(Scope.named(plan, "s1"), "alice")
    (files_of(c) / "d").write_text("hers\n")
    again = actions.undo_changes(Scope(row), "alice")
    assert (again.files, again.kept, again.whole) == (1, {"d/work": "blocked"}, False)
    said = Message.objects.get(meta__undo=again.pk).text
    assert "1 file stayed: something else stands in its place." in said
    (files_of(c) / "d").unlink()
    actions.undo_changes(Scope(row), "alice")
    assert (files_of(c) / "d" / "work").read_text() == "1\n"


def test_of_what_was_moved_and_changed_since_one_row_is_chosen_for_all(c):
    (files_of(c) / "guide.md").write_text("guide\n" * 9)
    plan = run(c, shell("mv guide.md handbook.md"), done(), done())
    (files_of(c) / "handbook.md").write_text("hers\n")
    scope = Scope.named(plan, "s1")
    rows = {
        each.row.path: each.chosen_at for each in undo_rows(actions.preview_changes(scope), scope)
    }
    assert rows == {"guide.md": "handbook.md", "handbook.md": ""}


class TestWhatWasMoved:
    """All of it goes back, or nothing: no content is to be at no place in between."""

    @pytest.fixture
    def plan(self, c):
        for name in ("a.txt", "b.txt"):
            (files_of(c) / name).write_text(f"this is {name}\n")
        return run(
            c,
            shell("mv a.txt tmp; mv b.txt a.txt; mv tmp b.txt; mkdir d; mv a.txt d/c.txt"),
            done(),
            done(),
        )

    def contents(self, c):
        root = files_of(c)
        return {
            str(each.relative_to(root)): each.read_text()
            for each in sorted(root.rglob("*"))
            if each.is_file()
        }

    @pytest.mark.parametrize("named", ["a.txt", "b.txt", "d/c.txt"])
    def test_one_of_its_paths_stands_for_all(self, c, plan, named):
        now = self.contents(c)
        row = actions.undo_changes(Scope.named(plan, "s1"), "alice", Wanted(paths=(named,)))
        assert self.contents(c) == {n: f"this is {n}\n" for n in ("a.txt", "b.txt")}
        actions.undo_changes(Scope(row), "alice", Wanted(paths=(named,)))
        assert self.contents(c) == now

    def test_where_one_of_them_was_changed_since_all_need_a_word(self, c, plan):
        (files_of(c) / "b.txt").write_text("hers\n")
        rows = fates(actions.preview_changes(Scope.named(plan, "s1")))
        assert rows == dict.fromkeys(("a.txt", "b.txt", "d/c.txt"), "changed_since")
        [why] = {row.why for row in actions.preview_changes(Scope.named(plan, "s1")).rows} - {""}
        assert why == "moved"
        with pytest.raises(NothingToUndo):
            actions.undo_changes(Scope.named(plan, "s1"), "alice")
        actions.undo_changes(Scope.named(plan, "s1"), "alice", Wanted(force=("d/c.txt",)))
        assert self.contents(c) == {n: f"this is {n}\n" for n in ("a.txt", "b.txt")}

    def test_where_one_of_them_cannot_go_back_none_does(self, c, plan):
        (files_of(c) / "a.txt").mkdir()
        (files_of(c) / "a.txt" / "hers").write_text("hers\n")
        rows = actions.preview_changes(Scope.named(plan, "s1")).rows
        assert {row.path: row.why for row in rows} == {
            "a.txt": "folder_there",
            "b.txt": "moved",
            "d/c.txt": "moved",
        }
        with pytest.raises(NothingToUndo):
            actions.undo_changes(Scope.named(plan, "s1"), "alice", Wanted(force=True))


def test_a_failed_subtask_is_tried_again_from_a_clean_copy(c):
    root = files_of(c)
    (root / "a.txt").write_text("one\n")
    plan = plan_of(c)
    scripted(
        call("write_file", path="a.txt", content="half\n"),
        call("write_file", path="rest.txt", content="half\n"),
        call("fail_subtask", error="no"),
    )
    actions.approve_plan(plan, 1, "alice", run="all")
    drive()
    scripted(call("list_files"), done(), done(), say("ok"))
    actions.retry_clean(plan, "s1", "alice")
    drive()
    assert (root / "a.txt").read_text() == "one\n"
    assert not (root / "rest.txt").exists()
    assert Plan.objects.get(pk=plan.pk).state == "done"


def test_the_command_undoes_and_says_what_came_of_it(c, monkeypatch):
    (files_of(c) / "a.txt").write_text("one\n")
    plan = run(c, call("write_file", path="a.txt", content="its\n"), done(), done())
    monkeypatch.setattr("console.management.commands.plan.local_owner", lambda: person())
    out = StringIO()
    call_command("plan", "undo", str(plan.pk), "--subtask", "s1", stdout=out)
    assert out.getvalue() == "You undid the changes of subtask 1. 1 file restored.\n"
    assert (files_of(c) / "a.txt").read_text() == "one\n"


class TestBesideChecksOfWhatIsDone:
    """A command of a check may write as well as any other."""

    SLOW = "test ! -e again || { touch began; until test -e go; do sleep 0.02; done; }"

    @pytest.fixture
    def checked(self):
        c = begun({"kind": "command", "command": self.SLOW}, tools=WITH_SHELL)
        worked(c, call("write_file", path="a.txt", content="its"), done(), say("all done"))
        (files_of(c) / "again").touch()
        return c

    def test_nothing_is_undone_while_a_command_of_a_check_runs(self, checked):
        plan, root = plan_of(checked), files_of(checked)
        scope = Scope.named(plan, "s1")
        actions.check_plan(plan, "alice")

        async def story(worker):
            await eventually((root / "began").exists)
            with pytest.raises(Conflict, match="Checks are being run in this folder"):
                await in_db(actions.undo_changes, scope, "alice")
            (root / "go").touch()
            await eventually(lambda: results(checked)[-1:] == [("c1", True)] and not working())

        happening(story)
        assert (root / "a.txt").exists()
        actions.undo_changes(Scope.named(plan, "s1"), "alice")
        assert not (root / "a.txt").exists()

    def test_what_a_reply_s_command_made_while_one_of_a_check_ran_cannot_be_told(self, checked):
        plan, root = plan_of(checked), files_of(checked)
        wait = "until test -e began; do sleep 0.02; done"
        make = f"echo > alone; sleep 0.2; touch waits; {wait}; echo > made; touch go"
        scripted(shell(make), say("ok"))

        async def story(worker):
            await in_db(handle_message, checked, "make it", "alice", None)
            await eventually((root / "waits").exists)
            await in_db(actions.check_plan, plan, "alice")
            await eventually(lambda: results(checked)[-1:] == [("c1", True)] and not working())

        happening(story)
        found = Scope(Recording.objects.last().turn).changes.files
        origins = {each.path: each.origin for each in found}
        assert (origins["alone"], origins["made"]) == ("own", "unsure")

    def test_a_command_of_a_check_waits_for_an_undo_that_has_begun(self, checked):
        plan, root = plan_of(checked), files_of(checked)
        (root / "go").touch()
        actions.check_plan(plan, "alice")

        async def story(worker):
            with Store.of(root.resolve()) as store, store.locked():  # as an undo has it
                await eventually(Turn.objects.filter(checkpoint__has_key="commands_in").exists)
                assert not (root / "began").exists()
            await eventually((root / "began").exists)
            await eventually(lambda: not working())

        happening(story)

    def test_a_command_of_a_check_does_not_run_between_the_files_of_one_that_was_cut_off(
        self, checked, monkeypatch
    ):
        def unreadable(*_):
            raise StoreBroken("too many open files", for_now=True)

        monkeypatch.setattr(engine, "read_steps", unreadable)
        root = files_of(checked)
        Undo.objects.create(conversation=checked, root=str(root.resolve()), subject="plan:1")
        actions.check_plan(plan_of(checked), "alice")
        drive()
        assert results(checked)[-1] == ("c1", None)
        assert not (root / "began").exists()


def test_what_a_check_of_the_output_writes_is_taken_back_with_the_attempt():
    check = {"kind": "command", "command": "echo made > made.txt"}
    c = begun(check, tools=WITH_SHELL, chains={"executor": written(ANSWERS, id="plain")})
    worked(c, say("Here it is."), say("All is well."))
    plan = plan_of(c)
    assert fates(actions.preview_changes(Scope.named(plan, "s1"))) == {"made.txt": "removed"}
    actions.undo_changes(Scope.named(plan, "s1"), "alice")
    assert not (files_of(c) / "made.txt").exists()


def test_nothing_is_undone_while_a_check_of_the_output_runs():
    slow = TestBesideChecksOfWhatIsDone.SLOW.removeprefix("test ! -e again || ")
    check = {"kind": "command", "command": slow}
    c = begun(check, tools=WITH_SHELL, chains={"executor": written(ANSWERS, id="plain")})
    scripted(say("Here it is."), say("All is well."))
    plan, root = plan_of(c), files_of(c)
    actions.approve_plan(plan, 1, "alice")

    async def story(worker):
        await eventually((root / "began").exists)
        with pytest.raises(Conflict, match="An agent is writing in this folder"):
            await in_db(engine.demand_quiet, str(root.resolve()))
        (root / "go").touch()
        await eventually(lambda: not working())

    happening(story)


def working():
    return Turn.objects.filter(state__in=Turn.OPEN_STATES).exists()


class TestChecksAfterAnUndo:
    """What was done in the folder and cannot be seen any more runs no command there."""

    def other(self, c):
        """A done plan in the same folder whose check says when it is run: each time twice, because
        it changes a file."""
        d = create_conversation(c.owner, c.agent_id)
        check = {"kind": "command", "command": "echo ran >> runs"}
        draft = PlanDraft.model_validate({"title": "Other", "subtasks": [{"name": "Do"}]})
        draft.subtasks[0].checks = [Check.model_validate(check)]
        actions.create_plan(d, draft, "alice", goal="Other")
        run(d, done())
        return d

    @pytest.mark.parametrize(("is_deleted", "runs"), [(False, 2), (True, 1)])
    def test_a_deleted_plan_is_left_alone(self, c, is_deleted, runs):
        plan = run(c, call("write_file", path="a.txt", content="1"), done(), done())
        d = self.other(c)
        if is_deleted:
            delete_conversation(d, "alice")
        actions.undo_changes(Scope.named(plan, "s1"), "alice")
        drive()
        assert (files_of(c) / "runs").read_text() == "ran\nran\n" * runs


def test_the_card_of_the_end_leads_to_the_changes_and_to_their_undo(c):
    plan = run(c, shell("echo > a.txt"), done(), done())
    alice = signed_in(person("alice"))
    page = alice.get(f"/c/{c.pk}/").content.decode()
    changes = f"/c/{c.pk}/changed?plan={plan.pk}"
    assert f'href="{changes}"' in page and f'href="{changes}&amp;undo"' in page
    opened = 'hx-trigger="click, load"'
    assert opened in alice.get(f"{changes}&undo").content.decode()
    assert opened not in alice.get(changes).content.decode()


@pytest.mark.parametrize("failing", ["src/a.py", "src/b.py", "lib/a.py", "lib/b.py"])
@pytest.mark.parametrize("error", [errno.EACCES, errno.ENOSPC])
def test_where_one_file_of_what_was_moved_cannot_go_back_all_of_it_stays(
    c, monkeypatch, failing, error
):
    root = files_of(c)
    (root / "src").mkdir()
    for name in "ab":
        (root / "src" / f"{name}.py").write_text("the same\n" * 9)
    (root / "c").write_text("one\n")
    plan = run(c, shell("mv src lib; echo 2 > c"), done(), done())
    before = everything(root)
    for name in ("put", "is_removed"):
        fail_at(monkeypatch, name, failing, error)
    row = actions.undo_changes(Scope.named(plan, "s1"), "alice")
    why = "full" if error == errno.ENOSPC else "forbidden"
    assert row.kept == dict.fromkeys(("lib/a.py", "lib/b.py", "src/a.py", "src/b.py"), why)
    assert (root / "c").read_text() == "one\n" and row.files == 1
    (root / "c").write_text("2\n")
    assert everything(root) == before
    (root / "c").write_text("one\n")
    monkeypatch.undo()
    assert actions.undo_changes(Scope(row), "alice").whole and everything(root) == before


def fail_at(monkeypatch, name, path, error):
    real = getattr(restore, name)

    def failing(*args):
        if any(isinstance(each, restore.Step) and each.path == path for each in args):
            raise OSError(error, os.strerror(error))
        return real(*args)

    monkeypatch.setattr(restore, name, failing)


def test_what_stands_in_place_of_a_folder_is_said_where_only_one_file_is_undone(c):
    root = files_of(c)
    (root / "d").mkdir()
    for name in "xy":
        (root / "d" / name).write_text(f"{name}\n")
    plan = run(c, shell("rm -r d; echo new > d"), done(), done())
    row = actions.undo_changes(Scope.named(plan, "s1"), "alice", Wanted(paths=("d/x",)))
    assert (row.files, row.kept) == (0, {"d/x": "blocked"})
    said = Message.objects.get(meta__undo=row.pk).text
    assert "1 file stayed: something else stands in its place." in said
    assert (root / "d").read_text() == "new\n"


def test_what_cannot_be_recorded_stays_where_it_does_not_come_back_from_the_trash(c, monkeypatch):
    for module in ("scan", "undo_steps"):
        monkeypatch.setattr(f"agents.changes.{module}.LARGEST", 100)
    file = files_of(c) / "a.txt"
    file.write_text("one\n")
    plan = run(c, shell("yes | head -200 > a.txt"), done(), done())
    row = actions.undo_changes(Scope.named(plan, "s1"), "alice", Wanted(force=True))
    assert file.read_text() == "one\n"
    full = OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr(trash, "move_to_free", Mock(side_effect=full))
    again = actions.undo_changes(Scope(row), "alice")
    assert again.kept == {"a.txt": "full"} and file.read_text() == "one\n"
    assert [each.name for each in files_of(c).iterdir()] == ["a.txt"]


def test_what_cannot_be_recorded_and_was_changed_since_stays_without_a_word(c, monkeypatch):
    for module in ("scan", "undo_steps"):
        monkeypatch.setattr(f"agents.changes.{module}.LARGEST", 100)
    file = files_of(c) / "a.txt"
    file.write_text("one\n")
    plan = run(c, shell("yes | head -200 > a.txt"), done(), done())
    file.write_text("hers\n" * 200)
    assert fates(actions.preview_changes(Scope.named(plan, "s1"))) == {"a.txt": "changed_since"}
    with pytest.raises(NothingToUndo):
        actions.undo_changes(Scope.named(plan, "s1"), "alice")
    assert file.read_text() == "hers\n" * 200
