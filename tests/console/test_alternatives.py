"""Asking again and editing: what was there stays as an alternative, and one of them is shown."""

import threading

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agents.db import in_db
from agents.errors import Conflict, Invalid, Refused
from agents.models import Conversation, Message, Turn
from plans import actions
from plans.models import ActivePlan, Plan
from tests.builders import approved_plan, proposed_plan
from tests.fake_model import call, fails, say, silent
from tests.inner import Expected, ask_again, delete_conversation, send_edited
from tests.inner import agents_actions as talk
from tests.inner import conversations_erase as erase
from tests.inner import engine_alternatives as alternatives
from tests.inner import handle_message as person_says
from tests.world import (
    conversation,
    done,
    drive,
    eventually,
    happening,
    news,
    plan_of,
    proposal,
    proposed,
    scripted,
    signed_in,
    tell,
    texts,
)

pytestmark = pytest.mark.django_db(transaction=True)


def shown(c):
    """What is in view, as a person reads it."""
    rows = c.messages.filter(hidden=False, kind="text").order_by("seq")
    return [text for text in rows.values_list("text", flat=True) if text]


def turn_of(c, text, **filters):
    """The chat turn in which this was said; the newest."""
    return c.turns.filter(messages__text=text, **filters).order_by("pk").last()


def again(c, text, *replies, **options):
    """Ask once more for the shown reply to this message."""
    scripted(*replies)
    result = ask_again(turn_of(c, text, hidden=False), "alice", **options)
    drive()
    return result


def edit(c, text, new, *replies):
    scripted(*replies)
    message = c.messages.filter(text=text, hidden=False, role="user").last()
    result = send_edited(message, new, "alice")
    drive()
    return result


def walk(c, text):
    """Walk to the alternative in which this was said."""
    actions.show_alternative(c, turn_of(c, text), "alice")


def place(c, text):
    c.refresh_from_db()
    found = alternatives.alternatives_of(c, [turn_of(c, text).pk])
    return next(((each.number, each.count) for each in found.values()), None)


def talked(**values):
    """A conversation of two exchanges."""
    c = conversation(**values)
    scripted(say("One."), say("Two."))
    tell(c, "first")
    tell(c, "second")
    return c


def heard(model):
    """What the last request to the model said, without its system messages."""
    return [m["content"] for m in model.requests[-1]["messages"] if m["role"] != "system"]


# Asking again


def test_a_reply_asked_for_again_stands_in_place_of_the_old_one_which_stays():
    c = talked()
    again(c, "second", say("Two, better."))
    assert shown(c) == ["first", "One.", "second", "Two, better."]
    assert place(c, "Two.") == (1, 2)
    assert place(c, "Two, better.") == (2, 2)
    assert place(c, "One.") is None


def test_what_was_said_keeps_its_time_when_only_the_reply_is_asked_for_again():
    c = conversation(plan={"enabled": False})
    scripted(say("one"))
    said = tell(c, "hello").message
    again(c, "hello", say("two"))
    assert c.messages.get(role="user", hidden=False).created_at == said.created_at
    edit(c, "hello", "hello there", say("three"))
    assert c.messages.get(role="user", hidden=False).created_at > said.created_at


def test_an_earlier_reply_takes_what_followed_it_along_and_back():
    c = talked()
    again(c, "first", say("Uno."))
    assert shown(c) == ["first", "Uno."]
    walk(c, "One.")
    assert shown(c) == ["first", "One.", "second", "Two."]
    walk(c, "Uno.")
    assert shown(c) == ["first", "Uno."]


def test_each_alternative_remembers_which_of_those_behind_it_was_shown_last():
    c = talked()
    again(c, "second", say("Two, better."))
    walk(c, "Two.")
    again(c, "first", say("Uno."))
    walk(c, "One.")
    assert shown(c) == ["first", "One.", "second", "Two."]
    walk(c, "Two, better.")
    walk(c, "Uno.")
    walk(c, "One.")
    assert shown(c)[-1] == "Two, better."


def test_the_model_reads_the_shown_path_and_nothing_else():
    c = talked()
    edit(c, "first", "premier", say("Un."))
    model = scripted(say("Trois."))
    tell(c, "third")
    assert heard(model) == ["premier", "Un.", "third"]
    walk(c, "One.")
    model = scripted(say("Three."))
    tell(c, "third, too")
    assert heard(model) == ["first", "One.", "second", "Two.", "third, too"]


def test_asking_again_asks_what_was_asked_and_not_with_the_old_reply():
    c = talked()
    scripted()
    model = scripted(say("Two, better."))
    ask_again(turn_of(c, "second"), "alice")
    drive()
    assert heard(model) == ["first", "One.", "second"]


def test_a_failed_and_a_stopped_reply_can_be_asked_for_again():
    c = conversation()
    scripted(fails(400))
    tell(c, "hello")
    again(c, "hello", say("Hi."))
    assert shown(c) == ["hello", "Hi."]
    assert c.messages.get(kind="error").hidden


def test_only_the_shown_failed_reply_is_retried():
    c = conversation()
    scripted(fails(400))
    tell(c, "hello")
    failed = turn_of(c, "hello")
    again(c, "hello", say("Hi."))
    with pytest.raises(Conflict, match="no failed reply"):
        talk.retry_reply(c, "alice")
    with pytest.raises(Refused):
        talk.retry_reply(c, "alice", failed.pk)


def test_another_model_answers_this_one_time():
    c = conversation()
    scripted(say("One."))
    tell(c, "first")
    model = scripted(say("Uno."), say("Two."))
    ask_again(turn_of(c, "first"), "alice", "openai/another")
    drive()
    tell(c, "second")
    assert [each["model"] for each in model.requests] == ["another", "scripted"]
    wrote = c.messages.get(text="Uno.")
    assert wrote.meta["model"] == "openai/another"


def test_a_model_that_cannot_be_is_refused_and_nothing_is_hidden():
    c = talked()
    for name in ("nobody/x", "openai", "openai/", "/x", "openai/a\nb", "openai/\u202egpt"):
        with pytest.raises(Refused):
            ask_again(turn_of(c, "second"), "alice", name)
    assert shown(c)[-1] == "Two."


def test_a_yes_that_was_refused_goes_with_the_alternative_in_which_it_was_said():
    c = proposed("Read")
    actions.keep_comment(plan_of(c), "s1", "Shorter.", "alice")
    plan = plan_of(c)
    said = person_says(c, "ok", "alice", Expected(plan.pk, plan.version))
    assert "went to nobody" in said.notice and not plan_of(c).is_confirmed
    first = c.turns.order_by("pk").first()
    with_it = c.messages.filter(seq__gte=said.message.seq, hidden=False)
    assert with_it.count() == 2, "the word and why nothing came of it"
    scripted(say("Another."))
    ask_again(first, "alice")
    drive()
    assert not with_it.filter(seq__lte=said.message.seq + 1).exists()
    assert "ok" not in shown(c)


def test_a_yes_that_counted_is_in_view_whatever_is_shown():
    c = proposed_plan("Read")
    plan = plan_of(c)
    said = person_says(c, "ok", "alice", Expected(plan.pk, plan.version))
    assert plan_of(c).is_confirmed
    assert Message.objects.get(pk=said.message.pk).after_id is None


# Editing


def test_an_edited_message_and_its_reply_stand_in_place_of_both():
    c = talked()
    edit(c, "second", "other", say("Three."))
    assert shown(c) == ["first", "One.", "other", "Three."]
    assert place(c, "Three.") == (2, 2)
    walk(c, "second")
    assert shown(c) == ["first", "One.", "second", "Two."]


def test_only_a_persons_own_message_is_edited_and_not_into_nothing():
    c = talked()
    with pytest.raises(Conflict, match="of your own"):
        send_edited(c.messages.get(text="One."), "mine now", "alice")
    with pytest.raises(Invalid):
        send_edited(c.messages.get(text="second"), "  ", "alice")
    assert shown(c)[-1] == "Two."


def test_a_command_that_nobody_answered_stays():
    c = talked()
    tell(c, "/help")
    with pytest.raises(Conflict, match="No reply answers"):
        send_edited(c.messages.get(text="/help"), "help me", "alice")


@pytest.mark.parametrize("text", ["/clear", "/new", "/help", "/nonsense"])
def test_a_message_does_not_become_a_command(text):
    c = talked()
    with pytest.raises(Conflict, match="type it in the message box"):
        send_edited(c.messages.get(text="second"), text, "alice")
    assert shown(c)[-1] == "Two."


def test_what_came_without_a_reply_goes_with_the_alternative_it_came_in():
    c = talked()
    tell(c, "/help")
    edit(c, "second", "other", say("Three."))
    assert "/help" not in shown(c)
    walk(c, "second")
    assert shown(c)[-1] == "/help"
    assert c.messages.filter(kind="notice", hidden=False).exists()


def test_the_title_stays_what_it_was():
    c = talked()
    edit(c, "first", "premier", say("Un."))
    c.refresh_from_db()
    assert c.title == "first"


# While something is under way


def test_nothing_is_changed_while_a_reply_is_written():
    c = talked()
    scripted(silent("thinking"))

    async def story(worker):
        await in_db(person_says, c, "third", "alice")
        await eventually(lambda: Message.objects.filter(streaming=True).exists())
        turn = await in_db(turn_of, c, "second")
        for verb in (ask_again, lambda t, by: send_edited(t.messages.first(), "x", by)):
            with pytest.raises(Conflict, match="Stop the reply first"):
                await in_db(verb, turn, "alice")
        await in_db(talk.stop_reply, c, "alice")
        await eventually(lambda: not c.turns.filter(state="running").exists())

    happening(story)
    assert shown(c)[:4] == ["first", "One.", "second", "Two."]


def test_pressing_twice_asks_once():
    c = talked()
    turn = turn_of(c, "second")
    ask_again(turn, "alice")
    with pytest.raises(Conflict, match="Stop the reply first"):
        ask_again(turn, "alice")
    scripted(say("Two, better."))
    drive()
    with pytest.raises(Conflict, match="Another alternative is shown"):
        ask_again(turn, "alice")
    assert place(c, "Two, better.") == (2, 2)


def test_of_two_tabs_that_ask_at_once_one_is_answered():
    c = talked()
    turn, both = turn_of(c, "second"), threading.Barrier(2)
    outcomes = []

    def press():
        both.wait()
        try:
            ask_again(turn, "alice")
            outcomes.append("asked")
        except Conflict as refusal:
            outcomes.append(str(refusal))
        finally:
            connection.close()

    tabs = [threading.Thread(target=press) for _ in range(2)]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()
    assert sorted(outcomes) == [alternatives.BUSY, "asked"]
    assert c.turns.filter(parent=turn.parent_id).count() == 2
    assert c.turns.filter(parent=turn.parent_id, hidden=False).count() == 1


def test_what_is_taken_back_before_it_went_out_leaves_what_was_there():
    c = talked()
    result = ask_again(turn_of(c, "second"), "alice")
    talk.discard_queued(result.message, "alice")
    assert shown(c) == ["first", "One.", "second", "Two."]
    assert place(c, "Two.") is None


def test_a_message_queued_behind_another_one_that_is_taken_back_keeps_its_place():
    c = talked()
    first = person_says(c, "third", "alice")
    person_says(c, "fourth", "alice")
    talk.discard_queued(first.message, "alice")
    model = scripted(say("Four."))
    drive()
    assert heard(model) == ["first", "One.", "second", "Two.", "fourth"]
    again(c, "second", say("Two, better."))
    assert shown(c) == ["first", "One.", "second", "Two, better."]


def test_several_taken_back_at_once_leave_the_next_one_in_its_place():
    c = talked()
    queued = [person_says(c, text, "alice").turn for text in ("a", "b", "d")]
    person_says(c, "/help", "alice")
    talk.keep_unsent(c, queued[:2], "stopped")
    queued[2].refresh_from_db()
    assert queued[2].parent == turn_of(c, "second")
    assert c.messages.get(text="/help").after == queued[2]


def hidden_ways(c, length):
    """The last turn of as many in a row that are hidden."""
    turn = None
    for _ in range(length):
        turn = Turn.objects.create(conversation=c, state="done", parent=turn, hidden=True)
    return turn


def test_walking_far_asks_the_database_no_more_than_walking_near():
    c = talked()
    near, far = hidden_ways(c, 2), hidden_ways(c, 40)
    asked = []
    for turn in (near, far):
        with CaptureQueriesContext(connection) as queries:
            actions.show_alternative(c, turn, "alice")
        turn.refresh_from_db()
        assert not turn.hidden
        asked.append(len(queries))
    assert asked[1] <= asked[0]


def test_what_was_cleared_stays_as_it_is():
    c = talked()
    old = turn_of(c, "second")
    tell(c, "/clear")
    with pytest.raises(Conflict, match="cleared"):
        ask_again(old, "alice")


# Plans


def test_a_proposal_asked_for_again_leaves_the_drawer_to_the_new_one_and_comes_back():
    c = proposed("Read")
    first = plan_of(c)
    again(c, "/plan tidy up", proposal("Write", title="Another way"), say("Here."))
    second = plan_of(c)
    assert (second.title, second.goal) == ("Another way", "tidy up")
    first.refresh_from_db()
    assert first.is_open
    actions.show_alternative(c, first.card.turn, "alice")
    assert plan_of(c) == first
    actions.show_alternative(c, second.card.turn, "alice")
    assert plan_of(c) == second


def test_a_plan_of_an_alternative_that_is_not_shown_gets_no_yes():
    c = proposed("Read")
    plan = plan_of(c)
    edit(c, "/plan tidy up", "just talk", say("Well."))
    assert ActivePlan.objects.get(conversation=c).plan is None
    for act in (
        lambda: actions.approve_plan(plan, 1, "alice"),
        lambda: actions.approve_plan(plan, 1, "alice", run="no"),
        lambda: actions.activate_plan(plan, "alice"),
    ):
        with pytest.raises(Conflict, match="not shown"):
            act()
    plan.refresh_from_db()
    assert plan.approved_version is None


def test_what_led_to_an_approved_plan_stays():
    c = talked()
    scripted(proposal("Read"), say("Here."))
    tell(c, "/plan tidy up")
    again(c, "second", say("No plan here."))
    actions.show_alternative(c, turn_of(c, "Two."), "alice")
    actions.approve_plan(plan_of(c), 1, "alice", run="no")
    for text in ("first", "second", "/plan tidy up"):
        with pytest.raises(Conflict, match="came out of this and was approved"):
            ask_again(turn_of(c, text, hidden=False), "alice")
    with pytest.raises(Conflict, match="came out of this and was approved"):
        walk(c, "No plan here.")
    assert plan_of(c).is_confirmed


def test_words_beside_an_approved_plan_can_be_edited_and_its_run_stays_in_view():
    c = approved_plan("Read")
    scripted(say("Yes?"))
    tell(c, "by the way")
    scripted(done("read it all"), call("finish_plan", outcome="All read."))
    actions.run_plan(plan_of(c), "alice")
    drive()
    in_view = set(c.messages.filter(hidden=False).values_list("pk", flat=True))
    edit(c, "by the way", "one more thing", say("Which?"))
    hidden = c.messages.filter(hidden=True)
    assert set(hidden.values_list("text", flat=True)) == {"by the way", "Yes?"}
    assert in_view - set(hidden.values_list("pk", flat=True)) <= set(
        c.messages.filter(hidden=False).values_list("pk", flat=True)
    )


def test_the_yes_to_a_plan_stays_in_view_whatever_is_edited_before_it():
    c = proposed_plan("Read")
    scripted(say("Yes?"))
    tell(c, "by the way")
    scripted(done("read it all"), call("finish_plan", outcome="All read."))
    tell(c, "go ahead")
    edit(c, "by the way", "one more thing", say("Which?"))
    assert shown(c)[-3:] == ["go ahead", "one more thing", "Which?"]
    assert plan_of(c).approved_version == 1


def test_an_edited_plan_command_asks_for_another_plan():
    c = proposed("Read")
    edit(c, "/plan tidy up", "/plan bake a cake", proposal("Mix", title="Cake"), say("Here."))
    assert (plan_of(c).title, plan_of(c).goal) == ("Cake", "bake a cake")
    assert texts(c, "notice", "system") == []


def test_a_plan_that_never_came_is_asked_for_again_without_a_notice():
    c = conversation()
    scripted(fails(400))
    tell(c, "/plan tidy up")
    again(c, "/plan tidy up", proposal("Read"), say("Here."))
    assert plan_of(c).goal == "tidy up"
    assert texts(c, "notice", "system") == []
    assert not ActivePlan.objects.get(conversation=c).asked


def test_an_asking_ends_when_another_alternative_is_shown():
    c = conversation()
    scripted(fails(400))
    tell(c, "/plan tidy up")
    edit(c, "/plan tidy up", "just talk", say("Well."))
    assert not ActivePlan.objects.get(conversation=c).asked
    assert shown(c) == ["just talk", "Well."]


def test_a_yes_is_no_edit_while_a_plan_waits_for_one():
    c = talked()
    scripted(proposal("Read"), say("Here."), say("Which?"))
    tell(c, "/plan tidy up")
    tell(c, "change something")
    with pytest.raises(Conflict, match="yes or no"):
        send_edited(c.messages.get(text="change something"), "go ahead", "alice")
    assert not plan_of(c).is_confirmed
    assert shown(c)[-1] == "Which?"


def test_a_message_edited_while_a_plan_waits_is_about_that_plan():
    c = proposed_plan("Read")
    scripted(say("Which?"))
    tell(c, "change something")
    revised = call("revise_current_plan", title="Changed", explanation="as asked")
    edit(c, "change something", "call it Changed", revised, say("It is."))
    assert plan_of(c).title == "Changed"


def test_plan_mode_that_is_off_makes_no_alternative():
    c = talked(plan={"enabled": False})
    with pytest.raises(Conflict, match="/plan is off"):
        send_edited(c.messages.get(text="second"), "/plan tidy up", "alice")
    assert shown(c)[-1] == "Two."


# Who may, and what pages are told


def test_the_agent_that_another_one_called_takes_no_edits():
    c = conversation()
    scripted(say("One."))
    tell(c, "first")
    caller = conversation()
    message = Message.objects.create(conversation=caller, seq=1, changed_seq=1, role="assistant")
    turn = Turn.objects.create(conversation=caller, state="done")
    parent = message.tool_calls.create(turn=turn, call_id="1", tool="run_agent")
    Conversation.objects.filter(pk=c.pk).update(parent_call=parent)
    with pytest.raises(Conflict, match="works for a call"):
        ask_again(turn_of(c, "first"), "alice")


def test_a_page_that_saw_the_old_reply_draws_the_thread_anew():
    c = talked()
    c.refresh_from_db()
    seen = c.seq
    again(c, "first", say("Uno."))
    client = signed_in(c.owner)
    html = news(client, c, seen)
    assert 'hx-target="#thread"' in html
    assert "Uno." in html
    assert "Two." not in html
    c.refresh_from_db()
    assert 'hx-target="#thread"' not in news(client, c, c.seq)


def test_what_is_hidden_comes_with_no_earlier_part(monkeypatch):
    monkeypatch.setattr("console.thread.MESSAGES_PER_PAGE", 2)
    c = talked()
    again(c, "second", say("Two, better."))
    html = signed_in(c.owner).get(f"/c/{c.pk}/").content.decode()
    assert "Two, better." in html
    assert "Two.<" not in html
    before = c.messages.get(text="Two, better.").turn.messages.earliest("seq").seq
    rest = signed_in(c.owner).get(f"/c/{c.pk}/earlier?before={before}").content.decode()
    assert "One." in rest
    assert "Two." not in rest


def test_a_conversation_with_alternatives_can_be_deleted():
    c = talked()
    again(c, "first", say("Uno."))
    delete_conversation(c, "alice")
    erase(c)
    assert not Turn.objects.exists()
    assert not Plan.objects.exists()
