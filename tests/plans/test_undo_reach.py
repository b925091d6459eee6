"""What no recording holds and no undo can put back is said, before and after."""

import os

import pytest

from agents.errors import Invalid, NotFound
from agents.models import Undo
from plans import actions
from tests.builders import proposed_plan
from tests.fake_model import call, say
from tests.inner import NothingToUndo, Scope, Wanted
from tests.world import (
    ALL_FILE_TOOLS,
    done,
    drive,
    files_of,
    person,
    plan_of,
    scripted,
    shown,
    signed_in,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_home")]


@pytest.fixture
def c():
    admin = person("alice")
    admin.is_superuser = True
    admin.save()
    return proposed_plan("One", "Two", tools={**ALL_FILE_TOOLS, "shell": "allow"})


def run(c, command):
    scripted(call("shell", command=command), done(), done(), say("all done"))
    plan = plan_of(c)
    actions.approve_plan(plan, plan.version, "alice", run="all")
    drive()
    plan.refresh_from_db()
    return plan


def page(c, plan, name="changed"):
    address = f"/c/{c.pk}/{name}?plan={plan.pk}"
    return signed_in(person("alice")).get(address).content.decode()


def rows(plan):
    return {row.path: (str(row.fate), row.why) for row in actions.preview_changes(Scope(plan)).rows}


class TestAFileThatIsTooLargeToBeRecorded:
    @pytest.fixture(autouse=True)
    def small(self, monkeypatch):
        monkeypatch.setattr("agents.changes.scan.LARGEST", 100)

    @pytest.mark.parametrize(
        ("command", "expected"),
        [
            ("head -c 200 /dev/zero > new.bin", {"new.bin"}),
            ("head -c 200 /dev/zero | tr '\\0' y > old.bin", {"old.bin"}),
            ("rm old.bin", {"old.bin"}),
            ("cat old.bin > /dev/null", set()),
        ],
    )
    def test_is_a_change_once_it_came_changed_or_went(self, c, command, expected):
        (files_of(c) / "old.bin").write_bytes(b"x" * 200)
        plan = run(c, f"{command}; echo x > small.txt")
        found = {e.path for e in Scope(plan).changes.files if e.kind == "not_recorded"}
        assert found == expected
        assert {path for path, (fate, _) in rows(plan).items() if fate == "not_kept"} == expected
        assert actions.undo_changes(Scope.named(plan, "s1"), "alice").whole is not bool(expected)
        assert bool(shown(c)["changes"]["undone_at"]) is not bool(expected)

    def test_is_said_where_nothing_else_was_changed(self, c):
        plan = run(c, "head -c 200 /dev/zero > new.bin")
        assert shown(c)["changes"]["files"] == 1
        assert "Over 20 MB, not recorded." in page(c, plan)
        preview = page(c, plan, "changed/preview")
        assert "new.bin" in preview and "it was not recorded" in preview
        with pytest.raises(NothingToUndo, match="cannot be put back"):
            actions.undo_changes(Scope.named(plan, "s1"), "alice")


SAID = "Files that .gitignore leaves out"


def test_where_rules_leave_files_out_page_preview_and_api_say_that_these_do_not_come_back(c):
    (files_of(c) / ".gitignore").write_text("*.log\n")
    (files_of(c) / "x.log").write_text("kept nowhere\n")
    plan = run(c, "rm x.log; echo > a.txt")
    assert SAID in page(c, plan) and SAID in page(c, plan, "changed/preview")
    api = signed_in(person("alice")).get(f"/api/plans/{plan.pk}/changes").json()
    assert api["leaves_out"] is True


@pytest.mark.parametrize("rules", [None, "# nothing\n"])
def test_where_none_do_nothing_is_said_of_it(c, rules):
    if rules:
        (files_of(c) / ".gitignore").write_text(rules)
    plan = run(c, "echo > a.txt")
    assert SAID not in page(c, plan) and SAID not in page(c, plan, "changed/preview")


def test_what_comes_back_only_in_place_of_a_file_that_needs_a_word_says_so(c):
    root = files_of(c)
    (root / "d").mkdir()
    (root / "d" / "x").write_text("x\n")
    plan = run(c, "rm -r d; echo new > d")
    assert rows(plan) == {"d": ("removed", ""), "d/x": ("comes_back", "")}
    (root / "d").write_text("hers\n")
    assert rows(plan) == {"d": ("changed_since", ""), "d/x": ("comes_back", "in_the_way")}
    assert "comes back only if what is in its way is restored too" in page(
        c, plan, "changed/preview"
    )
    row = actions.undo_changes(Scope(plan), "alice", Wanted(force=("d",)))
    assert row.kept == {} and (root / "d" / "x").read_text() == "x\n"


class TestWhatIsInTheWay:
    @pytest.fixture
    def plan(self, c):
        root = files_of(c)
        (root / "dd").mkdir()
        (root / "x").write_text("x\n")
        (root / "dd" / "q").write_text("q\n")
        plan = run(c, "rm x; rm -r dd")
        (root / "x").mkdir()
        (root / "dd").symlink_to("/tmp")
        return plan

    def test_is_said_before(self, c, plan):
        assert rows(plan) == {"dd/q": ("not_kept", "no_way"), "x": ("not_kept", "folder_there")}
        preview = page(c, plan, "changed/preview")
        assert "a folder is in its place" in preview and "is a link or a file now" in preview

    def test_makes_no_empty_undos(self, plan):
        for _ in range(2):
            with pytest.raises(NothingToUndo, match="cannot be put back"):
                actions.undo_changes(Scope.named(plan, "s1"), "alice")
        assert not Undo.objects.exists()

    def test_is_no_reason_where_the_undo_takes_it_away_itself(self, c):
        root = files_of(c)
        (root / "dd").mkdir()
        (root / "x").write_text("x\n")
        (root / "dd" / "q").write_text("q\n")
        plan = run(c, "rm x; mkdir x; echo > x/new; ln -s /etc x/link; rm -r dd; ln -s /tmp dd")
        assert actions.undo_changes(Scope.named(plan, "s1"), "alice").whole
        assert (root / "x").read_text() == "x\n" and (root / "dd" / "q").read_text() == "q\n"
        assert sorted(os.listdir(root)) == ["dd", "x"]  # noqa: PTH208


class TestNamedFiles:
    def test_one_that_was_not_changed_is_not_found(self, c):
        plan = run(c, "echo > a.txt")
        with pytest.raises(NotFound, match=r"other.txt was not changed"):
            actions.undo_changes(Scope.named(plan, "s1"), "alice", Wanted(paths=("other.txt",)))

    def test_none_at_all_are_asked_for(self, c):
        plan = run(c, "echo > a.txt")
        with pytest.raises(Invalid, match="Name the files"):
            actions.undo_changes(Scope.named(plan, "s1"), "alice", Wanted(paths=()))

    def test_what_was_changed_again_is_said_of_those_alone(self, c):
        plan = run(c, "echo > a.txt; echo > b.txt")
        (files_of(c) / "a.txt").unlink()
        (files_of(c) / "b.txt").write_text("hers\n")
        with pytest.raises(NothingToUndo, match=r"^Nothing to undo\.$"):
            actions.undo_changes(Scope.named(plan, "s1"), "alice", Wanted(paths=("a.txt",)))
