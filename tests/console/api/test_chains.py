"""/api/chains: read, write and run."""

import pytest
from django.contrib.auth.models import User

from agents.models import Conversation
from tests.inner import set_owner
from tests.world import agent

pytestmark = pytest.mark.django_db(transaction=True)

CHAIN = {
    "id": "greeting",
    "tasks": [
        {
            "id": "ask",
            "handler": "chat_completion",
            "transition": {"branches": [{"operator": "default", "goto": "end"}]},
        }
    ],
}


@pytest.fixture
def admin(client):
    client.force_login(User.objects.create_superuser("root"))
    client.handler.enforce_csrf_checks = False
    return client


def put(client, chain, id="greeting"):
    return client.put(f"/api/chains/{id}", chain, content_type="application/json")


def test_an_admin_writes_a_chain_and_anybody_reads_it(admin, client):
    answer = put(admin, CHAIN)
    assert (answer.status_code, answer.json()) == (200, {"id": "greeting", "warnings": []})
    client.force_login(User.objects.create_user("alice"))
    assert client.get("/api/chains/greeting").json()["tasks"][0]["handler"] == "chat_completion"
    assert "greeting" in [item["id"] for item in client.get("/api/chains").json()["items"]]
    assert put(client, CHAIN).status_code == 403


def test_a_chain_with_a_fault_is_refused_with_its_place(admin):
    broken = {
        **CHAIN,
        "tasks": [
            {
                **CHAIN["tasks"][0],
                "transition": {"branches": [{"operator": "default", "goto": "nowhere"}]},
            }
        ],
    }
    answer = put(admin, broken)
    assert answer.status_code == 422
    assert (
        "tasks[0].transition.branches[0].goto: There is no task nowhere." in answer.json()["detail"]
    )
    assert put(admin, CHAIN, id="another").status_code == 422
    assert admin.get("/api/chains/nothing").status_code == 404


def test_a_chain_that_acts_is_not_run_by_an_agent_that_plans_every_task(admin):
    own = agent(plan={"enabled": True, "enforce": True})
    set_owner(User.objects.get(username="root"), own)
    run = {"input": "Write", "agent": own}
    answer = admin.post("/api/chains/default-chain/run", run, content_type="application/json")
    assert answer.status_code == 409
    assert "plans every task (plan.enforce)" in answer.json()["detail"]
    assert not Conversation.objects.exists()
