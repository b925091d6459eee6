"""Whose turns are taken: one person's work never takes all slots (rule R35)."""

import random
from collections import Counter

import pytest

from agents.models import Conversation, Turn
from tests.inner import SLOTS, backlog, claim
from tests.world import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def lanes():
    """Queue turns, each in a lane of its own: `lanes("alice", 3)` are three of her messages."""
    id = agent()

    def queue(owner, count, **values):
        parent = values.pop("parent_call", None)
        own = [
            Conversation(owner=person(owner), agent_id=id, parent_call=parent) for _ in range(count)
        ]
        rows = Conversation.objects.bulk_create(own)
        return Turn.objects.bulk_create([Turn(conversation=row, **values) for row in rows])

    return queue


def taken(free=SLOTS):
    """What a worker with so many slots takes, by person and lane."""
    running = list(Turn.objects.filter(state="running").values_list("pk", flat=True))
    turns = claim(free - len(running), running)
    return Counter((turn.conversation.owner.username, turn.lane) for turn in turns)


def test_a_person_who_asks_for_hundreds_of_replies_leaves_half_of_the_slots(lanes):
    lanes("alice", SLOTS * 3)
    assert taken() == {("alice", "chat"): SLOTS // 2}
    assert taken() == {}
    lanes("bob", 1)
    assert taken() == {("bob", "chat"): 1}


def test_who_waits_behind_hundreds_of_one_person_is_taken_in_the_same_look(lanes):
    lanes("alice", SLOTS * 3)
    lanes("charlie", SLOTS * 2)
    lanes("bob", 1)
    assert taken() == {
        ("alice", "chat"): SLOTS // 2,
        ("charlie", "chat"): SLOTS // 4,
        ("bob", "chat"): 1,
    }


def test_a_person_is_answered_beside_all_that_their_plans_and_agents_do(lanes):
    [above] = lanes("alice", 1, state="waiting", waiting_for="child")
    call = above.tool_calls.create(
        message=above.messages.create(
            conversation=above.conversation, seq=1, changed_seq=1, role="assistant"
        ),
        tool="run_agent:writer",
    )
    lanes("alice", SLOTS, lane="run")
    lanes("alice", SLOTS, parent_call=call)
    lanes("alice", SLOTS, lane="check")
    assert taken().total() == SLOTS // 2
    lanes("alice", 1)
    assert taken() == {("alice", "chat"): 1}


def test_what_one_person_gives_back_goes_to_who_has_least(lanes):
    for name in ("alice", "bob", "charlie"):
        lanes(name, SLOTS * 2)
    while taken():
        pass
    Turn.objects.filter(state="running", conversation__owner__username="alice").update(state="done")
    before = Counter(Turn.objects.filter(state="running").values_list("conversation__owner"))
    more = taken()
    assert more["charlie", "chat"], before
    shares = Turn.objects.filter(state="running").values_list("conversation__owner__username")
    assert min(Counter(shares).values()) > SLOTS // 10


def test_the_oldest_of_a_person_comes_first(lanes):
    first, *_ = lanes("alice", 5)
    assert [turn.pk for turn in claim(1)] == [first.pk]


@pytest.mark.parametrize("seed", range(30))
def test_whatever_came_before_somebody_new_finds_a_slot(lanes, seed):
    """Two people with as much as they like, at any moment; only eight could fill all slots in turn."""
    chance = random.Random(seed)
    people, slots = ["alice", "bob"][: chance.randint(1, 2)], 40
    for _ in range(12):
        lane = chance.choice(["chat", "run", "check"])
        lanes(chance.choice(people), chance.randint(1, 60), lane=lane)
        taken(slots)
        running = list(Turn.objects.filter(state="running").values_list("pk", flat=True))
        assert len(running) < slots, "somebody new would wait"
        over = chance.sample(running, chance.randint(0, len(running)))
        Turn.objects.filter(pk__in=over).update(state="done")
    lanes("new", 1)
    assert taken(slots)["new", "chat"] == 1


def test_the_metrics_say_how_many_the_busiest_person_has(lanes):
    lanes("alice", 3)
    lanes("bob", 1)
    taken()
    assert (backlog().busiest, backlog().running) == (3, 4)
