"""A plan's status is one word, and every place says the same."""

from types import SimpleNamespace
from typing import get_args

import pytest
from django.db.models import F
from django.template.loader import get_template

from agents.models import ToolCall, Turn, TurnState
from plans.models import Attempt, Plan
from tests.inner import (
    BUTTONS,
    STATUSES,
    STOPS,
    NeedCard,
    NeedKind,
    NeedShape,
    attempt_words,
    needs_of,
    plan_snapshot,
    search,
    statuses_of,
)
from tests.inner import NEED_KINDS as KINDS
from tests.plans.random_plans import RandomPlans
from tests.world import person

pytestmark = pytest.mark.django_db

SEEDS = range(8)


@pytest.fixture(params=[(seed, alone) for seed in SEEDS for alone in (True, False)], ids=str)
def plans(request):
    seed, is_alone = request.param
    return RandomPlans(seed, person("alice"), is_alone=is_alone).fill(60)


def test_one_function_says_it_of_the_rows_and_of_the_snapshot(plans):
    found = statuses_of(each.pk for each in plans)
    for plan in plans:
        now = plan_snapshot(plan)
        assert found[plan.pk] == now.status
        assert (now.standing, now.attention) == (now.status.word, now.status.attention)


def test_filters_and_counts_go_by_it(plans):
    found = statuses_of(each.pk for each in plans)
    rows = Plan.objects.all()
    groups = {group: set() for group in search.Group}
    for plan in Plan.objects.all():
        status = found.get(plan.pk) or statuses_of([plan.pk])[plan.pk]
        groups[status.group].add(plan.pk)
    assert search.counts(rows) == {group: len(each) for group, each in groups.items()}
    for group, wanted in groups.items():
        assert set(search.in_groups(rows, [group]).values_list("pk", flat=True)) == wanted
    by_state = [each.pk for each in search.ordered(rows, "state")]
    order = list(search.Group)
    places = [order.index(statuses_of([pk])[pk].group) for pk in by_state]
    assert places == sorted(places)


def test_needs_you_lists_a_plan_once_for_what_its_status_says(plans):
    found = statuses_of(each.pk for each in plans)
    listed = {each.plan: each.kind for each in needs_of(person("alice").pk) if each.plan}
    in_view = Plan.objects.filter(conversation__parent_call=None, conversation__archived_at=None)
    in_view = in_view.exclude(card__hidden=True).exclude(
        conversation__active_plan__plan=F("pk"), conversation__active_plan__asked_goal="another"
    )
    for plan in in_view:
        assert listed.get(plan.pk) == KINDS.get(found[plan.pk].name), (plan.pk, found[plan.pk])
    assert set(listed) <= {each.pk for each in plans}
    calls = ToolCall.objects.filter(state="asked", turn__conversation__deleted_at=None)
    asked = {each.call for each in needs_of(person("alice").pk) if each.call}
    assert asked == set(calls.values_list("pk", flat=True))


def test_every_name_has_a_word_a_mark_and_a_group():
    assert all(each.word and each.mark and each.group for each in STATUSES.values())


def test_every_name_has_its_buttons_and_what_waits_is_said_at_every_door():
    assert BUTTONS.keys() == STATUSES.keys()
    waiting = {each.attention for each in STATUSES.values()} - {"none"}
    assert waiting - {"halted"} == STOPS.keys(), "where the command's run ends"
    assert {*get_args(NeedShape.model_fields["kind"].annotation)} == {*NeedKind}
    for kind in NeedKind:
        card = SimpleNamespace(need=SimpleNamespace(kind=kind))
        get_template(NeedCard.template.fget(card))


def test_every_class_of_failure_has_words_of_its_own():
    ended = Turn(state=TurnState.DONE)
    words = [
        attempt_words(Attempt(failure_class=each, turn=ended)) for each in Attempt.FailureClass
    ]
    assert len(words) == len(set(words)) and "Done" not in words
