"""The list of conversations in an open page: news of other processes, in one short query."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agents.actions import rename_conversation
from agents.conversations import delete_conversation
from plans import actions
from plans.schemas import PlanDraft
from tests.markup import flat
from tests.world import conversation, person

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
