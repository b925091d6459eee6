"""A small request that holds many values is refused before anybody looks at them."""

import pytest

from agents.errors import Invalid
from plans.models import Plan
from tests.inner import create_plan
from tests.security import test_bodies as bodies
from tests.security import test_isolation as isolation
from tests.security.addresses import operations
from tests.world import HTMX, conversation, on_page, plan_of, proposed

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("nobody_answers")]

world, alice, bob = isolation.world, isolation.alice, isolation.bob
MANY = 400_000  # values of less than 2 MB
VALUES = ['"x"', "1", "{}", "[]", '{"a":[]}']
TOLD = "The body is not read: it has more than 20,000 values."


def many(value, count=MANY):
    return f"[{','.join([value] * min(count, 1_900_000 // (len(value) + 1)))}]"


@pytest.fixture
def script(alice):
    return isolation.script(alice.user)


def test_no_operation_looks_at_a_body_of_too_many_values(script, alice, monkeypatch):
    script.get("/api/conversations")  # notes that the token was used
    before = bodies.owned_by(alice.user)
    for number, operation in enumerate(filter(lambda each: each.body, operations())):
        fields = [*bodies.fields_of(operation), "metadata", "of-no-use"]
        field, value = fields[number % len(fields)], VALUES[number % len(VALUES)]
        body = f'{{"{field}": {many(value)}}}'
        answer = isolation.ask(script, operation, bodies.own_path(operation, alice), body)
        assert (answer.status_code, answer.json()["detail"]) == (422, TOLD), (operation, field)
    assert bodies.owned_by(alice.user) == before


def test_brackets_and_commas_within_texts_are_no_values(script, alice):
    body = {"text": "[{,}]" * 30_000}
    path = f"/api/conversations/{alice.conversation}/messages"
    assert script.post(path, body, content_type="application/json").status_code == 202


FEW = 9_000  # values that are read


@pytest.mark.parametrize("value", VALUES[:4])
@pytest.mark.parametrize(
    ("method", "path", "field", "told"),
    [
        ("post", "plans", "subtasks", "A plan has at most 500 subtasks"),
        ("patch", "plans/{0.plan}", "subtasks", "A plan has at most 500 subtasks"),
        ("post", "plans/{0.plan}/run", "allow", "allow has more than 500 entries"),
        ("post", "plans/{0.plan}/undo", "paths", "paths[0]: input should be a valid string."),
    ],
)
def test_a_list_is_as_long_as_it_may_be_before_its_values_are_looked_at(
    script, alice, method, path, field, told, value
):
    if value == '"x"' and field == "paths":
        pytest.skip("so many files may be named")
    body = f'{{"title": "T", "agent": "{alice.agent}", "{field}": {many(value, FEW)}}}'
    body = body if path == "plans" else f'{{"{field}": {many(value, FEW)}}}'
    send = getattr(script, method)
    answer = send(f"/api/{path.format(alice)}", body, "application/json", headers=VERSION)
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith(told), "and nothing of 9,000 faults"
    assert "000 more" not in answer.json()["detail"]


VERSION = {"If-Match": '"1"'}


def test_metadata_has_64_kilobytes_at_most(script, alice):
    def patched(metadata):
        path = f"/api/plans/{alice.plan}"
        return script.patch(path, {"metadata": metadata}, "application/json", headers=VERSION)

    assert patched({"a": "x" * 60_000}).status_code == 200
    told = {"detail": "The metadata of a plan may have 64 kB at most."}
    for too_much in ({"b": "x" * 6_000}, {"a": "é" * 33_000}, {"a": None, "b": "x" * 66_000}):
        answer = patched(too_much)
        assert (answer.status_code, answer.json()) == (422, told)
    assert Plan.objects.get(pk=alice.plan).metadata == {"a": "x" * 60_000}


def test_a_plan_with_too_much_metadata_is_not_made():
    c = conversation()
    with pytest.raises(Invalid, match="64 kB"):
        create_plan(c, title="T", content="x", metadata={"a": "x" * 66_000})
    assert not Plan.objects.filter(conversation=c).exists()


def test_metadata_stands_on_the_page_of_its_plan(script, alice):
    body = {"metadata": {"ticket": 7, "link": "<b>here</b>", "by": {"name": "Bo\u202eb"}}}
    script.patch(f"/api/plans/{alice.plan}", body, "application/json", headers=VERSION)
    page = isolation.browser(alice.user).get(f"/plans/{alice.plan}/").content.decode()
    for shown in ("<dt>ticket</dt>", "<dd>7</dd>", "&lt;b&gt;here&lt;/b&gt;", "{&quot;name&quot;"):
        assert shown in page
    assert "\u202e" not in page


# Documents that are written into a form


@pytest.mark.parametrize(
    "door", ["settings/agents/{0.agent}/check", "settings/chains/planner/check"]
)
def test_a_file_of_too_many_values_is_not_read_and_says_so(alice, door):
    client = isolation.browser(alice.user)
    answer = client.post(f"/{door.format(alice)}", {"text": many("[]", 30_000)})
    assert "It has more than 20,000 values." in answer.content.decode()


def test_arguments_of_a_check_of_too_many_values_are_refused(alice):
    c = proposed("Read")
    form = {"kind": "tool", "tool": "t", "arguments": f'{{"a": {many("[]")}}}', **on_page(c)}
    path = f"/c/{c.pk}/plan/subtasks/s1/checks"
    answer = isolation.browser(c.owner).post(path, form, headers=HTMX)
    assert (answer.status_code, plan_of(c).version) == (422, 1)
    assert "The arguments of a check are a JSON object." in answer.content.decode()
