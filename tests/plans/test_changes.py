"""What a subtask, a plan and a turn changed, as pages, scripts and models read it."""

import json
import math
import re
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.utils import timezone

from agents.models import Recording, Undo
from plans import actions
from plans.models import Plan
from tests.builders import proposed_plan
from tests.fake_model import call, say
from tests.inner import ChangesChange as Change
from tests.inner import (
    Scope,
    Store,
    StoreBroken,
    changes_text,
    held_changes,
    plan_snapshot,
    retention,
)
from tests.world import (
    ALL_FILE_TOOLS,
    calls_of,
    conversation,
    done,
    drive,
    files_of,
    person,
    plan_of,
    scripted,
    shown,
    signed_in,
    tell,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_home")]


NOT_KEPT = "What was changed is not kept any more."


def write(path, content):
    return call("write_file", path=path, content=content)


@pytest.fixture
def c():
    c = proposed_plan("One", "Two")
    (files_of(c) / "a.txt").write_text("one\ntwo\n")
    return c


def run(c, *replies):
    scripted(*replies, say("all done"))
    plan = plan_of(c)
    actions.approve_plan(plan, plan.version, "alice", run="all")
    drive()
    plan.refresh_from_db()
    return plan


def tidied(c):
    with Store.of(files_of(c)) as store, store.locked():
        retention.tidy(store)


def test_the_snapshot_says_how_much_each_subtask_and_the_plan_have_changed(c):
    run(c, write("a.txt", "one\n2\n3\n"), done(), write("b.txt", "x\n"), done())
    now = shown_last(c)
    assert [each["changes"]["files"] for each in now["subtasks"]] == [1, 1]
    assert (
        now["subtasks"][0]["changes"] | {"removed": 1, "added": 2} == now["subtasks"][0]["changes"]
    )
    assert now["changes"] == {
        "files": 2, "added": 3, "removed": 1, "outside": 0, "unsure": 0, "stopped": "",
        "up_to": False, "undone_at": None, "partly_undone": False,
    }  # fmt: skip


def shown_last(c):
    return plan_snapshot(Plan.objects.get(conversation=c)).document()


def test_nothing_is_said_where_nothing_was_recorded(c):
    assert shown(c)["changes"] is None
    assert shown(c)["subtasks"][0]["changes"] is None


def test_a_file_that_two_subtasks_changed_counts_once_in_the_plan(c):
    plan = run(c, write("a.txt", "one\n2\n"), done(), write("a.txt", "one\n2\n3\n"), done())
    [change] = Scope(plan).changes.files
    assert (change.kind, change.added, change.removed) == ("modified", 2, 1)
    assert Scope(plan).changes.sums.files == 1


def test_what_a_later_subtask_took_back_is_no_change_of_the_plan(c):
    plan = run(
        c, write("b.txt", "x"), write("a.txt", "x"), done(), write("a.txt", "one\ntwo\n"), done()
    )
    assert [each.path for each in Scope(plan).changes.files] == ["b.txt"]
    assert len(Scope(plan.subtasks.first()).changes.files) == 2


def test_changes_that_could_not_be_read_for_once_are_there_when_they_can(c, monkeypatch):
    monkeypatch.setattr(held_changes, "BROKEN_FOR", 0.0)
    plan = run(c, write("a.txt", "1\n"), done(), write("b.txt", "x\n"), done())

    def is_broken(store, oid):
        raise StoreBroken(oid.hex())

    with monkeypatch.context() as broken:
        broken.setattr(Store, "read", is_broken)
        broken.setattr(held_changes, "held", held_changes.HeldChanges())
        assert Scope(plan).changes.files == []
    assert [each.path for each in Scope(plan).changes.files] == ["a.txt", "b.txt"]


def test_of_long_lists_of_changes_those_used_last_are_held_and_no_more(monkeypatch):
    monkeypatch.setattr(held_changes, "MOST_HELD", 10)
    change = Change("a.txt", "added")
    held = held_changes.HeldChanges()
    first, second, third, long = [("/root", (name,)) for name in ("1", "2", "3", "4")]
    for key in (first, second):
        held.put(key, (change,) * 4, math.inf)
    assert held.get(first) == (change,) * 4
    held.put(third, (change,) * 4, math.inf)
    assert (held.get(second), len(held.get(first)), len(held.get(third))) == (None, 4, 4)
    held.put(long, (change,) * 100, math.inf)
    assert (len(held.get(long)), held.get(first), held.get(third)) == (100, None, None)
    held.put(first, (change,), math.inf)
    assert (held.get(long), held.size) == (None, 2)


def test_two_attempts_at_a_subtask_are_one_list():
    c = proposed_plan("One", plan={"enabled": True, "max_attempts": 2})
    (files_of(c) / "a.txt").write_text("one\n")
    plan = run(
        c,
        write("a.txt", "half\n"),
        call("fail_subtask", error="no"),
        write("a.txt", "whole\n"),
        done(),
    )
    assert Recording.objects.count() == 2
    [change] = Scope(plan.subtasks.get()).changes.files
    assert (change.added, change.removed) == (1, 1)
    assert "-one\n+whole\n" in Scope(plan.subtasks.get()).changes.diff(10_000)


class TestApi:
    def get(self, path, owner="alice"):
        return signed_in(person(owner)).get(f"/api{path}")

    def test_lists_and_diffs_of_plan_subtask_and_turn(self, c):
        plan = run(c, write("a.txt", "one\n2\n"), done(), write("docs/b.txt", "x\n"), done())
        found = self.get(f"/plans/{plan.pk}/changes").json()
        assert [(e["path"], e["kind"], e["origin"]) for e in found["changes"]] == [
            ("a.txt", "modified", "own"),
            ("docs/b.txt", "added", "own"),
        ]
        assert (found["files"], found["kept"]) == (2, True)
        one = self.get(f"/plans/{plan.pk}/subtasks/s1/changes").json()
        assert [each["path"] for each in one["changes"]] == ["a.txt"]
        diff = self.get(f"/plans/{plan.pk}/subtasks/s1/diff?path=a.txt").json()["diff"]
        assert "-two\n+2\n" in diff
        turn = Recording.objects.first().turn_id
        assert self.get(f"/turns/{turn}/changes").json()["changes"] == one["changes"]
        assert self.get(f"/turns/{turn}/diff").json()["diff"] == diff

    def test_what_was_not_changed_and_what_is_not_ones_own_is_not_there(self, c):
        plan = run(c, write("a.txt", "2"), done(), done())
        assert self.get(f"/plans/{plan.pk}/changes/diff?path=other.txt").status_code == 404
        hidden = self.get(f"/plans/{plan.pk}/changes/diff?path=%1B%5B2J").json()
        assert hidden["detail"] == "\\x1b[2J was not changed."
        turn = Recording.objects.first().turn_id
        for path in (f"/plans/{plan.pk}/changes", f"/turns/{turn}/changes", f"/turns/{turn}/diff"):
            assert self.get(path, "bob").status_code == 404

    def test_what_is_not_kept_any_more_is_said_and_the_sums_stay(self, c):
        plan = run(c, write("a.txt", "2\n"), done(), done())
        retention.forget(Recording.objects.all(), Undo.objects.none())
        found = self.get(f"/plans/{plan.pk}/changes").json()
        assert (found["files"], found["kept"], found["changes"]) == (1, False, [])
        one = self.get(f"/plans/{plan.pk}/changes/diff?path=a.txt")
        assert (one.status_code, one.json()["detail"]) == (404, NOT_KEPT)
        assert changes_text(Scope(plan).changes, [], "a.txt") == NOT_KEPT

    def test_sums_of_files_that_are_not_kept_say_that_it_may_be_less(self, c):
        plan = run(c, write("a.txt", "2\n"), done(), write("a.txt", "3\n"), done())
        assert (shown(c)["changes"]["files"], shown(c)["changes"]["up_to"]) == (1, False)
        oldest = Recording.objects.order_by("pk")[:1]
        retention.forget(Recording.objects.filter(pk__in=oldest), Undo.objects.none())
        found = self.get(f"/plans/{plan.pk}/changes").json()
        assert (found["files"], found["up_to"], found["kept"]) == (2, True, False)
        assert shown(c)["changes"]["up_to"] is True
        assert [each["changes"]["up_to"] for each in shown(c)["subtasks"]] == [False, False]
        page = signed_in(c.owner).get(f"/c/{c.pk}/").content.decode()
        assert "up to 2 files, " in page and "up to 1 file" not in page

    def test_the_notice_of_an_undo_that_is_forgotten_offers_nothing_more(self, c, settings):
        plan = run(c, write("a.txt", "2\n"), done(), done())
        actions.undo_changes(Scope(plan), "alice")
        settings.KEEP_CHANGES_DAYS = 1
        alice = signed_in(c.owner)
        assert "Undo the undo" in alice.get(f"/c/{c.pk}/").content.decode()
        Undo.objects.update(created_at=timezone.now() - timedelta(days=1, minutes=1))
        retention.forget_old()
        page = alice.get(f"/c/{c.pk}/").content.decode()
        assert "Undo the undo" not in page
        assert "You undid the changes of the plan" in page

    def test_what_is_too_old_is_forgotten_and_nothing_offers_to_undo_it(self, c, settings):
        plan = run(c, write("a.txt", "2\n"), done(), done())
        recording = Recording.objects.earliest("began_at")
        settings.KEEP_CHANGES_DAYS = 1
        page = f"/c/{c.pk}/changed?plan={plan.pk}"
        retention.forget_old()
        assert 'id="undo-button"' in signed_in(c.owner).get(page).content.decode()
        recording.refresh_from_db()
        assert recording.changes, "it is not a day old"
        late = timezone.now() - timedelta(days=1, minutes=1)
        Recording.objects.update(began_at=late)
        retention.forget_old()
        tidied(c)
        assert not Store.of(files_of(c)).generations()
        assert self.get(f"/plans/{plan.pk}/changes").json()["kept"] is False
        assert self.get(f"/plans/{plan.pk}/undo").status_code == 409
        shown_then = signed_in(c.owner).get(page).content.decode()
        assert "older than changes are kept" in shown_then
        assert 'id="undo-button"' not in shown_then
        assert self.get(f"/plans/{plan.pk}/changes/diff").json()["diff"] == ""


class TestTheTool:
    def test_a_model_reads_what_it_has_changed_so_far(self, c):
        run(
            c,
            write("a.txt", "one\n2\n"),
            call("get_changes", of="this_turn"),
            call("get_changes", of="this_turn", path="a.txt"),
            done(),
            call("get_changes", subtask="s1", diff=True),
            call("get_changes", subtask="s9"),
            done(),
        )
        first, second, third, fourth = (each.result for each in calls_of(c, "get_changes"))
        assert first == "a.txt: modified, +1 -1"
        assert second.endswith("@@ -1,2 +1,2 @@\n one\n-two\n+2\n")
        assert "+2" in third
        assert fourth == "There is no subtask s9 in this plan."

    @pytest.mark.parametrize("grant", ["ask", "off"])
    def test_lines_are_for_those_who_may_read_files(self, grant):
        """Else a file could be read by writing over it, or whenever somebody else wrote it."""
        c = proposed_plan("One", tools={**ALL_FILE_TOOLS, "read_file": grant})
        (files_of(c) / "a.txt").write_text("secret\n")
        get = "get_changes"
        by_path, whole = call(get, of="this_turn", path="a.txt"), call(get, diff=True)
        run(c, write("a.txt", "x\n"), by_path, whole, call(get, of="this_turn"), done())
        *lines, listed = (each.result for each in calls_of(c, "get_changes"))
        assert not any("secret" in each for each in lines)
        assert listed == "a.txt: modified, +1 -1"

    def test_in_chat_without_a_plan_it_tells_of_this_turn_and_of_those_before(self):
        c = conversation()
        (files_of(c) / "a.txt").write_text("one\ntwo\n")
        scripted(
            write("a.txt", "one\n2\n"),
            call("get_changes", of="this_turn"),
            say("Written."),
            write("b.txt", "x\n"),
            call("get_changes"),
            call("get_changes", path="a.txt"),
            call("get_changes", of="plan"),
            say("That is all."),
        )
        tell(c, "write")
        tell(c, "and what have you done?")
        results = [each.result for each in calls_of(c, "get_changes")]
        assert results[:2] == ["a.txt: modified, +1 -1"] * 2
        assert results[2].endswith("-two\n+2\n")
        assert results[3] == "There is no plan yet."

    def test_what_another_conversation_changed_is_not_told(self):
        files = {"write_file": "allow"}
        here, there = conversation(tools=files), conversation(tools=files)
        scripted(write("a.txt", "x"), say("Done."), call("get_changes"), say("Nothing."))
        tell(there, "write")
        tell(here, "what was changed?")
        assert calls_of(here, "get_changes")[0].result == "No file was changed."

    @pytest.mark.parametrize(
        ("tools", "plan_mode", "is_offered"),
        [
            ({"write_file": "allow"}, False, True),
            ({"shell": "ask"}, True, True),
            ({"read_file": "allow", "run_agent:x": "allow"}, True, False),
            ({"write_file": "off"}, False, False),
            ({"write_file": "allow", "get_changes": "off"}, True, False),
        ],
    )
    def test_in_chat_it_is_offered_where_something_may_be_changed(
        self, tools, plan_mode, is_offered
    ):
        c = conversation(tools=tools, plan={"enabled": plan_mode})
        model = scripted(say("Hello."))
        tell(c, "hello")
        offered = [each["function"]["name"] for each in model.requests[0].get("tools", [])]
        assert ("get_changes" in offered, "create_plan" in offered) == (is_offered, plan_mode)

    def test_reading_changes_records_nothing(self, c):
        run(c, done(), done())
        assert not Recording.objects.filter(files__gt=0).exists()


class Terminal(StringIO):
    def isatty(self):
        return True


def test_what_is_hidden_is_written_out_at_a_terminal(c, monkeypatch):
    name = "a\u202etxt\x9b31m\x1b"
    plan = run(c, write(f"{name}.txt", f"{name}\r\n"), done(name), done())
    monkeypatch.setattr("console.management.commands.plan.local_owner", lambda: person())
    for words in (["changes"], ["changes", "--diff"], ["changes", "--json"], ["export"]):
        out = Terminal()
        call_command("plan", *words, str(plan.pk), stdout=out)
        assert not set(out.getvalue()) & set("\u202e\x9b\x1b\r"), words
        assert "202e" in out.getvalue().lower(), words
        into_file = StringIO()
        call_command("plan", *words, str(plan.pk), stdout=into_file)
        assert ("\u202e" in into_file.getvalue()) == ("--json" not in words), words


def test_the_command_lists_files_and_shows_diffs(c, monkeypatch):
    plan = run(c, write("a.txt", "one\n2\n"), done(), write("b.txt", "x\n"), done())
    monkeypatch.setattr("console.management.commands.plan.local_owner", lambda: person())

    def said(*words):
        out = StringIO()
        call_command("plan", "changes", *words, str(plan.pk), stdout=out)
        return out.getvalue()

    assert said() == "a.txt: modified, +1 -1\nb.txt: added, +1\n"
    assert "-two\n+2" in said("--path", "a.txt")
    assert "b.txt" not in said("--subtask", "s1", "--diff")
    assert json.loads(said("--json"))["files"] == 2


@pytest.mark.parametrize(("most", "words"), [(1000, "1 file, +1"), (0, "Changes are not recorded")])
def test_beside_a_reply_stands_what_it_changed(monkeypatch, most, words):
    c = conversation(tools=ALL_FILE_TOOLS)
    monkeypatch.setattr("agents.changes.scan.MOST_FILES", most)
    scripted(write("new.txt", "x\n"), say("Written."))
    tell(c, "write it")
    page = signed_in(person("alice")).get(f"/c/{c.pk}/").content.decode()
    assert f'aria-label="Changes of this reply: {words}"' in page


class TestWhatIsNotRecorded:
    def seen(self, c, path):
        return signed_in(person("alice")).get(path).content.decode()

    def test_a_workspace_of_too_many_files_says_so_beside_the_subtask_and_on_the_page(
        self, c, monkeypatch
    ):
        monkeypatch.setattr("agents.changes.scan.MOST_FILES", 0)
        plan = run(c, write("a.txt", "2\n"), done(), done())
        page = self.seen(c, f"/c/{c.pk}/")
        links = re.findall(r'<a class="change-link" href="([^"]+)" aria-label="([^"]+)"', page)
        assert [name.partition(": ")[2] for _, name in links] == ["Changes are not recorded"] * 3
        assert "subtask=s1" in links[1][0]
        why = self.seen(c, f"/c/{c.pk}/changed?plan={plan.pk}&subtask=s1")
        assert "More than 50,000 files: changes are not recorded in this workspace." in why
        asked = self.seen(c, f"/c/{c.pk}/changed/preview?plan={plan.pk}")
        assert "More than 50,000 files: changes are not recorded in this workspace." in asked

    def test_a_file_that_is_too_large_is_named(self, c, monkeypatch):
        monkeypatch.setattr("agents.changes.scan.LARGEST", 10)
        (files_of(c) / "huge.bin").write_bytes(b"x" * 2_000)
        plan = run(c, write("a.txt", "2\n"), done(), done())
        why = self.seen(c, f"/c/{c.pk}/changed?plan={plan.pk}")
        assert "1 file in the workspace is not recorded" in why
        note = why.split('class="changes-note"', 1)[1].split("</p>", 1)[0]
        assert '<span class="mono">huge.bin</span>' in note and "2 kB" in note
