"""Chains at work: the interpreter against a scripted model."""

import json
from pathlib import Path

import pytest
from django.conf import settings

from agents.models import Turn
from tests.chains.chains import chatting, task, written
from tests.fake_model import call, fails, say, silent
from tests.inner import agents_actions as talk
from tests.world import (
    calls_of,
    conversation,
    drive,
    files_of,
    plan_of,
    proposed,
    scripted,
    tell,
    texts,
)

pytestmark = pytest.mark.django_db(transaction=True)


ON_CALL = ("equals", "tool-call", "run_tools")

# As it stands in the source document, key for key.
PRINTED_TASK = """
{
  "id": "ask_model",
  "handler": "chat_completion",
  "system_instruction": "You are a helpful assistant.",
  "execute_config": {
    "model": "qwen2.5:7b",
    "provider": "ollama"
  },
  "transition": {
    "branches": [
      { "operator": "default", "when": "", "goto": "end" }
    ]
  }
}
"""


def test_the_chain_of_the_source_document_runs_as_printed():
    c = chatting(json.loads(PRINTED_TASK), token_limit=8192)
    model = scripted(say("Hello."))
    tell(c, "hi")
    assert texts(c) == ["Hello."]
    assert model.requests[0]["model"] == "qwen2.5:7b"
    assert model.requests[0]["messages"][0] == {
        "role": "system",
        "content": "You are a helpful assistant.",
    }
    assert not model.requests[0].get("tools"), "nothing listed, nothing granted"


def test_route_takes_the_way_the_model_names_and_shows_nothing_of_it():
    c = chatting(
        task(
            "sort",
            "route",
            ("equals", "question", "answer"),
            ("equals", "order", "refuse"),
            "answer",
        ),
        task("answer", "chat_completion", "end", system_instruction="Answer."),
        task("refuse", "chat_completion", "end", system_instruction="Refuse."),
    )
    model = scripted(say(" Order. "), say("I will not."))
    tell(c, "do it now")
    assert texts(c) == ["I will not."]
    assert model.requests[0]["temperature"] == 0
    assert "question, order" in model.requests[0]["messages"][0]["content"]
    assert "Refuse." in model.requests[1]["messages"][0]["content"]


def test_on_failure_goes_on_with_the_error_and_raise_error_ends_the_turn():
    c = chatting(
        task("ask", "chat_completion", "end", transition={"on_failure": "bail"}),
        task("bail", "raise_error", prompt_template="It went wrong: {{.ask}}"),
    )
    scripted(fails(401))
    tell(c, "hi")
    turn = Turn.objects.get(conversation=c)
    assert turn.state == "failed"
    assert turn.error.startswith("It went wrong: ")


def test_on_failure_may_lead_to_another_model():
    c = chatting(
        task("ask", "chat_completion", "end", transition={"on_failure": "other"}),
        task("other", "chat_completion", "end", execute_config={"model": "small"}),
    )
    model = scripted(fails(404), say("From the small one."))
    tell(c, "hi")
    assert texts(c)[-1] == "From the small one."
    assert model.requests[1]["model"] == "small"


def test_retry_on_failure_tries_the_task_again_so_many_times():
    c = chatting(task("ask", "chat_completion", "end", retry_on_failure=2))
    model = scripted(fails(401), fails(401), say("At last."))
    tell(c, "hi")
    assert len(model.requests) == 3
    assert texts(c)[-1] == "At last."


def test_a_timeout_fails_the_task():
    c = chatting(
        task("ask", "chat_completion", "end", timeout="50ms", transition={"on_failure": "late"}),
        task("late", "noop", "say"),
        task("say", "chat_completion", "end", prompt_template="Say sorry: {{.ask}}"),
    )
    model = scripted(silent("I was"), say("Sorry."))
    tell(c, "hi")
    assert texts(c)[-1] == "Sorry."
    assert model.requests[1]["messages"][-1]["content"] == "Say sorry: ask took longer than 50ms."


def test_a_loop_is_bounded_by_its_edge_and_by_the_engine():
    def bounded(*first):
        return chatting(
            task(
                "ask",
                "chat_completion",
                *first,
                ON_CALL,
                "end",
                execute_config={"tools": ["list_files"]},
            ),
            task("run_tools", "execute_tool_calls", "ask", input_var="ask"),
            task("enough", "chat_completion", "end"),
        )

    c = bounded(("edge_traversed_at_least", "2", "enough"))
    chain = json.loads((Path(settings.PLANSIDE_HOME) / "chains" / "mine.json").read_text())
    chain["tasks"][0]["transition"]["branches"][0]["edge"] = "ask->run_tools"
    written(*chain["tasks"])
    model = scripted(*[call("list_files")] * 3, say("That is enough."))
    tell(c, "look")
    assert (len(model.requests), texts(c)[-1]) == (4, "That is enough.")

    c = bounded()
    model = scripted(lambda request: call("list_files"))
    tell(c, "look")
    assert len(model.requests) == 60
    assert "did not come to an end" in Turn.objects.get(conversation=c).error


def test_a_chain_calls_a_tool_itself_and_words_its_result():
    c = chatting(
        task(
            "look",
            "tools",
            "tell",
            tools={"name": "read_file", "args": {"path": "{{.input}}"}},
            output_template="It says: {{.output}}",
        ),
        task("tell", "chat_completion", "end", prompt_template="Repeat: {{.look}}"),
    )
    (files_of(c) / "a.txt").write_text("{{var:model}} inside")
    model = scripted(say("ok"))
    tell(c, "a.txt")
    assert model.requests[0]["messages"][-1]["content"] == "Repeat: It says: {{var:model}} inside"
    assert [(made.tool, made.state) for made in calls_of(c)] == [("read_file", "done")]


def test_a_chains_own_call_needs_the_agents_grant_too():
    look = task(
        "look",
        "tools",
        "end",
        tools={"name": "local_fs", "tool_name": "read_file", "args": {"path": "a"}},
    )
    c = conversation(chains={"chat": written(look)}, tools={})
    scripted()
    tell(c, "go")
    assert calls_of(c)[0].state == "refused"
    assert Turn.objects.get(conversation=c).state == "failed"


def test_a_call_outside_the_tasks_list_is_refused_though_the_agent_has_it():
    c = chatting(
        task(
            "ask",
            "chat_completion",
            ON_CALL,
            "end",
            execute_config={"tools": ["*", "!write_file"], "hide_tools": ["edit_file"]},
        ),
        task("run_tools", "execute_tool_calls", "ask"),
    )
    model = scripted(
        call("write_file", path="a", content="a"),
        call("edit_file", path="a", old="a", new="b"),
        say("no"),
    )
    tell(c, "write")
    names = {tool["function"]["name"] for tool in model.requests[0]["tools"]}
    assert names >= {"read_file"}
    assert not names & {"write_file", "edit_file"}
    assert [made.state for made in calls_of(c)] == ["refused", "refused"]


def test_without_input_var_a_task_reads_the_one_before_it():
    c = chatting(
        task("first", "noop", "second", prompt_template="made by the first"),
        task("second", "noop", "third"),
        task("third", "chat_completion", "end", prompt_template="{{.input}}"),
    )
    model = scripted(say("ok"))
    tell(c, "hi")
    assert model.requests[0]["messages"][-1]["content"] == "made by the first"


def test_macros_of_people_models_and_tools_are_inert():
    c = chatting(
        task(
            "ask",
            "chat_completion",
            ON_CALL,
            "end",
            system_instruction="You are {{var:model}} for {{var:name}}.",
            execute_config={"tools": ["*"]},
        ),
        task("run_tools", "execute_tool_calls", "ask", input_var="ask"),
    )
    (files_of(c) / "{{now}}.txt").write_text("{{toolservice:list}}")
    model = scripted(call("read_file", path="{{now}}.txt"), say("{{chain:id}}"), say("done"))
    tell(c, "{{var:provider}}")
    system = model.requests[0]["messages"][0]["content"]
    assert system.startswith("You are scripted for Agent")
    wire = json.dumps(model.requests[1]["messages"])
    for inert in ("{{var:provider}}", "{{now}}.txt", "{{toolservice:list}}"):
        assert inert in wire
    assert texts(c)[-1] == "{{chain:id}}"


def test_long_conversations_are_cut_to_the_token_limit_with_calls_and_results_together():
    c = chatting(
        task(
            "ask",
            "chat_completion",
            ON_CALL,
            "end",
            system_instruction="S",
            execute_config={"tools": ["*"]},
        ),
        task("run_tools", "execute_tool_calls", "ask", input_var="ask"),
        token_limit=1200,
    )
    (files_of(c) / "a.txt").write_text("x" * 900)
    for number in range(6):
        scripted(call("read_file", path="a.txt"), say(f"answer {number} " + "y" * 300))
        tell(c, f"question {number}")
    model = scripted(say("last"))
    tell(c, "the newest question")
    messages = model.requests[0]["messages"]
    assert messages[-1]["content"] == "the newest question"
    assert messages[0]["role"] == "system"
    assert len(json.dumps(messages)) < 1200 * 4
    assert "question 0" not in json.dumps(messages)
    called = {each["id"] for m in messages for each in m.get("tool_calls") or []}
    assert called == {m["tool_call_id"] for m in messages if m["role"] == "tool"}


def test_the_planner_and_the_executor_are_chains_too():
    written(
        task(
            "ask",
            "chat_completion",
            ON_CALL,
            "end",
            system_instruction="OWN EXECUTOR",
            execute_config={"tools": ["*"]},
        ),
        task(
            "run_tools", "execute_tool_calls", ("equals", "finished", "end"), "ask", input_var="ask"
        ),
        id="own-executor",
    )
    c = proposed("Read", chains={"executor": "own-executor"})
    model = scripted(call("finish_subtask", outcome="read"), say("ok"))
    tell(c, "go")
    assert "OWN EXECUTOR" in model.requests[0]["messages"][0]["content"]
    assert plan_of(c).state == "done"


def test_a_chain_that_does_not_exist_is_one_sentence():
    c = conversation(chains={"chat": "nothing-here"})
    scripted(say("never"))
    tell(c, "hi")
    assert Turn.objects.get(conversation=c).error == "There is no chain 'nothing-here'."
    talk.retry_reply(c, "alice")
    drive()
