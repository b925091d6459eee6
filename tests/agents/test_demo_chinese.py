"""The demo model in Chinese: what it understands, and in which language it answers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.agents.demo_model import (
    CHAT,
    PLAN,
    WAITING,
    Attempt,
    answered,
    ask,
    asked,
    asked_in_chat,
    left,
    pages,
    planned,
    sample,
    system,
    user,
    work,
)
from tests.inner import pieces

GOAL = "整理项目的 README 和 API 文档，补全缺失的章节并修复失效的链接"
CHINESE_PLAN = """You keep documents.

Plan: 整理 README 和文档 (v1)
- [todo] s1 盘点 README 和文档的现状
- [todo] s2 补全 README 中缺失的章节
- [todo] s3 补全 API 文档中缺失的章节
- [todo] s4 修复失效的链接
- [todo] s5 检查结果"""
# A sentence in English within Chinese: three words in a row.
ENGLISH = re.compile(r"[a-z]{2,} [a-z]{2,} [a-z]{2,}")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return sample(tmp_path)


def is_chinese(text: str) -> bool:
    return bool(re.search("[一-鿿]", text)) and not ENGLISH.search(text)


def order(*numbers: int) -> list[dict[str, str]]:
    return [{"key": f"s{number}"} for number in numbers]


def without(*numbers: int) -> list[dict[str, object]]:
    return [{"key": f"s{number}", "remove": True} for number in numbers]


async def test_the_goal_becomes_a_plan_in_chinese() -> None:
    reply = await ask([user(GOAL)], ["create_plan"])
    plan: Any = reply.calls[0].arguments
    assert plan["title"] == "整理 README 和文档"
    assert [each["name"] for each in plan["subtasks"]] == re.findall(r"s\d (.+)", CHINESE_PLAN)
    texts = [plan["content"], plan["expected_outcome"]]
    for subtask in plan["subtasks"]:
        texts += [text for name, text in subtask.items() if name != "checks"]
    for text in texts:
        assert is_chinese(text) and text == text.strip() and "  " not in text


@pytest.mark.parametrize(
    ("goal", "count"),
    [
        ("整理项目的README和API文档——补充缺失章节并修复损坏的链接", 5),
        ("找出 docs/ 中所有失效的链接并修复", 3),
        ("请把文档里的死链都修好", 3),
        ("完善README", 4),
        ("补全文档中缺失的部分", 3),
        ("整理ＲＥＡＤＭＥ和文档", 5),
    ],
)
async def test_other_words_for_the_same_goal_are_planned_too(goal: str, count: int) -> None:
    subtasks = await planned(goal)
    assert len(subtasks) == count and is_chinese(subtasks[0]["name"])


@pytest.mark.parametrize(
    "goal",
    ["帮我订一张去奥斯陆的机票", "翻译 README", "删除失效的链接", "修复缺失的测试", "更新 API"],
)
async def test_a_goal_outside_the_script_gets_words_and_no_plan(goal: str) -> None:
    reply = await ask([user(goal)], ["create_plan"])
    assert not reply.calls and "演示模型" in reply.text and "/plan 整理" in reply.text


async def test_the_plan_is_presented_in_chinese() -> None:
    messages = [user(GOAL)]
    reply = await ask(messages, ["create_plan"])
    messages += [
        asked(reply),
        answered(reply.calls[0].id, f"{CHINESE_PLAN}\n\nv1 waits for a yes."),
    ]
    presented = await ask(messages, WAITING)
    assert not presented.calls and "共 5 个子任务" in presented.text


@pytest.mark.parametrize(
    ("words", "subtasks"),
    [
        ("删掉第 2 个子任务", without(2)),
        ("删掉第二个", without(2)),
        ("第２个不要了", without(2)),
        ("跳过最后一步", without(5)),
        ("把倒数第二个删掉", without(4)),
        ("删掉第 2 个和第 3 个", without(2, 3)),
        ("第2、3个都删掉", without(2, 3)),
        ("将子任务二删除", without(2)),
        ("把检查结果那一步删掉", without(5)),
        ("删掉修复链接的子任务", without(4)),
        ("去掉 API 文档那步", without(3)),
        ("把子任务 1 改名为“先看看”", [{"key": "s1", "name": "先看看"}]),
        ("第一个改成：先看看", [{"key": "s1", "name": "先看看"}]),
        ("重命名第 4 个为修链接", [{"key": "s4", "name": "修链接"}]),
        ("加一个子任务：检查拼写", [{"name": "检查拼写"}]),
        ("再加一个检查拼写的子任务", [{"name": "检查拼写"}]),
        ("加一个步骤，检查并删除缓存", [{"name": "检查并删除缓存"}]),
        ("加一个子任务：从头再读一遍第一个页面", [{"name": "从头再读一遍第一个页面"}]),
        ("在第 2 个之后加一个子任务：检查拼写", [*order(1, 2), {"name": "检查拼写"}, *order(3, 4, 5)]),
        ("加一步“检查拼写”，放到最前面", [{"name": "检查拼写"}, *order(1, 2, 3, 4, 5)]),
        ("交换 2 和 3", order(1, 3, 2, 4, 5)),
        ("把第二个和第三个换一下顺序", order(1, 3, 2, 4, 5)),
        ("把第 3 个移到最前面", order(3, 1, 2, 4, 5)),
        ("把第 1 个放到第 4 个后面", order(2, 3, 4, 1, 5)),
        ("第 5 个移到第 2 位", order(1, 5, 2, 3, 4)),
        ("把第 4 个上移", order(1, 2, 4, 3, 5)),
        ("第 2 个往后移一位", order(1, 3, 2, 4, 5)),
        ("好的，但是删掉第 2 个，然后把第 4 个改名为修链接", [*without(2), {"key": "s4", "name": "修链接"}]),
        ("请把第 2 步去掉，第 3 步移到最后", [*without(2), *order(1, 4, 5, 3)]),
        ("增加一步：通读全文；删掉第 1 个。", [*without(1), {"name": "通读全文"}]),
        ("对计划的 2 条评论：\n\n> 2. 补全\n删掉这个\n\n> 4. 修复失效的链接\n改名为修链接", [
            *without(2), {"key": "s4", "name": "修链接"}]),
        ("1 comment on the plan:\n\n> 4. 修复\n把它移到第 2 个之前。", order(1, 4, 2, 3, 5)),
        ("1 comment on the plan:\n\n> 4. 修复\n移到最前面", order(4, 1, 2, 3, 5)),
        ("1 comment on the plan:\n\n> 3. 补全\n这一步不要了", without(3)),
        ("1 comment on the plan:\n\n> 3. 补全\n跳过", without(3)),
        ("删掉 step 2，再把 step 4 移到最前面", [*without(2), *order(4, 1, 3, 5)]),
        ("删掉第 2 个, then rename step 4 to 修链接", [*without(2), {"key": "s4", "name": "修链接"}]),
    ],
)  # fmt: skip
async def test_changes_in_plain_words_become_a_revision(words: str, subtasks: list[object]) -> None:
    reply = await ask([system(CHINESE_PLAN), user(words)], WAITING)
    assert [call.name for call in reply.calls] == ["revise_current_plan"], reply.text
    assert reply.calls[0].arguments["subtasks"] == subtasks
    assert is_chinese(str(reply.calls[0].arguments["explanation"]))


@pytest.mark.parametrize(
    "words",
    [
        *("这个计划太长了", "天气怎么样？", "不，别这样！", "删掉第 9 个", "不要删第 2 个", "为什么要先盘点？"),
        *("能删掉第 2 个吗？", "把链接改成绝对路径", "删掉一步", "更新计划"),
    ],
)  # fmt: skip
async def test_what_is_not_understood_changes_nothing_and_is_said(words: str) -> None:
    reply = await ask([system(CHINESE_PLAN), user(words)], WAITING)
    assert not reply.calls and is_chinese(reply.text)


async def test_a_change_is_told_with_what_was_not_understood() -> None:
    words = "删掉第 2 个，把第 9 个移到最前面。这个计划太长了"
    reply = await ask([system(CHINESE_PLAN), user(words)], WAITING)
    assert reply.calls[0].arguments["explanation"] == "删掉了第 2 个子任务。"
    assert "没有可以改动的第 9 个子任务" in reply.text
    assert "我没听懂“这个计划太长了”。" in reply.text


@pytest.mark.parametrize(
    "words", ["重新开始", "推倒重来吧", "把计划扔掉，重新来", "给我一个新的计划"]
)
async def test_starting_over_abandons_the_plan_and_makes_one_for_the_old_goal(words: str) -> None:
    messages = [user(GOAL), system(CHINESE_PLAN), user(words)]
    reply = await ask(messages, WAITING)
    assert reply.calls[0].arguments["state"] == "abandoned"
    messages += [asked(reply), answered(reply.calls[0].id, "The plan is abandoned.")]
    again = await ask(messages, ["create_plan"])
    assert again.calls[0].arguments["title"] == "整理 README 和文档"


async def test_the_whole_plan_leaves_the_sample_without_gaps_and_broken_links(
    workspace: Path,
) -> None:
    outcomes = []
    for subtask in await planned(GOAL):
        attempt = Attempt(workspace, subtask["name"], description=subtask["description"],
                          expected=subtask["expected_outcome"])  # fmt: skip
        how, outcome = await attempt.run()
        assert how == "finish_subtask", outcome
        outcomes.append(outcome)
        assert all(map(is_chinese, attempt.progress))
    assert left(workspace) == (0, 0)
    assert outcomes[0] == "读了 5 个页面，发现 5 个空章节、7 个失效链接。"
    assert outcomes[1].startswith("补全了 2 个章节：“Usage”（README.md）、")
    assert outcomes[2].startswith("补全了 3 个章节：")
    assert outcomes[3].startswith(
        "修复了 7 个链接：docs/quick-start.md → docs/quickstart.md（README.md）；"
    )
    assert outcomes[4] == "把 5 个页面重读了一遍：0 个空章节、0 个失效链接。"
    # The pages stay in their own language.
    assert not re.search("[一-鿿]", "\n".join(pages(workspace).values()))


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("修一下链接", "修复了 7 个链接"),
        ("把所有链接改对", "修复了 7 个链接"),
        ("补写 README 的“Exit codes”一节", "补全了 1 个章节：“Exit codes”（README.md）。"),
        ("补写Exit codes一节", "补全了 1 个章节：“Exit codes”（README.md）。"),
        ("修复docs/quickstart.md中的链接", "修复了 2 个链接"),
        ("修复快速入门里的链接", "修复了 2 个链接"),
        ("盘点文档", "读了 4 个页面，"),
        ("再检查一遍README", "把 1 个页面重读了一遍："),
    ],
)
@pytest.mark.sampled(3)
async def test_a_renamed_subtask_is_understood_by_its_words(
    workspace: Path, name: str, begins: str
) -> None:
    how, outcome = await work(workspace, name)
    assert how == "finish_subtask" and outcome.startswith(begins), outcome


async def test_a_page_with_a_chinese_name_is_found_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "快速上手.md").write_text("# 快速上手\n\n## 安装\n\n待补充\n\n[配置](没有.md)\n")
    (tmp_path / "其他.md").write_text("# 其他\n\n[配置](也没有.md)\n")
    said, _ = await asked_in_chat(tmp_path, "我们的快速上手还缺什么？")
    assert said.startswith("我读了 快速上手.md：0 个空章节、1 个失效链接。"), said


@pytest.mark.parametrize(
    ("name", "more", "why"),
    [
        ("把 README 翻译成德语", {}, "做不了“把 README 翻译成德语”"),
        ("部署到生产环境", {}, "做不了"),
        ("删除所有链接", {}, "做不了"),
        ("修复失效的链接", {"without": ("edit_file",)}, "需要工具 edit_file"),
        ("修复失效的链接", {"refuse": ("edit_file",)}, "一个链接也没能修复"),
        ("修复 docs/nope.md 中的链接", {}, "名为 docs/nope.md 的可读的 Markdown 页面"),
        ("补写 README 的“故障排查”一节", {}, "没有页面有“故障排查”这一节"),
    ],
)
async def test_what_cannot_be_done_is_failed_honestly(
    workspace: Path, name: str, more: dict[str, Any], why: str
) -> None:
    before = pages(workspace)
    how, error = await work(workspace, name, **more)
    assert how == "fail_subtask" and why in error and pages(workspace) == before


async def test_a_question_is_answered_from_the_files(workspace: Path) -> None:
    said, used = await asked_in_chat(workspace, "我们的快速入门还缺什么？")
    assert said.startswith("我读了 docs/quickstart.md：1 个空章节、2 个失效链接。")
    assert "docs/quickstart.md 中的“Undo a run”是空的" in said and set(used) == {
        "list_files",
        "read_file",
    }
    said, _ = await asked_in_chat(workspace, "这个文件夹里有什么？")
    assert said.startswith("这个文件夹里有：") and "README.md" in said


@pytest.mark.parametrize("words", ["你好", "给我写一首诗", "你能做什么？"])
async def test_ordinary_chat_says_that_it_is_a_demo_and_how_to_leave_it(words: str) -> None:
    reply = await ask([user(words)], CHAT)
    assert not reply.calls
    for part in ("演示模型", "/plan 整理", "输入密钥", "Ollama", "设置 > 模型"):
        assert part in reply.text


async def test_what_it_suggests_to_type_is_what_it_understands() -> None:
    suggested = (
        (await ask([user("你好")], CHAT)).text.split("```")[1].strip().removeprefix("/plan ")
    )
    assert len(await planned(suggested)) == 5
    able = (await ask([system(CHINESE_PLAN), user("嗯？这是什么")], WAITING)).text
    for words in re.findall("“([^”]+)”", able):
        reply = await ask([system(CHINESE_PLAN), user(words.replace("……", "校对"))], WAITING)
        assert reply.calls, words


async def test_closing_sums_up_the_outcomes() -> None:
    plan = ("Plan: 整理文档 (v2)\n- [done] s1 盘点: 读了 5 个页面，发现 5 个空章节、7 个失效链接。\n"
            "- [abandoned] s2 补全章节 (skipped)\n"
            "- [done] s3 修复链接: 修复了 7 个链接：a.md → b.md。未改动的链接：c。")  # fmt: skip
    reply = await ask([system(plan), user("Every subtask is closed.")], ["finish_plan"])
    assert reply.calls[0].arguments["outcome"] == (
        "共 3 个子任务，完成 2 个。读了 5 个页面，发现 5 个空章节、7 个失效链接。"
        "修复了 7 个链接：a.md → b.md。未做：补全章节。"
    )


async def test_chat_beside_a_run_tells_how_far_it_is() -> None:
    plan = "Plan: 整理 (v1)\n- [done] s1 盘点: 好了\n- [in_progress] s2 修复链接\n- [todo] s3 检查"
    offered = [
        "read_file",
        "get_plan",
        "get_changes",
        "revise_current_plan",
        "add_subtask",
        "finish_plan",
    ]
    reply = await ask([system(plan), user("做到哪儿了？")], offered)
    assert not reply.calls and "3 个子任务已处理 1 个。正在进行：修复链接。" in reply.text


@pytest.mark.parametrize(
    ("plan", "said", "is_so"),
    [
        (CHINESE_PLAN, ["整理文档", "drop step 2"], False),
        (PLAN, ["tidy the docs", "删掉第 2 个"], True),
        (PLAN, ["整理文档", "s2?"], True),
        (PLAN, ["整理文档", "docs/api.md"], True),
        (CHINESE_PLAN, ["tidy the docs", "??"], False),
        (PLAN, ["整理文档", "1 comment on the plan:\n\n> 2. 补全\nRemove this."], False),
        (PLAN, ["整理文档", "Replan the rest, from subtask 2 on."], True),
        (PLAN, ["ドキュメントを整理して下さい"], False),
        (CHINESE_PLAN, ["??"], True),
    ],
)
async def test_the_answer_is_in_the_language_that_was_spoken_last(
    plan: str, said: list[str], is_so: bool
) -> None:
    reply = await ask([system(plan), *map(user, said)], WAITING)
    told = reply.text or str(reply.calls[0].arguments["explanation"])
    assert bool(re.search("[一-鿿]", told)) == is_so, told


def test_chinese_is_spoken_at_the_pace_of_english() -> None:
    text = "计划写好了，共 5 个子任务。\n\n在你启动计划之前，什么都不会执行。"
    assert "".join(pieces(text)) == text and 12 < len(pieces(text)) < 25
    assert pieces("One, two “three”.\n") == ["One, ", "two ", "“three”.\n"]
