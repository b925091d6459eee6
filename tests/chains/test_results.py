"""What a chain comes to: the output of its last task, at every door."""

import asyncio
import re
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from agents.errors import Conflict
from agents.models import Turn
from tests.chains.chains import agent, chatting, task, written
from tests.fake_model import call, say
from tests.inner import read_agent, run_once, set_owner
from tests.world import calls_of, conversation, drive, files_of, person, scripted, tell, texts

pytestmark = pytest.mark.django_db(transaction=True)

READ = {"name": "read_file", "args": {"path": "a.txt"}}
TOOLS = {"tools": ["*"]}
ON_CALL = ("equals", "tool-call", "run")

# How a chain may end, what the model says meanwhile, and what it comes to.
ENDINGS = {
    "tools": ([task("last", "tools", "end", tools=READ)], [], "ink"),
    "tools with a template": (
        [task("last", "tools", "end", tools=READ, output_template="It says {{.output}}.")],
        [],
        "It says ink.",
    ),
    "noop": ([task("last", "noop", "end", prompt_template="Got {{.input}}.")], [], "Got hi."),
    "noop that hands on": ([task("last", "noop", "end")], [], "hi"),
    "route": (
        [task("last", "route", ("equals", "question", "end"), "end")],
        [say(" Question. ")],
        "question",
    ),
    "execute_tool_calls": (
        [
            task("ask", "chat_completion", ON_CALL, "end", execute_config=TOOLS),
            task("run", "execute_tool_calls", "end", input_var="ask"),
        ],
        [call("read_file", path="a.txt")],
        "ink",
    ),
    "chat_completion": ([task("last", "chat_completion", "end")], [say("Hello.")], "Hello."),
    "a way without a task behind it": (
        [task("last", "tools", ("equals", "never", "end"), tools=READ)],
        [],
        "ink",
    ),
}


def ending(name):
    tasks, replies, result = ENDINGS[name]
    return tasks, scripted(*replies), result


def with_ink(c):
    (files_of(c) / "a.txt").write_text("ink")
    return c


@pytest.mark.parametrize("name", ENDINGS)
def test_a_chat_says_what_its_chain_came_to_and_says_it_once(name):
    tasks, _, result = ending(name)
    c = with_ink(chatting(*tasks))
    tell(c, "hi")
    assert [text for text in texts(c) if text] == [result]


@pytest.mark.parametrize("name", ENDINGS)
def test_a_command_and_the_api_give_the_last_output(name):
    tasks, _, result = ending(name)
    id = agent(tools={"read_file": "allow"})
    set_owner(person(), id)
    (read_agent(id).path.parent / "files" / "a.txt").write_text("ink")
    turn = run_once.queue_chain(person(), written(*tasks), "hi", id)
    drive()
    turn.refresh_from_db()
    outcome = run_once.outcome_of(turn)
    assert (outcome.state, outcome.output, outcome.error) == ("done", result, "")


@pytest.mark.parametrize("name", ENDINGS)
def test_an_agent_that_is_called_answers_with_the_last_output(name):
    tasks, _, result = ending(name)
    helper = agent(chains={"chat": written(*tasks, id="helping")}, tools={"read_file": "allow"})
    (read_agent(helper).path.parent / "files" / "a.txt").write_text("ink")
    ask = {"name": "run_agent", "args": {"agent": helper, "task": "hi"}}
    c = conversation(
        chains={"chat": written(task("ask", "tools", "end", tools=ask))},
        tools={f"run_agent:{helper}": "allow"},
    )
    tell(c, "go")
    assert calls_of(c)[0].result == result
    assert texts(c)[-1] == result


def test_the_command_prints_what_a_chain_without_a_model_came_to(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("ink")
    monkeypatch.setattr("console.management.wait.release", nothing)
    id = written(*ENDINGS["tools"][0])
    call_command("chain", "run", "--chain", id, "hi", stdout=StringIO())
    assert capsys.readouterr().out == "ink\n"


async def nothing():
    await asyncio.sleep(0)


def test_the_words_of_raise_error_are_the_commands_error():
    id = written(task("last", "raise_error", prompt_template="No {{.input}} today."))
    with pytest.raises(Conflict, match=r"^No hi today\.$"):
        call_command("chain", "run", "--chain", id, "hi", stdout=StringIO())


def test_a_chain_that_ended_in_a_tool_is_not_said_again_when_the_turn_is_taken_up_again():
    c = with_ink(chatting(*ENDINGS["tools"][0]))
    scripted()
    tell(c, "hi")
    turn = Turn.objects.get(conversation=c)
    Turn.objects.filter(pk=turn.pk).update(state="queued", finished_at=None)
    drive()
    assert [text for text in texts(c) if text] == ["ink"]
    assert len(calls_of(c)) == 1


def test_the_readmes_own_run_of_a_chain_says_what_is_in_the_folder(tmp_path, monkeypatch, capsys):
    """By the demo model, as for somebody who has just begun."""
    (question,) = re.findall(r'chain run "(.*?)"', Path("README.md").read_text())
    (tmp_path / "ink.txt").write_text("blue")
    monkeypatch.chdir(tmp_path)
    call_command("chain", "run", question, stdout=StringIO())
    out = capsys.readouterr().out
    assert "ink.txt" in out
    assert "not possible" not in out
