"""/api/search, and what is found at all: by words, in any script, of one's own, and at once."""

import pytest

from agents.models import Message, SearchEntry
from plans import actions
from plans.schemas import PlanDraft, PlanEdit
from tests.fake_model import say
from tests.inner import agents_actions as talk
from tests.world import conversation, done, person, plan_of, proposed, scripted, tell

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def find(client):
    """Asks as alice."""
    client.force_login(person("alice"))

    def ask(q, **wanted):
        response = client.get("/api/search", {"q": q, **wanted})
        assert response.status_code == 200, response.content
        return response.json()

    return ask


def texts(found):
    return ["".join(piece["text"] for piece in item["snippet"]) for item in found["items"]]


def heard(text, owner="alice", reply="I see."):
    c = conversation(owner)
    scripted(say(reply))
    tell(c, text, owner)
    return c


@pytest.mark.parametrize(
    "said, wanted",
    [
        ("The webhook retry fix", "webhook"),
        ("The webhook retry fix", "RETRY web"),
        ("Das Café an der Straße", "cafe strasse"),
        ("Письмо ЁЖИКУ", "ежику"),
        ("我们的数据库很大", "数据库"),
        ("我们的数据库很大", "库"),
        ("データベースの設計", "ベース"),
        ("한국어 검색을", "검색"),
        ("see docs/api.md now", "docs/api.md"),
        ("pay\u200bload", "payload"),
    ],
)
def test_a_message_is_found_by_its_words_in_any_script(find, said, wanted):
    c = heard(said)
    [item] = find(wanted)["messages"]["items"]
    assert item["conversation"] == c.pk
    assert any(piece["found"] for piece in item["snippet"])


@pytest.mark.parametrize(
    "hostile", ['"', "webhook OR", 'a" OR "b', "NEAR(", "* ^ -", "' & !", "_m1", "x:*", "\\"]
)
def test_signs_of_a_query_language_mean_nothing(find, hostile):
    heard("The fix")
    assert find(hostile)["messages"]["items"] == []


def test_words_may_be_typed_halfway_but_not_from_the_middle(find):
    heard("webhook")
    assert find("webh")["messages"]["count"] == 1
    assert find("hook")["messages"]["count"] == 0


def test_replies_are_found_once_they_are_whole_and_drafts_of_them_never(find):
    c = heard("Hello", reply="Eleven sections are written.")
    assert texts(find("eleven sections")["messages"]) == ["Eleven sections are written."]
    turn = c.turns.get()
    Message.objects.create(
        conversation=c, turn=turn, seq=900, changed_seq=900, role="assistant", streaming=True
    )
    assert SearchEntry.objects.filter(message__streaming=True).count() == 0


def test_titles_follow_their_renaming(find):
    c = heard("Cut the release")
    assert [item["id"] for item in find("release")["conversations"]["items"]] == [c.pk]
    talk.rename_conversation(c, "Canary", "alice")
    assert find("release")["conversations"]["count"] == 0
    assert [item["title"] for item in find("canary")["conversations"]["items"]] == ["Canary"]


def test_what_was_cleared_or_left_for_an_alternative_is_found_and_says_so(find):
    c = heard("The first question")
    scripted(say("Cleared."))
    tell(c, "/clear")
    [item] = find("first question")["messages"]["items"]
    assert item["shown"] is False


def test_a_plan_is_found_by_its_text_its_subtasks_and_what_came_of_them(find):
    c = proposed("Write the webhook sections", "Check")
    [item] = find("webhook")["plans"]["items"]
    assert (item["id"], texts(find("webhook")["plans"])) == (
        plan_of(c).pk,
        ["Write the webhook sections"],
    )
    scripted(done("Found 14 endpoints."), done(), say("All finished."))
    tell(c, "go")
    assert find("endpoints")["plans"]["count"] == 1
    fresh = actions.create_plan(conversation(), PlanDraft(title="Old", subtasks=["One"]), "alice")
    actions.edit_plan(fresh, PlanEdit(title="Newer"), "alice", 1)
    assert find("old")["plans"]["count"] == 0
    assert find("newer")["plans"]["count"] == 1
    actions.delete_plan(fresh, "alice")
    assert find("newer")["plans"]["count"] == 0


def test_others_things_and_what_called_agents_say_are_not_found(find):
    heard("The secret word", owner="bob")
    assert all(not group["items"] for group in find("secret").values())


def test_a_discarded_message_is_not_found(find):
    c = conversation()
    first, _ = talk.start_turn(c, "one thing", "alice")
    second, _ = talk.start_turn(c, "another thing", "alice")
    talk.discard_queued(second, "alice")
    assert [item["id"] for item in find("thing")["messages"]["items"]] == [first.pk]


def test_the_newest_come_first_page_by_page(find):
    c = conversation()
    for number in range(7):
        talk.add_message(c, "text", f"Note {number}", role="user")
    found = find("note", kind="messages", limit=3)["messages"]
    assert (found["count"], texts(found)) == (7, ["Note 6", "Note 5", "Note 4"])
    assert texts(find("note", kind="messages", limit=3, page=3)["messages"]) == ["Note 0"]
    assert find("note", kind="plans")["messages"] == {"items": [], "count": 0, "more": False}


def test_a_question_is_bounded(find, client):
    assert client.get("/api/search", {"q": "x" * 501}).status_code == 422
    assert client.get("/api/search").json()["messages"]["count"] == 0
