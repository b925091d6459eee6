"""The pages, as a person and as a stranger meet them, and what their forms do."""

import json
import re
from pathlib import Path

import pytest
from django.conf import settings

from agents.models import Conversation
from plans import actions
from plans.models import SUBTASK_TEXT, Plan, Run
from tests.builders import proposed_plan
from tests.fake_model import call, say
from tests.inner import ProviderKey, read_agent, set_owner
from tests.markup import html
from tests.world import (
    HTMX,
    agent,
    conversation,
    drive,
    news,
    on_page,
    person,
    plan_of,
    scripted,
    shown,
    tell,
    texts,
)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def charlie(client):
    client.force_login(person("charlie"))
    return client


def post(client, address, **values):
    """As a page that is up to date sends it; values given are sent instead."""
    found = re.match(r"/c/(\d+)/plan/", address)
    now = on_page(Conversation.objects.get(pk=found[1])) if found else {}
    return client.post(address, {**now, **values}, headers=HTMX)


def test_without_a_session_every_page_asks_for_a_sign_in(client):
    for address in ("/", "/c/1/", "/plans/", "/settings/agents/", "/settings/models/"):
        response = client.get(address)
        assert response.status_code == 302
        assert response["Location"].startswith("/signin/?next=")


def test_a_page_may_load_nothing_from_elsewhere(alice):
    c = conversation()
    response = alice.get(f"/c/{c.pk}/")
    assert "default-src 'self'" in response["Content-Security-Policy"]
    assert "unsafe" not in response["Content-Security-Policy"]
    assert " style=" not in html(response)
    assert "hx-on" not in html(response)


def test_the_start_is_the_newest_conversation(alice):
    conversation()
    newest = conversation()
    assert alice.get("/")["Location"] == f"/c/{newest.pk}/"


def test_the_start_without_conversations_is_an_empty_one(alice):
    id = agent(id="first-agent")
    set_owner(person("alice"), id)
    alice.get("/")
    assert Conversation.objects.get().agent_id == id


@pytest.mark.parametrize(
    "address",
    ["", "changes", "drawer", "earlier?before=9"],
)
def test_what_is_someone_elses_is_not_there(charlie, address):
    c = proposed_plan()
    assert charlie.get(f"/c/{c.pk}/{address}").status_code == 404


@pytest.mark.parametrize("verb", ["say", "stop", "retry", "rename", "delete", "draft"])
def test_nothing_can_be_done_to_someone_elses_conversation(charlie, verb):
    c = proposed_plan()
    assert post(charlie, f"/c/{c.pk}/{verb}", text="x", title="x").status_code == 404
    assert Conversation.objects.filter(pk=c.pk).exists()


@pytest.mark.parametrize("verb", ["approve", "cancel", "pause", "resume", "stop", "again", "edit"])
def test_nothing_can_be_done_to_someone_elses_plan(charlie, verb):
    c = proposed_plan()
    before = Plan.objects.values().get()
    assert post(charlie, f"/c/{c.pk}/plan/{verb}", version=1, title="x").status_code == 404
    assert Plan.objects.values().get() == before
    assert plan_of(c).run == Run.IDLE


def test_the_drawer_has_the_names_that_people_and_tests_rely_on(alice):
    c = proposed_plan("Read", "Write", "Check")
    page = " ".join(html(alice.get(f"/c/{c.pk}/")).split())
    plan = plan_of(c)
    assert f'id="plan" aria-label="Plan" data-plan-id="{plan.pk}" data-state="todo"' in page
    assert 'data-run="idle" data-version="1" data-approved-version=""' in page
    assert page.count('data-key="s') == 3
    assert 'aria-valuenow="0"' in page
    assert 'aria-valuemax="3"' in page
    assert 'aria-valuetext="0 of 3"' in page
    assert ">Start plan<" in page


def test_data_state_stands_on_the_plan_and_on_its_rows_alone(alice):
    c = proposed_plan("Read", "Write", "Check")
    page = html(alice.get(f"/c/{c.pk}/"))
    assert page.count("data-state=") == 1 + 3


def test_what_is_typed_is_answered_by_the_number_of_its_last_event_alone(alice):
    c = conversation()
    scripted(say("Hello."))
    response = post(alice, f"/c/{c.pk}/say", text="Good morning")
    c.refresh_from_db()
    assert int(response["Planside-Seq"]) == c.seq > 0
    assert "Good morning" not in html(response)
    assert f'id="cursor" hidden data-seq="{c.seq}"' in news(alice, c)
    assert "Good morning" in news(alice, c)


def test_a_message_that_is_too_long_is_refused_in_one_sentence(alice):
    c = conversation()
    response = post(alice, f"/c/{c.pk}/say", text="x" * 300_000)
    assert response.status_code == 422
    assert "300,000 characters" in html(response)
    assert texts(c, role="user") == []


def test_new_leads_to_another_conversation(alice):
    c = conversation()
    response = post(alice, f"/c/{c.pk}/say", text="/new")
    newest = Conversation.objects.order_by("pk").last()
    assert response["HX-Redirect"] == f"/c/{newest.pk}/"


def test_approving_another_version_is_refused_and_shows_the_present_one(alice):
    c = proposed_plan("Read", "Write")
    post(alice, f"/c/{c.pk}/plan/subtasks/s1/edit", version=1, name="Read it all")
    response = post(alice, f"/c/{c.pk}/plan/approve", version=1)
    assert response.status_code == 409
    assert "The plan is now v2, not v1." in html(response)
    c.refresh_from_db()
    assert int(response["Planside-Seq"]) == c.seq
    assert 'data-version="2"' in news(alice, c)
    assert plan_of(c).run == Run.IDLE


def test_approving_without_a_version_starts_nothing(alice):
    c = proposed_plan("Read")
    assert post(alice, f"/c/{c.pk}/plan/approve", version="").status_code == 422
    assert plan_of(c).approved_version is None


def editors(names):
    """The fields of open editors, all empty but the names."""
    empty = {f"subtask_{field}": [""] * len(names) for field in SUBTASK_TEXT}
    return empty | {"subtask_name": names}


def test_start_with_my_edits_saves_them_and_approves_just_that(alice):
    c = proposed_plan("Read", "Write")
    response = post(
        alice,
        f"/c/{c.pk}/plan/approve",
        version=1,
        subtask_key=["s2", ""],
        **editors(["Write it down", "Check it"]),
    )
    assert response.status_code == 200
    plan = plan_of(c)
    assert plan.approved_version == plan.version == 3
    names = plan.subtasks.order_by("position").values_list("name", flat=True)
    assert list(names) == ["Read", "Write it down", "Check it"]


def test_edits_that_cannot_be_saved_start_nothing_and_save_nothing(alice):
    c = proposed_plan("Read", "Write")
    edits = {"subtask_key": ["s1", "s2"], **editors(["Read well", ""])}
    response = post(alice, f"/c/{c.pk}/plan/approve", version=1, **edits)
    assert response.status_code == 422
    assert "Give it a name." in html(response)
    assert plan_of(c).version == 1
    edits = {"subtask_key": ["s1", "s2"], **editors(["Read", "Write"]), "plan_title": " "}
    response = post(alice, f"/c/{c.pk}/plan/approve", version=1, **edits)
    assert (response.status_code, plan_of(c).version) == (422, 1)
    assert "Give it a title." in html(response)


def test_edits_of_which_a_field_is_missing_start_nothing(alice):
    c = proposed_plan("Read", "Write")
    edits = {"subtask_key": ["s1"], "subtask_name": ["Read well"], "subtask_description": [""]}
    response = post(alice, f"/c/{c.pk}/plan/approve", version=1, **edits)
    assert response.status_code == 422
    assert plan_of(c).approved_version is None


def names(c):
    rows = plan_of(c).subtasks.filter(position__isnull=False).order_by("position")
    return [each.name for each in rows]


def undo(client, c, toast):
    """Press the toast's button: all that its form holds, at the version that is there now."""
    form = toast.split("data-toast", 1)[1]
    held = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form))
    return post(client, f"/c/{c.pk}/plan/subtasks", **held | on_page(c))


@pytest.mark.parametrize("place", [1, 2, 3])
def test_a_removed_subtask_is_put_back_where_it_was(alice, place):
    c = proposed_plan("Read", "Write", "Check")
    gone = html(post(alice, f"/c/{c.pk}/plan/subtasks/s{place}/remove", version=1))
    assert f"Removed subtask {place}. Plan is now v2." in gone
    assert undo(alice, c, gone).status_code == 200
    assert names(c) == ["Read", "Write", "Check"]


def test_a_removed_subtask_comes_back_with_its_texts(alice):
    c = proposed_plan("Read", "Write")
    words = {"name": "Read", "description": "All\nof it", "expected_outcome": "Known"}
    post(alice, f"/c/{c.pk}/plan/subtasks/s1/edit", version=1, **words)
    gone = html(post(alice, f"/c/{c.pk}/plan/subtasks/s1/remove", version=2))
    undo(alice, c, gone)
    first = plan_of(c).subtasks.get(position=1)
    assert {field: getattr(first, field) for field in words} == words


@pytest.mark.parametrize(
    ("gone_meanwhile", "left"),
    [
        (["s1"], ["Write", "Check", "Tell"]),
        (["s2"], ["Read", "Check", "Tell"]),
        (["s1", "s2"], ["Check", "Tell"]),
        (["s4"], ["Read", "Write", "Check"]),
    ],
)
def test_undo_finds_the_place_when_its_neighbours_went_meanwhile(alice, gone_meanwhile, left):
    c = proposed_plan("Read", "Write", "Check", "Tell")
    toast = html(post(alice, f"/c/{c.pk}/plan/subtasks/s3/remove", version=1))
    for key in gone_meanwhile:
        actions.remove_subtask(plan_of(c), key, "alice")
    undo(alice, c, toast)
    assert names(c) == left


def test_undo_leaves_what_has_started_before_what_was_removed(alice):
    c = proposed_plan("Read", "Write", "Check")
    scripted(call("finish_subtask", outcome="done"))
    actions.approve_plan(plan_of(c), 1, "alice", run="next")
    drive()
    version = plan_of(c).version
    gone = html(post(alice, f"/c/{c.pk}/plan/subtasks/s2/remove", version=version))
    undo(alice, c, gone)
    assert names(c) == ["Read", "Write", "Check"]
    assert shown(c)["subtasks"][0]["state"] == "done"


def test_what_was_never_removed_is_not_put_back(alice):
    c = proposed_plan("Read", "Write")
    answer = post(alice, f"/c/{c.pk}/plan/subtasks", version=1, restores="s1")
    assert answer.status_code == 422
    assert plan_of(c).version == 1


def test_a_poll_costs_a_304_when_nothing_changed(alice, django_assert_max_num_queries):
    c = proposed_plan("Read")
    first = alice.get(f"/c/{c.pk}/drawer")
    assert 'id="plan"' in html(first)
    with django_assert_max_num_queries(4):  # session, user, one number, and calls under way
        poll = {"If-None-Match": first["ETag"], "Sec-Fetch-Mode": "cors"}
        again = alice.get(f"/c/{c.pk}/drawer", headers=poll)
    assert again.status_code == 304
    tell(c, "/help")
    changed = alice.get(f"/c/{c.pk}/drawer", headers={"If-None-Match": first["ETag"]})
    assert changed.status_code == 200


def test_the_plan_mode_switch_writes_exactly_that_key(alice):
    c = conversation(plan={"enabled": False}, mine={"kept": [1, 2]})
    path = Path(settings.PLANSIDE_HOME) / "workspaces" / c.agent_id / "agent.json"
    alice_owns(c.agent_id)
    before = json.loads(path.read_text())
    response = post(alice, f"/settings/agents/{c.agent_id}/plan-mode", enabled="on")
    assert "Plan Mode is on." in html(response)
    after = json.loads(path.read_text())
    assert after.pop("plan") == {"enabled": True}
    before.pop("plan")
    assert after == before


def test_the_raw_file_is_refused_with_line_and_reason_and_stays_as_it_was(alice):
    c = conversation()
    alice_owns(c.agent_id)
    good = read_agent(c.agent_id)
    bad = good.text.replace('"model": "scripted",', '"model": "scripted"')
    response = post(alice, f"/settings/agents/{c.agent_id}/save", text=bad, digest=good.digest)
    assert response.status_code == 422
    assert '<li data-line="4" data-level="error">' in html(response)
    assert "A comma is missing." in html(response)
    assert read_agent(c.agent_id).text == good.text


def test_a_file_changed_on_disk_is_not_overwritten_unasked(alice):
    c = conversation()
    alice_owns(c.agent_id)
    seen = read_agent(c.agent_id)
    seen.path.write_text(seen.text.replace("scripted", "by-hand"))
    mine = seen.text.replace("scripted", "typed")
    address = f"/settings/agents/{c.agent_id}/save"
    response = post(alice, address, text=mine, digest=seen.digest)
    assert response.status_code == 412
    assert "agent.json changed on disk." in html(response)
    assert read_agent(c.agent_id).file.model == "by-hand"
    post(alice, address, text=mine, digest=seen.digest, keep="mine")
    assert read_agent(c.agent_id).file.model == "typed"


def test_an_agent_is_made_copied_and_deleted(alice):
    made = post(alice, "/settings/agents/new", name="Release helper")
    assert made["HX-Redirect"] == "/settings/agents/?agent=release-helper"
    assert not read_agent("release-helper").file.plan.enabled
    assert 'name="plan_mode" checked' in html(alice.get("/settings/agents/"))
    post(alice, "/settings/agents/new", name="Planner", plan_mode="on")
    assert read_agent("planner").file.plan.enabled
    post(alice, "/settings/agents/release-helper/copy")
    assert read_agent("release-helper-copy").file.name == "Release helper (copy)"
    page = html(alice.get("/settings/agents/"))
    assert 'aria-label="Release helper"' in page
    post(alice, "/settings/agents/release-helper/delete")
    assert 'aria-label="Release helper"' not in html(alice.get("/settings/agents/"))


def test_someone_elses_agent_is_not_there(charlie):
    c = conversation()
    alice_owns(c.agent_id)
    assert charlie.get(f"/settings/agents/{c.agent_id}/file").status_code == 404
    assert post(charlie, f"/settings/agents/{c.agent_id}/delete").status_code == 404
    assert read_agent(c.agent_id).file.name not in html(charlie.get("/settings/agents/"))


def test_no_page_shows_a_key(alice, settings):
    settings.PROVIDER_KEYS = {"openai": ProviderKey("OPENAI_API_KEY", "sk-secret")}
    assert "sk-secret" not in html(alice.get("/settings/models/"))


def test_the_list_of_plans_is_ones_own(alice):
    c = proposed_plan("Read")
    assert plan_of(c).title in html(alice.get("/plans/"))
    alice.force_login(person("charlie"))
    assert plan_of(c).title not in html(alice.get("/plans/"))


def alice_owns(agent_id):
    set_owner(person("alice"), agent_id)
