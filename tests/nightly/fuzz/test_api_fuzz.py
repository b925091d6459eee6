"""schemathesis over the OpenAPI document: no call breaks the server, every answer is a declared one.

PLANSIDE_FUZZ=300 tries that many calls of each operation, at random; the suite tries a few, the
same each time.
"""

import os
from types import SimpleNamespace

import pytest
import schemathesis
from django.core import signals
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, transaction
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import checks

from agents import http
from agents.models import Provider, ToolSource
from plans.models import Plan
from tests.fake_model import call, say
from tests.inner import api, chains, create_token, ownership
from tests.security.addresses import A_CHECK
from tests.world import agent, calls_of, conversation, person, plan_of, proposal, scripted, tell

pytestmark = pytest.mark.django_db(transaction=True)

TRIES = int(os.environ.get("PLANSIDE_FUZZ", "0"))
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.positive_data_acceptance,
]

# What no schema can tell: which version there is, and whether what a field names exists.
# A text without null characters: the description of the document says so.
config = schemathesis.Config.from_dict(
    {
        "generation": {"allow-x00": False, "codec": "utf-8"},
        "checks": {
            "positive_data_acceptance": {
                "expected-statuses": ["2xx", 401, 403, 404, 409, 412, 428, 429]
            }
        },
    }
)
schema = schemathesis.openapi.from_dict(api.get_openapi_schema(path_prefix="/api/"), config=config)
schema.app = get_wsgi_application()
OPERATIONS = [each.ok() for each in schema.get_all_operations()]


@pytest.fixture(autouse=True)
def _connection_outlives_a_request():
    """As with Django's own test client: the call is part of the test's transaction."""
    watched = (signals.request_started, signals.request_finished)
    for signal in watched:
        signal.disconnect(close_old_connections)
    yield
    for signal in watched:
        signal.connect(close_old_connections)


@pytest.fixture
def there(tmp_path, settings, monkeypatch):
    """An admin with one of each, and the token that reads it."""
    settings.PLANSIDE_HOME = tmp_path
    settings.API_CALLS_PER_MINUTE = settings.MESSAGES_PER_MINUTE = 10**9
    monkeypatch.setattr(chains, "LONGEST_RUN", 0.01)
    alice = person("alice")
    alice.is_superuser = True
    alice.save()
    c = conversation(tools={"write_file": "ask"})
    ownership.set_owner(alice, c.agent_id)
    scripted(
        proposal("One", "Two"),
        say("Here."),
        call("write_file", path="a.txt", content="a"),
    )
    tell(c, "/plan it")
    tell(c, "go")
    ToolSource.objects.create(name="shared", kind="openapi", url="http://127.0.0.1:9")
    Provider.objects.create(name="shared", base_url="http://127.0.0.1:9/v1")
    http.use(None)
    return SimpleNamespace(
        conversations=c.pk,
        plans=plan_of(c).pk,
        agents=c.agent_id,
        key="s2",
        n=1,
        chains="planner",
        tools="shared",
        providers="shared",
        calls=calls_of(c)[-1].pk,
        messages=c.messages.filter(role="user").first().pk,
        token=create_token(alice, "script"),
    )


def aimed(case, there, how_far):
    """The call at something that is there: with all its parameters, the first, or none."""
    is_aimed = how_far != "none"
    noun = case.path.split("/")[2]
    own = {"id": getattr(there, {"tool-calls": "calls"}.get(noun, noun), 1)}
    own |= {"agent_id": there.agents, "name": getattr(there, noun, "x"), "key": there.key, "n": 1}
    if how_far == "first":
        own = {name: value for name, value in own.items() if name not in ("key", "n")}
    if is_aimed:
        generated = case.path_parameters or {}
        case.path_parameters = {name: own.get(name, value) for name, value in generated.items()}
    if noun == "plans" and is_aimed and case.headers.get("If-Match"):
        case.headers["If-Match"] = '"1"'
    if isinstance(case.body, dict) and case.path == "/api/tools":  # nothing is run and nobody asked
        case.body |= {"command": "", "url": "http://127.0.0.1:9/"}
        case.body |= (
            {"spec": "http://127.0.0.1:9/"} if isinstance(case.body.get("spec"), str) else {}
        )
    if isinstance(case.body, dict) and noun == "providers":
        case.body |= {"base_url": "http://127.0.0.1:9/v1"} if "base_url" in case.body else {}
    case.body = with_sound_checks(case.body)
    return case


def with_sound_checks(body):
    if isinstance(body, list):
        return [with_sound_checks(each) for each in body]
    if not isinstance(body, dict):
        return body
    sound = {name: with_sound_checks(value) for name, value in body.items()}
    if isinstance(body.get("check"), dict):
        sound["check"] = {**A_CHECK, "key": body["check"].get("key", "c1")}
    if isinstance(body.get("checks"), list):
        sound["checks"] = [A_CHECK for _ in body["checks"]]
    return sound


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.label)
def test_no_call_breaks_the_server(operation, there):
    @settings(
        max_examples=TRIES or 8,
        derandomize=not TRIES,
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(), how_far=st.sampled_from(["all", "all", "first", "none"]))
    def story(case, how_far):
        with transaction.atomic():
            headers = {"Authorization": f"Bearer {there.token}"}
            response = aimed(case, there, how_far).call(headers=headers)
            transaction.set_rollback(True)
        case.validate_response(response, checks=checks_of(operation))
        if operation.path == "/api/agents/{agent_id}" and operation.method == "delete":
            again(there)

    story()
    assert Plan.objects.count() == 1


# A chain whose tasks do not fit together is refused, and so is a check that the agent may not run,
# whose pattern is none, or that lacks what its kind needs: no schema can tell.
MORE_THAN_A_SCHEMA = {
    "PUT /api/chains/{id}",
    "POST /api/plans",
    "PATCH /api/plans/{id}",
    "POST /api/plans/{id}/subtasks",
    "PATCH /api/plans/{id}/subtasks/{key}",
    "POST /api/plans/{id}/subtasks/{key}/checks",
    "PUT /api/plans/{id}/subtasks/{key}/checks/{check}",
}


def checks_of(operation):
    is_more = operation.label in MORE_THAN_A_SCHEMA
    return [each for each in CHECKS if not is_more or each is not checks.positive_data_acceptance]


def again(there):
    """The agent's folder is no row: it does not come back by itself."""
    agent(id=there.agents)
