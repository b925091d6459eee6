"""The list of conversations in an open page: news of other processes, in one short query."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agents.models import Conversation
from plans import actions
from plans.models import Plan
from plans.schemas import PlanDraft
from tests.fake_model import call, say
from tests.inner import delete_conversation, rename_conversation
from tests.markup import flat
from tests.world import approved, conversation, drive, person, plan_of, scripted

pytestmark = pytest.mark.django_db(transaction=True)


def sidebar(client, current, tag=""):
    answer = client.get(f"/sidebar?current={current.pk}", headers={"If-None-Match": tag})
    return answer.status_code, answer.headers["ETag"], flat(answer.content.decode())


def a_plan(c):
    actions.create_plan(c, PlanDraft(title="Move house", subtasks=["Pack"]), "alice")


NEWS = {
    "a conversation": lambda other: conversation(),
    "a plan": a_plan,
    "a title": lambda other: rename_conversation(other, "Another title"),
    "one less": delete_conversation,
}


@pytest.mark.parametrize("news", NEWS)
def test_what_happens_elsewhere_is_in_the_list_at_the_next_look(client, news):
    client.force_login(person())
    here, other = conversation(), conversation()
    page = flat(client.get(f"/c/{here.pk}/").content.decode())
    status, tag, _ = sidebar(client, here)
    assert tag.replace('"', "&quot;") in page, "the page knows what it shows"
    assert sidebar(client, here, tag)[0] == 304
    NEWS[news](other)
    status, _, html = sidebar(client, here, tag)
    assert status == 200
    assert 'id="conversations"' in html


def test_the_pages_own_conversation_is_no_news(client):
    client.force_login(person())
    here = conversation()
    _, tag, _ = sidebar(client, here)
    a_plan(here)
    assert sidebar(client, here, tag)[0] == 304


def test_what_is_someone_elses_is_no_news(client):
    client.force_login(person())
    here = conversation()
    _, tag, _ = sidebar(client, here)
    theirs = conversation(owner="bob")
    assert sidebar(client, here, tag)[0] == 304
    assert f"conversation-{theirs.pk}" not in sidebar(client, theirs)[2]


def test_a_look_without_news_is_one_query_of_the_list(client):
    client.force_login(person())
    here = conversation()
    _, tag, _ = sidebar(client, here)
    with CaptureQueriesContext(connection) as seen:
        assert sidebar(client, here, tag)[0] == 304
    assert sum("agents_conversation" in each["sql"] for each in seen.captured_queries) == 1


def finished(owner="alice"):
    c = approved("Pack")
    scripted(call("finish_subtask", outcome="Packed."), say("Done."))
    actions.run_plan(plan_of(c), owner)
    drive()
    return c


def row_of(client, c, page="/needs/"):
    html = flat(client.get(page).content.decode())
    return re.search(rf'<a id="conversation-{c.pk}".*?</a>', html)[0]


def test_a_finished_plan_is_news_until_it_was_in_view_and_then_on_no_other_page(client):
    client.force_login(person())
    c, other = finished(), conversation()
    _, tag, _ = sidebar(client, other)
    assert 'data-status="by_word"' in row_of(client, c)
    assert 'data-status="by_word"' in row_of(client, c, f"/c/{c.pk}/"), "loading it is not looking"
    assert client.post(f"/c/{c.pk}/look").status_code == 204
    for page in ("/needs/", f"/c/{other.pk}/"):
        assert 'data-status="by_word"' not in row_of(client, c, page)
        assert "<time" in row_of(client, c, page)
    assert 'data-status="by_word"' in row_of(client, c, f"/c/{c.pk}/"), "where one is, it stays"
    assert sidebar(client, other, tag)[0] == 200, "other tabs learn of it"


def test_a_plan_that_finishes_later_is_news_again(client):
    client.force_login(person())
    c = finished()
    client.post(f"/c/{c.pk}/look")
    Plan.objects.filter(conversation=c).update(finished_at=timezone.now())
    assert 'data-status="by_word"' in row_of(client, c)


def test_nobody_looks_for_another(client):
    c = finished()
    client.force_login(person("bob"))
    assert client.post(f"/c/{c.pk}/look").status_code == 404
    assert Conversation.objects.get(pk=c.pk).looked_at is None


@pytest.mark.parametrize(
    ("ask", "shape"),
    [
        (call("ask_user", question="Which one?"), "question"),
        (call("write_file", path="a.txt", content="a"), "waiting"),
    ],
)
def test_who_asks_something_has_another_mark_than_who_wants_leave(client, ask, shape):
    client.force_login(person())
    c = approved("Pack", tools={"write_file": "ask"})
    scripted(ask)
    actions.run_plan(plan_of(c), "alice")
    drive()
    for page in ("/needs/", f"/c/{c.pk}/"):
        assert f'data-status="{shape}"' in row_of(client, c, page)
