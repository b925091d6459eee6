"""Driven through one server, watched through the other, worked on by either of two workers."""

import re
import time

import httpx

from tests.console.serving import is_done
from tests.nightly.scale.story import HALF, SLOWLY
from tests.nightly.scale.team import Tail
from tests.patience import at_most


def start(team, plan, web=0):
    team.person.post(team.webs[web], f"/plans/{plan['id']}/approve", {"version": plan["version"]})


def test_a_run_started_through_one_server_is_seen_live_through_the_other(team):
    c, plan = team.proposed("watched")
    with team.watching(c, web=1) as page:
        page.until('id="plan"')
        tail = Tail(team.webs[1], c, team.person.headers, "plan.finished")
        poll = page.html("changes")
        assert page.html("changes", known=poll.headers["ETag"]).status_code == 304

        start(team, plan)
        plan = team.plan(c, is_done, web=1)
        tail.thread.join(10)
        page.until("All of watched")
        first = page.until(re.escape(SLOWLY[:8]))
        assert page.until(re.escape(SLOWLY[-12:])) - first > 0.4, "word by word, not at the end"

    assert page.html("changes", known=poll.headers["ETag"]).status_code == 200
    assert [s["outcome"] for s in plan["subtasks"]] == ["wrote 1", "wrote 2"]
    assert tail.events == list(range(1, len(tail.events) + 1)), "no gap, no repetition"
    assert team.seqs(c) == team.seqs(c, web=1) == list(range(1, len(team.seqs(c)) + 1))


def test_an_asked_tool_is_shown_and_decided_elsewhere_and_runs_once(team):
    a, b = team.webs
    team.person.patch(a, "/agents/docs-writer", {"tools": {"write_file": "ask"}})
    try:
        c = team.conversation()
        team.say(c, "please write")
        [asked] = calls_in(team.messages(c, lambda items: calls_in(items, "asked")), "asked")
        with team.watching(c, web=1) as page:  # opened while it waits
            page.until(f"calls/{asked['id']}/decide")
            assert f"calls/{asked['id']}/decide" in page.html().text
            for web in (b, a):  # the second yes changes nothing
                team.person.post(
                    web, f"/tool-calls/{asked['id']}/decide", {"decision": "allow_once"}
                )
            said = team.messages(c, lambda items: items[-1]["text"] == "Written.", web=1)
            page.until(r"Written\.")
    finally:
        team.person.patch(a, "/agents/docs-writer", {"tools": {"write_file": "allow"}})
    assert len(calls_in(said, "done")) == 1


def calls_in(items, state):
    return [made for m in items for made in m["tool_calls"] if made["state"] == state]


def test_a_question_is_shown_and_answered_elsewhere(team):
    c, plan = team.proposed("asking")
    start(team, plan)
    team.plan(c, lambda plan: plan["attention"] == "question")
    with team.watching(c, web=1) as page:
        page.until(r"Which colour\?")
        team.say(c, "blue", web=1)
        plan = team.plan(c, is_done)
    assert plan["subtasks"][0]["outcome"] == "It is blue."


def test_stop_through_the_other_server_settles_while_the_model_hangs(team):
    c, plan = team.proposed("halted")
    with team.watching(c, web=0) as page:
        start(team, plan)
        page.until(HALF[:10])
    began = time.monotonic()
    team.person.post(team.webs[1], f"/plans/{plan['id']}/stop", {})
    plan = team.plan(c, lambda plan: plan["run"] == "idle")
    assert time.monotonic() - began < at_most(2)
    assert [s["state"] for s in plan["subtasks"]] == ["todo", "todo"]
    ended = "SELECT state FROM agents_turn WHERE conversation_id = %s AND lane = 'run'"
    assert team.rows(ended, c) == [("stopped",)]


def test_pause_through_the_other_server_holds_the_run_after_the_call(team):
    c, plan = team.proposed("paused")
    with team.watching(c, web=0) as page:
        start(team, plan)
        page.until(re.escape(SLOWLY[:8]))
    team.person.post(team.webs[1], f"/plans/{plan['id']}/pause", {})
    team.plan(c, lambda plan: plan["run"] == "paused")
    team.person.post(team.webs[1], f"/plans/{plan['id']}/resume", {})
    plan = team.plan(c, is_done)
    assert [s["attempts"] for s in plan["subtasks"]] == [1, 1]


def test_clicks_in_the_midst_of_all_that_a_run_writes_never_end_in_a_deadlock(team):
    c, plan = team.proposed("clicked")
    start(team, plan)
    while not is_done(team.plan(c)):
        for verb in ("pause", "resume"):
            url = f"{team.webs[1].address}/api/plans/{plan['id']}/{verb}"
            answer = httpx.post(url, json={}, headers=team.person.headers)
            assert answer.status_code in (200, 409), answer.text
    found = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    assert team.rows(found) == [(0,)]
