"""Everything that may happen to a plan: one function a verb, each one transaction.

View, API, command and tool call these and nothing else; a refusal is agents.errors.Refused with
one sentence. `by` is who did it: a username, "agent" or "system".
"""

from plans.actions.approval import approve
from plans.actions.asking import ask_for_plan, cancel_asking
from plans.actions.attempts import (
    answer_question,
    ask_question,
    claim_subtask,
    report_progress,
)
from plans.actions.budgets import raise_budget
from plans.actions.editing import (
    add_subtask,
    edit_plan,
    move_subtask,
    remove_subtask,
    update_subtask,
)
from plans.actions.ending import cancel_plan, clear, finish_plan
from plans.actions.going_back import go_back
from plans.actions.making import create_plan
from plans.actions.replanning import replace_rest, replan
from plans.actions.revising import revise_plan
from plans.actions.running import (
    pause_plan,
    resume_plan,
    retry_subtask,
    run_plan,
    skip_subtask,
    stop_plan,
)
from plans.actions.settling import settle_closing, settle_subtask
from plans.actions.shelf import activate, delete_plan, use_again

__all__ = [
    "activate",
    "add_subtask",
    "answer_question",
    "approve",
    "ask_for_plan",
    "ask_question",
    "cancel_asking",
    "cancel_plan",
    "claim_subtask",
    "clear",
    "create_plan",
    "delete_plan",
    "edit_plan",
    "finish_plan",
    "go_back",
    "move_subtask",
    "pause_plan",
    "raise_budget",
    "remove_subtask",
    "replace_rest",
    "replan",
    "report_progress",
    "resume_plan",
    "retry_subtask",
    "revise_plan",
    "run_plan",
    "settle_closing",
    "settle_subtask",
    "skip_subtask",
    "stop_plan",
    "update_subtask",
    "use_again",
]
