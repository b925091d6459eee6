"""The linter: ten broken chains, each fault named with its place."""

import json

import pytest

from agents.chains.check import check_text

ASK = {
    "id": "ask",
    "handler": "chat_completion",
    "execute_config": {"tools": ["read_file"]},
    "transition": {
        "branches": [
            {"operator": "equals", "when": "tool-call", "goto": "run"},
            {"operator": "default", "when": "", "goto": "end"},
        ]
    },
}
RUN = {
    "id": "run",
    "handler": "execute_tool_calls",
    "input_var": "ask",
    "transition": {"branches": [{"operator": "default", "when": "", "goto": "ask"}]},
}
KNOWN = {"read_file", "write_file", "local_fs"}


def chain(*tasks, **more):
    return json.dumps({"id": "mine", "tasks": list(tasks), **more})


def changed(task, **changes):
    return {**task, **changes}


def branches(*rows):
    return {
        "branches": [
            {"operator": operator, "when": when, "goto": goto} for operator, when, goto in rows
        ]
    }


def faults(text):
    return [str(fault) for fault in check_text(text, KNOWN)]


def test_a_good_chain_has_no_fault():
    assert faults(chain(ASK, RUN)) == []


TOOL = ("equals", "tool_call", "run")
END = ("default", "", "end")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            chain(changed(ASK, transition=branches(TOOL, ("default", "", "nowhere"))), RUN),
            "error: tasks[0].transition.branches[1].goto: There is no task nowhere.",
        ),
        (
            chain(ASK, RUN, {"id": "lost", "handler": "noop"}),
            "warning: tasks[2]: No way leads to lost.",
        ),
        (
            chain(changed(ASK, transition=branches(("equals", "tool_call", "end"), END))),
            "error: tasks[0].transition.branches: tool_call goes to end, which runs no calls.",
        ),
        (
            chain(changed(ASK, transition=branches(END))),
            "warning: tasks[0].transition.branches: Tools are listed, and no branch takes up tool_call.",
        ),
        (
            chain(ASK, changed(RUN, input_var="nobody")),
            "error: tasks[1].input_var: Nothing produces nobody.",
        ),
        (
            chain(changed(ASK, execute_config={"tools": ["fly"]}), RUN),
            "error: tasks[0].execute_config.tools[0]: There is no tool or tool source fly.",
        ),
        (
            chain(changed(ASK, system_instruction="It is {{weather:now}}."), RUN),
            "error: tasks[0].system_instruction: There is no macro {{weather:now}}.",
        ),
        (
            chain(changed(ASK, transition=branches(TOOL, END, ("equals", "x", "end"))), RUN),
            "warning: tasks[0].transition.branches[2]: It stands behind a default, which always holds.",
        ),
        (
            chain(changed(ASK, execute_config={"tools": ["*"]}), RUN),
            "warning: tasks[0].execute_config.tools[0]: This lets the model call every tool the agent is granted.",
        ),
        (
            chain(
                changed(
                    ASK,
                    transition={
                        "branches": [
                            {
                                "operator": "edge_traversed_at_least",
                                "edge": "ask->lost",
                                "when": "many",
                                "goto": "end",
                            },
                            *ASK["transition"]["branches"],
                        ]
                    },
                ),
                RUN,
            ),
            "error: tasks[0].transition.branches[0].edge: There is no edge ask->lost.",
        ),
        (chain(ASK, ASK, RUN), "error: tasks[1].id: Another task is called ask already."),
        (chain(changed(ASK, handler="dance"), RUN), "error: tasks[0].handler: Input should be"),
        (
            chain(changed(ASK, timeout="soon"), RUN),
            'error: tasks[0].timeout: Value error, a duration is written like "30s"',
        ),
        (
            chain(changed(ASK, colour="red"), RUN),
            "error: tasks[0].colour: Extra inputs are not permitted",
        ),
        (
            chain({"id": "go", "handler": "tools"}),
            "error: tasks[0].tools: It has to say which tool to call.",
        ),
        (
            chain(changed(ASK, transition=changed(ASK["transition"], on_failure="gone")), RUN),
            "error: tasks[0].transition.on_failure: There is no task gone.",
        ),
        ("{", "error: $: This is not JSON"),
        ("[]", "error: $: Input should be"),
        (chain(), "error: tasks: List should have at least 1 item"),
    ],
)
def test_each_fault_is_named_with_its_place(text, fault):
    assert any(found.startswith(fault) for found in faults(text)), faults(text)
