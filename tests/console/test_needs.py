"""The page on which everything that waits stands, and is answered."""

from datetime import timedelta

import pytest
from django.utils import timezone

from agents.errors import Conflict
from agents.models import Conversation, ToolCall
from plans import actions
from plans.models import Plan
from plans.schemas import PlanDraft
from tests.builders import approved_plan, known_by, proposed_plan
from tests.console.test_pending_approvals import by_a_helper, plain
from tests.fake_model import call, say
from tests.inner import needs_of, plan_snapshot, used_up
from tests.markup import flat
from tests.plans.test_needs import failing
from tests.plans.test_subplans import END, PLANNED, done, story
from tests.world import (
    HTMX,
    conversation,
    drive,
    person,
    plan_of,
    proposal,
    scripted,
    signed_in,
    tell,
    texts,
)

pytestmark = pytest.mark.django_db(transaction=True)


def only_need(name="alice"):
    [need] = needs_of(person(name).pk)
    return need


def press(client, need, path, **values):
    """A button of the card, as static/js/needs.js and requests.js send it."""
    named = {"plan": need.plan, "version": need.version} if need.plan else {}
    sent = {**named, "need": need.key, "shows": need.key, **values}
    return client.post(f"/c/{need.conversation}/{path}", sent, headers=HTMX)


def decide(client, need, decision, **values):
    return press(client, need, f"calls/{need.call}/decide", decision=decision, **values)


def answer_question(client, text):
    need = only_need()
    return press(client, need, f"calls/{need.call}/answer", text=text)


def page(client):
    return flat(client.get("/needs/").content.decode())


def changes(client, *shows):
    query = "&".join(["page", *(f"shows={key}" for key in shows)])
    return client.get(f"/needs/changes?{query}")


def test_where_nothing_waits_the_page_says_so_and_what_runs(alice):
    assert "Nothing needs you." in page(alice)
    c = approved_plan("One", "Two")
    actions.run_plan(plan_of(c), "alice")
    shown = page(alice)
    assert "1 plan running" in shown and "Tidy the docs, 0 of 2" in shown


def test_a_plan_can_be_read_whole_and_started_there(alice):
    c = proposed_plan("One", "Two")
    shown = page(alice)
    assert "Waiting for you to start it" in shown and ", 2 subtasks, version 1" in shown
    assert "Nothing needs you." not in shown
    answer = press(alice, only_need(), "plan/approve").content.decode()
    assert plan_of(c).approved_version == 1
    assert "Started. Tidy the docs goes on." in flat(answer)


def test_another_version_than_the_one_on_the_card_is_not_started(alice):
    c = proposed_plan("One", "Two")
    need = only_need()
    actions.update_subtask(plan_of(c), "s1", {"name": "Uno"}, "alice")
    answer = press(alice, need, "plan/approve")
    assert plan_of(c).approved_version is None
    assert "It is v2 now." in answer.content.decode()


def test_a_plan_with_comments_that_have_not_gone_is_not_started_there(alice):
    c = proposed_plan("Read", "Write")
    need = only_need()
    actions.keep_comment(plan_of(c), "s1", "Only the README", "alice")
    answer = press(alice, need, "plan/approve")
    assert answer.status_code == 409
    said = flat(answer.content.decode())
    assert (
        "The agent has not got 1 comment on this plan." in said and "Nothing was started." in said
    )
    assert plan_of(c).approved_version is None


def test_a_call_is_allowed_there_and_the_card_becomes_a_line(alice):
    plain()
    need = only_need()
    assert "Let it use write_file?" in page(alice)
    answer = flat(decide(alice, need, "allow_once").content.decode())
    assert f'id="need-{need.key}"' in answer and "Allowed once. write it goes on." in answer
    assert ToolCall.objects.get(tool="write_file").decision == "allow_once"


def test_what_was_answered_in_another_window_is_said(alice):
    plain()
    need = only_need()
    decide(alice, need, "deny", reason="no")
    drive()
    said = flat(changes(alice, need.key).content.decode())
    assert "Denied in another window at" in said
    late = decide(alice, need, "allow_once")
    assert late.status_code == 200 and "Denied in another window at" in flat(late.content.decode())


def test_a_helpers_call_is_decided_there(alice):
    by_a_helper()
    need = only_need()
    assert "It works for" in page(alice)
    decide(alice, need, "allow_once")
    assert ToolCall.objects.get(tool="write_file").decision == "allow_once"


def test_an_answer_is_an_answer_whatever_its_words(alice):
    c, _ = story(
        [*PLANNED, call("ask_user", question="Which half?"), done(), done(), say("ok")], END
    )
    tell(c, "go")
    assert "Which half?" in page(alice)
    answer_question(alice, "/clear")
    asked = ToolCall.objects.get(tool="ask_user")
    assert asked.result == "The person answered: /clear"
    assert not Conversation.objects.get(pk=c.pk).cleared_seq


def test_an_empty_answer_is_refused_below_its_field(alice):
    c, _ = story(
        [*PLANNED, call("ask_user", question="Which half?"), done(), done(), say("ok")], END
    )
    tell(c, "go")
    need = only_need()
    answer = press(alice, need, f"calls/{need.call}/answer", text=" ")
    assert answer.status_code == 422
    assert f'hx-target="#need-{need.key}-alert"' in answer.content.decode()


def test_a_draft_in_the_conversation_outlives_an_answer(alice):
    c, _ = story(
        [*PLANNED, call("ask_user", question="Which half?"), done(), done(), say("ok")], END
    )
    tell(c, "go")
    Conversation.objects.filter(pk=c.pk).update(draft="half a thought")
    answer_question(alice, "The left one")
    assert Conversation.objects.get(pk=c.pk).draft == "half a thought"


def test_a_failed_plan_says_what_failed_and_what_stays(alice):
    failing()
    shown = page(alice)
    assert "Failed at subtask 1 of 2" in shown and ", after 1 attempt" in shown
    assert "No figures." in shown


@pytest.mark.parametrize("action", ["retry", "skip", "replan"])
def test_a_failed_subtask_is_settled_there(alice, action):
    failing()
    scripted(say("…"))
    answer = press(alice, only_need(), f"plan/subtasks/s1/{action}")
    assert answer.status_code == 200, answer.content
    assert [need.kind for need in needs_of(person().pk) if need.kind == "failed"] == []


def test_after_a_skip_the_rest_goes_on_from_there(alice):
    c = failing()
    actions.skip_subtask(plan_of(c), "s1", "alice")
    shown = page(alice)
    assert "Waiting for you to go on</b>, next is subtask 2 of 2" in shown
    assert "Two" in shown
    answer = press(alice, only_need(), "plan/again")
    assert b"Went on" in answer.content
    assert plan_of(c).run == "queued" and needs_of(person().pk) == []


def test_a_plan_beside_the_one_in_the_drawer_is_brought_there(alice):
    c = approved_plan("One", "Two")
    actions.update_subtask(plan_of(c), "s1", {"name": "Uno"}, "alice")
    first = plan_of(c)
    scripted(say("?"))
    other = actions.use_again(first, "alice")
    actions.activate_plan(other, "alice")
    needs = {need.plan: need for need in needs_of(person().pk)}
    answer = press(alice, needs[first.pk], "plan/approve")
    assert answer.status_code == 200
    assert Plan.objects.get(pk=first.pk).is_confirmed


def test_the_number_stands_beside_the_conversations_and_the_tag_changes_with_it(alice):
    c = proposed_plan("One")
    shown = flat(alice.get(f"/c/{c.pk}/").content.decode())
    assert 'aria-label="Needs you, 1"' in shown and 'data-count="1"' in shown
    tag = alice.get("/needs/changes").headers["ETag"]
    again = alice.get("/needs/changes", headers={"If-None-Match": tag})
    assert again.status_code == 304
    actions.approve_plan(plan_of(c), 1, "alice", run="no")
    assert alice.get("/needs/changes", headers={"If-None-Match": tag}).status_code == 200


def test_nobody_answers_for_another(alice):
    proposed_plan("One")
    need = only_need()
    assert press(signed_in(person("bob")), need, "plan/approve").status_code == 404
    assert not changes(signed_in(person("bob")), need.key).content.count(b"Tidy the docs")


def test_many_cards_are_drawn_in_part(alice, monkeypatch):
    monkeypatch.setattr("console.need_cards.MOST_CARDS", 2)
    monkeypatch.setattr("console.needs_pieces.MOST_CARDS", 2)
    for _ in range(3):
        proposed_plan("One")
    shown = page(alice)
    assert shown.count("need-card") == 2 and "1 more come as these are answered." in shown


def test_scripts_list_the_same(alice):
    c = proposed_plan("One")
    plain()
    start, call_that_asks = alice.get("/api/needs").json()["items"]
    assert (start["plan"], start["version"], start["title"]) == (plan_of(c).pk, 1, "Tidy the docs")
    assert call_that_asks["call"]["tool"] == "write_file" and call_that_asks["plan"] is None
    assert signed_in(person("bob")).get("/api/needs").json() == {"items": [], "count": 0}


def answered_in_words():
    c = conversation()
    scripted(say("Which **folder**?"), proposal("Look"), say("Here it is."))
    tell(c, "/plan tidy up")
    drive()
    return c


def test_where_no_plan_came_of_it_sidebar_drawer_page_and_title_say_the_same(alice):
    c = answered_in_words()
    words = "Waits for your answer"
    everywhere = flat(alice.get(f"/c/{c.pk}/").content.decode())
    drawer = everywhere.split('id="plan"')[1]
    assert words in everywhere.split("Conversations")[1]
    assert words in drawer and "Which <strong>folder</strong>?" in drawer
    assert "Cancel planning" in drawer
    assert 'data-count="1"' in everywhere
    assert words in page(alice) and "Which <strong>folder</strong>?" in page(alice)


def test_the_plan_that_was_asked_for_is_made_with_the_answer_given_there(alice):
    c = answered_in_words()
    need = only_need()
    answer = press(
        alice, need, "plan/answer-asking", text="docs", asking=need.asking
    ).content.decode()
    assert "Answered." in flat(answer)
    drive()
    assert plan_of(c).subtasks.get().name == "Look"


def test_an_answer_to_an_asking_that_is_over_is_no_message(alice):
    c = answered_in_words()
    asking = only_need().asking
    actions.cancel_request(c, "alice")
    model, said = scripted(say("Deleted.")), texts(c)
    values = {"text": "delete the docs", "asking": asking}
    answer = alice.post(f"/c/{c.pk}/plan/answer-asking", values, headers=HTMX)
    assert (answer.status_code, texts(c), model.requests) == (409, said, [])


def test_the_asking_for_a_plan_can_be_given_up_there(alice):
    answered_in_words()
    need = only_need()
    answer = press(alice, need, "plan/cancel-asking", asking=need.asking).content.decode()
    assert "Cancelled." in flat(answer)
    assert needs_of(person("alice").pk) == []


def test_a_question_says_at_which_subtask_it_stands(alice):
    c = approved_plan("One", "Two")
    scripted(call("finish_subtask", outcome="ok"), call("ask_user", question="Which half?"))
    actions.run_plan(plan_of(c), "alice")
    drive()
    assert "asks</b>, at subtask 2 of 2" in page(alice)


def test_a_question_of_a_chat_names_no_subtask_of_the_plan_beside_it(alice):
    plain()
    assert only_need().kind == "approval"
    assert ", at subtask" not in page(alice)


def test_every_card_leads_to_its_place_in_the_conversation(alice):
    plain()
    proposed_plan("One")
    failing()
    html = page(alice)
    assert html.count('class="card need-card"') == html.count('class="button need-open"') == 3


def test_the_card_of_a_plan_beside_the_drawers_opens_that_plan(alice):
    c = proposed_plan("One")
    beside = plan_of(c)
    draft = PlanDraft(title="Newer", subtasks=[{"name": "Two"}])
    newer = actions.create_plan(c, draft, "alice", beside=True)
    assert plan_of(c) == newer
    html = page(alice)
    assert f'href="/plans/{beside.pk}/" aria-label="Open {beside.title}"' in html
    assert f'href="/c/{c.pk}/#message-{newer.card_id}" aria-label="Open Newer"' in html


def test_what_fails_while_the_page_is_open_comes_first(alice):
    proposed_plan("One")
    shown = only_need().key
    failing()
    answer = changes(alice, shown).content.decode()
    assert (
        'hx-swap="afterbegin"'
        in answer.split("needs-list", 1)[0][-200:] + answer.split("needs-list", 1)[1][:200]
    )


def test_what_has_waited_for_less_than_a_minute_waits_since_just_now(alice):
    proposed_plan("One")
    assert "1, just now" in page(alice)
    Plan.objects.update(updated_at=timezone.now() - timedelta(minutes=5))
    assert "1, oldest for 5 min" in page(alice)


def untrue(*names, done=1):
    """A plan whose subtasks are done up to the last of `done`, which is not true any more."""
    c = approved_plan(*names)
    rows = list(plan_of(c).subtasks.order_by("position"))
    for row in rows[:done]:
        known_by(row, "regressed" if row == rows[done - 1] else "checked")
    Plan.objects.filter(pk=plan_of(c).pk).update(state="in_progress")
    return c


def test_a_plan_beside_the_one_in_the_drawer_is_looked_at_from_its_card(alice):
    c = untrue("One", "Two")
    first = plan_of(c)
    second = actions.create_plan(c, PlanDraft(title="Beside", subtasks=["Look"]), "alice")
    [need] = [each for each in needs_of(person().pk) if each.plan == first.pk]
    answer = press(alice, need, "plan/subtasks/s1/looked")
    assert answer.status_code == 200, answer.content.decode()
    assert plan_snapshot(first).subtasks[0].looked_by == "alice"
    assert plan_of(c).pk == first.pk != second.pk


def test_what_is_untrue_is_not_done_again_before_what_comes_first(alice):
    c = untrue("One", "Two", "Three", done=2)
    plan = plan_of(c)
    plan.subtasks.filter(key="s1").update(state="todo")
    with pytest.raises(Conflict, match=r"s2 comes later: the next one is s1\."):
        actions.retry_subtask(plan, "s2", "alice")
    shown = page(alice)
    assert "No longer true" in shown and "Retry subtask" not in shown
    drawer = flat(alice.get(f"/c/{c.pk}/").content.decode())
    assert "Retry subtask 2" not in drawer and "regressed-s2" in drawer
    plan.subtasks.filter(key="s1").update(state="done")
    assert "Retry subtask 2" in page(alice)
    actions.retry_subtask(plan, "s2", "alice")
    assert plan.subtasks.get(key="s2").state == "todo"


def test_a_plan_that_is_deleted_while_its_card_is_drawn_is_no_error(alice):
    c = approved_plan("One")
    plan = plan_of(c)
    Plan.objects.filter(pk=plan.pk).update(
        run="paused", pause_reason="budget", state="in_progress", budget={"max_tokens": 1}
    )
    shown = plan_snapshot(plan)
    plan.delete()
    assert used_up(shown.row) == []
