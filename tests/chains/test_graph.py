"""Which way a chain goes: each handler with each operator, and each handler that fails."""

import pytest

from agents.models import Turn
from tests.chains.chains import chatting, task
from tests.fake_model import call, fails, say
from tests.inner import BASE_PLAN_TOOLS as PLAN_TOOLS
from tests.inner import GATE_PLAN_TOOLS as BY_ROW
from tests.inner import chosen
from tests.world import files_of, scripted, tell, texts

pytestmark = pytest.mark.django_db(transaction=True)

READ = {"name": "read_file", "args": {"path": "a.txt"}}
LOST = {"name": "read_file", "args": {"path": "lost.txt"}}
ASK = task(
    "ask",
    "chat_completion",
    ("equals", "tool-call", "here"),
    "end",
    execute_config={"tools": ["*"]},
)

# Each handler at work: the tasks before it, what it is given, what the model says, its result.
AT_WORK = {
    "chat_completion": ([], {}, [say("hello")], "executed"),
    "tools": ([], {"tools": READ}, [], "tools_executed"),
    "tools with a template": (
        [],
        {"tools": READ, "output_template": "red {{.output}}"},
        [],
        "red ink",
    ),
    "noop": ([], {}, [], "noop"),
    "route": ([], {}, [say("The blue one.")], "blue"),
    "execute_tool_calls": ([ASK], {"input_var": "ask"}, [call("list_files")], "tools_executed"),
}


def operators(result):
    """Each operator with a word that holds for this result, and one that does not."""
    half = len(result) // 2
    return {
        "equals": (result, f"{result}s"),
        "contains": (result[1:-1], f"{result}s"),
        "starts_with": (result[:half], result[1:]),
        "ends_with": (result[half:], result[:-1]),
        "edge_traversed_at_least": ("0", "1"),
        "default": ("", None),
    }


OPERATORS = list(operators("x" * 9))


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("name", AT_WORK)
@pytest.mark.sampled(12)
def test_a_branch_is_taken_when_its_operator_holds_for_the_result(name, operator):
    before, more, replies, result = AT_WORK[name]
    for word in operators(result)[operator]:
        if word is None or (name == "route" and operator not in ("equals", "default")):
            continue
        holds = word == operators(result)[operator][0]
        labels = [("equals", "blue", "other")] if name == "route" and operator != "equals" else []
        ways = [(operator, word, "yes"), *labels, "other"]
        c = chatting(
            *before,
            task("here", name.partition(" ")[0], *ways, **more),
            task("yes", "noop", "end", prompt_template="yes"),
            task("other", "noop", "end", prompt_template="other"),
        )
        (files_of(c) / "a.txt").write_text("ink")
        scripted(*replies)
        tell(c, "hi")
        assert Turn.objects.get(conversation=c).error == ""
        assert texts(c)[-1] == ("yes" if holds else "other")


# Each handler that fails: the tasks before it, what it is given, what the model says, the error.
FAILING = {
    "chat_completion": ([], {}, [fails(401)], ""),
    "chat_completion in time": ([], {"timeout": "1ms"}, [{"wait": "forever"}], "longer than 1ms"),
    "chat_completion with a macro": (
        [],
        {"system_instruction": "{{var:nothing}}"},
        [],
        "no variable nothing",
    ),
    "route": ([], {}, [fails(401)], ""),
    "tools": ([], {"tools": LOST}, [], "lost.txt"),
    "tools with a template": (
        [],
        {"tools": READ, "output_template": "{{.field}}"},
        [],
        "There is no .field",
    ),
    "tools not granted": ([], {"tools": {"name": "fetch_url", "args": {}}}, [], "not carried out"),
    "noop with a macro": ([], {"prompt_template": "{{var:nothing}}"}, [], "no variable nothing"),
    "raise_error": ([], {"prompt_template": "Not today."}, [], "Not today."),
}


def failing(name, **transition):
    before, more, replies, error = FAILING[name]
    handler = name.partition(" ")[0]
    ways = [("equals", "x", "after"), "after"] if handler == "route" else ["after"]
    c = chatting(
        *before,
        task("here", handler, *ways, transition=transition, **more),
        task("after", "noop", "end", prompt_template="went on"),
        task("failed", "noop", "end", prompt_template="failed: {{.here.error}}"),
    )
    (files_of(c) / "a.txt").write_text("ink")
    return c, scripted(*replies), error


@pytest.mark.parametrize("name", FAILING)
def test_a_task_that_fails_takes_its_on_failure_and_says_why(name):
    c, _, error = failing(name, on_failure="failed")
    tell(c, "hi")
    turn = Turn.objects.get(conversation=c)
    assert (turn.state, turn.error) == ("done", "")
    assert texts(c)[-1].startswith("failed: ")
    assert error in texts(c)[-1]


@pytest.mark.parametrize("name", FAILING)
def test_a_task_that_fails_without_on_failure_fails_the_turn(name):
    c, _, error = failing(name)
    tell(c, "hi")
    turn = Turn.objects.get(conversation=c)
    assert turn.state == "failed"
    assert error in turn.error
    assert "Something broke" not in turn.error


@pytest.mark.parametrize(
    ("answer", "labels", "label"),
    [
        ("normal", ["normal", "abnormal"], "normal"),
        ("It is abnormal.", ["normal", "other"], "It is abnormal."),
        ("It is abnormal.", ["normal", "abnormal"], "abnormal"),
        ("**Order**", ["order", "question"], "order"),
        ("an order, no question", ["order", "question"], "an order, no question"),
        ("a tool-call", ["call", "tool_call"], "tool_call"),
        ("It's high-risk", ["risk", "high-risk"], "high-risk"),
        ("no", ["no", "none"], "no"),
        ("none of these", ["no", "one"], "none of these"),
        ("größer", ["groß", "größer"], "größer"),
        ("", ["a"], ""),
    ],
)
def test_a_label_is_meant_where_it_is_a_whole_word_and_the_only_one(answer, labels, label):
    assert chosen(answer, labels) == label


def test_the_names_of_a_plans_tools_are_the_same_everywhere():
    assert {name for names in BY_ROW.values() for name in names} == PLAN_TOOLS
