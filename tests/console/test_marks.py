"""Done by word and done and checked look different, say so, and count apart, in every place."""

import re
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client

from agents.errors import TurnWaits
from agents.models import Preferences, Turn
from plans import actions
from plans.models import State, Subtask
from tests.builders import known_by, proposed_plan
from tests.fake_model import call, say
from tests.inner import (
    MARKS,
    as_markdown,
    claim,
    in_code,
    local_owner,
    notices_of,
    plan_snapshot,
    search,
    statuses_of,
    suspend,
)
from tests.markup import flat
from tests.world import drive, plan_of, scripted

pytestmark = pytest.mark.django_db(transaction=True)

MOVES = 'data-status="in_progress" data-works'
CHECKED, BY_WORD, REGRESSED, LOOKED = "checked", "by_word", "regressed", "looked"


def finished(*verified, left_out=0):
    """A finished plan of subtasks that came to this by their checks."""
    names = [f"Step {i}" for i in range(len(verified) + left_out)]
    plan = plan_of(proposed_plan(*names))
    actions.approve_plan(plan, 1, "alice", run="no")
    rows = list(Subtask.objects.filter(plan=plan).order_by("position"))
    for row, came_to in zip(rows, verified, strict=False):
        known_by(row, came_to)
    for row in rows[len(verified) :]:
        Subtask.objects.filter(pk=row.pk).update(state=State.ABANDONED)
    type(plan).objects.filter(pk=plan.pk).update(state=State.DONE, run="idle")
    plan.refresh_from_db()
    return plan


def page_of(plan, path=None):
    client = Client()
    client.force_login(plan.conversation.owner)
    return flat(client.get(path or f"/c/{plan.conversation_id}/").content.decode())


@pytest.mark.parametrize(
    ("verified", "mark", "said"),
    [
        ((CHECKED, CHECKED), "done", "2 of 2 · 2 checked"),
        ((BY_WORD, BY_WORD), "by_word", "2 of 2 · 2 by word"),
        ((CHECKED, BY_WORD), "by_word", "2 of 2 · 1 checked, 1 by word"),
        ((CHECKED, REGRESSED), "regressed", "2 of 2 · 1 checked, 1 no longer true"),
        ((BY_WORD, REGRESSED), "regressed", "2 of 2 · 1 by word, 1 no longer true"),
        ((CHECKED, LOOKED), "done", "2 of 2 · 1 checked, 1 looked at by you"),
        ((LOOKED, BY_WORD), "by_word", "2 of 2 · 1 looked at by you, 1 by word"),
    ],
)
def test_a_plan_wears_its_weakest_mark_and_counts_apart_in_every_place(verified, mark, said):
    plan = finished(*verified)
    assert statuses_of([plan.pk])[plan.pk].mark == mark
    page = page_of(plan)
    assert f'aria-valuetext="{said}"' in page
    for part in ("plan-head", "drawer-toggle", f'conversation-{plan.conversation_id}"'):
        around = page.split(f'id="{part}', 1)[1]
        assert re.search(r'class="mark small" data-status="(\w+)"', around)[1] == mark, part
    listed = page_of(plan, "/plans/")
    assert f'<svg class="mark small" data-status="{mark}"' in listed
    assert f"{said}." in as_markdown(plan)


def test_each_row_says_in_words_and_by_its_mark_how_it_is_known_to_be_done():
    plan = finished(CHECKED, LOOKED, BY_WORD, REGRESSED)
    page = page_of(plan).split('id="subtasks"', 1)[1]
    for shape in ("done", "looked", "by_word", "regressed"):
        name = str(MARKS[shape])
        assert f'<svg class="mark" data-status="{shape}" role="img" aria-label="{name}">' in page
    bar = page_of(plan).split('class="segments"', 1)[1].split("</div>", 1)[0]
    shapes = re.findall(r'<i data-status="(\w+)"', bar)
    assert shapes == ["done", "looked", "by_word", "regressed"]


def test_what_the_bar_of_a_long_plan_shows_adds_up():
    plan = finished(*[CHECKED] * 20, *[BY_WORD] * 20, REGRESSED, left_out=2)
    counts = plan_snapshot(plan).progress
    bar = page_of(plan).split('class="segments"', 1)[1].split("</svg>", 1)[0]
    runs = re.findall(r'data-status="(\w+)" x="(\d+)" width="(\d+)"', bar)
    assert [run[0] for run in runs] == ["done", "by_word", "regressed", "abandoned"]
    assert [int(run[1]) for run in runs] == [0, 20, 40, 41]
    assert sum(int(run[2]) for run in runs) == counts.total == 43


def test_the_list_of_plans_says_how_many_are_checked_or_abandoned():
    for verified, left_out, said in (
        ((CHECKED, CHECKED, BY_WORD, REGRESSED), 0, "4/4 2 checked, 1 by word, 1 no longer true"),
        ((BY_WORD,), 2, "3/3 1 by word, 2 abandoned"),
    ):
        plan = finished(*verified, left_out=left_out)
        newest = flat(page_of(plan, "/plans/")).split("<tbody>")[1]
        cell = newest.split('<td class="numeric">', 1)[1].split("</td>")[0]
        assert " ".join(re.sub("<[^>]*>", " ", cell).split()) == said


def test_a_check_stands_in_an_export_as_it_is():
    assert in_code("a.md contains [x](y.md)\n*b*") == "`a.md contains [x](y.md) *b*`"
    assert in_code("grep '``' `ls`") == "``` grep '``' `ls` ```"


def test_an_export_says_of_each_subtask_what_it_is_known_by():
    text = as_markdown(finished(CHECKED, BY_WORD, REGRESSED, left_out=1))
    assert "- [x] **Step 0** (checked)" in text
    assert "- [x] **Step 1** (by the agent’s word)" in text
    assert "- [!] **Step 2** (no longer true)" in text
    assert "4 of 4 · 1 checked, 1 by word, 1 no longer true, 1 abandoned." in text


def test_an_export_says_that_a_subtask_failed_and_why():
    c = proposed_plan("Read", plan={"enabled": True, "max_attempts": 1})
    scripted(call("fail_subtask", error="The disk is full."), say("It failed."))
    actions.approve_plan(plan_of(c), 1, "alice", run="all")
    drive()
    text = as_markdown(plan_of(c))
    assert "- [ ] **Read** (failed)" in text and "*Error:* The disk is full." in text


def test_the_command_marks_what_is_no_longer_true_apart():
    plan, out = finished(CHECKED, REGRESSED), StringIO()
    type(plan.conversation).objects.update(owner=local_owner())
    call_command("plan", "show", str(plan.pk), stdout=out)
    assert "[x] s1  Step 0 (checked)" in out.getvalue()
    assert "[!] s2  Step 1 (no longer true)" in out.getvalue()


def test_a_notification_counts_apart_too():
    plan = finished(CHECKED, BY_WORD)
    owner = plan.conversation.owner
    [told] = notices_of(owner, Preferences(user=owner), [f"done-{plan.pk}"])
    assert told.body.startswith("1 checked, 1 by word")


def test_a_mark_moves_only_while_something_works():
    plan = plan_of(proposed_plan("Write"))
    actions.approve_plan(plan, 1, "alice")
    [turn] = claim(1)
    actions.begin_attempt(turn)
    assert page_of(plan).count(MOVES) >= 3, "in the drawer, in its card and beside its work"
    actions.pause_plan(plan_of(plan.conversation), "alice")
    suspend(turn, TurnWaits(Turn.WaitingFor.PAUSE))
    assert MOVES not in page_of(plan)
    assert 'data-status="in_progress"' in page_of(plan)


def test_a_long_result_is_whole_in_the_drawer_and_has_a_button_that_opens_it():
    plan = finished(CHECKED, CHECKED)
    long = "\n".join(f"Line {n} of it." for n in range(14))
    first, second = Subtask.objects.filter(plan=plan).order_by("position")
    Subtask.objects.filter(pk=first.pk).update(outcome=long)
    Subtask.objects.filter(pk=second.pk).update(outcome="Short.")
    page = page_of(plan)
    assert "Line 13 of it." in page
    assert page.count("data-shows-outcome") == 1


def test_what_waits_for_its_yes_moves_no_bar():
    """It is that of the version which has it, until the new one does."""
    plan = plan_of(proposed_plan("One", "Two", "Three"))
    actions.approve_plan(plan, 1, "alice", run="no")
    known_by(Subtask.objects.get(key="s1"), BY_WORD)
    for key in ("s2", "s3"):
        actions.remove_subtask(plan, key, "agent", plan_of(plan.conversation).version)
    plan.refresh_from_db()
    now = plan_snapshot(plan)
    assert (plan.version, len(now.subtasks), now.segments) == (3, 1, ["by_word", "todo", "todo"])
    assert now.progress.words == "1 of 3 · 1 by word" and now.progress.percent == 33
    [row] = search.rows_of([plan.pk])
    assert (row.settled, row.total, row.parts) == (1, 3, "1 by word")
    assert 'aria-valuemax="3"' in page_of(plan)
    actions.approve_plan(plan, 3, "alice", run="no")
    plan.refresh_from_db()
    assert plan_snapshot(plan).progress.words == "1 of 1 · 1 by word"
