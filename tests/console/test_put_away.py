"""Conversations pinned, archived, deleted and taken back, and their export; in pages and API."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from agents.models import Conversation, Event, Turn
from plans.models import Run
from tests.fake_model import call, calls, say
from tests.inner import conversations, handle_message
from tests.markup import flat
from tests.world import HTMX, conversation, done, drive, person, plan_of, proposed, scripted, tell

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def alice(client):
    client.force_login(person("alice"))
    return client


def titled(title, owner="alice"):
    c = conversation(owner)
    Conversation.objects.filter(pk=c.pk).update(title=title)
    return c


def listed(client):
    """The titles of the list, in order."""
    html = client.get("/sidebar").content.decode()
    return [part.split("<", 1)[0].strip() for part in html.split('<span class="truncate">')[1:]]


def patch(client, c, **values):
    return client.patch(f"/api/conversations/{c.pk}", values, content_type="application/json")


def test_what_is_pinned_comes_first_and_stays_where_it_was_after_it(alice):
    first, *_ = [titled(name) for name in ("One", "Two", "Three")]
    assert listed(alice) == ["Three", "Two", "One"]
    assert patch(alice, first, pinned=True).json()["pinned"] is True
    assert listed(alice) == ["One", "Three", "Two"]
    assert "Pinned" in alice.get("/sidebar").content.decode()
    alice.post(f"/c/{first.pk}/pin", {"pinned": "false"}, headers=HTMX)
    assert listed(alice) == ["Three", "Two", "One"], "its place is that of its last message"


@pytest.mark.parametrize("verb", ["rename", "delete and restore"])
def test_what_is_done_with_a_conversation_leaves_it_in_its_place(alice, verb):
    first, *_ = [titled(name) for name in ("One", "Two", "Three")]
    if verb == "rename":
        patch(alice, first, title="Uno")
        assert listed(alice) == ["Three", "Two", "Uno"]
    else:
        alice.post(f"/c/{first.pk}/delete")
        alice.post(f"/c/{first.pk}/restore")
        assert listed(alice) == ["Three", "Two", "One"]


def test_a_title_that_leaves_out_some_of_the_first_line_says_so(alice):
    scripted(say("Well."), say("Well."))
    for text in ("word " * 30, "x" * 60):
        tell(conversation(), text)
    assert listed(alice) == ["x" * 60, "word " * 11 + "word…"]


def test_what_is_archived_leaves_the_list_and_is_found_and_put_back(alice):
    c = titled("Moss")
    conversations_before = listed(alice)
    toast = alice.post(f"/c/{c.pk}/archive", {"archived": "true"}, headers=HTMX)
    assert "Undo" in toast.content.decode()
    assert listed(alice) == [] != conversations_before
    assert alice.get(f"/c/{c.pk}/").status_code == 200
    assert "Moss" in alice.get("/archive/").content.decode()
    assert patch(alice, c, archived=False).json()["archived"] is False
    assert listed(alice) == ["Moss"]


def test_other_pages_hear_of_it_by_an_event_and_the_lists_tag(alice):
    c = titled("Moss")
    tag = alice.get(f"/sidebar?current={c.pk}").headers["ETag"]
    patch(alice, c, pinned=True)
    assert alice.get(f"/sidebar?current={c.pk}").headers["ETag"] != tag
    patch(alice, c, pinned=True)
    assert Event.objects.filter(type="conversation.pinned").count() == 1, (
        "the second changed nothing"
    )
    assert "Unpin" in alice.get(f"/c/{c.pk}/changes?after=0").content.decode()


def test_a_deleted_conversation_is_gone_at_once_and_comes_back_whole(alice):
    other, c = titled("Other"), titled("Moss")
    scripted(say("Ferns."))
    tell(c, "what else?")
    answer = alice.post(f"/c/{c.pk}/delete", follow=True)
    assert flat(answer.content.decode()).count("Deleted “Moss”.") == 1
    assert answer.redirect_chain[-1][0] == f"/c/{other.pk}/?deleted={c.pk}"
    assert alice.get(f"/c/{c.pk}/").status_code == 404
    assert alice.get("/api/search?q=ferns").json()["messages"]["count"] == 0
    assert alice.post(f"/c/{c.pk}/restore").url == f"/c/{c.pk}/"
    assert "Ferns." in alice.get(f"/c/{c.pk}/").content.decode()
    assert alice.get("/api/search?q=ferns").json()["messages"]["count"] == 1


def test_deleting_stops_what_runs_and_taking_back_starts_nothing(alice):
    c = proposed("Read", "Write", tools={"write_file": "ask"})
    scripted(call("write_file", path="a", content="b"), done(), say("."))
    tell(c, "go")
    assert Turn.objects.filter(conversation=c, state__in=Turn.OPEN_STATES).exists()
    assert alice.delete(f"/api/conversations/{c.pk}").status_code == 204
    drive()
    assert not Turn.objects.filter(conversation=c, state__in=Turn.OPEN_STATES).exists()
    assert alice.post(f"/api/conversations/{c.pk}/restore").status_code == 200
    drive()
    assert plan_of(c).run == Run.IDLE
    assert alice.post(f"/api/conversations/{c.pk}/restore").status_code == 404, "it is there"


def test_others_can_neither_see_nor_take_back_what_was_deleted(alice):
    theirs = titled("Secret", "bob")
    conversations.delete_conversation(theirs, "bob")
    assert alice.post(f"/c/{theirs.pk}/restore").status_code == 404
    assert "Secret" not in alice.get("/archive/").content.decode()


def test_after_a_day_it_is_gone_for_good(alice):
    c = proposed("Read")
    conversations.delete_conversation(c, "alice")
    conversations.erase_old()
    assert Conversation.objects.filter(pk=c.pk).exists()
    long_ago = timezone.now() - conversations.RESTORABLE - timedelta(seconds=1)
    Conversation.objects.filter(pk=c.pk).update(deleted_at=long_ago)
    assert alice.post(f"/c/{c.pk}/restore").status_code == 404
    conversations.erase_old()
    assert not Conversation.objects.filter(pk=c.pk).exists()


def test_an_export_is_in_the_order_of_the_page(alice):
    c = conversation()
    scripted(say("The first reply."), say("The second reply."))
    for text in ("The first.", "The second."):
        handle_message(c, text, "alice")
    drive()
    said = ["The first.", "The first reply.", "The second.", "The second reply."]
    for address in (f"/c/{c.pk}/", f"/c/{c.pk}/export.md"):
        text = alice.get(address).content.decode().split('id="log"')[-1]
        assert sorted(said, key=text.index) == said, address
    document = json.loads(alice.get(f"/c/{c.pk}/export.json").content)
    assert [message["text"] for message in document["messages"]] == said


def test_an_export_has_everything_that_was_said_and_done(alice):
    c = proposed("Read the guide", tools={"list_files": "allow"})
    tell(c, "/clear")
    scripted(calls(call("list_files", path=".")), say("No ``` files."))
    tell(c, "what is there?")
    text = alice.get(f"/c/{c.pk}/export.md").content.decode()
    for part in ("## You,", "cleared", "what is there?", "**list_files** (done)", "Read the guide"):
        assert part in text, part
    document = json.loads(alice.get(f"/api/conversations/{c.pk}/export?format=json").content)
    said = {message["text"]: message for message in document["messages"]}
    assert said["what is there?"]["cleared"] is False
    assert (
        [each["tool"] for each in said[""]["tool_calls"]] == ["list_files"] if "" in said else True
    )
    assert document["plans"][0]["subtasks"][0]["name"] == "Read the guide"
    named = alice.get(f"/c/{c.pk}/export.json").headers["Content-Disposition"]
    assert named == 'attachment; filename="tidy up.json"'


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ('Moss: a/b\n"c"', 'filename="Moss a b c.md"'),
        ("整理文档", "filename*=utf-8''%E6%95%B4%E7%90%86%E6%96%87%E6%A1%A3.md"),
        ("../..", 'filename="conversation-{pk}.md"'),
    ],
)
def test_an_exports_file_is_called_as_its_conversation_is(alice, title, name):
    c = titled(title)
    named = alice.get(f"/c/{c.pk}/export.md").headers["Content-Disposition"]
    assert named == f"attachment; {name}".replace("{pk}", str(c.pk))


def test_an_empty_archive_says_so(alice):
    titled("Moss")
    assert "Nothing is archived." in alice.get("/archive/").content.decode()


def test_the_menu_of_a_row_says_what_can_be_done_with_that_conversation(alice):
    c, other = titled("Moss"), titled("Fern")
    conversations.pin_conversation(c, True)
    menu = flat(alice.get(f"/c/{c.pk}/menu?current={other.pk}").content.decode())
    assert 'hx-target="#row-menu-entries"' in menu
    for part in ("Rename", "Unpin", "Archive", "Export as Markdown", "Delete conversation"):
        assert part in menu, part
    assert f'hx-post="/c/{c.pk}/delete?place=list"' in menu
    here = flat(alice.get(f"/c/{c.pk}/menu?current={c.pk}").content.decode())
    assert 'form="delete-form"' in here, "from the page's own conversation one goes elsewhere"
    assert alice.get(f"/c/{titled('Secret', 'bob').pk}/menu").status_code == 404


def test_what_is_deleted_or_archived_in_the_list_is_taken_back_there(alice):
    c = titled("Moss")
    answer = alice.post(f"/c/{c.pk}/delete?place=list", headers=HTMX).content.decode()
    assert "list-toast" in answer
    assert "Deleted “Moss”." in flat(answer)
    assert f'hx-post="/c/{c.pk}/restore?place=list"' in answer
    assert listed(alice) == []
    assert alice.post(f"/c/{c.pk}/restore?place=list", headers=HTMX).status_code == 204
    assert listed(alice) == ["Moss"]
    archived = {"archived": "true"}
    answer = alice.post(f"/c/{c.pk}/archive?place=list", archived, headers=HTMX).content.decode()
    assert "list-toast" in answer
    assert f'hx-post="/c/{c.pk}/archive?place=list"' in answer
