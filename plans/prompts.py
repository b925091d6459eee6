"""What a model is told about a plan. It is put together from the rows each time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from django.utils import timezone

from agents.chains.template import TemplateValues, UnknownMacro, expand
from agents.errors import Invalid
from plans.models import SUBTASK_TEXT, Attempt, Plan, State, Subtask, SubtaskComment
from plans.progress import progress
from plans.queries import checklist
from plans.text import ANY, PlanText, outcomes_of, texts_of

# How a plan is put into the prompt: "auto", "full", "reference"; any other text is a template, and
# a function writes it itself.
Context = str | Callable[[Plan], str]
# Tokens of a plan in the prompt: where the model is to change it, beside its work, and what is
# nowhere too much.
TO_CHANGE, BESIDE_WORK, SMALL = 6000, 2000, 1000
IN_FORCE = 4000  # of all documents in force together

PLAN_FIRST = """\
A plan is asked for. Nothing else can be done now: make it with create_plan, from what the person \
wants to end up with. If something vital is unclear, ask one short question instead."""

WAIT = """\
The plan below waits for the person. Nothing runs until they start it, and you cannot start it. \
Answer questions about it. If they want changes, make exactly these with revise_current_plan: name \
subtasks by key, leave out what stays as it is, and give "remove": true for one that is to go. If \
they want to throw it away, use finish_plan with state abandoned. Then say in a sentence or two \
what the plan is now, and stop."""

COMMENTS = """\
The person's message brings comments on the subtasks below, which stand here with their whole \
text. Change the plan as they ask with one call of revise_current_plan. In its "answers" say of \
each comment, by the key of its subtask, in one sentence what you did about it, or why nothing."""

# How a planner that calls no tools writes subtasks.
STEP = ", ".join(f'"{field}": "…"' for field in SUBTASK_TEXT)
STEPS = f"[{{{STEP}}}, …]"

PLAN_AS_TEXT = f"""\
A plan is asked for. Nothing is carried out now. Answer with nothing but its steps, in order, as a \
JSON list: {STEPS}. If something vital is unclear, ask one short question instead."""

REPLAN_AS_TEXT = """\
The rest of the plan below is to be planned anew, from {key} on; what is done stays. Answer with \
nothing but the steps that take the place of the open ones from {key} on, as a JSON list: \
{steps}."""

REPLAN = """\
The rest of the plan below is to be planned anew, from {key} on; what is done stays. Call \
revise_current_plan once with the subtasks that take the place of the open ones from {key} on, \
without keys; name by its key one that is to stay. Open ones you do not name are superseded. Then \
say in a sentence or two what is different, and stop: the new version waits for the person's yes."""

BESIDE = """\
The plan below is being carried out in a lane of its own; you answer the person meanwhile. Do not \
do the plan's work here. If they ask for more work, propose it with add_subtask; it waits for \
their yes."""

READ_ONLY = """\
The plan below is the person's. You may read it with get_plan, and you cannot change it; they \
change it themselves, beside this conversation. Do not do its work unless they ask you to."""

NOT_OPEN = """\
The plan below is the person's, and you cannot change it; they change it themselves, beside this \
conversation. Do not do its work unless they ask you to."""

FORMAT = "A plan made with create_plan follows this format:"

AFTER_START = """\
The plan below was approved and is not running at the moment. Help with what the person asks now. \
Changes to the plan go through revise_current_plan or add_subtask and wait for their yes."""

NEXT_VERSION = """\
If the person wants the document in the drawer changed, propose its next version with \
revise_current_plan, with the whole text in content. It waits for their yes; until then the one \
above stays in force. They alone take it out of force."""

REMINDER = """\
You work on one subtask of the plan, the one marked in_progress. Call a tool in every reply. Only \
finish_subtask or fail_subtask end your work on it."""

REMINDER_OF_OUTPUT = """\
You work on one subtask of the plan, the one marked in_progress. Your answer is its outcome: say \
what really came of it."""

REMINDER_OF_PART = """\
You work on one subtask of the plan, the one marked in_progress. Do your part of it; it is \
finished in another step."""

CLOSING = "Every subtask is closed. Say what came of the plan with finish_plan."
NUDGE = """\
Your last reply ended without a tool call. If the subtask is finished, call finish_subtask with \
its outcome; if it cannot be done, call fail_subtask; otherwise go on."""

REFUSALS = {
    1: "A plan is asked for first.",
    2: "The plan waits for the person's yes; nothing is carried out before that.",
    3: "It is not open to the work on a subtask.",
    4: "Every subtask is closed; only finish_plan is left.",
    5: "A plan is running; here you may only read and propose.",
}


def assignment(plan: Plan, subtask: Subtask, last_error: str = "", *, by_tools: bool = True) -> str:
    """The executor's task, from facts alone: this subtask, earlier outcomes, the last error.

    `by_tools`: it ends its work by a tool, not by its answer.
    """
    lines = [f"Your subtask is {subtask.key}: {subtask.name}", *texts_of(subtask)]
    if done := list(checklist(plan).filter(state=State.DONE)):
        lines += ["Outcomes so far:", *outcomes_of(done, TO_CHANGE, reads_on=by_tools)]
    if last_error:
        lines.append(f"The last attempt failed: {last_error}")
    if by_tools:
        lines.append("Finish with finish_subtask, or with fail_subtask if it cannot be done.")
    return "\n".join(lines)


def error_before(attempt: Attempt) -> str:
    """Of the attempt right before this one. What an older one met may not be so any more: another
    attempt has come to its end since, or a person has stopped it."""
    earlier = Attempt.objects.filter(subtask=attempt.subtask_id, number__lt=attempt.number)
    return earlier.order_by("-number").values_list("error", flat=True).first() or ""


def commented_text(comments: Iterable[SubtaskComment]) -> str:
    """What to do with comments, and the subtasks they are about as these stand now."""
    subtasks = {comment.subtask.key: comment.subtask for comment in comments}
    texts = ("\n".join([f"{key} {each.name}", *texts_of(each)]) for key, each in subtasks.items())
    return "\n\n".join([COMMENTS, *texts])


def plan_context(
    text: PlanText,
    wanted: Context = "auto",
    room: int | None = None,
    *,
    states: Collection[str] = ANY,
    reads_on: bool = True,
) -> str:
    """What a system message says of the plan; a template with an unknown macro is refused.

    `room`, `states` and `reads_on` are those of `PlanText.within`.
    """
    plan = text.plan
    if callable(wanted):
        return wanted(plan)
    if wanted == "reference":
        return reference(text)
    if wanted not in ("auto", "full"):
        names = ("title", "content", "goal", "expected_outcome")
        facts: dict[str, object] = {name: getattr(plan, name) for name in names}
        facts["version"] = str(plan.version)
        facts["checklist"] = text.checklist(room, states, reads_on=reads_on)
        try:  # once: braces that a plan brings along stay braces
            return expand(wanted, TemplateValues(timezone.localtime(), outputs=facts))
        except UnknownMacro as unknown:
            raise Invalid(str(unknown)) from None
    if wanted == "full":
        return text.within(None, states)
    return text.within(room, states, reads_on=reads_on)


def reference(text: PlanText) -> str:
    so_far = progress(text.plan, text.subtasks, {})
    head = f"{text.head}\n"
    if not so_far.total:
        return f"{head}Its goal and content are not shown here: read them with get_plan."
    return (
        f"{head}Progress: {so_far.done} done and {so_far.abandoned} abandoned of {so_far.total} "
        "subtasks.\n"
        "Its goal, content and subtasks are not shown here: read them with get_plan."
    )
