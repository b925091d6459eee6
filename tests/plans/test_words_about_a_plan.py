"""What a person says about a plan changes that plan, or none."""

import pytest

from plans import actions
from plans.models import Plan
from tests.builders import proposed_plan
from tests.fake_model import call, say
from tests.inner import Expected, create_plan
from tests.inner import handle_message as person_says
from tests.world import drive, on_screen, plan_of, scripted

pytestmark = pytest.mark.django_db(transaction=True)

CHANGES = {
    "revise": call("revise_current_plan", subtasks=[{"key": "s1", "name": "Changed"}]),
    "finish": call("finish_plan", state="abandoned"),
}


def another(c):
    return create_plan(c, title="Another", subtasks=[{"name": "Bake"}], by="alice", beside=True)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_words_about_a_plan_never_change_one_that_took_its_place(change):
    c = proposed_plan("Read")
    first, seen = plan_of(c), on_screen(c)
    person_says(c, "call it otherwise", "alice", seen)
    second = another(c)
    actions.activate_plan(second, "alice")
    scripted(change, say("I could not."))
    drive()
    for plan, name in ((first, "Read"), (second, "Bake")):
        plan.refresh_from_db()
        assert (plan.version, plan.is_open, plan.subtasks.get().name) == (1, True, name)


def test_words_from_a_page_that_shows_another_plan_change_nothing_either():
    c = proposed_plan("Read")
    first = plan_of(c)
    second = another(c)
    actions.activate_plan(second, "alice")
    person_says(c, "call it otherwise", "alice", Expected(first.pk, 1))
    scripted(CHANGES["revise"], say("I could not."))
    drive()
    assert set(Plan.objects.values_list("version", flat=True)) == {1}


def test_words_about_the_plan_in_the_drawer_change_it():
    c = proposed_plan("Read")
    person_says(c, "call it otherwise", "alice", on_screen(c))
    scripted(CHANGES["revise"], say("Here."))
    drive()
    assert plan_of(c).subtasks.get().name == "Changed"
