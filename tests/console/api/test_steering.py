"""Planning the rest anew and raising the budget, through the API."""

import pytest

from agents.models import ApiToken
from tests.fake_model import call, say
from tests.inner import create_token
from tests.world import drive, person, plan_of, proposed, scripted, shown, tell

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def alice(client):
    secret = create_token(person("alice"), "test")
    assert ApiToken.objects.count() == 1

    def post(path, body):
        return client.post(
            f"/api{path}",
            body,
            content_type="application/json",
            headers={"Authorization": f"Bearer {secret}"},
        )

    return post


def test_the_rest_is_planned_anew(alice):
    c = proposed("Read", "Write")
    scripted(call("revise_current_plan", subtasks=[{"name": "Another way"}]), say("."))
    answer = alice(f"/plans/{plan_of(c).pk}/replan", {"from": "s2", "hint": "shorter"})
    assert (answer.status_code, answer.json()["kind"]) == (202, "plan")
    drive()
    assert [s["name"] for s in shown(c)["subtasks"]] == ["Read", "Another way"]
    assert alice(f"/plans/{plan_of(c).pk}/replan", {"from": "s9"}).json() == {
        "detail": "There is no subtask s9 in this plan."
    }


def test_a_budget_is_raised_and_the_run_goes_on(alice):
    c = proposed("Read", budget={"model_calls": 1})
    scripted(call("list_files"), call("finish_subtask", outcome="ok"), say("."))
    tell(c, "go")
    assert shown(c)["attention"] == "budget"
    answer = alice(f"/plans/{plan_of(c).pk}/budget", {"model_calls": 50})
    assert (answer.status_code, answer.json()["budget"]) == (200, {"model_calls": 50})
    drive()
    assert plan_of(c).state == "done"
    assert alice(f"/plans/{plan_of(c).pk}/budget", {"tokens": 0}).status_code in (409, 422)
