"""What the socket, the polls and the forms send: what is new since a number, and no more."""

import re

import pytest

from agents.models import Conversation, Message, Turn
from plans import actions
from plans.schemas import PlanDraft, SubtaskDraft
from tests.builders import approved_plan, asking_plan, proposed_plan
from tests.fake_model import call, say
from tests.inner import (
    LONG_OPEN_BLOCK,
    MESSAGES_PER_PAGE,
    MOST_READ,
    discard_queued,
    drawer,
    earlier,
    fragments,
    persistence,
    streamed,
)
from tests.inner import actions_add_message as add_message
from tests.inner import conversation_state_read_state as read_state
from tests.inner import events_record as record
from tests.inner import fragments_changes as changes
from tests.inner import handle_message as person_says
from tests.markup import flat
from tests.world import conversation, person, plan_of, proposal, scripted, signed_in, tell

pytestmark = pytest.mark.django_db(transaction=True)

TARGET = re.compile(r'<hx-partial hx-target="#([\w-]+)" hx-swap="(\w+)">')


def pieces(html):
    return TARGET.findall(html)


def seq_of(c):
    return Conversation.objects.values_list("seq", flat=True).get(pk=c.pk)


def test_nothing_new_brings_the_state_and_no_message():
    c = proposed_plan("Read")
    seq, html = changes(c.pk, seq_of(c))
    assert seq == seq_of(c)
    targets = [target for target, _ in pieces(html)]
    assert {"plan", "drawer-toggle", "status", "actions", "dock", "cursor"} <= set(targets)
    assert "thread" not in targets
    assert 'data-kind="text"' not in html


def test_every_piece_that_replaces_says_how_new_it_is():
    c = proposed_plan("Read")
    _, html = changes(c.pk, seq_of(c))
    for part in html.split("<hx-partial")[1:]:
        if 'hx-swap="outerMorph"' in part:
            assert re.search(r'data-seq="\d+"', part), part[:200]


def test_a_reader_who_has_seen_nothing_gets_the_whole_thread():
    c = proposed_plan("Read")
    assert ("thread", "outerMorph") in pieces(changes(c.pk, 0)[1])


def test_a_new_exchange_is_appended_once_and_what_was_there_stays():
    c = conversation()
    scripted(say("One."), say("Two."))
    tell(c, "first")
    after = seq_of(c)
    tell(c, "second")
    html = changes(c.pk, after)[1]
    assert ("thread", "beforeend") in pieces(html)
    assert "Two." in html
    assert "One." not in html


def test_what_a_page_opens_at_is_laid_out_at_once_and_what_is_far_above_later(monkeypatch):
    """By a guess of its height first, it would push down what follows it."""
    monkeypatch.setattr(fragments, "NEAR_END", 2)
    c = conversation()
    for n in range(3):
        add_message(c, "notice", f"{n} is said")
    page = fragments.thread(read_state(c.pk))
    sections = [part for part in page.split("<section")[1:] if "is said" in part]
    assert ["data-far" in part.partition(">")[0] for part in sections] == [True, False, False]
    above = earlier(read_state(c.pk), Message.objects.latest("seq").seq)
    assert above.count("data-far") == 2


def test_a_late_message_joins_its_turn():
    c = conversation()
    scripted(say("One."))
    said = tell(c, "first")
    after = seq_of(c)
    persistence.add_message(said.turn, "assistant", "text", "And one more.")
    html = changes(c.pk, after)[1]
    assert (f"turn-{said.turn.pk}-body", "beforeend") in pieces(html)


def test_a_poll_is_answered_with_the_text_that_was_written_since_and_else_with_nothing_new():
    c = conversation()
    turn = Turn.objects.create(conversation=c, state="running", kind="chat")
    message = persistence.start_message(turn)
    persistence.save_text(turn, message.pk, "Half a sentence")
    alice, address = signed_in(person("alice")), f"/c/{c.pk}/changes?after={seq_of(c)}"
    known = {"If-None-Match": alice.get(address).headers["ETag"]}
    assert alice.get(address, headers=known).status_code == 304
    before = seq_of(c)
    persistence.save_text(turn, message.pk, "Half a sentence and its end.")
    assert seq_of(c) == before, "text that grows is no event"
    answer = alice.get(address, headers=known)
    assert answer.status_code == 200
    assert "Half a sentence and its end." in answer.content.decode()


def test_a_changed_message_is_replaced():
    c = conversation()
    scripted(say("One."))
    tell(c, "first")
    after = seq_of(c)
    message = Message.objects.get(role="assistant")
    persistence.touch(message, c.pk)
    assert (f"message-{message.pk}", "outerMorph") in pieces(changes(c.pk, after)[1])


def test_clearing_replaces_everything_by_the_empty_conversation():
    c = proposed_plan("Read")
    after = seq_of(c)
    tell(c, "/clear")
    html = changes(c.pk, after)[1]
    assert ("thread", "outerMorph") in pieces(html)
    assert "What should" in html
    assert "No open plan here." in html
    assert 'data-plan-id=""' in html


def test_after_more_events_than_are_read_at_once_the_whole_thread_is_drawn():
    c = conversation()
    add_message(c, "notice", "Before.")
    after = seq_of(c)
    for _ in range(MOST_READ + 1):
        record(c, "turn.started", "turn:1")
    assert ("thread", "outerMorph") in pieces(changes(c.pk, after)[1])
    assert ("thread", "outerMorph") not in pieces(changes(c.pk, after + 1)[1])


def test_a_message_that_waits_can_be_taken_back_and_is_gone_then():
    c = conversation()
    add_message(c, "notice", "Before.")
    Turn.objects.create(conversation=c, state="running", kind="chat")
    said = person_says(c, "later please", "alice")
    gone = f"turn-{said.message.turn_id}"
    html = changes(c.pk, 0)[1]
    assert "Waiting to send" in html
    assert f"/c/{c.pk}/messages/{said.message.pk}/discard" in html
    after = seq_of(c)
    discard_queued(said.message, "alice")
    assert (gone, "delete") in pieces(changes(c.pk, after)[1])


def test_what_is_done_under_a_subtask_hangs_on_its_leg():
    c = conversation()
    scripted(
        proposal("Read"),
        say("Here it is."),
        call("list_files"),
        call("finish_subtask", outcome="Read it all."),
        call("finish_plan", state="done", outcome="All read."),
    )
    tell(c, "/plan read")
    tell(c, "go")
    html = flat(changes(c.pk, 0)[1])
    assert '<details class="turn-group"' in html
    assert "<b>list_files</b>" in html
    assert "1 call" in html
    assert "Finished" in html


def test_the_card_in_the_conversation_follows_the_plan():
    c = proposed_plan("Read", "Write")
    after = seq_of(c)
    plan = plan_of(c)
    actions.update_subtask(plan, "s1", {"name": "Read it twice"}, "alice", 1)
    html = changes(c.pk, after)[1]
    card = Message.objects.get(kind="plan")
    assert (f"message-{card.pk}", "outerMorph") in pieces(html)
    assert html.count("Read it twice") > 1


def test_the_card_in_the_conversation_says_that_its_run_pauses_and_goes_on():
    c = approved_plan("Read", "Write", run="all")
    for act in (actions.pause_plan, actions.resume_plan):
        after = seq_of(c)
        act(plan_of(c), "alice")
        html = changes(c.pk, after)[1]
        card = Message.objects.get(kind="plan")
        assert (f"message-{card.pk}", "outerMorph") in pieces(html), act


@pytest.mark.parametrize(
    "end",
    [
        lambda plan: actions.answer_question(plan, "A dry one.", "alice"),
        lambda plan: actions.stop_plan(plan, "alice"),
    ],
    ids=["answered", "stopped"],
)
def test_a_question_offers_to_be_answered_only_while_it_is_open(end):
    c = asking_plan("Read")
    question = Message.objects.get(conversation=c, kind="question")
    assert "Send answer" in changes(c.pk, 0)[1]
    after = seq_of(c)
    end(plan_of(c))
    for html in (changes(c.pk, after)[1], changes(c.pk, 0)[1]):
        assert f'id="message-{question.pk}"' in html
        assert "Send answer" not in html


def test_the_card_of_a_text_alone_counts_no_subtasks():
    c = conversation()
    actions.create_plan(c, PlanDraft(title="A report", content="All is well."), "agent")
    card = changes(c.pk, 0)[1].partition("<article")[2]
    assert "All is well." in card
    assert "0 subtasks" not in card
    assert "What the agent is told" not in card


def test_what_a_person_or_model_wrote_cannot_pose_as_a_piece():
    c = conversation()
    attack = '</div></hx-partial><hx-partial hx-target="#plan" hx-swap="delete">'
    scripted(say(attack))
    tell(c, attack)
    html = changes(c.pk, 0)[1]
    assert ("plan", "delete") not in pieces(html)
    assert html.count("<hx-partial") == html.count("</hx-partial>")


def test_a_long_conversation_begins_with_its_newest_part():
    c = conversation()
    for number in range(MESSAGES_PER_PAGE + 20):
        add_message(c, "notice", f"notice {number}.")
    html = changes(c.pk, 0)[1]
    assert html.count('data-kind="notice"') == MESSAGES_PER_PAGE
    assert "Show earlier" in html
    assert "notice 5." not in html
    assert f"notice {MESSAGES_PER_PAGE + 19}." in html


def test_what_came_earlier_is_put_before_it_and_nothing_comes_twice():
    c = conversation()
    scripted(say("One."))
    tell(c, "the very first")
    for number in range(MESSAGES_PER_PAGE + 20):
        add_message(c, "notice", f"notice {number}.")
    before = int(re.search(r"earlier\?before=(\d+)", changes(c.pk, 0)[1])[1])
    html = earlier(read_state(c.pk), before)
    assert pieces(html) == [("earlier", "outerHTML")]
    assert html.count('data-kind="notice"') == 20
    assert html.count("the very first") == 1
    assert "Show earlier" not in html


def test_streamed_blocks_are_named_so_that_the_browser_replaces_them():
    html = streamed(7, [(0, "Done with **this**."), (1, "<b>and")])
    assert pieces(html) == [("message-7-body", "beforeend")] * 2
    assert 'id="message-7-block-0"' in html
    assert "<strong>this</strong>" in html
    assert "&lt;b&gt;and" in html


def test_the_drawers_poll_brings_the_drawer_and_its_button():
    c = proposed_plan("Read")
    assert [target for target, _ in pieces(drawer(c.pk))] == ["plan", "drawer-toggle"]


def card_of(html, plan):
    """The plan's card as the pieces bring it; nothing if they do not."""
    found = re.search(
        rf'<article class="message card" id="message-{plan.card_id}".*?</article>', html, re.S
    )
    return found[0] if found else ""


@pytest.mark.parametrize("then", ["another is made", "it is put back"])
def test_a_card_opens_the_drawer_only_while_its_plan_is_there(then):
    c = proposed_plan("Read", "Write")
    first = plan_of(c)
    actions.add_subtask(first, SubtaskDraft(name="Check"), "alice", 1)
    after = seq_of(c)
    second = actions.use_again(first, "alice")
    gone, there = first, second
    if then == "it is put back":
        after = seq_of(c)
        actions.activate_plan(first, "alice")
        gone, there = second, first
    html = flat(changes(c.pk, after)[1])
    for opener in ("data-open-plan", "data-versions"):
        assert opener not in card_of(html, gone)
    assert f"/plans/{gone.pk}/" in card_of(html, gone)
    assert "data-open-plan" in card_of(html, there)


def test_a_long_block_is_sent_as_typed_until_it_closes():
    text = "**a** " * LONG_OPEN_BLOCK
    assert "<strong>" not in streamed(1, [(0, text)])
    assert "<strong>" in streamed(1, [(0, text[:LONG_OPEN_BLOCK] + "\n\n"), (1, "b")])


def test_the_line_over_the_message_box_names_the_plan_that_waits_to_be_started():
    """Its first subtask is not what waits."""
    c = proposed_plan("Read")
    html = changes(c.pk, seq_of(c))[1]
    dock = html.partition('hx-target="#dock"')[2].partition("</hx-partial>")[0]
    assert "Waiting for you to start it" in dock
    assert plan_of(c).title in dock
    assert "Read" not in flat(dock).replace(plan_of(c).title, "")
