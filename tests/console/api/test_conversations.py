import pytest

from agents.models import Conversation, Message, Turn
from plans.models import Plan
from tests.world import proposed


@pytest.fixture
def chat(alice):
    return alice.talk()


def test_a_new_conversation_is_listed_first(alice):
    first, second = alice.talk(), alice.talk()
    listed = alice.get("/conversations").json()
    assert [row["id"] for row in listed["items"]] == [second, first]
    assert listed["count"] == 2


def test_the_list_can_be_narrowed_to_an_agent_and_comes_in_pages(alice):
    for _ in range(51):
        alice.talk()
    assert len(alice.get("/conversations").json()["items"]) == 50
    second = alice.get("/conversations?page=2").json()
    assert (len(second["items"]), second["count"]) == (1, 51)
    assert alice.get("/conversations?agent=nobody").json() == {"items": [], "count": 0}


@pytest.mark.parametrize("page", ["0", "-1", "x", "9999999999"])
def test_a_page_that_cannot_be_is_a_sentence(alice, said, page):
    assert said(alice.get(f"/conversations?page={page}"), 422).startswith("page: ")


def test_someone_elses_conversation_is_not_there(alice, bob, chat, said):
    path = f"/conversations/{chat}"
    said(bob.get(path), 404)
    said(bob.patch(path, {"title": "mine"}), 404)
    said(bob.delete(path), 404)
    for part in ("messages", "plan", "events"):
        said(bob.get(f"{path}/{part}"), 404)
    said(bob.post(f"{path}/messages", {"text": "hello"}), 404)
    said(bob.post(f"{path}/stop"), 404)
    said(bob.post(f"{path}/plan/cancel"), 404)
    assert bob.get("/conversations").json()["count"] == 0


def test_a_conversation_is_renamed_and_deleted(alice, chat, said):
    assert (
        alice.patch(f"/conversations/{chat}", {"title": " New  name "}).json()["title"]
        == "New name"
    )
    assert alice.delete(f"/conversations/{chat}").status_code == 204
    said(alice.get(f"/conversations/{chat}"), 404)


@pytest.mark.parametrize("title", ["", "   ", "x" * 201, None])
def test_a_title_that_says_nothing_is_refused(alice, chat, said, title):
    said(alice.patch(f"/conversations/{chat}", {"title": title}), 422)


def test_a_message_is_taken_in_and_a_turn_queued_for_it(alice, chat):
    answer = alice.post(f"/conversations/{chat}/messages", {"text": "Hello there"})
    assert answer.status_code == 202
    said = answer.json()
    assert (said["message"]["role"], said["message"]["text"]) == ("user", "Hello there")
    assert (said["turn"]["state"], said["turn"]["lane"]) == ("queued", "chat")
    listed = alice.get(f"/conversations/{chat}/messages").json()
    assert listed["items"] == [said["message"]]


def test_messages_come_after_a_seq(alice, chat):
    for n in range(3):
        alice.post(f"/conversations/{chat}/messages", {"text": f"m{n}"})
    first = alice.get(f"/conversations/{chat}/messages").json()["items"][0]
    later = alice.get(f"/conversations/{chat}/messages?after={first['seq']}").json()
    assert [row["text"] for row in later["items"]] == ["m1", "m2"]
    assert later["count"] == 2


@pytest.mark.parametrize("text", ["", " \n\t", "x" * 200_001])
def test_an_empty_or_endless_message_is_a_sentence_and_leaves_nothing(alice, chat, said, text):
    said(alice.post(f"/conversations/{chat}/messages", {"text": text}), 422)
    assert not Message.objects.exists()
    assert not Turn.objects.exists()


def test_a_command_typed_through_the_api_is_a_command(alice, chat):
    alice.post(f"/conversations/{chat}/messages", {"text": "/help"})
    assert not Turn.objects.exists()
    kinds = [row["kind"] for row in alice.get(f"/conversations/{chat}/messages").json()["items"]]
    assert kinds == ["text", "notice"]


def test_clear_empties_the_log_and_new_opens_another_conversation(alice, chat):
    alice.post(f"/conversations/{chat}/messages", {"text": "/help"})
    alice.post(f"/conversations/{chat}/messages", {"text": "/clear"})
    assert alice.get(f"/conversations/{chat}/messages").json()["items"] == []
    answer = alice.post(f"/conversations/{chat}/messages", {"text": "/new"}).json()
    assert answer["conversation"] != chat
    assert (answer["message"]["text"], answer["turn"]) == ("/new", None)
    assert alice.get(f"/conversations/{answer['conversation']}").status_code == 200
    assert alice.get(f"/conversations/{chat}/messages").json()["items"] == []


@pytest.mark.parametrize(
    ("end", "reason", "goes_on"),
    [
        ("stop", "stopped", "hello"),
        ("plan/cancel", "cancelled", "/plan tidy up"),
        ("messages", "cleared", "hello"),
    ],
)
def test_words_that_a_stop_kept_from_going_out_are_told_and_are_in_the_message_box(
    alice, chat, end, reason, goes_on
):
    talk = f"/conversations/{chat}"
    for text in (goes_on, "be brief", "in French"):
        assert alice.post(f"{talk}/messages", {"text": text}).status_code == 202
        Turn.objects.filter(state="queued", pk=Turn.objects.earliest("pk").pk).update(
            state="running", epoch=1
        )
    alice.post(f"{talk}/{end}", {"text": "/clear"} if end == "messages" else None)
    query = "?cleared=true" if reason == "cleared" else ""
    rows = alice.get(f"{talk}/messages{query}").json()["items"]
    (notice,) = [row for row in rows if row["given_back"]]
    assert notice["given_back"] == {"messages": 2, "reason": reason}
    assert notice["text"] == "2 messages were not sent: they are back in the message box."
    assert alice.get(talk).json()["unsent"] == "be brief\n\nin French"
    events = alice.get(f"{talk}/events").json()["items"]
    dropped = [each["data"] for each in events if each["type"] == "turn.discarded"]
    assert dropped == [{"given_back": reason}] * 2


def test_stop_ends_the_reply_and_is_harmless_when_there_is_none(alice, chat):
    assert alice.post(f"/conversations/{chat}/stop").json() is None
    alice.post(f"/conversations/{chat}/messages", {"text": "Hello"})
    Turn.objects.update(state="running")
    answer = alice.post(f"/conversations/{chat}/stop")
    assert (answer.status_code, answer.json()["lane"]) == (202, "chat")
    assert Turn.objects.get().stop_requested


def test_without_a_plan_the_plan_is_null(alice, chat):
    answer = alice.get(f"/conversations/{chat}/plan")
    assert (answer.status_code, answer.json()) == (200, None)


def test_the_plan_costs_a_304_until_something_happens(alice, chat, django_assert_max_num_queries):
    tag = alice.get(f"/conversations/{chat}/plan").headers["ETag"]
    with django_assert_max_num_queries(4):  # token, person, limit, seq
        same = alice.get(f"/conversations/{chat}/plan", If_None_Match=tag)
    assert (same.status_code, same.content) == (304, b"")
    alice.post(f"/conversations/{chat}/messages", {"text": "Hello"})
    assert alice.get(f"/conversations/{chat}/plan", If_None_Match=tag).status_code == 200


def test_asking_for_a_plan_can_be_taken_back(alice, chat):
    alice.post(f"/conversations/{chat}/messages", {"text": "/plan Tidy up"})
    assert Conversation.objects.get().active_plan.asked_goal == "Tidy up"
    assert alice.post(f"/conversations/{chat}/plan/cancel").status_code == 204
    assert Conversation.objects.get().active_plan.asked_goal == ""
    assert alice.post(f"/conversations/{chat}/plan/cancel").status_code == 204


def test_what_was_cleared_can_be_read_through_the_api(alice, chat):
    for text in ("/help", "/clear", "/help"):
        alice.post(f"/conversations/{chat}/messages", {"text": text})
    path = f"/conversations/{chat}/messages"
    old, new = alice.get(f"{path}?cleared=true").json(), alice.get(path).json()
    assert [row["text"] for row in old["items"]][::2] == ["/help", "/clear"]
    assert old["count"] == 3
    assert {row["id"] for row in old["items"]}.isdisjoint(row["id"] for row in new["items"])
    rest = alice.get(f"{path}?cleared=true&after={old['items'][0]['seq']}").json()
    assert rest["items"] == old["items"][1:]


@pytest.mark.parametrize("text", ["ok", "yep that is fine please", "cancel"])
def test_a_script_is_told_that_a_word_without_plan_and_version_did_nothing(alice, text):
    c = proposed("Read")
    Conversation.objects.filter(pk=c.pk).update(owner=alice.user)
    answer = alice.post(f"/conversations/{c.pk}/messages", {"text": text})
    told = answer.json()
    assert (answer.status_code, told["refused"], told["turn"]) == (202, True, None)
    assert told["notice"] == c.messages.filter(kind="notice").last().text
    assert told["message"]["text"] == text, "it is kept"
    assert Plan.objects.get().approved_version is None and Plan.objects.get().is_open


def test_a_script_is_told_that_a_word_was_taken(alice):
    c = proposed("Read")
    Conversation.objects.filter(pk=c.pk).update(owner=alice.user)
    plan = Plan.objects.get()
    word = {"text": "ok", "plan": plan.pk, "plan_version": plan.version}
    told = alice.post(f"/conversations/{c.pk}/messages", word).json()
    assert (told["refused"], told["notice"]) == (False, None)
    assert Plan.objects.get().approved_version == plan.version
