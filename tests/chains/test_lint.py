"""The linter: ten broken chains, each fault named with its place."""

import json
from itertools import count

import pytest

from tests.growth import demand_proportion
from tests.inner import Names, check_text

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
KNOWN = {"read_file", "write_file", "local_fs", "shop", "shop__orders"}
NAMES = Names(lambda: KNOWN, lambda: ["openai", "demo"])


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
    return [str(fault) for fault in check_text(text, NAMES)]


def test_a_good_chain_has_no_fault():
    assert faults(chain(ASK, RUN)) == []


def route(*rows):
    return chain({"id": "sort", "handler": "route", "transition": branches(*rows)})


TOOL = ("equals", "tool_call", "run")
END = ("default", "", "end")
TO_B = ("default", "", "b")
CALL = {"id": "go", "handler": "tools", "transition": branches(END)}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            chain(changed(ASK, transition=branches(TOOL, ("default", "", "nowhere"))), RUN),
            "error: tasks[0].transition.branches[1].goto: There is no task nowhere.",
        ),
        (
            chain(ASK, changed(RUN, transition=branches(("equals", "finished", "ask"), END))),
            "warning: tasks[1].transition.branches[0].goto: A call that ends the turn is the last: "
            "no task follows it.",
        ),
        (
            chain(ASK, RUN, {"id": "lost", "handler": "noop"}),
            "warning: tasks[2]: No way leads to lost.",
        ),
        (
            chain(changed(ASK, transition=branches(("equals", "tool_call", "end"), END))),
            "error: tasks[0].transition.branches: A branch for tool_call goes to end, which runs no calls.",
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
        (
            chain(changed(ASK, system_instruction="Say {{var:model} twice."), RUN),
            "error: tasks[0].system_instruction: A {{ has no name and }} behind it.",
        ),
        (
            chain(changed(CALL, tools={"name": "read_file", "args": {"a": [{"b": "{{now"}]}})),
            "error: tasks[0].tools.args.a[0].b: A {{ has no name and }} behind it.",
        ),
        (
            chain(changed(CALL, tools={"name": "read_file", "args": {"path": "{{weather}}"}})),
            "error: tasks[0].tools.args.path: There is no macro {{weather}}.",
        ),
        (
            chain(changed(ASK, input_var="ask"), RUN),
            "error: tasks[0].input_var: A task cannot read its own output.",
        ),
        (
            chain(
                {"id": "a", "handler": "noop", "input_var": "b", "transition": branches(TO_B)},
                {"id": "b", "handler": "noop", "transition": branches(END)},
            ),
            "error: tasks[0].input_var: No way leads from b to a: it has no output yet.",
        ),
        (
            chain(
                {
                    "id": "a",
                    "handler": "noop",
                    "prompt_template": "{{.b.error}}",
                    "transition": branches(TO_B),
                },
                {"id": "b", "handler": "noop", "transition": branches(END)},
            ),
            "error: tasks[0].prompt_template: There is no macro {{.b.error}}.",
        ),
        (
            chain(changed(ASK, execute_config={"provider": "opnai"}), RUN),
            "error: tasks[0].execute_config.provider: There is no provider opnai.",
        ),
        (
            chain(
                changed(ASK, execute_config={"tools": ["*"], "hide_tools": ["shop__oders"]}), RUN
            ),
            "error: tasks[0].execute_config.hide_tools[0]: There is no tool or tool source",
        ),
        (
            chain(changed(CALL, tools={"name": "shop", "tool_name": "oders"})),
            "error: tasks[0].tools.tool_name: shop has no tool oders.",
        ),
        (
            chain({"id": "sort", "handler": "route", "transition": branches(END)}),
            "error: tasks[0].transition.branches: A route needs branches whose `when`",
        ),
        (
            route(("contains", "normal", "end"), ("contains", "abnormal", "end"), END),
            "error: tasks[0].transition.branches[1].when: “abnormal” never comes here: "
            "the branch for “normal” takes it.",
        ),
        (
            route(("starts_with", "bug", "end"), ("equals", "bug-major", "end"), END),
            "error: tasks[0].transition.branches[1].when: “bug-major” never comes here",
        ),
        (
            route(("equals", "Yes", "end"), ("equals", "yes", "end"), END),
            "error: tasks[0].transition.branches[1].when: “yes” never comes here",
        ),
        (
            chain(changed(CALL, tools={"name": "local_fs"}, output_template="{{.go.exit_code}}")),
            "error: tasks[0].output_template: Its own result is named by the field alone: "
            "{{.exit_code}}.",
        ),
        (
            chain(changed(CALL, tools={"name": "local_fs"}, output_template="{{.go}}")),
            "error: tasks[0].output_template: Its own result is named by the field alone: {{.text}}.",
        ),
        (
            chain(changed(ASK, system_instruction="long " * 40), RUN, token_limit=40),
            "error: token_limit: It leaves 30 for a prompt; ask says about 50 itself.",
        ),
        (
            chain(*({"id": f"t{n}", "handler": "noop"} for n in range(501))),
            "error: tasks: List should have at most 500 items",
        ),
        ('{"id": ' + "[" * 100_000, "error: $: "),
        ("{", "error: $: This is not JSON"),
        ("[]", "error: $: Input should be"),
        (chain(), "error: tasks: List should have at least 1 item"),
    ],
)
def test_each_fault_is_named_with_its_place(text, fault):
    assert any(found.startswith(fault) for found in faults(text)), faults(text)


@pytest.mark.parametrize(
    "task",
    [
        changed(ASK, input_var="input", prompt_template="{{.input}} {{var:x|}}"),
        changed(ASK, execute_config={"tools": ["shop__orders", "!write_file"], "provider": "demo"}),
        changed(ASK, execute_config={"provider": "{{var:provider}}"}),
        changed(ASK, system_instruction='Answer as {"a": {"b": 1}}.'),
    ],
)
def test_what_is_possible_is_no_error(task):
    assert not [fault for fault in faults(chain(task, RUN)) if fault.startswith("error")]


@pytest.mark.parametrize(
    "rows",
    [
        [("contains", "abnormal", "end"), ("contains", "normal", "end"), END],
        [("edge_traversed_at_least", "1", "end"), ("equals", "11", "end"), END],
        [("equals", "normal", "end"), ("equals", "abnormal", "end"), END],
        [("starts_with", "major", "end"), ("ends_with", "bug", "end"), END],
    ],
)
def test_a_route_whose_labels_lead_to_their_branches_is_no_error(rows):
    assert not [fault for fault in faults(route(*rows)) if fault.startswith("error")]


LOOP = {
    "branches": [
        {"operator": "edge_traversed_at_least", "when": "3", "goto": "end"},
        {"operator": "default", "goto": "go"},
    ]
}


@pytest.mark.parametrize("field", ["", ".text", ".exit_code"])
def test_in_a_loop_a_task_has_no_own_output_when_it_first_begins(field):
    call = changed(CALL, tools={"name": "local_fs"}, transition=LOOP)
    named = f"{{{{.go{field}}}}}"
    right = f"{{{{{field or '.text'}}}}}"
    assert (
        f"error: tasks[0].output_template: Its own result is named by the field alone: {right}."
    ) in faults(chain(changed(call, output_template=named)))
    assert "error: tasks[0].prompt_template: go has no output yet when go first begins." in faults(
        chain(changed(call, prompt_template=named))
    )


def test_a_task_that_only_the_loop_brings_before_another_has_no_output_there():
    sentence = "error: tasks[0].prompt_template: run has no output yet when ask first begins."
    assert sentence in faults(chain(changed(ASK, prompt_template="{{.run}}"), RUN))
    assert not [
        fault
        for fault in faults(chain(ASK, changed(RUN, prompt_template="{{.ask}}")))
        if fault.startswith("error")
    ]


@pytest.mark.parametrize("said", ["{{.input}}", "{{.t0}}" * 100])
def test_the_largest_chain_is_checked_in_no_time(said):
    spaces = count()

    def check(tasks):
        text = chain(*tasks) + " " * next(spaces)  # short ones that were read before are kept
        assert faults(text) == []

    demand_proportion(check, in_a_row(50, said), in_a_row(500, said))


def in_a_row(many, said):
    return [
        {
            "id": f"t{n}",
            "handler": "noop",
            "prompt_template": said if n else "",
            "transition": branches(("default", "", f"t{n + 1}" if n < many - 1 else "end")),
        }
        for n in range(many)
    ]


def test_a_task_that_is_not_there_is_missed_once():
    lost = changed(
        ASK, transition=branches(("equals", "tool-call", "nowhere"), ("default", "", ""))
    )
    said = [fault.sentence for fault in check_text(chain(lost), NAMES) if fault.level == "error"]
    assert said == ["There is no task nowhere."]
