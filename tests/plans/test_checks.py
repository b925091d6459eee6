"""A finish is believed when the checks say so: what is run, told, refused, and done about it."""

import errno
import json
import re
import threading

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agents.db import in_db
from agents.errors import Conflict, TurnLost
from agents.models import Event, ProviderListing, ToolCall, Turn
from plans import actions
from plans.models import Attempt, CheckResult, PlanVersion, Run
from tests.chains.chains import written
from tests.checked import TOOLS, begun, first, results, worked, write
from tests.fake_model import call, say
from tests.inner import AUTHORSHIP_TICK as CLOCK
from tests.inner import (
    Changed,
    Check,
    Known,
    Material,
    Scope,
    Workspace,
    baselines,
    change_agent,
    confinement,
    decide_call,
    finish_lines,
    needs_of,
    plan_snapshot,
    put_back_orphans,
    question_text,
    resolve,
    timestamp,
)
from tests.inner import check_probes as probes
from tests.patience import until_files_are_older
from tests.plans.test_any_chain import ANSWERS
from tests.world import (
    calls_of,
    done,
    drive,
    eventually,
    files_of,
    happening,
    plan_of,
    scripted,
    shown,
    signed_in,
    states,
)

pytestmark = pytest.mark.django_db(transaction=True)

EXISTS = {"kind": "file", "path": "a.txt", "exists": True}
SAYS = {"kind": "file", "path": "a.txt", "contains": "hello"}
GREEN = {"kind": "command", "command": "test -f a.txt"}
ASKED = {"kind": "review", "question": "Is it polite?"}
WRITES = call("write_file", path="a.txt", content="hello\n")
OVER = say("All is well.")
UNTIL_GO = "until test -e go; do sleep 0.02; done"


def judging(verdict, *replies):
    """The reviewer says this, whoever else is asked plays the replies."""
    left = list(replies)

    def answer(request):
        if "You judge the work" in str(request["messages"][0]["content"]):
            return say(verdict)
        return left.pop(0) if left else OVER

    return answer


def last_tool_message(request):
    return [each for each in request["messages"] if each["role"] == "tool"][-1]["content"]


def test_what_holds_is_done_and_checked():
    c = begun(EXISTS, SAYS, GREEN)
    worked(c, WRITES, done("Written"), OVER)
    now = first(c)
    assert (now["state"], now["verified"], now["outcome"]) == ("done", True, "Written")
    assert [each["result"]["passed"] for each in now["checks"]] == [True, True, True]
    assert now["checks"][1]["result"]["said"] == "Found in line 1."
    so_far = shown(c)["progress"]
    assert (so_far["checked"], so_far["by_word"], so_far["looked"]) == (1, 0, 0)
    assert shown(c)["standing"] == "Finished"


def test_without_checks_it_is_done_by_the_agents_word():
    c = begun()
    worked(c, done("Trust me"), OVER)
    assert (first(c)["state"], first(c)["verified"]) == ("done", None)
    assert shown(c)["progress"]["by_word"] == 1


def test_a_finish_is_refused_with_every_failure_at_once_and_the_attempt_goes_on():
    c = begun(EXISTS, {**SAYS, "path": "b.txt"}, GREEN)
    wire = worked(
        c, done("I did it"), WRITES, call("write_file", path="b.txt", content="hello"), done(), OVER
    )
    refusal = last_tool_message(wire.requests[1])
    assert "Not done: 3 of 3 checks failed (refused 1 of 3)." in refusal
    assert "- c1 (file: a.txt exists): a.txt is not there." in refusal
    assert "- c2 (file: b.txt contains hello): b.txt is not there." in refusal
    assert "- c3 (command: test -f a.txt): It ended with exit code 1." in refusal
    assert (first(c)["state"], first(c)["verified"], first(c)["attempts"]) == ("done", True, 1)
    refused, held = calls_of(c, "finish_subtask")
    assert (refused.state, held.state) == ("failed", "done")
    assert [line.state for line in finish_lines(refused)] == ["failed"] * 3


def test_after_three_refusals_the_attempt_has_failed_and_the_next_one_is_told():
    c = begun(EXISTS, plan={"max_attempts": 2})
    wire = worked(c, done(), done(), done(), WRITES, done(), OVER)
    attempts = list(Attempt.objects.order_by("number"))
    assert [each.failure_class for each in attempts] == ["check", ""]
    assert attempts[0].error.startswith("3 finishes were refused by its checks:")
    told = str(wire.requests[3]["messages"])
    assert "The last attempt failed: 3 finishes were refused" in told
    assert "a.txt is not there." in told
    assert (first(c)["state"], first(c)["verified"]) == ("done", True)


def test_how_often_it_may_be_refused_is_the_agents_setting():
    c = begun(EXISTS, plan={"max_check_failures": 1})
    worked(c, done())
    assert (first(c)["state"], first(c)["failed"]) == ("todo", True)
    assert first(c)["error"].startswith("1 finish was refused by its checks:")
    assert shown(c)["attention"] == "failed"


def test_a_review_is_asked_when_the_others_hold_and_its_reason_is_kept():
    c = begun(ASKED, EXISTS)
    wire = worked(
        c, judging("It says hello.\nVERDICT: yes", done("Not yet"), WRITES, done("Polite"), OVER)
    )
    reviews = [each for each in wire.requests if "judge" in each["messages"][0]["content"]]
    assert len(reviews) == 1
    assert first(c)["verified"] is True
    assert first(c)["checks"][0]["result"]["said"] == "It says hello."
    first_finish = calls_of(c, "finish_subtask")[0]
    assert [each.state for each in finish_lines(first_finish)] == ["not_reached", "failed"]


def test_a_reviewer_that_says_no_refuses():
    c = begun(ASKED, plan={"max_check_failures": 1})
    worked(c, judging("it is rude.\nVERDICT: no", WRITES, done("Polite")))
    assert (first(c)["state"], first(c)["checks"][0]["result"]["said"]) == ("todo", "it is rude.")


def test_a_reviewer_sees_what_was_done_and_not_what_was_thought():
    c = begun(ASKED, names=("A greeting",))
    thinking = {**WRITES, "reasoning": "I shall cheat.", "text": "Now I write."}
    wire = worked(c, judging("VERDICT: yes", thinking, done("Greeted"), OVER))
    asked = next(each for each in wire.requests if "judge" in each["messages"][0]["content"])
    text = asked["messages"][1]["content"]
    assert "tools" not in asked or not asked["tools"]
    assert "A greeting" in text and "Greeted" in text and "write_file" in text
    assert "cheat" not in str(asked) and "Now I write" not in str(asked)


def shown_to_reviewer(wire):
    """By request of the reviewer: what it is told that a person approved, and the material."""
    asked = [each["messages"] for each in wire.requests]
    texts = [each[1]["content"] for each in asked if "You judge" in each[0]["content"]]
    lines = [[line for line in text.splitlines() if line[:1] in ('"', "{")] for text in texts]
    return [tuple(map(json.loads, each)) for each in lines]


def test_a_reviewer_is_told_what_was_approved_and_not_what_waits():
    c = begun(ASKED)
    later = call("revise_current_plan", content="Anything will do.", expected_outcome="Nothing.")
    wire = worked(c, judging("VERDICT: yes", WRITES, later, done("Greeted"), OVER))
    assert plan_of(c).version == 2
    [(approved, material)] = shown_to_reviewer(wire)
    assert f"Plan: Tidy (v1)\nPlan number {plan_of(c).pk}." in approved
    assert "Goal: Tidy up\n- s1 Write\n" in approved and "c1 review: Is it polite?" in approved
    assert "Anything" not in approved and "planned" not in material


def test_a_reviewer_is_told_apart_what_the_agent_changed_without_a_yes():
    c = begun(ASKED, names=("Write", "Look"), plan={"confirm": "create"})
    easier = call("update_subtask", key="s2", expected_outcome="Anything will do.")
    replies = (WRITES, easier, done("Greeted"), done("Looked"), OVER)
    wire = worked(c, judging("VERDICT: yes", *replies))
    assert (plan_of(c).approved_version, states(c)) == (2, ["done", "done"])
    _, (approved, material) = shown_to_reviewer(wire)
    assert "- s2 Look" in approved and "Anything" not in approved
    assert "Expected outcome: Anything will do." in material["planned"]


def test_a_reviewer_sees_what_became_of_the_files():
    c = begun(ASKED, files={"a.txt": "rude\n"})
    quietly = call("shell", command="echo polite > a.txt")
    wire = worked(c, judging("VERDICT: yes", quietly, done("Greeted"), OVER))
    asked = next(each for each in wire.requests if "judge" in each["messages"][0]["content"])
    lines = asked["messages"][1]["content"].splitlines()
    [material] = [json.loads(line) for line in lines if '"claimed_outcome"' in line]
    assert "-rude\n+polite\n" in material["diffs"][0]


def asked_about(c, question, *diffs):
    """The material that a reviewer gets, where these files were changed so."""
    plan = plan_of(c)
    plan.read_version = plan.approved_version = 1
    changed = Changed("\n".join(path for path, _ in diffs), diffs)
    material = Material(plan, plan.subtasks.get(), "Done", None)
    text = question_text({**ASKED, "question": question}, material, changed, 60_000)
    assert len(text) < 60_000
    return json.loads(text.splitlines()[-3])


def test_a_diff_is_whole_or_named_as_left_out_and_leaves_room_for_what_tools_gave_back():
    diffs = [("long.txt", "\x01" * 500_000), ("a.txt", "+hello\n"), ("logo.png", "")]
    material = asked_about(begun(ASKED), "Is it polite?", *diffs)
    assert material["diffs"] == ["+hello\n"]
    assert material["left_out"] == "long.txt\nlogo.png"


@pytest.mark.parametrize("question", ["Is docs/long.txt polite?", "Does long.txt, at last, greet?"])
def test_a_question_about_a_file_that_is_left_out_cannot_be_judged(question):
    c = begun(ASKED)
    with pytest.raises(Conflict, match=r"what was changed in docs/long\.txt"):
        asked_about(c, question, ("docs/long.txt", ""))
    assert asked_about(c, "Is along.txt, or long.txt.md, polite?", ("docs/long.txt", ""))


def test_such_a_question_needs_a_person_and_asks_no_model():
    c = begun({"kind": "review", "question": "Is logo.png polite?"})
    wire = worked(c, call("shell", command="printf 'a\\0b' > logo.png"), done("Drawn"), OVER)
    assert (shown(c)["attention"], len(wire.requests)) == ("check", 2)
    assert results(c) == [("c1", None), ("c1", None)]
    assert Attempt.objects.get().turn.model_calls == 2


def test_a_reviewer_whose_model_calls_tools_gives_its_verdict_by_a_call():
    at = {"provider": "openai", "address": resolve("openai").base_url}
    listing = ProviderListing.objects.create(**at, seconds=0, asked_at=timezone.now())
    listing.models.create(name="scripted", is_chat=True, calls_tools=True)

    def answer(request):
        if "You judge the work" in str(request["messages"][0]["content"]):
            assert [each["function"]["name"] for each in request["tools"]] == ["verdict"]
            return call("verdict", verdict="yes", reason="It greets.")
        return replies.pop(0)

    replies = [WRITES, done("Greeted"), OVER]
    c = begun(ASKED)
    worked(c, answer)
    assert first(c)["verified"] is True
    assert first(c)["checks"][0]["result"]["said"] == "It greets."


def test_a_review_is_paid_for_by_the_turn_and_its_budget():
    c = begun(ASKED)
    plan_of(c)
    wire = worked(c, judging("VERDICT: yes", done("x"), OVER))
    turn = Attempt.objects.get().turn
    assert (len(wire.requests), turn.model_calls) == (3, 2)
    d = begun(ASKED)
    plan = plan_of(d)
    plan.budget = {"model_calls": 1}
    plan.save()
    worked(d, judging("VERDICT: yes", done("x"), OVER))
    assert (shown(d)["attention"], results(d)) == ("budget", [])
    actions.raise_budget(plan_of(d), "alice", {"model_calls": 9})
    drive()
    assert first(d)["verified"] is True


FILES = [
    ({"exists": True}, "x", "true", True),
    ({"exists": True}, None, "mkdir a.txt", True),
    ({"exists": True}, None, "mkfifo a.txt", False),
    ({"exists": True}, None, "ln -s nowhere a.txt", False),
    ({"exists": True}, "x", "mv a.txt b-a.txt; ln -s b-a.txt a.txt", False),
    ({"exists": True}, None, "ln -s /etc/hostname a.txt", False),
    ({"absent": True}, "x", "rm a.txt", True),
    ({"absent": True}, "x", "mv a.txt b.txt; ln -s nowhere a.txt", False),
    ({"absent": True}, "x", "true", False),
    ({"contains": "hello"}, "", "echo hello > a.txt", True),
    ({"contains": "hello"}, "", "ln -sf /etc/hosts a.txt", False),
    ({"contains": "hello"}, "", "echo hello > c-a.txt; ln -sf c-a.txt a.txt", False),
    ({"contains": "hello"}, "hello", "rm a.txt; mkfifo a.txt", False),
    ({"matches": "hello"}, "", "echo hello > d-a.txt; ln -sf d-a.txt a.txt", False),
    ({"matches": "^h.llo$"}, "", "printf 'a\\nhello\\n' > a.txt", True),
    ({"matches": "^h.llo$"}, "", "echo a hello > a.txt", False),
    ({"unchanged": True}, "x", "touch a.txt", True),
    ({"unchanged": True}, "x", "chmod +x a.txt", False),
    ({"unchanged": True}, "x", "echo y >> a.txt", False),
    ({"unchanged": True}, "x", "mv a.txt e-a.txt; ln -s e-a.txt a.txt", False),
    ({"unchanged": True}, "x", "rm a.txt; mkdir a.txt", False),
    ({"unchanged": True}, None, "true", True),
    ({"unchanged": True}, None, "echo y > a.txt", False),
]


@pytest.mark.parametrize("some", [slice(0, 8), slice(8, 16), slice(16, None)])
def test_a_file_is_as_it_was_to_be(some):
    """Each case has a file of its own, by its number."""
    cases = [(f"{n}.txt", *case) for n, case in enumerate(FILES)][some]
    checks = [{"kind": "file", "path": name, **check} for name, check, *_ in cases]
    files = {name: before for name, _, before, *_ in cases if before is not None}
    commands = "; ".join(command.replace("a.txt", name) for name, _, _, command, _ in cases)
    c = begun(*checks, files=files, plan={"max_check_failures": 1})
    worked(c, call("shell", command=commands), done(), OVER)
    assert results(c) == [(f"c{n}", holds) for n, (*_, holds) in enumerate(cases, 1)]


def test_the_line_is_named_in_which_a_text_was_found_whatever_ends_lines(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"a\r\n" * 9 + b"x\r\n" + b"wanted\r\nby\r\n")
    check = {"path": "a.txt", "contains": "wanted\nby"}
    found = probes.file_finding(check, Workspace(tmp_path), Known(None).in_folder)
    assert (found.passed, found.said) == (True, "Found in line 11.")


def test_a_pattern_that_was_saved_before_and_cannot_be_matched_now_needs_a_person():
    c = begun({"kind": "file", "path": "a.txt", "matches": "a"}, files={"a.txt": "ab"})
    approved = PlanVersion.objects.get(plan__conversation=c)
    approved.snapshot["subtasks"][0]["checks"][0]["matches"] = "a(?=b)"
    approved.save()
    worked(c, done())
    assert (shown(c)["attention"], shown(c)["run"]) == ("check", "paused")
    assert results(c) == [("c1", None), ("c1", None)]


def test_what_a_check_s_command_changes_the_attempt_has_changed():
    c = begun({"kind": "command", "command": "echo hi > report.txt; test -f a.txt"})
    worked(c, done(), WRITES, done(), OVER)
    found = Scope(plan_of(c)).changes.files
    assert {each.path: each.origin for each in found} == {"a.txt": "own", "report.txt": "own"}
    write(c, **{"b.txt": "hers"})
    actions.undo_changes(Scope(plan_of(c)), "alice")
    assert sorted(each.name for each in files_of(c).iterdir()) == ["b.txt"]


def test_what_is_changed_between_a_check_s_command_and_the_end_is_somebody_else_s():
    replies = [done(), WRITES, done(), OVER]

    def answer(request):
        if len(replies) == 3:  # the first finish was refused
            until_files_are_older(CLOCK)
            write(c, **{"hers.txt": "hers"})
            until_files_are_older(CLOCK)
        return replies.pop(0)

    c = begun({"kind": "command", "command": "test -f a.txt"})
    worked(c, answer)
    found = Scope(plan_of(c)).changes.files
    assert {each.path: each.origin for each in found} == {"a.txt": "own", "hers.txt": "outside"}


@pytest.mark.parametrize("form", ["exists", "absent", "unchanged"])
@pytest.mark.parametrize("path", ["a" * 300, "a/" * 400 + "b", "closed/a"])
def test_a_path_that_no_disk_takes_is_told_in_a_sentence(tmp_path, monkeypatch, form, path):
    def is_closed(folder, name):
        raise PermissionError(errno.EACCES, "closed")

    if path == "closed/a":  # tests may run as root, for whom no folder is
        (tmp_path / "closed").mkdir()
        monkeypatch.setattr(confinement, "status_in", is_closed)
    known = Known(probes.Baseline("absent", timezone.now()))
    found = probes.file_finding({"path": path, form: True}, Workspace(tmp_path), known.in_folder)
    assert found.said


def test_a_file_that_would_take_long_to_read_keeps_no_attempt_waiting(tmp_path, monkeypatch):
    monkeypatch.setattr(probes, "LARGEST_DIGEST", 10)
    (tmp_path / "large").write_bytes(b"x" * 11)
    assert baselines.digests(["large"], Workspace(tmp_path)) == {}


def test_what_cannot_be_run_is_tried_once_more_and_then_the_run_rests():
    c = begun(GREEN)
    change_agent(c.agent_id, {"tools": {**TOOLS, "shell": "off"}})
    worked(c, WRITES, done("x"))
    assert results(c) == [("c1", None), ("c1", None)]
    now = shown(c)
    assert (now["attention"], now["pause_reason"], now["standing"]) == (
        "check",
        "check",
        "A check could not be run",
    )
    assert [need.kind for need in needs_of(c.owner_id)] == ["check"]
    assert Attempt.objects.count() == 1 and calls_of(c, "finish_subtask")[0].state == "running"
    change_agent(c.agent_id, {"tools": TOOLS})
    actions.resume_plan(plan_of(c), "alice")  # Try again
    scripted(OVER)
    drive()
    assert (first(c)["verified"], first(c)["attempts"], states(c)) == (True, 1, ["done"])


def test_a_person_who_has_looked_stands_in_for_a_check_that_could_not_be_run():
    c = begun(GREEN, EXISTS)
    change_agent(c.agent_id, {"tools": {**TOOLS, "shell": "off"}})
    worked(c, WRITES, done("x"))
    with pytest.raises(Conflict, match="is not done yet"):
        actions.look_at(plan_of(begun(EXISTS)), "s1", "alice")
    actions.look_at(plan_of(c), "s1", "alice", 1, "c1")
    scripted(OVER)
    drive()
    now = first(c)
    assert (now["verified"], now["looked_by"]) == (True, "alice")
    assert [each["result"]["by"] for each in now["checks"]] == ["alice", ""]
    assert shown(c)["progress"]["looked"] == 1


def test_each_check_for_which_a_run_rests_is_a_thing_of_its_own():
    c = begun(GREEN, {"kind": "command", "command": "true"})
    change_agent(c.agent_id, {"tools": {**TOOLS, "shell": "off"}})
    worked(c, WRITES, done("x"))
    [first_one] = needs_of(c.owner_id)
    assert needs_of(c.owner_id) == [first_one]
    actions.look_at(plan_of(c), "s1", "alice", 1, "c1")
    drive()
    assert plan_of(c).pause_reason == "check" and Attempt.objects.count() == 1
    [second_one] = needs_of(c.owner_id)
    assert (first_one.kind, second_one.kind) == ("check", "check")
    assert first_one.key != second_one.key
    actions.resume_plan(plan_of(c), "alice")
    drive()
    [again] = needs_of(c.owner_id)
    assert again.key not in (first_one.key, second_one.key)


def test_who_has_looked_answers_for_what_they_saw_and_for_nothing_else():
    c = begun(GREEN, EXISTS)
    change_agent(c.agent_id, {"tools": {**TOOLS, "shell": "off"}})
    worked(c, WRITES, done("x"))
    before = results(c)
    for version, check, why in (
        (2, "c1", "The plan is now v1; you saw v2"),
        (1, "c2", "The run rests for the check c1 of s1: name that one"),
        (1, "", "The run rests for the check c1 of s1: name that one"),
    ):
        with pytest.raises(Conflict, match=why):
            actions.look_at(plan_of(c), "s1", "alice", version, check)
        assert (results(c), plan_of(c).run) == (before, Run.PAUSED)


def test_a_look_at_a_check_that_was_run_meanwhile_is_not_one_at_the_whole_subtask():
    c = finished(GREEN)
    with pytest.raises(Conflict, match="s1 is done already: nothing waits for its check c1"):
        actions.look_at(plan_of(c), "s1", "alice", 1, "c1")
    assert first(c)["looked_by"] == ""


def test_a_command_of_an_agent_that_asks_is_an_ordinary_approval():
    c = begun(GREEN, tools={**TOOLS, "shell": "ask"})
    wire = worked(c, WRITES, done("x"), OVER)
    [asked] = shown(c)["approvals"]
    assert (asked["tool"], asked["arguments"]["command"]) == ("shell", "test -f a.txt")
    assert (shown(c)["attention"], results(c)) == ("approval", [])
    [line] = finish_lines(calls_of(c, "finish_subtask")[0])
    assert line.state == "asks"
    decide_call(ToolCall.objects.get(pk=asked["id"]), "allow_once", "alice")
    drive()
    assert first(c)["verified"] is True
    assert all("check_" not in str(each["messages"]) for each in wire.requests)


def test_a_check_that_a_person_does_not_allow_is_neither_yes_nor_no():
    c = begun(GREEN, tools={**TOOLS, "shell": "ask"})
    worked(c, WRITES, done("x"), OVER)
    [asked] = shown(c)["approvals"]
    decide_call(ToolCall.objects.get(pk=asked["id"]), "deny", "alice", "not here")
    drive()
    assert (shown(c)["attention"], results(c)) == ("check", [("c1", None)])
    assert first(c)["checks"][0]["result"]["said"] == "It was not allowed to run: not here"


def test_what_was_allowed_for_always_does_not_ask():
    c = begun(GREEN, tools={**TOOLS, "shell": "ask"})
    rule = {"tool": "shell", "arguments": {"command": "test -f a.txt"}}
    change_agent(c.agent_id, {"always_allow": [rule]})
    worked(c, WRITES, done("x"), OVER)
    assert first(c)["verified"] is True


@pytest.mark.parametrize(("seconds", "asks"), [(120, False), (121, True)])
def test_what_was_allowed_without_a_time_has_the_time_of_the_shell_and_no_more(seconds, asks):
    c = begun({**GREEN, "timeout_s": seconds}, tools={**TOOLS, "shell": "ask"})
    rule = {"tool": "shell", "arguments": {"command": "test -f a.txt"}}
    change_agent(c.agent_id, {"always_allow": [rule]})
    worked(c, WRITES, done("x"), OVER)
    assert bool(shown(c)["approvals"]) == asks


def test_an_attempt_is_settled_by_the_version_that_was_approved_when_it_began():
    c = begun(EXISTS, names=("Write", "Look"))
    weaker = call("update_subtask", key="s2", checks=[])
    worked(c, weaker, WRITES, done("x"))
    now = shown(c)
    assert (now["version"], now["approved_version"], now["attention"]) == (2, 1, "confirm")
    assert [each["verified"] for each in now["subtasks"]] == [True, None]


def test_a_stop_ends_a_check_that_would_go_on_for_minutes():
    command = "touch began; sleep 300; touch ended"
    c = begun({"kind": "command", "command": command, "timeout_s": 600})
    scripted(done("x"))
    actions.approve_plan(plan_of(c), 1, "alice")

    async def story(worker):
        await eventually((files_of(c) / "began").exists)
        await in_db(lambda: actions.stop_plan(plan_of(c), "alice"))
        await eventually(lambda: plan_of(c).run == Run.IDLE)

    happening(story)
    assert not (files_of(c) / "ended").exists()
    assert (states(c), results(c)) == (["todo"], [])


def test_a_pause_rests_between_two_checks_and_what_ran_is_asked_again_at_the_end_alone():
    slow = {"kind": "command", "command": f"echo x >> runs.txt; {UNTIL_GO}"}
    c = begun(slow, {"kind": "command", "command": "true"})
    scripted(done("x"), OVER)
    actions.approve_plan(plan_of(c), 1, "alice")

    async def story(worker):
        await eventually((files_of(c) / "runs.txt").exists)
        await in_db(lambda: actions.pause_plan(plan_of(c), "alice"))
        (files_of(c) / "go").touch()
        await eventually(lambda: plan_of(c).run == Run.PAUSED)
        assert await in_db(results, c) == [("c1", True)]
        await in_db(lambda: actions.resume_plan(plan_of(c), "alice"))
        await eventually(lambda: states(c) == ["done"])

    happening(story)
    assert results(c) == [("c1", True), ("c2", True)]
    assert (files_of(c) / "runs.txt").read_text() == "x\nx\n"


def test_a_worker_that_lost_the_turn_records_nothing():
    c = begun({"kind": "command", "command": f"touch began; {UNTIL_GO}"})
    scripted(done("x"))
    actions.approve_plan(plan_of(c), 1, "alice")

    async def story(worker):
        await eventually((files_of(c) / "began").exists)
        taken = Turn.objects.filter(state="running")
        await in_db(lambda: taken.update(epoch=99))
        (files_of(c) / "go").touch()
        await eventually(lambda: not worker.own())

    happening(story)
    assert results(c) == []
    assert states(c) == ["in_progress"]


UNCHANGED = {"kind": "file", "path": "a.txt", "unchanged": True}


def test_how_files_were_is_read_on_a_thread_of_its_own(monkeypatch):
    """They may be large, and all turns and pages wait for the database's."""
    threads = []

    def read(*args):
        threads.append(threading.current_thread())
        return digests(*args)

    digests = baselines.digests
    monkeypatch.setattr(baselines, "digests", read)
    c = begun(UNCHANGED, files={"a.txt": "x"})
    scripted(done("x"), OVER)
    actions.approve_plan(plan_of(c), 1, "alice")

    async def story(worker):
        await eventually(lambda: results(c) == [("c1", True)])
        assert await in_db(threading.current_thread) not in threads

    happening(story)
    assert len(threads) == 1


def test_killed_while_they_are_read_they_are_read_before_anything_is_done(monkeypatch):
    def killed(*_):
        raise TurnLost

    c = begun(UNCHANGED, files={"a.txt": "x"})
    scripted(call("write_file", path="a.txt", content="y"), done("x"), OVER)
    actions.approve_plan(plan_of(c), 1, "alice")
    with monkeypatch.context() as dying:
        dying.setattr(baselines, "digests", killed)
        drive()
    assert Attempt.objects.get().before is None
    put_back_orphans(all_of_them=True)
    drive()
    assert results(c)[:1] == [("c1", False)]


def test_an_executor_without_tools_is_checked_by_what_it_gave_out():
    chains = {"executor": written(ANSWERS, id="plain")}
    c = begun(EXISTS, files={"a.txt": "x"}, chains=chains)
    worked(c, say("Here it is."), OVER)
    assert (first(c)["state"], first(c)["verified"]) == ("done", True)
    d = begun(EXISTS, chains=chains)
    worked(d, say("Here it is."))
    assert (first(d)["state"], Attempt.objects.latest("pk").failure_class) == ("todo", "check")


# After it is done


def finished(*checks, **options):
    c = begun(*checks, **options)
    worked(c, WRITES, done("x"), OVER)
    assert states(c) == ["done"]
    return c


def test_check_now_marks_what_is_not_true_any_more_and_reopens_nothing():
    c = finished(EXISTS, SAYS)
    (files_of(c) / "a.txt").unlink()
    actions.check_plan(plan_of(c), "alice")
    assert shown(c)["checking"] == {"done": 0, "total": 2, "subtasks": ["s1"]}
    drive()
    now = shown(c)
    assert (now["checking"], now["attention"], now["standing"]) == (
        None,
        "regressed",
        "No longer true",
    )
    assert (now["state"], first(c)["state"], first(c)["verified"]) == ("done", "done", False)
    assert now["progress"]["regressed"] == 1
    assert [need.kind for need in needs_of(c.owner_id)] == ["regressed"]
    write(c, **{"a.txt": "hello"})
    actions.check_plan(plan_of(c), "alice", "s1", "c2")
    drive()
    assert first(c)["verified"] is False  # the other one has not been asked again
    actions.check_plan(plan_of(c), "alice", "s1")
    drive()
    assert (first(c)["verified"], shown(c)["attention"]) == (True, "none")


def test_it_is_not_true_any_more_since_the_first_no_after_the_last_yes():
    c = finished(EXISTS, SAYS)

    def checked():
        actions.check_plan(plan_of(c), "alice")
        drive()
        row = first(c)
        [need] = needs_of(c.owner_id) or [None]
        return row["untrue_since"], need and timestamp(need.since)

    assert checked() == (None, None)
    (files_of(c) / "a.txt").write_text("other")
    since = checked()
    assert since[0] and since[0] == since[1]
    assert checked() == since, "another look changes nothing about since when"
    (files_of(c) / "a.txt").unlink()
    assert checked() == since, "it was untrue before, by another check"
    page = signed_in(c.owner).get(f"/c/{c.pk}/").content.decode()
    [shown_at] = re.findall(r'id="regressed-s1">(.*?)</p>', page, re.S)
    assert since[0].removesuffix("Z") in shown_at
    write(c, **{"a.txt": "hello"})
    assert checked() == (None, None)
    (files_of(c) / "a.txt").unlink()
    assert checked()[0] > since[0]


def test_what_is_not_true_any_more_is_done_again_when_a_person_says_so():
    c = finished(EXISTS)
    (files_of(c) / "a.txt").unlink()
    actions.check_plan(plan_of(c), "alice")
    drive()
    scripted(WRITES, done("again"), OVER)
    actions.retry_subtask(plan_of(c), "s1", "alice")
    assert (plan_of(c).state, first(c)["verified"]) == ("in_progress", None)
    drive()
    assert (first(c)["verified"], first(c)["outcome"], plan_of(c).state) == (True, "again", "done")


def retried(c, *replies):
    """Done, and by now not true any more: a person has it done again."""
    (files_of(c) / "a.txt").unlink()
    actions.check_plan(plan_of(c), "alice")
    drive()
    scripted(*replies)
    actions.retry_subtask(plan_of(c), "s1", "alice")


def test_who_has_looked_at_what_was_done_has_not_seen_what_is_done_anew():
    c = finished(EXISTS)
    actions.look_at(plan_of(c), "s1", "alice")
    retried(c, WRITES, done("again"), OVER)
    drive()
    assert (first(c)["verified"], first(c)["looked_by"]) == (True, "")
    actions.save_check(plan_of(c), "s1", Check.model_validate(GREEN), "alice")
    assert (first(c)["verified"], first(c)["looked_by"]) == (None, "")
    actions.look_at(plan_of(c), "s1", "alice")
    assert (first(c)["verified"], first(c)["looked_by"]) == (True, "alice")


def test_what_a_check_said_of_earlier_work_is_not_said_of_the_work_under_way():
    c = finished(EXISTS, {"kind": "command", "command": "true"})
    retried(c, call("ask_user", question="Which?"), WRITES, done("again"), OVER)
    assert [each["result"]["passed"] for each in first(c)["checks"]] == [False, True]
    drive()
    assert [each["result"] for each in first(c)["checks"]] == [None, None]
    actions.answer_question(plan_of(c), "The first", "alice")
    drive()
    assert [each["result"]["passed"] for each in first(c)["checks"]] == [True, True]


def test_a_check_is_added_to_what_is_done_by_word_and_run():
    c = finished()
    actions.save_check(plan_of(c), "s1", Check.model_validate(EXISTS), "alice")
    plan = plan_of(c)
    assert (plan.version, plan.approved_version, first(c)["verified"]) == (2, 2, None)
    actions.check_plan(plan, "alice", "s1")
    drive()
    assert first(c)["verified"] is True
    with pytest.raises(Conflict, match="stays as it is"):
        weaker = {"key": "c1", "kind": "file", "path": "b", "absent": True}
        actions.save_check(plan_of(c), "s1", Check.model_validate(weaker), "alice")


def test_i_have_looked_counts_as_checked_and_says_who():
    c = finished()
    actions.look_at(plan_of(c), "s1", "alice")
    now = first(c)
    assert (now["verified"], now["looked_by"], shown(c)["progress"]["looked"]) == (True, "alice", 1)
    with pytest.raises(Conflict, match="no check to run"):
        actions.check_plan(plan_of(c), "alice")


def test_without_reviews_only_what_needs_no_model_is_asked_again():
    c = begun(EXISTS, ASKED)
    wire = worked(c, judging("VERDICT: yes", WRITES, done("x"), OVER))
    count = len(wire.requests)
    actions.check_plan(plan_of(c), "alice", deterministic=True)
    drive()
    assert (len(wire.requests), first(c)["verified"]) == (count, True)
    assert sorted(results(c)) == [("c1", True), ("c1", True), ("c2", True)]


def test_one_round_of_checks_at_a_time_which_a_stop_ends():
    c = finished({"kind": "command", "command": "test -f a.txt"})
    actions.check_plan(plan_of(c), "alice")
    with pytest.raises(Conflict, match="being run already"):
        actions.check_plan(plan_of(c), "alice")
    actions.stop_plan(plan_of(c), "alice")
    drive()
    assert (len(results(c)), shown(c)["checking"], first(c)["verified"]) == (1, None, True)


def test_a_check_that_cannot_be_run_again_changes_nothing_and_rests_nothing():
    c = finished(GREEN)
    change_agent(c.agent_id, {"tools": {**TOOLS, "shell": "off"}})
    actions.check_plan(plan_of(c), "alice")
    drive()
    assert results(c) == [("c1", True), ("c1", None), ("c1", None)]
    assert (first(c)["verified"], shown(c)["attention"]) == (True, "none")
    assert first(c)["checks"][0]["result"]["passed"] is None


def test_an_approval_of_a_check_of_a_finished_plan_waits_for_the_person():
    c = finished(GREEN)
    change_agent(c.agent_id, {"tools": {**TOOLS, "shell": "ask"}})
    actions.check_plan(plan_of(c), "alice")
    drive()
    assert (shown(c)["attention"], len(shown(c)["approvals"])) == ("approval", 1)
    call_id = shown(c)["approvals"][0]["id"]
    decide_call(ToolCall.objects.get(pk=call_id), "allow_once", "alice")
    drive()
    assert results(c) == [("c1", True), ("c1", True)]


def test_events_tell_each_result():
    c = finished(EXISTS)
    (files_of(c) / "a.txt").unlink()
    actions.check_plan(plan_of(c), "alice")
    drive()
    told = Event.objects.filter(conversation=c, type__startswith="check.").order_by("seq")
    assert [event.type for event in told] == ["check.passed", "check.failed"]
    assert told[1].data["words"] == "a.txt exists"


def test_the_next_subtask_and_the_closing_turn_read_what_was_checked():
    c = begun(EXISTS, names=("Write", "Look"))
    wire = worked(c, WRITES, done("one"), done("two"), OVER)
    assert "s1 Write (checked): one" in str(wire.requests[-1]["messages"])
    assert plan_snapshot(plan_of(c)).progress.checked == 2


def test_no_result_is_kept_of_what_ran_for_another_wording():
    c = finished(EXISTS)
    CheckResult.objects.update(asked={**EXISTS, "key": "c1", "path": "other"})
    assert first(c)["checks"][0]["result"] is None


def test_a_silent_reviewer_needs_a_person():
    c = begun(ASKED)

    def answer(request):
        if "You judge the work" in str(request["messages"][0]["content"]):
            return say("Perhaps.")
        return done("x")

    worked(c, answer)
    assert (shown(c)["attention"], results(c)) == ("check", [("c1", None), ("c1", None)])


def test_a_plan_without_checks_asks_nothing_about_them():
    c = begun(names=("Read", "Write"))
    scripted(done("one"), done("two"), OVER)
    with CaptureQueriesContext(connection) as asked:
        actions.approve_plan(plan_of(c), 1, "alice")
        drive()
        shown(c)
    said = [each["sql"] for each in asked.captured_queries]
    assert states(c) == ["done", "done"]
    assert [sql for sql in said if "INTO" in sql and "plans_checkresult" in sql] == []
    assert len([sql for sql in said if "plans_checkresult" in sql]) <= 10
    assert len([sql for sql in said if "plans_planversion" in sql]) <= 1


@pytest.mark.parametrize(("checks", "runs"), [(1, 1), (2, 2)])
def test_a_command_that_changes_nothing_is_asked_twice_only_beside_others(checks, runs):
    counting = {"kind": "command", "command": "mkdir -p .git && echo ran >> .git/runs"}
    c = begun(*[counting, {"kind": "command", "command": "true"}][:checks])
    scripted(done("x"), OVER)
    actions.approve_plan(plan_of(c), 1, "alice")
    drive()
    assert (files_of(c) / ".git" / "runs").read_text() == "ran\n" * runs
