"""Everything that may happen to a plan: one function a verb, each one transaction.

View, API, command and tool call these and nothing else; a refusal is agents.errors.Refused with
one sentence. `by` is who did it: a username, "agent" or "system".
"""

from plans.actions.alternatives import leave_alternative, show_alternative
from plans.actions.approve import approve_plan
from plans.actions.attempts import (
    answer_question,
    ask_question,
    begin_attempt,
    interrupt_attempt,
    report_progress,
    settle_closing,
    settle_subtask,
)
from plans.actions.checking import check_plan, look_at
from plans.actions.checks import remove_check, save_check
from plans.actions.close import (
    cancel_plan,
    cancel_request,
    clear,
    delete_plan,
    end_open_plans,
    finish_plan,
)
from plans.actions.comments import keep_comment, remove_comment, send_comments
from plans.actions.create import activate_plan, create_plan, request_plan, throw_away, use_again
from plans.actions.edit import (
    add_subtask,
    edit_plan,
    move_subtask,
    remove_subtask,
    restore_subtask,
    restore_version,
    update_subtask,
)
from plans.actions.retry import retry_subtask
from plans.actions.revise import replace_rest, replan_rest, revise_plan
from plans.actions.run import (
    pause_plan,
    raise_budget,
    resume_plan,
    run_plan,
    skip_subtask,
    stop_plan,
)
from plans.actions.undo import preview_changes, retry_clean, undo_changes

__all__ = [
    "activate_plan",
    "add_subtask",
    "answer_question",
    "approve_plan",
    "ask_question",
    "begin_attempt",
    "cancel_plan",
    "cancel_request",
    "check_plan",
    "clear",
    "create_plan",
    "delete_plan",
    "edit_plan",
    "end_open_plans",
    "finish_plan",
    "interrupt_attempt",
    "keep_comment",
    "leave_alternative",
    "look_at",
    "move_subtask",
    "pause_plan",
    "preview_changes",
    "raise_budget",
    "remove_check",
    "remove_comment",
    "remove_subtask",
    "replace_rest",
    "replan_rest",
    "report_progress",
    "request_plan",
    "restore_subtask",
    "restore_version",
    "resume_plan",
    "retry_clean",
    "retry_subtask",
    "revise_plan",
    "run_plan",
    "save_check",
    "send_comments",
    "settle_closing",
    "settle_subtask",
    "show_alternative",
    "skip_subtask",
    "stop_plan",
    "throw_away",
    "undo_changes",
    "update_subtask",
    "use_again",
]
