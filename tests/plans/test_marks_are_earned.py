"""Marks at every door are what the rows of results, looks and undos say, whatever happened."""

import random
import re
from contextlib import suppress
from pathlib import Path

import pytest

from agents.actors import AGENT
from agents.errors import Refused, TurnLost
from agents.models import Turn, TurnState, Undo
from plans import actions
from plans.models import CheckResult, Plan, Run, State
from plans.schemas import PlanDraft
from tests.checked import TOOLS
from tests.fake_model import call, say
from tests.fake_script import results, texts_of
from tests.inner import (
    Check,
    Scope,
    change_agent,
    check_runner,
    local_owner,
    persistence,
    put_back_orphans,
    save_chain,
)
from tests.plans.outer_doors import Reader, between, mark_in, text_of
from tests.world import conversation, done, drive, files_of, plan_of, scripted, shown, signed_in

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_home")]

KEYS = ("s1", "s2", "s3", "s4")
OWN = ("s2",)  # its check came from the agent, after the yes
WORDS = {
    "checked": "checked",
    "looked": "looked at by you",
    "own_check": "checked by its own check",
    "by_word": "by the agent’s word",
    "undone": "undone by you",
    "regressed": "no longer true",
}
MARKS = {**{word: word for word in WORDS}, "done": "checked"}
COMMAND, EXPORT = r"\] s\d  s\d(?: \((.+?)\))?", r"\*\*s\d\*\*(?: \((.+?)\))?"
REVIEWS = {"yes": "VERDICT: yes", "no": "VERDICT: no", "vague": "Perhaps."}


def there(path):
    return {"kind": "file", "path": path, "exists": True}


CHECKS = {
    "s1": [there("s1")],
    "s4": [
        {"kind": "command", "command": "test -f s4"},
        {"kind": "review", "question": "Is it so?"},
    ],
}


class Moment:
    """What happens at the n-th of the moments before and after a check is prepared and its result
    recorded, and around the end of a call."""

    def __init__(self, monkeypatch):
        self.left, self.happens = -1, None
        for module, name in (
            (check_runner, "prepare"),
            (check_runner, "record"),
            (persistence, "end_call"),
        ):
            monkeypatch.setattr(module, name, self.around(getattr(module, name)))

    def around(self, function):
        def passed(*args, **kwargs):
            self.comes()
            result = function(*args, **kwargs)
            self.comes()
            return result

        return passed

    def comes(self):
        self.left -= 1
        if self.left == -1:
            self.happens()


class History:
    """A plan of four subtasks that write a file each, and what a person and chance do to it."""

    def __init__(self, seed, monkeypatch):
        self.random, self.by = random.Random(seed), local_owner().username
        settings = {"enabled": True, "max_attempts": 1}
        self.c = conversation(self.by, tools=TOOLS, plan=settings)
        self.reviewer("yes")
        rows = [{"name": key, "checks": CHECKS.get(key, [])} for key in KEYS]
        draft = PlanDraft.model_validate({"title": "Tidy", "subtasks": rows})
        actions.create_plan(self.c, draft, self.by, goal="Tidy up")
        actions.approve_plan(plan_of(self.c), 1, self.by, run="no")
        actions.save_check(plan_of(self.c), "s2", Check.model_validate(there("s2")), AGENT)
        Plan.objects.update(approved_version=2)  # as where the agent's changes need no yes
        scripted(self.model)
        actions.run_plan(plan_of(self.c), self.by)
        drive()
        assert plan_of(self.c).state == "done"
        self.moment = Moment(monkeypatch)
        self.undone, self.touched = {}, set()

    def model(self, request):
        """Whoever is asked anew goes on from what it was told."""
        messages = request["messages"]
        if "You judge the work" in texts_of(messages, "system"):
            return say(REVIEWS[self.says])
        key = re.search(r"Your subtask is (s\d)", texts_of(messages, "user"))
        if key is None:
            return say("All is well.")
        written = call("write_file", path=key[1], content=f"{key[1]}\n")
        return done() if results(messages) else written

    def reviewer(self, says):
        """It says yes, no, neither, or its provider is gone."""
        self.says = says
        chain = Path("agents/chains/shipped/reviewer.json").read_text()
        gone = chain.replace('"temperature"', '"provider": "gone", "temperature"')
        save_chain("reviewer", gone if says == "gone" else chain)

    def happens(self):
        """One thing after the other; now and then its midst is a kill, or a stop."""
        self.moment.left = self.random.choice((-1, -1, *range(12)))
        self.moment.happens = self.random.choice((self.is_killed, self.is_stopped))
        key, chance = self.random.choice(KEYS), self.random.random()
        events = (self.spoil, self.check, self.stop, self.look, self.look, self.take_back)
        event = self.random.choice((*events, self.undo, self.shell, self.judge, self.cannot))
        with suppress(Refused):
            event(key)
        self.goes_on()
        if chance < 0.3:
            with suppress(Refused):
                self.retry(key)
            self.goes_on()
        self.moment.left = -1
        self.rests()
        assert self.said_by_rows() == [each["verification"] for each in shown(self.c)["subtasks"]]

    def goes_on(self):
        """Whatever was killed, a new process takes up."""
        drive()
        if Turn.objects.filter(state=TurnState.RUNNING).exists():
            put_back_orphans(all_of_them=True)
            drive()

    def rests(self):
        """What could not be run is tried again, taken by a person, or left; so is what was
        stopped."""
        plan = plan_of(self.c)
        if plan.run == Run.PAUSED and plan.pause_reason == Plan.PauseReason.CHECK:
            self.random.choice((self.try_again, self.take, self.leave))(plan)
        elif plan.is_open and self.random.random() < 0.7:
            with suppress(Refused):
                actions.run_plan(plan, self.by)
        self.goes_on()

    def try_again(self, plan):
        self.all_well()
        actions.resume_plan(plan, self.by)

    def take(self, plan):
        subtask = plan.subtasks.get(state=State.IN_PROGRESS)
        left = subtask.check_results.order_by("pk").last()
        actions.look_at(plan, subtask.key, self.by, check=left.key)

    def leave(self, plan):
        actions.stop_plan(plan, self.by)

    def all_well(self):
        self.reviewer("yes")
        change_agent(self.c.agent_id, {"tools": TOOLS})

    def is_killed(self):
        raise TurnLost

    def is_stopped(self):
        actions.stop_plan(plan_of(self.c), self.by)

    def shell(self, key):
        """The command's tool is off, or on again."""
        on = self.random.choice(("off", "off", "allow"))
        change_agent(self.c.agent_id, {"tools": {**TOOLS, "shell": on}})
        actions.check_plan(plan_of(self.c), self.by)

    def judge(self, key):
        self.reviewer(self.random.choice(("gone", *REVIEWS)))
        actions.check_plan(plan_of(self.c), self.by)

    def cannot(self, key):
        """What is no longer true is done again, and one of its checks cannot be run."""
        self.all_well()
        (files_of(self.c) / "s4").unlink(missing_ok=True)
        self.touched.add("s4")
        actions.check_plan(plan_of(self.c), self.by)
        drive()
        if self.random.random() < 0.5:
            self.reviewer(self.random.choice(("gone", "vague")))
        else:
            change_agent(self.c.agent_id, {"tools": {**TOOLS, "shell": "off"}})
        self.retry("s4")

    def spoil(self, key):
        """The file goes, or comes again."""
        file = files_of(self.c) / key
        if key not in self.undone:
            self.touched.add(key)
            file.unlink() if file.exists() else file.write_text(f"{key}\n")

    def check(self, key):
        actions.check_plan(plan_of(self.c), self.by)

    def stop(self, key):
        actions.check_plan(plan_of(self.c), self.by)
        actions.stop_plan(plan_of(self.c), self.by)

    def look(self, key):
        actions.look_at(plan_of(self.c), key, self.by)

    def take_back(self, key):
        actions.take_back(plan_of(self.c), key, self.by)

    def undo(self, key):
        """Or what was undone is put back."""
        if key in self.undone:
            actions.undo_changes(Scope(Undo.objects.get(pk=self.undone.pop(key))), self.by)
        elif key not in self.touched:
            scope = Scope.named(plan_of(self.c), key)
            self.undone[key] = actions.undo_changes(scope, self.by).pk

    def retry(self, key):
        actions.retry_subtask(plan_of(self.c), key, self.by)
        self.undone.pop(key, None)
        self.touched.discard(key)

    def said_by_rows(self):
        return [self.word(each) for each in plan_of(self.c).subtasks.order_by("position")]

    def word(self, subtask):
        """What its rows say, by going through them once; None of what is not done."""
        if subtask.state != State.DONE:
            return None
        if subtask.key in self.undone:
            return "undone"
        rows = CheckResult.objects.filter(subtask=subtask, at__gte=subtask.started_at)
        rows = [*rows.order_by("pk")]
        for n, row in reversed([*enumerate(rows)]):
            if row.by and not row.key and row.passed is None:  # no look before it counts
                rows = [each for each in rows[:n] if not each.by] + rows[n + 1 :]
                break
        last, since, looked, forgiven = {}, {}, False, False
        for row in rows:
            if row.by and row.passed:
                looked, since = True, {}
                forgiven = forgiven or not row.key
                if row.key:
                    last[row.key] = True
                else:
                    last = dict.fromkeys(last, True)
            elif row.passed is not None:
                last[row.key] = since[row.key] = row.passed
        keys = [each["key"] for each in subtask.checks]
        if any(last.get(each) is False for each in keys):
            return "regressed"
        if keys and all(since.get(each) for each in keys):
            return "own_check" if subtask.key in OWN else "checked"
        has_all = all(last.get(each) for each in keys)
        return "looked" if looked and (forgiven or has_all) else "by_word"


def said_at_doors(c):
    """By door and key, what each subtask is that is done."""
    plan = plan_of(c)
    reader = Reader(signed_in(c.owner), [plan.pk], [c.pk])
    talk, page = reader.get(f"/c/{c.pk}/"), reader.get(f"/plans/{plan.pk}/")
    card = between(talk, '<article\\s+class="message card"', "</article>")
    rows = re.findall(r"<li>.*?</li>", between(card, '<ol\\s+class="list checks"', "</ol>"), re.S)
    drawer = [between(talk, f'id="subtask-{plan.pk}-{key}"', "</li>") for key in KEYS]
    below = [between(page, f'<li id="{key}" data-key', "</li>") for key in KEYS]
    bar = re.findall(r'<i data-status="(\w+)"', between(talk, 'id="plan-progress"', "</p>"))
    told = {name: word for word, name in WORDS.items()}
    command, export = reader.command("show", plan.pk), reader.get(f"/plans/{plan.pk}/export.md")
    ticked = re.findall(r"\[x\] (?:s\d  s\d|\*\*s\d\*\*) \((.+?)\)", command + export)
    assert not {"undone", "regressed"} & {told[each] for each in ticked}
    shapes = {
        "drawer": [mark_in(each)[0] for each in drawer],
        "card": [mark_in(each)[0] for each in rows],
        "page": [mark_in(each)[0] for each in below],
        "bar": bar,
    }
    return {
        **{door: [MARKS.get(shape) for shape in each] for door, each in shapes.items()},
        "API": [each["verification"] for each in shown(c)["subtasks"]],
        "command": [told.get(each) for each in re.findall(COMMAND, command)],
        "export": [told.get(each) for each in re.findall(EXPORT, export)],
    }, text_of(reader.get("/plans/"))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(200))
def test_each_door_says_what_the_rows_do(seed, monkeypatch):
    history = History(seed, monkeypatch)
    for _ in range(8):
        history.happens()
    wanted = history.said_by_rows()
    said, listed = said_at_doors(history.c)
    assert said == dict.fromkeys(said, wanted)
    counts = {word: wanted.count(word) for word in {*wanted} - {None}}
    for word, n in counts.items():
        assert f"{n} {WORDS[word].replace('the agent’s ', '')}" in listed
