"""What a turn that is taken up again has to know: the JSON in `Turn.checkpoint`, key by key.

This is the only place that names the keys; the type checker refuses any other. They are stored:
a key that is renamed needs a migration, one that is dropped may stand in old rows.
"""

from __future__ import annotations

from typing import TypedDict

TaskOutput = dict[str, object]  # {"text", "message"?, "error"?, "facts"?, "data"?}

# `try` is a keyword, which a class body cannot annotate: which call of the model this is, from 1.
Retrying = TypedDict("Retrying", {"try": int}, total=False)


class Checkpoint(Retrying, total=False):
    # Where the chain stands
    task: str  # the task that comes next; "end" behind the last one
    previous: str  # the task before it
    source: str | None  # the task whose output it reads, where that is not the previous one
    variables: dict[str, TaskOutput]  # what each task gave out
    edges: dict[str, int]  # "from->to": how often the chain went that way
    steps: int  # tasks carried out so far
    failures: int  # of the task that is tried again
    prompt: TaskOutput | None  # of the conversation with the model so far, filled in once

    # Within one task
    writing: bool  # a reply has begun
    replied: int | None  # the message of a reply that has ended, its calls not carried out yet
    own_call: int | None  # the ToolCall that the chain makes itself
    own_result: TaskOutput | None  # what it gave back

    # How the turn ends
    by_output: bool  # by what its chain gives out, since no task of it runs tool calls
    ended: bool  # a tool has ended it
    nudge: str  # what was said to a model that ended without a result, once
    final: bool  # trying the same again would not help
    because: str  # why it waits

    # Plans
    plan: int  # the plan that a run's turn works for
    subtask: str | None  # the key of the subtask that it was queued for
    about: int | None  # the plan that the person's words were about
    asked: int  # the message that asked for a plan
    made: int  # the plan that this turn has made
    gated: bool  # it has begun to make a plan: the tools that act stay closed to it
    threw_away: int  # the plan of its own that it has abandoned, for another one
    replan: str | None  # the key of the first subtask that is to be planned anew
    replans: int  # the plan that has it
