"""What was made before the newest migrations is shown and counted rightly after them."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import translation

from agents.errors import Conflict
from agents.models import Conversation, Event, Message, ToolCall, Turn, Undo
from plans.models import Plan
from tests.inner import (
    attachments,
    attempts_of,
    one_migration_at_a_time,
    text_of_parts,
    times_of_plan,
)

OLD = [("agents", "0003_tries_are_counted_in_one_place"), ("plans", "0001_initial")]
MORNING = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
HOUR = 3600.0
DAY = 24 * HOUR
SLACK = 120  # seconds, of what goes on until now


def after(seconds):
    return MORNING + timedelta(seconds=seconds)


def migrate(targets):
    executor = MigrationExecutor(connection)
    executor.migrate(targets)
    return MigrationExecutor(connection).loader.project_state(targets).apps


class OldHome:
    """Rows as they were, with their times."""

    def __init__(self, apps):
        self.model = {
            name: apps.get_model(app, name)
            for app, name in (
                ("auth", "User"),
                ("agents", "Conversation"),
                ("agents", "Message"),
                ("agents", "Turn"),
                ("agents", "ToolCall"),
                ("agents", "Event"),
                ("plans", "Plan"),
                ("plans", "PlanVersion"),
                ("plans", "Subtask"),
                ("plans", "Attempt"),
            )
        }

    def add(self, _model, at=None, **values):
        row = self.model[_model].objects.create(**values)
        if at is not None:  # what is filled in by itself is now
            self.model[_model].objects.filter(pk=row.pk).update(created_at=at)
        return row

    def conversation(self, owner, parent_call=None):
        user, _ = self.model["User"].objects.get_or_create(username=owner)
        return self.add("Conversation", owner=user, agent_id="a", parent_call=parent_call)

    def event(self, c, type, at, subject="", actor="", **data):
        c.seq += 1
        c.save()
        self.add(
            "Event",
            at,
            conversation=c,
            seq=c.seq,
            type=type,
            subject=subject,
            actor=actor,
            data=data,
        )

    def turn(self, c, *steps, state="done", lane="run", **values):
        """`steps` are (seconds, event type, what for)."""
        started = next(after(seconds) for seconds, type, *_ in steps if type == "started")
        ended = [after(seconds) for seconds, type, *_ in steps if type == "ended"]
        values |= {"started_at": started, "finished_at": ended[0] if ended else None}
        turn = self.add("Turn", conversation=c, state=state, lane=lane, kind="subtask", **values)
        for seconds, type, *what in steps:
            data = {"what": what[0]} if what else {}
            subject = f"turn:{turn.pk}" if type in ("started", "waiting", "queued", "ended") else ""
            kind = f"turn.{type}" if subject else type
            self.event(c, kind, after(seconds), subject, **data)
        return turn

    def call(self, c, turn, seconds, until, **values):
        c.seq += 1
        c.save()
        message = self.add(
            "Message", conversation=c, turn=turn, seq=c.seq, changed_seq=c.seq, role="assistant"
        )
        values |= {"started_at": after(seconds), "finished_at": after(until) if until else None}
        return self.add("ToolCall", message=message, turn=turn, call_id="1", **values)

    def plan(self, c, *turns, **values):
        plan = self.add("Plan", conversation=c, title="Move house", **values)
        for number, turn in enumerate(turns, 1):
            s = self.add("Subtask", plan=plan, key=f"s{number}", position=number, name="Pack")
            self.add("Attempt", subtask=s, number=1, version=1, turn=turn)
        return plan


STARTED, QUEUED, ENDED = (0, "started"), (0, "queued"), (1, "ended")
# What a turn went through, how it stands, and the seconds it worked, waited and was paused;
# None is: until now.
STORIES = {
    "worked": ([QUEUED, (5, "started"), (15, "ended")], "done", (10, 0, 0)),
    "waited for a yes": (
        [
            STARTED,
            (10, "waiting", "approval"),
            (HOUR, "queued"),
            (HOUR, "started"),
            (HOUR + 5, "ended"),
        ],
        "done",
        (15, HOUR - 10, 0),
    ),
    "was paused": (
        [
            STARTED,
            (10, "waiting", "pause"),
            (DAY, "queued"),
            (DAY + 9, "started"),
            (DAY + 11, "ended"),
        ],
        "done",
        (12, 0, DAY - 10),
    ),
    "was killed, and found a day later": (
        [STARTED, (10, "message.added"), (DAY, "queued"), (DAY, "started"), (DAY + 5, "ended")],
        "done",
        (15, 0, 0),
    ),
    "is killed": ([STARTED, (10, "message.added")], "running", (20, 0, 0)),
    "is paused": ([STARTED, (10, "waiting", "pause")], "waiting", (10, 0, None)),
    "waits for a yes": ([STARTED, (10, "waiting", "approval")], "waiting", (10, None, 0)),
    "waits for an answer": ([STARTED, (10, "waiting", "question")], "waiting", (10, None, 0)),
    "waits in the queue": (
        [STARTED, (10, "waiting", "pause"), (30, "queued")],
        "queued",
        (10, 0, 20),
    ),
}


def of_a_story(home, story):
    """The plan of a turn that went through it."""
    steps, state, _ = STORIES[story]
    what = steps[-1][2] if state == "waiting" else ""
    lease = after(20) if state == "running" else None
    c = home.conversation("alice")
    turn = home.turn(c, *steps, state=state, waiting_for=what, lease_until=lease)
    return home.plan(c, turn, run="paused" if state == "waiting" else "idle").pk


def of_an_agent_below(home, is_over):
    """A turn whose agent below waited for a person from second 30 on, for an hour or until now."""
    c = home.conversation("alice")
    steps = [STARTED, (10, "waiting", "child")]
    theirs = [(20, "started"), (30, "waiting", "approval")]
    if is_over:
        steps += [(HOUR + 50, "queued"), (HOUR + 50, "started"), (HOUR + 55, "ended")]
        theirs += [(HOUR + 30, "queued"), (HOUR + 30, "started"), (HOUR + 40, "ended")]
    state, what, its = ("done", "", "") if is_over else ("waiting", "child", "approval")
    above = home.turn(c, *steps, state=state, waiting_for=what)
    child = home.conversation("alice", home.call(c, above, 10, None, tool="run_agent"))
    home.turn(child, *theirs, state=state, waiting_for=its)
    return home.plan(c, above, run="idle" if is_over else "paused").pk


def of_a_pause_between_two_steps(home):
    c = home.conversation("alice")
    plan = home.plan(c, home.turn(c, STARTED, ENDED), run="paused", pause_reason="user")
    home.model["Plan"].objects.filter(pk=plan.pk).update(updated_at=after(10))
    return plan.pk


def of_a_person_called(home, owner):
    c = home.conversation(owner)
    turn = home.turn(c, STARTED, (100, "ended"), lane="chat")
    home.call(c, turn, 10, 12, tool="create_plan", decision="allow_once")
    home.call(c, turn, 20, 22, tool="read_file")
    plan = home.plan(c, version=2, approved_version=2, approved_by=owner)
    home.event(c, "plan.asked", after(1), actor=owner)
    home.event(c, "plan.created", after(11), actor="agent")
    home.event(c, "plan.updated", after(30), actor=owner)
    home.event(c, "plan.updated", after(31), actor="system")
    home.event(c, "run.started", after(32))
    for version, author, seconds in ((1, "agent", 11), (2, owner, 30)):
        values = {"plan": plan, "version": version, "author": author, "snapshot": {}}
        home.add("PlanVersion", after(seconds), **values)
    return plan.pk


def of_nested_plans(home):
    c = home.conversation("alice")
    above = home.turn(c, STARTED, ENDED)
    child = home.conversation("alice", home.call(c, above, 0, 1, tool="run_agent"))
    return [
        home.plan(where, approved_version=1, approved_by=by).pk
        for where, by in ((c, "alice"), (child, "subtask s1 of plan 1 v1"), (child, "alice"))
    ]


def times(pk):
    plan = Plan.objects.get(pk=pk)
    shown = times_of_plan(plan, attempts_of(plan))
    return shown.worked, shown.waited, shown.paused


def deeds(pk):
    plan = Plan.objects.get(pk=pk)
    c = plan.conversation_id
    events = Event.objects.filter(conversation=c, type__regex="^(plan|run)").order_by("seq")
    calls = ToolCall.objects.filter(message__conversation=c).order_by("pk")
    return {
        "events": [*events.values_list("type", "actor_kind")],
        "versions": [*plan.versions.order_by("version").values_list("author_kind", flat=True)],
        "approved": plan.approved_kind,
        "decided": [*calls.values_list("decided_by", flat=True)],
    }


def kinds(pks):
    return [*Plan.objects.filter(pk__in=pks).order_by("pk").values_list("approved_kind", flat=True)]


def of_two_conversations(home):
    """Replies of both in turn, a run's turn between them."""
    one, other = home.conversation("alice"), home.conversation("alice")
    lanes = [(one, "chat"), (other, "chat"), (one, "run"), (one, "chat"), (other, "chat")]
    return [home.turn(c, STARTED, ENDED, lane=lane).pk for c, lane in [*lanes, (one, "chat")]]


def parents(pks):
    """The place in the list of each one's parent."""
    rows = Turn.objects.in_bulk(pks)
    return [parent and pks.index(parent) for parent in (rows[pk].parent_id for pk in pks)]


def of_called_agents(home):
    """Two of a person; below the second, for its plan, an agent, which called one that called two."""
    found = [home.conversation("alice"), home.conversation("alice")]
    for caller in (1, 2, 3, 3):
        c = found[caller]
        turn = home.turn(c, STARTED, ENDED, checkpoint={"plan": 40 + caller} if caller < 3 else {})
        call = home.call(c, turn, 0, 1, tool="run_agent")
        found.append(home.conversation("alice", call))
    return [c.pk for c in found]


def roots(pks):
    """The place in the list of the person's conversation above each, how deep it lies, and of its
    turns the plan and the person's plan.
    """
    found = Conversation.objects.in_bulk(pks)
    plans = [found[pk].turns.values_list("plan", "serves").distinct() for pk in pks]
    places = [(pks.index(found[pk].top), found[pk].depth) for pk in pks]
    return [(*place, list(of)) for place, of in zip(places, plans, strict=True)]


@pytest.fixture(scope="module")
def upgraded(django_db_setup, django_db_blocker):
    """What is told, after the upgrade, of an old home in which all of that was."""
    with django_db_blocker.unblock():
        try:
            home = OldHome(migrate(OLD))
            told = [(times, story, of_a_story(home, story)) for story in STORIES]
            told += [
                (times, is_over, of_an_agent_below(home, is_over)) for is_over in (True, False)
            ]
            told += [(times, "between", of_a_pause_between_two_steps(home))]
            told += [(deeds, name, of_a_person_called(home, name)) for name in ("alice", "agent")]
            told += [(kinds, "nested", of_nested_plans(home))]
            told += [(parents, "replies", of_two_conversations(home))]
            told += [(roots, "called", of_called_agents(home))]
        finally:
            migrate(MigrationExecutor(connection).loader.graph.leaf_nodes())
        yield {what: tell(pk) for tell, what, pk in told}
        call_command("flush", interactive=False, verbosity=0)


def until_now(seconds):
    return (datetime.now(UTC) - after(seconds)).total_seconds()


@pytest.mark.parametrize("story", STORIES)
@pytest.mark.sampled(3)
def test_an_older_turn_has_worked_waited_and_been_paused_as_its_events_say(upgraded, story):
    expected = STORIES[story][2]
    wanted = [until_now(10) if seconds is None else seconds for seconds in expected]
    assert upgraded[story] == pytest.approx(wanted, abs=SLACK if None in expected else 0.01)


def test_an_older_turn_did_not_work_while_an_agent_below_waited_for_a_person(upgraded):
    assert upgraded[True] == pytest.approx((55, HOUR, 0), abs=0.01), "it is over"
    assert upgraded[False] == pytest.approx((30, until_now(30), 0), abs=SLACK), "it waits still"


def test_a_plan_that_was_paused_between_two_steps_is_paused_since_then(upgraded):
    assert upgraded["between"] == pytest.approx((1, 0, until_now(10)), abs=SLACK)


@pytest.mark.parametrize("owner", ["alice", "agent"])
def test_who_did_what_is_told_even_of_a_person_whose_name_is_agent(upgraded, owner):
    assert upgraded[owner] == {
        "events": [
            ("plan.asked", "person"),
            ("plan.created", "agent"),
            ("plan.updated", "person"),
            ("plan.updated", "system"),
            ("run.started", "system"),
        ],
        "versions": ["agent", "person"],
        "approved": "person",
        "decided": [owner, ""],
    }


def test_the_yes_to_a_plan_that_served_another_is_the_systems(upgraded):
    assert upgraded["nested"] == ["person", "system", "person"]


def test_an_older_conversation_of_a_called_agent_knows_its_root_and_depth(upgraded):
    assert upgraded["called"] == [
        *[(0, 0, []), (1, 0, [(41, 41)]), (1, 1, [(42, 41)]), (1, 2, [(None, 41)])],
        *[(1, 3, []), (1, 3, [])],
    ]


def test_an_older_reply_stands_behind_the_one_before_it(upgraded):
    assert upgraded["replies"] == [None, None, None, 0, 1, 3]


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif("connection.vendor != 'postgresql'")
def test_a_migration_may_think_for_longer_than_other_transactions():
    def patience():
        with connection.cursor() as cursor:
            cursor.execute("SHOW idle_in_transaction_session_timeout")
            return cursor.fetchone()[0]

    before = patience()
    with one_migration_at_a_time():
        assert patience() == "0"
    assert patience() == before != "0"


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif("connection.vendor != 'postgresql'")
def test_another_process_that_migrates_for_too_long_is_named(monkeypatch, caplog):
    monkeypatch.setattr("console.home.AT_ONCE", 0.1)
    monkeypatch.setattr("console.home.MIGRATING", 0.2)
    named = pytest.raises(Conflict, match="Another process has been")
    with one_migration_at_a_time(), named, one_migration_at_a_time():
        pass
    assert "brings the database up to date: waiting for it, up to 0.2 s" in caplog.text


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif("connection.vendor != 'postgresql'")
def test_the_lock_outlasts_a_limit_that_the_server_sets(monkeypatch):
    limit = "-c idle_in_transaction_session_timeout=50"
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "options", limit)
    with one_migration_at_a_time():
        time.sleep(0.3)


@pytest.mark.django_db(transaction=True)
def test_an_older_message_and_message_box_have_their_files():
    """One stands in the box; a message has brought two along, the row of one of which is gone."""
    try:
        apps = migrate([("agents", "0041_folders_are_relative_to_the_home")])
        user = apps.get_model("auth", "User").objects.create(username="alice")
        c = apps.get_model("agents", "Conversation").objects.create(owner=user, agent_id="a")
        rows = apps.get_model("agents", "Attachment").objects
        keys = [rows.create(conversation=c, data=b"").pk for _ in "ab"]
        names = ["a.txt", "b.png", "c.txt"]
        old = [
            {"attachment": key, "name": name, "path": f"uploads/{name}", "size": size}
            | {"media_type": "text/plain"}
            for size, (key, name) in enumerate(zip([*keys, keys[-1] + 9], names, strict=True), 1)
        ]
        c.attached = old[:1]
        c.save()
        old[1] |= {"width": 40, "height": 30}
        for seq, files in enumerate([[], old[1:]]):
            apps.get_model("agents", "Message").objects.create(
                conversation=c, seq=seq, changed_seq=seq, meta={"attachments": files}
            )
    finally:
        migrate(MigrationExecutor(connection).loader.graph.leaf_nodes())
    chat = Conversation.objects.get()
    assert [(each.pk, each.size) for each in attachments.in_box(chat)] == [(keys[0], 1)]
    first, second = chat.messages.order_by("seq")
    assert (first.has_files, first.attachments) == (False, [])
    found = [(each.pk, each.size, each.width, each.in_box) for each in second.attachments]
    assert found == [(keys[1], 2, 40, False), (keys[1] + 9, 3, None, False)]
    assert second.attachments[1].path == "uploads/c.txt"


@pytest.mark.django_db(transaction=True)
def test_older_notices_and_undos_say_the_same_in_the_readers_language():
    try:
        apps = migrate([("agents", "0052_looks_at_a_folder")])
        owner = apps.get_model("auth", "User").objects.create(username="alice")
        rows = {
            name: apps.get_model("agents", name) for name in ("Conversation", "Message", "Undo")
        }
        c = rows["Conversation"].objects.create(owner=owner, agent_id="a")
        back = {"code": "message.given_back", "messages": 2, "reason": "stopped"}
        codes = [
            [{"code": "undone.subtask", "number": 3}, {"code": "undo.restored", "n": 1}],
            [back],
            [{"code": "of.a.later.version"}],
        ]
        for seq, said in enumerate(codes):
            about = {"conversation": c, "kind": "notice", "seq": seq, "changed_seq": seq}
            rows["Message"].objects.create(
                role="system", text="?", meta={"sentences": said}, **about
            )
        rows["Undo"].objects.create(conversation=c, root="/", sentence={"code": "undone.reply"})
        old = {"code": "as_written", "text": "As it was."}
        rows["Undo"].objects.create(conversation=c, root="/", sentence=old)
    finally:
        migrate(MigrationExecutor(connection).loader.graph.leaf_nodes())
    notices = Message.objects.filter(conversation=c.pk).order_by("pk")
    assert [each.text for each in notices] == [
        "You undid the changes of subtask 3. 1 file restored.",
        "2 messages were not sent: they are back in the message box.",
        "?",
    ]
    assert [each.meta for each in notices] == [
        {},
        {"given_back": {"messages": 2, "reason": "stopped"}},
        {},
    ]
    with translation.override("zh-hans"):
        assert notices.all()[0].text == "你撤销了第 3 个子任务的更改。已恢复 1 个文件。"
    undos = Undo.objects.filter(conversation=c.pk).order_by("pk")
    assert [text_of_parts(each.sentence) for each in undos] == [
        "You undid the changes of a reply.",
        "As it was.",
    ]
