"""The list of plans and a plan's page, as a person and as a stranger meet them."""

import re
from datetime import timedelta

import pytest

from agents.models import Conversation, Event, Message, TurnState
from plans import actions
from plans.models import Attempt, Plan
from plans.schemas import PlanDraft, PlanEdit, SubtaskDraft
from tests.builders import asking_plan, calls, known_by, proposed_plan, running_plan
from tests.fake_model import call, say
from tests.inner import decide_call, end
from tests.inner import store_delete_agent as delete_agent
from tests.markup import flat
from tests.world import (
    HTMX,
    agent,
    calls_of,
    conversation,
    drive,
    news,
    person,
    plan_of,
    scripted,
    tell,
)

pytestmark = pytest.mark.django_db(transaction=True)


def made(title, *subtasks, goal="", c=None):
    rows = [SubtaskDraft(name=name) for name in subtasks or ("One",)]
    draft = PlanDraft(title=title, content="", expected_outcome="", subtasks=rows)
    return actions.create_plan(c or conversation(), draft, "alice", goal=goal)


def text(response):
    assert response.status_code == 200
    return flat(response.content.decode())


def titles(response):
    return re.findall(r"<td><a [^>]*><b>(.*?)</b>", text(response))


def read(response):
    """The page in words, without the tags."""
    return " ".join(re.sub(r"<[^>]*>", " ", text(response)).split())


def failed():
    c, turn = running_plan("Read", "Write")
    calls(turn, "write_file", {"path": "notes.md", "content": "x"})
    calls(turn, "fail_subtask", {"error": "The disk is read-only."})
    end(turn, TurnState.DONE)
    return plan_of(c)


# The list


def test_no_plans_is_a_sentence(alice):
    assert "No plans yet." in text(alice.get("/plans/"))


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("state=failed&days=30", "No failed plans in the last 30 days."),
        ("state=abandoned", "No cancelled or replaced plans."),
        ("attention=needs-me&state=done", "No finished plans that need you."),
        ("q=zebra", "Nothing matches “zebra”."),
        ("agent=writer-x", "No plans of writer-x."),
    ],
)
def test_nothing_found_is_a_sentence_and_a_way_out(alice, query, sentence):
    made("Water plants")
    page = text(alice.get(f"/plans/?{query}"))
    assert sentence in page
    assert '<a class="link" href="/plans/">Show all</a>' in page


def test_a_cancelled_plan_and_its_subtasks_are_called_so_on_every_page(alice):
    plan = actions.cancel_plan(made("Paint the fence", "Sand it", "Paint it"), "alice")
    chat = text(alice.get(f"/c/{plan.conversation_id}/"))
    pages = [chat, *(text(alice.get(f"/plans/{address}")) for address in ("", f"{plan.pk}/"))]
    for page in pages:
        assert "Cancelled" in page, page
        assert "Abandoned" not in page, re.findall(".{300}Abandoned.{100}", page)
    assert chat.count('aria-label="Cancelled"') >= 2


def test_the_list_is_filtered_searched_and_counted(alice):
    red = failed()
    gone = actions.cancel_plan(made("Paint the fence"), "alice")
    made("Water plants", "Fetch the can", c=conversation(id="gardener", name="Gardener"))
    assert titles(alice.get("/plans/")) == ["Water plants", gone.title, red.title]
    assert titles(alice.get("/plans/?state=failed")) == [red.title]
    assert titles(alice.get("/plans/?state=abandoned")) == [gone.title]
    assert titles(alice.get("/plans/?attention=needs-me")) == ["Water plants", red.title]
    assert titles(alice.get("/plans/?agent=gardener")) == ["Water plants"]
    assert titles(alice.get("/plans/?q=CAN+water")) == ["Water plants"]
    assert titles(alice.get("/plans/?sort=state"))[0] == red.title
    page = text(alice.get("/plans/?state=failed"))
    counts = dict(re.findall(r'id="count-([\w-]+)">(\d+)<', page))
    assert counts == {
        "all": "3",
        "open": "2",
        "done": "0",
        "abandoned": "1",
        "failed": "1",
        "needs-me": "2",
    }


def test_what_an_address_cannot_mean_is_left_out(alice):
    made("Water plants")
    odd = "state=<b>&days=x&sort=;drop&page=-1&attention=1"
    assert titles(alice.get(f"/plans/?{odd}")) == ["Water plants"]
    assert titles(alice.get("/plans/?page=999999")) == ["Water plants"]
    assert titles(alice.get("/plans/?page=²")) == ["Water plants"]


def test_a_name_is_text_and_never_markup(alice):
    plan = made("<script>alert(1)</script>", "<b>bold</b>", goal="<i>x</i>")
    for address in ("/plans/?q=<script>", f"/plans/{plan.pk}/"):
        page = text(alice.get(address))
        assert "<script>alert" not in page
        assert "<b>bold" not in page
        assert " style=" not in page


def test_heads_sort_and_say_so(alice):
    made("Water plants")
    page = text(alice.get("/plans/?sort=-tokens"))
    assert 'aria-sort="descending"><a href="/plans/?sort=tokens"' in page
    assert page.count("aria-sort") == 1
    assert "<caption" in page


def test_pages_keep_the_filter(alice):
    c = conversation()
    for number in range(53):
        made(f"Plan {number}", c=c)
    first = alice.get("/plans/?q=plan")
    assert len(titles(first)) == 50
    assert "1 to 50 of 53 plans" in text(first)
    assert 'rel="next" href="/plans/?q=plan&amp;page=2"' in text(first)
    assert len(titles(alice.get("/plans/?q=plan&page=2"))) == 3


def test_a_form_swaps_the_table_alone(alice):
    made("Water plants")
    swapped = text(alice.get("/plans/?q=water", headers=HTMX))
    assert 'hx-target="#plans-found"' in swapped
    assert "<html" not in swapped
    assert "Water plants" in swapped


# One plan


def test_the_list_that_a_page_shows_already_is_not_sent_again(alice):
    proposed_plan("Read")
    shown = alice.get("/plans/", headers=HTMX)
    known = HTMX | {"If-None-Match": shown.headers["ETag"]}
    assert alice.get("/plans/", headers=known).status_code == 304
    proposed_plan("Write")
    assert alice.get("/plans/", headers=known).status_code == 200


@pytest.mark.parametrize("address", ["/plans/", "/needs/"])
def test_pages_that_follow_say_how_they_hear_of_what_is_new(alice, address):
    page = text(alice.get(address))
    assert re.search(r'<span class="status-label" id="connection" role="status" [^>]*>', page)
    assert '<span class="wide-text">Live</span>' in page


def test_someone_elses_plan_is_not_there(client, alice):
    plan = failed()
    tried = Attempt.objects.get()
    client.force_login(person("charlie"))
    for part in ("", "export.md", f"attempts/{tried.pk}/"):
        assert client.get(f"/plans/{plan.pk}/{part}").status_code == 404
    assert client.get("/plans/999999/").status_code == 404
    assert titles(client.get("/plans/")) == []


def test_the_timeline_says_what_happened_and_who_did_it(alice):
    plan = failed()
    page = read(alice.get(f"/plans/{plan.pk}/"))
    for words in (
        "Plan proposed Agent · v1",
        "v1 approved You · v1",
        "Plan started You · v1",
        "1 started Planside · v1",
        "1 failed: The disk is read-only. Agent · v1",
        "The run has failed Planside · v1",
    ):
        assert words in page, words
    assert page.index("The run has failed") < page.index("Plan proposed")


def test_each_change_of_the_text_has_its_version(alice):
    plan = made("Water plants", "Fetch", "Pour")
    actions.edit_plan(plan, PlanEdit(title="Water all plants"), "alice", 1)
    actions.remove_subtask(plan, "s1", "alice", 2)
    actions.skip_subtask(plan, "s2", "alice", "it rains")
    page = read(alice.get(f"/plans/{plan.pk}/"))
    assert "Plan is now v2" in page
    assert "You · v3" in page
    assert "1 skipped: it rains You · v3" in page


def test_what_a_person_was_asked_is_told(alice):
    c = proposed_plan("Read", tools={"write_file": "ask"})
    scripted(call("write_file", path="notes.md", content="x"), call("ask_user", question="Why?"))
    tell(c, "go")
    decide_call(calls_of(c, "write_file")[0], "allow_once", "alice")
    drive()
    scripted(call("finish_subtask", outcome="read"), say("All done."))
    tell(c, "Because.")
    page = read(alice.get(f"/plans/{plan_of(c).pk}/"))
    for words in (
        "1 waited for approval of write_file Agent · v1",
        "Allowed once: write_file notes.md You · v1",
        "1 asked: Why? Agent · v1",
        "1 answered: Because. You · v1",
        "1 Read: done Agent · v1",
        "Plan finished",
    ):
        assert words in page, words


def test_every_kind_of_event_reads_as_words(alice):
    """A new type of event is shown by its name until it has words of its own."""
    plan = made("Water plants")
    rows = [
        Event(conversation=plan.conversation, seq=1000 + i, type=type, subject=f"plan:{plan.pk}")
        for i, type in enumerate(("run.repaired", "run.halted", "plan.activated", "plan.brewed"))
    ]
    Event.objects.bulk_create(rows)
    page = read(alice.get(f"/plans/{plan.pk}/"))
    assert "Taken up again after an interruption" in page
    assert "Plan brewed" in page


def test_an_attempt_opens_with_its_calls_and_words(alice):
    plan = failed()
    tried = Attempt.objects.get()
    page = text(alice.get(f"/plans/{plan.pk}/"))
    assert "notes.md" not in page.partition('id="attempts-heading"')[2]
    opened = text(alice.get(f"/plans/{plan.pk}/attempts/{tried.pk}/", headers=HTMX))
    assert "notes.md" in opened
    assert "fail_subtask" in opened
    assert "The disk is read-only." in opened
    plain = alice.get(f"/plans/{plan.pk}/attempts/{tried.pk}/")
    assert plain["Location"] == f"/c/{plan.conversation_id}/#turn-{tried.turn_id}"


def test_an_attempt_of_another_plan_is_not_there(alice):
    failed()
    other = made("Water plants")
    address = f"/plans/{other.pk}/attempts/{Attempt.objects.get().pk}/"
    assert alice.get(address).status_code == 404


def test_the_gantt_is_drawn_without_styles(alice):
    plan = failed()
    page = text(alice.get(f"/plans/{plan.pk}/"))
    assert re.search(r'<rect x="\d+" width="\d+" height="8" data-status="failed"/>', page)
    assert " style=" not in page


def bars(client, plan):
    """Each row's number in the list, with where its bars begin and how long they are."""
    page = text(client.get(f"/plans/{plan.pk}/")).split('class="gantt"', 1)[1].split("</ol>")[0]
    rows = page.split("<li ")[1:]
    found = [re.findall(r'<rect x="(\d+)" width="(\d+)"', row) for row in rows]
    return [[(int(x), int(width)) for x, width in row] for row in found]


def worked(*seconds):
    """A plan that is done; how long its attempts worked, in the order they ran."""
    c = proposed_plan("Read", "Write")
    scripted(*[call("finish_subtask", outcome="done")] * 2, say("ok"))
    tell(c, "go")
    turns = [attempt.turn for attempt in Attempt.objects.order_by("pk")]
    for turn, each in zip(turns, seconds, strict=True):
        turn.worked = timedelta(seconds=each)
        turn.save(update_fields=["worked"])
    return plan_of(c), turns


@pytest.mark.parametrize(
    ("word", "mark"), [("by_word", "by_word"), ("checked", "done"), ("regressed", "regressed")]
)
def test_an_attempt_wears_the_tick_of_what_it_came_to(alice, word, mark):
    plan, _ = worked(30, 90)
    for row in plan.subtasks.all():
        known_by(row, word)
    tried = text(alice.get(f"/plans/{plan.pk}/")).partition('id="attempts-heading"')[2]
    tried = tried.partition("</section>")[0]
    marks = re.findall(r'class="mark[^"]*"[^>]*data-status="(\w+)"', tried)
    assert marks == [mark, mark]


@pytest.mark.parametrize("rest", ["paused", "waited"])
def test_a_rest_is_drawn_behind_the_work_on_its_scale_and_said_in_words(alice, rest):
    plan, [first, _] = worked(30, 90)
    setattr(first, rest, timedelta(seconds=40))
    first.save()
    assert bars(alice, plan) == [[(0, 188), (188, 250)], [(438, 562)]]
    page = text(alice.get(f"/plans/{plan.pk}/"))
    assert f'width="250" height="8" data-status="{rest}"' in page
    assert "are shortened" not in page


@pytest.mark.parametrize("rest", ["paused", "waited"])
def test_an_hours_rest_is_shortened_which_is_said_and_leaves_the_work_to_be_seen(alice, rest):
    plan, [first, _] = worked(30, 90)
    setattr(first, rest, timedelta(hours=1))
    first.save()
    assert bars(alice, plan) == [[(0, 125), (125, 500)], [(625, 375)]]
    page = text(alice.get(f"/plans/{plan.pk}/"))
    assert "Waits and pauses are shortened" in page
    assert "1:00:00 " + {"paused": "paused", "waited": "waiting for you"}[rest] in page


def test_the_time_in_which_no_worker_lived_is_not_drawn(alice):
    plan, [first, _] = worked(30, 90)
    first.started_at -= timedelta(hours=1)
    first.save()
    assert bars(alice, plan) == [[(0, 250)], [(250, 750)]]


def test_the_timeline_is_filtered_by_subtask_kind_and_actor(alice):
    plan, _ = worked(30, 90)

    def shown(**wanted):
        page = read(alice.get(f"/plans/{plan.pk}/", wanted)).partition("Every change")[2]
        return page.partition("Attempts")[0].partition("Planside ")[2]

    assert "Read: done" in shown(subtask="s1") and "Write: done" not in shown(subtask="s1")
    assert "Plan started" in shown(kind="run") and "Read: done" not in shown(kind="run")
    assert "v1 approved" in shown(actor="person") and "Read: done" not in shown(actor="person")
    assert "Nothing here fits" in shown(subtask="s1", kind="run")
    assert "Plan finished" in shown(subtask="", kind="brewed", actor="nobody")


def test_an_attempt_says_how_many_there_are(alice):
    plan = failed()
    assert "Attempt 1 of 1" in read(alice.get(f"/plans/{plan.pk}/"))


def test_a_subtask_has_an_address_of_its_own_and_says_what_it_took(alice):
    plan, _ = worked(30, 90)
    page = text(alice.get(f"/plans/{plan.pk}/"))
    assert '<li id="s1" data-key="s1" tabindex="-1">' in " ".join(page.split())
    assert 'data-copy-link="s1"' in page and "0:30 working" in page


def test_bars_stand_in_the_order_of_the_work_and_a_short_one_can_be_seen(alice):
    plan, [first, second] = worked(0.001, 60)
    first.started_at, second.started_at = second.started_at, first.started_at
    first.save()
    second.save()
    assert bars(alice, plan) == [[(994, 6)], [(0, 1000)]]


def test_a_plan_of_a_deleted_agent_is_still_read(alice):
    id = agent()
    plan = made("Water plants", c=conversation(id=id))
    delete_agent(id)
    assert "Water plants" in text(alice.get("/plans/"))
    assert "Water plants" in text(alice.get(f"/plans/{plan.pk}/"))


def test_the_page_costs_the_same_for_few_and_many_subtasks(alice, django_assert_max_num_queries):
    small, large = made("Small", "One"), made("Large", *(f"Step {i}" for i in range(200)))
    alice.get(f"/plans/{small.pk}/")
    with django_assert_max_num_queries(60) as few:
        alice.get(f"/plans/{small.pk}/")
    with django_assert_max_num_queries(len(few)):
        alice.get(f"/plans/{large.pk}/")


def test_the_plan_is_taken_along_as_markdown(alice):
    plan = made("Water plants", "Fetch")
    response = alice.get(f"/plans/{plan.pk}/export.md")
    assert response["Content-Disposition"] == f'attachment; filename="plan-{plan.pk}.md"'
    assert response["Content-Type"].startswith("text/markdown")
    assert text(response).startswith("# Water plants")


def test_an_open_plan_is_read_again_every_few_seconds_a_resting_one_when_something_happened(alice):
    plan = made("Water plants")
    page = text(alice.get(f"/plans/{plan.pk}/"))
    assert 'hx-trigger="every 5s"' in page
    [seen] = re.findall(r'name="seen" value="(\d+)"', page)
    again = f"/plans/{plan.pk}/?part=plan&seen={seen}"
    assert alice.get(again, headers=HTMX).status_code == 204
    actions.approve_plan(plan, 1, "alice")
    assert "Plan started" in read(alice.get(again, headers=HTMX))
    swapped = text(alice.get(f"/plans/{plan.pk}/?part=plan", headers=HTMX))
    assert 'hx-target="#plan-page"' in swapped
    assert Plan.objects.get().title in swapped
    over = actions.cancel_plan(made("Rake leaves"), "alice")
    assert 'hx-trigger="every 5s"' not in text(alice.get(f"/plans/{over.pk}/"))


def test_a_title_that_turns_its_signs_round_is_boxed_wherever_it_is_read(alice):
    plan = made("Safe \u202etxt.exe")
    Conversation.objects.update(title=plan.title)
    for address in ("/plans/", f"/plans/{plan.pk}/", f"/c/{plan.conversation_id}/"):
        page = text(alice.get(address))
        assert "U+202E" in page
        shown = re.sub(r'data-[a-z-]+="[^"]*"', "", page)
        assert "\u202e" not in shown, shown[shown.index("\u202e") - 200 :][:400]


def test_each_version_says_what_it_changed(client, alice):
    plan = made("Water plants", "Fetch", "Pour")
    actions.update_subtask(plan, "s1", {"name": "Fetch the can"}, "alice", 1)
    assert "What changed in v2" in read(alice.get(f"/plans/{plan.pk}/"))
    address = f"/plans/{plan.pk}/versions/2/"
    compared = text(alice.get(address, headers=HTMX))
    assert 'hx-target="#version-2"' in compared
    assert "<ins>" in compared
    assert alice.get(address)["Location"] == f"/c/{plan.conversation_id}/"
    first = read(alice.get(f"/plans/{plan.pk}/versions/1/", headers=HTMX))
    assert "Fetch" in first and "Pour" in first and "the can" not in first, "its text"
    assert f"/plans/{plan.pk}/versions/1/" in text(alice.get(f"/plans/{plan.pk}/"))
    for n in (0, 3):
        assert alice.get(f"/plans/{plan.pk}/versions/{n}/").status_code == 404
    client.force_login(person("charlie"))
    assert client.get(address).status_code == 404


# Several plans in one conversation


def two_plans():
    c = conversation()
    first = made("Water plants", c=c)
    return c, first, made("Paint the fence", c=c)


def test_all_plans_of_a_conversation_are_listed(alice):
    c, first, second = two_plans()
    shown = text(alice.get(f"/c/{c.pk}/plans"))
    assert shown.index(second.title) < shown.index(first.title)
    assert shown.count('aria-current="true"') == 1
    assert "In the drawer" in shown


def test_a_plan_of_an_alternative_that_is_not_shown_is_not_offered_for_the_drawer(alice):
    c = proposed_plan("Read")
    first = plan_of(c)
    made("Paint the fence", c=c)
    offered = f"/c/{c.pk}/plans/{first.pk}/activate"
    assert offered in text(alice.get(f"/c/{c.pk}/plans"))
    Message.objects.filter(pk=first.card_id).update(hidden=True)
    assert offered not in text(alice.get(f"/c/{c.pk}/plans"))
    assert alice.post(offered, headers=HTMX).status_code == 409


def test_another_plan_is_put_into_the_drawer(alice):
    c, first, _ = two_plans()
    alice.post(f"/c/{c.pk}/plans/{first.pk}/activate", headers=HTMX)
    assert f'data-plan-id="{first.pk}"' in news(alice, c)
    assert plan_of(c).pk == first.pk


def test_no_other_plan_is_put_into_the_drawer_while_one_runs(alice):
    c, first, second = two_plans()
    actions.approve_plan(second, 1, "alice")
    answer = alice.post(f"/c/{c.pk}/plans/{first.pk}/activate", headers=HTMX)
    assert answer.status_code == 409
    assert "plans-here-alert" in flat(answer.content.decode())
    assert "A plan is running in this conversation" in flat(answer.content.decode())
    assert plan_of(c).pk == second.pk


def test_a_deleted_plan_is_gone_with_its_card(alice):
    c, first, second = two_plans()
    answer = text(alice.post(f"/c/{c.pk}/plans/{second.pk}/delete", headers=HTMX))
    assert second.title not in answer
    assert not Plan.objects.filter(pk=second.pk).exists()
    assert alice.get(f"/plans/{second.pk}/").status_code == 404
    assert titles(alice.get("/plans/")) == [first.title]


def test_a_plan_is_used_again_in_its_conversation(alice):
    c, first, _ = two_plans()
    answer = alice.post(f"/c/{c.pk}/plans/{first.pk}/use-again")
    assert answer["Location"] == f"/c/{c.pk}/"
    again = plan_of(c)
    assert again.pk > first.pk
    assert (again.title, again.approved_version) == (first.title, None)


def test_plans_elsewhere_are_not_touched_from_here(client, alice):
    c, first, _ = two_plans()
    other = conversation()
    for verb in ("activate", "delete", "use-again"):
        assert alice.post(f"/c/{other.pk}/plans/{first.pk}/{verb}").status_code == 404
    client.force_login(person("charlie"))
    assert client.get(f"/c/{c.pk}/plans").status_code == 404
    for verb in ("activate", "delete", "use-again"):
        assert client.post(f"/c/{c.pk}/plans/{first.pk}/{verb}").status_code == 404


def test_a_finished_plan_offers_its_timeline_and_another_go(alice):
    c = proposed_plan("Read")
    scripted(call("finish_subtask", outcome="read"), say("All done."))
    tell(c, "go")
    page = text(alice.get(f"/c/{c.pk}/"))
    assert "View timeline" in page
    assert "Use as a new plan" in page


def test_the_page_links_to_the_plan_of_an_agent_that_works_for_a_subtask(client, transactional_db):
    from plans.models import Plan
    from tests.fake_model import call, say
    from tests.world import agent, person, plan_of, proposal, scripted_agents, tell

    helper = agent(instructions="I am helper")
    c = proposed_plan("Delegate", tools={f"run_agent:{helper}": "allow"}, instructions="I am boss")
    done = call("finish_subtask", outcome="ok")
    scripts = {
        "I am boss": [call("run_agent", agent=helper, task="half"), done, say(".")],
        "I am helper": [proposal("One", title="Its half"), say("."), done, say(".")],
    }
    scripted_agents(scripts)
    tell(c, "go")
    client.force_login(person("alice"))
    page = flat(client.get(f"/plans/{plan_of(c).pk}/").content.decode())
    child = Plan.objects.get(conversation__parent_call__isnull=False)
    assert f'href="/plans/{child.pk}/">Its half</a>, 1 of 1' in page


def test_a_skipped_subtasks_work_is_no_pause_and_the_key_says_what_it_is(alice):
    plan = failed()
    actions.skip_subtask(plan, Attempt.objects.get().subtask.key, "alice", "")
    gantt = text(alice.get(f"/plans/{plan.pk}/")).split('class="gantt"', 1)[1].split("</p>")[0]
    assert 'data-status="abandoned"/>' in gantt and "Stopped or skipped" in gantt
    assert 'data-status="paused"' not in gantt


def test_the_work_of_an_attempt_that_waits_is_drawn_as_work(alice):
    plan = plan_of(asking_plan("Read"))
    gantt = (
        text(alice.get(f"/plans/{plan.pk}/")).split('class="gantt"', 1)[1].split("</section>")[0]
    )
    assert 'data-status="in_progress"/>' in gantt and 'data-status="waiting"/>' not in gantt


def test_a_subtask_on_the_page_says_what_came_of_it_and_no_inner_key(alice):
    plan, _ = worked(30, 90)
    page = text(alice.get(f"/plans/{plan.pk}/"))
    rows = page.split('class="page-subtasks"', 1)[1].split("</ol>")[0]
    assert rows.count("<dt>Outcome</dt>") == 2 and "<code>" not in rows
