"""The gate, where what was said is taken back, said anew or walked to."""

import pytest
from django.db import transaction

from agents.errors import Conflict
from plans import actions
from plans.models import ActivePlan
from tests.fake_model import call, fails, say
from tests.inner import agents_actions as talk
from tests.inner import ask_again, retry, send_edited
from tests.inner import handle_message as person_says
from tests.world import (
    calls_of,
    conversation,
    drive,
    files_of,
    plan_of,
    proposal,
    proposed,
    scripted,
    tell,
)

pytestmark = pytest.mark.django_db(transaction=True)

EAGER = call("write_file", path="harm.txt", content="I could not wait")


def nothing_ran(c):
    assert list(files_of(c).iterdir()) == []
    assert all(made.state == "refused" for made in calls_of(c, "write_file"))
    return True


def pointer_of(c):
    return ActivePlan.objects.get(conversation=c)


def asked_back():
    """The agent answered the asking by a question; the plan came in the reply to the answer."""
    c = conversation()
    scripted(say("Which one?"), proposal("Read"), say("Here it is."))
    tell(c, "/plan tidy up")
    tell(c, "the docs")
    return c, plan_of(c)


def test_the_reply_of_a_cancelled_asking_that_is_retried_may_still_only_plan():
    c = conversation()
    person_says(c, "/plan tidy up", "alice")
    actions.cancel_request(c, "alice")
    drive()
    scripted(EAGER, say("I may not."))
    talk.retry_reply(c, "alice")
    drive()
    assert nothing_ran(c)


def test_retry_at_a_cancelled_asking_asks_for_the_plan_again():
    c = conversation()
    scripted(fails(400))
    tell(c, "/plan tidy up")
    actions.cancel_request(c, "alice")
    scripted(proposal("Read"), say("Here it is."))
    retry(c, "alice")
    drive()
    assert plan_of(c).subtasks.get().name == "Read"
    assert nothing_ran(c)


def test_a_failed_reply_to_an_asking_that_was_left_may_still_only_plan():
    c = conversation()
    scripted(fails(400), say("Well."))
    tell(c, "/plan tidy up")
    asked = c.messages.get(text="/plan tidy up")
    send_edited(asked, "just talk", "alice")
    drive()
    actions.show_alternative(c, asked.turn, "alice")
    scripted(EAGER, say("I may not."))
    talk.retry_reply(c, "alice")
    drive()
    assert nothing_ran(c)


def test_a_plan_made_in_a_later_reply_to_its_asking_is_asked_for_again_there():
    c, first = asked_back()
    scripted(EAGER, proposal("Write", title="Another way"), say("Here."))
    ask_again(c.messages.get(text="the docs").turn, "alice")
    drive()
    assert nothing_ran(c)
    second = plan_of(c)
    assert (second.title, second.goal) == ("Another way", "tidy up")
    assert not pointer_of(c).asked
    actions.show_alternative(c, first.card.turn, "alice")
    assert plan_of(c) == first
    assert not pointer_of(c).asked


def test_what_is_edited_behind_an_asking_is_still_about_it():
    c, _ = asked_back()
    scripted(EAGER, proposal("Write"), say("Here."))
    send_edited(c.messages.get(text="the docs"), "the code", "alice")
    drive()
    assert nothing_ran(c)
    assert plan_of(c).goal == "tidy up"


def test_an_asking_that_is_walked_back_to_is_open_again():
    c = conversation()
    scripted(say("Which one?"), say("Well."))
    tell(c, "/plan tidy up")
    asked = c.messages.get(text="/plan tidy up")
    send_edited(asked, "just talk", "alice")
    drive()
    assert not pointer_of(c).asked
    actions.show_alternative(c, asked.turn, "alice")
    assert pointer_of(c).asked_goal == "tidy up"
    scripted(EAGER, proposal("Read"), say("Here."))
    tell(c, "the docs")
    assert nothing_ran(c)
    assert plan_of(c).goal == "tidy up"


def test_an_asking_that_was_cancelled_stays_so_when_it_is_walked_back_to():
    c = conversation()
    scripted(say("Which one?"), say("Well."))
    tell(c, "/plan tidy up")
    actions.cancel_request(c, "alice")
    asked = c.messages.get(text="/plan tidy up")
    send_edited(asked, "just talk", "alice")
    drive()
    actions.show_alternative(c, asked.turn, "alice")
    assert not pointer_of(c).asked


@pytest.mark.parametrize("take_back", ["discard", "stop"])
@pytest.mark.parametrize("text", ["just talk", "/plan bake a cake"])
def test_an_edit_taken_back_before_it_went_out_brings_the_plan_back_with_its_words(text, take_back):
    c = proposed("Read")
    plan = plan_of(c)
    result = send_edited(c.messages.get(text="/plan tidy up"), text, "alice")
    assert pointer_of(c).plan is None
    if take_back == "discard":
        talk.discard_queued(result.message, "alice")
    else:
        with transaction.atomic():
            talk.keep_unsent(c, [result.turn], "stopped")
    assert plan_of(c) == plan
    assert not pointer_of(c).asked
    scripted(EAGER, say("I may not."))
    tell(c, "what comes next")
    assert nothing_ran(c)


def test_a_plan_that_is_out_of_view_is_approved_by_no_word():
    c = proposed("Read")
    plan = plan_of(c)
    scripted(say("Well."))
    send_edited(c.messages.get(text="/plan tidy up"), "just talk", "alice")
    drive()
    with pytest.raises(Conflict, match="walk to it"):
        actions.approve_plan(plan, 1, "alice")


def changed_by_words():
    """v1 came out of the asking, v2 out of the words that followed."""
    c = proposed("Read")
    revision = call("revise_current_plan", subtasks=[{"name": "Write it, too"}])
    scripted(revision, say("It is v2."))
    tell(c, "please change it")
    assert plan_of(c).version == 2
    return c, c.messages.get(text="please change it")


def test_the_words_that_an_approved_version_came_out_of_stay_in_view():
    c, words = changed_by_words()
    actions.approve_plan(plan_of(c), 2, "alice", run="no")
    with pytest.raises(Conflict, match="what led to it stays"):
        send_edited(words, "never mind", "alice")
    words.refresh_from_db()
    assert not words.hidden


def test_a_version_that_was_made_after_the_approved_one_may_be_taken_back():
    c = proposed("Read")
    actions.approve_plan(plan_of(c), 1, "alice", run="no")
    scripted(call("revise_current_plan", subtasks=[{"name": "More"}]), say("v2."), say("So."))
    tell(c, "add more")
    assert (plan_of(c).version, plan_of(c).approved_version) == (2, 1)
    send_edited(c.messages.get(text="add more"), "say something", "alice")
    drive()
    assert c.messages.get(text="add more").hidden


def test_a_version_whose_words_are_out_of_view_is_approved_by_nobody():
    c, words = changed_by_words()
    scripted(say("All right."))
    send_edited(words, "Read them first", "alice")
    drive()
    assert plan_of(c).version == 2, "the text stands, and its words do not"
    with pytest.raises(Conflict, match="walk to it"):
        actions.approve_plan(plan_of(c), 2, "alice")
    actions.show_alternative(c, words.turn, "alice")
    assert actions.approve_plan(plan_of(c), 2, "alice", run="no").approved_version == 2


def test_a_version_that_was_made_since_of_words_in_view_takes_a_yes():
    c, words = changed_by_words()
    scripted(call("revise_current_plan", subtasks=[{"name": "Or this"}]), say("v3."))
    send_edited(words, "change it otherwise", "alice")
    drive()
    assert actions.approve_plan(plan_of(c), 3, "alice", run="no").approved_version == 3
