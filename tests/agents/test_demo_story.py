"""The demo model through the whole product: asked, revised, approved, carried out, closed."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from agents.models import Conversation
from plans import actions
from plans.models import State
from tests.agents.demo_model import everything, pages, work
from tests.builders import propose
from tests.inner import Workspace, broken_links, file_finding
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

CHINESE_GOAL = "/plan 整理项目的 README 和 API 文档，补全缺失的章节并修复失效的链接"


def holds(check: dict[str, object], files: Path) -> bool | None:
    return file_finding(check, Workspace(files), {}).passed


def docs_writer(**values: object) -> Conversation:
    c = conversation(provider="demo", model="docs", **values)
    shutil.copytree(SAMPLE, files_of(c), dirs_exist_ok=True)
    return c


def test_the_plan_of_the_guide_runs_to_its_end_on_real_files(tmp_path: Path) -> None:
    c = docs_writer()
    tell(c, GOAL)
    assert len(subtask_names(c)) == 5 and shown(c)["attention"] == "confirm"
    assert "TODO" in (files_of(c) / "README.md").read_text()
    mending = shown(c)["subtasks"][3]["checks"]
    broken = pages(files_of(c))
    filled = shutil.copytree(files_of(c), tmp_path / "filled")
    asyncio.run(work(filled, "Fill in the missing sections"))  # which writes links too
    assert not any(holds(check, filled) for check in mending)

    tell(c, "go ahead")
    assert states(c) == ["done"] * 5
    plan = plan_of(c)
    assert plan.state == State.DONE
    assert plan.outcome.startswith("5 of 5 subtasks done.")
    assert "TODO" not in (files_of(c) / "README.md").read_text()
    assert shown(c)["subtasks"][4]["outcome"].endswith("0 empty sections and 0 broken links.")
    every_mended_link_is_checked(c, mending, broken)


def every_mended_link_is_checked(
    c: Conversation, mending: list[dict[str, object]], broken: dict[str, str]
) -> None:
    """By the system, and by one check alone."""
    assert [each["verified"] for each in shown(c)["subtasks"]] == [None, True, None, True, True]
    assert len(mending) == len(broken_links(broken, everything(files_of(c)))) == 7
    assert all(each["result"]["passed"] for each in shown(c)["subtasks"][3]["checks"])
    for fault in broken_links(broken, everything(files_of(c))):
        page = files_of(c) / fault["page"]
        mended = page.read_text()
        page.write_text(mended.replace(f"({fault['new']})", f"({fault['name']})", 1))
        assert [holds(check, files_of(c)) for check in mending].count(False) == 1, fault["name"]
        page.write_text(mended)


def test_a_plan_about_the_docs_checks_no_link_of_the_readme() -> None:
    c = docs_writer()
    tell(c, "/plan Fix the broken links in our docs")
    assert {each["path"] for each in shown(c)["subtasks"][1]["checks"]} == {
        "docs/api.md", "docs/changelog.md", "docs/configuration.md", "docs/quickstart.md"}  # fmt: skip


@pytest.mark.parametrize("goal", [GOAL, "/plan Fix the broken links in the README"])
def test_in_another_folder_it_says_whose_pages_the_checks_are_about(goal: str) -> None:
    c = conversation(provider="demo", model="docs", plan={"enabled": True, "max_attempts": 1})
    (files_of(c) / "README.md").write_text("# Frob\n\nSee [the guide](giude.md).\n")
    (files_of(c) / "guide.md").write_text("# Guide\n\nRead it.\n")
    tell(c, goal)
    tell(c, "go ahead")
    second = shown(c)["subtasks"][1]
    assert second["failed"] and "those of the sample project's pages" in second["error"]
    if goal != GOAL:  # the work itself was done
        assert "(guide.md)" in (files_of(c) / "README.md").read_text()


def test_what_is_not_understood_leaves_plan_and_gate_alone() -> None:
    c = docs_writer()
    tell(c, GOAL)
    tell(c, "Bananas!")
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
    propose(c, "Check the result", "translate it all into German")
    actions.approve_plan(plan_of(c), 1, "alice", run="all")
    drive()
    last = shown(c)["subtasks"][-1]
    assert states(c) == ["done", "todo"]
    assert last["failed"] and "demo model follows a script" in last["error"]


def test_ordinary_chat_is_answered_by_a_model_that_says_what_it_is() -> None:
    c = docs_writer()
    tell(c, "Hello")
    assert "scripted demo model" in texts(c)[-1]


@pytest.mark.parametrize(
    "question", ["what is in this folder?", "List the files", "which files are here"]
)
def test_a_question_about_the_folder_is_answered_by_its_files(question: str) -> None:
    c = docs_writer(plan={"enabled": False})
    tell(c, question)
    assert "README.md" in texts(c)[-1]


@pytest.mark.parametrize("question", ["这里有哪些文件？", "列出所有文件", "文件夹里有什么？"])
def test_a_question_about_the_folder_is_answered_in_chinese(question: str) -> None:
    c = docs_writer(plan={"enabled": False})
    tell(c, question)
    assert texts(c)[-1].startswith("这个文件夹里有：") and "README.md" in texts(c)[-1]


def test_a_conversation_may_change_its_language_at_every_message() -> None:
    c = docs_writer()
    tell(c, CHINESE_GOAL)
    tell(c, "drop step 2")
    assert texts(c)[-1] == "Dropped subtask 2. The new version waits for your yes."
    tell(c, "加一个子任务：把全文翻译成德语")
    assert texts(c)[-1] == "添加了子任务“把全文翻译成德语”。新版本等你批准。"
    tell(c, "start over")
    assert plan_of(c).title == "Tidy up the README and the docs"
    tell(c, "重新开始")
    assert plan_of(c).title == "整理 README 和文档" and len(subtask_names(c)) == 5
