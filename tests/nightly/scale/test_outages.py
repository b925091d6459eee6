"""Redis and PostgreSQL go away in mid-run and come back; nobody has to start anything again."""

import time

import httpx
import pytest

from tests.console.serving import is_done, new_database
from tests.nightly.scale.servers import OwnPostgres, OwnRedis
from tests.nightly.scale.story import HALF, SLOWLY
from tests.nightly.scale.team import Team
from tests.patience import at_most

SENTENCE = "The database does not answer"


@pytest.fixture(scope="module")
def redis(elsewhere):
    server = OwnRedis()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def postgres(elsewhere):
    server = OwnPostgres()
    yield server
    server.remove()


@pytest.fixture(scope="module")
def small_team(tmp_path_factory, model, redis, postgres):
    """One server and one worker."""
    with new_database(postgres.url) as url:
        home = tmp_path_factory.mktemp("small") / "home"
        team = Team(home, url, redis.url, model, webs=1, workers=1)
        try:
            team.until_served()
            yield team
        finally:
            team.close()


def start(team, plan):
    team.person.post(team.webs[0], f"/plans/{plan['id']}/approve", {"version": 1})


def readiness(team):
    return httpx.get(f"{team.webs[0].address}/readyz", timeout=60).status_code


def test_a_run_goes_on_without_redis_and_open_pages_hear_again_when_it_is_back(small_team, redis):
    team = small_team
    c, plan = team.proposed("restarted")
    with team.watching(c, web=0) as page:
        start(team, plan)
        page.until(SLOWLY[:7])
        redis.stop()
        assert readiness(team) == 503
        plan = team.plan(c, is_done)
        began = time.monotonic()
        team.say(c, "are you there")
        assert time.monotonic() - began < at_most(5), "a message is taken in without it"
        redis.start()
        until(lambda: readiness(team) == 200)
        team.messages(c, lambda items: items[-1]["text"] == "Here I am.")
        until(lambda: talked(team, c, page))
    assert [s["attempts"] for s in plan["subtasks"]] == [1, 1]


def talked(team, c, page):
    """Whether something said now comes through the page's old socket."""
    word = f"word-{time.monotonic_ns()}"
    team.say(c, f"are you there, {word}")
    team.messages(c, lambda items: items[-1]["text"] == "Here I am." and word in items[-2]["text"])
    return any(word in text for _, text in list(page.frames))


def until(is_so, seconds=60):
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_postgres_restarted_in_mid_run_costs_a_503_and_no_work(small_team, postgres):
    team = small_team
    c, plan = team.proposed("outage")
    start(team, plan)
    team.messages(c, lambda items: any(HALF[:10] in m["text"] for m in items))
    postgres.stop()
    assert_says_so(team)
    postgres.start()

    until(lambda: readiness(team) == 200)
    plan = team.plan(c, is_done)
    assert [s["outcome"] for s in plan["subtasks"]] == ["wrote 1", "wrote 2"]
    assert [s["attempts"] for s in plan["subtasks"]] == [1, 1]
    assert team.seqs(c) == list(range(1, len(team.seqs(c)) + 1))
    team.until_served()  # it listens again
    assert team.webs[0].process.poll() is team.workers[0].process.poll() is None


def assert_says_so(team):
    address = team.webs[0].address
    page = httpx.get(address + "/", cookies=team.pages[0].cookies, timeout=60)
    assert page.status_code == 503
    assert SENTENCE in page.text
    assert "Traceback" not in page.text
    api = httpx.get(f"{address}/api/conversations", headers=team.person.headers, timeout=60)
    assert api.status_code == 503
    assert api.json()["detail"].startswith(SENTENCE)
    assert readiness(team) == 503
    assert httpx.get(f"{address}/healthz").status_code == 200


def test_without_postgres_both_still_end_in_time(small_team, postgres):
    """Last in the file: nothing is left of the team."""
    team = small_team
    c = team.conversation()
    team.say(c, "hang, please")
    team.messages(c, lambda items: HALF[:10] in items[-1]["text"])
    postgres.stop()
    try:
        seconds, code, complaints = team.workers[0].end()
        assert (code, "Traceback" in complaints) == (0, False)
        assert seconds < at_most(5)
        seconds, code, _, _ = team.webs[0].end()
        assert code == 0
        assert seconds < at_most(2)
    finally:
        postgres.start()
