"""A small Python package is repaired, and its own tests say what is done: through a refusal, and
through an undo."""

import sys

import pytest

from agents.models import ToolCall
from plans import actions
from plans.models import Plan
from plans.schemas import PlanDraft
from tests.checked import write
from tests.fake_model import call, say
from tests.inner import Scope
from tests.world import conversation, done, drive, plan_of, scripted, shown

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_home")]

PACKAGE = {
    "sums/__init__.py": "from sums.means import mean\n",
    "sums/means.py": "def mean(numbers):\n    return sum(numbers)\n",
    "sums/totals.py": "def total(numbers):\n    return sum(numbers) + 1\n",
    "tests/__init__.py": "",
    "tests/test_totals.py": """import unittest
from sums.totals import total

class Totals(unittest.TestCase):
    def test_of_three(self):
        self.assertEqual(total([1, 2, 3]), 6)
""",
    "tests/test_means.py": """import unittest
from sums import mean

class Means(unittest.TestCase):
    def test_of_three(self):
        self.assertEqual(mean([1, 2, 3]), 2)

    def test_of_none(self):
        self.assertEqual(mean([]), 0)
""",
}
HALF_RIGHT = "def mean(numbers):\n    return sum(numbers) / len(numbers)\n"
RIGHT = "def mean(numbers):\n    return sum(numbers) / len(numbers) if numbers else 0\n"
RENAMED = RIGHT.replace("mean", "average")


def passes(name):
    # No bytecode: what is undone within one second would be read from the cache of what it was.
    return {"kind": "command", "command": f"{sys.executable} -B -m unittest tests.{name}"}


def put(path, content):
    return call("write_file", path=path, content=content)


@pytest.fixture
def c():
    plan = {"enabled": True, "max_attempts": 1}
    c = conversation(tools={"write_file": "allow", "shell": "allow"}, plan=plan)
    type(c.owner).objects.update(is_superuser=True)
    write(c, **PACKAGE)
    subtasks = [
        {"name": "Say what fails"},
        {"name": "Mend totals", "checks": [passes("test_totals")]},
        {"name": "Mend means", "checks": [passes("test_means")]},
        {"name": "Call it average"},
        {"name": "Keep the old name", "checks": [passes("test_means")]},
    ]
    draft = PlanDraft.model_validate({"title": "Repair sums", "subtasks": subtasks})
    actions.create_plan(c, draft, "alice", goal="Repair the package")
    return c


def verified(c):
    return [subtask["verified"] for subtask in shown(c)["subtasks"]]


def test_done_is_what_its_tests_say_also_after_an_undo(c):
    scripted(
        done("Two tests fail"),
        *(put("sums/totals.py", "def total(numbers):\n    return sum(numbers)\n"), done("Sums")),
        *(put("sums/means.py", HALF_RIGHT), done("All means are right")),
        *(put("sums/means.py", RIGHT), done("Of nothing too")),
        put("sums/means.py", RENAMED),
        *(put("sums/__init__.py", "from sums.means import average\n"), done("Renamed")),
        put("sums/__init__.py", "from sums.means import average\nmean = average\n"),
        done("Both names lead there"),
        say("The package is repaired."),
    )
    actions.approve_plan(plan_of(c), 1, "alice", run="all")
    drive()
    refused, mended = ToolCall.objects.filter(tool="finish_subtask").order_by("pk")[2:4]
    assert refused.state == "failed"
    assert "ZeroDivisionError" in refused.result, "the model is told what failed"
    assert mended.state == "done"
    plan = Plan.objects.get(conversation=c)
    assert (plan.state, verified(c)) == ("done", [None, True, True, None, True])

    undone = actions.undo_changes(Scope.named(plan, "s5"), "alice")
    drive()
    assert verified(c) == [None, True, False, None, None]
    assert shown(c)["subtasks"][4]["verification"] == "undone"
    third = shown(c)["subtasks"][2]
    assert (third["state"], Plan.objects.get().state) == ("done", "done"), "nothing is reopened"
    [check] = third["checks"]
    assert "cannot import name 'mean'" in check["result"]["said"]

    actions.undo_changes(Scope(undone), "alice")
    drive()
    assert verified(c) == [None, True, True, None, True]
