"""What the model says to whom. Each goal is a story of its own."""

from tests.fake_model import call, calls, rule, say, silent

HALF = "Half a sentence that nobody will fi"
SLOWLY = "Reading the pages one by one, slowly, so that whoever watches sees the words come in."


def write(name):
    return call("write_file", path=f"{name}.txt", content=name)


def story(goal, *subtasks):
    """A plan with one subtask for each list of rules; `goal` is said in each of its turns."""
    names = [{"name": f"{goal} {n}"} for n in range(1, len(subtasks) + 1)]
    finished = call("finish_plan", state="done", outcome=f"All of {goal}.")
    return [
        rule(call("create_plan", title=goal, subtasks=names), only="create_plan", user=goal),
        rule(finished, only="finish_plan", system=goal),
        *(each for rules in subtasks for each in rules),
        rule(say("Here is the plan."), offered="revise_current_plan", user=goal, results=1),
    ]


def at(goal, n):
    """How the model is told what to work on; the outcomes of earlier subtasks come after."""
    return rf"is s\d+: {goal} {n}"


def step(goal, n, *before, file=None):
    """A subtask that writes a file and is done, after what comes before."""
    user = at(goal, n)
    return [
        *before,
        rule(write(file or f"{goal}-{n}"), user=user, results=0),
        rule(call("finish_subtask", outcome=f"wrote {n}"), user=user, results=1),
    ]


def slowly(goal, n):
    words = calls(write(f"{goal}-{n}"), text=SLOWLY, delay=0.05, chunk=4)
    return rule(words, user=at(goal, n), results=0)


def hangs(goal, n, results=1):
    return rule(silent(HALF), times=1, user=at(goal, n), results=results)


def late(goal, n, seconds):
    """Half a sentence, then silence, and then a call after all."""
    reply = calls(write(f"{goal}-{n}"), text=HALF, hang=seconds)
    return rule(reply, times=1, user=at(goal, n), results=0)


RULES = [
    *story("clicked", *(step("clicked", n) for n in range(1, 7))),
    *story("watched", step("watched", 1), step("watched", 2, slowly("watched", 2))),
    *story("halted", step("halted", 1, hangs("halted", 1)), step("halted", 2)),
    *story("paused", step("paused", 1, slowly("paused", 1)), step("paused", 2)),
    *story("killed", step("killed", 1), step("killed", 2, hangs("killed", 2)), step("killed", 3)),
    *story("frozen", step("frozen", 1, late("frozen", 1, 3.5)), step("frozen", 2)),
    *story("told", step("told", 1, hangs("told", 1)), step("told", 2)),
    *story("restarted", step("restarted", 1), step("restarted", 2, slowly("restarted", 2))),
    *story("outage", step("outage", 1), step("outage", 2, late("outage", 2, 2.5))),
    *story(
        "asking",
        [
            rule(call("ask_user", question="Which colour?"), user=at("asking", 1), results=0),
            rule(call("finish_subtask", outcome="It is blue."), user=at("asking", 1), results=1),
        ],
    ),
    rule(write("allowed"), user="please write", results=0),
    rule(say("Written."), user="please write", results=1),
    rule(silent(HALF), times=1, user="hang, please"),
    rule(say("I keep talking. " * 6, delay=0.2, chunk=2), user="long, please"),
    rule(say("Here I am."), user="are you there"),
]
