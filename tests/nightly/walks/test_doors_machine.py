"""Two pages, two accounts, scripts and commands, each acting on what it saw last: no yes to
anything that its giver had not been shown.

The suite walks a few histories, the same each time. For many random ones:
PLANSIDE_DOORS=500 pytest tests/plans/test_doors_machine.py
"""

import os
import re
import sys
from collections import Counter
from io import StringIO
from unittest import mock

import pytest
from django.db import transaction
from django.test import Client, override_settings
from hypothesis import HealthCheck, Phase, currently_in_test_context, settings
from hypothesis import note as write_down
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from agents.actors import AGENT
from agents.errors import Refused
from agents.models import Event
from plans import actions
from plans.models import LIVE, Plan
from plans.schemas import PlanDraft, Revision
from tests.inner import Command, local_owner
from tests.markup import flat
from tests.world import HTMX, conversation, person

HISTORIES = int(os.environ.get("PLANSIDE_DOORS", 0))
SHOWN = re.compile(r'data-plan-id="(\d*)"[^>]* data-version="(\d*)"')
ROW = re.compile(r'<li class="step"[^>]* data-key="(s\d+)"')
AT_EASE = {"MESSAGES_PER_MINUTE": 10**6, "API_CALLS_PER_MINUTE": 10**6}

pages = st.sampled_from(["one", "two"])
DOORS = ("one", "two", "bob", "script", "cli")
anyone = st.sampled_from(DOORS)
phrases = st.sampled_from(["ok", "go ahead", "start", "yes please"])
titles = st.sampled_from(["Read", "Write", "Check"])


# How often each door answered how, and who said yes: a walk in which nothing happens shows nothing.
came_of_it: Counter[tuple[str, object]] = Counter()


def note(text):
    """What a failing history prints."""
    if currently_in_test_context():
        write_down(text)


class Actor:
    """Somebody at a door: whose account it is, what they saw last, and all they ever saw."""

    def __init__(self, name, user, client=None):
        self.name, self.user, self.client = name, user, client
        self.seen = ("", "")
        self.first_key = "s1"
        self.shown = set()

    def sees(self, plan, version):
        self.seen = (str(plan), str(version))
        if plan:
            self.shown.add((int(plan), int(version)))

    def reads(self, html):
        """What a page shows after this answer, if it shows a drawer."""
        if found := SHOWN.search(html[html.find('id="plan"') :] if 'id="plan"' in html else ""):
            self.sees(*found.groups())
            self.first_key = (ROW.findall(html) or ["s1"])[0]


class Doors(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.atomic = transaction.atomic()
        self.atomic.__enter__()
        self.owner, bob = local_owner(), person("bob")
        self.c, self.bobs = conversation(self.owner.username), conversation("bob")
        self.actors = {"cli": Actor("cli", self.owner)}
        for name in ("one", "two", "bob", "script"):
            user = bob if name == "bob" else self.owner
            self.actors[name] = Actor(name, user, self.browser(user))
        self.agent_makes("A", beside=False)
        actions.create_plan(self.bobs, PlanDraft(title="Bob's", subtasks=["X"]), AGENT)

    def teardown(self):
        transaction.set_rollback(True)
        self.atomic.__exit__(None, None, None)

    def browser(self, user):
        client = Client()
        client.force_login(user)
        return client

    # What everybody does is watched

    def watched(self, actor, act, also=()):
        """Each yes that came of it was to something the actor had been shown, in their name."""
        last = Event.objects.order_by("pk").values_list("pk", flat=True).last() or 0
        running = set(Plan.objects.filter(run__in=LIVE).values_list("pk", flat=True))
        allowed = {*actor.shown, *also}
        act(allowed)
        for event in Event.objects.filter(pk__gt=last, type="plan.approved"):
            yes = (int(event.subject.removeprefix("plan:")), event.data["version"])
            assert yes in allowed, f"{yes} was approved, shown were {sorted(allowed)}"
            assert event.conversation.owner_id == actor.user.pk
            came_of_it["approved", actor.name] += 1
        for plan in Plan.objects.filter(run__in=LIVE).exclude(pk__in=running):
            assert plan.is_confirmed
            assert actor.client is None or (plan.pk, plan.version) in allowed, "ran unseen"

    def page(self, who, path, also=(), **values):
        actor = self.actors[who]
        c = self.bobs if who == "bob" else self.c

        def act(_):
            answer = actor.client.post(f"/c/{c.pk}/{path}", values, headers=HTMX)
            note(f"{who} {path} {values}: {answer.status_code}")
            came_of_it[f"page {re.sub(r'[0-9]+', 'N', path)}", answer.status_code] += 1
            actor.reads(flat(answer.content.decode()))

        self.watched(actor, act, also)

    def form(self, who):
        plan, version = self.actors[who].seen
        return {"plan": plan, "version": version}

    def api(self, method, path, body):
        actor = self.actors["script"]

        def act(_):
            answer = getattr(actor.client, method)(
                f"/api{path}", body, content_type="application/json", headers={"Origin": ""}
            )
            note(f"script {path} {body}: {answer.status_code}")
            came_of_it[f"script {path.rpartition('/')[2]}", answer.status_code] += 1
            if answer.status_code < 300 and "subtasks" in (found := answer.json()):
                actor.sees(found["id"], found["version"])

        self.watched(actor, act)

    # Looking

    @rule(who=anyone)
    def reads_the_page(self, who):
        actor = self.actors[who]
        c = self.bobs if who == "bob" else self.c
        if who == "cli":
            newest = Plan.objects.filter(conversation=self.c).order_by("pk").last()
            return actor.sees(newest.pk, newest.version)
        if who == "script":
            now = actor.client.get(f"/api/conversations/{c.pk}/plan").json()
            return actor.sees(now["id"], now["version"]) if now else None
        return actor.reads(flat(actor.client.get(f"/c/{c.pk}/").content.decode()))

    @initialize(who=st.lists(anyone, unique=True))
    def begin(self, who):
        for each in who:
            self.reads_the_page(each)

    # The world moves on

    def agent_makes(self, title, beside):
        draft = PlanDraft(title=title, subtasks=["Read", "Write", "Check"])
        actions.create_plan(self.c, draft, AGENT, beside=beside)

    @rule(title=titles, beside=st.booleans())
    def another_plan(self, title, beside):
        if Plan.objects.count() < 6:
            self.agent_makes(title, beside)

    @rule(title=titles)
    def the_agent_revises(self, title):
        plan = Plan.objects.filter(conversation=self.c).order_by("pk").last()
        revision = Revision(subtasks=[{"name": title}], explanation="Better")
        try:
            actions.revise_plan(plan, revision, AGENT)
        except Refused as refusal:
            note(str(refusal))

    @rule(who=pages, place=st.integers(0, 4))
    def another_is_shown(self, who, place):
        plans = list(Plan.objects.filter(conversation=self.c))
        self.page(who, f"plans/{plans[place % len(plans)].pk}/activate")

    @rule(place=st.integers(0, 4))
    def a_command_shows_another(self, place):
        plans = list(Plan.objects.filter(conversation=self.c))
        self.command("activate", id=plans[place % len(plans)].pk)

    @rule(who=pages, verb=st.sampled_from(["stop", "pause", "cancel"]))
    def control(self, who, verb):
        self.page(who, f"plan/{verb}", **self.form(who))

    @rule(who=pages, name=titles)
    def edit(self, who, name):
        key = self.actors[who].first_key
        self.page(who, f"plan/subtasks/{key}/edit", name=name, **self.form(who))

    # Decisions, on what was seen last

    @rule(who=pages)
    def start(self, who):
        self.page(who, "plan/approve", **self.form(who))

    @rule(who=pages, name=titles)
    def start_with_my_edits(self, who, name):
        actor = self.actors[who]
        edits = {"subtask_key": actor.first_key, "subtask_name": f"{name} mine"}
        edits |= {"subtask_description": "", "subtask_expected_outcome": ""}
        plan, version = actor.seen
        also = {(int(plan), int(version) + 1)} if plan else ()
        self.page(who, "plan/approve", also, **self.form(who), **edits)

    @rule(who=pages, verb=st.sampled_from(["again", "resume", "subtasks/s1/retry"]))
    def go_on(self, who, verb):
        self.page(who, f"plan/{verb}", **self.form(who))

    @rule(who=pages, text=phrases)
    def words(self, who, text):
        plan, version = self.actors[who].seen
        self.page(who, "say", text=text, plan=plan, plan_version=version)

    @rule(path=st.sampled_from(["plan/approve", "say"]), theirs=st.booleans())
    def bob_tries(self, path, theirs):
        """His own plan as he saw it, or one of somebody else's."""
        plan, version = self.actors["one" if theirs else "bob"].seen
        more = {"text": "ok", "plan_version": version} if path == "say" else {"version": version}
        self.page("bob", path, plan=plan, **more)

    @rule(run=st.sampled_from(["all", "no"]))
    def a_script_approves(self, run):
        plan, version = self.actors["script"].seen
        if plan:
            self.api("post", f"/plans/{plan}/approve", {"version": int(version), "run": run})

    @rule(text=phrases, named=st.sampled_from(["both", "version", "nothing"]))
    def a_script_says(self, text, named):
        plan, version = self.actors["script"].seen
        body = {"text": text}
        if version and named != "nothing":
            body["plan_version"] = int(version)
        if plan and named == "both":
            body["plan"] = int(plan)
        self.api("post", f"/conversations/{self.c.pk}/messages", body)

    def command(self, verb, meanwhile=lambda: None, **given):
        """As at a terminal: what it prints before it asks has been shown."""
        actor, out = self.actors["cli"], StringIO()

        def act(allowed):
            def answer(question):
                version, plan = map(int, re.findall(r"\d+", question))
                assert Plan.objects.get(pk=plan).title in out.getvalue()
                allowed.add((plan, version))
                meanwhile()
                return "y"

            is_one = mock.patch.object(Command, "is_at_a_terminal", lambda command: True)
            with is_one, mock.patch("builtins.input", answer):
                try:
                    Command(stdout=out).handle(verb=verb, json=False, **given)
                    came_of_it[verb, 200] += 1
                except Refused as refusal:
                    note(f"cli {verb} {given}: {refusal}")
                    came_of_it[verb, refusal.status] += 1

        self.watched(actor, act)

    @rule(named=st.sampled_from(["both", "plan", "version", "nothing"]), moved=st.booleans())
    def a_command_approves(self, named, moved):
        plan, version = self.actors["cli"].seen
        given = {"id": None, "version": None, "without_comments": False}
        if plan and named in ("both", "plan"):
            given["id"] = int(plan)
        if plan and named in ("both", "version"):
            given["version"] = int(version)
        meanwhile = (lambda: self.the_agent_revises("Check")) if moved else lambda: None
        self.command("approve", meanwhile, **given)


@pytest.mark.django_db
def test_nobody_approves_what_they_were_not_shown():
    with override_settings(**AT_EASE):
        run_state_machine_as_test(
            Doors,
            settings=settings(
                max_examples=HISTORIES or 6,
                stateful_step_count=25,
                derandomize=not HISTORIES,
                deadline=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            ),
        )
    sys.stdout.writelines(
        f"{what}: {count}\n" for what, count in sorted(came_of_it.items(), key=str)
    )
    assert came_of_it["page plan/approve", 409] and came_of_it["page plan/approve", 200]
    if HISTORIES:
        assert all(came_of_it["approved", name] for name in DOORS)


@pytest.mark.django_db
@pytest.mark.parametrize("who", DOORS)
def test_each_door_takes_a_yes_to_what_it_has_shown(who):
    """A walk in which one of them refused everything would prove nothing about it."""
    before = came_of_it["approved", who]
    with override_settings(**AT_EASE):
        machine = Doors()
        try:
            machine.reads_the_page(who)
            if who == "script":
                machine.a_script_approves("no")
            elif who == "cli":
                machine.a_command_approves("both", moved=False)
            else:
                machine.page(who, "plan/approve", **machine.form(who))
        finally:
            machine.teardown()
    assert came_of_it["approved", who] == before + 1
