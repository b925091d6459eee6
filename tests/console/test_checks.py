"""Checks at the doors: API, command, timeline, export, and the pages that draw what asks."""

import re
from html import unescape
from io import StringIO

import pytest
from django.core.management import call_command

from agents.errors import Conflict, Invalid
from agents.models import Turn, TurnState
from plans import actions
from plans.models import CheckResult, Plan
from tests.checked import TOOLS, begun, first, worked
from tests.console.api.conftest import Api
from tests.fake_model import call, say
from tests.inner import (
    Check,
    Timeline,
    as_markdown,
    change_agent,
    check_from,
    local_owner,
    set_owner,
    typed_fields,
)
from tests.inner import call_display_question_of as question_of
from tests.markup import flat, html
from tests.world import calls_of, done, drive, files_of, plan_of, shown, signed_in

pytestmark = pytest.mark.django_db(transaction=True)

EXISTS = {"kind": "file", "path": "a.txt", "exists": True}
GREEN = {"kind": "command", "command": "test -f a.txt"}
WRITES = call("write_file", path="a.txt", content="hello\n")
OVER = say("All is well.")


def finished(*checks, **options):
    c = begun(*checks, **options)
    worked(c, WRITES, done("Written"), OVER)
    return c


@pytest.fixture
def api(db):
    return Api("alice")


def test_a_script_adds_changes_and_removes_checks(api):
    c = begun(EXISTS)
    path = f"/plans/{plan_of(c).pk}/subtasks/s1/checks"
    added = api.post(path, {"check": GREEN}, If_Match='"1"')
    assert (added.status_code, added.json()["version"]) == (201, 2)
    assert [each["key"] for each in added.json()["subtasks"][0]["checks"]] == ["c1", "c2"]
    changed = api.put(f"{path}/c2", {"check": {**EXISTS, "path": "b.txt"}})
    assert changed.json()["subtasks"][0]["checks"][1]["path"] == "b.txt"
    assert api.delete(f"{path}/c1").json()["subtasks"][0]["checks"][0]["key"] == "c2"
    assert api.delete(f"{path}/c1").status_code == 404
    assert api.put(f"{path}/c9", {"check": EXISTS}).status_code == 404
    wrong = api.post(path, {"check": {"kind": "file", "path": "x"}})
    assert wrong.status_code == 422
    assert wrong.json()["detail"].startswith("check: a check of a file has exactly one of")
    stale = api.post(path, {"check": GREEN}, If_Match='"1"')
    assert stale.status_code == 412


def test_what_a_script_reads_of_checks_it_may_send_back(api):
    c = begun(EXISTS)
    path = f"/plans/{plan_of(c).pk}/subtasks/s1"
    rows = api.get(f"/plans/{plan_of(c).pk}").json()["subtasks"][0]["checks"]
    same = api.patch(path, {"name": "Write it", "checks": rows}, If_Match='"1"').json()
    assert (same["version"], same["subtasks"][0]["checks"]) == (2, rows)


def test_a_script_has_what_is_done_checked_again(api):
    c = finished(EXISTS)
    path = f"/plans/{plan_of(c).pk}"
    (files_of(c) / "a.txt").unlink()
    queued = api.post(f"{path}/subtasks/s1/check", {"check": "c1"})
    assert (queued.status_code, queued.json()["checking"]["total"]) == (202, 1)
    assert api.post(f"{path}/check").status_code == 409
    drive()
    now = api.get(path).json()
    assert (now["attention"], now["subtasks"][0]["verified"]) == ("regressed", False)
    [need] = api.get("/needs").json()["items"]
    assert (need["kind"], need["plan"]) == ("regressed", now["id"])
    for stale in ({"version": 7}, {"check": "c1"}):
        assert api.post(f"{path}/subtasks/s1/look", stale).status_code == 409
    looked = api.post(f"{path}/subtasks/s1/look", {"version": 1}).json()
    assert (looked["subtasks"][0]["looked_by"], looked["progress"]["looked"]) == ("alice", 1)
    assert looked["attention"] == "none"
    assert api.post(f"{path}/subtasks/s1/take-back", {"version": 7}).status_code == 409
    back = api.post(f"{path}/subtasks/s1/take-back", {"version": 1}).json()
    assert (back["subtasks"][0]["looked_by"], back["attention"]) == ("", "regressed")
    assert api.post(f"{path}/subtasks/s1/take-back").status_code == 409


def test_a_script_takes_a_changed_file_as_it_is(api):
    c = finished({"kind": "file", "path": "a.txt", "unchanged": True}, files={"a.txt": "hello\n"})
    (files_of(c) / "a.txt").write_text("hers")
    path = f"/plans/{plan_of(c).pk}"
    api.post(f"{path}/check")
    drive()
    assert api.get(path).json()["attention"] == "regressed"
    page = signed_in(c.owner).get(f"/c/{c.pk}/").content.decode()
    assert "Take a.txt as it is now" in page
    taken = f"{path}/subtasks/s1/checks/c1/take"
    assert api.post(taken, {"version": 7}).status_code == 409
    assert Api("bob").post(taken).status_code == 404
    assert api.post(taken, {"version": 1}).status_code == 200
    drive()
    assert api.get(path).json()["attention"] == "none"


def test_somebody_elses_checks_are_not_there(api):
    c = finished(EXISTS)
    bob = Api("bob")
    for path in ("check", "subtasks/s1/check", "subtasks/s1/look", "subtasks/s1/take-back"):
        assert bob.post(f"/plans/{plan_of(c).pk}/{path}").status_code == 404


def test_the_command_follows_and_fails_where_a_check_says_no():
    owner = local_owner()
    c = finished(EXISTS)
    type(c).objects.filter(pk=c.pk).update(owner=owner)
    set_owner(owner, c.agent_id)
    printed = StringIO()
    call_command("plan", "check", str(plan_of(c).pk), stdout=printed)
    assert printed.getvalue().strip() == "s1 c1  yes     file: a.txt exists  It is there."
    (files_of(c) / "a.txt").unlink()
    with pytest.raises(Conflict, match="1 of 1 checks did not say yes"):
        call_command("plan", "check", str(plan_of(c).pk), "s1", stdout=StringIO())


@pytest.mark.parametrize("state", [TurnState.FAILED, TurnState.STOPPED])
def test_the_command_fails_where_the_checks_did_not_run_to_their_end(state, monkeypatch):
    owner = local_owner()
    c = finished(EXISTS)
    type(c).objects.filter(pk=c.pk).update(owner=owner)
    set_owner(owner, c.agent_id)

    def broken_off(is_over, *_):
        Turn.objects.filter(lane="check").update(state=state, error="It broke.")
        assert is_over()

    monkeypatch.setattr("console.management.commands.plan.follow", broken_off)
    with pytest.raises(Conflict, match=r"It broke\.|did not run to their end"):
        call_command("plan", "check", str(plan_of(c).pk), stdout=StringIO())


def test_the_command_draws_what_cannot_be_seen_in_a_check():
    owner = local_owner()
    c = finished()
    type(c).objects.filter(pk=c.pk).update(owner=owner)
    set_owner(owner, c.agent_id)
    hidden = {"kind": "file", "path": "a.txt", "contains": "\u202ehello"}
    actions.save_check(plan_of(c), "s1", Check.model_validate(hidden), owner.username)
    printed = StringIO()
    with pytest.raises(Conflict, match="1 of 1 checks"):
        call_command("plan", "check", str(plan_of(c).pk), stdout=printed)
    assert "a.txt contains [U+202E]hello" in printed.getvalue()
    assert "\u202e" not in printed.getvalue()


def test_the_timeline_tells_each_result():
    c = begun(EXISTS)
    worked(c, done("Not yet"), WRITES, done("Now"), OVER)
    actions.check_plan(plan_of(c), "alice")
    drive()
    (files_of(c) / "a.txt").unlink()
    actions.check_plan(plan_of(c), "alice")
    drive()
    actions.look_at(plan_of(c), "s1", "alice")
    actions.take_back(plan_of(c), "s1", "alice")
    said = [str(line.words) for line in reversed(Timeline(plan_of(c), "alice").lines())]
    told = [words for words in said if "check" in words or "true" in words or "looked" in words]
    assert told == [
        "check failed: a.txt exists: a.txt is not there.",
        "checked: a.txt exists",
        "What is done is checked again",
        "checked: a.txt exists",
        "What is done is checked again",
        "check failed: a.txt exists: a.txt is not there.",
        "no longer true",
        "looked at, and counts as checked",
        "does not count as looked at any more",
    ]


def test_the_export_has_each_check_with_what_it_came_to():
    c = finished(EXISTS)
    text = as_markdown(plan_of(c))
    assert "1 of 1 · 1 checked." in text
    assert "`a.txt exists` (passed)" in text


def subtask_on_its_page(c):
    page = flat(signed_in(c.owner).get(f"/plans/{plan_of(c).pk}/").content.decode())
    return page.split('<li id="s1"', 1)[1].split("</ol>", 1)[0]


def test_the_page_of_a_plan_has_each_check_with_what_it_came_to_and_who_has_looked():
    c = finished(EXISTS)
    subtask = subtask_on_its_page(c)
    assert "exists" in subtask and 'data-result="passed"' in subtask
    (files_of(c) / "a.txt").unlink()
    actions.check_plan(plan_of(c), "alice")
    drive()
    assert "a.txt is not there." in subtask_on_its_page(c)
    actions.look_at(plan_of(c), "s1", "alice")
    assert "Looked at by you" in subtask_on_its_page(c)


def test_the_page_of_a_plan_says_what_will_be_checked_and_what_is_done_by_word():
    subtask = subtask_on_its_page(begun(EXISTS))
    assert "exists" in subtask and "data-result" not in subtask
    assert "By the agent’s word" in subtask_on_its_page(finished())


def test_a_proposal_shows_each_check_and_counts_them_and_says_nothing_of_a_word_not_given_yet():
    c = begun(EXISTS, tools={**TOOLS, "shell": "ask"}, names=("Look", "Write", "Tell"))
    actions.update_subtask(plan_of(c), "s2", {"checks": [EXISTS, GREEN]}, "alice")
    actions.update_subtask(plan_of(c), "s3", {"checks": []}, "alice")
    page = html(signed_in(c.owner).get(f"/c/{c.pk}/"))
    drawer, card = page[page.index('id="plan-scroll"') :], page[page.index('id="log"') :]
    assert "3 subtasks, 3 checks" in words_of(drawer)
    checked = drawer[drawer.index('aria-label="Checks of subtask 2"') :]
    checked = words_of(checked[: checked.index("</ul>")])
    assert "a.txt exists" in checked and "test -f a.txt" in checked and "asks you" in checked
    assert "Add a check to subtask 3" in drawer
    assert "by the agent’s word" not in drawer
    assert "3 subtasks, 2 with checks. Nothing runs until you start it." in card
    assert "no check" in card


def words_of(html):
    return " ".join(re.sub("<[^>]*>", " ", html).split())


def test_a_check_that_asks_is_drawn_where_it_is_decided():
    c = begun(GREEN, tools={**TOOLS, "shell": "ask"})
    worked(c, WRITES, done("x"), OVER)
    [asked] = calls_of(c, "shell")
    assert question_of(asked) == "Run this check?"
    alice = signed_in(c.owner)
    page = alice.get(f"/c/{c.pk}/").content.decode()
    assert f'id="approval-{asked.pk}"' in page and "Run this check?" in page
    assert "Run this check?" in alice.get("/needs/").content.decode()
    answer = {"decision": "allow_once"}
    alice.post(f"/c/{c.pk}/calls/{asked.pk}/decide", answer, headers={"HX-Request": "true"})
    drive()
    assert first(c)["verified"] is True
    assert alice.get(f"/c/{c.pk}/").status_code == 200


@pytest.mark.parametrize("kind", ["check", "regressed"])
def test_what_waits_because_of_a_check_has_a_card(kind):
    c = begun(GREEN)
    if kind == "check":
        change_agent(c.agent_id, {"tools": {**TOOLS, "shell": "off"}})
        worked(c, WRITES, done("x"), OVER)
    else:
        worked(c, WRITES, done("x"), OVER)
        (files_of(c) / "a.txt").unlink()
        actions.check_plan(plan_of(c), "alice")
        drive()
    alice = signed_in(c.owner)
    page = alice.get("/needs/").content.decode()
    word = {"check": "A check could not be run", "regressed": "No longer true"}[kind]
    assert word in page and "I have looked" in page
    need = alice.get("/api/needs").json()["items"][0]["key"]
    looked = f"/c/{c.pk}/plan/subtasks/s1/looked"
    seen = {"plan": plan_of(c).pk, "version": plan_of(c).version, "need": need}
    if kind == "check":
        assert '{"check": "c1"}' in unescape(page)
        drawer = alice.get(f"/c/{c.pk}/").content.decode()
        assert '{"check": "c1"}' in unescape(drawer)
        stale = alice.post(looked, seen, headers={"HX-Request": "true"})
        assert stale.status_code == 409 and "rests for the check c1" in stale.content.decode()
        seen["check"] = "c1"
    answer = alice.post(looked, seen, headers={"HX-Request": "true"})
    assert answer.status_code == 200
    drive()
    assert (first(c)["verified"], first(c)["looked_by"]) == (True, "alice")
    assert shown(c)["attention"] == "none"


@pytest.mark.parametrize("kind", ["check", "regressed"])
def test_a_card_quotes_the_check_that_it_is_about(kind):
    """Not another one of the subtask, which came out badly in the other way."""
    c = begun(GREEN, EXISTS) if kind == "regressed" else begun(EXISTS, GREEN)
    worked(c, WRITES, done("x"), OVER)
    (other, quoted) = ("No result", "It is gone")[:: -1 if kind == "check" else 1]
    for row, said in zip(CheckResult.objects.order_by("key"), (other, quoted), strict=True):
        row.passed, row.said = (None if said == "No result" else False), said
        row.save()
    subtask = plan_of(c).subtasks.get()
    if kind == "regressed":
        pass
    else:
        type(subtask).objects.update(state="in_progress")
        rests = {"run": "paused", "pause_reason": "check", "state": "in_progress"}
        Plan.objects.filter(pk=plan_of(c).pk).update(**rests)
    page = signed_in(c.owner).get("/needs/").content.decode()
    assert quoted in page and other not in page


def test_the_top_says_how_many_checks_could_not_be_run_again():
    c = finished(GREEN, EXISTS)
    alice = signed_in(c.owner)

    def top():
        page = flat(alice.get(f"/c/{c.pk}/").content.decode())
        return page.split('id="what-was-checked"')[1].split("</dd>")[0]

    assert "could not be run" not in top()
    change_agent(c.agent_id, {"tools": {**TOOLS, "shell": "off"}})
    actions.check_plan(plan_of(c), "alice")
    drive()
    assert "1 check could not be run" in top()


def test_what_failed_shows_each_check_as_it_came_out_and_they_can_be_changed():
    c = begun(EXISTS, plan={"max_attempts": 1})
    worked(c, done("Written"), say("I can do no more."))
    assert first(c)["failed"], "without a word of checks: the model only stopped"
    row = row_on_page(c, "s1")
    assert "Edit check 1 of subtask 1:" in row
    assert "a.txt is not there." in row
    place = f'id="check-{plan_of(c).pk}-s1-new"'
    assert row.count("data-edit-check") == 3 and place in row, (
        "the line, the button that adds one, and that for a finger"
    )


def test_who_has_looked_is_called_you_on_their_own_page():
    c = begun({"kind": "review", "question": "Is it good?"})
    worked(c, done("Written"), say("Hello."), say("Hello."))
    actions.look_at(plan_of(c), "s1", "alice", None, "c1")
    drive()
    assert "by you" in row_on_page(c, "s1")
    assert "by alice" not in shown_page(c)


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_what_json_has_no_number_for_is_a_text(word):
    typed = {"kind": "tool", "tool": "svc__a", "path": "b", "value": word}
    check = check_from(typed)
    assert check.value == word
    assert dict(typed_fields(check.model_dump()))["value"] == word
    with pytest.raises(Invalid, match="JSON object"):
        check_from({**typed, "arguments": f'{{"a": {word}}}'})


def test_where_the_agent_is_gone_the_editor_of_a_check_is_not_there():
    c = begun(EXISTS)
    (files_of(c).parent / "agent.json").unlink()
    assert signed_in(c.owner).get(f"/c/{c.pk}/plan/check-editor").status_code == 404


def shown_page(c):
    return flat(signed_in(c.owner).get(f"/c/{c.pk}/").content.decode())


def row_on_page(c, key):
    return shown_page(c).split(f'id="subtask-{plan_of(c).pk}-{key}"', 1)[1].split("</li> <li", 1)[0]
