"""What no database can keep: null characters, half characters, numbers that are none."""

import json
import re

import pytest
from django.contrib.auth.models import User

from agents.models import Message, ToolCall
from plans.models import Plan
from tests.fake_model import call, say
from tests.inner import DEEPEST, fault_of, sanitize
from tests.security.addresses import operations, pages
from tests.world import calls_of, conversation, proposed, scripted, tell, texts

pytestmark = pytest.mark.django_db(transaction=True)

BAD = "a\0b\ud800c"
KEPT = "a\ufffdb\ufffdc"


def nested(levels):
    document: list = []
    for _ in range(levels):
        document = [document]
    return document


def test_what_a_model_says_is_kept_without_what_cannot_be():
    c = conversation()
    message = {"role": "assistant", "content": BAD}
    scripted({"raw": json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]})})
    tell(c, "hello")
    assert texts(c) == [KEPT]


def test_what_a_model_asks_for_is_kept_and_carried_out_without_it():
    c = conversation()
    asked = {"path": "a.txt", "content": BAD, "odd": {BAD: [BAD, float("nan")]}}
    scripted(call("write_file", **asked), call("read_file", path="a.txt"), say("done"))
    tell(c, "write it")
    first, second = calls_of(c)
    assert first.arguments["content"] == KEPT
    assert first.arguments["odd"] == {KEPT: [KEPT, None]}
    assert "surrogates" not in first.result + second.result


def test_arguments_that_are_nested_too_deeply_are_refused_in_a_sentence():
    c = conversation()
    scripted(call("write_file", path="a.txt", content=nested(500)), say("done"))
    tell(c, "write it")
    [made] = calls_of(c)
    assert "nested too deeply" in made.result


def test_what_a_tool_gives_back_is_kept_without_what_cannot_be(tmp_path):
    c = conversation(tools={"shell": "allow"})
    User.objects.update(is_superuser=True)  # the shell is an admin's
    scripted(call("shell", command=r"printf 'a\0b\355\240\200c'"), say("done"))
    tell(c, "run it")
    [made] = calls_of(c)
    assert made.state == "done"
    assert "\0" not in made.result


def test_a_plan_of_such_text_is_kept_without_it():
    c = proposed(BAD, "Two")
    plan = Plan.objects.get(conversation=c)
    assert [subtask.name for subtask in plan.subtasks.all()] == [KEPT, "Two"]


def test_a_person_who_says_it_is_kept_without_it():
    c = conversation()
    scripted(say("Fine."))
    tell(c, f"/plan {BAD}")
    said = Message.objects.get(conversation=c, role="user")
    assert said.text == f"/plan {KEPT}"
    assert not Message.objects.filter(text=BAD).exclude(pk=said.pk).exists()


def test_any_column_takes_any_text():
    c = conversation()
    row = Message.objects.create(
        conversation=c, seq=900, changed_seq=900, role="user", text=BAD, meta={BAD: [BAD]}
    )
    Message.objects.filter(pk=row.pk).update(text=BAD, meta={"n": float("inf")})
    row.refresh_from_db()
    assert (row.text, row.meta) == (KEPT, {"n": None})
    assert ToolCall.objects.filter(tool=BAD).count() == 0


@pytest.mark.parametrize("text", ["", "plain", "\ufffd", "😀", "\t\n\x1b"])
def test_other_text_stays_as_it_is(text):
    assert sanitize({text: [text]}) == {text: [text]}
    assert fault_of({text: [text]}) == ""


def test_the_deepest_document_that_is_taken_can_be_kept():
    assert fault_of(nested(DEEPEST - 1)) == ""
    assert "deeply" in fault_of(nested(DEEPEST))
    c = conversation()
    row = Message.objects.create(
        conversation=c, seq=900, changed_seq=900, role="user", meta={"deep": nested(10_00)}
    )
    row.refresh_from_db()
    assert len(json.dumps(row.meta)) < 1000


def test_a_null_character_in_a_query_is_refused_wherever_it_stands(client):
    c = proposed("One")
    client.force_login(c.owner)
    for page in pages():
        path = page.at({**dict.fromkeys(page.names, c.pk), "key": "s1"})
        for query in ("q=%00", "q=a%00b&q=c", "%00=x"):
            assert client.get(f"{path}?{query}").status_code == 400, (path, query)
    for operation in operations():
        path = re.sub(r"{[^}]+}", str(c.pk), operation.path)
        answer = client.generic(operation.method, f"{path}?q=%00", "{}", "application/json")
        assert answer.status_code == 422, path
        assert "null character" in answer.json()["detail"]


def test_a_null_character_in_any_value_of_a_form_is_refused(client):
    c = proposed("One")
    client.force_login(c.owner)
    form = {"subtask_key": ["a\0", "s1"], "text": "x"}
    assert client.post(f"/c/{c.pk}/plan/approve", form).status_code == 400


def test_a_null_character_in_a_path_is_refused(client):
    client.force_login(conversation().owner)
    assert client.get("/plans/%00/").status_code == 400
    assert client.get("/api/chains/%00").status_code == 422
