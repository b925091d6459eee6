"""What the kills at random moments have brought to light, each forced here."""

import pytest
from asgiref.sync import async_to_sync
from django.db import InternalError, connection
from psycopg.errors import IdleInTransactionSessionTimeout

from agents.db import in_db
from agents.models import Tally, Turn
from plans.models import Plan
from tests.fake_model import say
from tests.inner import (
    ToolCallChanged,
    available_tools,
    claim,
    handler_of,
    put_back_orphans,
    run_chain,
    throttling,
)
from tests.inner import handle_message as person_says
from tests.world import (
    calls_of,
    conversation,
    drive,
    eventually,
    happening,
    person,
    proposal,
    scripted,
    texts,
)

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_call_whose_effect_was_kept_but_not_its_result_is_not_recorded_as_refused():
    """The plan is made, the process dies before the call is closed: now the gate would refuse."""
    c = conversation()
    scripted(proposal("Read"), say("There it is."))
    person_says(c, "/plan tidy up", "alice")
    [turn] = claim(1)

    async def until_the_plan_is_made():
        work = await in_db(handler_of(turn).prepare, turn)
        async for event in run_chain(turn, work):
            if isinstance(event, ToolCallChanged):  # it has begun
                break
        offer = await in_db(available_tools, turn, ["*"])
        [begun] = await in_db(calls_of, c, "create_plan")
        await offer.tools["create_plan"].run(begun.arguments)

    async_to_sync(until_the_plan_is_made)()
    assert [made.state for made in calls_of(c, "create_plan")] == ["running"]
    put_back_orphans(all_of_them=True)
    drive()

    [made] = calls_of(c, "create_plan")
    assert (made.state, Plan.objects.count()) == ("interrupted", 1)
    assert "effect is unknown" in made.result


def test_two_first_messages_of_a_minute_at_once_are_both_let_through(settings):
    """Between the look and the count of the one, the other begins the minute's count."""
    settings.MESSAGES_PER_MINUTE = 5
    alice = person()
    others = iter([1])

    def another_comes_first(execute, sql, *rest):
        result = execute(sql, *rest)
        if "tally" in sql and next(others, None):
            throttling.count_message(alice.pk)
        return result

    with connection.execute_wrapper(another_comes_first):
        throttling.count_message(alice.pk)
    assert Tally.objects.get().count == 2


def test_a_worker_frozen_in_a_transaction_finds_the_database_away_and_no_turn_broken():
    """PostgreSQL has ended its connection meanwhile; the turn goes on from its checkpoint."""
    c = conversation()
    scripted(say("One."), say("One."))
    person_says(c, "hello", "alice")
    frozen = iter([1])

    def frozen_in_a_transaction(execute, sql, *rest):
        if "agents_message" in sql and connection.in_atomic_block and next(frozen, None):
            ended = IdleInTransactionSessionTimeout("terminating connection")
            raise InternalError(str(ended)) from ended
        return execute(sql, *rest)

    async def story(worker):
        await in_db(lambda: connection.execute_wrappers.append(frozen_in_a_transaction))
        try:
            await eventually(Turn.objects.exclude(state__in=["queued", "running"]).exists)
        finally:
            await in_db(lambda: connection.execute_wrappers.clear())

    happening(story, at_once=True)
    assert next(frozen, "over") == "over"
    turn = Turn.objects.get()
    assert (turn.state, turn.epoch) == ("done", 2)
    assert texts(c) == ["One."]
