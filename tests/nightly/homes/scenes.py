"""What the recorded home holds: conversations that were under way, and how each goes on.

A scene is a conversation with an agent of its own, which has the scene's name. `begin` brings it,
by the API and the `before` rules of the model, to where it was recorded; `goes_on` is what a person
then does, and what must come of it with the `after` rules. Both speak HTTP only.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.console.serving import DEADLINE
from tests.fake_model import FakeModelServer, call, fails, rule, say, silent

Rules = list[dict[str, Any]]
FILES = {"read_file": "allow", "write_file": "allow"}
HALF = "Half a sentence that nobody will fi"
HELD = threading.Event()  # set once the pause is asked for


@dataclass
class Talk:
    """A person in one conversation of a running server."""

    address: str
    headers: dict[str, str]
    agent: str
    model: FakeModelServer
    c: int = 0

    def ask(self, method: str, path: str, body: Any = None, version: int | None = None) -> Any:
        headers = self.headers | ({"If-Match": f'"{version}"'} if version else {})
        url = f"{self.address}/api{path}"
        answer = httpx.request(method, url, json=body, headers=headers, timeout=DEADLINE)
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def open(self) -> None:
        self.c = self.ask("POST", "/conversations", {"agent": self.agent})["id"]

    def find(self) -> None:
        """The conversation that was recorded."""
        listed = self.ask("GET", "/conversations")["items"]
        [self.c] = [each["id"] for each in listed if each["agent"] == self.agent]

    def say(self, text: str) -> None:
        self.ask("POST", f"/conversations/{self.c}/messages", {"text": text})

    @property
    def messages(self) -> list[dict[str, Any]]:
        return self.ask("GET", f"/conversations/{self.c}/messages")["items"]

    @property
    def texts(self) -> list[str]:
        return [message["text"] for message in self.messages]

    @property
    def calls(self) -> list[tuple[str, str]]:
        return [(made["tool"], made["state"]) for m in self.messages for made in m["tool_calls"]]

    @property
    def plan(self) -> dict[str, Any]:
        return self.ask("GET", f"/conversations/{self.c}/plan") or {}

    def do(self, verb: str, **body: Any) -> Any:
        """What a person does to the plan."""
        return self.ask("POST", f"/plans/{self.plan['id']}/{verb}", body)

    def decide(self, decision: str) -> None:
        asked = [
            made for m in self.messages for made in m["tool_calls"] if made["state"] == "asked"
        ]
        pk = self.plan["approvals"][0]["id"] if not asked else asked[0]["id"]
        self.ask("POST", f"/tool-calls/{pk}/decide", {"decision": decision})

    def until(self, is_so: Callable[[], Any]) -> None:
        end = time.monotonic() + DEADLINE
        while not is_so():
            assert time.monotonic() < end, (self.agent, self.plan, self.messages)
            time.sleep(0.05)

    def until_said(self, text: str) -> None:
        self.until(
            lambda: any(text in each["text"] and not each["streaming"] for each in self.messages)
        )

    def until_half_said(self) -> None:
        self.until(lambda: HALF in self.texts)

    def until_plan(self, **values: Any) -> None:
        self.until(lambda: values.items() <= self.plan.items())

    @property
    def requests(self) -> list[str]:
        """What the model was asked in this scene."""
        said = [str(each["messages"]) for each in list(self.model.requests)]
        return [each for each in said if f"I am {self.agent}." in each]

    def until_asked(self, user: str) -> None:
        self.until(lambda: any(user in each for each in self.requests))

    def propose(self) -> None:
        self.say("/plan the work")
        self.until_said("Here is the plan.")

    def begin_plan(self) -> None:
        self.propose()
        self.do("approve", version=1)

    def finish(self) -> None:
        """The plan comes to its end, by one attempt at each subtask that succeeded."""
        self.until_plan(state="done")
        assert HALF not in self.texts

    @property
    def outcomes(self) -> list[str]:
        return [subtask["outcome"] for subtask in self.plan["subtasks"]]

    @property
    def attempts(self) -> list[int]:
        return [subtask["attempts"] for subtask in self.plan["subtasks"]]


@dataclass(frozen=True)
class Scene:
    name: str
    begin: Callable[[Talk], None]
    goes_on: Callable[[Talk], None]
    before: Rules
    after: Rules
    agent: dict[str, Any] = field(default_factory=dict)
    chain: dict[str, Any] | None = None

    def prepare(self, talk: Talk) -> None:
        """Its agent, and the chain that the agent thinks with."""
        chains = {"chains": {"chat": self.chain["id"]}} if self.chain else {}
        if self.chain:
            talk.ask("PUT", f"/chains/{self.chain['id']}", self.chain)
        talk.ask("POST", "/agents", agent(self.name, **chains | self.agent))


def agent(name: str, **values: Any) -> dict[str, Any]:
    return {
        "id": name,
        "name": name.replace("-", " ").capitalize(),
        "instructions": f"I am {name}.",
        "tools": FILES,
        "plan": {"enabled": True},
        **values,
    }


def plays(name: str, rules: Rules) -> Rules:
    """Rules that hold for this agent alone, unless they say for which."""
    own = {"system": rf"I am {re.escape(name)}\."}
    return [{**each, "when": own | each["when"]} for each in rules]


def proposes(*subtasks: str) -> Rules:
    listed = [{"name": name} for name in subtasks]
    return [
        rule(call("create_plan", title="The work", subtasks=listed), only="create_plan", results=0),
        rule(say("Here is the plan."), offered="revise_current_plan", user="the work", results=1),
    ]


def works(key: str) -> Rules:
    """An attempt that writes a file and is done."""
    return [
        rule(call("write_file", path=f"{key}.txt", content=key), user=f"is {key}:", results=0),
        rule(call("finish_subtask", outcome=f"wrote {key}"), user=f"is {key}:", results=1),
    ]


def closes() -> Rules:
    return [rule(call("finish_plan", state="done", outcome="All of it."), only="finish_plan")]


TWO = proposes("Read", "Write")
BOTH = [*works("s1"), *works("s2"), *closes()]


# Chats


def chat(talk: Talk) -> None:
    talk.say("hello")


def begin_next_try(talk: Talk) -> None:
    talk.say("hello")
    talk.until(lambda: any(m["kind"] == "error" for m in talk.messages))


def tried_again(talk: Talk) -> None:
    talk.until_said("Hello again.")
    assert talk.texts.count("hello") == 1


def given_up(talk: Talk) -> None:
    """Four tries more, which makes five with the one that was recorded."""
    talk.until(lambda: len(talk.requests) == 4)
    time.sleep(2)
    assert len(talk.requests) == 4


def begin_cut_off_reply(talk: Talk) -> None:
    talk.say("hello")
    talk.until_half_said()
    talk.say("and this")  # waits behind it


def whole_reply(talk: Talk) -> None:
    talk.until_said("And that.")
    said = [m["text"] for m in talk.messages if m["role"] == "assistant"]
    assert said == ["A whole sentence.", "And that."], "the half is gone, what waited is answered"


def begin_asks_in_chat(talk: Talk) -> None:
    talk.say("write it")
    talk.until(lambda: ("write_file", "asked") in talk.calls)


def denied(talk: Talk) -> None:
    assert talk.calls == [("write_file", "asked")]
    talk.decide("deny")
    talk.until_said("I did not.")
    assert talk.calls == [("write_file", "denied")]


def begin_call_in_flight(talk: Talk) -> None:
    talk.say("count")
    talk.until(lambda: ("shell", "running") in talk.calls)


def interrupted(talk: Talk) -> None:
    talk.until_said("Nobody knows.")
    assert talk.calls == [("shell", "interrupted")], "it is not run a second time"


def begin_own_call(talk: Talk) -> None:
    talk.say("hello")
    talk.until(lambda: ("write_file", "asked") in talk.calls)


def chain_goes_on(talk: Talk) -> None:
    talk.decide("allow_once")
    talk.until_said("It is written.")
    assert talk.calls == [("write_file", "done")]


def begin_second_task(talk: Talk) -> None:
    talk.say("hello")
    talk.until_half_said()


def with_its_prompt(talk: Talk) -> None:
    talk.until_said("It is written.")
    assert talk.calls == [("write_file", "done")]


def second_task(talk: Talk) -> None:
    talk.until_said("In short: yes.")
    assert talk.texts.count("At length: yes.") == 1, "the first task is not done again"


# Plans before their start


def begin_planning(talk: Talk) -> None:
    talk.say("/plan the work")
    talk.until_half_said()


def begin_planning_anew(talk: Talk) -> None:
    talk.propose()
    talk.say("/plan more of the work")
    talk.until_half_said()


def planned_anew(talk: Talk) -> None:
    talk.until_plan(title="More")
    assert (talk.plan["version"], talk.plan["attention"]) == (1, "confirm")


def described(talk: Talk) -> None:
    talk.until_said("Here is the plan.")
    assert talk.calls == [("create_plan", "done")], "the plan is not made a second time"


def begin_proposed(talk: Talk) -> None:
    talk.propose()
    talk.ask("PATCH", f"/plans/{talk.plan['id']}", {"title": "The same work"}, version=1)


def approved(talk: Talk) -> None:
    plan = talk.plan
    assert (plan["version"], plan["approved_version"], plan["title"]) == (2, None, "The same work")
    talk.do("approve", version=2)
    talk.finish()


def begin_changing(talk: Talk) -> None:
    talk.propose()
    talk.say("Add a third one.")
    talk.until_half_said()


def changed(talk: Talk) -> None:
    talk.until_said("Added.")
    assert (talk.plan["version"], len(talk.plan["subtasks"])) == (2, 3)
    assert talk.plan["attention"] == "confirm", "nothing was approved by it"


def begin_changing_another(talk: Talk) -> None:
    begin_changing(talk)
    other = {"title": "Another plan", "subtasks": [{"name": "Wait"}], "beside": False}
    talk.ask("POST", "/plans", {"conversation": talk.c, **other})


def begin_changing_approved(talk: Talk) -> None:
    begin_changing(talk)
    talk.do("approve", version=1, run="no")


def still_gated(talk: Talk) -> None:
    talk.until_said("I may change the plan alone.")
    assert talk.plan["approved_version"] == 1, "it was approved, and this turn is none the wiser"


def left_alone(talk: Talk) -> None:
    talk.until_said("It is not there any more.")
    plan = talk.plan
    assert (plan["title"], plan["version"], len(plan["subtasks"])) == ("Another plan", 1, 1)


# Plans under way


def begin_finished(talk: Talk) -> None:
    talk.begin_plan()
    talk.until_plan(state="done")


def still_finished(talk: Talk) -> None:
    assert (talk.plan["state"], talk.plan["outcome"]) == ("done", "All of it.")
    assert (talk.outcomes, talk.attempts) == (["wrote s1", "wrote s2"], [1, 1])
    talk.say("and now?")
    talk.until_said("Nothing is left.")


def begin_paused(talk: Talk) -> None:
    HELD.clear()
    talk.begin_plan()
    talk.until_asked("is s1:")
    talk.do("pause")
    HELD.set()
    talk.until_plan(run="paused")


def resumed(talk: Talk) -> None:
    assert (talk.plan["run"], talk.plan["pause_reason"]) == ("paused", "user")
    talk.do("resume")
    talk.finish()
    assert talk.calls.count(("write_file", "done")) == 2, "what was asked for is done once"


def begin_question(talk: Talk) -> None:
    talk.begin_plan()
    talk.until_plan(attention="question")


def answered(talk: Talk) -> None:
    assert (talk.plan["attention"], talk.plan["question"]) == ("question", "Which colour?")
    talk.say("blue")
    talk.finish()
    assert talk.outcomes[0] == "painted it blue"


def begin_asks(talk: Talk) -> None:
    talk.begin_plan()
    talk.until_plan(attention="approval")


def allowed(talk: Talk) -> None:
    assert talk.plan["approvals"][0]["tool"] == "write_file"
    talk.decide("allow_once")
    talk.until_plan(attention="approval")  # the second one asks as well
    talk.decide("always")
    talk.finish()


def begin_cut_off(talk: Talk) -> None:
    talk.begin_plan()
    talk.until_half_said()


def taken_up(talk: Talk) -> None:
    talk.finish()
    assert (talk.outcomes, talk.attempts) == (["wrote s1", "wrote s2"], [1, 1])
    assert talk.calls.count(("write_file", "done")) == 2, "nothing that was done is done again"


def nudged_once(talk: Talk) -> None:
    talk.finish()
    assert talk.attempts == [2, 1], "an attempt is nudged once, then it has failed"


def begin_closing(talk: Talk) -> None:
    talk.begin_plan()
    talk.until_half_said()


def begin_failed(talk: Talk) -> None:
    talk.begin_plan()
    talk.until_plan(attention="failed")


def retried(talk: Talk) -> None:
    assert talk.plan["subtasks"][0]["error"] == "The disk is full."
    talk.do("subtasks/s1/retry")
    talk.finish()
    assert talk.attempts == [2, 1]


def begin_budget(talk: Talk) -> None:
    talk.propose()
    talk.do("budget", model_calls=3)
    talk.do("approve", version=1)
    talk.until_plan(attention="budget")


def raised(talk: Talk) -> None:
    assert talk.plan["attention"] == "budget"
    talk.do("budget", model_calls=50)
    talk.finish()


def begin_replan(talk: Talk) -> None:
    talk.propose()
    talk.do("approve", version=1, run="next")
    talk.until_plan(run="idle", halted=True)
    talk.do("replan", **{"from": "s2"})
    talk.until_half_said()


def replanned(talk: Talk) -> None:
    talk.until_said("Another way.")
    names = [subtask["name"] for subtask in talk.plan["subtasks"]]
    assert (talk.plan["version"], names) == (2, ["Read", "Write otherwise"])
    talk.do("approve", version=2)
    talk.finish()


def begin_replan_another(talk: Talk) -> None:
    begin_replan(talk)
    other = {"title": "Another plan", "subtasks": [{"name": "Wait"}], "beside": False}
    talk.ask("POST", "/plans", {"conversation": talk.c, **other})


def nested_goes_on(talk: Talk) -> None:
    assert talk.plan["attention"] == "approval", "what the helper asks is asked here"
    talk.decide("allow_once")
    talk.finish()
    assert talk.outcomes == ["The helper did it."]


def begin_nested(talk: Talk) -> None:
    talk.ask("POST", "/agents", agent("helper", tools={"write_file": "ask"}))
    talk.begin_plan()
    talk.until_plan(attention="approval")


def begin_nested_planning(talk: Talk) -> None:
    talk.ask("POST", "/agents", agent("planner"))
    talk.begin_plan()
    talk.until(lambda: talk.plan["subtasks"][0]["plan"])  # made, and not described yet


def helper_plans_on(talk: Talk) -> None:
    talk.finish()
    assert talk.outcomes == ["The helper did it."]
    below = talk.ask("GET", f"/plans/{talk.plan['subtasks'][0]['plan']}")
    assert (below["state"], below["approved_by"][:10]) == ("done", "subtask s1")


ROUTED = {
    "id": "pick-and-write",
    "tasks": [
        {
            "id": "pick",
            "handler": "route",
            "system_instruction": "Pick what own-call does.",
            "transition": {
                "branches": [
                    {"operator": "equals", "when": "write", "goto": "write"},
                    {"operator": "equals", "when": "wait", "goto": "end"},
                ]
            },
        },
        {
            "id": "write",
            "handler": "tools",
            "tools": {"name": "write_file", "args": {"path": "own.txt", "content": "own"}},
            "transition": {"branches": [{"goto": "report"}]},
        },
        {
            "id": "report",
            "handler": "chat_completion",
            "prompt_template": "Report what you did after {{.pick}}, {{edge_count:pick->write}} time.",
            "transition": {"branches": [{"goto": "end"}]},
        },
    ],
}
TWO_VOICES = {
    "id": "two-voices",
    "tasks": [
        {
            "id": "at_length",
            "handler": "chat_completion",
            "transition": {"branches": [{"goto": "pick"}]},
        },
        {
            "id": "pick",
            "handler": "route",
            "system_instruction": "Pick what second-task does.",
            "transition": {"branches": [{"operator": "equals", "when": "go", "goto": "in_short"}]},
        },
        {
            "id": "in_short",
            "handler": "chat_completion",
            "transition": {"branches": [{"goto": "end"}]},
        },
    ],
}
PROMPTED = {
    "id": "own-prompt",
    "tasks": [
        {
            "id": "ask",
            "handler": "chat_completion",
            "prompt_template": "Write it now.",
            "execute_config": {"tools": ["*"]},
            "transition": {
                "branches": [
                    {"operator": "equals", "when": "tool-call", "goto": "run"},
                    {"goto": "end"},
                ]
            },
        },
        {
            "id": "run",
            "handler": "execute_tool_calls",
            "input_var": "ask",
            "transition": {"branches": [{"goto": "ask"}]},
        },
    ],
}


def delegates(helper: str) -> Rules:
    return [
        rule(call("run_agent", agent=helper, task="Your half."), user="is s1:", results=0),
        rule(call("finish_subtask", outcome="The helper did it."), user="is s1:", results=1),
    ]


HALF_PLAN = call("create_plan", title="My half", subtasks=[{"name": "My half"}])
HELPS = [
    rule(HALF_PLAN, only="create_plan", results=0),
    rule(say("I will."), user="Your half", results=1),
    *works("s1"),
    *closes(),
]
WRITE = rule(call("write_file", path="said.txt", content="x"), user="write it", results=0)
COUNT = rule(call("shell", command="sleep 4; echo 4"), user="count", results=0)
OWN_CALL = "Pick what own-call does"
THIRD = rule(call("revise_current_plan", subtasks=[{"name": "Check"}]), user="third one", results=0)
UNCONFIRMED = ["get_plan", "revise_current_plan", "finish_plan"]
REVISED = call("revise_current_plan", subtasks=[{"name": "Write otherwise"}])

SCENES = [
    Scene(
        "next-try",
        begin_next_try,
        tried_again,
        [rule(fails(503, "Come back later.", retry_after=100))],
        [rule(say("Hello again."))],
    ),
    Scene(
        "last-try",
        begin_next_try,
        given_up,
        [rule(fails(503, "Come back later.", retry_after=100))],
        [rule(fails(503, "Still not.", retry_after=0))],
    ),
    Scene(
        "cut-off-reply",
        begin_cut_off_reply,
        whole_reply,
        [rule(silent(HALF))],
        [rule(say("A whole sentence."), user="hello"), rule(say("And that."), user="and this")],
    ),
    Scene(
        "asks-in-chat",
        begin_asks_in_chat,
        denied,
        [WRITE],
        [rule(say("I did not."), user="write it", results=1)],
        {"tools": {"write_file": "ask"}},
    ),
    Scene(
        "call-in-flight",
        begin_call_in_flight,
        interrupted,
        [COUNT],
        [rule(say("Nobody knows."), user="count", results=1)],
        {"tools": {"shell": "allow"}},
    ),
    Scene(
        "own-call",
        begin_own_call,
        chain_goes_on,
        [rule(say("write"), system=OWN_CALL)],
        [rule(say("It is written."), user="you did after write, 1 time")],
        {"tools": {"write_file": "ask"}},
        ROUTED,
    ),
    Scene(
        "second-task",
        begin_second_task,
        second_task,
        [
            rule(say("go"), system="Pick what second-task does"),
            rule(say("At length: yes."), user="hello"),
            rule(silent(HALF), user="At length: yes"),
        ],
        [rule(say("In short: yes."), user="At length: yes")],
        chain=TWO_VOICES,
    ),
    Scene(
        "own-prompt",
        begin_second_task,
        with_its_prompt,
        [{**WRITE, "times": 1}, rule(silent(HALF), user="Write it now", results=1)],
        [rule(say("It is written."), user="Write it now", results=1)],
        chain=PROMPTED,
    ),
    Scene(
        "planning",
        begin_planning_anew,
        planned_anew,
        [rule(silent(HALF), user="more of the work"), *TWO],
        [rule(call("create_plan", title="More", subtasks=[{"name": "Read"}]), only="create_plan")],
    ),
    Scene(
        "made",
        begin_planning,
        described,
        [TWO[0], rule(silent(HALF), user="the work", results=1)],
        [TWO[1]],
    ),
    Scene("proposed", begin_proposed, approved, TWO, BOTH),
    Scene(
        "changing",
        begin_changing,
        changed,
        [*TWO, rule(silent(HALF), user="third one")],
        [THIRD, rule(say("Added."), user="third", results=1)],
    ),
    Scene(
        "changing-another",
        begin_changing_another,
        left_alone,
        [*TWO, rule(silent(HALF), user="third one")],
        [THIRD, rule(say("It is not there any more."), last="not in the drawer any more")],
    ),
    Scene(
        "changing-approved",
        begin_changing_approved,
        still_gated,
        [*TWO, rule(silent(HALF), user="third one")],
        [rule(say("I may change the plan alone."), only=UNCONFIRMED)],
    ),
    Scene(
        "finished",
        begin_finished,
        still_finished,
        [*TWO, *BOTH],
        [rule(say("Nothing is left."), user="and now")],
    ),
    Scene(
        "paused",
        begin_paused,
        resumed,
        [*TWO, rule({**works("s1")[0]["reply"], "wait": HELD}, user="is s1:", results=0)],
        BOTH,
    ),
    Scene(
        "question",
        begin_question,
        answered,
        [*TWO, rule(call("ask_user", question="Which colour?"), user="is s1:", results=0)],
        [
            rule(call("finish_subtask", outcome="painted it blue"), last="answered: blue"),
            *works("s2"),
            *closes(),
        ],
    ),
    Scene("asks", begin_asks, allowed, [*TWO, *BOTH], BOTH, {"tools": {"write_file": "ask"}}),
    Scene(
        "cut-off",
        begin_cut_off,
        taken_up,
        [*TWO, *works("s1"), works("s2")[0], rule(silent(HALF), user="is s2:", results=1)],
        BOTH,
    ),
    Scene(
        "nudged",
        begin_cut_off,
        nudged_once,
        [
            *TWO,
            rule(say("I think that is all."), user="is s1:", results=0),
            rule(silent(HALF), user="ended without a tool call"),
        ],
        [
            rule(say("Still nothing to call."), user="ended without a tool call", times=1),
            *BOTH,
        ],
    ),
    Scene(
        "closing",
        begin_closing,
        taken_up,
        [*TWO, *works("s1"), *works("s2"), rule(silent(HALF), only="finish_plan")],
        closes(),
    ),
    Scene(
        "failed",
        begin_failed,
        retried,
        [*TWO, rule(call("fail_subtask", error="The disk is full."), user="is s1:")],
        BOTH,
        {"plan": {"enabled": True, "max_attempts": 1}},
    ),
    Scene(
        "budget",
        begin_budget,
        raised,
        [*TWO, *BOTH],
        BOTH,
    ),
    Scene(
        "replanning",
        begin_replan,
        replanned,
        [*TWO, *works("s1"), rule(silent(HALF), user="Replan the rest")],
        [
            rule(REVISED, user="Replan the rest", results=0),
            rule(say("Another way."), user="Replan the rest", results=1),
            *works("s3"),
            *closes(),
        ],
    ),
    Scene(
        "replanning-another",
        begin_replan_another,
        left_alone,
        [*TWO, *works("s1"), rule(silent(HALF), user="Replan the rest")],
        [
            rule(REVISED, user="Replan the rest", results=0),
            rule(say("It is not there any more."), last="not in the drawer any more"),
        ],
    ),
    Scene(
        "nested",
        begin_nested,
        nested_goes_on,
        [*proposes("Delegate"), *delegates("helper"), *plays("helper", HELPS)],
        [*delegates("helper"), *closes(), *plays("helper", HELPS)],
        {"tools": {"run_agent:helper": "allow"}},
    ),
    Scene(
        "nested-planning",
        begin_nested_planning,
        helper_plans_on,
        [
            *proposes("Delegate"),
            *delegates("planner"),
            *plays("planner", [HELPS[0], rule(silent(HALF), user="Your half", results=1)]),
        ],
        [*delegates("planner"), *closes(), *plays("planner", HELPS)],
        {"tools": {"run_agent:planner": "allow"}},
    ),
]


def rules(when: str) -> Rules:
    """Of all scenes, `before` or `after`."""
    return [each for scene in SCENES for each in plays(scene.name, getattr(scene, when))]
