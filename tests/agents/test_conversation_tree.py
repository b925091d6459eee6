"""The conversations of called agents: each walk is one query, and finds what the calls say."""

from random import Random

import pytest

from agents.models import Conversation, Message, ToolCall, Turn
from tests.inner import ancestors, descendants, tree
from tests.world import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
DEEPEST = 3


def grown(seed):
    """Turns of two conversations of one person, and of agents called in them, in some order."""
    random, id = Random(seed), agent()
    owner = person()
    own = [Conversation.objects.create(owner=owner, agent_id=id) for _ in range(2)]
    turns = [Turn.objects.create(conversation=random.choice(own)) for _ in range(4)]
    for number in range(12):
        caller = random.choice([turn for turn in turns if turn.conversation.depth < DEEPEST])
        said = Message.objects.create(
            conversation=caller.conversation, turn=caller, seq=number, changed_seq=number
        )
        call = ToolCall.objects.create(message=said, turn=caller, call_id="1", tool="run_agent")
        child = Conversation.objects.create(
            owner=owner,
            agent_id=id,
            parent_call=call,
            root_id=caller.conversation.top,
            depth=caller.conversation.depth + 1,
        )
        turns.append(Turn.objects.create(conversation=child))
    return turns


def callers(conversation):
    """By the calls alone, one after the other."""
    call = conversation.parent_call
    return [call.turn, *callers(call.turn.conversation)] if call else []


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.sampled(3)
def test_what_lies_above_and_below_is_found_in_one_query(seed, django_assert_num_queries):
    turns = grown(seed)
    for turn in turns:
        conversation = Conversation.objects.get(pk=turn.conversation_id)
        with django_assert_num_queries(min(1, conversation.depth)):
            above = ancestors(conversation)
        assert above == callers(conversation)
        with django_assert_num_queries(1):
            below = descendants([turn], Turn.objects.all())
        assert set(below) == {each for each in turns if turn in callers(each.conversation)}
        with django_assert_num_queries(1):
            found = set(tree(conversation.top))
        assert found >= {each.conversation for each in turns if top_of(each) == conversation.top}


def top_of(turn):
    *_, top = [turn, *callers(turn.conversation)]
    return top.conversation_id


def test_below_something_that_is_not_looked_for_nothing_is():
    turns = grown(0)
    top = next(turn for turn in turns if descendants([turn], Turn.objects.all()))
    between = descendants([top], Turn.objects.all())[0]
    found = descendants([top], Turn.objects.exclude(pk=between.pk))
    assert not {between, *descendants([between], Turn.objects.all())} & set(found)
