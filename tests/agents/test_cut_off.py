"""A turn that is stopped in the very moment in which it ends by itself."""

import asyncio

import pytest

from agents.db import in_db
from agents.errors import TurnWaits
from agents.models import Turn
from tests.fake_model import say
from tests.inner import ModelError, lifecycle, loop
from tests.inner import handle_message as person_says
from tests.world import conversation, eventually, happening, scripted

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_end_is_written_though_a_stop_comes_meanwhile(monkeypatch):
    """The cancel is made to arrive when the end waits for the database thread."""
    c = conversation()
    scripted(say("Hello."))
    real, cancelled = loop.in_db, []

    async def cancelling(function, *args, **kwargs):
        if function is loop.conclude and not cancelled:
            cancelled.append(True)
            asyncio.get_running_loop().call_soon(stop_all)
        return await real(function, *args, **kwargs)

    def stop_all():
        for pk in list(worker_of[0].running):
            worker_of[0].cancel(pk)

    worker_of = []
    monkeypatch.setattr(loop, "in_db", cancelling)

    async def story(worker):
        worker_of.append(worker)
        await in_db(person_says, c, "hello", "alice")
        await eventually(lambda: Turn.objects.filter(state__in=["done", "stopped"]).exists(), 3)

    happening(story, at_once=True)
    assert cancelled
    assert Turn.objects.get().state == "done"


@pytest.mark.parametrize(
    ("leave", "why"),
    [
        (lifecycle.suspend, TurnWaits(Turn.WaitingFor.QUESTION)),
        (lifecycle.model_failed, ModelError("busy", "Too many requests", "429.")),
    ],
    ids=["it waits for an answer", "it waits for the model's next try"],
)
def test_what_is_to_be_stopped_does_not_begin_to_wait(leave, why):
    c = conversation()
    turn = person_says(c, "hello", "alice").turn
    Turn.objects.filter(pk=turn.pk).update(state="running", epoch=1)
    turn = Turn.objects.get(pk=turn.pk)
    lifecycle.request_stop(turn, "alice")
    leave(turn, why)
    assert Turn.objects.get().state == "stopped"
