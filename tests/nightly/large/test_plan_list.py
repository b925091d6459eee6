"""A list of plans, and a plan with many changes, cost no more than their pages show."""

import pytest

from agents.models import Event
from tests.console.conftest import alice
from tests.console.test_plan_list import made, read
from tests.world import conversation

__all__ = ["alice"]
pytestmark = pytest.mark.django_db(transaction=True)


def test_the_list_costs_the_same_for_one_plan_and_for_a_hundred(
    alice, django_assert_max_num_queries
):
    c = conversation()
    for number in range(3):
        made(f"Plan {number}", "One", "Two", c=c)
    alice.get("/plans/")
    with django_assert_max_num_queries(30) as few:
        alice.get("/plans/")
    for number in range(97):
        made(f"More {number}", "One", "Two", c=c)
    with django_assert_max_num_queries(len(few)):
        alice.get("/plans/")


def test_a_thousand_changes_are_shown_in_part_and_on_demand(alice):
    plan = made("Water plants")
    rows = [
        Event(conversation=plan.conversation, seq=99 + i, type="run.x", subject=f"plan:{plan.pk}")
        for i in range(1000)
    ]
    Event.objects.bulk_create(rows)
    first = read(alice.get(f"/plans/{plan.pk}/"))
    assert "1 to 500 of 1001. Older" in first and "Plan proposed" not in first
    last = read(alice.get(f"/plans/{plan.pk}/?page=9"))
    assert "1001 to 1001 of 1001. Newer" in last and "Plan proposed" in last
