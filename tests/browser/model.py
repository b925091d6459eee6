"""What the scripted model of these tests does; the word in the goal or the subtask decides."""

from tests.fake_model import call, fails, rule, say, silent

WORDS = ("quick", "hang", "fail", "question", "approve", "stumble", "retry", "spoil")
AT_LENGTH = "Looked at what is there, and wrote it down. " * 12
BOLD = rule(say("**Iota** one."), user="say iota")
GREEK = ("Alpha", "Beta", "Gamma", "Delta", "Epsilon", "Zeta", "Eta", "Theta")
ADDRESS = "https://docs.example.com/" + "aPageWithinAPage" * 14
CHECK_FIRST = call(
    "revise_current_plan",
    explanation="You asked for a check.",
    subtasks=[{"name": "Check first"}],
)
REPLY = "\n\n".join(
    f"Paragraph {number} of a long reply that is told slowly." for number in range(9)
)
LONG_REPLY = "\n\n".join(
    f"Paragraph {number} of a long reply{', with a **Wómbat** in it' * (number == 30)}."
    for number in range(80)
)


def subtasks_to(word):
    """Three of a plan, of which the second one does what the word says."""
    names = ["Read what is there", f"Then {word}", "Say what came of it"]
    return [{"name": name} for name in names]


def planned(word):
    plan = call("create_plan", title=f"A plan to {word}", subtasks=subtasks_to(word))
    return [
        rule(plan, only="create_plan", user=f"to {word}"),
        rule(say("Here is the plan."), user=f"to {word}"),
    ]


def script():
    rules = [each for word in WORDS for each in planned(word)]
    rules.append(rule(CHECK_FIRST, user="check first", results=0))
    rules += [
        rule(call("finish_plan", state="done", outcome="All is done."), only="finish_plan"),
        rule(silent(""), user="think it over for ever"),
        # Bit by bit: what came before the page had the reply it would else wait for until it is saved.
        rule(silent("Half of an answer", delay=0.05), user="say half of it"),
        rule(fails(503), user=r"s\d+: Then retry"),
        rule(silent("I am at it"), user=r"subtask is s\d+: Then hang"),
        rule(silent("Half a sentence", delay=0.05), times=1, user=r"s\d+: Then stumble"),
        rule(call("fail_subtask", error=f"No answer: {ADDRESS}"), user=r"s\d+: Then fail at"),
        rule(call("fail_subtask", error="The disk is full."), user=r"s\d+: Then fail"),
        rule(call("finish_subtask", outcome=AT_LENGTH), user=r"s\d+: Then explain"),
        rule(
            call("write_file", path="half.md", content="# Half\n"),
            user=r"s\d+: Then spoil",
            results=0,
        ),
        rule(call("fail_subtask", error="The disk is full."), user=r"s\d+: Then spoil"),
        rule(call("ask_user", question="Which tone?"), user=r"s\d+: Then question", results=0),
        rule(
            call("write_file", path="new.txt", content="new"), user=r"s\d+: Then approve", results=0
        ),
        rule(call("finish_subtask", outcome="Did that."), offered="finish_subtask"),
        rule(call("write_file", path="new.txt", content="new"), user="write it down", results=0),
        rule(say(REPLY, delay=0.02), user="tell me slowly"),
        rule(say(LONG_REPLY), user="tell me at length"),
        *(rule([say(f"{w} one."), say(f"{w} two.")], user=f"say {w}") for w in GREEK),
        BOLD,
        rule(fails(401), user="refuse the key"),
        rule(say("Understood.")),
    ]
    return {"rules": rules}
