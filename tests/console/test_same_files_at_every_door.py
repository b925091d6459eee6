"""Whatever calls a plan's turns make, each door names the same files, with the same counts."""

import html
import random
import re
import shlex
from io import StringIO

import pytest
from django.core.management import call_command

from plans import actions
from tests.builders import proposed_plan
from tests.fake_model import call, say
from tests.inner import Scope, Wanted
from tests.markup import flat
from tests.world import (
    ALL_FILE_TOOLS,
    calls_of,
    done,
    drive,
    files_of,
    person,
    plan_of,
    scripted,
    signed_in,
    tell,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_home")]

PATHS = ["a.txt", "b c.md", "übung", "文档.md", "-- dash", "<b>&amp;.py", "deep/er/f", "#hash", "n"]
LINES = ["", "a", "b", "文档", "\t", "} else {", "+++ b/n", "-"]


def text(chance):
    return "".join(f"{chance.choice(LINES)}\n" for _ in range(chance.randrange(12)))


def command(chance):
    path, other = (f"./{shlex.quote(each)}" for each in chance.sample(PATHS, 2))
    words = shlex.quote(text(chance))
    return chance.choice(
        [
            f"mkdir -p deep/er; printf %s {words} > {path}",
            f"printf %s {words} >> {path}",
            f"rm -f {path}",
            f"mv -f {path} {other}",
            f"cp {path} {other}; chmod +x {other}",
            f"ln -sfn {path} {other}",
            f"printf 'a\\0b' > {path}",
        ]
    )


def some_call(chance):
    path = chance.choice(PATHS)
    match chance.randrange(4):
        case 0:
            return call("write_file", path=path, content=text(chance))
        case 1:
            return call("edit_file", path=path, old=chance.choice(LINES) + "\n", new=text(chance))
        case _:
            return call("shell", command=command(chance))


def worked(chance):
    """The conversation of a plan whose two subtasks made a few calls each, some of which failed."""
    type(person()).objects.update(is_superuser=True)
    c = proposed_plan("One", "Two", tools={**ALL_FILE_TOOLS, "shell": "allow"})
    for path in chance.sample(PATHS, 4):
        (files_of(c) / path).parent.mkdir(parents=True, exist_ok=True)
        (files_of(c) / path).write_text(text(chance))
    calls = [[some_call(chance) for _ in range(chance.randrange(1, 6))] for _ in range(2)]
    scripted(*calls[0], done(), *calls[1], done(), say("All done."))
    actions.approve_plan(plan_of(c), 1, "alice", run="all")
    drive()
    scripted(call("get_changes", of="plan"), say("That is all."))
    tell(c, "what was changed?")
    return c


def counts(words):
    """How many lines came and went, in words such as new · +4 −1."""
    found = {sign: int(n) for sign, n in re.findall(r"([+−-])(\d+)", words)}
    return found.get("+", 0), found.get("−", 0) or found.get("-", 0)


def by_lines(said):
    """Of `path: modified, +4 -1`, one a line."""
    rows = [line.rpartition(": ") for line in said.splitlines() if ": " in line]
    return {path: counts(words.rpartition(",")[2]) for path, _, words in rows}


def on_page(c):
    page = flat(signed_in(c.owner).get(f"/c/{c.pk}/changed?plan={plan_of(c).pk}").content.decode())
    heads = re.findall(r'<summary class="changed-head">.*?<h2>(.*?)</h2>(.*?)</summary>', page)
    return {html.unescape(path): counts(re.sub("<[^>]+>", "", rest)) for path, rest in heads}


def on_card(c):
    page = flat(signed_in(c.owner).get(f"/c/{c.pk}/").content.decode())
    card = page.split('data-kind="closing"', 1)[1].split("</article>", 1)[0]
    rows = re.findall(
        r'<a class="mono link"[^>]*>(.*?)</a><span class="meta[^>]*>(.*?)</span>', card
    )
    return {html.unescape(path): counts(note) for path, note in rows}


def by_api(c):
    found = signed_in(c.owner).get(f"/api/plans/{plan_of(c).pk}/changes").json()["changes"]
    return {each["path"]: (each["added"] or 0, each["removed"] or 0) for each in found}


def by_command(c):
    out = StringIO()
    call_command("plan", "changes", str(plan_of(c).pk), stdout=out)
    return by_lines(out.getvalue())


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.sampled(3)
def test_every_door_names_the_same_files_with_the_same_counts(monkeypatch, seed):
    monkeypatch.setattr("console.management.commands.plan.local_owner", person)
    monkeypatch.setattr("console.endings.MOST_FILES", 100)
    chance = random.Random(seed)
    c = worked(chance)
    found = by_api(c)
    by_tool = by_lines(calls_of(c, "get_changes")[0].result)
    assert on_card(c) == on_page(c) == by_command(c) == by_tool == found
    changes = Scope(plan_of(c)).changes.files
    names = [each.path for each in changes if not each.was]
    taken = {*chance.sample(names, len(names) // 2)}
    rows = actions.preview_changes(Scope(plan_of(c))).rows
    sets = [{row.path, *row.others} for row in rows]  # what was moved goes back together
    going = set().union(*(each for each in sets if each & taken))
    if taken:
        actions.undo_changes(Scope(plan_of(c)), "alice", Wanted(paths=tuple(taken)))
    assert on_page(c) == by_command(c) == by_api(c) == found, "what was changed stays on record"
    assert on_card(c) == {path: each for path, each in found.items() if path not in going}
