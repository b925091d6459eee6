"""`manage.py plan list`: how far each plan is, and which is active."""

import json
from io import StringIO

import pytest
from django.core.management import call_command

from console.auth.users import local_owner
from plans import actions
from plans.schemas import PlanDraft
from tests.world import conversation

pytestmark = pytest.mark.django_db(transaction=True)


def listed(*flags):
    out = StringIO()
    call_command("plan", "list", *flags, stdout=out)
    return out.getvalue()


def planned(c, title, *names):
    draft = PlanDraft(title=title, subtasks=list(names))
    return actions.create_plan(c, draft, c.owner.username)


def test_the_list_says_how_far_each_plan_is_and_which_is_active():
    c = conversation(owner=local_owner().username)
    old = planned(c, "Old", "a", "b")
    actions.cancel_plan(old, c.owner.username)
    new = planned(c, "New", "a", "b", "c")
    actions.skip_subtask(new, "s1", c.owner.username, "")
    lines = [" ".join(line.split()) for line in listed().splitlines()]
    assert lines == [
        f"{new.pk} Waiting for you to start it 1/3 * New",
        f"{old.pk} Cancelled 0/2 Old",
    ]
    told = {plan["id"]: plan["active"] for plan in json.loads(listed("--json"))}
    assert told == {new.pk: True, old.pk: False}
