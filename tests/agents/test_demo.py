"""The demo model over the sample workspace, with the real file tools and the real client."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agents import http
from tests.agents.demo_model import (
    CHAT,
    DEMO,
    IN_ATTEMPT,
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
from tests.inner import LANGUAGES, list_models, script

GOAL = "Tidy up the project README and API docs — fill in missing sections and fix broken links"


@pytest.fixture(autouse=True)
async def closed_client() -> AsyncIterator[None]:
    yield
    await http.aclose_all()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return sample(tmp_path)


async def test_the_goal_of_the_guide_becomes_five_subtasks_with_measurable_outcomes() -> None:
    subtasks = await planned(GOAL)
    assert len(subtasks) == 5
    for subtask in subtasks:
        assert subtask["name"] and subtask["description"] and subtask["expected_outcome"]


@pytest.mark.parametrize(
    ("goal", "count"),
    [
        ("fix the broken links in our docs", 3),
        ("Please clean up the README", 4),
        ("complete the missing sections of the documentation", 3),
        ("tidy docs", 4),
        ("Improve README.md and docs/", 5),
    ],
)
async def test_other_words_for_the_same_goal_are_planned_too(goal: str, count: int) -> None:
    assert len(await planned(goal)) == count


@pytest.mark.parametrize("goal", [GOAL, "fix the broken links in our docs", "clean up the README"])
async def test_what_is_to_be_written_is_not_there_before(workspace: Path, goal: str) -> None:
    """A check that holds before the work proves nothing; only `unchanged` is about what was."""
    checks = [check for subtask in await planned(goal) for check in subtask.get("checks", [])]
    assert checks
    for check in checks:
        if "unchanged" not in check:
            assert check["contains"] not in (workspace / check["path"]).read_text(), check


async def test_a_goal_outside_the_script_gets_words_and_no_plan() -> None:
    reply = await ask([user("Book me a flight to Oslo")], ["create_plan"])
    assert not reply.calls
    assert "/plan Tidy up" in reply.text and "demo model" in reply.text


async def test_the_plan_is_presented_in_words_after_it_was_made() -> None:
    messages = [user(GOAL)]
    reply = await ask(messages, ["create_plan"])
    messages += [
        asked(reply),
        answered(reply.calls[0].id, "Plan: Tidy up (v1)\n\nv1 waits for the person's yes."),
    ]
    presented = await ask(messages, WAITING)
    assert not presented.calls and "5 steps" in presented.text


async def test_the_whole_plan_leaves_the_sample_without_gaps_and_broken_links(
    workspace: Path,
) -> None:
    assert left(workspace) == (5, 7)
    outcomes = []
    for subtask in await planned(GOAL):
        how, outcome = await work(workspace, subtask["name"], description=subtask["description"],
                                  expected=subtask["expected_outcome"])  # fmt: skip
        assert how == "finish_subtask", outcome
        outcomes.append(outcome)
    assert left(workspace) == (0, 0)
    assert "5 empty sections and 7 broken links" in outcomes[0]
    assert outcomes[1].startswith("Filled in 2 sections") and "README.md" in outcomes[1]
    assert outcomes[2].startswith("Filled in 3 sections")
    assert outcomes[3].startswith("Fixed 7 links")
    assert outcomes[4].endswith("0 empty sections and 0 broken links.")


async def test_what_is_filled_in_is_what_the_code_says(workspace: Path) -> None:
    await work(workspace, "Fill in the missing sections")
    text = pages(workspace)
    assert "| 2 | the command or the rules file was wrong |" in text["README.md"]
    assert "| `--dry-run` | print, but move nothing |" in text["README.md"]
    assert "Decides about each file directly in the folder" in text["docs/api.md"]
    assert "python3 tidybox.py ~/Downloads --undo" in text["docs/quickstart.md"]
    assert "nothing is overwritten" in text["docs/configuration.md"]


async def test_the_targets_of_fixed_links_are_the_ones_meant(workspace: Path) -> None:
    await work(workspace, "Fix the broken links")
    text = "\n".join(pages(workspace).values())
    for target in ("(docs/quickstart.md)", "configuration.md#files-that-stay)", "#undo-a-run)",
                   "README.md#installation)", "(../examples/rules.json)", "(configuration.md)",
                   "configuration.md#the-journal)"):  # fmt: skip
        assert target in text


@pytest.mark.parametrize(
    "name",
    [
        "Mend broken links and anchors",
        "repair all the links",
        "Links",
        "Make every link work: fix it",
    ],
)
async def test_a_renamed_subtask_is_understood_by_its_words(workspace: Path, name: str) -> None:
    how, outcome = await work(workspace, name)
    assert how == "finish_subtask" and outcome.startswith("Fixed 7 links")


async def test_a_vague_name_is_understood_by_the_description(workspace: Path) -> None:
    how, outcome = await work(workspace, "Second step", description="Fill in the missing sections")
    assert how == "finish_subtask" and outcome.startswith("Filled in 5 sections")


async def test_one_named_section_is_filled_and_no_other(workspace: Path) -> None:
    _, outcome = await work(workspace, "Write the “Exit codes” section of the README")
    assert outcome == "Filled in 1 section: “Exit codes” in README.md."
    assert left(workspace)[0] == 4


async def test_a_page_named_by_hand_is_the_only_one_touched(workspace: Path) -> None:
    _, outcome = await work(workspace, "Fix the links in docs/quickstart.md")
    assert outcome.startswith("Fixed 2 links")
    assert left(workspace)[1] == 5


async def test_order_does_not_matter_and_a_second_time_nothing_is_left(workspace: Path) -> None:
    for name in ("Check the result", "Fix the broken links", "Fill in the missing sections"):
        how, _ = await work(workspace, name)
        assert how == "finish_subtask"
    assert left(workspace) == (0, 0)
    before = pages(workspace)
    for name in ("Fix the broken links", "Fill in the missing sections"):
        how, outcome = await work(workspace, name)
        assert how == "finish_subtask" and outcome.startswith("Nothing was left to do")
    assert pages(workspace) == before


async def test_the_check_tells_the_truth_about_what_is_left(workspace: Path) -> None:
    _, outcome = await work(workspace, "Check the result")
    assert "5 empty sections and 7 broken links are left" in outcome


async def test_it_reports_progress_while_it_works(workspace: Path) -> None:
    attempt = Attempt(workspace, "Fix the broken links")
    await attempt.run()
    assert attempt.progress[0].startswith("7 broken links")
    assert {"list_files", "read_file", "edit_file"} <= set(attempt.used)


@pytest.mark.parametrize(
    "name", ["Translate the README into German", "Deploy to production", "Écrire un poème"]
)
async def test_a_subtask_outside_the_script_is_failed_honestly(workspace: Path, name: str) -> None:
    how, error = await work(workspace, name)
    assert how == "fail_subtask" and name in error and "Settings > Models" in error


async def test_refused_edits_end_in_an_honest_failure(workspace: Path) -> None:
    how, error = await work(workspace, "Fix the broken links", refuse=("edit_file", "write_file"))
    assert how == "fail_subtask" and "could not be changed" in error


async def test_as_a_reviewer_it_says_that_it_cannot_judge() -> None:
    question = "Question: Is it good?\n\nJudge this question, and end with one last line, VERDICT: yes or VERDICT: no: Is it good?"
    reply = await ask([system("You judge the work of somebody else."), user(question)], [])
    assert reply.text.startswith("The demo model follows a script and cannot judge work.")


async def test_tools_that_are_not_granted_are_named(workspace: Path) -> None:
    how, error = await work(workspace, "Fix the broken links", without=("edit_file",))
    assert (how, error) == ("fail_subtask", "This needs edit_file, which this agent may not use.")


async def test_an_empty_workspace_is_failed_honestly(tmp_path: Path) -> None:
    how, error = await work(tmp_path, "Check the result")
    assert how == "fail_subtask" and "no Markdown pages" in error


async def test_a_gap_nobody_can_fill_stays_open_and_is_named(workspace: Path) -> None:
    (workspace / "README.md").write_text("# Tidybox\n\n## Zanzibar\n\n## Usage\n\nTODO\n")
    how, outcome = await work(workspace, "Fill in the missing sections of the README")
    assert how == "finish_subtask" and "Left open: “Zanzibar” in README.md" in outcome


async def test_a_finish_that_is_refused_is_not_repeated_for_ever(workspace: Path) -> None:
    attempt = Attempt(workspace, "Check the result")
    await attempt.run()
    reply = await ask(attempt.messages, [*attempt.tools, *IN_ATTEMPT])
    attempt.messages += [asked(reply), answered(reply.calls[0].id, "finish_subtask was refused.")]
    again = await ask(attempt.messages, [*attempt.tools, *IN_ATTEMPT])
    assert not again.calls and "was refused" in again.text


@pytest.mark.parametrize(
    ("words", "subtasks"),
    [
        ("drop step 2", [{"key": "s2", "remove": True}]),
        ("ok but skip the last step", [{"key": "s5", "remove": True}]),
        ("remove steps 2 and 3", [{"key": "s2", "remove": True}, {"key": "s3", "remove": True}]),
        ("Remove the links step", [{"key": "s4", "remove": True}]),
        ("rename step 4 to Mend the links", [{"key": "s4", "name": "Mend the links"}]),
        ("add a step to read the changelog", [{"name": "Read the changelog"}]),
        ("add a step “Look twice” after step 4", [
            {"key": "s1"}, {"key": "s2"}, {"key": "s3"}, {"key": "s4"}, {"name": "Look twice"}, {"key": "s5"}]),
        ("swap steps 2 and 3", [{"key": "s1"}, {"key": "s3"}, {"key": "s2"}, {"key": "s4"}, {"key": "s5"}]),
        ("move step 4 to the top", [{"key": "s4"}, {"key": "s1"}, {"key": "s2"}, {"key": "s3"}, {"key": "s5"}]),
        ("2 comments on the plan:\n\n> 2. Look\nRemove this.\n\n> 4. Mend\nRename it to Links", [
            {"key": "s2", "remove": True}, {"key": "s4", "name": "Links"}]),
        ("drop step 2 and rename step 4 to Links", [{"key": "s2", "remove": True}, {"key": "s4", "name": "Links"}]),
    ],
)  # fmt: skip
async def test_changes_in_plain_words_become_a_revision(words: str, subtasks: list[object]) -> None:
    reply = await ask([system(PLAN), user(words)], WAITING)
    assert [call.name for call in reply.calls] == ["revise_current_plan"]
    assert reply.calls[0].arguments["subtasks"] == subtasks


@pytest.mark.parametrize(
    "words", ["make it shorter somehow", "What is the weather?", "No! Don't", "drop step 9"]
)
async def test_what_is_not_understood_changes_nothing_and_is_said(words: str) -> None:
    reply = await ask([system(PLAN), user(words)], WAITING)
    assert not reply.calls and reply.text


async def test_starting_over_abandons_the_plan_and_makes_a_new_one_for_the_old_goal() -> None:
    messages = [user(GOAL), system(PLAN), user("Throw it away and start over")]
    reply = await ask(messages, WAITING)
    assert reply.calls[0].arguments["state"] == "abandoned"
    messages += [asked(reply), answered(reply.calls[0].id, "The plan is abandoned.")]
    again = await ask(messages, ["create_plan"])
    assert [call.name for call in again.calls] == ["create_plan"]


async def test_a_revision_that_was_refused_is_said_so() -> None:
    messages = [system(PLAN), user("drop step 2")]
    reply = await ask(messages, WAITING)
    messages += [asked(reply), answered(reply.calls[0].id, "A plan needs at least one subtask.")]
    assert "not possible" in (await ask(messages, WAITING)).text


async def test_closing_sums_up_the_outcomes() -> None:
    plan = ("Plan: Tidy up (v2)\n- [done] s1 Take stock: Read 5 pages: 5 empty sections.\n"
            "- [abandoned] s2 Fill in the sections (skipped)\n"
            "- [done] s3 Fix the broken links: Fixed 7 links: a → b. Left as they are: c.")  # fmt: skip
    reply = await ask([system(plan), user("Every subtask is closed.")], ["finish_plan"])
    outcome = str(reply.calls[0].arguments["outcome"])
    assert reply.calls[0].arguments["state"] == "done"
    assert outcome.startswith("2 of 3 subtasks done.")
    assert "Fixed 7 links" in outcome and "Not done: Fill in the sections." in outcome


@pytest.mark.parametrize(
    ("skipped", "name"),
    [
        ("Renamed last (skipped: no time)", "Renamed last"),
        ("Renamed last (skipped)", "Renamed last"),
        ("Renamed last (cleared)", "Renamed last"),
        ("Read docs (short) (skipped: there is a copy (an old one): see b)", "Read docs (short)"),
        ("Check: links (skipped: no)", "Check: links"),
    ],
)
async def test_what_was_skipped_is_named_without_the_reason(skipped: str, name: str) -> None:
    plan = f"Plan: Tidy up (v2)\n- [done] s1 Look: Did that\n- [abandoned] s2 {skipped}"
    reply = await ask([system(plan), user("Every subtask is closed.")], ["finish_plan"])
    outcome = str(reply.calls[0].arguments["outcome"])
    assert outcome == f"1 of 2 subtasks done. Did that. Not done: {name}."


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            "rename step 1 to check README.md of API",
            "Renamed subtask 1 to “Check README.md of API”.",
        ),
        ("add a step: ask Alice, drop step 2", "Added “Ask Alice”, dropped subtask 2."),
    ],
)
async def test_a_change_is_told_with_names_as_they_were_written(words: str, told: str) -> None:
    reply = await ask([system(PLAN), user(words)], WAITING)
    assert reply.calls[0].arguments["explanation"] == told


async def test_what_the_check_found_is_named_as_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# The API\n\n[Guide](Guide.md)\n")
    _, outcome = await work(tmp_path, "Check the result")
    assert "Broken: Guide.md in README.md." in outcome


@pytest.mark.parametrize(
    "words", ["Hi", "Write me a sonnet", "what can you do?", "Hello, what can you do here?"]
)
async def test_ordinary_chat_says_that_it_is_a_demo_and_how_to_leave_it(words: str) -> None:
    reply = await ask([user(words)], ["create_plan", "read_file", "write_file"])
    assert not reply.calls
    for part in (
        "scripted demo model",
        "/plan Tidy up",
        "enter a key",
        "Ollama",
        "Settings > Models",
    ):
        assert part in reply.text


async def test_chat_beside_a_run_tells_how_far_it_is() -> None:
    plan = "Plan: Tidy up (v1)\n- [done] s1 Look: seen\n- [in_progress] s2 Fix the links\n- [todo] s3 Check"
    offered = [
        "read_file",
        "get_plan",
        "get_changes",
        "revise_current_plan",
        "add_subtask",
        "finish_plan",
    ]
    reply = await ask([system(plan), user("how is it going?")], offered)
    assert not reply.calls and "1 of 3 steps are settled. Now: Fix the links." in reply.text


async def test_the_demo_lists_its_one_model() -> None:
    assert [each.id for each in await list_models(DEMO)] == ["docs"]


async def test_at_pace_one_it_speaks_like_a_person(settings: Any, no_waiting: Any) -> None:
    settings.DEMO_PACE = 1
    loop = asyncio.get_running_loop()
    started = loop.time()
    reply = await ask([user("Hi")], [])
    words = len(re.findall(r"\S+", reply.text))
    assert loop.time() - started >= 0.5 + words / 30


async def test_a_question_about_what_is_missing_is_answered_from_the_files(workspace: Path) -> None:
    said, used = await asked_in_chat(workspace, "What is missing from our quickstart?")
    assert said.startswith("I read docs/quickstart.md: 1 empty section and 2 broken links.")
    assert "“Undo a run” in docs/quickstart.md" in said and "README.md is empty" not in said
    assert set(used) == {"list_files", "read_file"}


async def test_a_question_about_an_attached_file_is_answered_by_what_is_in_it(
    workspace: Path,
) -> None:
    (workspace / "uploads").mkdir()
    for name, text in {"notes.txt": "Milk and bread\n", "a, b.md": "# A\n"}.items():
        (workspace / "uploads" / name).write_text(text)
    attached = "uploads/notes.txt (15 bytes), uploads/a, b.md (1,234 bytes)"
    words = f"What is in this file?\n\nAttached files, in the workspace: {attached}"
    said, used = await asked_in_chat(workspace, words)
    assert used == ["read_file", "read_file"]
    for part in ("uploads/notes.txt:", "Milk and bread", "uploads/a, b.md:", "# A", "demo model"):
        assert part in said


async def test_a_change_to_the_plan_is_made_although_a_file_is_attached() -> None:
    words = "drop step 2\n\nAttached files, in the workspace: uploads/a.txt (1 bytes)"
    reply = await ask([system(PLAN), user(words)], [*WAITING, "list_files", "read_file"])
    assert [call.name for call in reply.calls] == ["revise_current_plan"]


async def test_a_question_is_given_up_when_the_files_do_not_fit_into_the_window() -> None:
    reply = await ask([user("What is missing?")], CHAT)
    messages = [user("What is missing?"), asked(reply), answered(reply.calls[0].id, "a.md")]
    reply = await ask(messages, CHAT)
    left = [user("What is missing?"), asked(reply), answered(reply.calls[0].id, "# A\n")]
    again = await ask(left, CHAT)
    assert not again.calls and "more in these files" in again.text


@pytest.fixture
def strange(tmp_path: Path) -> Path:
    """Somebody else's files."""
    files = {
        "README.md": "# Frob\n\nSee [2](docs/chapter2.md), [licence](LICENSE), [g][g] and "
        "`[code](no.md)`.\n\n[g]: docs/gide.md\n\n## Usage\n\n## Contributing\n\n## Roadmap\n",
        "docs/chapter1.md": "# Chapter 1\n\nText, with [a](../README.md#usge) and [b](../README.md#usge).\n",
        "docs/guide.md": "# Guide\n\n```\n# Empty?\n[x](y.md)\n```\n\n## Contributing\n\nBy mail.\n",
        "src/frob.py": 'p.add_argument(\n    "file",\n    help="what to frob",\n)\n',
        "LICENSE": "MIT",
    }
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "docs/photo.md").write_bytes(b"\0\1\2")
    return tmp_path


async def test_in_other_files_it_does_what_they_allow_and_names_the_rest(strange: Path) -> None:
    how, outcome = await work(strange, "Fill in the missing sections")
    assert how == "finish_subtask"
    assert outcome.startswith("Filled in 2 sections: “Usage” in README.md, “Contributing”")
    assert "Left open: “Roadmap” in README.md, because no file says" in outcome
    assert "Could not be read whole: docs/photo.md." in outcome
    readme = (strange / "README.md").read_text()
    assert "python3 src/frob.py FILE [options]" in readme and "| what to frob |" in readme
    assert "(docs/guide.md#contributing)" in readme


async def test_a_link_is_pointed_elsewhere_only_where_that_is_what_it_meant(strange: Path) -> None:
    _, outcome = await work(strange, "Fix the broken links")
    assert outcome.startswith("Fixed 3 links: docs/gide.md → docs/guide.md in README.md; ")
    assert "Left as they are: docs/chapter2.md in README.md" in outcome
    assert (strange / "docs/chapter1.md").read_text().count("(../README.md#usage)") == 2


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Fix the links in docs/nope.md", "no Markdown pages that can be read"),
        ("Write the “Troubleshooting” section of the README", "No page has a section"),
        ("Remove all links", "cannot do"),
        ("Review and translate the docs", "cannot do"),
    ],
)
async def test_nothing_else_is_done_instead_of_what_was_asked(
    workspace: Path, name: str, why: str
) -> None:
    before = pages(workspace)
    how, error = await work(workspace, name)
    assert how == "fail_subtask" and why in error and pages(workspace) == before


@pytest.mark.parametrize(
    "goal", ["Fix the missing tests", "Update the API", "Translate the README", "Remove dead links"]
)
async def test_what_only_sounds_like_the_script_is_not_planned(goal: str) -> None:
    assert not (await ask([user(goal)], ["create_plan"])).calls


async def test_a_plan_about_the_docs_leaves_the_readme_alone(workspace: Path) -> None:
    readme = (workspace / "README.md").read_text()
    for subtask in await planned("Find every broken link in docs/ and fix it"):
        assert (await work(workspace, subtask["name"]))[0] == "finish_subtask"
    assert (workspace / "README.md").read_text() == readme and left(workspace)[1] == 2


def test_the_script_uses_no_word_that_it_does_not_define() -> None:
    text = Path(script.__file__).with_name("script.toml").read_text()
    assert set(re.findall(r"\bsays\.(\w+)", text)) <= set(script.SCRIPT["words"])


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_language_has_every_word_and_every_sentence_and_no_other(name: str) -> None:
    language, folder = LANGUAGES[name], Path(script.__file__).parent
    texts = [folder / "script.toml", folder / "languages" / f"{name}.toml"]
    used = set(re.findall(r'include "(\w+)"', "".join(path.read_text() for path in texts)))
    used |= {f"opening_{job['name']}" for job in script.SCRIPT["job"]}
    known = set(language["sentences"]) | set(script.SCRIPT["templates"])
    assert used - {"opening_"} == known
    assert set(language["words"]) == set(LANGUAGES["en"]["words"])
    assert set(language["changes"]) >= set(LANGUAGES["en"]["changes"])
    assert list(language["changes"]["kinds"]) == list(LANGUAGES["en"]["changes"]["kinds"])
