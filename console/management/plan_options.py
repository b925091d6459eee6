"""The verbs of `plan` that are about one plan, their options, and what ends a followed run."""

from __future__ import annotations

BY_ID = {
    "show": "one plan with its subtasks",
    "approve": "say yes to its current version (only that)",
    "run": "run it to its end or a failure, and follow",
    "next": "run the next subtask only, and follow (as run --next)",
    "pause": "let it rest after the step that it is at",
    "resume": "go on where it was paused, and follow",
    "retry": "try a failed subtask again",
    "skip": "leave a subtask out",
    "check": "run the checks of what is done again, and follow",
    "look": "you have looked at a subtask yourself: it counts as checked",
    "take-back": "you have not looked after all",
    "take": "a file that a check wants unchanged is to stay as it is now",
    "replan": "replan the open subtasks; what is done stays",
    "comment": "keep a comment on a subtask until you ask for changes",
    "revise": "ask the agent for changes (comments, --text), and wait for the new version",
    "activate": "put it into its conversation's drawer; without an ID it is meant from then on",
    "cancel": "give it up; nothing is deleted",
    "take-out-of-force": "nobody is told any more to keep to this document",
    "delete": "remove it with its versions and attempts",
    "changes": "what it changed in the workspace's files",
    "undo": "put the workspace's files back to before it, or before a subtask",
    "export": "as markdown",
}
VERSION: dict[str, object] = {
    "type": int,
    "metavar": "N",
    "help": "the version you have read; has to be named where no terminal shows it",
}
FLAGS: dict[str, dict[str, dict[str, object]]] = {
    "approve": {
        "--version": VERSION,
        "--without-comments": {"action": "store_true", "help": "leave kept comments behind"},
    },
    "take-out-of-force": {"--version": VERSION},
    "resume": {"--version": VERSION},
    "retry": {"--version": VERSION},
    "run": {
        "--version": VERSION,
        "--next": {"action": "store_true", "help": "the next subtask only"},
        "--auto": {"action": "store_true", "help": "to the end (as without it)"},
        "--executor": {"default": "", "metavar": "CHAIN"},
        "--allow": {"action": "append", "default": [], "metavar": "TOOL"},
    },
    "next": {
        "--version": VERSION,
        "--executor": {"default": "", "metavar": "CHAIN"},
        "--allow": {"action": "append", "default": [], "metavar": "TOOL"},
    },
    "changes": {
        "--subtask": {"dest": "key", "default": "", "metavar": "KEY", "help": "of this one alone"},
        "--path": {"default": None, "help": "the diff of one file"},
        "--diff": {"action": "store_true", "help": "the diff of all files"},
    },
    "undo": {
        "--subtask": {"dest": "key", "default": "", "metavar": "KEY", "help": "of this one alone"},
        "--path": {"action": "append", "default": [], "help": "of this file alone"},
        "--force": {
            "action": "append",
            "default": [],
            "metavar": "PATH",
            "help": "this one also if it was changed since",
        },
    },
    "skip": {"--reason": {"default": ""}},
    "revise": {"--text": {"default": "", "help": "about the plan as a whole"}},
    "replan": {
        "--from": {"dest": "start", "metavar": "KEY", "help": "the first subtask to replace"},
        "--hint": {"default": "", "help": "what the planner should do differently"},
    },
}
# By what needs a person, as in the snapshot.
STOPS = {
    "failed": "The run has failed: see the subtask marked with its error.",
    "approval": "A tool call waits for your leave; --allow TOOL gives it beforehand.",
    "question": "The agent asks: {question}",
    "budget": "The plan's budget is used up.",
    "confirm": "v{version} waits for your yes.",
    "check": "A check could not be run: see `plan show`.",
    "regressed": "A subtask that was done is not true any more.",
}
