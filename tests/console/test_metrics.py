import asyncio
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from agents.models import Turn, TurnState
from plans import actions
from tests.fake_model import call, fails, say
from tests.inner import backlog, create_token, metrics
from tests.world import conversation, plan_of, proposed, scripted, tell

pytestmark = pytest.mark.django_db(transaction=True)


def read(text):
    """{(name, labels…): value}, as Prometheus itself would read it."""
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def scrape(client, **headers):
    answer = client.get("/metrics", headers=headers)
    assert answer.status_code == 200, answer.content
    return read(answer.content.decode())


@pytest.fixture
def on_a_server(settings):
    settings.PLANSIDE_IS_LOCAL = False


def test_what_turns_models_and_tools_did_is_counted(client):
    before = scrape(client)
    c = conversation()
    scripted(call("list_files"), say("Nothing there."))
    tell(c, "look")
    scripted(fails(401))
    tell(c, "again")
    after = scrape(client)

    def grown(name, **labels):
        key = (name, *sorted(labels.items()))
        return after[key] - before.get(key, 0)

    assert grown("planside_turns_total", kind="chat", state="done", error="") == 1
    assert grown("planside_turns_total", kind="chat", state="failed", error="logic") == 1
    assert grown("planside_model_call_seconds_count", provider="openai", outcome="done") == 2
    assert grown("planside_model_call_seconds_count", provider="openai", outcome="key") == 1
    assert grown("planside_tool_call_seconds_count", tool="list_files", state="done") == 1
    assert grown("planside_tokens_total", provider="openai", direction="in") > 0
    assert grown("planside_tokens_total", provider="openai", direction="out") > 0


def test_a_request_counts_under_its_route_and_never_under_its_path(client):
    c = conversation()
    client.force_login(c.owner)
    client.get(f"/c/{c.pk}/?secret=1")
    routes = {dict(key[1:]).get("route") for key in scrape(client)}
    assert "/c/<int:pk>/" in routes
    assert not [route for route in routes if route and (str(c.pk) in route or "secret" in route)]


def test_open_turns_and_plans_are_read_from_the_rows(client, monkeypatch):
    monkeypatch.setattr(metrics, "PLANS_KEPT", 0)
    c = proposed("Read")
    scripted(call("ask_user", question="Which?"))
    tell(c, "go")
    waiting = conversation()
    Turn.objects.create(conversation=waiting)
    found = scrape(client)
    assert found[("planside_database_up",)] == 1
    assert found[("planside_open_turns", ("state", "waiting"), ("waiting_for", "question"))] == 1
    assert found[("planside_open_turns", ("state", "queued"), ("waiting_for", ""))] == 1
    assert found[("planside_due_turns",)] == 1
    assert found[("planside_plans", ("run", "paused"), ("state", "in_progress"))] == 1


class TestTheOldestDueTurn:
    def queued(self, minutes, **values):
        turn = Turn.objects.create(conversation=conversation(), **values)
        long_ago = timezone.now() - timedelta(minutes=minutes)
        Turn.objects.filter(pk=turn.pk).update(queued_at=long_ago)
        return turn

    def age(self):
        return round(backlog().oldest_due / 60)

    def test_an_empty_queue_has_no_age(self):
        assert (backlog().due, self.age()) == (0, 0)

    def test_it_is_the_one_that_has_waited_longest(self):
        self.queued(3)
        self.queued(7)
        assert (backlog().due, self.age()) == (2, 7)

    def test_what_is_held_back_until_later_is_not_due(self):
        self.queued(7, not_before=timezone.now() + timedelta(minutes=1))
        assert (backlog().due, self.age()) == (0, 0)

    def test_what_was_held_back_has_waited_since_then(self):
        self.queued(7, not_before=timezone.now() - timedelta(minutes=2))
        assert self.age() == 2

    def test_a_turn_that_came_back_has_waited_since_it_came_back(self):
        c = proposed("Read")
        scripted(call("ask_user", question="Which?"))
        tell(c, "go")
        turn = Turn.objects.get(state=TurnState.WAITING)
        an_hour = timezone.now() - timedelta(hours=1)
        Turn.objects.filter(pk=turn.pk).update(queued_at=an_hour)
        actions.answer_question(plan_of(c), "the first", "alice")
        assert backlog().due == 1
        assert backlog().oldest_due < 30

    def test_a_turn_whose_lease_has_run_out_is_abandoned(self):
        past = timezone.now() - timedelta(seconds=1)
        self.queued(0, state=TurnState.RUNNING, lease_until=past)
        assert (backlog().abandoned, backlog().running) == (1, 1)


def test_while_the_database_is_away_it_says_so_and_goes_on(monkeypatch):
    def away():
        raise OperationalError("gone")

    monkeypatch.setattr(metrics, "backlog", away)
    [told] = metrics.Rows().collect()
    assert (told.name, told.samples[0].value) == ("planside_database_up", 0)


class TestWhoMayRead:
    def test_on_ones_own_machine_it_is_open(self, client):
        assert client.get("/metrics").status_code == 200

    @pytest.mark.parametrize("header", ["", "Bearer ", "Bearer wrong", "Basic abc"])
    def test_on_a_server_strangers_may_not(self, client, on_a_server, header):
        headers = {"Authorization": header} if header else {}
        answer = client.get("/metrics", headers=headers)
        assert answer.status_code == 401
        assert b"planside_" not in answer.content

    def test_an_unset_key_opens_nothing(self, client, on_a_server, settings):
        settings.PLANSIDE_METRICS_TOKEN = ""
        assert client.get("/metrics", headers={"Authorization": "Bearer "}).status_code == 401

    def test_who_has_the_key_may(self, client, on_a_server, settings):
        settings.PLANSIDE_METRICS_TOKEN = "open-sesame"
        assert scrape(client, Authorization="Bearer open-sesame")

    @pytest.mark.parametrize(("admin", "status"), [(True, 200), (False, 401)])
    def test_of_the_people_only_admins_may(self, client, on_a_server, admin, status):
        user = User.objects.create_user("alice", is_superuser=admin)
        bearer = {"Authorization": f"Bearer {create_token(user, 'prometheus')}"}
        assert client.get("/metrics", headers=bearer).status_code == status
        client.force_login(user)
        assert client.get("/metrics").status_code == status

    def test_a_wrong_token_is_not_mended_by_a_session(self, client, on_a_server):
        client.force_login(User.objects.create_user("alice", is_superuser=True))
        wrong = {"Authorization": "Bearer wrong"}
        assert client.get("/metrics", headers=wrong).status_code == 401


def test_no_words_of_anybody_are_in_it(client):
    c = conversation(model="a-model-nobody-knows")
    scripted(call("a-tool-nobody-knows"), say("words-of-the-model"))
    tell(c, "words-of-the-person")
    told = client.get("/metrics").content.decode()
    for word in ("words-of", "a-model-nobody-knows", "a-tool-nobody-knows", c.agent_id):
        assert word not in told


async def test_a_socket_counts_while_it_is_open():
    seen, leave = [], asyncio.Event()

    async def live(scope, receive, send):
        await leave.wait()

    before = metrics.open_sockets._value.get()
    sockets = [asyncio.ensure_future(metrics.Counted(live)({}, None, None)) for _ in range(3)]
    await asyncio.sleep(0)
    seen.append(metrics.open_sockets._value.get() - before)
    leave.set()
    await asyncio.gather(*sockets)
    assert [*seen, metrics.open_sockets._value.get() - before] == [3, 0]
