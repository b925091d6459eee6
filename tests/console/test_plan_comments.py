"""Comments on subtasks as pages, API and commands take and show them."""

import re

import pytest

from agents.errors import Conflict
from agents.models import Turn
from plans import actions
from tests.builders import proposed_plan
from tests.fake_model import call, say
from tests.inner import answered_between, ask_again, local_owner, send_edited
from tests.inner import fragments_changes as changes
from tests.markup import html
from tests.world import HTMX, drive, on_page, plan_of, scripted, shown

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def c():
    return proposed_plan("Read", "Write", "Check")


def post(client, c, path, **values):
    return client.post(f"/c/{c.pk}/plan/{path}", {**on_page(c), **values}, headers=HTMX)


def drawer(client, c):
    return html(client.get(f"/c/{c.pk}/drawer", headers=HTMX))


def comments(c):
    return [subtask["comment"] for subtask in shown(c)["subtasks"]]


def test_a_kept_comment_stands_under_its_subtask_on_every_page(alice, c):
    assert post(alice, c, "subtasks/s2/comment", comment="<b>Twice</b>").status_code == 200
    page = drawer(alice, c)
    assert "&lt;b&gt;Twice&lt;/b&gt;</p>" in page and "<b>Twice" not in page
    assert 'aria-label="Edit comment on subtask 2"' in page
    assert "Ask for changes 1, comment" in page and "Start without the 1 comment" in page
    assert "1 comment goes" in page


def test_every_tab_hears_of_it(c):
    before = plan_of(c).conversation.seq
    actions.keep_comment(plan_of(c), "s2", "Twice.", "alice")
    assert "Twice." in changes(c.pk, before)[1]


def test_removing_one_offers_to_put_it_back(alice, c):
    actions.keep_comment(plan_of(c), "s2", "Twice.", "alice")
    answer = post(alice, c, "subtasks/s2/comment/remove").content.decode()
    assert comments(c) == ["", "", ""]
    assert "Removed your comment on subtask 2." in answer and 'value="Twice."' in answer


def test_what_is_being_typed_goes_out_with_the_kept_ones(alice, c):
    actions.keep_comment(plan_of(c), "s1", "Shorter.", "alice")
    post(alice, c, "comments/send", comment_key="s3", comment_text="Twice.")
    message = c.messages.filter(role="user").order_by("seq").last()
    assert "> 1. Read\nShorter.\n\n> 3. Check\nTwice." in message.text
    assert comments(c) == ["", "", ""]


def test_a_start_keeps_what_is_being_typed_and_sends_nothing(alice, c):
    post(alice, c, "approve", comment_key="s3", comment_text="Twice.")
    assert plan_of(c).approved_version == 1
    assert not Turn.objects.filter(kind="plan", state="queued").exists()
    assert plan_of(c).subtasks.get(key="s3").comments.get().text == "Twice."


def test_nobody_starts_without_comments_that_they_have_not_seen(alice, c):
    actions.keep_comment(plan_of(c), "s1", "Shorter.", "alice")
    refused = post(alice, c, "approve")
    assert (
        refused.status_code == 409 and "The agent has not got 1 comment" in refused.content.decode()
    )
    assert plan_of(c).approved_version is None


def answered(c):
    actions.keep_comment(plan_of(c), "s1", "Shorter.", "alice")
    actions.keep_comment(plan_of(c), "s2", "Twice.", "alice")
    actions.send_comments(plan_of(c), "alice")
    answers = [{"key": "s1", "answer": "It is shorter now."}]
    subtasks = [{"key": "s2", "name": "Write twice"}]
    scripted(call("revise_current_plan", subtasks=subtasks, answers=answers), say("Done."))
    drive()


def test_the_next_version_shows_what_came_of_each_whatever_the_planner_says(alice, c):
    answered(c)
    page = html(alice.get(f"/c/{c.pk}/plan/versions?plan={plan_of(c).pk}"))
    first, second = page.split("Edited subtask 2")
    assert "Subtask 1, unchanged" in first and "It is shorter now." in first
    assert "This subtask did not change." in first
    assert "Twice." in second and "did not change" not in second


def test_a_reply_that_is_asked_for_again_answers_the_same_comments():
    c = proposed_plan("Read", "Write")
    answered(c)
    first = c.messages.filter(role="user").order_by("seq").last()
    ask_again(first.turn, "alice")
    scripted(call("revise_current_plan", subtasks=[{"key": "s1", "name": "Skim"}]), say("So."))
    drive()
    plan = plan_of(c)
    assert plan.version == 3
    assert list(answered_between(plan, 1, 2)) == ["s1", "s2"] == list(answered_between(plan, 2, 3))


def test_comments_that_were_sent_are_asked_for_again_and_not_edited(alice):
    c = proposed_plan("Read", "Write", owner="alice")
    answered(c)
    message = c.messages.filter(role="user").order_by("seq").last()
    page = html(alice.get(f"/c/{c.pk}/"))
    assert "2 comments on the plan" in page
    assert (
        f"/messages/{message.pk}/edit" not in page and f'id="message-{message.pk}-edit"' not in page
    )
    assert 'id="message-' in page and "-edit" in page, "what was typed is"
    with pytest.raises(Conflict, match="are not edited"):
        send_edited(message, "Something else", "alice")


@pytest.fixture
def command(cli):
    """What a command prints that has to work."""

    def printed(*words):
        code, out, err = cli("plan", *words)
        assert (code, err) == (0, "")
        return out

    return printed


def test_commands_keep_show_and_remove_them(command):
    c = proposed_plan("Read", "Write", owner=local_owner().username)
    command("comment", "s2", "Twice.")
    assert "Your comment: Twice." in command("show")
    command("comment", "s2", "")
    assert comments(c) == ["", ""]


def test_revise_sends_them_and_waits_for_the_new_version(command):
    c = proposed_plan("Read", "Write", owner=local_owner().username)
    command("comment", "s2", "Twice.")
    subtasks = [{"key": "s2", "name": "Write twice"}]
    scripted(call("revise_current_plan", subtasks=subtasks), say("Done."))
    assert "Write twice" in command("revise", "--text", "In general: yes.")
    message = c.messages.filter(role="user").order_by("seq").last()
    assert message.text.startswith("In general: yes.\n\n1 comment on the plan:")
    assert plan_of(c).approved_version is None


def digests(client, c):
    return re.findall(r'data-digest="(\w+)"', drawer(client, c))


def test_a_start_names_the_comments_that_its_page_shows(alice, c):
    actions.keep_comment(plan_of(c), "s1", "Shorter.", "alice")
    [seen] = digests(alice, c)
    actions.keep_comment(plan_of(c), "s1", "Not at all!", "alice")  # in another tab
    assert post(alice, c, "approve", comments=seen).status_code == 409, "as many, and another"
    assert plan_of(c).approved_version is None
    assert post(alice, c, "approve", comments=digests(alice, c)).status_code == 200
    assert plan_of(c).approved_version == 1


def test_one_beside_those_that_were_seen_is_in_the_way(alice, c):
    actions.keep_comment(plan_of(c), "s1", "Shorter.", "alice")
    seen = digests(alice, c)
    actions.keep_comment(plan_of(c), "s2", "Twice.", "alice")
    refused = post(alice, c, "approve", comments=seen)
    assert "The agent has not got 2 comments" in refused.content.decode()


def test_the_api_starts_without_comments_only_where_it_is_told_to(alice, c):
    actions.keep_comment(plan_of(c), "s1", "Shorter.", "alice")
    address, kind = f"/api/plans/{plan_of(c).pk}/approve", "application/json"
    refused = alice.post(address, {"version": 1}, kind)
    assert refused.status_code == 409
    assert refused.json()["detail"].startswith("The agent has not got 1 comment on this plan.")
    assert plan_of(c).approved_version is None
    assert alice.post(address, {"version": 1, "without_comments": True}, kind).status_code == 200


def test_so_does_the_command(cli, command):
    c = proposed_plan("Read", "Write", owner=local_owner().username)
    command("comment", "s2", "Twice.")
    code, _, err = cli("plan", "approve", "--version", "1", plan_of(c).pk)
    assert code == 1 and "has not got 1 comment" in err
    assert plan_of(c).approved_version is None
    command("approve", "--version", "1", "--without-comments", plan_of(c).pk)
    assert plan_of(c).approved_version == 1
