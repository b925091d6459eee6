"""A tick is true of the moment it is given: checks are asked again until nothing changes under them."""

import random
import shutil
import subprocess

import pytest

from agents.errors import TurnLost
from agents.models import ToolCall
from plans import actions
from plans.models import CheckResult
from tests.checked import TOOLS, begun, first, results, worked, write
from tests.fake_model import call, say
from tests.inner import check_probes, check_runner, decide_call, put_back_orphans
from tests.world import calls_of, done, drive, files_of, plan_of, shown

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.process]

EXISTS = {"kind": "file", "path": "a.txt", "exists": True}
ASKED = {"kind": "review", "question": "Is it polite?"}
WRITES = call("write_file", path="a.txt", content="hello\n")
OVER = say("All is well.")
ONCE = {"max_check_failures": 1}
ASKING = {**TOOLS, "shell": "ask"}


def command(text):
    return {"kind": "command", "command": text}


def said(c, place):
    return first(c)["checks"][place]["result"]["said"]


@pytest.mark.parametrize(
    ("checks", "untrue"),
    [
        ([EXISTS, command("rm -f a.txt")], 0),
        ([command("test -f a.txt"), command("rm -f a.txt")], 0),
        ([command("test -f a.txt && rm a.txt")], 0),
        ([command("if test -f f; then rm f; exit 1; else touch f; fi")], 0),
        ([command("touch b"), command("test -f b"), command("rm b")], 1),
        ([command("test -f a.txt"), command("test -f n && rm -f a.txt; touch n")], 0),
    ],
)
def test_what_a_check_undoes_does_not_hold(checks, untrue):
    c = begun(*checks, plan=ONCE)
    worked(c, WRITES, done())
    now = first(c)
    assert (now["state"], now["verified"], shown(c)["attention"]) == ("todo", None, "failed")
    assert now["checks"][untrue]["result"]["passed"] is False
    assert said(c, untrue).startswith("It held, and did not stay so: ")


def test_what_holds_in_each_round_is_ticked_whatever_its_command_leaves_behind():
    c = begun(command("echo x >> log; test -f a.txt"), EXISTS)
    worked(c, WRITES, done(), OVER)
    assert first(c)["verified"] is True
    assert len((files_of(c) / "log").read_text().split()) == 2
    assert sorted(results(c)) == [("c1", True), ("c2", True)]


def test_files_alone_are_looked_at_once(monkeypatch):
    looked = []
    real = check_probes.file_finding
    monkeypatch.setattr(
        check_probes, "file_finding", lambda *given: looked.append(1) or real(*given)
    )
    c = begun(EXISTS, {"kind": "file", "path": "b", "absent": True})
    worked(c, WRITES, done(), OVER)
    assert (first(c)["verified"], len(looked)) == (True, 2)


def test_a_reviewer_is_asked_once_about_what_stays():
    """What changes files has done so before; what does not is asked again behind the review."""
    asked = []

    def answer(request):
        if "You judge the work" not in str(request["messages"][0]["content"]):
            return replies.pop(0)
        asked.append((files_of(c) / "log").read_text())
        (files_of(c) / "b").unlink()
        return say("VERDICT: yes")

    replies = [WRITES, done(), OVER]
    c = begun(command("echo x >> log"), command("test -f b"), ASKED, files={"b": "b"}, plan=ONCE)
    worked(c, answer)
    assert asked == ["x\nx\n"]
    assert (files_of(c) / "log").read_text() == "x\nx\n"
    assert sorted(results(c)) == [("c1", True), ("c2", False), ("c3", True)]


def test_files_are_looked_at_last_behind_a_review_too():
    """A command that had changed nothing takes a file away when it is asked behind the review."""
    late = "mkdir -p .git; echo x >> .git/n; test $(wc -l < .git/n) -lt 3 || rm a.txt"
    c = begun(EXISTS, command("echo x >> log"), command(late), ASKED, plan=ONCE)
    worked(c, WRITES, done(), say("VERDICT: yes"))
    assert (first(c)["state"], first(c)["verified"]) == ("todo", None)
    assert said(c, 0) == "It held, and did not stay so: a.txt is not there."


def test_what_a_person_changes_before_they_allow_a_check_is_seen():
    c = begun(EXISTS, command("true"), tools=ASKING, plan=ONCE)
    worked(c, WRITES, done())
    (files_of(c) / "a.txt").unlink()
    [asked] = shown(c)["approvals"]
    decide_call(ToolCall.objects.get(pk=asked["id"]), "allow_once", "alice")
    drive()
    assert first(c)["verified"] is None
    assert said(c, 0) == "It held, and did not stay so: a.txt is not there."


def test_one_yes_is_enough_for_all_rounds_of_a_finish_and_no_more():
    c = begun(command("echo x >> log; test -f b"), tools=ASKING)
    worked(c, WRITES, done(), done(), OVER)
    for rounds in (1, 3):
        [asked] = shown(c)["approvals"]
        decide_call(ToolCall.objects.get(pk=asked["id"]), "allow_once", "alice")
        write(c, b="") if rounds == 3 else None
        drive()
        assert len((files_of(c) / "log").read_text().split()) == rounds
    assert first(c)["verified"] is True
    assert len(calls_of(c, "shell")) == 2


def test_who_has_looked_in_the_place_of_a_check_is_not_asked_again():
    c = begun(command("test -f a.txt"), EXISTS, tools=ASKING)
    worked(c, WRITES, done(), OVER)
    [asked] = shown(c)["approvals"]
    decide_call(ToolCall.objects.get(pk=asked["id"]), "deny", "alice")
    drive()
    actions.look_at(plan_of(c), "s1", "alice", 1, "c1")
    drive()
    assert [each["result"]["by"] for each in first(c)["checks"]] == ["alice", ""]
    assert first(c)["state"] == "done" and not shown(c)["approvals"]


def test_a_pause_between_two_rounds_rests_there_and_begins_anew(monkeypatch):
    real, left = check_runner.record, [2]

    def record(*given):
        real(*given)
        left[0] -= 1
        if not left[0]:
            actions.pause_plan(plan_of(c), "alice")

    c = begun(command("echo x >> log"), EXISTS, plan=ONCE)
    monkeypatch.setattr(check_runner, "record", record)
    worked(c, WRITES, done(), OVER)
    assert (shown(c)["run"], first(c)["state"]) == ("paused", "in_progress")
    (files_of(c) / "a.txt").unlink()
    actions.resume_plan(plan_of(c), "alice")
    drive()
    assert results(c) == [("c1", True), ("c2", False)]
    last = CheckResult.objects.latest("pk")
    assert last.said == "It held, and did not stay so: a.txt is not there."


def test_checks_of_what_is_done_are_asked_again_too():
    c = begun(EXISTS, command("test ! -f gone || rm -f a.txt"))
    worked(c, WRITES, done(), OVER)
    write(c, gone="")
    actions.check_plan(plan_of(c), "alice")
    drive()
    assert [each["result"]["passed"] for each in first(c)["checks"]] == [False, True]


# Sets of checks by chance, whose commands change what others look at


def by_chance(dice):
    """A check about one or two of three files."""
    one, other = dice.sample("abd", 2)
    texts = [
        *(f"test -f {one}", f"test ! -f {one}", f"test -f {one} && test ! -f {other}"),
        *(f"touch {one}", f"rm -f {one}", f"echo x >> {one}", f"cp -f {one} {other}"),
        *(f"test -f {one} && touch {other}", f"test -f {one} && rm -f {other}"),
        f"if test -f {one}; then rm {one}; else touch {one}; fi",
        f"echo x >> n; test $(wc -l < n) -lt {dice.randint(2, 3)} || rm -f {one}",
    ]
    forms = ({"exists": True}, {"absent": True}, {"contains": "x"}, {"unchanged": True})
    if dice.random() < 0.4:
        return {"kind": "file", "path": one, **dice.choice(forms)}
    return command(dice.choice(texts))


def tree(folder):
    return {each.name: each.read_bytes() for each in folder.iterdir()}


def holds(check, folder, before):
    if check["kind"] == "command":
        return not subprocess.run(
            ["sh", "-c", check["command"]], cwd=folder, check=False
        ).returncode
    there = tree(folder).get(check["path"])
    if "contains" in check:
        return b"x" in (there or b"")
    if "unchanged" in check:
        return there == before.get(check["path"])
    return (there is not None) is ("exists" in check)


def untrue(checks, folder, before, tmp_path):
    """Those that do not hold, each asked in a copy of its own. Of several commands that change files
    themselves none counts: each was asked behind the others, and they go on changing them."""
    found, changing = [], []
    for number, check in enumerate(checks):
        copy = shutil.copytree(folder, tmp_path / f"copy{number}")
        if not holds(check, copy, before):
            found.append(check)
        if tree(copy) != tree(folder):
            changing.append(check)
        shutil.rmtree(copy)
    return [each for each in found if each not in changing or len(changing) < 2]


@pytest.mark.parametrize("seed", range(300))
@pytest.mark.sampled(4)
def test_whatever_changes_what_at_a_tick_every_check_holds(seed, monkeypatch, tmp_path):
    dice = random.Random(seed)
    checks = [by_chance(dice) for _ in range(dice.randint(2, 4))]
    before = {name: dice.choice("xy") for name in dice.sample("abd", dice.randint(0, 3))}
    asks = dice.random() < 0.3
    c = begun(*checks, files=before, tools=ASKING if asks else TOOLS)
    moments = {dice.randrange(12) for _ in range(dice.randint(0, 2))}
    real, count = check_runner.record, iter(range(1_000))

    def record(*given):
        if (moment := next(count)) in moments and moment % 2:
            raise TurnLost
        real(*given)
        if moment in moments:
            raise TurnLost

    monkeypatch.setattr(check_runner, "record", record)
    worked(c, done(), done(), done(), OVER)
    for _ in range(20):
        asked = ToolCall.objects.filter(state=ToolCall.State.ASKED, decision="").first()
        if asked is not None:
            if dice.random() < 0.3:
                write(c, **{dice.choice("abd"): "x"})
            decide_call(asked, "allow_once", "alice")
        put_back_orphans(all_of_them=True)
        drive()
    old = {name: text.encode() for name, text in before.items()}
    if first(c)["verified"] is True:
        assert untrue(checks, files_of(c), old, tmp_path) == []
    if first(c)["state"] != "done":
        return
    write(c, **{dice.choice("abd"): "x"})
    actions.check_plan(plan_of(c), "alice")
    for _ in range(6):
        asked = ToolCall.objects.filter(state=ToolCall.State.ASKED, decision="").first()
        decide_call(asked, "allow_once", "alice") if asked is not None else None
        put_back_orphans(all_of_them=True)
        drive()
    last = CheckResult.objects.filter(subtask__plan__conversation=c).order_by("pk").last()
    if last.passed and first(c)["verified"] is True:
        assert untrue(checks, files_of(c), old, tmp_path) == []
