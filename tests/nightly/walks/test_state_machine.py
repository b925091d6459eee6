"""Any sequence of verbs, by a person, an agent and a runner that dies: the plans stay true.

The suite walks some hundred steps, the same each time. For a long, random walk:
PLANSIDE_WALKS=500 pytest tests/plans/test_state_machine.py (30 steps a walk).
"""

import os

import pytest
from django.db import transaction
from hypothesis import HealthCheck, Phase, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from agents.actors import AGENT
from agents.errors import NothingToDo, Refused, TurnFailed, TurnLost, TurnStopped, TurnWaits
from agents.models import Conversation, Event, Message, ToolCall, Turn, TurnState
from plans import actions
from plans.models import ActivePlan, Attempt, Plan, PlanVersion, Run, State, Subtask
from plans.schemas import PlanDraft, PlanEdit, Revision, SubtaskDraft, SubtaskEdit
from tests.inner import (
    ModelError,
    active_plan,
    checklist,
    claim,
    decide_call,
    due,
    end,
    fail,
    handler_of,
    interrupt,
    model_failed,
    persistence,
    put_back_orphans,
    ready,
    requeue,
    snapshot_text,
    start_turn,
    suspend,
    turns_of,
)
from tests.world import conversation

WALKS = int(os.environ.get("PLANSIDE_WALKS", 0))
TABLES = (
    *(Conversation, Plan, PlanVersion, Subtask, Attempt, ActivePlan),
    *(Turn, Message, ToolCall, Event),
)

names = st.sampled_from(["Read", "Write", "Check", "Ship", "تقرير", "{{x}} <b>"])
places = st.integers(0, 6)
actors = st.sampled_from(["alice", AGENT])
# Mostly what stands now; sometimes what another tab still shows.
ages = st.sampled_from([None, 0, 0, 0, 1])
drafts = st.builds(SubtaskDraft, name=names, description=st.sampled_from(["", "More."]))
words = st.fixed_dictionaries(
    {},
    optional={
        "place": places,
        "name": names,
        "description": st.sampled_from(["", "Other words."]),
        "remove": st.booleans(),
    },
)
word_lists = st.lists(words, max_size=4)


WAITS = ("question", "approval", "child", "retry")
BUSY = ModelError("busy", "The server is busy", "Try again.", retry_after=0.0)
works = st.lists(st.sampled_from(["done", "done", "failed", *WAITS]), min_size=1, max_size=4)


def open_run_turns(plan):
    return turns_of(plan).filter(state__in=Turn.OPEN_STATES)


def everything():
    """Each row of each table."""
    return {table: list(table.objects.order_by("pk").values_list()) for table in TABLES}


class Planning(RuleBasedStateMachine):
    """Two who change plans, and a runner with a turn or none in each lane."""

    def __init__(self):
        super().__init__()
        self.atomic = transaction.atomic()
        self.atomic.__enter__()
        self.c = conversation(plan={"enabled": True, "max_attempts": 2})
        self.keys = {}
        self.finished = {}
        self.texts = {}
        self.attempts = set()
        self.running = []
        self.lost = []
        self.verbs = 0
        self.do(actions.create_plan, self.c, PlanDraft(title="T", subtasks=["A", "B", "C"]), AGENT)

    def teardown(self):
        try:
            self.drain()
        finally:
            transaction.set_rollback(True)
            self.atomic.__exit__(None, None, None)

    # What the steps are made of

    def do(self, verb, *args, **more):
        """Carry out a verb; one that is refused has changed nothing."""
        before = everything()
        try:
            return verb(*args, **more)
        except Refused as refusal:
            note(f"refused: {refusal}")
            assert str(refusal).strip()
            assert everything() == before, "a refusal has left something behind"
            return None

    def plan(self, place=0):
        """The active plan, mostly; else any other. After an end there is soon another."""
        self.verbs += 1
        if self.verbs % 3 == 0:
            self.next_plan()
        plans = list(Plan.objects.order_by("pk"))
        active = active_plan(Conversation.objects.get(pk=self.c.pk))
        if active is not None and (place < 5 or len(plans) < 2):
            return active
        return plans[place % len(plans)] if plans else None

    def next_plan(self):
        active = active_plan(self.c)
        if active is None or not active.is_open:
            draft = PlanDraft(title="Next", subtasks=["A", "B", "C", "D"])
            self.do(actions.create_plan, self.c, draft, AGENT)

    def key(self, plan, place):
        keys = [*checklist(plan).values_list("key", flat=True)]
        gone = plan.subtasks.filter(position=None).values_list("key", flat=True)
        keys.extend([*gone][:1] or ["s99"])
        return keys[place % len(keys)]

    def revision(self, plan, words):
        """The words, with keys for places."""
        subtasks = []
        for word in words:
            word = dict(word)
            if "place" in word:
                word["key"] = self.key(plan, word.pop("place"))
            subtasks.append(word)
        return Revision.model_validate({"subtasks": subtasks, "explanation": "Better so"})

    def seen(self, plan, age):
        return None if age is None else plan.version - age

    @initialize(approved=st.booleans(), works=works)
    def begin(self, approved, works):
        if approved:
            self.get_going(works)

    # Text

    @rule(edits=st.lists(st.tuples(places | st.none(), names), max_size=4), age=ages)
    def edit(self, edits, age):
        if plan := self.plan():
            subtasks = [
                SubtaskEdit(name=name, key=None if place is None else self.key(plan, place))
                for place, name in edits
            ]
            edit = PlanEdit(title="Edited", subtasks=subtasks)
            self.do(actions.edit_plan, plan, edit, "alice", self.seen(plan, age))

    @rule(draft=drafts, after=places | st.none(), by=actors, age=ages)
    def add(self, draft, after, by, age):
        if plan := self.plan():
            after = None if after is None else self.key(plan, after)
            self.do(actions.add_subtask, plan, draft, by, self.seen(plan, age), after)

    @rule(place=places, name=names, by=actors, age=ages)
    def update(self, place, name, by, age):
        if plan := self.plan():
            key = self.key(plan, place)
            self.do(actions.update_subtask, plan, key, {"name": name}, by, self.seen(plan, age))

    @rule(place=places, to=st.integers(0, 8), by=actors, age=ages)
    def move(self, place, to, by, age):
        if plan := self.plan():
            self.do(actions.move_subtask, plan, self.key(plan, place), to, by, self.seen(plan, age))

    @rule(place=places, by=actors, age=ages)
    def remove(self, place, by, age):
        if plan := self.plan():
            self.do(actions.remove_subtask, plan, self.key(plan, place), by, self.seen(plan, age))

    @rule(words=word_lists)
    def revise(self, words):
        if plan := self.plan():
            self.do(actions.revise_plan, plan, self.revision(plan, words), AGENT)

    @rule(version=st.integers(1, 4), age=ages)
    def go_back(self, version, age):
        if plan := self.plan():
            self.do(actions.restore_version, plan, version, "alice", self.seen(plan, age))

    @rule(place=places | st.none())
    def replan(self, place):
        if plan := self.plan(place or 0):
            key = None if place is None else self.key(plan, place)
            self.do(actions.replan_rest, plan, "alice", key, "differently")

    @rule(place=places, words=word_lists)
    def replace_rest(self, place, words):
        if plan := self.plan():
            revision = self.revision(plan, words)
            self.do(actions.replace_rest, plan, self.key(plan, place), revision, AGENT)

    # The run

    @rule(age=st.sampled_from([0, 0, 0, 1]), run=st.sampled_from(["all", "all", "next", "no"]))
    def approve(self, age, run):
        if plan := self.plan():
            self.do(actions.approve_plan, plan, plan.version - age, "alice", run)

    @rule(mode=st.sampled_from(["all", "next"]), which=places)
    def run(self, mode, which):
        if plan := self.plan(which):
            self.do(actions.run_plan, plan, "alice", mode)

    @rule(verb=st.sampled_from(["pause_plan", "resume_plan", "stop_plan"]), which=places)
    def steer(self, verb, which):
        if plan := self.plan(which):
            self.do(getattr(actions, verb), plan, "alice")

    @rule(verb=st.sampled_from(["skip_subtask", "retry_subtask"]), place=places)
    def one_subtask(self, verb, place):
        if plan := self.plan():
            self.do(getattr(actions, verb), plan, self.key(plan, place), "alice")

    @rule()
    def answer(self):
        if plan := self.plan():
            self.do(actions.answer_question, plan, "Yes.", "alice")

    @rule(decision=st.sampled_from(["allow_once", "deny"]))
    def decide(self, decision):
        for call in ToolCall.objects.filter(tool="write_file", state="asked", decision=""):
            self.do(decide_call, call, decision, "alice")

    @rule()
    def other_agents_answer(self):
        for turn in Turn.objects.filter(waiting_for=Turn.WaitingFor.CHILD):
            requeue(turn)

    # Ends, and the shelf: one rule, lest every plan be gone before it has begun

    @rule(
        verb=st.sampled_from(
            [
                *("create_plan", "cancel_plan", "finish_plan", "activate_plan", "use_again"),
                *("delete_plan", "request_plan", "cancel_request", "clear"),
            ]
        ),
        which=places,
        subtasks=st.lists(drafts, max_size=4),
        by=actors,
    )
    def rarely(self, verb, which, subtasks, by):
        act, plan = getattr(actions, verb), self.plan(which)
        if verb in ("create_plan", "use_again") and Plan.objects.count() > 3:
            return
        if verb == "create_plan":
            self.do(act, self.c, PlanDraft(title="B", content="Why.", subtasks=subtasks), by)
        elif verb == "request_plan":
            self.do(self.ask, by)
        elif verb in ("cancel_request", "clear"):
            self.do(act, self.c, by)
        elif plan is not None:
            self.do(act, plan, *(["All well."] if verb == "finish_plan" else []), by)

    def ask(self, by):
        message, _ = start_turn(self.c, "/plan Something else", by, "plan")
        actions.request_plan(self.c, "Something else", by, message)

    # The runner

    @rule(prepared=st.sampled_from([True, True, True, False]))
    def start(self, prepared):
        """Take what is due; a worker may die before it has prepared its turn."""
        self.take(prepared)

    def take(self, prepared):
        for turn in claim(5):
            self.running.append(turn)
            if prepared and turn.kind != "plan":
                self.prepare(turn)

    def prepare(self, turn):
        try:
            handler_of(turn).prepare(turn)
        except NothingToDo:
            self.settle(turn, lambda: None, late=True)

    def settle(self, turn, work, late=False):
        """Work, and leave `running` as agents.turns does; `late` wishes come after the work."""
        if turn in self.running:
            self.running.remove(turn)
        try:
            if not late:
                with persistence.fenced(turn):
                    persistence.check_stop_requested(turn)
            work()
        except TurnLost:
            return
        except TurnStopped:
            end(turn, TurnState.STOPPED)
        except TurnWaits as wait:
            suspend(turn, wait)
        except ModelError as error:
            model_failed(turn, error)
        except TurnFailed as failure:
            fail(turn, failure)
        except Refused as refusal:
            fail(turn, TurnFailed("logic", str(refusal)))
        else:
            end(turn, TurnState.DONE)

    def called(self, turn, tool, **arguments):
        """A call the model made, that was carried out."""
        with persistence.fenced(turn):
            message = persistence.add_message(turn, "assistant", Message.Kind.TEXT)
            ToolCall.objects.create(
                message=message,
                turn=turn,
                call_id=f"c{message.pk}",
                tool=tool,
                arguments=arguments,
                state={"ask_user": "running", "write_file": "asked"}.get(tool, "done"),
            )

    def one_running(self, lane, place=0):
        turns = [turn for turn in self.running if turn.lane == lane]
        return turns[place % len(turns)] if turns else None

    @precondition(lambda self: self.one_running("run"))
    @rule(outcome=st.sampled_from(["done", "failed", "silent", "transient"]), late=st.booleans())
    def outcome(self, outcome, late):
        self.finish_one(self.one_running("run"), outcome, late)

    @precondition(lambda self: self.one_running("run"))
    @rule(wait=st.sampled_from(WAITS), late=st.booleans())
    def wait(self, wait, late):
        self.finish_one(self.one_running("run"), wait, late)

    @rule(works=works)
    def going(self, works):
        self.get_going(works)

    def get_going(self, works):
        """A plan, if there is none, a yes to it, and a runner that works for a while."""
        self.next_plan()
        plan = active_plan(self.c)
        self.do(actions.approve_plan, plan, plan.version, "alice")
        self.work_through(works)

    @rule(works=works)
    def work_on(self, works):
        if plan := self.plan():
            self.do(actions.run_plan, plan, "alice")
        self.work_through(works)

    def work_through(self, outcomes):
        for outcome in outcomes:
            self.take(True)
            if turn := self.one_running("run"):
                self.finish_one(turn, outcome, late=False)
                self.all_is_well()
        self.take(True)

    def finish_one(self, turn, outcome, late):
        if turn.kind == "subtask" and not Attempt.objects.filter(turn=turn).exists():
            self.prepare(turn)
        if turn in self.running:
            self.settle(turn, lambda: self.work(turn, outcome), late)

    def work(self, turn, outcome):
        if turn.kind == "closing":
            if outcome == "transient":
                raise TurnFailed("transient", "The model did not answer.")
            return
        if outcome == "question":
            self.called(turn, "ask_user", question="Which?")
            actions.ask_question(turn, "Which?", AGENT)
            raise TurnWaits(Turn.WaitingFor.QUESTION)
        if outcome == "approval":
            self.called(turn, "write_file", path="a.txt")
            raise TurnWaits(Turn.WaitingFor.APPROVAL)
        if outcome == "child":
            raise TurnWaits(Turn.WaitingFor.CHILD)
        if outcome == "retry":
            raise BUSY
        if outcome == "transient":
            raise TurnFailed("transient", "The model did not answer.")
        if outcome == "silent":
            raise TurnFailed("logic", "It ended without a result.")
        if outcome == "done":
            self.called(turn, "finish_subtask", outcome="good", result={"n": 1})
        else:
            self.called(turn, "fail_subtask", error="It is locked.")

    @precondition(lambda self: self.one_running("chat"))
    @rule(words=word_lists, says_it=st.booleans())
    def planned_anew(self, words, says_it):
        """The planner answers a replan; or with words alone."""
        turn = self.one_running("chat")
        plan = self.plan()

        def work():
            if says_it and plan is not None and (key := turn.checkpoint.get("replan")):
                self.do(actions.replace_rest, plan, key, self.revision(plan, words), AGENT)

        self.settle(turn, work)

    @precondition(lambda self: self.running)
    @rule(gracefully=st.booleans())
    def crash(self, gracefully):
        """The process goes down; the next one puts back what it left."""
        for turn in self.running:
            if gracefully:
                interrupt(turn)
            else:
                self.lost.append(turn)
        self.running = []
        put_back_orphans(all_of_them=True)

    @precondition(lambda self: self.lost)
    @rule()
    def a_dead_worker_writes(self):
        """What it still wants to say comes too late, whoever has the turn now."""
        turn = self.lost.pop()
        before = everything()
        with pytest.raises(TurnLost):
            end(turn, TurnState.DONE)
        assert everything() == before

    # What always holds

    @invariant()
    def all_is_well(self):
        for holds in (
            self.keys_are_never_reused,
            self.positions_have_no_gaps,
            self.what_is_done_stays_byte_for_byte,
            self.versions_are_kept_and_never_change,
            self.nothing_begins_without_a_yes,
            self.one_thing_at_a_time,
            self.a_live_run_has_a_turn_that_moves_it,
            self.a_persons_pause_holds,
            self.a_runs_turn_has_its_plan,
            self.a_turn_that_has_not_begun_is_for_what_is_ready,
            self.events_are_numbered_without_gaps,
            self.what_has_ended_has_nothing_open,
        ):
            holds()

    def keys_are_never_reused(self):
        rows = Subtask.objects.values_list("plan_id", "key", "pk").order_by("pk")
        for plan, key, pk in rows:
            last = max((int(k[1:]) for p, k in self.keys if p == plan), default=0)
            if self.keys.setdefault((plan, key), pk) == pk:
                continue
            raise AssertionError(f"{key} was used twice, after s{last}")
        here = {(plan, key) for plan, key, _ in rows}
        plans = set(Plan.objects.values_list("pk", flat=True))
        assert {known for known in self.keys if known[0] in plans} <= here

    def positions_have_no_gaps(self):
        for plan in Plan.objects.all():
            positions = list(checklist(plan).values_list("position", flat=True))
            assert positions == list(range(1, len(positions) + 1))

    def what_is_done_stays_byte_for_byte(self):
        done = {row[0]: row for row in Subtask.objects.filter(state=State.DONE).values_list()}
        plans = set(Plan.objects.values_list("pk", flat=True))
        for pk, (plan, row) in self.finished.items():
            assert plan not in plans or done.get(pk) == row
        for subtask in Subtask.objects.filter(state=State.DONE):
            self.finished[subtask.pk] = (subtask.plan_id, done[subtask.pk])

    def versions_are_kept_and_never_change(self):
        for plan in Plan.objects.all():
            rows = dict(plan.versions.values_list("version", "snapshot"))
            assert list(rows) == list(range(1, plan.version + 1))
            assert rows[plan.version] == snapshot_text(plan)
            for version, text in rows.items():
                assert self.texts.setdefault((plan.pk, version), text) == text
            assert (plan.approved_version or 0) <= plan.version

    def nothing_begins_without_a_yes(self):
        for attempt in Attempt.objects.exclude(pk__in=self.attempts).select_related(
            "subtask__plan"
        ):
            plan = attempt.subtask.plan
            assert attempt.version == plan.version == plan.approved_version
            self.attempts.add(attempt.pk)
        for subtask in Subtask.objects.filter(state=State.IN_PROGRESS):
            attempt = subtask.attempts.last()
            assert attempt is not None
            assert attempt.turn.is_open
            assert not attempt.failure_class
            said = Event.objects.filter(type="plan.approved", subject=f"plan:{subtask.plan_id}")
            assert attempt.version in [event.data["version"] for event in said]

    def one_thing_at_a_time(self):
        assert Subtask.objects.filter(state=State.IN_PROGRESS).count() <= 1

    def a_live_run_has_a_turn_that_moves_it(self):
        for plan in Plan.objects.all():
            assert not plan.is_live or open_run_turns(plan), f"{plan.run} without a turn"

    def a_persons_pause_holds(self):
        """Until somebody starts or stops the run, or a failure or a new version does."""
        for plan in Plan.objects.filter(state__in=[State.TODO, State.IN_PROGRESS]):
            moved = Event.objects.filter(subject=f"plan:{plan.pk}", type__startswith="run.")
            moved = moved.exclude(type="run.resumed").exclude(type="run.paused", actor="system")
            last = moved.order_by("seq").last()
            if last is not None and last.type == "run.paused":
                assert plan.run in (Run.PAUSED, Run.PAUSING), f"{plan.run} after a pause"
                assert plan.pause_reason in ("user", "aside", "confirm")

    def a_runs_turn_has_its_plan(self):
        for turn in Turn.objects.filter(lane="run", state__in=["queued", "running", "waiting"]):
            assert Plan.objects.filter(pk=turn.plan).exists()

    def a_turn_that_has_not_begun_is_for_what_is_ready(self):
        for plan in Plan.objects.filter(state__in=[State.TODO, State.IN_PROGRESS]):
            keys = [subtask.key for subtask in ready(plan)] or [None]
            waiting = open_run_turns(plan).filter(kind="subtask", attempt=None)
            assert [turn.checkpoint["subtask"] for turn in waiting] in ([], keys)

    def events_are_numbered_without_gaps(self):
        numbers = list(Event.objects.order_by("pk").values_list("seq", flat=True))
        assert numbers == list(range(1, len(numbers) + 1))
        assert Conversation.objects.get(pk=self.c.pk).seq == len(numbers)

    def what_has_ended_has_nothing_open(self):
        for plan in Plan.objects.exclude(state__in=[State.TODO, State.IN_PROGRESS]):
            assert not checklist(plan).filter(state__in=["todo", "in_progress"]).exists()

    # And at the end of every walk

    def drain(self):
        """Left to itself, with a model that does its work, every run comes to rest."""
        for _ in range(100):
            self.other_agents_answer()
            self.take(True)
            if not self.running and not due().exists():
                break
            for turn in list(self.running):
                self.settle(
                    turn, lambda turn=turn: self.work(turn, "done") if turn.lane == "run" else None
                )
        assert not [plan for plan in Plan.objects.all() if plan.is_live], "a run got stuck"


@pytest.mark.django_db
def test_no_sequence_of_verbs_breaks_a_plan():
    run_state_machine_as_test(
        Planning,
        settings=settings(
            max_examples=WALKS or 20,
            stateful_step_count=30,
            derandomize=not WALKS,
            deadline=None,
            phases=[Phase.generate],  # shrinking takes minutes; a walk is short enough to read
            suppress_health_check=list(HealthCheck),
        ),
    )
