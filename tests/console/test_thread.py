"""The thread: how much of a conversation stands on one page."""

import re
from itertools import zip_longest

import pytest

from agents.models import Event
from plans import actions
from tests.fake_model import call, say
from tests.inner import actions_add_message as add_message
from tests.inner import console_thread as thread
from tests.inner import conversation_state_read_state as read_state
from tests.inner import fragments, last_groups
from tests.markup import flat
from tests.plans.test_needs import failing
from tests.world import conversation, done, drive, plan_of, proposed, scripted

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


LIST = call("list_files")
NO_FILE, NO_DISK = (call("fail_subtask", error=text) for text in ("No file.", "No disk."))


def tried(*replies):
    """A conversation with a plan whose first subtask was tried with these ends."""
    tries = sum(reply != LIST for reply in replies)
    c = proposed("Read", plan={"enabled": True, "max_attempts": tries})
    scripted(*replies, say("Done."))
    actions.approve_plan(plan_of(c), 1, "alice")
    drive()
    c.refresh_from_db()
    return c


def attempts_shown(c):
    """The rows of attempts: how many each stands for, and its error."""
    return [(group.tries, group.error) for group in last_groups(c)[0] if group.subtask]


def test_attempts_that_failed_alike_are_one_row_that_counts():
    assert attempts_shown(tried(NO_FILE, NO_FILE, NO_FILE)) == [(3, "No file.")]


def test_attempts_with_different_errors_stay_apart():
    assert attempts_shown(tried(NO_FILE, NO_FILE, NO_DISK, NO_FILE)) == [
        (2, "No file."),
        (1, "No disk."),
        (1, "No file."),
    ]


def test_what_stands_between_two_attempts_keeps_them_apart():
    c = tried(NO_FILE, NO_FILE)
    scripted(NO_FILE, NO_FILE)
    actions.retry_subtask(plan_of(c), "s1", "alice")
    drive()
    c.refresh_from_db()
    assert attempts_shown(c) == [(2, "No file."), (2, "No file.")]


def test_a_row_of_attempts_says_the_time_and_calls_of_all_and_has_each_inside():
    c = tried(LIST, NO_FILE, LIST, NO_FILE)
    [row] = [group for group in last_groups(c)[0] if group.subtask]
    [before] = row.before
    assert (row.calls, before.calls) == (2, 1)
    page = flat(fragments.thread(read_state(c.pk)))
    assert "2 attempts, the same error each time · 2 calls" in page
    assert page.index(f'id="{row.id}"') < page.index(f'id="{before.id}"')
    assert f'id="{before.id}" open' not in page, "behind a disclosure"


GROUP = re.compile(r'<details class="turn-group" id="(turn-\d+)"')
PIECE = re.compile(r'<hx-partial hx-target="#([\w-]+)" hx-swap="(\w+)">(.*?)</hx-partial>', re.S)


def rows_then(c, seq):
    """The rows that a page had at this event: the attempt that is shown, and those inside."""
    failures = Event.objects.filter(conversation=c, seq__lte=seq, data__error__isnull=False)
    errors = [event.data["error"] for event in failures.order_by("seq") if event.data["error"]]
    begun = [group for row in last_groups(c)[0] if row.subtask for group in (*row.before, row)]
    rows = []
    for group, error in zip_longest([g for g in begun if g.first_seq <= seq], errors):
        if rows and error and rows[-1][0] == error:
            rows[-1][1].append(group.id)
        else:
            rows.append((error, [group.id]))
    return [ids for _, ids in rows]


def apply(rows, html):
    """What these pieces make of them."""
    rows = [list(ids) for ids in rows]
    for target, swap, content in PIECE.findall(flat(html)):
        if swap == "delete":
            rows = [left for ids in rows if (left := [each for each in ids if each != target])]
        elif target.endswith("-before"):
            row = next(ids for ids in rows if ids[-1] == target.removesuffix("-before"))
            row[:] = [*GROUP.findall(content), row[-1]]
        elif target == "thread" and (ids := GROUP.findall(content)):
            rows.append([*ids[1:], ids[0]])
    return rows


@pytest.mark.parametrize(
    "ends",
    [[NO_FILE] * 3, [NO_FILE, NO_FILE, NO_DISK, NO_DISK], [NO_FILE, NO_FILE, done()]],
)
@pytest.mark.sampled(1)
def test_a_page_that_follows_has_the_rows_of_one_that_is_loaded(ends):
    """Whichever event it has shown last, what comes next makes the same of it."""
    c = tried(*ends)
    loaded = rows_then(c, c.seq)
    assert len(loaded) < len(ends)
    first = last_groups(c)[0][0].first_seq
    for seq in range(first, c.seq):
        assert apply(rows_then(c, seq), fragments.changes(c.pk, seq)[1]) == loaded, seq


def test_the_error_is_spoken_where_it_first_happens_and_not_with_each_attempt():
    c = tried(NO_FILE, NO_FILE)
    page = flat(fragments.thread(read_state(c.pk)))
    assert page.count('<span class="muted truncate" aria-live="off">No file.</span>') == 1
    assert page.count('<span class="muted truncate">No file.</span>') == 1
    assert re.search(
        r'<div class="attempts-before" id="turn-\d+-before" [^>]*aria-live="off">', page
    )
