"""What a task reads: the output of the task before it, or of the one that `input_var` names."""

import pytest

from agents.models import Turn
from tests.chains.chains import chatting, task
from tests.fake_model import call, fails, say
from tests.world import files_of, scripted, tell, texts

pytestmark = pytest.mark.django_db(transaction=True)

FIRST = task("first", "chat_completion", "second", system_instruction="FIRST")
WHERE = ("equals", "from", "end")  # a route chooses from it, any other task passes it by
ON_CALL = ("equals", "tool-call", "run")
READ = {"name": "read_file", "args": {"path": "a.txt"}}
GONE = {"name": "read_file", "args": {"path": "gone.txt"}}
MADE = {"prompt_template": "made"}

# The tasks up to one called `second`, which asks a model, and what that model is asked.
BEFORE = {
    "the start": ([], "hi"),
    "a model": ([FIRST], "from the first"),
    "noop": ([task("first", "noop", "second", **MADE)], "made"),
    "noop that hands on": ([task("first", "noop", "second")], "hi"),
    "a tool": ([task("first", "tools", "second", tools=READ)], "ink"),
    "a route": ([task("first", "route", ("equals", "from", "second"), "second")], "hi"),
    "a task that failed": (
        [task("first", "tools", tools=GONE, transition={"on_failure": "second"})],
        "hi",
    ),
}


@pytest.mark.parametrize("name", BEFORE)
@pytest.mark.parametrize("handler", ["chat_completion", "route"])
def test_without_a_template_a_model_is_asked_what_came_before(name, handler):
    tasks, asked = BEFORE[name]
    c = chatting(*tasks, task("second", handler, WHERE, "end", system_instruction="SECOND"))
    (files_of(c) / "a.txt").write_text("ink")
    model = scripted(lambda request: say("from the first"))
    tell(c, "hi")
    last = model.requests[-1]["messages"][-1]
    assert last == {"role": "user", "content": asked}
    assert all(each["messages"][-1]["role"] != "assistant" for each in model.requests)


@pytest.mark.parametrize(("named", "asked"), [("first", "one"), ("input", "hi"), ("between", "b")])
def test_input_var_names_whose_output_a_model_is_asked(named, asked):
    c = chatting(
        task("first", "noop", "between", prompt_template="one"),
        task("between", "noop", "third", prompt_template="b"),
        task("third", "noop", "ask", prompt_template="three"),
        task("ask", "chat_completion", "end", input_var=named),
    )
    model = scripted(say("ok"))
    tell(c, "hi")
    assert model.requests[0]["messages"][-1] == {"role": "user", "content": asked}


@pytest.mark.parametrize("more", [{}, {"input_var": "first"}, {"prompt_template": "made, now"}])
def test_after_tool_calls_a_model_goes_on_with_the_same_question(more):
    """A round of calls never changes what was asked, and its results come last."""
    c = chatting(
        task("first", "noop", "ask", prompt_template="made"),
        task("ask", "chat_completion", ON_CALL, "end", execute_config={"tools": ["*"]}, **more),
        task("run", "execute_tool_calls", "ask", input_var="ask"),
    )
    (files_of(c) / "a.txt").write_text("ink")
    model = scripted(call("read_file", path="a.txt"), call("list_files"), say("ok"))
    tell(c, "hi")
    question = more.get("prompt_template", "made")
    shapes = [[each["role"] for each in asked["messages"]] for asked in model.requests]
    assert shapes == [["user"], ["user", *ROUND], ["user", *ROUND, *ROUND]]
    assert {asked["messages"][0]["content"] for asked in model.requests} == {question}


ROUND = ["assistant", "tool"]


def test_a_loop_back_to_a_model_asks_it_what_the_loop_made():
    c = chatting(
        task("draft", "chat_completion", "again"),
        task(
            "again",
            "noop",
            ("edge_traversed_at_least", "1", "end"),
            "draft",
            prompt_template="Better than this: {{.draft}}",
        ),
    )
    model = scripted(say("one"), say("two"))
    c.refresh_from_db()
    tell(c, "hi")
    assert [each["messages"][-1]["content"] for each in model.requests[:2]] == [
        "hi",
        "Better than this: one",
    ]


def test_a_model_that_was_busy_is_asked_the_same_again():
    c = chatting(FIRST, task("second", "chat_completion", "end"))
    model = scripted(say("from the first"), fails(503, retry_after=0), say("ok"))
    tell(c, "hi")
    assert model.requests[1]["messages"] == model.requests[2]["messages"]
    assert texts(c)[-1] == "ok"


def test_a_prompt_longer_than_the_token_limit_is_said_and_not_sent():
    c = chatting(task("ask", "chat_completion", "end"), token_limit=10)
    model = scripted(say("never"))
    tell(c, "a long prompt " * 40)
    error = Turn.objects.get(conversation=c).error
    assert error.startswith("Task ask: its prompt is about ")
    assert "token_limit of 10" in error
    assert not model.requests
