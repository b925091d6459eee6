"""The demo model through the whole product: asked, revised, approved, carried out, closed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from agents.models import Conversation
from plans import actions
from plans.models import State
from tests.world import (
    conversation,
    drive,
    files_of,
    plan_of,
    shown,
    states,
    subtask_names,
    tell,
    texts,
)

pytestmark = pytest.mark.django_db(transaction=True)

SAMPLE = Path(__file__).parents[2] / "agents/config/samples/docs-writer/files"
GOAL = (
    "/plan Tidy up the project README and API docs — fill in missing sections and fix broken links"
)


def docs_writer(**values: object) -> Conversation:
    c = conversation(provider="demo", model="docs", **values)
    shutil.copytree(SAMPLE, files_of(c), dirs_exist_ok=True)
    return c


def test_the_plan_of_the_guide_runs_to_its_end_on_real_files() -> None:
    c = docs_writer()
    tell(c, GOAL)
    assert len(subtask_names(c)) == 5 and shown(c)["attention"] == "confirm"
    assert "TODO" in (files_of(c) / "README.md").read_text()

    tell(c, "go ahead")
    assert states(c) == ["done"] * 5
    plan = plan_of(c)
    assert plan.state == State.DONE
    assert plan.outcome.startswith("5 of 5 subtasks done.")
    assert "TODO" not in (files_of(c) / "README.md").read_text()
    assert shown(c)["subtasks"][4]["outcome"].endswith("0 empty sections and 0 broken links.")


def test_changes_asked_for_in_words_are_made_and_wait_again() -> None:
    c = docs_writer()
    tell(c, GOAL)
    tell(c, "ok but drop step 2 and rename step 4 to Mend the links")
    assert "Mend the links" in subtask_names(c) and len(subtask_names(c)) == 4
    assert (plan_of(c).version, plan_of(c).approved_version) == (2, None)
    tell(c, "start")
    assert states(c) == ["done"] * 4


def test_what_is_not_understood_leaves_plan_and_gate_alone() -> None:
    c = docs_writer()
    tell(c, GOAL)
    tell(c, "No! Don't")
    assert plan_of(c).version == 1 and plan_of(c).approved_version is None
    assert "do not understand" in texts(c)[-1]


def test_starting_over_makes_a_fresh_plan() -> None:
    c = docs_writer()
    tell(c, GOAL)
    first = plan_of(c)
    tell(c, "throw it away and start over")
    assert plan_of(c).pk != first.pk and len(subtask_names(c)) == 5
    first.refresh_from_db()
    assert first.state == State.ABANDONED


def test_a_step_outside_the_script_fails_and_can_be_seen_to() -> None:
    c = docs_writer(plan={"enabled": True, "max_attempts": 1})
    tell(c, GOAL)
    tell(c, "add a step to translate it all into German")
    tell(c, "go")
    last = shown(c)["subtasks"][-1]
    assert states(c)[:5] == ["done"] * 5 and states(c)[5] == "todo"
    assert last["failed"] and "demo model follows a script" in last["error"]


def test_ordinary_chat_is_answered_by_a_model_that_says_what_it_is() -> None:
    c = docs_writer()
    tell(c, "Hello")
    assert "scripted demo model" in texts(c)[-1]


def test_with_a_small_window_the_plan_is_read_by_its_tool() -> None:
    c = docs_writer(plan={"enabled": True, "context": "reference"})
    tell(c, GOAL)
    tell(c, "drop step 2")
    assert len(subtask_names(c)) == 4
    tell(c, "go")
    assert plan_of(c).state == State.DONE


@pytest.mark.parametrize(("key", "hint"), [("s3", ""), (None, "drop step 4"), ("s1", "be quick")])
def test_the_rest_is_planned_anew_by_the_products_own_button(key: str | None, hint: str) -> None:
    c = docs_writer()
    tell(c, GOAL)
    actions.replan_rest(plan_of(c), "alice", key, hint)
    drive()
    plan = plan_of(c)
    assert (plan.version, plan.approved_version) == (2, None), texts(c)[-1]
    assert "waits for your yes" in texts(c)[-1]
    if "drop" in hint:
        assert "Fix the broken links" not in subtask_names(c)
    else:
        assert "Take stock of the README and the docs again" in subtask_names(c)
    tell(c, "go ahead")
    assert plan_of(c).state == State.DONE


@pytest.mark.parametrize(
    "question", ["what is in this folder?", "List the files", "which files are here"]
)
def test_a_question_about_the_folder_is_answered_by_its_files(question: str) -> None:
    c = docs_writer(plan={"enabled": False})
    tell(c, question)
    assert "README.md" in texts(c)[-1]
