"""How often one may try to sign in, to say something, and to call the API."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import chain

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.test import Client
from django.utils import timezone

from agents.errors import RateLimited
from agents.models import Message, Tally
from tests.inner import create_token, env, throttling
from tests.world import conversation, person

pytestmark = pytest.mark.django_db(transaction=True)

RIGHT = {"username": "alice", "password": "correct horse"}
WRONG = {"username": "alice", "password": "x"}


@pytest.fixture(autouse=True)
def _nobody_has_called_yet():
    throttling._buckets.clear()


@pytest.fixture
def alice():
    return User.objects.create_user(**RIGHT)


def browser(address="127.0.0.1"):
    return Client(REMOTE_ADDR=address)


def guess(times, address="127.0.0.1"):
    return [browser(address).post("/signin/", WRONG).status_code for _ in range(times)]


def later(**past):
    """As if this much time had gone by."""
    for row in Tally.objects.all():
        Tally.objects.filter(pk=row.pk).update(since=row.since - timedelta(**past))


def waits(address="127.0.0.1"):
    """Seconds the next guess has to wait; 0 if it was looked at."""
    answer = browser(address).post("/signin/", WRONG)
    return int(answer.headers.get("Retry-After", 0))


def test_the_waits_get_longer_and_end(alice):
    assert guess(10) == [403] * 10
    assert waits() == 30
    for wait in (60, 120, 240, 480, 900, 900):
        later(seconds=1000)
        assert waits() == 0, "one more guess"
        assert waits() == wait
    later(seconds=901)
    assert browser().post("/signin/", RIGHT).status_code == 302


def test_the_wait_is_said_in_one_sentence_on_the_page(alice):
    guess(10)
    answer = browser().post("/signin/", RIGHT)
    assert answer.status_code == 429
    assert "Too many wrong passwords: wait 30 seconds, then try again." in answer.content.decode()


def test_a_name_that_is_guessed_from_many_addresses_has_to_wait_as_well(alice):
    for n in range(20):
        assert guess(1, f"10.0.0.{n}") == [403]
    assert browser("10.0.1.1").post("/signin/", RIGHT).status_code == 429
    later(seconds=31)
    assert browser("10.0.1.1").post("/signin/", RIGHT).status_code == 302


def test_all_addresses_of_one_ipv6_network_are_one(alice):
    for n in range(10):
        guess(1, f"2001:db8::{n:x}")
    assert waits("2001:db8::ffff") == 30
    assert waits("2001:db8:0:1::1") == 0


def test_a_right_password_counts_for_nothing(alice):
    for _ in range(30):
        assert browser().post("/signin/", RIGHT).status_code == 302


def test_an_hour_later_nothing_is_held_against_anybody(alice):
    guess(10)
    later(minutes=61)
    assert guess(10) == [403] * 10


def test_what_was_typed_as_a_name_is_in_no_table(alice):
    browser().post("/signin/", {"username": "my secret password", "password": "x"})
    assert "secret" not in str(list(Tally.objects.values()))


def test_old_counts_are_swept_away(alice):
    guess(1)
    later(days=2)
    guess(1, "10.9.9.9")
    assert Tally.objects.filter(since__lt=timezone.now() - timedelta(days=1)).count() == 0


def looked_at():
    try:
        throttling.count_signin("alice", "10.0.0.7")
        return True
    except RateLimited:
        return False


def test_several_connections_count_together():
    """Processes do too: tests/nightly/processes/test_throttling.py."""

    def guesses(_):
        try:
            return [looked_at() for _ in range(8)]
        finally:
            connection.close()

    with ThreadPoolExecutor(3) as threads:
        told = list(chain(*threads.map(guesses, range(3))))
    assert (told.count(True), told.count(False)) == (10, 14)


def test_a_name_with_a_null_character_is_just_wrong(alice):
    answer = browser().post("/signin/", {"username": "a\0", "password": "\0"})
    assert answer.status_code == 400


def test_messages_are_limited_by_the_minute(client, settings):
    settings.MESSAGES_PER_MINUTE = 3
    c = conversation()
    client.force_login(person("alice"))
    send = {"text": "/help", "plan_version": ""}
    said = [client.post(f"/c/{c.pk}/say", send, headers={"HX-Request": "true"}) for _ in range(4)]
    assert [answer.status_code for answer in said] == [200, 200, 200, 429]
    assert 1 <= int(said[3].headers["Retry-After"]) <= 60
    assert "You have sent 3 messages within a minute: wait" in said[3].content.decode()
    assert Message.objects.filter(role="user").count() == 3
    later(seconds=61)
    assert client.post(f"/c/{c.pk}/say", send, headers={"HX-Request": "true"}).status_code == 200


def test_one_persons_messages_are_not_anothers(settings):
    settings.MESSAGES_PER_MINUTE = 1
    throttling.count_message(1)
    throttling.count_message(2)
    with pytest.raises(RateLimited):
        throttling.count_message(1)


def test_the_api_is_limited_and_says_when_again(settings):
    settings.API_CALLS_PER_MINUTE = 3
    script = Client(headers={"Authorization": f"Bearer {create_token(person(), 'script')}"})
    answers = [script.get("/api/conversations") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert int(answers[3].headers["Retry-After"]) == 20
    assert answers[3].json() == {
        "detail": "You have called the API too often: wait 20 seconds, then go on."
    }
    other = Client(headers={"Authorization": f"Bearer {create_token(person('bob'), 'script')}"})
    assert other.get("/api/conversations").status_code == 200


def test_the_api_fills_up_again(settings, monkeypatch):
    settings.API_CALLS_PER_MINUTE = 60
    now = [0.0]
    monkeypatch.setattr(throttling, "monotonic", lambda: now[0])
    for _ in range(60):
        throttling.count_call("script")
    with pytest.raises(RateLimited):
        throttling.count_call("script")
    now[0] += 1
    throttling.count_call("script")


def test_reading_through_the_api_writes_nothing(django_assert_max_num_queries):
    script = Client(headers={"Authorization": f"Bearer {create_token(person(), 'script')}"})
    script.get("/api/conversations")
    with django_assert_max_num_queries(4) as seen:
        script.get("/api/conversations")
    assert not [q for q in seen.captured_queries if q["sql"].startswith(("INSERT", "DELETE"))]


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5"])
def test_no_limit_is_switched_off(monkeypatch, value):
    monkeypatch.setenv("PLANSIDE_SIGNIN_FAILURES", value)
    with pytest.raises(ImproperlyConfigured):
        env.limit("PLANSIDE_SIGNIN_FAILURES", 10)
