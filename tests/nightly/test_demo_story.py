"""The demo model's story in Chinese, and by an agent with a small window: by day it is told in English."""

from __future__ import annotations

import pytest

from plans import actions
from plans.models import State
from tests.agents.demo_model import pages
from tests.agents.test_demo_story import (
    CHINESE_GOAL,
    GOAL,
    docs_writer,
    every_mended_link_is_checked,
)
from tests.world import drive, files_of, plan_of, shown, states, subtask_names, tell, texts

pytestmark = pytest.mark.django_db(transaction=True)


def test_with_a_small_window_the_plan_is_read_by_its_tool() -> None:
    c = docs_writer(plan={"enabled": True, "context": "reference"})
    tell(c, GOAL)
    tell(c, "drop step 2")
    assert len(subtask_names(c)) == 4
    tell(c, "go")
    assert plan_of(c).state == State.DONE


def test_it_is_checked_in_chinese_too_that_every_broken_link_is_mended() -> None:
    c = docs_writer()
    tell(c, CHINESE_GOAL)
    mending = shown(c)["subtasks"][3]["checks"]
    broken = pages(files_of(c))
    tell(c, "开始")
    every_mended_link_is_checked(c, mending, broken)


def test_a_plan_asked_for_in_chinese_runs_to_its_end_in_chinese() -> None:
    c = docs_writer()
    tell(c, CHINESE_GOAL)
    assert plan_of(c).title == "整理 README 和文档" and shown(c)["attention"] == "confirm"
    assert texts(c)[-1].startswith("计划写好了，共 5 个子任务")

    tell(c, "删掉第 2 个子任务，把子任务 4 改名为“修链接”")
    assert subtask_names(c)[2] == "修链接" and len(subtask_names(c)) == 4
    assert texts(c)[-1] == "删掉了第 2 个子任务，把第 4 个子任务改名为“修链接”。新版本等你批准。"
    assert plan_of(c).approved_version is None

    tell(c, "开始")
    assert states(c) == ["done"] * 4
    outcomes = [subtask["outcome"] for subtask in shown(c)["subtasks"]]
    assert outcomes[0] == "读了 5 个页面，发现 5 个空章节、7 个失效链接。"
    assert outcomes[3].startswith("把 5 个页面重读了一遍：还有 2 个空章节、0 个失效链接。")
    assert plan_of(c).state == State.DONE
    assert plan_of(c).outcome.startswith("共 4 个子任务，完成 4 个。读了 5 个页面")


def test_comments_in_chinese_change_the_plan_and_the_rest_is_replanned_in_chinese() -> None:
    c = docs_writer()
    tell(c, CHINESE_GOAL)
    actions.keep_comment(plan_of(c), "s2", "不要这一步", "alice")
    actions.keep_comment(plan_of(c), "s4", "移到最前面", "alice")
    actions.send_comments(plan_of(c), "alice")
    drive()
    names = ["修复失效的链接", "盘点 README 和文档的现状", "补全 API 文档中缺失的章节", "检查结果"]
    assert subtask_names(c) == names
    actions.replan_rest(plan_of(c), "alice", "s3", "")
    drive()
    assert "重新盘点 README 和文档的现状" in subtask_names(c)
    assert texts(c)[-1] == "从 s3 起重新规划：我先重新看一遍，再继续往下做。新版本等你批准。"


def test_a_subtask_outside_the_script_says_so_in_chinese() -> None:
    c = docs_writer(plan={"enabled": True, "max_attempts": 1})
    tell(c, CHINESE_GOAL)
    tell(c, "加一个子任务：把全文翻译成德语")
    tell(c, "好的")
    last = shown(c)["subtasks"][-1]
    assert states(c)[:5] == ["done"] * 5 and last["failed"]
    assert last["error"].startswith("演示模型只会按脚本办事，做不了“把全文翻译成德语”。")


def test_changes_asked_for_in_words_are_made_and_wait_again() -> None:
    c = docs_writer()
    tell(c, GOAL)
    tell(c, "ok but drop step 2 and rename step 4 to Mend the links")
    assert "Mend the links" in subtask_names(c) and len(subtask_names(c)) == 4
    assert (plan_of(c).version, plan_of(c).approved_version) == (2, None)
    tell(c, "start")
    assert states(c) == ["done"] * 4


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
    if hint:
        tell(c, "go ahead")
        assert plan_of(c).state == State.DONE
