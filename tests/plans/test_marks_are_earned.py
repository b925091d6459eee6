"""Marks at every door are what the rows of results, looks and undos say, whatever happened."""

import random
import re
from contextlib import suppress

import pytest

from agents.actors import AGENT
from agents.errors import Refused
from agents.models import Undo
from plans import actions
from plans.models import CheckResult, Plan
from plans.schemas import PlanDraft
from tests.checked import TOOLS
from tests.fake_model import call, say
from tests.inner import Check, Scope, local_owner
from tests.plans.outer_doors import Reader, between, mark_in, text_of
from tests.world import conversation, done, drive, files_of, plan_of, scripted, shown, signed_in

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_home")]

KEYS = ("s1", "s2", "s3")
OWN = ("s2",)  # its check came from the agent, after the yes
WORDS = {
    "checked": "checked",
    "looked": "looked at by you",
    "own_check": "checked by its own check",
    "by_word": "by the agent’s word",
    "undone": "undone by you",
    "regressed": "no longer true",
}


def there(path):
    return {"kind": "file", "path": path, "exists": True}


class History:
    """A finished plan of three subtasks that wrote a file each, and what a person does to it."""

    def __init__(self, seed):
        self.random, self.by = random.Random(seed), local_owner().username
        self.c = conversation(self.by, tools=TOOLS, plan={"enabled": True, "max_attempts": 1})
        rows = [{"name": key, "checks": [there("s1")] if key == "s1" else []} for key in KEYS]
        draft = PlanDraft.model_validate({"title": "Tidy", "subtasks": rows})
        actions.create_plan(self.c, draft, self.by, goal="Tidy up")
        actions.approve_plan(plan_of(self.c), 1, self.by, run="no")
        actions.save_check(plan_of(self.c), "s2", Check.model_validate(there("s2")), AGENT)
        Plan.objects.update(approved_version=2)  # as where the agent's changes need no yes
        scripted(*(each for key in KEYS for each in self.work(key)), say("All is well."))
        actions.run_plan(plan_of(self.c), self.by)
        drive()
        assert plan_of(self.c).state == "done"
        self.undone, self.touched = {}, set()

    def work(self, key):
        return call("write_file", path=key, content=f"{key}\n"), done()

    def happens(self):
        key = self.random.choice(KEYS)
        events = (self.spoil, self.check, self.stop, self.look, self.take_back, self.look)
        getattr(self, self.random.choice([each.__name__ for each in (*events, self.undo)]))(key)
        if self.random.random() < 0.2:
            self.retry(key)
        drive()

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
        scripted(*self.work(key), say("All is well."))
        actions.retry_subtask(plan_of(self.c), key, self.by)
        drive()
        self.undone.pop(key, None)
        self.touched.discard(key)

    def word(self, key):
        """What its rows say, by going through them once."""
        subtask = plan_of(self.c).subtasks.get(key=key)
        last, since, looked = {}, {}, False
        rows = CheckResult.objects.filter(subtask=subtask, at__gte=subtask.started_at)
        for row in rows.order_by("pk"):
            if row.by:
                looked, since = row.passed is True, {}
            elif row.passed is not None:
                last[row.key] = since[row.key] = row.passed
        keys = [each["key"] for each in subtask.checks]
        now = since if looked else last
        if key in self.undone:
            return "undone"
        if any(now.get(each) is False for each in keys):
            return "regressed"
        if keys and all(now.get(each) for each in keys):
            return "own_check" if key in OWN else "checked"
        return "looked" if looked else "by_word"


def said_at_doors(c):
    """By door, what each subtask is."""
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
        **{door: ["checked" if e == "done" else e for e in each] for door, each in shapes.items()},
        "API": [each["verification"] for each in shown(c)["subtasks"]],
        "command": [told[each] for each in re.findall(r"\] s\d  s\d \((.+?)\)", command)],
        "export": [told[each] for each in re.findall(r"\*\*s\d\*\* \((.+?)\)", export)],
    }, text_of(reader.get("/plans/"))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(200))
def test_each_door_says_what_the_rows_do(seed):
    history = History(seed)
    for _ in range(8):
        with suppress(Refused):
            history.happens()
        drive()
    wanted = [history.word(key) for key in KEYS]
    said, listed = said_at_doors(history.c)
    assert said == dict.fromkeys(said, wanted)
    counts = {word: wanted.count(word) for word in {*wanted}}
    for word, n in counts.items():
        assert f"{n} {WORDS[word].replace('the agent’s ', '')}" in listed
