"""When a plan ends, the conversation says so once, with what came of it."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils.dateparse import parse_datetime

from agents.models import Conversation, Message, Recording, ToolCall, Turn, Undo
from plans import actions
from plans.models import CheckResult
from plans.schemas import SubtaskDraft
from tests.builders import approved_plan, proposed_plan
from tests.checked import begun
from tests.fake_model import call, fails, say
from tests.inner import Scope, Wanted, create_plan, retention, timestamp
from tests.inner import conversation_state_read_state as read_state
from tests.markup import flat
from tests.world import (
    ALL_FILE_TOOLS,
    conversation,
    drive,
    files_of,
    plan_of,
    scripted,
    subtask_names,
)

pytestmark = pytest.mark.django_db(transaction=True)

OUTCOME = "All **done**:\n\n- the docs\n- the links"


def page(c):
    client = Client()
    client.force_login(c.owner)
    return flat(client.get(f"/c/{c.pk}/").content.decode())


def closing(html):
    """The card as it stands in the page; there is one."""
    assert html.count('data-kind="closing"') == 1
    return html.split('data-kind="closing"', 1)[1].split("</article>", 1)[0]


def test_the_outcome_a_tool_gave_stands_in_the_chat_with_its_lines_and_the_facts():
    c = proposed_plan("Read", "Write")
    actions.approve_plan(plan_of(c), 1, "alice", run="no")
    actions.skip_subtask(plan_of(c), "s2", "alice", "not needed")
    scripted(call("finish_subtask", outcome="read"), call("finish_plan", outcome=OUTCOME))
    actions.run_plan(plan_of(c), "alice")
    drive()
    card = closing(page(c))
    assert "<strong>done</strong>" in card
    assert "the links</li>" in card
    assert "2 of 2 · 1 by word, 1 abandoned" in card
    assert "Finished at" in card
    assert "Skipped by you: not needed" in card
    assert re.search(r"tokens\s+in this plan", card), "what it took stands there folded too"
    assert "I have looked at subtask 1" in card
    assert "View changes" not in card and "Undo changes" not in card, "nothing was changed"
    client = Client()
    client.force_login(c.owner)
    copied = client.get(re.search(r'data-copy-from="([^"]+)"', card)[1])
    assert copied.content.decode() == OUTCOME, "it is copied as the agent wrote it"


def test_in_chinese_what_it_took_is_told_without_a_stray_space():
    c = approved_plan("Read")
    scripted(call("finish_subtask", outcome="读了"), call("finish_plan", outcome="好了"))
    actions.run_plan(plan_of(c), "alice")
    drive()
    Turn.objects.update(usage_estimated=True)
    client = Client(headers={"accept-language": "zh-CN"})
    client.force_login(c.owner)
    card = closing(flat(client.get(f"/c/{c.pk}/").content.decode()))
    assert re.search(r"此计划共约 [\d.]+k? 个 token", card)


def test_what_the_agent_has_said_itself_is_not_said_twice():
    c = proposed_plan("Read")
    scripted(call("finish_subtask", outcome="read"), say("It is all read."))
    actions.approve_plan(plan_of(c), 1, "alice")
    drive()
    html = page(c)
    assert "It is all read." not in closing(html) and "data-copy-from" not in closing(html)
    assert "It is all read." in html


def test_an_approved_document_has_a_line_and_a_plan_of_skipped_steps_a_card():
    plan = create_plan(conversation(), title="T", content="Words.", by="alice")
    actions.approve_plan(plan, 1, "alice")
    assert "It is in force here from then on." in closing(page(plan.conversation))

    c = proposed_plan("Read")
    actions.approve_plan(plan_of(c), 1, "alice", run="no")
    actions.skip_subtask(plan_of(c), "s1", "alice")
    scripted(say("Nothing came of it."))
    drive()
    html = page(c)
    assert "Abandoned at" in closing(html)
    drawer = html.split('id="plan-head"', 1)[1]
    for words in ("Abandoned at", "1 of 1", "1 abandoned"):
        assert words in closing(html) and words in drawer, "the same in both"
    assert "0 done" not in html


def test_a_cancelled_plan_has_none_and_a_finished_one_has_one_though_it_is_ended_twice():
    c = proposed_plan("Read")
    actions.cancel_plan(plan_of(c), "alice")
    assert not Message.objects.filter(meta__has_key="closing").exists()
    plan = create_plan(conversation(), title="T", content="Words.", by="alice")
    for _ in range(2):
        actions.approve_plan(plan, 1, "alice")
        actions.finish_plan(plan, "again", "alice")
    assert Message.objects.filter(meta__has_key="closing").count() == 1


LISTED = "- Read: Three files.\n  And a fourth.\n- Write: written"


def test_an_outcome_put_together_is_a_list_in_the_drawer_the_card_and_the_page():
    c = proposed_plan("Read", "Write")
    done = [
        call("finish_subtask", outcome=text) for text in ("Three files.\nAnd a fourth.", "written")
    ]
    scripted(*done, fails(401))
    actions.approve_plan(plan_of(c), 1, "alice")
    drive()
    assert plan_of(c).outcome == LISTED
    client = Client()
    client.force_login(c.owner)
    html = page(c)
    drawer = html.split('id="plan"', 1)[1].split("</aside>", 1)[0]
    for shown in (
        drawer,
        closing(html),
        flat(client.get(f"/plans/{plan_of(c).pk}/").content.decode()),
    ):
        assert "Write: written</li>" in shown
        assert "Read: Three files.\nAnd a fourth.</li>" in shown


# A run that ends before its plan does


def failing(*names):
    c = approved_plan(
        *names, plan={"enabled": True, "max_attempts": 1}, tools={"write_file": "allow"}
    )
    write = call("write_file", path="a.txt", content="a")
    scripted(write, call("finish_subtask", outcome="ok"), call("fail_subtask", error="No figures."))
    actions.run_plan(plan_of(c), "alice")
    drive()
    return c


def closings(c):
    return list(c.messages.filter(meta__has_key="closing").order_by("seq"))


def test_a_failure_is_told_once_with_its_reason_its_files_and_a_retry():
    c = failing("One", "Two")
    card = closing(page(c))
    assert "Failed at subtask 2 of 2 at" in card and "No figures." in card
    assert "1 of 2 · 1 by word" in card
    assert "a.txt" in card
    assert f'hx-post="/c/{c.pk}/plan/subtasks/s2/retry"' in card
    assert f'data-plan-id="{plan_of(c).pk}"' in card and 'data-version="1"' in card
    assert 'aria-live="off"' in card, "the alarm says it"
    [message] = closings(c)
    assert message.text == "Failed at subtask 2 of 2, Two: No figures."


def test_what_was_told_of_an_end_is_a_line_once_the_plan_goes_on():
    c = failing("One", "Two")
    [message] = closings(c)
    scripted(call("finish_subtask", outcome="ok"), say("All done."))
    actions.retry_subtask(plan_of(c), "s2", "alice")
    assert "Retry" not in closing(page(c))
    message.refresh_from_db()
    assert message.changed_seq == Conversation.objects.get(pk=c.pk).seq, "open pages hear of it"
    drive()
    html = page(c)
    assert html.count('data-kind="closing"') == 2
    assert "Failed at subtask 2 of 2 at" in html and "Finished at" in html


def test_a_stop_says_who_and_offers_to_go_on():
    c = approved_plan("One", "Two")
    actions.run_plan(plan_of(c), "alice")
    actions.stop_plan(plan_of(c), "alice")
    drive()
    card = closing(page(c))
    assert "Stopped by you at" in card and "Start again" in card
    assert [message.text for message in closings(c)] == ["Stopped by alice at subtask 1 of 2."]


def test_a_cancelled_run_tells_no_end_of_its_own():
    c = approved_plan("One", "Two")
    actions.run_plan(plan_of(c), "alice")
    actions.cancel_plan(plan_of(c), "alice")
    drive()
    assert closings(c) == []


def test_files_are_named_once_and_only_a_few_at_first(alice):
    c = approved_plan("One", tools={"write_file": "allow"})
    writes = [call("write_file", path=f"f{n % 10}.txt", content=str(n)) for n in range(12)]
    scripted(*writes, call("finish_subtask", outcome="ok"), say("Done."))
    actions.run_plan(plan_of(c), "alice")
    drive()
    card = closing(page(c))
    assert card.count(".txt</a>") == 8 and "2 more" in card


def written_and_run(*calls):
    """The conversation of a plan whose only subtask has made these calls."""
    c = approved_plan("One", tools={**ALL_FILE_TOOLS, "shell": "allow"})
    type(c.owner).objects.update(is_superuser=True)
    (files_of(c) / "old.txt").write_text("old\n")
    scripted(*calls, call("finish_subtask", outcome="ok"), say("Done."))
    actions.run_plan(plan_of(c), "alice")
    drive()
    return c


def files_in(card):
    """Path and note of each file on it, by where it leads."""
    rows = re.findall(
        r'<a class="mono link"[^>]*?href="([^"]+)"[^>]*>(.*?)</a>.*?end">(.*?)<', card
    )
    return {leads_to.replace("&amp;", "&"): (path, note) for leads_to, path, note in rows}


def test_the_card_has_the_files_of_the_page_of_changes_whoever_wrote_them_and_leads_there(alice):
    c = written_and_run(
        call("write_file", path="new.md", content="a\nb\nc"),
        call("edit_file", path="new.md", old="b", new="B"),
        call("shell", command="rm old.txt; echo 1 > quiet.txt"),
    )
    card, changed = closing(page(c)), f"/c/{c.pk}/changed?plan={plan_of(c).pk}"
    assert files_in(card) == {
        f"{changed}#file-1": ("new.md", "new · +3"),
        f"{changed}#file-2": ("old.txt", "removed · −1"),
        f"{changed}#file-3": ("quiet.txt", "new · +1"),
    }
    assert f'href="{changed}"' in card and ", 4 calls</dd>" in card


def test_what_an_undo_took_back_leaves_the_card_on_an_open_page_too(alice):
    c = written_and_run(call("shell", command="echo 1 > a.txt; echo 1 > b.txt"))
    c.refresh_from_db()
    actions.undo_changes(Scope(plan_of(c)), "alice", Wanted(paths=("a.txt",)))
    news = closing(flat(alice.get(f"/c/{c.pk}/changes?after={c.seq}").content.decode()))
    assert [path for path, _ in files_in(news).values()] == ["b.txt"]
    actions.undo_changes(Scope(plan_of(c)), "alice")
    assert files_in(closing(page(c))) == {}
    actions.undo_changes(Scope(Undo.objects.latest("pk")), "alice")
    assert [path for path, _ in files_in(closing(page(c))).values()] == ["b.txt"]


@pytest.mark.parametrize("is_pruned", [True, False])
def test_of_what_is_not_known_any_more_the_card_names_what_calls_have_written(alice, is_pruned):
    c = written_and_run(call("write_file", path="new.md", content="a"))
    if is_pruned:
        retention.forget(Recording.objects.all(), Undo.objects.none())
    else:  # of a home older than recordings
        Recording.objects.all().delete()
    last, card = ToolCall.objects.get(tool="write_file"), closing(page(c))
    assert files_in(card) == {f"/c/{c.pk}/?at={last.message_id}": ("new.md", "new")}
    assert f'data-opens-call="{last.pk}"' in card


def test_the_card_of_a_finished_plan_makes_a_new_one_of_it(alice):
    c = approved_plan("One")
    scripted(call("finish_subtask", outcome="ok"), say("Done."))
    actions.run_plan(plan_of(c), "alice")
    drive()
    assert f'hx-post="/c/{c.pk}/plans/{plan_of(c).pk}/use-again"' in closing(page(c))


EXISTS = {"kind": "file", "path": "a.txt", "exists": True}


def finished_and_checked():
    """Its first subtask is checked, its second done by word."""
    c = begun(EXISTS)
    actions.add_subtask(plan_of(c), SubtaskDraft(name="Tell"), "alice")
    said = call("finish_plan", outcome="2 of 2, all of it checked.")
    ok = call("finish_subtask", outcome="ok")
    scripted(call("write_file", path="a.txt", content="x"), ok, ok, said)
    actions.approve_plan(plan_of(c), 2, "alice")
    drive()
    return c


def test_what_the_system_said_at_the_end_stays_and_what_came_later_is_a_line_of_its_own():
    c = finished_and_checked()
    before = closing(page(c))
    assert "1 of 2 checked at" in before and "Subtask 2 is done by the agent’s word." in before
    message = c.messages.get(meta__closing=plan_of(c).pk)

    (files_of(c) / "a.txt").unlink()
    actions.check_plan(plan_of(c), "alice")
    drive()
    first, later = re.findall(r'<p class="system-line".*?</p>', closing(page(c)), re.DOTALL)
    assert "1 of 2 checked at" in first and "no longer true" not in first
    assert "0 of 2 checked at" in later and "Subtask 1 is no longer true." in later
    drawn = message.changed_seq
    message.refresh_from_db()
    assert message.changed_seq > drawn, "an open page reads it again"

    (files_of(c) / "a.txt").write_text("x")
    actions.check_plan(plan_of(c), "alice")
    drive()
    assert closing(page(c)).count('class="system-line"') == 1


def test_what_was_told_of_an_end_is_a_line_once_a_subtask_is_done_again():
    c = finished_and_checked()
    (files_of(c) / "a.txt").unlink()
    actions.check_plan(plan_of(c), "alice")
    drive()
    ok = call("finish_subtask", outcome="ok")
    scripted(call("write_file", path="a.txt", content="x"), ok, say("All is done."))
    actions.retry_subtask(plan_of(c), "s1", "alice")
    going_on = closing(page(c))
    assert "Finished at" in going_on and "1 of 2 checked" in going_on
    assert 'class="card"' not in going_on and "Running" not in going_on
    drive()
    cards = page(c).split('data-kind="closing"')[1:]
    assert ['class="card"' in each for each in cards] == [False, True]


@pytest.mark.parametrize("left_out", ["checked", "by_word_at"])
def test_an_end_that_was_told_before_so_much_was_kept_of_it_can_be_read(left_out):
    c = finished_and_checked()
    message = c.messages.get(meta__closing=plan_of(c).pk)
    message.meta.pop(left_out, None)
    message.meta.get("checked", {}).pop(left_out, None)
    message.save()
    assert "1 of 2 checked at" in closing(page(c))


def line_of(card):
    return flat(re.search(r'<p class="system-line".*?</span>', card, re.DOTALL)[0])


def test_where_no_check_ran_no_time_is_told():
    c = approved_plan("Read")
    scripted(call("finish_subtask", outcome="read"), say("Done."))
    actions.run_plan(plan_of(c), "alice")
    drive()
    line = line_of(closing(page(c)))
    assert "0 of 1 checked." in line and "<time" not in line


def test_the_time_told_is_that_of_the_last_check_and_not_that_of_the_message():
    c = finished_and_checked()
    message = c.messages.get(meta__closing=plan_of(c).pk)
    told_at, ran = message.created_at, CheckResult.objects.get().at
    as_drawn = parse_datetime(timestamp(ran)).isoformat()
    message.created_at = ran + timedelta(hours=1)
    message.save()
    assert f'datetime="{as_drawn}"' in line_of(closing(page(c)))
    message.meta["checked"].pop("at")  # as older messages are
    message.save()
    assert f'datetime="{as_drawn}"' in line_of(closing(page(c)))

    message.created_at = told_at
    message.save()
    actions.check_plan(plan_of(c), "alice")
    drive()
    assert "<time" not in line_of(closing(page(c))), "a later check says nothing about then"


def test_a_failure_is_told_with_the_numbers_beside_it_after_the_plan_was_changed():
    c = failing("One", "Two")
    actions.add_subtask(plan_of(c), SubtaskDraft(name="First"), "alice", after="s1")
    card = closing(page(c))
    assert subtask_names(c) == ["One", "First", "Two"]
    assert "Failed at subtask 3 of 3 at" in card and "1 of 2" in card
    assert "No figures." in card and "subtasks/s2/retry" not in card, "the change needs a yes first"


def test_a_failure_of_a_subtask_that_is_gone_is_one_line_as_it_was_then():
    c = failing("One", "Two")
    actions.add_subtask(plan_of(c), SubtaskDraft(name="Three"), "alice")
    actions.remove_subtask(plan_of(c), "s2", "alice")
    card = closing(page(c))
    assert "Failed at subtask 2 of 2 at" in card
    assert 'class="card"' not in card and "1 of" not in card


def test_a_failure_after_another_model_error_is_not_told_twice():
    c = approved_plan("One", plan={"enabled": True, "max_attempts": 1})
    scripted(fails(401))
    actions.run_plan(plan_of(c), "alice")
    drive()
    html = page(c)
    assert "Failed at subtask 1 of 1 at" in closing(html)
    assert read_state(c.pk).alarm == "", "the card of the error says it"


def test_scripts_read_how_it_ended(alice):
    c = failing("One", "Two")
    items = alice.get(f"/api/conversations/{c.pk}/messages").json()["items"]
    assert items[-1]["text"] == "Failed at subtask 2 of 2, Two: No figures."
