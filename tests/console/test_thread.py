"""The thread: how much of a conversation stands on one page."""

import pytest

from agents.actions import add_message
from console import fragments, thread
from console.conversation_state import read_state
from console.thread import last_groups
from plans import actions
from tests.plans.test_needs import failing
from tests.world import conversation, plan_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_page_holds_a_bounded_amount_of_text(monkeypatch):
    monkeypatch.setattr(thread, "MOST_TEXT", 1_000)
    c = conversation()
    for n in range(10):
        add_message(c, "notice", f"{n} " + "a" * 300)
    c.refresh_from_db()
    seen, before = [], None
    while before != 0:
        groups, before = last_groups(c, before)
        texts = [m.text for group in groups for m in group.messages]
        assert 1 <= len(texts) <= 3
        seen = texts + seen
    assert [text[0] for text in seen] == [str(n) for n in range(10)]


def test_a_message_longer_than_a_page_is_still_shown(monkeypatch):
    monkeypatch.setattr(thread, "MOST_TEXT", 100)
    c = conversation()
    add_message(c, "notice", "a" * 300)
    c.refresh_from_db()
    [group], before = last_groups(c)
    assert (len(group.messages), before) == (1, 0)


def test_what_a_person_said_is_drawn_to_the_letter():
    """Copied, and edited, it is taken from the page."""
    c = conversation()
    add_message(c, "text", "  two\n\nlines ", "user")
    page = fragments.thread(read_state(c.pk))
    assert ">  two\n\nlines </div>" in page


def test_a_skipped_subtask_leaves_no_failure_in_the_thread_and_says_why_it_was_tried_in_vain():
    c = failing()
    actions.skip_subtask(plan_of(c), "s1", "alice", "Later")
    c.refresh_from_db()
    tried = [group for group in last_groups(c)[0] if group.subtask and group.subtask.key == "s1"]
    assert [group.shape for group in tried] == ["abandoned"]
    assert tried[0].note == "No figures. · Skipped by you: Later"
