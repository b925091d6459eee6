"""What a chain may read of a tool's result: its fields, whatever stands around the data."""

import httpx
import pytest
from django.contrib.auth.models import User

from agents.models import ToolCall, Turn
from tests.chains.chains import chatting, shop, task
from tests.fake_model import call, say
from tests.world import calls_of, drive, person, scripted, tell, texts

pytestmark = pytest.mark.django_db(transaction=True)

ORDERS = {"items": [{"id": 7, "body": "ink"}], "total": 1, "status": "open"}
ASK_SHOP = {"name": "shop", "tool_name": "orders", "args": {"q": "{{.input}}"}}
GRANTED = {"shop": "allow", "read_file": "allow", "shell": "allow"}


def answered(status=200, **more):
    return httpx.Response(status, **(more or {"json": ORDERS}))


def told(template, answer):
    """What a noop says with this template of a call to the shop before it."""
    c = chatting(
        task("call", "tools", "say", tools=ASK_SHOP),
        task("say", "noop", "end", prompt_template=template),
        tools=GRANTED,
    )
    with shop(answer):
        tell(c, "hi")
    turn = Turn.objects.get(conversation=c)
    assert turn.error == ""
    return texts(c)[-1]


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{.call.status}}", "200"),
        ("{{.call.body.total}} of {{.call.body.items}}", '1 of [{"id": 7, "body": "ink"}]'),
        ("{{.call.body.items.0.id}}", "7"),
        ("{{.call.body.items.0.body}}", "ink"),
        ("{{.call.body.status}}", "open"),
        ("{{.call.items.0.id}}", "7"),
        ("{{.call}}", '{"items":[{"id":7,"body":"ink"}],"total":1,"status":"open"}'),
        ("{{.call.output}}", '{"items":[{"id":7,"body":"ink"}],"total":1,"status":"open"}'),
    ],
)
def test_status_and_body_of_a_service_are_fields(template, said):
    assert told(template, answered()) == said


@pytest.mark.parametrize(
    ("answer", "template", "said"),
    [
        (answered(json=[1, 2]), "{{.call.body.1}} {{.call.0}}", "2 1"),
        (answered(text="plain"), "{{.call.body}} {{.call}}", "plain plain"),
        (answered(204, text=""), "({{.call.body}}) {{.call.status}}", "() 204"),
        (
            answered(json={"items": ["x" * 70_000], "total": 1}),
            "{{.call.body.total}}",
            "1",
        ),
    ],
)
def test_whatever_a_service_answers_with_can_be_read(answer, template, said):
    assert told(template, answer) == said


@pytest.mark.parametrize("field", ["body.status", "status"])
def test_a_field_of_the_answer_decides_the_way(field):
    wanted = {"status": "200", "body.status": "open"}[field]
    c = chatting(
        task(
            "call",
            "tools",
            ("equals", wanted, "yes"),
            "no",
            tools=ASK_SHOP,
            output_template=f"{{{{.{field}}}}}",
        ),
        task("yes", "noop", "end", prompt_template="the right way"),
        task("no", "noop", "end", prompt_template="the wrong way"),
        tools=GRANTED,
    )
    with shop(answered()):
        tell(c, "hi")
    assert texts(c)[-1] == "the right way"


def test_a_model_still_reads_status_and_body_in_one_text():
    c = chatting(
        task(
            "ask",
            "chat_completion",
            ("equals", "tool-call", "run"),
            "end",
            execute_config={"tools": ["*"]},
        ),
        task("run", "execute_tool_calls", "ask", input_var="ask"),
        tools=GRANTED,
    )
    model = scripted(call("shop__orders", q="a"), say("ok"))
    with shop(answered(json={"total": 1})):
        tell(c, "hi")
    assert model.requests[1]["messages"][-1]["content"] == '200 OK\n{"total":1}'
    assert calls_of(c)[0].result == '200 OK\n{"total":1}'


def test_a_result_from_before_is_read_as_it_was_stored():
    """An output of an earlier version in the checkpoint of a turn that is taken up again."""
    c = chatting(
        task("call", "noop", "say"),
        task("say", "noop", "end", prompt_template="{{.call.items.0}} {{.call}}"),
    )
    scripted()
    tell(c, "hi")
    old = {"call": {"text": '{"items": [1]}', "data": {"items": [1]}}}
    checkpoint = {"task": "say", "previous": "call", "variables": old, "steps": 1}
    turn = Turn.objects.get(conversation=c)
    Turn.objects.filter(pk=turn.pk).update(state="queued", checkpoint=checkpoint, finished_at=None)
    drive()
    assert texts(c)[-1] == '1 {"items": [1]}'


FAILS = {
    "a command": ({"name": "shell", "args": {"command": "echo ink; exit 3"}}, "exit_code", "3"),
    "a service": (ASK_SHOP, "status", "404"),
}


@pytest.mark.parametrize("name", FAILS)
def test_after_a_failure_what_is_known_of_the_call_can_be_read(name):
    tools, field, value = FAILS[name]
    c = admins_chat(
        task("call", "tools", "fine", tools=tools, transition={"on_failure": "bad"}),
        task("fine", "noop", "end", prompt_template="fine"),
        task("bad", "noop", "end", prompt_template=f"{{{{.call.{field}}}}}: {{{{.call.error}}}}"),
    )
    with shop(answered(404, json={"why": "gone"})):
        tell(c, "hi")
    assert texts(c)[-1].startswith(f"{value}: ")


def admins_chat(*tasks):
    """Only an admin's agent has a shell."""
    person("root")
    User.objects.filter(username="root").update(is_superuser=True)
    return chatting(*tasks, tools=GRANTED, owner="root")


@pytest.mark.parametrize(
    ("command", "more", "said"),
    [
        ("exit 3", {}, "failed"),
        ("echo ink", {}, "fine"),
        ("exit 3", {"output_template": "{{.exit_code}}"}, "three"),
        ("exit 3", {"output_template": "{{ .facts.exit_code }}"}, "three"),
        ("echo 3", {"output_template": "{{.exit_code}}"}, "fine"),
        ("exit 3", {"output_template": "It says {{.output}}"}, "failed"),
    ],
)
def test_an_exit_code_is_a_failure_or_decides_the_way(command, more, said):
    c = admins_chat(
        task(
            "call",
            "tools",
            ("equals", "3", "three"),
            "fine",
            tools={"name": "local_shell", "args": {"command": command}},
            transition={"on_failure": "failed"},
            **more,
        ),
        *(task(id, "noop", "end", prompt_template=id) for id in ("fine", "three", "failed")),
    )
    scripted()
    tell(c, "hi")
    assert texts(c)[-1] == said


def test_a_call_that_failed_is_made_anew_when_the_task_is_tried_again():
    c = chatting(task("call", "tools", "end", tools=ASK_SHOP, retry_on_failure=2), tools=GRANTED)
    answers = iter([answered(500), answered(500), answered(json={"total": 2})])
    with shop(lambda: next(answers)):
        tell(c, "hi")
    assert [made.state for made in calls_of(c)] == ["failed", "failed", "done"]
    assert texts(c)[-1] == '{"total":2}'
    assert not ToolCall.objects.filter(state="running").exists()
