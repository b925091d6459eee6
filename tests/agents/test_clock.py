"""The wall clock is set forward or back by hours. What has a clock of its own does not notice.

The rows hold times of the wall clock, so a step of the clock is a shift of these times.
"""

import asyncio
from datetime import timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from agents.db import in_db
from agents.errors import RateLimited
from agents.models import Message, Tally, Turn
from tests.fake_model import fails, say, silent
from tests.inner import Used, throttling
from tests.inner import handle_message as person_says
from tests.world import conversation, drive, eventually, happening, person, scripted, tell, texts

pytestmark = pytest.mark.django_db(transaction=True)

HOURS = timedelta(hours=3)


def set_clock(by):
    """As the rows see it: their times lie that much further back, or ahead."""
    for name in ("not_before", "lease_until"):
        Turn.objects.filter(**{f"{name}__isnull": False}).update(**{name: F(name) - by})


def test_a_retry_is_not_held_back_for_hours_when_the_clock_is_set_back(settings):
    settings.MODEL_RETRY_BASE = 60
    c = conversation()
    scripted(fails(503), say("Here I am."))
    tell(c, "hello")
    assert texts(c) == [], "it waits for a minute"
    set_clock(-HOURS)
    drive()
    assert texts(c) == ["Here I am."]


def test_a_retry_that_is_not_due_yet_still_waits(settings):
    settings.MODEL_RETRY_BASE = 60
    c = conversation()
    scripted(fails(503, retry_after=119), say("Here I am."))
    tell(c, "hello")
    drive()
    assert texts(c) == []


def test_a_message_behind_one_that_waits_for_its_next_try_is_answered_after_it(settings):
    settings.MODEL_RETRY_BASE = 60
    c = conversation()
    scripted(fails(503, retry_after=119), say("To the first."), say("To the second."))
    first = tell(c, "first").turn
    second = tell(c, "second").turn
    assert texts(c) == [], "neither is answered before the first may be tried again"
    Turn.objects.filter(pk=first.pk).update(not_before=None)
    drive()
    answers = Message.objects.filter(conversation=c, role="assistant").order_by("seq")
    assert [(each.turn_id, each.text) for each in answers] == [
        (first.pk, "To the first."),
        (second.pk, "To the second."),
    ]


@pytest.mark.parametrize("by", [HOURS, -HOURS])
def test_a_step_of_the_clock_takes_no_turn_from_the_worker_that_runs_it(by):
    c = conversation()
    going_on = asyncio.Event()
    scripted(silent("Half a", until=going_on))

    async def story(worker):
        await in_db(person_says, c, "hello", "alice")
        await eventually(Message.objects.filter(text__startswith="Half", streaming=True).exists)
        await in_db(set_clock, by)
        worker.swept_at = -1e9  # long ago: it sweeps at its next look
        await eventually(lambda: worker.swept_at > 0)
        going_on.set()
        await eventually(Turn.objects.filter(state="done").exists)

    happening(story, at_once=True)
    assert Turn.objects.get().epoch == 1, "it was claimed once"
    assert texts(c) == ["Half a"]


def test_a_clock_set_back_gives_no_time_back_to_a_budget():
    begun, ended = timezone.now(), timezone.now() - HOURS
    assert Used().add([Turn(started_at=begun, finished_at=ended)]).seconds == 0


def sign_in():
    throttling.count_signin("alice", "127.0.0.1")


def speak():
    throttling.count_message(person().pk)


@pytest.mark.parametrize("do", [sign_in, speak])
def test_nobody_waits_for_hours_when_the_clock_is_set_back(settings, do):
    settings.SIGNIN_FAILURES = settings.MESSAGES_PER_MINUTE = 1
    do()
    with pytest.raises(RateLimited):
        do()
    Tally.objects.update(since=F("since") + HOURS)
    do()
